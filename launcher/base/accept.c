// SPDX-License-Identifier: BSD-3-Clause
// accept(2), and a timer for listeners that have to wait for a free descriptor.
#include "launcher/base/accept.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAUSE_MS = 200, N_LISTENER = 8 };

static void resume(struct pli_timer *t);

static struct pli_watch *paused[N_LISTENER];
static struct pli_timer timer = { .fire = resume };

static void resume(struct pli_timer *t)
{
    (void)t;
    for (int i = 0; i < N_LISTENER; i++) {
        if (paused[i] != NULL) {
            pli_loop_watch(paused[i], EPOLLIN);
            paused[i] = NULL;
        }
    }
}

bool pli_accept_pause(struct pli_watch *listener)
{
    int at = 0;
    if (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS) {
        return false;
    }
    while (at < N_LISTENER && paused[at] != NULL && paused[at] != listener) {
        at++;
    }
    if (at == N_LISTENER) {
        return false; // mpiexec has fewer listeners
    }
    paused[at] = listener;
    pli_loop_watch(listener, 0);
    if (timer.at == 0) {
        pli_loop_timer(&timer, (uint64_t)PAUSE_MS * PLI_MS);
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
