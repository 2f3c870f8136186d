// SPDX-License-Identifier: BSD-3-Clause
// Accesses to windows: those that may happen at once must not meet at one place, unless all read or
// all accumulate by one operation. A rank compares its own between two synchronisations. Those of
// several ranks are compared by the target, at a fence and when the window is freed: of fences
// those of one epoch, of shared locks those between whose call and flush there was a moment in
// common, for then neither can have known of the other's end. No lock is held while MPI is called.
#include "trace/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_ACCESS = 2000, N_COMPARE = 4000000 };
enum kind { PUT, GET, ACCUMULATE, FETCH };
enum epoch { FENCE, SHARED, EXCLUSIVE };

struct access {
    uint64_t disp, n; // in units of the target, and bytes
    uint64_t place;
    uint64_t begin, end; // of a shared lock: when it was called and when it was known to be over
    uint32_t clock;      // of which machine
    uint32_t op, from;
    uint16_t kind, function;
};

struct made {
    struct access it;
    int target;
    enum epoch epoch;
};

struct window {
    struct window *next;
    MPI_Win handle;
    MPI_Comm comm; // of the checker
    int size, rank, unit;
    int n; // not synchronised yet
    struct made made[N_ACCESS];
    unsigned n_old; // the last ones of shared locks that are over
    struct made old[N_ACCESS];
    enum epoch *locks; // at each member
};

