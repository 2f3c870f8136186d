// SPDX-License-Identifier: BSD-3-Clause
// Accesses to windows: those of one epoch must not meet at one place, unless all read or all
// accumulate by one operation. A rank compares its own between two synchronisations; at a fence the
// targets compare those of all.
#include "trace/check.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { N_ACCESS = 2000, N_WIN = 64 };
enum kind { PUT, GET, ACCUMULATE };

struct access {
    uint64_t disp, n; // in units of the target, and bytes
    uint64_t place;
    uint32_t op;
    uint16_t kind, function;
};

struct window {
    MPI_Win handle; // NULL: free
    MPI_Comm comm;  // of the checker; MPI_COMM_NULL: none
    int size, rank, unit;
    int n;
    struct {
        struct access it;
        int target;
    } made[N_ACCESS];
};

static struct window *windows[N_WIN];
static int (*split)(MPI_Comm, int, int, MPI_Comm *);
static int (*comm_free)(MPI_Comm *);
static int (*alltoall)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
static int (*alltoallv)(const void *, const int *, const int *, MPI_Datatype, void *, const int *,
                        const int *, MPI_Datatype, MPI_Comm);

static bool find_functions(void)
{
    void *library = dlopen("libmpi_abi.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL && split == NULL) {
        *(void **)&split = dlsym(library, "PMPI_Comm_split");
        *(void **)&comm_free = dlsym(library, "PMPI_Comm_free");
        *(void **)&alltoall = dlsym(library, "PMPI_Alltoall");
        *(void **)&alltoallv = dlsym(library, "PMPI_Alltoallv");
    }
    return split != NULL && comm_free != NULL && alltoall != NULL && alltoallv != NULL;
}

static struct window *find(MPI_Win win)
{
    for (int i = 0; i < N_WIN; i++) {
        if (windows[i] != NULL && windows[i]->handle == win) {
            return windows[i];
        }
    }
    return NULL;
}

static void judge(const struct access *a, const struct access *b, uint64_t unit, int from_a,
                  int from_b, const char *where)
{
    uint64_t pa = a->disp * unit, pb = b->disp * unit;
    bool is_same_way = (a->kind == GET && b->kind == GET) ||
                       (a->kind == ACCUMULATE && b->kind == ACCUMULATE && a->op == b->op);
    if (is_same_way || pa >= pb + b->n || pb >= pa + a->n) {
        return;
    }
    pli_check_say("race", (const void *)(uintptr_t)0, a->place ^ b->place * 3,
                  "%s at %s of rank %d and %s at %s of rank %d access the same bytes %s in one "
                  "epoch; put a synchronisation between them",
                  pli_check_name((enum pli_check_fn)a->function), pli_line_text(a->place), from_a,
                  pli_check_name((enum pli_check_fn)b->function), pli_line_text(b->place), from_b,
                  where);
}

static void add(struct window *w, const struct pli_check_call *call, enum kind kind)
{
    const char *begin;
    size_t n;
    if (call->target_rank < 0 || w->n == N_ACCESS ||
        !pli_check_range((const void *)(uintptr_t)4096, call->target_count, call->target_type,
                         &begin, &n)) {
        return;
    }
    struct access a = { (uint64_t)call->target_disp,
                        n,
                        pli_line_place(call->site),
                        (uint32_t)(uintptr_t)call->op,
                        (uint16_t)kind,
                        (uint16_t)call->function };
    // Only where both are at the same displacement is it known that they meet: units may be larger.
    for (int i = 0; i < w->n; i++) {
        if (w->made[i].target == call->target_rank && w->made[i].it.disp == a.disp) {
            judge(&w->made[i].it, &a, 1, w->rank, w->rank, "of the target");
        }
    }
    w->made[w->n].it = a;
    w->made[w->n++].target = call->target_rank;
}

static void compare_all(const struct window *w, const struct access *all, const int *counts)
{
    int from_a = 0, end_a = counts[0], total = 0;
    for (int i = 0; i < w->size; i++) {
        total += counts[i];
    }
    for (int i = 0; i < total && total <= N_ACCESS; i++) {
        while (i >= end_a) {
            end_a += counts[++from_a];
        }
        int from_b = from_a, end_b = end_a;
        for (int k = end_a; k < total; k++) { // of other ranks; one rank's own were compared there
            while (k >= end_b) {
                end_b += counts[++from_b];
            }
            judge(&all[i], &all[k], (uint64_t)w->unit, from_a, from_b, "of this rank's window");
        }
    }
}

