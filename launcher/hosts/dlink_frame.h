// SPDX-License-Identifier: BSD-3-Clause
// A frame that mpiexec and a daemon exchange, as it is in memory.
#ifndef PLI_LAUNCHER_DLINK_FRAME_H
#define PLI_LAUNCHER_DLINK_FRAME_H

#include "launcher/hosts/dlink_wire.h"

#include <stddef.h>

struct pli_dframe {
    uint16_t kind, flag;
    uint32_t host, a;
    const void *data;
    size_t len;
};

#endif
