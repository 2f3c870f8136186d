// SPDX-License-Identifier: BSD-3-Clause
// MPI_Open_port, MPI_Comm_accept and MPI_Comm_connect. A port is a random number in the table of
// its job, which is also the context on which its owner receives. A process that connects sends its
// identity there and a context for the two of them, gets the answer on that context, and confirms
// that it is still waiting: it may have timed out meanwhile.
#include "dynamic/port.h"

#include "base/fault.h"
#include "boot/boot.h"
#include "boot/jobtab.h"
#include "coll/coll.h"
#include "comm/intercomm.h"
#include "msg/lane.h"
#include "net/shm/other_job.h"
#include "msg/process.h"
#include "dynamic/ports.h"
#include "dynamic/reachable.h"
#include "dynamic/bcast_error.h"
#include "dynamic/port_timeout.h"
#include "dynamic/first_contact.h"
#include "obj/comm.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What the name of a port consists of.
struct port {
    char host[64]; // the host where the port was opened
    struct pli_other_job_name job;
    uint32_t slot;
    uint64_t cookie;
};

struct hello {
    struct pli_id who;
    uint64_t context; // of the communicator of the two processes
};

// The answer to a process that connects: PLI_OK, or why it is refused.
struct reply {
    enum pli_err why;
    char text[200];
};

// A wait at a port and what can end it.
struct port_wait {
    struct port port;
    struct pli_id owner;  // the process that accepts at it; only where this one connects
    struct pli_id client; // the process that has connected; only where this one accepts
    struct pli_port_timeout timeout;
    const struct pli_comm *comm; // whose members wait for this one
    bool has_moved; // while this one connects: another process or endpoint accepts at it
    bool has_ended; // while this one accepts: the process that has connected
};

// What the root does, up to a communicator with the other root.
typedef enum pli_err (*make_fn)(struct port_wait *v, const char *name, struct pli_comm *comm,
                                struct pli_comm **pair_out);

enum pli_err pli_port_open(struct pli_info *info, char *port_out)
{
    struct port p = { 0 };
    (void)info; // the standard defines no hints
    pli_other_job_self(&p.job);
    enum pli_err err = pli_ports_open(&p.slot, &p.cookie);
    if (err == PLI_OK) {
        snprintf(port_out, MPI_MAX_PORT_NAME,
                 "pliant:%s:%08" PRIx32 ":%" PRIu32 ":%" PRIu32 ":%" PRIu32 ":%016" PRIx64,
                 pli_proc.boot->node.header->host, (uint32_t)(p.job.job >> 32), p.job.launcher,
                 p.job.memory, p.slot, p.cookie);
    }
    return err;
}

static enum pli_err parse(const char *text, struct port *out)
{
    uint32_t job = 0;
    int end = 0;
    const char *host = text != NULL && strncmp(text, "pliant:", 7) == 0 ? text + 7 : NULL;
    const char *at = host != NULL ? strchr(host, ':') : NULL;
    *out = (struct port){ 0 };
    if (at == NULL ||
        sscanf(at, ":%8" SCNx32 ":%" SCNu32 ":%" SCNu32 ":%" SCNu32 ":%16" SCNx64 "%n", &job,
               &out->job.launcher, &out->job.memory, &out->slot, &out->cookie, &end) != 5 ||
        at[end] != '\0' || out->cookie == 0) {
        return pli_fail(PLI_ERR_PORT, "'%s' is not the name of a port of Pliant MPI",
                        text != NULL ? text : "NULL");
    }
    snprintf(out->host, sizeof out->host, "%.*s", (int)(at - host), host);
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
    return err == PLI_OK ? pli_ports_close(p.slot, p.cookie) : err;
}

static uint64_t context_of(const struct port *p)
{
    return (p->cookie | (uint64_t)1 << 63) & ~(uint64_t)3;
}

static bool is_ours(const struct port *p)
{
    return p->job.job == pli_proc.boot->job;
}

