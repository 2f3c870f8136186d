// SPDX-License-Identifier: BSD-3-Clause
// Collectives: each member tells the next one what it calls, and compares what it was told. The
// number of the collective on its communicator is the tag of the note.
#include "trace/check.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NO_ROOT = -1, OTHER_OP = 0xff, PATIENCE = 20 }; // seconds

struct note {
    uint64_t place;
    uint64_t data; // numbers << 24 | operation << 16 | function
    uint32_t hash; // 0: the amounts may differ
    int32_t root;
};
_Static_assert(sizeof(struct note) == PLI_OBSERVE_NOTE, "a note fits into a cell");

struct pli_check_waiting {
    struct pli_check_waiting *next;
    uint32_t number;
    struct note mine;
    const void *site;
};

static bool is_among(enum pli_check_fn f, const enum pli_check_fn *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == f) {
            return true;
        }
    }
    return false;
}

#define AMONG(f, list) is_among(f, list, sizeof list / sizeof list[0])

// The part of the arguments that must be the same at all members.
static struct pli_check_signature common_data(const struct pli_check_call *call,
                                              const struct pli_check_comm *c)
{
    static const enum pli_check_fn equal[] = {
        PLI_CHECK_FN_Bcast,
        PLI_CHECK_FN_Ibcast,
        PLI_CHECK_FN_Reduce,
        PLI_CHECK_FN_Ireduce,
        PLI_CHECK_FN_Allreduce,
        PLI_CHECK_FN_Iallreduce,
        PLI_CHECK_FN_Scan,
        PLI_CHECK_FN_Iscan,
        PLI_CHECK_FN_Exscan,
        PLI_CHECK_FN_Iexscan,
        PLI_CHECK_FN_Allgather,
        PLI_CHECK_FN_Iallgather,
        PLI_CHECK_FN_Alltoall,
        PLI_CHECK_FN_Ialltoall,
        PLI_CHECK_FN_Reduce_scatter_block,
        PLI_CHECK_FN_Ireduce_scatter_block,
    };
    static const enum pli_check_fn to_root[] = { PLI_CHECK_FN_Gather, PLI_CHECK_FN_Igather };
    static const enum pli_check_fn from_root[] = { PLI_CHECK_FN_Scatter, PLI_CHECK_FN_Iscatter };
    bool is_root = call->root == c->rank;
    if (AMONG(call->function, equal) ||
        (AMONG(call->function, to_root) && is_root && call->sendbuf == MPI_IN_PLACE) ||
        (AMONG(call->function, from_root) && !(is_root && call->recvbuf == MPI_IN_PLACE))) {
        return pli_check_sign(call->recvcount, call->recvtype);
    }
    if (AMONG(call->function, to_root) || AMONG(call->function, from_root)) {
        return pli_check_sign(call->sendcount, call->sendtype);
    }
    return (struct pli_check_signature){ 0 };
}

static bool has_root(enum pli_check_fn f)
{
    static const enum pli_check_fn rooted[] = {
        PLI_CHECK_FN_Bcast,   PLI_CHECK_FN_Ibcast,   PLI_CHECK_FN_Reduce,   PLI_CHECK_FN_Ireduce,
        PLI_CHECK_FN_Gather,  PLI_CHECK_FN_Igather,  PLI_CHECK_FN_Scatter,  PLI_CHECK_FN_Iscatter,
        PLI_CHECK_FN_Gatherv, PLI_CHECK_FN_Igatherv, PLI_CHECK_FN_Scatterv, PLI_CHECK_FN_Iscatterv,
    };
    return AMONG(f, rooted);
}

static struct note describe(const struct pli_check_call *call, const struct pli_check_comm *c)
{
    struct pli_check_signature s = common_data(call, c);
    uintptr_t op = (uintptr_t)call->op;
    uint64_t code = call->op == NULL ? 0 : op < 0x1000 ? (op & 0x7f) + 1 : OTHER_OP;
    return (struct note){
        .place = pli_line_place(call->site),
        .data = (uint64_t)s.n << 24 | code << 16 | (uint64_t)call->function,
        .hash = s.hash,
        .root = has_root(call->function) ? call->root : NO_ROOT,
    };
}

