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

bool pli_control_open(void)
{
    struct pli_control_state *self = pli_launcher.control;
    struct sockaddr_un a;
    socklen_t len = pli_ctl_addr(getpid(), &a);
    self->listener.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->listener.fd < 0 || bind(self->listener.fd, (struct sockaddr *)&a, len) != 0 ||
        listen(self->listener.fd, 16) != 0) {
        pli_say("cannot listen for mpictl: %s", strerror(errno));
        return false;
    }
    self->listener.fire = fire;
    pli_loop_watch(&self->listener, EPOLLIN);
    return true;
}
