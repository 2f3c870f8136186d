// SPDX-License-Identifier: BSD-3-Clause
// <upc_relaxed.h>: every inclusion makes relaxed the default again.
#pragma upc relaxed
#include <upc.h>
