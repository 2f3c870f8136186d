// SPDX-License-Identifier: BSD-3-Clause
// Listening sockets for other processes of the job, on the ports the user allows.
#ifndef PLI_BOOT_LISTEN_H
#define PLI_BOOT_LISTEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

// Listen on one of the ports of PLIANT_TCP_PORTS, or any; is_wide: for other hosts, else on the
// loopback alone. The socket does not block. *port_out may be NULL.
enum pli_err pli_listen_open(bool is_wide, int *fd_out, uint16_t *port_out);

#endif
