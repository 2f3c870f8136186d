// SPDX-License-Identifier: BSD-3-Clause
// Makes the list of performance variables from the tables of transports, protocols, collectives.
#include "tool/tool_pvar_list.h"

#include "base/conf.h"
#include "boot/boot.h"
#include "coll/coll_kind.h"
#include "coll/coll_select.h"
#include "msg/endpoint.h"
#include "msg/process.h"
#include "msg/statistics.h"
#include "net/list/net_list.h"
#include "net/net.h"
#include "obj/comm.h"
#include "tool/tool_category.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct pli_tool_pvar pli_tool_pvar_list[PLI_TOOL_PVAR_MAX];
static int n_pvar;

// Millionths: a percentage is given as a number of millionths of 1.
enum { WHOLE = 1000000 };

static uint64_t now_messages(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)comm;
    int transport = v->a % PLI_STAT_N_TRANSPORT, protocol = v->a / PLI_STAT_N_TRANSPORT;
    return pli_statistics_messages(transport, protocol, v->b != 0);
}

static uint64_t now_peers(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)comm;
    return pli_statistics_peers(v->a, v->b != 0);
}

static uint64_t now_count(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)comm;
    return pli_statistics_count((enum pli_stat_count)v->a);
}

static uint64_t now_rma(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)comm;
    return pli_statistics_rma((enum pli_stat_rma)v->a, v->b != 0);
}

static uint64_t now_polls(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)v;
    (void)comm;
    return pli_statistics_polls();
}

static uint64_t now_queue(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    return pli_statistics_queue(v->a != 0, comm);
}

static uint64_t now_gauge(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)comm;
    return pli_statistics_gauge((enum pli_stat_gauge)v->gauge);
}

static uint64_t now_held(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)v;
    (void)comm;
    return pli_statistics_held();
}

static uint64_t now_filled(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)v;
    (void)comm;
    double part = (double)pli_statistics_held() / (double)pli_conf.unexpected_max;
    return part < 1 ? (uint64_t)(part * WHOLE) : WHOLE;
}

static uint64_t now_connections(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)comm;
    return pli_statistics_connections(v->a);
}

static uint64_t now_retries(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)v;
    (void)comm;
    return atomic_load(&pli_statistics_n_retry);
}

static uint64_t now_requests(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)v;
    (void)comm;
    return pli_statistics_requests();
}

static uint64_t now_objects(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)comm;
    return pli_handle_live((enum pli_kind)v->a);
}

static uint64_t now_arena(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)v;
    (void)comm;
    return atomic_load_explicit(&pli_handle_used, memory_order_relaxed);
}

static uint64_t now_node(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)v;
    (void)comm;
    return pli_proc.boot != NULL ? pli_proc.boot->node.mapped : 0;
}

static uint64_t now_state(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)v;
    (void)comm;
    return pli_process_is_open() ? 1 : pli_proc.boot != NULL ? 2 : 0;
}

static uint64_t now_collective(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    (void)comm;
    if (v->b < 0) {
        return pli_coll_select_used(v->a, -1);
    }
    const struct pli_coll_algo *first = pli_coll_select_row(v->a, v->b), *other;
    uint64_t n = 0;
    for (int i = v->b; (other = pli_coll_select_row(v->a, i)) != NULL; i++) { // all of the name
        n += strcmp(other->name, first->name) == 0 ? pli_coll_select_used(v->a, i) : 0;
    }
    return n;
}

static uint64_t now_comm(const struct pli_tool_pvar *v, struct pli_comm *comm)
{
    struct pli_lane *lane = comm->ep->lane;
    pli_lock_take(&lane->lock);
    const uint64_t n[] = { comm->traffic.sent, comm->traffic.sent_bytes, comm->traffic.received,
                           comm->traffic.received_bytes,
                           atomic_load_explicit(&comm->traffic.collectives, memory_order_relaxed) };
    pli_lock_drop(&lane->lock);
    return n[v->a];
}

// A new row with its name; the description follows.
__attribute__((format(printf, 3, 4))) static struct pli_tool_pvar *add(int class, int category,
                                                                       const char *fmt, ...)
{
    struct pli_tool_pvar *v = &pli_tool_pvar_list[n_pvar++];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(v->name, sizeof v->name, fmt, ap);
    va_end(ap);
    v->class = class;
    v->category = category;
    v->bind = MPI_T_BIND_NO_OBJECT;
    v->verbosity = MPI_T_VERBOSITY_USER_DETAIL;
    v->type = class == MPI_T_PVAR_CLASS_TIMER || class == MPI_T_PVAR_CLASS_PERCENTAGE ? MPI_DOUBLE
              : class == MPI_T_PVAR_CLASS_STATE                                       ? MPI_INT
                                                : MPI_UNSIGNED_LONG_LONG;
    return v;
}

