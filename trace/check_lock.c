// SPDX-License-Identifier: BSD-3-Clause
// Races between ranks that access one target under shared locks. The target has a board, in a
// window of the checker, with the last accesses; a rank that completes one writes it there and
// looks at those of others. One of another rank is a race for certain if that rank has made no call
// since by which it could have told anybody: it counts such calls. A barrier of all members tells
// only those who have entered it as well, and is counted apart.
#include "trace/check_lock.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { N_ENTRY = 64 };

struct entry {
    struct pli_check_access it;
    uint32_t from, n_barrier;
    uint64_t n_told;
    uint64_t sum; // of the above: another may be writing it
};

struct board {
    uint64_t n_told; // calls of the owner that may have told others
    uint64_t n_entry;
    struct entry entries[N_ENTRY];
};

struct pli_check_locks {
    struct pli_check_locks *next;
    MPI_Comm comm;
    MPI_Win win; // of the boards
    struct board *mine;
    int rank, size;
    uint32_t n_barrier;
    unsigned char held[]; // lock of each target: 0 none, or as below
};
enum { SHARED = 1, EXCLUSIVE };

static struct pli_check_locks *all;
static struct {
    int (*win_allocate)(MPI_Aint, int, MPI_Info, MPI_Comm, void *, MPI_Win *);
    int (*win_free)(MPI_Win *);
    int (*lock_all)(int, MPI_Win);
    int (*unlock_all)(MPI_Win);
    int (*flush)(int, MPI_Win);
    int (*fetch_and_op)(const void *, void *, MPI_Datatype, int, MPI_Aint, MPI_Op, MPI_Win);
    int (*put)(const void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win);
    int (*get)(void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win);
    int (*compare)(MPI_Comm, MPI_Comm, int *);
    int (*barrier)(MPI_Comm);
} lib;

static bool find_functions(void)
{
    static const char *const names[] = { "PMPI_Win_allocate", "PMPI_Win_free",
                                         "PMPI_Win_lock_all", "PMPI_Win_unlock_all",
                                         "PMPI_Win_flush",    "PMPI_Fetch_and_op",
                                         "PMPI_Put",          "PMPI_Get",
                                         "PMPI_Comm_compare", "PMPI_Barrier" };
    void *found[sizeof names / sizeof names[0]];
    _Static_assert(sizeof found == sizeof lib, "a name for each function");
    void *library = dlopen("libmpi_abi.so.1", RTLD_LAZY | RTLD_NOLOAD);
    bool is_complete = library != NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && is_complete; i++) {
        found[i] = dlsym(library, names[i]);
        is_complete = found[i] != NULL;
    }
    if (is_complete) {
        memcpy(&lib, found, sizeof found);
    }
    return is_complete;
}

struct pli_check_locks *pli_check_lock_create(MPI_Comm comm, int rank, int size)
{
    struct pli_check_locks *l = calloc(1, sizeof *l + (size_t)size);
    if (l == NULL) {
        abort(); // the others wait
    }
    if (!find_functions() || lib.win_allocate(sizeof *l->mine, 1, MPI_INFO_NULL, comm, &l->mine,
                                              &l->win) != MPI_SUCCESS) {
        free(l);
        return NULL;
    }
    l->comm = comm;
    l->rank = rank;
    l->size = size;
    memset(l->mine, 0, sizeof *l->mine);
    lib.lock_all(0, l->win);
    lib.barrier(comm); // the boards are empty before anybody writes
    l->next = all;
    all = l;
    return l;
}

void pli_check_lock_destroy(struct pli_check_locks *l)
{
    for (struct pli_check_locks **at = &all; l != NULL && *at != NULL; at = &(*at)->next) {
        if (*at == l) {
            *at = l->next;
            lib.unlock_all(l->win);
            lib.win_free(&l->win);
            free(l);
            return;
        }
    }
}

void pli_check_lock_set(struct pli_check_locks *l, const struct pli_check_call *call)
{
    bool is_all = call->function == PLI_CHECK_FN_Win_lock_all ||
                  call->function == PLI_CHECK_FN_Win_unlock_all;
    int how = call->function == PLI_CHECK_FN_Win_lock_all ? SHARED
              : call->function != PLI_CHECK_FN_Win_lock   ? 0
              : call->lock_type == MPI_LOCK_SHARED        ? SHARED
                                                          : EXCLUSIVE;
    if (is_all) {
        memset(l->held, how, (size_t)l->size);
    } else if (call->target_rank >= 0 && call->target_rank < l->size) {
        l->held[call->target_rank] = (unsigned char)how;
    }
}

