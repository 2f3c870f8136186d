// SPDX-License-Identifier: BSD-3-Clause
// The socket through which mpictl talks to a running mpiexec.
#ifndef PLI_LAUNCHER_CONTROL_H
#define PLI_LAUNCHER_CONTROL_H

#include "launcher/base/loop.h"
#include <stdbool.h>

// Listen; only the user who started the job may connect. False with a message.
bool pli_control_open(void);

// The socket for mpictl: pli_launcher.control.
struct pli_control_state {
    struct pli_watch listener;
};

#endif
