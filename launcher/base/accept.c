// SPDX-License-Identifier: BSD-3-Clause
// accept(2), and a timer for listeners that have to wait for a free descriptor.
#include "launcher/base/accept.h"

#include "launcher/base/launcher.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAUSE_MS = 200 };

static void resume(struct pli_timer *t)
{
    struct pli_accept_state *self = pli_launcher.accept;
    (void)t;
    for (int i = 0; i < PLI_ACCEPT_N_LISTENER; i++) {
        if (self->paused[i] != NULL) {
            pli_loop_watch(self->paused[i], EPOLLIN);
            self->paused[i] = NULL;
        }
    }
}

bool pli_accept_pause(struct pli_watch *listener)
{
    struct pli_accept_state *self = pli_launcher.accept;
    int at = 0;
    if (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS) {
        return false;
    }
    while (at < PLI_ACCEPT_N_LISTENER && self->paused[at] != NULL && self->paused[at] != listener) {
        at++;
    }
    if (at == PLI_ACCEPT_N_LISTENER) {
        return false; // mpiexec has fewer listeners
    }
    self->paused[at] = listener;
    pli_loop_watch(listener, 0);
    if (self->timer.at == 0) {
        self->timer.fire = resume;
        pli_loop_timer(&self->timer, (uint64_t)PAUSE_MS * PLI_MS);
    }
    return true;
}

int pli_accept_one(struct pli_watch *listener)
{
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        int error = errno;
        pli_accept_pause(listener);
        errno = error;
    }
    return fd;
}

int pli_accept_own(struct pli_watch *listener)
{
    struct ucred who = { 0 };
    socklen_t len = sizeof who;
    int fd = pli_accept_one(listener);
    if (fd >= 0 &&
        (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0 || who.uid != geteuid())) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}
