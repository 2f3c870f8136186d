// SPDX-License-Identifier: BSD-3-Clause
// The region of a window (onesided/region.h).
#ifndef PLI_RMA_WIN_REGION_H
#define PLI_RMA_WIN_REGION_H

#include "base/err.h"

struct pli_win;

// The members are known; others reach this one's memory from now on, and its lock.
enum pli_err pli_win_region_open(struct pli_win *w);
// Not any more. Nothing happens where it was not opened. Context: no epoch is open.
void pli_win_region_close(struct pli_win *w);

#endif