// The process that accepts at the port. A job whose launcher has ended has no ports.
static enum pli_err find_owner(const struct port *p, struct pli_id *out)
{
    uint32_t index = 0, ep = 0;
    if (is_ours(p)) {
        enum pli_err err = pli_ports_owner(p->slot, p->cookie, out);
        if (err != PLI_ERR_PORT) {
            return err;
        }
    } else {
        const struct pli_other_job *o = pli_other_job_find(p->job.job);
        if (o != NULL && pli_other_job_has_launcher(&o->node) &&
            pli_jobtab_port_owner(&o->node, p->slot, p->cookie, &index, &ep)) {
            *out = (struct pli_id){ p->job.job | index, ep };
            return PLI_OK;
        }
    }
    return pli_fail(PLI_ERR_PORT, "the port was closed, or the process that had it has ended");
}

// Whether the port is still open, the wait has not timed out, and the other members can take part.
static enum pli_err check_wait(struct port_wait *v, struct pli_id *owner_out)
{
    enum pli_err err = find_owner(&v->port, owner_out);
    if (err == PLI_OK) {
        err = pli_port_timeout_check(&v->timeout);
        err = err == PLI_OK ? pli_bcast_error_await(v->comm) : err;
    }
    return err;
}

static enum pli_err check_port(void *arg)
{
    struct pli_id unused;
    return check_wait(arg, &unused);
}

// The same where this process connects: who accepts need not be who had the port before.
static enum pli_err check_owner(void *arg)
{
    struct port_wait *v = arg;
    struct pli_id owner;
    enum pli_err err = check_wait(v, &owner);
    if (err == PLI_OK && !pli_group_same(owner, v->owner)) {
        v->owner = owner;
        v->has_moved = true;
        err = PLI_ERR_PORT; // begin again, there
    }
    return err;
}

// The same where this process accepts, as long as the process that has connected still runs.
static enum pli_err check_client(void *arg)
{
    struct port_wait *v = arg;
    v->has_ended = pli_reachable_has_ended(v->client.proc);
    return v->has_ended ? pli_fail(PLI_ERR_PORT, "the process that connected has ended")
                        : check_port(v);
}

// Answer a process that has connected, and wait for it to say that it is still there.
// *is_accepted_out is false if it timed out, ended, or cannot be reached. An error: this wait has
// timed out, or the like.
static enum pli_err talk_to_client(struct port_wait *v, struct pli_comm *comm,
                                   struct pli_comm *pair_comm, bool *is_accepted_out)
{
    struct reply reply = { .why = pli_reachable_check(comm, v->client.proc) };
    uint32_t is_here = 0;
    *is_accepted_out = false;
    if (reply.why != PLI_OK) {
        snprintf(reply.text, sizeof reply.text, "%s", pli_fail_take(NULL));
    }
    if (pli_first_contact_send(pair_comm, 1, &reply, sizeof reply) != PLI_OK) {
        pli_fail_take(NULL);
        return PLI_OK;
    }
    enum pli_err err = pli_first_contact_recv(pair_comm, &is_here, sizeof is_here, check_client, v);
    *is_accepted_out = err == PLI_OK && is_here != 0 && reply.why == PLI_OK;
    if (err != PLI_OK && !v->has_ended) {
        return pli_intercomm_refuse(pair_comm, 1, err);
    }
    pli_fail_take(NULL);
    return PLI_OK;
}

static enum pli_err answer_hello(struct port_wait *v, struct pli_comm *comm,
                                 const struct hello *hello, struct pli_comm **pair_out,
                                 bool *is_accepted_out)
{
    *is_accepted_out = false;
    v->client = hello->who;
    v->has_ended = pli_reachable_has_ended(hello->who.proc);
    if (v->has_ended) {
        return PLI_OK; // the next process may connect
    }
    enum pli_err err = pli_first_contact_make(comm, hello->who, true, hello->context, pair_out);
    err = err == PLI_OK ? talk_to_client(v, comm, *pair_out, is_accepted_out) : err;
    if (!*is_accepted_out) {
        pli_first_contact_free(*pair_out);
        *pair_out = NULL;
    }
    return err;
}