__attribute__((format(printf, 2, 3))) static void about(struct pli_tool_pvar *v, const char *fmt,
                                                        ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(v->about, sizeof v->about, fmt, ap);
    va_end(ap);
}

// A number of things that happen, counted while the variable is started.
static void counted(struct pli_tool_pvar *v, pli_tool_pvar_fn now, int a, int b)
{
    v->is_counted = true;
    v->now = now;
    v->a = a;
    v->b = b;
}

// What is there now, at any time.
static void level(struct pli_tool_pvar *v, pli_tool_pvar_fn now, int a)
{
    v->is_continuous = v->is_readonly = true;
    v->now = now;
    v->a = a;
}

static const char *transport_name(int t)
{
    const char *name = t == 0 ? "self" : pli_net_list[t - 1]->name;
    return strcmp(name, "shared memory") == 0 ? "shm" : name;
}

static void add_messages(void)
{
    static const char *const protocol[PLI_STAT_N_PROTOCOL] = { "eager", "rendezvous", "one_copy" };
    static const char *const says[PLI_STAT_N_PROTOCOL] = {
        "sent with their first packet", "offered first, and fetched by the receiver",
        "received by one copy out of the sender's memory"
    };
    for (int t = 0; t == 0 || pli_net_list[t - 1] != NULL; t++) {
        const char *name = transport_name(t);
        bool is_near = strcmp(name, "self") == 0 || strcmp(name, "shm") == 0;
        for (int p = 0; p < PLI_STAT_N_PROTOCOL; p++) {
            if (p == PLI_STAT_ONE_COPY && !is_near) {
                continue;
            }
            for (int b = 0; b < 2; b++) {
                int class = b ? MPI_T_PVAR_CLASS_AGGREGATE : MPI_T_PVAR_CLASS_COUNTER;
                struct pli_tool_pvar *v = add(class, PLI_TOOL_MESSAGE, "%s_%s_%s", name,
                                              protocol[p], b ? "bytes" : "messages");
                about(v, "%s by transport %s, %s", b ? "bytes of messages" : "messages", name,
                      says[p]);
                counted(v, now_messages, p * PLI_STAT_N_TRANSPORT + t, b);
            }
        }
        struct pli_tool_pvar *v =
            t == 0 ? NULL : add(MPI_T_PVAR_CLASS_LEVEL, PLI_TOOL_TRANSPORT, "%s_connections", name);
        if (v != NULL) {
            about(v, "connections to other processes by transport %s", name);
            level(v, now_connections, t);
        }
    }
}

static void add_peers(void)
{
    static const char *const peer[PLI_STAT_N_PEER] = { "process", "host", "job", "other_job" };
    static const char *const says[PLI_STAT_N_PEER] = { "endpoints of this process",
                                                       "other processes of this host",
                                                       "processes of this job on other hosts",
                                                       "processes of other jobs" };
    for (int p = 0; p < PLI_STAT_N_PEER; p++) {
        for (int b = 0; b < 2; b++) {
            int class = b ? MPI_T_PVAR_CLASS_AGGREGATE : MPI_T_PVAR_CLASS_COUNTER;
            struct pli_tool_pvar *v =
                add(class, PLI_TOOL_MESSAGE, "sent_%s_%s", peer[p], b ? "bytes" : "messages");
            about(v, "%s sent to %s", b ? "bytes of messages" : "messages", says[p]);
            counted(v, now_peers, p, b);
        }
    }
}

