// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_join: each end of the socket says which process it is and whether it can reach the
// other.
#include "dynamic/join.h"

#include "boot/boot.h"
#include "comm/intercomm.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "net/shm/other_job.h"
#include "msg/process.h"
#include "msg/progress.h"
#include "dynamic/port_timeout.h"
#include "dynamic/reachable.h"
#include "dynamic/first_contact.h"
#include "obj/comm.h"
#include "obj/impi_span.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum { POLL_MS = 1, JOIN_FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL };

// What the two ends of the socket send each other. They can be joined only on one host.
struct join_hello {
    char magic[8];
    struct pli_other_job_name job;
    struct pli_id who;
    uint64_t context;
};

// The lane that makes progress meanwhile, the socket, and until when the other process is waited
// for.
struct join_wait {
    struct pli_lane *lane;
    int fd;
    struct pli_port_timeout limit;
};

// Wait a moment for the socket, in which requests go on. Fails when the time has run out.
static enum pli_err wait_socket(const struct join_wait *w, bool is_send)
{
    struct pollfd p = { .fd = w->fd, .events = is_send ? POLLOUT : POLLIN };
    while (pli_progress_once(w->lane) > 0) {
    }
    return poll(&p, 1, POLL_MS) > 0 ? PLI_OK : pli_port_timeout_check(&w->limit);
}

static enum pli_err transfer(const struct join_wait *w, void *buf, size_t len, bool is_send)
{
    enum pli_err err = PLI_OK;
    for (size_t done = 0; err == PLI_OK && done < len;) {
        ssize_t n = is_send ? send(w->fd, (char *)buf + done, len - done, JOIN_FLAGS)
                            : recv(w->fd, (char *)buf + done, len - done, JOIN_FLAGS);
        if (n > 0) {
            done += (size_t)n;
        } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            err = wait_socket(w, is_send);
        } else {
            err = pli_fail(PLI_ERR_ARG, "argument fd: the other process cannot be reached: %s",
                           n == 0 ? "it closed the socket" : strerror(errno));
        }
    }
    return err;
}

static enum pli_err exchange_hello(const struct join_wait *w, struct join_hello *mine,
                                   struct join_hello *theirs)
{
    enum pli_err err = transfer(w, mine, sizeof *mine, true);
    err = err == PLI_OK ? transfer(w, theirs, sizeof *theirs, false) : err;
    if (err == PLI_OK && memcmp(mine->magic, theirs->magic, sizeof mine->magic) != 0) {
        err = pli_fail(PLI_ERR_ARG, "argument fd: the other process does not call MPI_Comm_join of "
                                    "this version of Pliant MPI");
    }
    return err;
}

enum pli_err pli_join(struct pli_comm *self, int fd, struct pli_comm **out)
{
    struct join_hello mine = { .magic = "PLIJOIN", .who = self->group->me }, theirs;
    struct pli_comm *pair_comm = NULL;
    uint32_t is_good, is_other_good;
    pli_other_job_self(&mine.job);
    // A context that is unique among jobs, as the other process may be of another one.
    atomic_store_explicit(&pli_proc.boot->is_linked, true, memory_order_relaxed);
    mine.context = pli_process_context();
    struct join_wait w = { .lane = self->ep->lane, .fd = fd };
    pli_port_timeout_join(&w.limit);
    enum pli_err err = exchange_hello(&w, &mine, &theirs);
    if (err != PLI_OK) {
        return err;
    }
    if (pli_group_same(mine.who, theirs.who)) {
        return pli_fail(PLI_ERR_ARG, "argument fd: both ends of the socket are in this process");
    }
    bool is_low = mine.who.proc < theirs.who.proc;
    err = pli_impi_span_is_far(theirs.who.proc) ? pli_reachable_refuse_joined()
                                                : pli_other_job_meet(&theirs.job);
    if (err == PLI_OK) {
        err = pli_first_contact_make(self, theirs.who, is_low,
                                     is_low ? mine.context : theirs.context, &pair_comm);
    }
    is_good = err == PLI_OK;
    enum pli_err exchanged = transfer(&w, &is_good, sizeof is_good, true);
    exchanged =
        exchanged == PLI_OK ? transfer(&w, &is_other_good, sizeof is_other_good, false) : exchanged;
    err = err == PLI_OK ? exchanged : err;
    if (err == PLI_OK && !is_other_good) {
        err = pli_fail(PLI_ERR_OTHER, "the other process cannot reach this one");
    }
    if (err == PLI_OK) {
        err = pli_intercomm_join(self, 0, pair_comm, is_low ? 1 : 0, PLI_OK, out);
    }
    pli_first_contact_free(pair_comm);
    return err;
}
