// SPDX-License-Identifier: BSD-3-Clause
// The table by which functions of a program are called that was built with another MPI.
#include "obj/user_calls.h"

const struct pli_user_calls *pli_user_calls;
