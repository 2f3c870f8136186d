// SPDX-License-Identifier: BSD-3-Clause
// How long MPI_Comm_accept and MPI_Comm_connect wait at a port, and MPI_Comm_join at a socket: the
// hint timeout, or the setting.
#ifndef PLI_DYNAMIC_PORT_TIMEOUT_H
#define PLI_DYNAMIC_PORT_TIMEOUT_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_port_timeout {
    uint64_t end;      // when it runs out, by the clock; 0: never
    double seconds;    // its length
    const char *what;  // what has not happened by then
    const char *limit; // the hint or setting that it comes from
};

// Read the hint; a caller without one gives up after an implementation-defined time, and the side
// that accepts waits. Fails when info is no info object or the hint no number. [MPI-5.0 11.9.3]
enum pli_err pli_port_timeout_read(MPI_Info info, bool is_caller, struct pli_port_timeout *out);

// MPI_Comm_join, which has no hints, waits as long for the other end.
void pli_port_timeout_join(struct pli_port_timeout *out);

// PLI_ERR_PORT once the time has run out.
enum pli_err pli_port_timeout_check(const struct pli_port_timeout *t);

#endif