// The root's part of accepting: make a communicator with the process that connects.
static enum pli_err accept_as_root(struct port_wait *v, const char *name, struct pli_comm *comm,
                                   struct pli_comm **pair_out)
{
    struct pli_comm *listen_comm;
    struct hello hello;
    struct pli_id me = comm->group->me;
    enum pli_err err = PLI_ERR_PORT;
    if (is_ours(&v->port)) {
        err = pli_ports_own(v->port.slot, v->port.cookie, me);
    }
    if (err == PLI_ERR_PORT) {
        return pli_fail(PLI_ERR_PORT, "the port '%s' is not open in this job", name);
    }
    err = err == PLI_OK ? pli_first_contact_make(comm, me, true, context_of(&v->port), &listen_comm)
                        : err;
    if (err != PLI_OK) {
        return err;
    }
    for (bool is_accepted = false; err == PLI_OK && !is_accepted;) {
        err = pli_first_contact_recv(listen_comm, &hello, sizeof hello, check_port, v);
        err = err == PLI_OK ? answer_hello(v, comm, &hello, pair_out, &is_accepted) : err;
    }
    pli_first_contact_free(listen_comm);
    return err;
}

// Say to the owner, which waits for it, whether this process is still there. err: why it is not.
static enum pli_err end_hello(struct pli_comm *pair_comm, struct pli_id owner, enum pli_err err,
                              struct reply *reply)
{
    struct pli_fail_saved saved;
    uint32_t is_here = err == PLI_OK;
    pli_fail_save(&saved, err);
    if (err == PLI_OK || !pli_reachable_has_ended(owner.proc)) {
        err = pli_first_contact_send(pair_comm, 0, &is_here, sizeof is_here);
    }
    if (saved.err != PLI_OK) {
        return pli_fail_repeat(&saved);
    }
    reply->text[sizeof reply->text - 1] = '\0';
    return err == PLI_OK && reply->why != PLI_OK ? pli_fail(reply->why, "%s", reply->text) : err;
}

// Send the identity to the port's owner and receive its answer.
static enum pli_err exchange_hello(struct port_wait *v, struct pli_comm *comm,
                                   struct pli_comm *pair_comm, uint64_t context)
{
    struct hello hello = { comm->group->me, context };
    struct reply reply = { 0 };
    struct pli_comm *listen_comm = NULL;
    struct pli_id owner = v->owner;
    enum pli_err err =
        pli_first_contact_make(comm, owner, false, context_of(&v->port), &listen_comm);
    err = err == PLI_OK ? pli_first_contact_send(listen_comm, 0, &hello, sizeof hello) : err;
    pli_first_contact_free(listen_comm);
    if (err != PLI_OK) {
        return err;
    }
    pli_fault("port_hello", pli_proc.boot->index);
    pli_fault_hold("port_hello", pli_proc.boot->index);
    err = pli_first_contact_recv(pair_comm, &reply, sizeof reply, check_owner, v);
    return end_hello(pair_comm, owner, err, &reply);
}

// The root's part of connecting.
static enum pli_err connect_as_root(struct port_wait *v, const char *name, struct pli_comm *comm,
                                    struct pli_comm **pair_out)
{
    const struct port *p = &v->port;
    enum pli_err err = PLI_OK;
    if (pli_boot.gateway != NULL && is_ours(p) &&
        p->job.launcher != pli_proc.boot->node.header->launcher) {
        return pli_reachable_refuse_joined();
    }
    if (!is_ours(p)) {
        err = pli_reachable_check_host(p->host);
        err = err == PLI_OK ? pli_reachable_check(comm, p->job.job) : err;
        err = err == PLI_OK ? pli_other_job_meet(&p->job) : err;
    }
    err = err == PLI_OK ? find_owner(p, &v->owner) : err;
    if (err == PLI_OK && pli_group_same(v->owner, comm->group->me)) {
        err = pli_fail(PLI_ERR_PORT, "the port '%s' is this process's own", name);
    }
    if (err != PLI_OK) {
        return err;
    }
    do {
        uint64_t context = pli_process_context();
        pli_first_contact_free(*pair_out);
        *pair_out = NULL;
        v->has_moved = false;
        err = pli_first_contact_make(comm, v->owner, false, context, pair_out);
        err = err == PLI_OK ? exchange_hello(v, comm, *pair_out, context) : err;
    } while (err != PLI_OK && v->has_moved);
    return err;
}

