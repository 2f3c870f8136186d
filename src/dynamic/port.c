// SPDX-License-Identifier: BSD-3-Clause
// A port is a random number in the table of its job; the number is also the context on which its
// owner listens. Who connects sends its identity there and a context for the two of them.
#include "dynamic/port.h"

#include "boot/boot.h"
#include "boot/tie.h"
#include "comm/intercomm.h"
#include "core/lane.h"
#include "core/outside.h"
#include "core/process.h"
#include "core/progress.h"
#include "core/ep.h"
#include "dynamic/rendezvous.h"
#include "obj/comm.h"
#include "obj/info.h"
#include "obj/span.h"

#include <errno.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// What a port's name says.
struct port {
    struct pli_outside_name job;
    uint32_t place;
    uint64_t cookie;
};

struct hello {
    struct pli_id who;
    uint64_t context; // for the two
};

enum pli_err pli_port_open(struct pli_info *info, char *port_out)
{
    struct port p = { 0 };
    (void)info; // the standard defines no hints
    pli_outside_self(&p.job);
    enum pli_err err =
        pli_tie_open_port(&pli_proc.boot->node, pli_proc.boot->index, &p.place, &p.cookie);
    if (err == PLI_OK) {
        snprintf(port_out, MPI_MAX_PORT_NAME,
                 "pliant:%s:%08" PRIx32 ":%" PRIu32 ":%" PRIu32 ":%" PRIu32 ":%016" PRIx64,
                 pli_proc.boot->node.header->host, (uint32_t)(p.job.job >> 32), p.job.launcher,
                 p.job.memory, p.place, p.cookie);
    }
    return err;
}

static enum pli_err parse(const char *text, struct port *out)
{
    uint32_t job = 0;
    int end = 0;
    const char *at =
        text != NULL && strncmp(text, "pliant:", 7) == 0 ? strchr(text + 7, ':') : NULL;
    *out = (struct port){ 0 };
    if (at == NULL ||
        sscanf(at, ":%8" SCNx32 ":%" SCNu32 ":%" SCNu32 ":%" SCNu32 ":%16" SCNx64 "%n", &job,
               &out->job.launcher, &out->job.memory, &out->place, &out->cookie, &end) != 5 ||
        at[end] != '\0' || out->cookie == 0) {
        return pli_fail(PLI_ERR_PORT, "'%s' is not the name of a port of Pliant MPI",
                        text != NULL ? text : "NULL");
    }
    out->job.job = (uint64_t)job << 32;
    return PLI_OK;
}

enum pli_err pli_port_close(const char *port)
{
    struct port p;
    enum pli_err err = parse(port, &p);
    if (err == PLI_OK && p.job.job != pli_proc.boot->job) {
        err = pli_fail(PLI_ERR_PORT, "the port '%s' belongs to another job", port);
    }
    return err == PLI_OK ? pli_tie_close_port(&pli_proc.boot->node, p.place, p.cookie) : err;
}

static uint64_t context_of(const struct port *p)
{
    return (p->cookie | (uint64_t)1 << 63) & ~(uint64_t)3;
}

static const struct pli_node *node_of(const struct port *p)
{
    const struct pli_outside *o =
        p->job.job != pli_proc.boot->job ? pli_outside_find(p->job.job) : NULL;
    return p->job.job == pli_proc.boot->job ? &pli_proc.boot->node : o != NULL ? &o->node : NULL;
}

// Whether the port is still there. A job whose launcher is gone has no ports.
static enum pli_err look(void *arg)
{
    const struct port *p = arg;
    const struct pli_node *node = node_of(p);
    char path[64];
    uint32_t owner, ep;
    snprintf(path, sizeof path, "/proc/%u", p->job.launcher);
    if (node == NULL || access(path, F_OK) != 0 ||
        !pli_tie_port_owner(node, p->place, p->cookie, &owner, &ep)) {
        return pli_fail(PLI_ERR_PORT, "the port was closed, or the process that had it has ended");
    }
    return PLI_OK;
}