static const struct {
    enum pli_stat_count what;
    int class, category;
    const char *name, *about;
} counts[] = {
    { PLI_STAT_RECEIVED, MPI_T_PVAR_CLASS_COUNTER, PLI_TOOL_MESSAGE, "received_messages",
      "messages received" },
    { PLI_STAT_RECEIVED_BYTES, MPI_T_PVAR_CLASS_AGGREGATE, PLI_TOOL_MESSAGE, "received_bytes",
      "bytes of messages received" },
    { PLI_STAT_UNEXPECTED, MPI_T_PVAR_CLASS_COUNTER, PLI_TOOL_MESSAGE, "unexpected_messages",
      "messages that came before their receive" },
    { PLI_STAT_STALLED, MPI_T_PVAR_CLASS_COUNTER, PLI_TOOL_TRANSPORT, "stalled_sends",
      "sends that found no room in shared memory and were tried again" },
    { PLI_STAT_WAITS, MPI_T_PVAR_CLASS_COUNTER, PLI_TOOL_PROGRESS, "waits",
      "calls that had to wait" },
    { PLI_STAT_WAIT_NS, MPI_T_PVAR_CLASS_TIMER, PLI_TOOL_PROGRESS, "wait_time",
      "seconds in calls that had to wait" },
    { PLI_STAT_SLEEPS, MPI_T_PVAR_CLASS_COUNTER, PLI_TOOL_PROGRESS, "sleeps",
      "times a waiting thread went to sleep" },
    { PLI_STAT_SLEEP_NS, MPI_T_PVAR_CLASS_TIMER, PLI_TOOL_PROGRESS, "sleep_time",
      "seconds that waiting threads slept" },
};

static void add_counts(void)
{
    struct pli_tool_pvar *v;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        v = add(counts[i].class, counts[i].category, "%s", counts[i].name);
        about(v, "%s", counts[i].about);
        counted(v, now_count, (int)counts[i].what, 0);
    }
    v = add(MPI_T_PVAR_CLASS_COUNTER, PLI_TOOL_TRANSPORT, "connections_made");
    about(v, "connections made since the handle was allocated");
    v->is_continuous = true;
    v->now = now_count;
    v->a = PLI_STAT_CONNECTIONS;
    v = add(MPI_T_PVAR_CLASS_COUNTER, PLI_TOOL_TRANSPORT, "connection_retries");
    about(v, "calls to other processes that were made again, or at their next address, since the "
             "handle was allocated");
    v->is_continuous = true;
    v->now = now_retries;
    v = add(MPI_T_PVAR_CLASS_COUNTER, PLI_TOOL_PROGRESS, "progress_polls");
    about(v, "looks for messages since the handle was allocated");
    v->is_continuous = true;
    v->now = now_polls;
}

static void add_queues(void)
{
    static const char *const name[2] = { "unexpected", "posted" };
    static const char *const says[2] = { "messages that wait for their receive",
                                         "receives that wait for their message" };
    for (int p = 0; p < 2; p++) {
        struct pli_tool_pvar *v =
            add(MPI_T_PVAR_CLASS_LEVEL, PLI_TOOL_MESSAGE, "%s_queue_length", name[p]);
        about(v, "%s, of all endpoints of the process", says[p]);
        level(v, now_queue, p);
        v = add(MPI_T_PVAR_CLASS_HIGHWATERMARK, PLI_TOOL_MESSAGE, "%s_queue_length", name[p]);
        about(v, "%s: most in the queue of one endpoint", says[p]);
        counted(v, now_gauge, 0, 0);
        v->gauge = p ? PLI_STAT_POSTED : PLI_STAT_QUEUED;
        v = add(MPI_T_PVAR_CLASS_LEVEL, PLI_TOOL_COMMUNICATOR, "comm_%s_queue_length", name[p]);
        about(v, "%s, of the communicator", says[p]);
        level(v, now_queue, p);
        v->bind = MPI_T_BIND_MPI_COMM;
    }
}

static void add_comm(void)
{
    static const struct {
        const char *name, *about;
    } row[] = {
        { "comm_sent_messages", "messages that the program sent on the communicator" },
        { "comm_sent_bytes", "bytes that the program sent on the communicator" },
        { "comm_received_messages", "messages that the program received on the communicator" },
        { "comm_received_bytes", "bytes that the program received on the communicator" },
        { "comm_collectives", "collective operations begun on the communicator" },
    };
    for (int i = 0; i < 5; i++) {
        bool is_bytes = i == 1 || i == 3;
        struct pli_tool_pvar *v =
            add(is_bytes ? MPI_T_PVAR_CLASS_AGGREGATE : MPI_T_PVAR_CLASS_COUNTER,
                PLI_TOOL_COMMUNICATOR, "%s", row[i].name);
        about(v, "%s", row[i].about);
        counted(v, now_comm, i, 0);
        v->bind = MPI_T_BIND_MPI_COMM;
    }
}

