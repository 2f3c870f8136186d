// SPDX-License-Identifier: BSD-3-Clause
// <upc_strict.h>: every inclusion makes strict the default again.
#pragma upc strict
#include <upc.h>
