// SPDX-License-Identifier: BSD-3-Clause
// Does what members of the same host have written into their rings (win_ring.h).
#ifndef PLI_RMA_WIN_RING_SERVE_H
#define PLI_RMA_WIN_RING_SERVE_H

// Messages about rings lead here from now on. Context: before the first window is known to others.
void pli_win_ring_serve_init(void);

#endif
