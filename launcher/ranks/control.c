// SPDX-License-Identifier: BSD-3-Clause
// Opens the socket for mpictl. It is an abstract one: it has no file and is gone with mpiexec. The
// kernel tells which user connects.
#include "launcher/ranks/control.h"

#include "launcher/base/launcher.h"
#include "launcher/base/accept.h"
#include "launcher/ranks/rank_request.h"
#include "boot/ctl_addr.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void fire(struct pli_watch *w, uint32_t events)
{
    (void)events;
    int fd = pli_accept_own(w);
    if (fd >= 0) {
        pli_rank_request_begin(pli_launcher.job, fd);
    }
}

// Bind one of the names that mpictl looks for: another user may have taken the first ones.
static bool bind_any(int fd)
{
    struct sockaddr_un a;
    for (int nth = 0; nth < PLI_CTL_ADDR_N; nth++) {
        socklen_t len = pli_ctl_addr(getpid(), nth, &a);
        if (bind(fd, (struct sockaddr *)&a, len) == 0) {
            return true;
        }
        if (errno != EADDRINUSE) {
            return false;
        }
    }
    errno = EADDRINUSE;
    return false;
}

bool pli_control_open(void)
{
    struct pli_control_state *self = pli_launcher.control;
    self->listener.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_bound = self->listener.fd >= 0 && bind_any(self->listener.fd);
    if (!is_bound && self->listener.fd >= 0 && errno == EADDRINUSE) {
        pli_say("other processes of this host have taken all names under which mpictl would find "
                "this job (@pliant-mpiexec-...-%d in /proc/net/unix), which looks deliberate; the "
                "job runs, but mpictl cannot change it",
                (int)getpid());
        close(self->listener.fd);
        self->listener.fd = -1;
        return true;
    }
    if (!is_bound || listen(self->listener.fd, 16) != 0) {
        pli_say("cannot listen for mpictl: %s", strerror(errno));
        return false;
    }
    self->listener.fire = fire;
    pli_loop_watch(&self->listener, EPOLLIN);
    return true;
}
