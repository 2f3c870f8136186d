// SPDX-License-Identifier: BSD-3-Clause
// What a rank says to mpiexec, and how it dies with it.
#include "boot/ctl.h"
#include "base/cpu.h"
#include "base/fdpass.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool pli_ctl_send(int ctl, const struct pli_ctl_msg *msg, const int *fds, size_t n)
{
    return pli_fdpass_over(ctl, msg, sizeof *msg, fds, n, 0) == (ssize_t)sizeof *msg;
}

bool pli_ctl_say(int ctl, enum pli_ctl_kind kind, uint32_t row, const int *fds, size_t n)
{
    struct pli_ctl_msg msg = { .kind = kind, .row = row };
    return pli_ctl_send(ctl, &msg, fds, n);
}

// No thread, no signal handler, and it also works for a grandchild.
PLI_START enum pli_err pli_ctl_guard(int ctl)
{
    if (fcntl(ctl, F_SETFD, FD_CLOEXEC) != 0 || fcntl(ctl, F_SETSIG, SIGKILL) != 0 ||
        fcntl(ctl, F_SETOWN, getpid()) != 0 || fcntl(ctl, F_SETFL, O_ASYNC) != 0) {
        return pli_fail(PLI_ERR_OTHER,
                        "descriptor %d from mpiexec cannot be used (%s); a wrapper between mpiexec "
                        "and this program must pass its descriptors on",
                        ctl, strerror(errno));
    }
    char end;
    if (recv(ctl, &end, 1, MSG_DONTWAIT) == 0) {
        kill(getpid(), SIGKILL); // mpiexec died before the line above
    }
    return PLI_OK;
}

void pli_ctl_unguard(int ctl)
{
    fcntl(ctl, F_SETFL, 0);
}
