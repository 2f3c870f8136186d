// SPDX-License-Identifier: BSD-3-Clause
// Sends requests to the mpiexec of a job over its control socket.
#include "ctl_request.h"

#include "base/clock.h"
#include "boot/ctl_addr.h"
#include "boot/node.h"
#include "mpictl.h"
#include "launcher/base/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    YOUNG_S = 2,
    STEP_MS = 500, // the wait is shown anew
    FULL_S = 15,   // wait for a listener with too many callers
    NS_PER_MS = 1000000,
    NS_PER_S = 1000000000
};

long pli_ctl_request_timeout = 60;

// Whether the job has just begun: its mpiexec may not listen yet.
static bool is_young(long pid)
{
    struct pli_node node;
    if (!pli_mpictl_map(pid, &node)) {
        return false;
    }
    bool is = pli_mpictl_seconds(&node) < YOUNG_S;
    pli_node_unmap(&node);
    return is;
}

// Connect to the name of the job at which a process of this user listens; -1: there is none.
// *uid_out is another user that listens at one; *is_full_out: one has no room for another caller.
static int connect_own(long pid, uid_t *uid_out, bool *is_full_out)
{
    *is_full_out = false;
    for (int nth = 0; nth < PLI_CTL_ADDR_N; nth++) {
        struct sockaddr_un a;
        struct ucred who;
        socklen_t size = pli_ctl_addr((pid_t)pid, nth, &a), len = sizeof who;
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && connect(fd, (struct sockaddr *)&a, size) == 0 &&
            getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0) {
            if (who.uid == geteuid() && fcntl(fd, F_SETFL, 0) == 0) {
                return fd;
            }
            *uid_out = who.uid;
        } else if (fd >= 0 && errno == EAGAIN) {
            *is_full_out = true;
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    return -1;
}

int pli_ctl_request_connect(long pid)
{
    uid_t uid = geteuid();
    bool is_full;
    uint64_t until = pli_clock_ns() + (uint64_t)FULL_S * NS_PER_S;
    int fd = connect_own(pid, &uid, &is_full);
    while (fd < 0 && (is_full ? pli_clock_ns() < until : uid == geteuid() && is_young(pid))) {
        usleep(10000);
        fd = connect_own(pid, &uid, &is_full);
    }
    if (fd < 0 && uid != geteuid()) { // it would not answer; say so instead
        pli_mpictl_bad("job %ld belongs to another user (uid %u), who alone may change it", pid,
                       uid);
    }
    if (fd < 0 && is_full) {
        pli_mpictl_bad("mpiexec %ld does not answer: too many callers wait at its socket", pid);
    }
    return fd;
}

static bool send_request(int fd, uint32_t kind, const void *body, uint32_t len)
{
    struct pli_ask_head head = { kind, len };
    return send(fd, &head, sizeof head, MSG_NOSIGNAL) == (ssize_t)sizeof head &&
           (len == 0 || send(fd, body, len, MSG_NOSIGNAL) == (ssize_t)len);
}

static bool take_answer(int fd, struct pli_answer *answer)
{
    bool is_whole = recv(fd, answer, sizeof *answer, MSG_WAITALL) == (ssize_t)sizeof *answer;
    answer->text[sizeof answer->text - 1] = '\0';
    return is_whole;
}

bool pli_ctl_request_exchange(int fd, enum pli_ask_kind kind, const void *body, uint32_t len,
                              struct pli_answer *answer)
{
    bool is_answered = send_request(fd, kind, body, len) && take_answer(fd, answer);
    close(fd);
    return is_answered;
}

// Leave out the advice to try again, which is for programs.
static void cut_advice(struct pli_answer *answer)
{
    char *advice = strstr(answer->text, "; try again");
    if (advice != NULL) {
        *advice = '\0';
    }
}

static _Noreturn void say_ended(long pid)
{
    pli_mpictl_bad("mpiexec %ld did not answer: the job has ended", pid);
}

static void show_wait(uint64_t waited_ns, const char *why)
{
    fprintf(stderr, "\r\033[Kmpictl: waiting for %llu s: %s (^C ends the wait)",
            (unsigned long long)(waited_ns / NS_PER_S), why);
}

// Wait for the next answer, in steps, as long as the request waits for its turn: until `end`.
// False: the time is over.
static bool wait_answer(int fd, uint64_t begin, uint64_t end, const char *why)
{
    struct pollfd p = { fd, POLLIN, 0 };
    for (;;) {
        uint64_t now = pli_clock_ns(), left_ms = now < end ? (end - now) / NS_PER_MS + 1 : 0;
        int n = poll(&p, 1, (int)(left_ms < STEP_MS ? left_ms : STEP_MS));
        if (n != 0 && (n > 0 || errno != EINTR)) {
            return true;
        }
        if (now >= end) {
            return false;
        }
        if (isatty(STDERR_FILENO) != 0 && pli_tty_knows_escapes()) {
            show_wait(now - begin, why);
        }
    }
}

void pli_ctl_request_send(long pid, enum pli_ask_kind kind, const void *body, uint32_t len,
                          struct pli_answer *answer)
{
    uint64_t begin = pli_clock_ns(), end = begin + (uint64_t)pli_ctl_request_timeout * NS_PER_S;
    uint32_t waits = pli_ctl_request_timeout > 0 ? PLI_ASK_WAITS : 0;
    bool is_waiting = false, has_waited = false;
    int fd = pli_ctl_request_connect(pid);
    if (fd < 0) {
        pli_mpictl_bad("process %ld is no mpiexec of yours that was started with --elastic, "
                       "--checkpoint-dir or --movable",
                       pid);
    }
    if (!send_request(fd, (uint32_t)kind | waits, body, len)) {
        say_ended(pid);
    }
    do {
        if (is_waiting && !wait_answer(fd, begin, end, answer->text)) {
            break;
        }
        if (!take_answer(fd, answer)) {
            say_ended(pid);
        }
        is_waiting = answer->error == EBUSY;
        has_waited = has_waited || is_waiting;
        cut_advice(answer);
    } while (waits != 0 && (answer->error == EBUSY || answer->error == EINPROGRESS));
    close(fd); // mpiexec forgets a request that waits
    if (has_waited && isatty(STDERR_FILENO) != 0 && pli_tty_knows_escapes()) {
        fputs("\r\033[K", stderr);
    }
    if (answer->error == EBUSY && waits != 0) {
        size_t n = strlen(answer->text);
        snprintf(answer->text + n, sizeof answer->text - n, "; given up after %ld s (--timeout)",
                 pli_ctl_request_timeout);
    }
}
