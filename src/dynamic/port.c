// SPDX-License-Identifier: BSD-3-Clause
// A port is a random number in the table of its job; the number is also the context on which its
// owner listens. Who connects sends its identity there and a context for the two of them, is
// answered on that, and says that it is still there: one that waited too long has left by then.
#include "dynamic/port.h"

#include "boot/boot.h"
#include "boot/jobtab.h"
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

// What a port's name says.
struct port {
    char host[64]; // where its job, or that part of it, is
    struct pli_other_job_name job;
    uint32_t place;
    uint64_t cookie;
};

struct hello {
    struct pli_id who;
    uint64_t context; // for the two
};

// To who connects: come in, or why not.
struct reply {
    enum pli_err why;
    char text[200];
};

// What ends a wait at a port.
struct port_wait {
    struct port port;
    struct pli_id owner;  // the process that accepts at it; only where this one connects
    struct pli_id client; // the process that has connected; only where this one accepts
    struct pli_port_timeout timeout;
    bool is_late;
};

enum pli_err pli_port_open(struct pli_info *info, char *port_out)
{
    struct port p = { 0 };
    (void)info; // the standard defines no hints
    pli_other_job_self(&p.job);
    enum pli_err err = pli_ports_open(&p.place, &p.cookie);
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
    const char *host = text != NULL && strncmp(text, "pliant:", 7) == 0 ? text + 7 : NULL;
    const char *at = host != NULL ? strchr(host, ':') : NULL;
    *out = (struct port){ 0 };
    if (at == NULL ||
        sscanf(at, ":%8" SCNx32 ":%" SCNu32 ":%" SCNu32 ":%" SCNu32 ":%16" SCNx64 "%n", &job,
               &out->job.launcher, &out->job.memory, &out->place, &out->cookie, &end) != 5 ||
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
    return err == PLI_OK ? pli_ports_close(p.place, p.cookie) : err;
}

static uint64_t context_of(const struct port *p)
{
    return (p->cookie | (uint64_t)1 << 63) & ~(uint64_t)3;
}

static bool is_ours(const struct port *p)
{
    return p->job.job == pli_proc.boot->job;
}

// Who accepts at the port. A job whose launcher is gone has no ports.
static enum pli_err find_owner(const struct port *p, struct pli_id *out)
{
    uint32_t index = 0, ep = 0;
    if (is_ours(p)) {
        enum pli_err err = pli_ports_owner(p->place, p->cookie, out);
        if (err != PLI_ERR_PORT) {
            return err;
        }
    } else {
        const struct pli_other_job *o = pli_other_job_find(p->job.job);
        if (o != NULL && pli_reachable_has_launcher(&o->node) &&
            pli_jobtab_port_owner(&o->node, p->place, p->cookie, &index, &ep)) {
            *out = (struct pli_id){ p->job.job | index, ep };
            return PLI_OK;
        }
    }
    return pli_fail(PLI_ERR_PORT, "the port was closed, or the process that had it has ended");
}

// Whether the port is still there, and the time has not run out.
static enum pli_err look(void *arg)
{
    struct port_wait *v = arg;
    enum pli_err err = find_owner(&v->port, &v->owner);
    if (err == PLI_OK) {
        err = pli_port_timeout_check(&v->timeout);
        v->is_late = err != PLI_OK;
    }
    return err;
}

// Whether the process that has connected is still there.
static enum pli_err look_at_client(void *arg)
{
    const struct port_wait *v = arg;
    return pli_reachable_is_gone(v->client.proc)
               ? pli_fail(PLI_ERR_PORT, "the process that connected has ended")
               : PLI_OK;
}

// Answer a process that has connected. *is_in_out: it is accepted; else it has left, or died, or
// cannot be reached.
static enum pli_err answer_client(struct port_wait *v, struct pli_comm *comm,
                                  const struct hello *hello, struct pli_comm **bridge_out,
                                  bool *is_in_out)
{
    struct reply reply = { .why = pli_reachable_check(comm, hello->who.proc) };
    uint32_t word = 0;
    *is_in_out = false;
    if (reply.why != PLI_OK) {
        snprintf(reply.text, sizeof reply.text, "%s", pli_fail_take(NULL));
    }
    v->client = hello->who;
    enum pli_err err = pli_first_contact_make(comm, hello->who, true, hello->context, bridge_out);
    if (err != PLI_OK) {
        return err;
    }
    if (pli_first_contact_say(*bridge_out, 1, &reply, sizeof reply) == PLI_OK &&
        pli_first_contact_hear(*bridge_out, &word, sizeof word, look_at_client, v) == PLI_OK) {
        *is_in_out = word != 0 && reply.why == PLI_OK;
    }
    if (!*is_in_out) {
        pli_first_contact_drop(*bridge_out);
        *bridge_out = NULL;
        pli_fail_take(NULL); // the next one
    }
    return PLI_OK;
}

// The root's part of accepting: a communicator with the process that connects.
static enum pli_err accept_client(struct port_wait *v, const char *name, struct pli_comm *comm,
                                  struct pli_comm **bridge_out)
{
    struct pli_comm *listening;
    struct hello hello;
    struct pli_id me = comm->group->me;
    enum pli_err err = PLI_ERR_PORT;
    if (is_ours(&v->port)) {
        err = pli_ports_own(v->port.place, v->port.cookie, me);
    }
    if (err == PLI_ERR_PORT) {
        return pli_fail(PLI_ERR_PORT, "the port '%s' is not open in this job", name);
    }
    err = err == PLI_OK ? pli_first_contact_make(comm, me, true, context_of(&v->port), &listening)
                        : err;
    if (err != PLI_OK) {
        return err;
    }
    for (bool is_in = false; err == PLI_OK && !is_in;) {
        err = pli_first_contact_hear(listening, &hello, sizeof hello, look, v);
        err = err == PLI_OK ? answer_client(v, comm, &hello, bridge_out, &is_in) : err;
    }
    pli_first_contact_drop(listening);
    return err;
}

// Knock at the listening of the owner and hear what it says.
static enum pli_err talk(struct port_wait *v, struct pli_comm *comm, struct pli_comm *bridge,
                         uint64_t context)
{
    struct hello hello = { comm->group->me, context };
    struct reply reply = { 0 };
    struct pli_comm *listening = NULL;
    uint32_t word;
    enum pli_err err =
        pli_first_contact_make(comm, v->owner, false, context_of(&v->port), &listening);
    err = err == PLI_OK ? pli_first_contact_say(listening, 0, &hello, sizeof hello) : err;
    err = err == PLI_OK ? pli_first_contact_hear(bridge, &reply, sizeof reply, look, v) : err;
    pli_first_contact_drop(listening);
    word = err == PLI_OK;
    if (err == PLI_OK || v->is_late) { // the owner waits for this word
        enum pli_err said = pli_first_contact_say(bridge, 0, &word, sizeof word);
        err = err == PLI_OK ? said : err;
    }
    reply.text[sizeof reply.text - 1] = '\0';
    return err == PLI_OK && reply.why != PLI_OK ? pli_fail(reply.why, "%s", reply.text) : err;
}

// The root's part of connecting.
static enum pli_err knock(struct port_wait *v, const char *name, struct pli_comm *comm,
                          struct pli_comm **bridge_out)
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
    uint64_t context = pli_process_context();
    err = pli_first_contact_make(comm, v->owner, false, context, bridge_out);
    return err == PLI_OK ? talk(v, comm, *bridge_out, context) : err;
}