static void compare(const struct pli_check_comm *c, const struct note *mine,
                    const struct note *theirs, const void *site, int from)
{
    enum pli_check_fn f = (enum pli_check_fn)(mine->data & 0xffff);
    enum pli_check_fn g = (enum pli_check_fn)(theirs->data & 0xffff);
    const char *kind = NULL, *what = NULL;
    if (f != g) {
        kind = "collective";
        what = "the members must call the same collective in the same order";
    } else if (mine->root != theirs->root) {
        kind = "root";
        what = "the root must be the same at all members";
    } else if ((mine->data >> 16 & 0xff) != (theirs->data >> 16 & 0xff)) {
        kind = "operation";
        what = "the operation must be the same at all members";
    } else if (mine->hash != 0 && theirs->hash != 0 && mine->data >> 24 != theirs->data >> 24) {
        kind = "amount";
        what = "the members must give the same amount of data";
    } else if (mine->hash != 0 && theirs->hash != 0 && mine->hash != theirs->hash) {
        kind = "collective-type";
        what = "the members must give the same types";
    }
    if (kind != NULL) {
        char more[96] = "";
        if (mine->root != theirs->root && f == g) {
            snprintf(more, sizeof more, " (root %d here, %d there)", mine->root, theirs->root);
        } else if (mine->data >> 24 != theirs->data >> 24 && f == g) {
            snprintf(more, sizeof more, " (%llu numbers here, %llu there)",
                     (unsigned long long)(mine->data >> 24),
                     (unsigned long long)(theirs->data >> 24));
        }
        pli_check_say(kind, site, theirs->place,
                      "%s at %s meets %s at %s of rank %d of the communicator%s: %s",
                      pli_check_name(f), pli_line_of(site), pli_check_name(g),
                      pli_line_text(theirs->place), from, more, what);
    }
    (void)c;
}