// The root's part of accepting: a bridge to who connects.
static enum pli_err let_in(const char *name, struct pli_comm *comm, struct pli_comm **bridge_out)
{
    struct port p;
    struct pli_comm *door;
    struct hello hello;
    struct pli_id me = comm->group->me;
    enum pli_err err = parse(name, &p);
    if (err == PLI_OK &&
        (p.job.job != pli_proc.boot->job ||
         !pli_tie_own_port(&pli_proc.boot->node, p.place, p.cookie, (uint32_t)me.proc, me.ep))) {
        err = pli_fail(PLI_ERR_PORT, "the port '%s' is not open in this job", name);
    }
    if (err == PLI_OK) {
        err = pli_rendezvous_make(comm, me, true, context_of(&p), &door);
    }
    if (err != PLI_OK) {
        return err;
    }
    err = pli_rendezvous_hear(door, &hello, sizeof hello, look, &p);
    pli_rendezvous_drop(door);
    if (err == PLI_OK) {
        err = pli_rendezvous_make(comm, hello.who, true, hello.context, bridge_out);
    }
    return err == PLI_OK ? pli_rendezvous_say(*bridge_out, 1, &hello, sizeof hello) : err;
}

// Jobs that IMPI joins go by one number, under which a process knows its own alone.
static enum pli_err refuse_joined(void)
{
    return pli_fail(PLI_ERR_PORT, "the other process belongs to a job that IMPI has joined to this "
                                  "one; MPI_COMM_WORLD has both, and MPI_Intercomm_create connects "
                                  "them");
}

// The root's part of connecting.
static enum pli_err knock(const char *name, struct pli_comm *comm, struct pli_comm **bridge_out)
{
    struct port p;
    struct pli_comm *door = NULL;
    struct hello hello = { .who = comm->group->me }, answer;
    struct pli_id owner = { 0 };
    uint32_t index;
    enum pli_err err = parse(name, &p);
    if (err == PLI_OK && pli_boot.gate != NULL && p.job.job == pli_proc.boot->job &&
        p.job.launcher != pli_proc.boot->node.header->launcher) {
        err = refuse_joined();
    }
    err = err == PLI_OK ? pli_outside_meet(&p.job) : err;
    err = err == PLI_OK ? look(&p) : err;
    if (err != PLI_OK) {
        return err;
    }
    if (!pli_tie_port_owner(node_of(&p), p.place, p.cookie, &index, &owner.ep)) {
        return pli_fail(PLI_ERR_PORT, "the port '%s' was closed", name);
    }
    owner.proc = p.job.job | index;
    if (pli_group_same(owner, hello.who)) {
        return pli_fail(PLI_ERR_PORT, "the port '%s' is this process's own", name);
    }
    hello.context = pli_process_context();
    err = pli_rendezvous_make(comm, owner, false, hello.context, bridge_out);
    err = err == PLI_OK ? pli_rendezvous_make(comm, owner, false, context_of(&p), &door) : err;
    err = err == PLI_OK ? pli_rendezvous_say(door, 0, &hello, sizeof hello) : err;
    err = err == PLI_OK ? pli_rendezvous_hear(*bridge_out, &answer, sizeof answer, look, &p) : err;
    pli_rendezvous_drop(door);
    return err;
}

// Both sides: the leader's way to the other is there or not, then the groups meet.
static enum pli_err meet(struct pli_comm *comm, int root, struct pli_comm *bridge, int far,
                         enum pli_err why, struct pli_comm **out)
{
    char text[512] = "";
    if (why != PLI_OK) {
        snprintf(text, sizeof text, "%s", pli_fail_take(NULL));
    }
    enum pli_err err = pli_intercomm_join(comm, root, bridge, far, why, out);
    pli_rendezvous_drop(bridge);
    return why != PLI_OK ? pli_fail(why, "%s", text) : err;
}

