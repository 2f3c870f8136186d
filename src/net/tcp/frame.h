// SPDX-License-Identifier: BSD-3-Clause
// Checks the heads of frames before they are used.
#ifndef PLI_NET_FRAME_H
#define PLI_NET_FRAME_H

#include "net/tcp/frame_wire.h"

// What is wrong with it, NULL: nothing. Context: any thread.
const char *pli_frame_check(const struct pli_frame *f);

#endif