// Context: locked.
void pli_check_coll_drain(struct pli_check_comm *c, bool is_last, bool may_fetch)
{
    enum pli_observe_about about =
        may_fetch ? PLI_OBSERVE_COLL : PLI_OBSERVE_COLL | PLI_OBSERVE_WHOLE;
    struct pli_check_waiting **at = &c->waiting, *w;
    struct note theirs;
    int from = (c->rank + c->size - 1) % (c->size > 0 ? c->size : 1);
    while ((w = *at) != NULL) {
        if (pli_check_lib.take(c->handle, from, (int)(w->number & 0x3fffffff), about, &theirs) !=
            PLI_OBSERVE_NONE) {
            compare(c, &w->mine, &theirs, w->site, from);
        } else if (!is_last) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        free(w);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Wait until the member before this one has called its collective: the sentence must come before
// the job hangs in two different ones.
static void wait_for(const struct pli_check_call *call, struct pli_check_comm *c, uint32_t number,
                     const struct note *mine)
{
    struct note theirs;
    int from = (c->rank + c->size - 1) % c->size;
    double end = now() + PATIENCE;
    for (int i = 0; now() < end; i++) {
        if (pli_check_lib.take(call->comm, from, (int)(number & 0x3fffffff), PLI_OBSERVE_COLL,
                               &theirs) != PLI_OBSERVE_NONE) {
            compare(c, mine, &theirs, call->site, from);
            return;
        }
        if (!pli_check_lib.probe(call->comm, from)) {
            return; // it is lost, or the communicator is revoked
        }
        if (i < 5000) {
            sched_yield();
        } else {
            struct timespec pause = { 0, 200000 };
            nanosleep(&pause, NULL);
        }
    }
}

// Whether this process sends something and receives something: in a collective of neighbors one
// that has none on a side leaves that buffer alone, whatever its count is.
static bool has_both_ways(const struct pli_check_call *call)
{
    int kind = MPI_UNDEFINED, n_in = 1, n_out = 1, is_weighted;
    if (strstr(pli_check_name(call->function), "eighbor_") != NULL) {
        PMPI_Topo_test(call->comm, &kind);
    }
    if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(call->comm, &n_in, &n_out, &is_weighted);
    } else if (kind == MPI_GRAPH) {
        int rank;
        PMPI_Comm_rank(call->comm, &rank);
        PMPI_Graph_neighbors_count(call->comm, rank, &n_in);
    } else if (kind == MPI_CART) {
        PMPI_Cartdim_get(call->comm, &n_in);
    }
    return n_in > 0 && n_out > 0;
}

static void check_alias(const struct pli_check_call *call)
{
    const char *a, *b;
    size_t n, m;
    static const enum pli_check_fn reduces[] = {
        PLI_CHECK_FN_Reduce,
        PLI_CHECK_FN_Allreduce,
        PLI_CHECK_FN_Scan,
        PLI_CHECK_FN_Exscan,
    };
    bool is_reduce = AMONG(call->function, reduces);
    MPI_Count count = is_reduce ? call->recvcount : call->sendcount;
    MPI_Datatype type = is_reduce ? call->recvtype : call->sendtype;
    if (type != NULL && call->recvtype != NULL && call->recvbuf != MPI_IN_PLACE &&
        pli_check_range(call->sendbuf, count, type, &a, &n) &&
        pli_check_range(call->recvbuf, call->recvcount, call->recvtype, &b, &m) && a < b + m &&
        b < a + n && has_both_ways(call)) {
        pli_check_say("alias", call->site, 0,
                      "the send buffer and the receive buffer of %s at %s overlap; use "
                      "MPI_IN_PLACE, or two buffers",
                      pli_check_name(call->function), pli_line_of(call->site));
    }
}

// The memory that a nonblocking collective has: what it sends, or else receives into.
static void watch(struct pli_check_call *call, const struct pli_check_comm *c)
{
    static const enum pli_check_fn for_each[] = { PLI_CHECK_FN_Ialltoall, PLI_CHECK_FN_Iscatter,
                                                  PLI_CHECK_FN_Ireduce_scatter_block };
    bool is_root = call->root == c->rank;
    if (call->function == PLI_CHECK_FN_Ibcast) {
        pli_check_request_watch(call, call->recvbuf, call->recvcount, call->recvtype, !is_root);
    } else if (call->sendbuf != NULL && call->sendbuf != MPI_IN_PLACE &&
               (call->function != PLI_CHECK_FN_Iscatter || is_root)) {
        MPI_Count each = AMONG(call->function, for_each) ? c->size : 1;
        bool has_own = call->sendtype != NULL;
        pli_check_request_watch(call, call->sendbuf,
                                (has_own ? call->sendcount : call->recvcount) * each,
                                has_own ? call->sendtype : call->recvtype, false);
    }
}

void pli_check_coll_begin(struct pli_check_call *call)
{
    pli_check_lock();
    struct pli_check_comm *c = pli_check_comm_of(call->comm);
    if (c == NULL || c->is_inter || c->size < 1) {
        pli_check_unlock();
        return;
    }
    if (call->request != NULL) {
        watch(call, c);
    }
    bool is_significant = !has_root(call->function) || call->root == c->rank;
    if (is_significant) {
        check_alias(call);
    }
    // Where a world may be resized, the error that says so is for the program, not for one who
    // waits for notes; and new ranks are in a collective of MPI_Init.
    if (c->size == 1 || c->it.is_told) {
        pli_check_unlock();
        return;
    }
    uint32_t number = c->n_coll++;
    struct note mine = describe(call, c);
    pli_check_coll_drain(c, false, true);
    if (call->request != NULL) {
        struct pli_check_waiting *w = malloc(sizeof *w);
        if (w != NULL) {
            *w = (struct pli_check_waiting){ c->waiting, number, mine, call->site };
            c->waiting = w;
        }
    }
    int to = (c->rank + 1) % c->size, from = (c->rank + c->size - 1) % c->size;
    pli_check_unlock();
    bool is_told =
        pli_check_lib.send(call->comm, to, (int)(number & 0x3fffffff), PLI_OBSERVE_COLL, &mine);
    // The one before may be unable to tell, where a communicator spans several jobs.
    if (is_told && call->request == NULL && pli_check_lib.reaches(call->comm, from)) {
        wait_for(call, c, number, &mine);
    }
}