// Members go on only when all have come.
static bool is_barrier(const struct pli_check_call *call)
{
    return call->function == PLI_CHECK_FN_Barrier ||
           (call->function == PLI_CHECK_FN_Allreduce && call->recvcount > 0);
}

static bool tells(const struct pli_check_call *call, enum pli_check_class kind)
{
    switch (call->function) {
    case PLI_CHECK_FN_Win_lock:
    case PLI_CHECK_FN_Win_lock_all:
    case PLI_CHECK_FN_Win_unlock:
    case PLI_CHECK_FN_Win_unlock_all:
    case PLI_CHECK_FN_Win_flush:
    case PLI_CHECK_FN_Win_flush_all:
        return false;
    default:
        return kind != PLI_CHECK_RECV && kind != PLI_CHECK_PROBE;
    }
}

void pli_check_lock_tell(const struct pli_check_call *call, enum pli_check_class kind)
{
    if (all == NULL || !tells(call, kind)) {
        return;
    }
    pli_check_lock();
    for (struct pli_check_locks *l = all; l != NULL; l = l->next) {
        int result = MPI_UNEQUAL;
        if (kind == PLI_CHECK_COLL && is_barrier(call) && !pli_check_has_threads() &&
            call->comm != MPI_COMM_NULL) {
            lib.compare(call->comm, l->comm, &result);
        }
        if (result != MPI_UNEQUAL) {
            l->n_barrier++;
        } else {
            atomic_fetch_add((_Atomic uint64_t *)&l->mine->n_told, 1);
        }
    }
    pli_check_unlock();
}

static void judge(struct pli_check_locks *l, int target, const struct entry *me,
                  const struct entry *it)
{
    uint64_t n_told = 0;
    // Only where both are at the same displacement is it known that they meet: units may be larger.
    if (it->sum != pli_check_sum((const char *)it, offsetof(struct entry, sum)) ||
        it->from == (uint32_t)l->rank || it->n_barrier != me->n_barrier ||
        it->it.disp != me->it.disp || !pli_check_access_meet(&it->it, &me->it, 1)) {
        return;
    }
    lib.get(&n_told, 8, MPI_BYTE, (int)it->from, 0, 8, MPI_BYTE, l->win);
    lib.flush((int)it->from, l->win);
    if (n_told == it->n_told) {
        pli_check_say("race", (const void *)(uintptr_t)0, it->it.place ^ me->it.place * 3,
                      "%s at %s of rank %u and %s at %s of rank %d access the same bytes of rank "
                      "%d under shared locks, and nothing puts one after the other; use exclusive "
                      "locks, or a synchronisation between them",
                      pli_check_name((enum pli_check_fn)it->it.function),
                      pli_line_text(it->it.place), it->from,
                      pli_check_name((enum pli_check_fn)me->it.function),
                      pli_line_text(me->it.place), l->rank, target);
    }
}

void pli_check_lock_add(struct pli_check_locks *l, int target, const struct pli_check_access *a)
{
    if (target < 0 || target >= l->size || l->held[target] != SHARED) {
        return;
    }
    static struct board there; // guarded by the checker's lock
    uint64_t one = 1, slot = 0;
    struct entry me = { *a, (uint32_t)l->rank, l->n_barrier,
                        atomic_load((_Atomic uint64_t *)&l->mine->n_told), 0 };
    me.sum = pli_check_sum((const char *)&me, offsetof(struct entry, sum));
    lib.fetch_and_op(&one, &slot, MPI_UINT64_T, target, offsetof(struct board, n_entry), MPI_SUM,
                     l->win);
    lib.flush(target, l->win);
    MPI_Aint at = (MPI_Aint)(offsetof(struct board, entries) + slot % N_ENTRY * sizeof me);
    lib.put(&me, sizeof me, MPI_BYTE, target, at, sizeof me, MPI_BYTE, l->win);
    lib.flush(target, l->win); // written before it is looked at: one of two sees the other
    lib.get(&there, sizeof there, MPI_BYTE, target, 0, sizeof there, MPI_BYTE, l->win);
    lib.flush(target, l->win);
    for (int i = 0; i < N_ENTRY; i++) {
        judge(l, target, &me, &there.entries[i]);
    }
}