// One side of a meeting at a port; make is what its root does, far its place among the two.
static enum pli_err at_port(const char *port, MPI_Info info, int root, struct pli_comm *comm,
                            int far,
                            enum pli_err (*make)(struct port_wait *, const char *,
                                                 struct pli_comm *, struct pli_comm **),
                            struct pli_comm **out)
{
    struct pli_comm *bridge = NULL;
    struct port_wait v = { 0 };
    enum pli_err err = PLI_OK;
    int32_t none = 0;
    if (comm->is_inter) {
        return pli_fail(PLI_ERR_COMM, "argument comm is an intercommunicator");
    }
    if (comm->is_span) {
        return pli_comm_refuse_span(comm, "connections to other jobs");
    }
    if (comm->rank == root) {
        err = parse(port, &v.port);
        err = err == PLI_OK ? pli_port_timeout_read(info, make == knock, &v.timeout) : err;
        err = err == PLI_OK ? make(&v, port, comm, &bridge) : err;
    }
    err = pli_bcast_error_share(comm, root, err, &none);
    err = err == PLI_OK ? pli_intercomm_join(comm, root, bridge, far, PLI_OK, out) : err;
    pli_first_contact_drop(bridge);
    return err;
}

enum pli_err pli_port_accept(const char *port, MPI_Info info, int root, struct pli_comm *comm,
                             struct pli_comm **out)
{
    return at_port(port, info, root, comm, 1, accept_client, out);
}

enum pli_err pli_port_connect(const char *port, MPI_Info info, int root, struct pli_comm *comm,
                              struct pli_comm **out)
{
    return at_port(port, info, root, comm, 0, knock, out);
}