// One side of a meeting at a port; make is what its root does, far its place among the two.
static enum pli_err at_port(const char *port, int root, struct pli_comm *comm, int far,
                            enum pli_err (*make)(const char *, struct pli_comm *,
                                                 struct pli_comm **),
                            struct pli_comm **out)
{
    struct pli_comm *bridge = NULL;
    enum pli_err why = PLI_OK;
    if (comm->is_inter) {
        return pli_fail(PLI_ERR_COMM, "argument comm is an intercommunicator");
    }
    if (comm->is_span) {
        return pli_comm_refuse_span(comm, "connections to other jobs");
    }
    if (comm->rank == root) {
        why = make(port, comm, &bridge);
    }
    return meet(comm, root, bridge, far, why, out);
}

enum pli_err pli_port_accept(const char *port, MPI_Info info, int root, struct pli_comm *comm,
                             struct pli_comm **out)
{
    (void)info;
    return at_port(port, root, comm, 1, let_in, out);
}

enum pli_err pli_port_connect(const char *port, MPI_Info info, int root, struct pli_comm *comm,
                              struct pli_comm **out)
{
    (void)info;
    return at_port(port, root, comm, 0, knock, out);
}

// What the two ends of a socket tell each other. Both are of one host, or cannot be joined.
struct card {
    char magic[8];
    struct pli_outside_name job;
    struct pli_id who;
    uint64_t context;
};

static enum pli_err move(int fd, void *buf, size_t len, bool is_send)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = is_send ? send(fd, (char *)buf + done, len - done, MSG_NOSIGNAL)
                            : recv(fd, (char *)buf + done, len - done, 0);
        if (n <= 0 && !(n < 0 && errno == EINTR)) {
            return pli_fail(PLI_ERR_ARG, "argument fd: the other process cannot be reached: %s",
                            n == 0 ? "it closed the socket" : strerror(errno));
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return PLI_OK;
}

static enum pli_err swap_cards(int fd, struct card *mine, struct card *theirs)
{
    enum pli_err err = move(fd, mine, sizeof *mine, true);
    err = err == PLI_OK ? move(fd, theirs, sizeof *theirs, false) : err;
    if (err == PLI_OK && memcmp(mine->magic, theirs->magic, sizeof mine->magic) != 0) {
        err = pli_fail(PLI_ERR_ARG, "argument fd: the other process does not call MPI_Comm_join of "
                                    "this version of Pliant MPI");
    }
    return err;
}

enum pli_err pli_port_join(struct pli_comm *self, int fd, struct pli_comm **out)
{
    struct card mine = { .magic = "PLIJOIN", .who = self->group->me }, theirs;
    struct pli_comm *bridge = NULL;
    uint32_t is_good, are_good;
    pli_outside_self(&mine.job);
    // A context of its own in any case: whether the other is of another job is not known yet.
    atomic_store_explicit(&pli_proc.boot->is_linked, true, memory_order_relaxed);
    mine.context = pli_process_context();
    enum pli_err err = swap_cards(fd, &mine, &theirs);
    if (err != PLI_OK) {
        return err;
    }
    if (pli_group_same(mine.who, theirs.who)) {
        return pli_fail(PLI_ERR_ARG, "argument fd: both ends of the socket are in this process");
    }
    bool is_low = mine.who.proc < theirs.who.proc;
    err = pli_span_is_far(theirs.who.proc) ? refuse_joined() : pli_outside_meet(&theirs.job);
    if (err == PLI_OK) {
        err = pli_rendezvous_make(self, theirs.who, is_low, is_low ? mine.context : theirs.context,
                                  &bridge);
    }
    is_good = err == PLI_OK;
    enum pli_err said = move(fd, &is_good, sizeof is_good, true);
    said = said == PLI_OK ? move(fd, &are_good, sizeof are_good, false) : said;
    err = err == PLI_OK ? said : err;
    if (err == PLI_OK && !are_good) {
        err = pli_fail(PLI_ERR_OTHER, "the other process cannot reach this one");
    }
    return meet(self, 0, bridge, is_low ? 1 : 0, err, out);
}
