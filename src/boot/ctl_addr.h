// SPDX-License-Identifier: BSD-3-Clause
// Where an mpiexec listens for mpictl.
#ifndef PLI_BOOT_CTL_ADDR_H
#define PLI_BOOT_CTL_ADDR_H

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

// The address of the mpiexec with this number, as it is counted in our pid namespace. The name is
// abstract, so it belongs to the network namespace, which others may share whose processes are
// counted apart: it names our pid namespace too. Any user may bind such a name, so there are
// several for each mpiexec, which takes the first that is free; who connects looks whose it is.
enum { PLI_CTL_ADDR_N = 8 };
socklen_t pli_ctl_addr(pid_t pid, int nth, struct sockaddr_un *out);

#endif