// Every rank hands its accesses to the targets.
static void exchange(struct window *w)
{
    size_t n = (size_t)w->size;
    int *numbers = calloc(6 * n, sizeof *numbers);
    struct access *out = calloc((size_t)w->n + 1, sizeof *out), *in = NULL;
    if (numbers == NULL || out == NULL) {
        abort(); // the others wait
    }
    int *sc = numbers, *sd = sc + n, *rc = sd + n, *rd = rc + n, *counts = rd + n, *at = counts + n;
    for (int i = 0; i < w->n; i++) {
        sc[w->made[i].target]++;
    }
    alltoall(sc, 1, MPI_INT, counts, 1, MPI_INT, w->comm);
    int total = 0, sent = 0, each = (int)sizeof *out;
    for (size_t i = 0; i < n; i++) {
        at[i] = sent;
        sd[i] = sent * each;
        rd[i] = total * each;
        rc[i] = counts[i] * each;
        sent += sc[i];
        total += counts[i];
    }
    for (int i = 0; i < w->n; i++) {
        out[at[w->made[i].target]++] = w->made[i].it;
    }
    for (size_t i = 0; i < n; i++) {
        sc[i] *= each;
    }
    in = calloc((size_t)total + 1, sizeof *in);
    if (in == NULL) {
        abort();
    }
    alltoallv(out, sc, sd, MPI_BYTE, in, rc, rd, MPI_BYTE, w->comm);
    compare_all(w, in, counts);
    free(in);
    free(out);
    free(numbers);
}

static void open_window(const struct pli_check_call *call)
{
    int i = 0;
    while (i < N_WIN && windows[i] != NULL) {
        i++;
    }
    struct window *w = i < N_WIN && find_functions() ? calloc(1, sizeof *w) : NULL;
    if (call->comm == NULL) {
        free(w);
        return;
    }
    // All members agree whether there is a communicator for it.
    MPI_Comm comm = MPI_COMM_NULL;
    if (split == NULL || split(call->comm, 0, 0, &comm) != MPI_SUCCESS || w == NULL) {
        free(w);
        return;
    }
    w->handle = *call->win_made;
    w->comm = comm;
    w->unit = call->unit > 0 ? call->unit : 1;
    pli_check_lib.comm_rank(comm, &w->rank);
    pli_check_lib.comm_size(comm, &w->size);
    windows[i] = w;
}

void pli_check_rma_begin(struct pli_check_call *call)
{
    pli_check_lock();
    struct window *w = call->win != NULL ? find(call->win) : NULL;
    if (w != NULL && call->function == PLI_CHECK_FN_Win_fence) {
        exchange(w);
        w->n = 0;
    } else if (call->function == PLI_CHECK_FN_Win_free) {
        for (int i = 0; i < N_WIN; i++) {
            if (windows[i] != NULL && windows[i]->handle == *call->win_made) {
                comm_free(&windows[i]->comm);
                free(windows[i]);
                windows[i] = NULL;
            }
        }
    }
    pli_check_unlock();
}

void pli_check_rma(struct pli_check_call *call, int err)
{
    if (err != MPI_SUCCESS) {
        return;
    }
    pli_check_lock();
    struct window *w = call->win != NULL ? find(call->win) : NULL;
    switch (call->function) {
    case PLI_CHECK_FN_Win_create:
    case PLI_CHECK_FN_Win_allocate:
        open_window(call);
        break;
    case PLI_CHECK_FN_Put:
        if (w != NULL) {
            add(w, call, PUT);
        }
        break;
    case PLI_CHECK_FN_Get:
        if (w != NULL) {
            add(w, call, GET);
        }
        break;
    case PLI_CHECK_FN_Accumulate:
        if (w != NULL) {
            add(w, call, ACCUMULATE);
        }
        break;
    case PLI_CHECK_FN_Win_flush:
    case PLI_CHECK_FN_Win_flush_all:
    case PLI_CHECK_FN_Win_unlock:
    case PLI_CHECK_FN_Win_unlock_all:
    case PLI_CHECK_FN_Win_complete:
        if (w != NULL) {
            w->n = 0;
        }
        break;
    default:
        if (call->request != NULL) {
            pli_check_request_keep(call, false, false, false);
        }
        break;
    }
    pli_check_unlock();
}