static void add_memory(void)
{
    static const struct {
        enum pli_kind kind;
        const char *name;
    } object[] = {
        { PLI_KIND_COMM, "communicators" }, { PLI_KIND_GROUP, "groups" },
        { PLI_KIND_DATATYPE, "datatypes" }, { PLI_KIND_OP, "operations" },
        { PLI_KIND_INFO, "infos" },         { PLI_KIND_WIN, "windows" },
        { PLI_KIND_FILE, "files" },         { PLI_KIND_SESSION, "sessions" },
    };
    struct pli_tool_pvar *v = add(MPI_T_PVAR_CLASS_LEVEL, PLI_TOOL_MEMORY, "unexpected_memory");
    about(v, "bytes of memory that unexpected messages take");
    level(v, now_held, 0);
    v = add(MPI_T_PVAR_CLASS_HIGHWATERMARK, PLI_TOOL_MEMORY, "unexpected_memory");
    about(v, "most bytes of memory that unexpected messages of a lane took");
    counted(v, now_gauge, 0, 0);
    v->gauge = PLI_STAT_HELD_BYTES;
    v = add(MPI_T_PVAR_CLASS_PERCENTAGE, PLI_TOOL_MEMORY, "unexpected_memory");
    about(v, "part of PLIANT_UNEXPECTED_MAX that unexpected messages take");
    level(v, now_filled, 0);
    for (size_t i = 0; i < sizeof object / sizeof object[0]; i++) {
        v = add(MPI_T_PVAR_CLASS_LEVEL, PLI_TOOL_MEMORY, "%s", object[i].name);
        about(v, "%s that there are, besides predefined ones", object[i].name);
        level(v, now_objects, (int)object[i].kind);
    }
    v = add(MPI_T_PVAR_CLASS_LEVEL, PLI_TOOL_MEMORY, "requests");
    about(v, "requests of sends and receives that there are");
    level(v, now_requests, 0);
    v = add(MPI_T_PVAR_CLASS_LEVEL, PLI_TOOL_MEMORY, "object_memory");
    about(v, "bytes of memory of MPI objects, in use or kept for others");
    level(v, now_arena, 0);
    v = add(MPI_T_PVAR_CLASS_SIZE, PLI_TOOL_MEMORY, "node_memory");
    about(v,
          "bytes that the processes of this host share; memory is taken where they were touched");
    level(v, now_node, 0);
    v = add(MPI_T_PVAR_CLASS_STATE, PLI_TOOL_GENERAL, "mpi_state");
    about(v, "whether MPI is in use in this process");
    level(v, now_state, 0);
    v->words = "not_yet|in_use|over";
}

static void add_rma(void)
{
    static const char *const name[PLI_STAT_N_RMA] = { "put", "get", "accumulate", "get_accumulate",
                                                      "compare_and_swap" };
    for (int i = 0; i < PLI_STAT_N_RMA; i++) {
        for (int b = 0; b < 2; b++) {
            int class = b ? MPI_T_PVAR_CLASS_AGGREGATE : MPI_T_PVAR_CLASS_COUNTER;
            struct pli_tool_pvar *v =
                add(class, PLI_TOOL_ONE_SIDED, "rma_%s_%s", name[i], b ? "bytes" : "calls");
            about(v, "%s one-sided communication: %s", b ? "bytes moved by" : "operations of",
                  name[i]);
            counted(v, now_rma, i, b);
        }
    }
}

static void add_collectives(void)
{
    for (int k = 0; k < PLI_N_COLL; k++) {
        const char *name = pli_coll_kind_info[k].name;
        const struct pli_coll_algo *row;
        struct pli_tool_pvar *v =
            add(MPI_T_PVAR_CLASS_COUNTER, PLI_TOOL_COLLECTIVE, "coll_%s", name);
        about(v, "operations %s, blocking or not", name);
        counted(v, now_collective, k, -1);
        for (int i = 0; (row = pli_coll_select_row(k, i)) != NULL; i++) {
            bool is_known = false;
            for (int j = 0; j < i; j++) {
                is_known = is_known || strcmp(pli_coll_select_row(k, j)->name, row->name) == 0;
            }
            if (!is_known && n_pvar < PLI_TOOL_PVAR_MAX) {
                v = add(MPI_T_PVAR_CLASS_COUNTER, PLI_TOOL_COLLECTIVE, "coll_%s_%s", name,
                        row->name);
                about(v, "operations %s by algorithm %s: %s", name, row->name, row->about);
                v->verbosity = MPI_T_VERBOSITY_TUNER_DETAIL;
                counted(v, now_collective, k, i);
            }
        }
    }
}

int pli_tool_pvar_list_make(void)
{
    if (n_pvar == 0) {
        add_messages();
        add_peers();
        add_counts();
        add_queues();
        add_comm();
        add_memory();
        add_rma();
        add_collectives();
    }
    return n_pvar;
}