static struct window *windows;
static uint32_t this_clock;
static struct window *find(MPI_Win win)
{
    struct window *w = windows;
    while (w != NULL && w->handle != win) {
        w = w->next;
    }
    return w;
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// Times of two machines cannot be compared.
static uint32_t find_clock(void)
{
    char text[64] = "";
    uint32_t h = 2166136261u;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f != NULL && fgets(text, sizeof text, f) != NULL) {
        for (const char *p = text; *p != '\0'; p++) {
            h = (h ^ (unsigned char)*p) * 16777619u;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return h;
}

static bool may_meet(const struct access *a, const struct access *b)
{
    bool is_update = a->kind >= ACCUMULATE && b->kind >= ACCUMULATE;
    uint32_t none = (uint32_t)(uintptr_t)MPI_NO_OP;
    bool is_any_op =
        a->kind == FETCH || b->kind == FETCH || a->op == b->op || a->op == none || b->op == none;
    return (a->kind == GET && b->kind == GET) || (is_update && is_any_op);
}

static void judge(const struct access *a, const struct access *b, uint64_t unit, const char *where)
{
    uint64_t pa = a->disp * unit, pb = b->disp * unit;
    if (may_meet(a, b) || pa >= pb + b->n || pb >= pa + a->n) {
        return;
    }
    pli_check_say("race", (const void *)(uintptr_t)0, a->place + b->place,
                  "%s at %s of rank %u and %s at %s of rank %u access the same bytes %s; put a "
                  "synchronisation between them",
                  pli_check_name((enum pli_check_fn)a->function), pli_line_text(a->place), a->from,
                  pli_check_name((enum pli_check_fn)b->function), pli_line_text(b->place), b->from,
                  where);
}

static void add(struct window *w, const struct pli_check_call *call, enum kind kind)
{
    const char *begin;
    size_t n;
    if (call->target_rank < 0 || call->target_rank >= w->size || w->n == N_ACCESS ||
        !pli_check_range((const void *)(uintptr_t)4096, call->target_count, call->target_type,
                         &begin, &n)) {
        return;
    }
    struct access a = { .disp = (uint64_t)call->target_disp,
                        .n = n,
                        .place = pli_line_place(call->site),
                        .clock = this_clock,
                        .op = (uint32_t)(uintptr_t)call->op,
                        .from = (uint32_t)w->rank,
                        .kind = (uint16_t)kind,
                        .function = (uint16_t)call->function };
    enum epoch epoch = w->locks[call->target_rank];
    a.begin = epoch == SHARED ? now() : 0;
    // Only where both are at the same displacement is it known that they meet: units may be larger.
    for (int i = 0; i < w->n; i++) {
        if (w->made[i].target == call->target_rank && w->made[i].it.disp == a.disp) {
            judge(&w->made[i].it, &a, 1, "of the target in one epoch");
        }
    }
    w->made[w->n++] = (struct made){ a, call->target_rank, epoch };
}

// A flush, or the end of an epoch of locks: nothing is under way to the target; -1: to any. Of a
// local flush that is known of what has brought data.
static void end_accesses(struct window *w, int target, bool is_local)
{
    uint64_t end = now();
    int n = 0;
    for (int i = 0; i < w->n; i++) {
        struct made *m = &w->made[i];
        bool has_data = m->it.kind == GET || m->it.kind == FETCH;
        if ((target >= 0 && m->target != target) || (is_local && !has_data)) {
            w->made[n++] = *m;
        } else if (m->epoch == SHARED) {
            m->it.end = end;
            w->old[w->n_old++ % N_ACCESS] = *m;
        }
    }
    w->n = n;
}

static void set_locks(struct window *w, int target, enum epoch epoch)
{
    for (int i = 0; i < w->size; i++) {
        if (target < 0 || target == i) {
            w->locks[i] = epoch;
        }
    }
}

static int by_place(const void *a, const void *b)
{
    const struct access *x = a, *y = b;
    return (x->disp > y->disp) - (x->disp < y->disp);
}

static bool is_at_once(const struct access *a, const struct access *b)
{
    if (a->end == 0 && b->end == 0) {
        return true; // of one epoch of fences
    }
    return a->clock == b->clock && a->begin < b->end && b->begin < a->end;
}

// One rank's own were compared there.
static void compare_all(const struct window *w, struct access *all, int total)
{
    int n_left = N_COMPARE;
    qsort(all, (size_t)total, sizeof *all, by_place);
    for (int i = 0; i < total; i++) {
        uint64_t end = all[i].disp * (uint64_t)w->unit + all[i].n;
        for (int k = i + 1; k < total && n_left-- > 0 && all[k].disp * (uint64_t)w->unit < end;
             k++) {
            if (all[i].from != all[k].from && is_at_once(&all[i], &all[k])) {
                judge(&all[i], &all[k], (uint64_t)w->unit,
                      all[i].end == 0 ? "of this rank's window in one epoch"
                                      : "of this rank's window at once under shared locks");
            }
        }
    }
}

// What a rank hands to the targets.
struct parcel {
    int n;
    struct made made[2 * N_ACCESS];
};

// Every rank hands its accesses to the targets.
static void exchange(const struct window *w, const struct parcel *p)
{
    size_t n = (size_t)w->size;
    int *numbers = calloc(6 * n, sizeof *numbers);
    struct access *out = calloc((size_t)p->n + 1, sizeof *out), *in = NULL;
    if (numbers == NULL || out == NULL) {
        abort(); // the others wait
    }
    int *sc = numbers, *sd = sc + n, *rc = sd + n, *rd = rc + n, *counts = rd + n, *at = counts + n;
    for (int i = 0; i < p->n; i++) {
        sc[p->made[i].target]++;
    }
    int err = pli_check_lib.alltoall(sc, 1, MPI_INT, counts, 1, MPI_INT, w->comm);
    int total = 0, sent = 0, each = (int)sizeof *out;
    for (size_t i = 0; i < n; i++) {
        at[i] = sent;
        sd[i] = sent * each;
        rd[i] = total * each;
        rc[i] = counts[i] * each;
        sent += sc[i];
        total += counts[i];
    }
    for (int i = 0; i < p->n; i++) {
        out[at[p->made[i].target]++] = p->made[i].it;
    }
    for (size_t i = 0; i < n; i++) {
        sc[i] *= each;
    }
    in = calloc((size_t)total + 1, sizeof *in);
    if (in == NULL) {
        abort();
    }
    if (err == MPI_SUCCESS && pli_check_lib.alltoallv(out, sc, sd, MPI_BYTE, in, rc, rd, MPI_BYTE,
                                                      w->comm) == MPI_SUCCESS) {
        compare_all(w, in, total);
    }
    free(in);
    free(out);
    free(numbers);
}

// What is to be compared now. Context: locked.
static struct parcel *collect(struct window *w)
{
    struct parcel *p = malloc(sizeof *p);
    if (p == NULL) {
        abort(); // the others wait
    }
    p->n = 0;
    for (int i = 0; i < w->n; i++) {
        if (w->made[i].epoch == FENCE) {
            p->made[p->n++] = w->made[i];
        }
    }
    for (unsigned i = 0; i < w->n_old && i < N_ACCESS; i++) {
        p->made[p->n++] = w->old[i];
    }
    w->n = 0;
    w->n_old = 0;
    return p;
}

// Context: no lock held.
static struct window *create_window(const struct pli_check_call *call)
{
    struct window *w = calloc(1, sizeof *w);
    MPI_Comm comm = MPI_COMM_NULL;
    if (w == NULL) {
        abort(); // the others wait
    }
    if (pli_check_lib.comm_split(call->comm, 0, 0, &comm) != MPI_SUCCESS) {
        free(w);
        return NULL;
    }
    w->handle = *call->win_made;
    w->comm = comm;
    w->unit = call->unit > 0 ? call->unit : 1;
    pli_check_lib.comm_rank(comm, &w->rank);
    pli_check_lib.comm_size(comm, &w->size);
    pli_check_lib.set_errhandler(comm, MPI_ERRORS_RETURN);
    w->locks = calloc((size_t)w->size, sizeof *w->locks);
    if (w->locks == NULL) {
        abort(); // the others wait for it at each fence
    }
    return w;
}

// All members have a communicator for it, or none has.
static void open_window(const struct pli_check_call *call)
{
    struct window *w = call->comm != NULL ? create_window(call) : NULL;
    if (w != NULL) {
        pli_check_lock();
        this_clock = this_clock != 0 ? this_clock : find_clock();
        w->next = windows;
        windows = w;
        pli_check_unlock();
    }
}

static void synchronise(struct window *w)
{
    pli_check_lock();
    struct parcel *p = collect(w);
    pli_check_unlock();
    exchange(w, p);
    free(p);
}

static void close_window(struct window *w)
{
    synchronise(w);
    pli_check_lib.comm_free(&w->comm);
    pli_check_lock();
    struct window **at = &windows;
    while (*at != w) {
        at = &(*at)->next;
    }
    *at = w->next;
    pli_check_unlock();
    free(w->locks);
    free(w);
}

void pli_check_rma_begin(struct pli_check_call *call)
{
    bool is_free = call->function == PLI_CHECK_FN_Win_free;
    MPI_Win win = is_free && call->win_made != NULL ? *call->win_made : call->win;
    if (!is_free && call->function != PLI_CHECK_FN_Win_fence) {
        return;
    }
    pli_check_lock();
    struct window *w = win != NULL ? find(win) : NULL;
    pli_check_unlock();
    if (w != NULL && is_free) {
        close_window(w);
    } else if (w != NULL) {
        synchronise(w);
    }
}

static const struct {
    enum pli_check_fn function;
    enum kind kind;
} accesses[] = {
    // those that MPI_Wait may end alone are left out
    { PLI_CHECK_FN_Put, PUT },
    { PLI_CHECK_FN_Rput, PUT },
    { PLI_CHECK_FN_Get, GET },
    { PLI_CHECK_FN_Accumulate, ACCUMULATE },
    { PLI_CHECK_FN_Raccumulate, ACCUMULATE },
    { PLI_CHECK_FN_Get_accumulate, FETCH },
    { PLI_CHECK_FN_Fetch_and_op, FETCH },
    { PLI_CHECK_FN_Compare_and_swap, FETCH },
};

// Context: locked.
static void after(struct window *w, const struct pli_check_call *call)
{
    switch (call->function) {
    case PLI_CHECK_FN_Win_lock:
        set_locks(w, call->target_rank, call->lock_type == MPI_LOCK_SHARED ? SHARED : EXCLUSIVE);
        break;
    case PLI_CHECK_FN_Win_lock_all:
        set_locks(w, -1, SHARED);
        break;
    case PLI_CHECK_FN_Win_unlock:
        end_accesses(w, call->target_rank, false);
        set_locks(w, call->target_rank, FENCE);
        break;
    case PLI_CHECK_FN_Win_unlock_all:
        end_accesses(w, -1, false);
        set_locks(w, -1, FENCE);
        break;
    case PLI_CHECK_FN_Win_flush:
        end_accesses(w, call->target_rank, false);
        break;
    case PLI_CHECK_FN_Win_flush_local:
        end_accesses(w, call->target_rank, true);
        break;
    case PLI_CHECK_FN_Win_flush_local_all:
        end_accesses(w, -1, true);
        break;
    case PLI_CHECK_FN_Win_flush_all:
        end_accesses(w, -1, false);
        break;
    case PLI_CHECK_FN_Win_complete:
        w->n = 0;
        break;
    default:
        for (size_t i = 0; i < sizeof accesses / sizeof accesses[0]; i++) {
            if (accesses[i].function == call->function) {
                add(w, call, accesses[i].kind);
            }
        }
        break;
    }
}

void pli_check_rma(struct pli_check_call *call, int err)
{
    if (err != MPI_SUCCESS) {
        return;
    }
    if (call->function == PLI_CHECK_FN_Win_create || call->function == PLI_CHECK_FN_Win_allocate) {
        open_window(call);
        return;
    }
    pli_check_lock();
    struct window *w = call->win != NULL ? find(call->win) : NULL;
    if (w != NULL) {
        after(w, call);
    }
    if (call->request != NULL) {
        pli_check_request_keep(call, false, false, false);
    }
    pli_check_unlock();
}