// Every member maps the memory of the other job before a process of that can send to it: what one
// that dies leaves behind is found there. number: of the job, 0: it is this one.
static enum pli_err map_job(struct pli_comm *comm, int32_t number)
{
    struct pli_jobtab_job other;
    if (number == 0) {
        return PLI_OK;
    }
    if (pli_jobtab_get_job(&pli_proc.boot->node, (uint32_t)number, &other) &&
        pli_other_job_find(other.job) == NULL) {
        pli_fail_take(NULL); // it has ended; the two roots will hear of it
    }
    return pli_coll_barrier(comm);
}

// Accept or connect; make is what the root does, far the other root's rank among the two. why: the
// root's error before that. *is_alone_out: who had connected has ended since.
static enum pli_err meet(struct port_wait *v, const char *port, int root, struct pli_comm *comm,
                         int far, make_fn make, enum pli_err why, bool *is_alone_out,
                         struct pli_comm **out)
{
    struct pli_comm *pair_comm = NULL;
    int32_t number = 0;
    bool have_met = false; // so the other root waits for this group
    enum pli_err err = why;
    if (comm->rank == root && err == PLI_OK) {
        err = make(v, port, comm, &pair_comm);
        have_met = err == PLI_OK;
        pli_fault(make == connect_as_root ? "port_called" : "port_accepted", pli_proc.boot->index);
        uint64_t other = make == connect_as_root ? v->owner.proc : v->client.proc;
        number = (int32_t)pli_jobtab_find_job(&pli_proc.boot->node, pli_node_job_of(other), NULL);
    }
    err = pli_bcast_error_share(comm, root, err, &number);
    err = err == PLI_OK ? map_job(comm, number) : err;
    *is_alone_out = false;
    if (err == PLI_OK) {
        err = pli_intercomm_join(comm, root, pair_comm, far, PLI_OK, out);
        *is_alone_out = err == PLI_ERR_PORT;
    } else if (have_met) {
        err = pli_intercomm_refuse(pair_comm, far, err);
    }
    pli_first_contact_free(pair_comm);
    return err;
}

static enum pli_err meet_at_port(const char *port, MPI_Info info, int root, struct pli_comm *comm,
                                 int far, make_fn make, struct pli_comm **out)
{
    struct port_wait v = { .comm = comm };
    enum pli_err why = PLI_OK, err;
    bool is_alone;
    if (comm->is_inter) {
        return pli_fail(PLI_ERR_COMM, "argument comm is an intercommunicator");
    }
    if (comm->is_span) {
        return pli_comm_refuse_span(comm, "connections to other jobs");
    }
    pli_other_job_tidy(); // each process maps the jobs that come
    if (comm->rank == root) {
        why = parse(port, &v.port);
        why =
            why == PLI_OK ? pli_port_timeout_read(info, make == connect_as_root, &v.timeout) : why;
    }
    do { // the next process may connect
        err = meet(&v, port, root, comm, far, make, why, &is_alone, out);
    } while (is_alone && make == accept_as_root);
    return err;
}

enum pli_err pli_port_accept(const char *port, MPI_Info info, int root, struct pli_comm *comm,
                             struct pli_comm **out)
{
    return meet_at_port(port, info, root, comm, 1, accept_as_root, out);
}

enum pli_err pli_port_connect(const char *port, MPI_Info info, int root, struct pli_comm *comm,
                              struct pli_comm **out)
{
    return meet_at_port(port, info, root, comm, 0, connect_as_root, out);
}
