// SPDX-License-Identifier: BSD-3-Clause
// Sends a request to the launcher over a socket pair of its own. One end is passed to the launcher
// over the control socket, on which nothing else is sent.
#include "dynamic/launcher_call.h"

#include "boot/boot.h"
#include "boot/ckpt_wire.h"
#include "ckpt/freeze_hold.h"
#include "msg/lane.h"
#include "msg/progress.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { POLL_MS = 1 };

// Send or receive all of it; makes progress on the lane while the socket is not ready.
static enum pli_err transfer(struct pli_lane *lane, int fd, char *buf, size_t len, bool is_send)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = is_send ? send(fd, buf + done, len - done, MSG_DONTWAIT | MSG_NOSIGNAL)
                            : recv(fd, buf + done, len - done, MSG_DONTWAIT);
        if (n > 0) {
            done += (size_t)n;
        } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            struct pollfd p = { .fd = fd, .events = is_send ? POLLOUT : POLLIN };
            while (lane != NULL && pli_progress_once(lane) > 0) {
            }
            poll(&p, 1, POLL_MS);
        } else {
            return pli_fail(PLI_ERR_OTHER, "mpiexec did not answer: %s",
                            n == 0 ? "it closed the connection" : strerror(errno));
        }
    }
    return PLI_OK;
}

// While ranks are on their way to another host the launcher does nothing else, and a process with
// an open request could not be stopped again for the end of the move.
static void hold_between_moves(struct pli_lane *lane)
{
    pli_freeze_hold();
    while (atomic_load(pli_node_moving(pli_proc.boot->node.header)) != 0) {
        pli_freeze_let();
        while (lane != NULL && pli_progress_once(lane) > 0) {
        }
        poll(NULL, 0, POLL_MS);
        pli_freeze_hold();
    }
}

enum pli_err pli_launcher_call(struct pli_lane *lane, enum pli_ask_kind kind, const void *body,
                               size_t len, struct pli_answer *answer)
{
    int pair[2];
    struct pli_ask_head head = { kind, (uint32_t)len };
    if (len > PLI_ASK_MOST) {
        return pli_fail(PLI_ERR_ARG, "a request of %zu bytes is too long for mpiexec", len);
    }
    hold_between_moves(lane);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        pli_freeze_let();
        return pli_fail(PLI_ERR_OTHER, "cannot make a socket: %s", strerror(errno));
    }
    enum pli_err err = pli_proc.boot->ops->ask(pli_proc.boot, pair[1]);
    close(pair[1]);
    if (err == PLI_OK) {
        err = transfer(lane, pair[0], (char *)&head, sizeof head, true);
    }
    if (err == PLI_OK) {
        err = transfer(lane, pair[0], (char *)(uintptr_t)body, len, true);
    }
    if (err == PLI_OK) {
        err = transfer(lane, pair[0], (char *)answer, sizeof *answer, false);
    }
    close(pair[0]);
    pli_freeze_let();
    return err;
}
