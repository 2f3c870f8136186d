// SPDX-License-Identifier: BSD-3-Clause
// The range that all members access together is divided among the aggregators, and each part is
// done in rounds of one window. Because offsets rise along a view, what a member has in a round is
// one range of its stream: members send bytes and no lists, and an aggregator finds their places
// from the views it was told of. Members send what belongs to the next round before an aggregator
// writes this one.
#include "io/file_coll.h"

#include "coll/coll.h"
#include "coll/hostmap.h"
#include "io/file.h"
#include "io/file_access.h"
#include "io/file_block.h"
#include "io/file_coll_priv.h"
#include "io/file_lock.h"
#include "io/file_map.h"
#include "io/file_overlap.h"
#include "io/file_plan.h"
#include "io/file_ring.h"
#include "io/file_shared_batch.h"
#include "io/file_shared_map.h"
#include "msg/p2p.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "obj/comm.h"
#include "obj/cursor.h"
#include "obj/datatype.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    LONG_PIECE = 2048,
    LONG_RUN = 65536,
    RING_RUN = 1 << 20, // longer ones are not copied
    N_RUN = 128,
    N_SHORT = 4,             // short rounds of a part,
    SHORT_WINDOW = 256 << 10 // of so many bytes at least
};

enum {
    FLAG_FAILED = 1,
    FLAG_ALONE = 2,
    FLAG_FINE = 4,
    FLAG_DONE = 8,
    FLAG_SHORT = 16,
    FLAG_APART = 32,
    FLAG_TOGETHER = 64
};

static struct pli_datatype *byte_type(void)
{
    return pli_handle_get(MPI_BYTE, PLI_KIND_DATATYPE);
}

static int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

// Aggregators: one per host, or on a single host one per core; or as many as the user wants in all.
static enum pli_err choose(struct pli_file *f, const struct pli_hostmap *h, int n_core)
{
    int n_host = h != NULL && h->n_host > 0 ? h->n_host : 1;
    int per_host = n_host > 1 ? 1 : n_core;
    int n = f->hints.nodes > 0 ? f->hints.nodes : n_host * per_host;
    n = n > f->comm->size ? f->comm->size : n;
    f->aggregators = malloc((size_t)n * sizeof *f->aggregators);
    if (f->aggregators == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for %d aggregators", n);
    }
    for (int i = 0; i < n; i++) {
        // Hosts in turn, then ranks with equal steps between them.
        f->aggregators[i] = n <= n_host && h != NULL ? h->leaders[(int64_t)i * n_host / n]
                                                     : (int)((int64_t)i * f->comm->size / n);
        if (f->aggregators[i] == f->comm->rank) {
            f->my_aggregator = i;
        }
    }
    f->n_aggregator = n;
    return pli_file_hints_note_nodes(f, n);
}

enum pli_file_rounds pli_file_coll_rounds(const struct pli_file *f)
{
    return f->has_uring || !f->is_local ? PLI_FILE_ROUNDS_OVERLAP
           : pli_progress_spins() > 1   ? PLI_FILE_ROUNDS_SHORT
                                        : PLI_FILE_ROUNDS_WHOLE;
}

enum pli_err pli_file_coll_begin(struct pli_file *f, int n_core)
{
    struct pli_hostmap *h = pli_hostmap_open(f->comm);
    enum pli_err err = choose(f, h, n_core > 0 ? n_core : 1);
    if (h != NULL) {
        pli_hostmap_close(h);
    }
    f->wants = malloc((size_t)f->comm->size * sizeof *f->wants);
    if (err == PLI_OK && f->wants == NULL) {
        err =
            pli_fail(PLI_ERR_NOMEM, "no memory for collective access of %d members", f->comm->size);
    }
    if (err == PLI_OK && f->my_aggregator >= 0) {
        f->peers = calloc((size_t)f->comm->size, sizeof *f->peers);
        err = f->peers != NULL ? PLI_OK
                               : pli_fail(PLI_ERR_NOMEM,
                                          "no memory for the views of %d "
                                          "members",
                                          f->comm->size);
        for (int i = 0; err == PLI_OK && i < f->comm->size; i++) {
            f->peers[i] = (struct pli_file_view){ .layout = byte_type(), .is_dense = true };
        }
    }
    return err;
}

static void forget_peers(struct pli_file *f)
{
    for (int i = 0; f->peers != NULL && i < f->comm->size; i++) {
        if (f->peers[i].layout != byte_type()) {
            pli_file_plan_free(f->peers[i].layout);
        }
        f->peers[i].layout = byte_type();
    }
}

void pli_file_coll_end(struct pli_file *f)
{
    forget_peers(f);
    free(f->peers);
    free(f->aggregators);
    free(f->wants);
    f->wants = NULL;
    f->peers = NULL;
    f->aggregators = NULL;
}

// What stands before the plan of a view that is told to others.
struct view_head {
    MPI_Offset disp;
    int64_t is_once;
    double filled; // how much of the file is in the view
};

static double filled_by(const struct pli_file_view *v)
{
    MPI_Count extent = v->layout->extent;
    return extent > 0 ? (double)v->layout->size / (double)extent : 0;
}

static enum pli_err take_view(struct pli_file *f, int rank, const char *bytes, size_t len)
{
    struct pli_file_view *v = &f->peers[rank];
    struct pli_datatype *t;
    struct view_head head;
    if (len < sizeof head) {
        return pli_fail(PLI_ERR_OTHER, "rank %d sent a file view that is none", rank);
    }
    memcpy(&head, bytes, sizeof head);
    enum pli_err err = pli_file_plan_decode(bytes + sizeof head, len - sizeof head, &t);
    if (err == PLI_OK) {
        *v = (struct pli_file_view){
            .disp = head.disp, .layout = t, .is_dense = t->is_dense, .is_once = head.is_once != 0
        };
    }
    return err;
}

static void note_filled(struct pli_file *f, const char *all, const int64_t *displs)
{
    double sum = 0;
    for (int i = 0; i < f->comm->size; i++) {
        struct view_head head;
        memcpy(&head, all + displs[i], sizeof head);
        sum += head.filled;
    }
    f->is_filled = sum > 0.5;
}

// Every member's view goes to every aggregator; most are a few words.
static enum pli_err share(struct pli_file *f, const struct pli_file_view *v)
{
    struct pli_comm *comm = f->comm;
    char *plan = NULL;
    size_t len = 0;
    enum pli_err err = pli_file_plan_encode(v->layout, &plan, &len);
    struct view_head head = { v->disp, v->is_once, filled_by(v) };
    int64_t n = err == PLI_OK ? (int64_t)(len + sizeof head) : 0;
    int64_t *lens = calloc(2 * (size_t)comm->size + 1, sizeof *lens), *displs = NULL, sum = 0;
    char *mine = malloc((size_t)n + 1), *all = NULL;
    err = err == PLI_OK && (lens == NULL || mine == NULL)
              ? pli_fail(PLI_ERR_NOMEM, "no memory for the views of %d members", comm->size)
              : err;
    err = pli_file_agree(f, err);
    if (err == PLI_OK) {
        memcpy(mine, &head, sizeof head);
        memcpy(mine + sizeof head, plan, len);
        err = pli_coll_allgather(&n, sizeof n, byte_type(), lens, sizeof n, byte_type(), comm);
        displs = lens + comm->size;
        for (int i = 0; i < comm->size; i++) {
            displs[i] = sum;
            sum += lens[i];
        }
        all = malloc((size_t)sum + 1);
        err = err == PLI_OK && all == NULL ? pli_fail(PLI_ERR_NOMEM, "no memory for file views")
                                           : err;
        err = pli_file_agree(f, err);
    }
    if (err == PLI_OK) {
        err = pli_coll_allgatherv(
            mine, n, byte_type(), all, (struct pli_ints){ .data = lens, .is_wide = true },
            (struct pli_ints){ .data = displs, .is_wide = true }, byte_type(), comm);
    }
    if (err == PLI_OK) {
        note_filled(f, all, displs);
    }
    if (err == PLI_OK && f->peers != NULL) {
        forget_peers(f);
        for (int i = 0; i < comm->size && err == PLI_OK; i++) {
            err = take_view(f, i, all + displs[i], (size_t)lens[i]);
        }
    }
    free(plan);
    free(lens);
    free(mine);
    free(all);
    return err;
}

enum pli_err pli_file_coll_share_view(struct pli_file *f, const struct pli_file_view *v)
{
    return f->comm->is_span ? PLI_OK : pli_file_agree(f, share(f, v));
}

static enum pli_file_choice choice(const struct pli_file_op *o)
{
    return o->a->is_write ? o->f->hints.cb_write : o->f->hints.cb_read;
}

// Whether this member would do better with others to move its data. In large pages it is moved
// faster by itself, but for long pieces that are written in short rounds; and on a file system of
// this host long pieces are read, and longer ones written, by itself, without a second copy.
static bool is_fine(const struct pli_file_op *o)
{
    MPI_Offset run = pli_file_view_run_length(&o->f->view);
    if (o->f->is_local && run >= (o->a->is_write ? LONG_RUN : LONG_PIECE)) {
        return false;
    }
    bool is_short_round = o->a->is_write && o->f->rounds == PLI_FILE_ROUNDS_SHORT && run >= PAGE;
    return is_short_round || !pli_file_access_is_mapped(o->a);
}

// Whether long pieces are written while ranks that share cores compute: then each writes its own,
// as one that writes all would have the core of one rank, and the others would wait for it in the
// end.
static bool is_apart(const struct pli_file_op *o)
{
    return o->a->is_write && o->a->is_async && o->f->is_local &&
           o->f->rounds == PLI_FILE_ROUNDS_WHOLE && pli_file_view_run_length(&o->f->view) > PAGE;
}

// Whether to read before anything is known of the others: a long run, or long pieces that are read
// alone in any case. Then all meet once and not twice. Nothing can be wrong with that, as there is
// with writing, which must not begin where another member has made a mistake.
static bool is_early(const struct pli_file_op *o)
{
    const struct pli_file_access *a = o->a;
    const struct pli_file_view *v = &o->f->view;
    if (a->is_write || a->len == 0 || choice(o) == PLI_FILE_ENABLE || o->f->is_atomic) {
        return false;
    }
    MPI_Offset lo = pli_file_view_offset(v, a->pos);
    MPI_Offset hi = pli_file_view_end(v, a->pos + (MPI_Offset)a->len);
    bool is_run = hi - lo == (MPI_Offset)a->len && !v->has_overlap;
    return is_run ? a->len >= LONG_RUN : !o->is_fine;
}

// Members tell each other what they want; whether the two phases are worth it follows for all.
static enum pli_err meet(struct pli_file_op *o, enum pli_err err, bool *has_failed_out,
                         bool *is_alone_out)
{
    struct pli_file_access *a = o->a;
    const struct pli_file_view *v = &o->f->view;
    struct pli_file_want mine = { .flags = err != PLI_OK ? FLAG_FAILED : 0 };
    if (err == PLI_OK && (a->len == 0 || o->is_done)) {
        mine.flags |= FLAG_DONE;
    } else if (err == PLI_OK) {
        mine.pos = a->pos;
        mine.len = (int64_t)a->len;
        mine.run = (uint64_t)(uintptr_t)a->run;
        mine.lo = pli_file_view_offset(v, a->pos);
        mine.hi = pli_file_view_end(v, a->pos + (MPI_Offset)a->len);
        mine.flags |= o->is_fine ? FLAG_FINE : 0;
        mine.flags |= is_apart(o) ? FLAG_APART : 0;
        mine.flags |= a->is_write && pli_file_view_run_length(v) < RING_RUN ? FLAG_SHORT : 0;
    }
    // In atomic mode everybody locks what it accesses.
    o->are_done = true;
    bool is_alone = choice(o) == PLI_FILE_DISABLE || o->f->is_atomic ||
                    !pli_file_view_is_ordered(v, a->pos, a->len);
    mine.flags |= is_alone ? FLAG_ALONE : 0;
    mine.flags |= choice(o) == PLI_FILE_ENABLE ? FLAG_TOGETHER : 0;
    enum pli_err coll = pli_coll_allgather(&mine, sizeof mine, byte_type(), o->wants, sizeof mine,
                                           byte_type(), o->f->comm);
    MPI_Offset lo = INT64_MAX, hi = 0, last = -1;
    bool is_mixed = false, must_alone = false, must_together = false, any_fine = false,
         any_short = false;
    bool are_apart = true;
    MPI_Offset sum = 0;
    for (int i = 0; coll == PLI_OK && i < o->f->comm->size; i++) {
        const struct pli_file_want *w = &o->wants[i];
        must_alone = must_alone || (w->flags & (FLAG_FAILED | FLAG_ALONE)) != 0;
        must_together = must_together || (w->flags & FLAG_TOGETHER) != 0;
        o->are_done = o->are_done && (w->flags & FLAG_DONE) != 0;
        any_fine = any_fine || (w->flags & FLAG_FINE) != 0;
        any_short = any_short || (w->flags & FLAG_SHORT) != 0;
        *has_failed_out = *has_failed_out || (w->flags & FLAG_FAILED) != 0;
        if (w->len > 0) {
            is_mixed = is_mixed || w->lo < last;
            last = w->hi > last ? w->hi : last;
            lo = w->lo < lo ? w->lo : lo;
            hi = w->hi > hi ? w->hi : hi;
            sum += w->len;
            are_apart = are_apart && (w->flags & FLAG_APART) != 0;
        }
    }
    o->is_whole = is_mixed && any_short && sum == hi - lo;
    bool is_worth =
        is_mixed && !are_apart && (any_fine || (o->is_whole && pli_file_ring_is_worth(o->f, sum)));
    *is_alone_out = must_alone || hi == 0 || (!is_worth && !must_together);
    o->base = lo;
    o->end = hi;
    return coll;
}

// How much of a window a member packs for other aggregators, at most. What it sends to all of them
// is under way at a time, and takes memory where its own is in pieces.
static double packed_share(const struct pli_file_op *o)
{
    double most = 0;
    for (int i = 0; i < o->f->comm->size; i++) {
        const struct pli_file_want *w = &o->wants[i];
        if (w->len > 0 && w->run == 0) {
            double share = (double)w->len / (double)(w->hi - w->lo);
            most = share > most ? share : most;
        }
    }
    return (most < 1 ? most : 1) * (o->f->n_aggregator - 1);
}

// Windows, what comes from others, and what is packed for two rounds take two buffers at most.
// Where two windows are under way each has half of the buffer. Short ones let a member receive
// while another writes.
static MPI_Offset window_len(const struct pli_file_op *o, MPI_Offset part, MPI_Offset unit)
{
    bool is_overlap = o->f->rounds == PLI_FILE_ROUNDS_OVERLAP;
    MPI_Offset buffer = o->f->hints.buffer;
    MPI_Offset most = (MPI_Offset)((double)buffer / ((is_overlap ? 1.5 : 1) + packed_share(o)));
    MPI_Offset len = buffer;
    if (is_overlap) {
        len = buffer / 2;
    } else if (o->f->rounds == PLI_FILE_ROUNDS_SHORT && o->a->is_write) {
        len = part / N_SHORT > SHORT_WINDOW ? part / N_SHORT : SHORT_WINDOW;
        len = len < buffer / 2 ? len : buffer / 2;
    }
    most = most > PAGE ? most : PAGE;
    len = len < most ? len : most;
    return len > unit ? len / unit * unit : len;
}

// Where everybody's part is.
static void divide(struct pli_file_op *o)
{
    const struct pli_file_hints *h = &o->f->hints;
    MPI_Offset unit = h->stripe > 0 ? h->stripe : PAGE;
    o->base = o->base / unit * unit;
    o->part = round_up((o->end - o->base + o->f->n_aggregator - 1) / o->f->n_aggregator, unit);
    MPI_Offset most = o->part < o->end - o->base ? o->part : o->end - o->base;
    o->window = window_len(o, most, unit);
    o->n_round = (int)((most + o->window - 1) / o->window);
}

// The window of an aggregator in a round.
static void window(const struct pli_file_op *o, int aggregator, int round, MPI_Offset *lo,
                   MPI_Offset *hi)
{
    MPI_Offset begin = o->base + aggregator * o->part, end = begin + o->part;
    *lo = begin + round * o->window;
    *hi = *lo + o->window;
    end = end < o->end ? end : o->end;
    *hi = *hi < end ? *hi : end;
    *lo = *lo < *hi ? *lo : *hi;
}

size_t pli_file_coll_share(const struct pli_file_view *v, const struct pli_file_want *w,
                           MPI_Offset lo, MPI_Offset hi, MPI_Offset *pos_out)
{
    MPI_Offset from = w->pos, to = w->pos;
    if (w->len > 0 && lo < hi && w->lo < hi && w->hi > lo) {
        MPI_Offset begin = pli_file_view_before(v, lo), end = pli_file_view_before(v, hi);
        from = begin > w->pos ? begin : w->pos;
        to = end < w->pos + w->len ? end : w->pos + w->len;
    }
    *pos_out = from;
    return to > from ? (size_t)(to - from) : 0;
}

void pli_file_coll_note(struct pli_file_op *o, enum pli_err err)
{
    if (err != PLI_OK && o->err == PLI_OK) {
        o->err = err;
        pli_fail_save(&o->why, err);
    } else if (err != PLI_OK) {
        pli_fail_take(NULL);
    }
}

size_t pli_file_coll_finish(struct pli_file_op *o, struct pli_request *r)
{
    MPI_Status status;
    bool is_gone;
    pli_progress_wait(r);
    size_t bytes = (size_t)r->bytes;
    enum pli_err err = pli_request_report(r, &status, &is_gone);
    pli_file_coll_note(o, err);
    return err == PLI_OK ? bytes : 0;
}

// Data of this member for every aggregator, as requests; buffers[i] is freed by the caller.
struct letters {
    struct pli_request **requests;
    char **buffers;
    size_t *froms, *sizes;
};

static void begin_letter(struct pli_file_op *o, struct letters *l, int i, int round)
{
    struct pli_file *f = o->f;
    MPI_Offset lo, hi, pos;
    window(o, i, round, &lo, &hi);
    size_t n = pli_file_coll_share(&f->view, &o->wants[f->comm->rank], lo, hi, &pos);
    l->requests[i] = NULL;
    l->buffers[i] = NULL;
    l->sizes[i] = n;
    l->froms[i] = (size_t)(pos - o->a->pos);
    if (n == 0 || i == f->my_aggregator) {
        return;
    }
    char *at = o->a->run != NULL ? o->a->run + l->froms[i] : (l->buffers[i] = malloc(n));
    if (at == NULL) { // an empty message tells
        pli_file_coll_note(o, pli_fail(PLI_ERR_NOMEM, "no memory for %zu bytes", n));
        l->sizes[i] = n = 0;
    }
    if (o->a->is_write && o->a->run == NULL) {
        pli_file_access_pack(o->a, l->froms[i], at, n);
    }
    int to = f->aggregators[i];
    pli_file_coll_note(o, o->a->is_write
                              ? pli_p2p_isend_on(at, (MPI_Count)n, byte_type(), to, PLI_FILE_TAG,
                                                 f->comm, PLI_CHAN_SETUP, 0, &l->requests[i])
                              : pli_p2p_irecv_on(at, (MPI_Count)n, byte_type(), to, PLI_FILE_TAG,
                                                 f->comm, PLI_CHAN_SETUP, &l->requests[i]));
}

static void end_letter(struct pli_file_op *o, struct letters *l, int i)
{
    size_t got = l->sizes[i];
    if (l->requests[i] != NULL) {
        size_t bytes = pli_file_coll_finish(o, l->requests[i]);
        got = o->a->is_write ? got : bytes;
        if (!o->a->is_write) {
            if (l->buffers[i] != NULL) {
                pli_file_access_unpack(o->a, l->froms[i], l->buffers[i], got);
            }
            o->a->done += got; // less than was wanted where the file ends
        }
    }
    free(l->buffers[i]);
}

bool pli_file_coll_trim(const struct pli_file_op *o, MPI_Offset lo, MPI_Offset hi, size_t *sizes,
                        MPI_Offset *first, MPI_Offset *last, size_t *sum_out)
{
    *first = hi;
    *last = lo;
    *sum_out = 0;
    for (int i = 0; i < o->f->comm->size; i++) {
        const struct pli_file_view *v = &o->f->peers[i];
        MPI_Offset pos;
        sizes[i] = pli_file_coll_share(v, &o->wants[i], lo, hi, &pos);
        if (sizes[i] > 0) {
            MPI_Offset begin = pli_file_view_offset(v, pos);
            MPI_Offset end = pli_file_view_end(v, pos + (MPI_Offset)sizes[i]);
            *first = begin < *first ? begin : *first;
            *last = end > *last ? end : *last;
            *sum_out += sizes[i];
        }
    }
    return *sum_out > 0;
}

// The window of a round without what nobody wants at its ends; false: nobody wants anything.
static bool trim(const struct pli_file_op *o, int round, size_t *sizes, MPI_Offset *first,
                 MPI_Offset *last, size_t *sum_out)
{
    MPI_Offset lo, hi;
    window(o, o->f->my_aggregator, round, &lo, &hi);
    return pli_file_coll_trim(o, lo, hi, sizes, first, last, sum_out);
}

// Where in a member's stream what it wants of the file from `first` on begins.
static MPI_Offset begin_of(const struct pli_file_view *v, const struct pli_file_want *w,
                           MPI_Offset first)
{
    MPI_Offset begin = pli_file_view_before(v, first);
    return begin > w->pos ? begin : w->pos;
}

static void place(struct pli_file_op *o, int rank, MPI_Offset first, const char *from)
{
    const struct pli_file_view *v = &o->f->peers[rank];
    struct pli_cursor c;
    pli_file_view_cursor(v, &c, o->buf - first, begin_of(v, &o->wants[rank], first),
                         o->sizes[rank]);
    pli_cursor_unpack(&c, from, o->sizes[rank]);
}

void pli_file_coll_place_own(const struct pli_file_op *o, MPI_Offset begin, size_t n, char *base)
{
    struct pli_cursor c;
    pli_file_view_cursor(&o->f->view, &c, base, begin, n);
    size_t from = (size_t)(begin - o->a->pos);
    if (o->a->run != NULL) {
        pli_cursor_unpack(&c, o->a->run + from, n);
        return;
    }
    char part[8192];
    for (size_t at = 0, m; at < n; at += m) {
        m = n - at < sizeof part ? n - at : sizeof part;
        pli_file_access_pack(o->a, from + at, part, m);
        pli_cursor_unpack(&c, part, m);
    }
}

// Data of this member itself does not travel.
static void place_own(struct pli_file_op *o, MPI_Offset first)
{
    int me = o->f->comm->rank;
    pli_file_coll_place_own(o, begin_of(&o->f->view, &o->wants[me], first), o->sizes[me],
                            o->buf - first);
}

// The rest of a view that is one run.
static size_t take_run(const struct pli_cursor *c, size_t len, struct iovec *out)
{
    uintptr_t at = (uintptr_t)c->buf + (uintptr_t)c->type->true_lb + c->done;
    *out = (struct iovec){ .iov_base = (void *)at, .iov_len = len };
    return len;
}

// Every run of a member by itself, from its place in the window.
static void write_runs_of(struct pli_file_op *o, int rank, MPI_Offset first)
{
    const struct pli_file_view *v = &o->f->peers[rank];
    struct iovec iov[N_RUN];
    struct pli_file_piece pieces[N_RUN];
    size_t left = o->sizes[rank], done;
    struct pli_cursor c;
    pli_file_view_cursor(v, &c, o->buf - first, begin_of(v, &o->wants[rank], first), left);
    while (left > 0 && o->err == PLI_OK) {
        int n = 1;
        left -= v->is_dense ? take_run(&c, left, iov) : pli_cursor_iov(&c, iov, N_RUN, left, &n);
        for (int k = 0; k < n; k++) {
            char *at = iov[k].iov_base;
            pieces[k] = (struct pli_file_piece){ at, iov[k].iov_len, first + (at - o->buf), 0 };
        }
        pli_file_coll_note(o, pli_file_block_pieces(o->f, true, pieces, n, &done));
    }
}

// Where a file cannot be mapped: every run of every member by itself.
void pli_file_coll_write_runs(struct pli_file_op *o, MPI_Offset first)
{
    for (int i = 0; i < o->f->comm->size; i++) {
        write_runs_of(o, i, first);
    }
}

// Pages of the mapping were lost when a member's data was put there, which comes by calls instead.
static void write_lost(struct pli_file_op *o, int rank, MPI_Offset first, const char *from)
{
    char *mapped = o->buf;
    if (o->map == NULL || !o->map->fault.is_lost || o->err != PLI_OK) {
        return;
    }
    o->buf = o->plain;
    if (rank == o->f->comm->rank) {
        place_own(o, first);
    } else {
        place(o, rank, first, from);
    }
    write_runs_of(o, rank, first);
    o->buf = mapped;
}

// Take the data of as many members as fit the second buffer, and put it into place; then the next.
static void collect(struct pli_file_op *o, MPI_Offset first)
{
    struct pli_file *f = o->f;
    int n = f->comm->size, from = 0;
    struct pli_request **requests = o->requests;
    while (from < n) {
        size_t used = 0;
        int to = from;
        for (; to < n && (used == 0 || used + o->sizes[to] <= (size_t)f->hints.buffer); to++) {
            if (to != f->comm->rank && o->sizes[to] > 0) {
                pli_file_coll_note(o, pli_p2p_irecv_on(o->mail + used, (MPI_Count)o->sizes[to],
                                                       byte_type(), to, PLI_FILE_TAG, f->comm,
                                                       PLI_CHAN_SETUP, &requests[to]));
                used += o->sizes[to];
            }
        }
        if (f->comm->rank >= from && f->comm->rank < to && o->sizes[f->comm->rank] > 0) {
            place_own(o, first);
            write_lost(o, f->comm->rank, first, NULL);
        }
        used = 0;
        for (int i = from; i < to; i++) {
            if (requests[i] != NULL) {
                if (pli_file_coll_finish(o, requests[i]) == o->sizes[i]) {
                    place(o, i, first, o->mail + used);
                    write_lost(o, i, first, o->mail + used);
                } else {
                    pli_file_coll_note(
                        o, pli_fail(PLI_ERR_NOMEM, "rank %d had no memory for its data", i));
                }
                requests[i] = NULL;
            }
            used += i != f->comm->rank ? o->sizes[i] : 0;
        }
        from = to;
    }
}

// What lies between the data of members belongs to others: it is not written.
static void write_window(struct pli_file_op *o, MPI_Offset first, MPI_Offset last, bool has_gaps)
{
    struct pli_file *f = o->f;
    struct pli_file_map m;
    size_t done;
    if (has_gaps && o->err == PLI_OK && pli_file_map_open(f, first, last, &m)) {
        o->plain = o->buf;
        o->buf = m.base + first;
        o->map = &m;
        collect(o, first);
        o->map = NULL;
        pli_file_map_close(f, &m); // what was lost was written
        return;
    }
    collect(o, first);
    if (f->rounds == PLI_FILE_ROUNDS_OVERLAP && !has_gaps) {
        pli_file_coll_note(o,
                           pli_file_overlap_end(o->overlap, &done)); // the window before this one
        if (o->err == PLI_OK) {
            pli_file_overlap_begin(o->overlap, f, true, o->buf, first, last);
        }
        return;
    }
    pli_file_coll_note(o, o->err == PLI_OK ? pli_file_lock_begin(f, true, first, last) : PLI_OK);
    if (o->err != PLI_OK) {
        return;
    }
    if (has_gaps) {
        pli_file_coll_write_runs(o, first);
    } else {
        pli_file_coll_note(
            o, pli_file_block_move(f, true, o->buf, (size_t)(last - first), first, &done));
    }
    pli_file_lock_end(f, first, last);
}

static size_t read_plain(struct pli_file_op *o, MPI_Offset first, MPI_Offset last)
{
    struct pli_file *f = o->f;
    size_t got = 0;
    enum pli_err err = pli_file_lock_begin(f, false, first, last);
    if (err == PLI_OK) {
        err = pli_file_block_move(f, false, o->buf, (size_t)(last - first), first, &got);
        pli_file_lock_end(f, first, last);
    }
    pli_file_coll_note(o, err);
    return got;
}

// Whether what was loaded from the window is what the file has. Where pages of its mapping were
// lost it is read again, into the buffer, and may be shorter.
static bool is_sound(struct pli_file_op *o, MPI_Offset first, MPI_Offset *end)
{
    if (o->map == NULL || !o->map->fault.is_lost) {
        return true;
    }
    pli_file_map_close(o->f, o->map);
    o->map = NULL;
    o->buf = o->plain;
    *end = first + (MPI_Offset)read_plain(o, first, *end);
    return false;
}

// Begin and length of what a member wants of the window that the file has.
static size_t available(const struct pli_file_op *o, const struct pli_file_view *v, int rank,
                        MPI_Offset first, MPI_Offset end, MPI_Offset *begin_out)
{
    MPI_Offset begin = begin_of(v, &o->wants[rank], first), stop = pli_file_view_before(v, end);
    size_t n = stop > begin ? (size_t)(stop - begin) : 0;
    *begin_out = begin;
    return n < o->sizes[rank] ? n : o->sizes[rank];
}

// The next n bytes of the view, to memory.
static void load_own(const struct pli_file_op *o, MPI_Offset first, MPI_Offset begin, size_t n)
{
    size_t from = (size_t)(begin - o->a->pos);
    struct pli_cursor c;
    char part[8192];
    pli_file_view_cursor(&o->f->view, &c, o->buf - first, begin, n);
    for (size_t at = 0, m; at < n; at += m) {
        m = n - at < sizeof part ? n - at : sizeof part;
        if (o->a->run != NULL) {
            m = n;
            pli_cursor_pack(&c, o->a->run + from, n);
        } else {
            pli_cursor_pack(&c, part, m);
            pli_file_access_unpack(o->a, from + at, part, m);
        }
    }
}

static void read_own(struct pli_file_op *o, MPI_Offset first, MPI_Offset end)
{
    MPI_Offset begin;
    size_t n;
    do {
        n = available(o, &o->f->view, o->f->comm->rank, first, end, &begin);
        load_own(o, first, begin, n);
    } while (!is_sound(o, first, &end));
    o->a->done += n;
}

static size_t pack_window(struct pli_file_op *o, int rank, MPI_Offset first, MPI_Offset *end,
                          char *to)
{
    const struct pli_file_view *v = &o->f->peers[rank];
    size_t n;
    do {
        struct pli_cursor c;
        MPI_Offset begin;
        n = available(o, v, rank, first, *end, &begin);
        pli_file_view_cursor(v, &c, o->buf - first, begin, n);
        pli_cursor_pack(&c, to, n);
    } while (!is_sound(o, first, end));
    return n;
}

// What members wanted of this window, as far as the file has it; a member that wanted something
// gets a message in any case.
static void send_window(struct pli_file_op *o, MPI_Offset first, MPI_Offset *end)
{
    struct pli_file *f = o->f;
    int n = f->comm->size, from = 0;
    struct pli_request **requests = o->requests;
    while (from < n) {
        size_t used = 0;
        int to = from;
        for (; to < n && (used == 0 || used + o->sizes[to] <= (size_t)f->hints.buffer); to++) {
            if (to == f->comm->rank || o->sizes[to] == 0) {
                continue;
            }
            size_t have = pack_window(o, to, first, end, o->mail + used);
            pli_file_coll_note(o, pli_p2p_isend_on(o->mail + used, (MPI_Count)have, byte_type(), to,
                                                   PLI_FILE_TAG, f->comm, PLI_CHAN_SETUP, 0,
                                                   &requests[to]));
            used += o->sizes[to];
        }
        for (int i = from; i < to; i++) {
            if (requests[i] != NULL) {
                pli_file_coll_finish(o, requests[i]);
                requests[i] = NULL;
            }
        }
        from = to;
    }
}

// The window of a round, in the buffer.
static char *window_buf(const struct pli_file_op *o, int round)
{
    bool is_second = o->f->rounds == PLI_FILE_ROUNDS_OVERLAP && round % 2 == 1;
    return o->room + (is_second ? o->window : 0);
}

// Begin to read what members want in a round.
static void read_ahead(struct pli_file_op *o, int round)
{
    MPI_Offset first, last;
    size_t sum;
    if (round < o->n_round && trim(o, round, o->ahead, &first, &last, &sum)) {
        pli_file_overlap_begin(o->overlap, o->f, false, window_buf(o, round), first, last);
    }
}

// Returns how much of the file came.
static size_t read_block(struct pli_file_op *o, MPI_Offset first, MPI_Offset last, int round)
{
    struct pli_file *f = o->f;
    size_t got = 0;
    if (f->rounds == PLI_FILE_ROUNDS_OVERLAP) {
        if (!o->overlap->is_begun) { // the first that anybody wants something of
            read_ahead(o, round);
        }
        pli_file_coll_note(o, pli_file_overlap_end(o->overlap, &got));
        read_ahead(o, round + 1);
        return got;
    }
    return read_plain(o, first, last);
}

static void read_window(struct pli_file_op *o, MPI_Offset first, MPI_Offset last, int round)
{
    struct pli_file *f = o->f;
    struct pli_file_map m;
    bool is_mapped = !o->overlap->is_begun && pli_file_map_open_read(f, first, last, &m);
    size_t got = is_mapped ? (size_t)(last - first) : read_block(o, first, last, round);
    MPI_Offset end = first + (MPI_Offset)got;
    if (is_mapped) {
        o->plain = o->buf;
        o->buf = m.base + first;
        o->map = &m;
    }
    send_window(o, first, &end);
    if (o->sizes[f->comm->rank] > 0) {
        read_own(o, first, end);
    }
    if (o->map != NULL) {
        pli_file_map_close(f, o->map);
        o->map = NULL;
    }
}

// Whether the window is written without gaps.
bool pli_file_coll_is_whole(const struct pli_file_op *o, MPI_Offset first, MPI_Offset last,
                            size_t sum)
{
    const struct pli_file *f = o->f;
    struct pli_file_view_piece *pieces =
        sum < (size_t)(last - first) ? NULL : malloc((size_t)f->comm->size * sizeof *pieces);
    int n = 0;
    for (int i = 0; pieces != NULL && i < f->comm->size; i++) {
        if (o->sizes[i] > 0) {
            const struct pli_file_view *v = &f->peers[i];
            pieces[n++] =
                (struct pli_file_view_piece){ v, begin_of(v, &o->wants[i], first), o->sizes[i] };
        }
    }
    bool is = pieces != NULL && pli_file_view_are_whole(pieces, n, first, last);
    free(pieces);
    return is;
}

// Where the window in between had gaps, or nothing, the one before may still be written from this
// half.
static void free_half(struct pli_file_op *o)
{
    size_t done;
    if (o->overlap->is_begun && o->overlap->buf == o->buf) {
        pli_file_coll_note(o, pli_file_overlap_end(o->overlap, &done));
    }
}

static void aggregate(struct pli_file_op *o, int round)
{
    MPI_Offset first, last;
    size_t sum;
    if (!trim(o, round, o->sizes, &first, &last, &sum)) {
        return;
    }
    o->buf = window_buf(o, round);
    if (o->a->is_write) {
        free_half(o);
        write_window(o, first, last, !pli_file_coll_is_whole(o, first, last, sum));
    } else {
        read_window(o, first, last, round);
    }
}

static void begin_round(struct pli_file_op *o, struct letters *l, int round)
{
    for (int i = 0; round < o->n_round && i < o->f->n_aggregator; i++) {
        begin_letter(o, l, i, round);
    }
}

static void do_rounds(struct pli_file_op *o, struct letters *l)
{
    // Data that must be packed for two rounds takes no more memory than for one of the whole
    // buffer.
    bool is_ahead = o->window <= o->f->hints.buffer / 2;
    size_t done;
    begin_round(o, &l[0], 0);
    for (int round = 0; round < o->n_round; round++) {
        struct letters *now = &l[is_ahead ? round % 2 : 0], *next = &l[is_ahead ? !(round % 2) : 0];
        if (is_ahead) {
            begin_round(o, next, round + 1);
        }
        if (o->f->my_aggregator >= 0) {
            aggregate(o, round);
        }
        for (int i = 0; i < o->f->n_aggregator; i++) {
            end_letter(o, now, i);
        }
        if (!is_ahead) {
            begin_round(o, next, round + 1);
        }
    }
    pli_file_coll_note(o, pli_file_overlap_end(o->overlap, &done));
}

// Memory for both phases; without it this member could not take its part, so all must know first.
static enum pli_err prepare(struct pli_file_op *o, struct letters *l)
{
    size_t n = (size_t)o->f->n_aggregator, n_member = (size_t)o->f->comm->size;
    bool is_short = false;
    for (int i = 0; i < 2; i++) {
        l[i].requests = calloc(n, sizeof(struct pli_request *));
        l[i].buffers = calloc(n, sizeof(char *));
        l[i].froms = calloc(2 * n, sizeof *l->froms);
        l[i].sizes = l[i].froms + n;
        is_short = is_short || l[i].requests == NULL || l[i].buffers == NULL || l[i].froms == NULL;
    }
    if (o->f->my_aggregator >= 0) {
        o->sizes = malloc(2 * n_member * sizeof *o->sizes);
        o->ahead = o->sizes + n_member;
        o->room = pli_file_buffer_take(o->f);
        o->mail = malloc((size_t)o->f->hints.buffer);
        o->requests = calloc(n_member, sizeof(struct pli_request *));
        is_short = is_short || o->sizes == NULL || o->room == NULL || o->mail == NULL ||
                   o->requests == NULL;
    }
    return is_short ? pli_fail(PLI_ERR_NOMEM,
                               "no memory for a collective access to file %s (hint "
                               "cb_buffer_size)",
                               o->f->name)
                    : PLI_OK;
}

static enum pli_err run_rounds(struct pli_file_op *o)
{
    struct letters l[2] = { { .requests = NULL } };
    divide(o);
    enum pli_err err = pli_file_agree(o->f, prepare(o, l));
    bool is_ready = err == PLI_OK;
    if (is_ready) {
        do_rounds(o, l);
    }
    if (o->room != NULL) {
        pli_file_buffer_give(o->f, o->room);
    }
    free(o->mail);
    free(o->sizes);
    free(o->requests);
    for (int i = 0; i < 2; i++) {
        free(l[i].requests);
        free(l[i].buffers);
        free(l[i].froms);
    }
    if (is_ready && o->a->is_write) {
        o->a->done = o->err == PLI_OK ? o->a->len : 0;
    }
    return is_ready ? pli_fail_repeat(&o->why) : err;
}

static enum pli_err run_together(struct pli_file_op *o)
{
    if (!o->is_whole || !pli_file_ring_is_worth(o->f, o->end - o->base)) {
        return run_rounds(o);
    }
    bool is_there;
    enum pli_err err = pli_file_ring_open(o->f, &is_there);
    if (err != PLI_OK || !is_there) {
        return err != PLI_OK ? err : run_rounds(o);
    }
    pli_file_ring_write(o);
    o->a->done = o->err == PLI_OK ? o->a->len : 0;
    return pli_fail_repeat(&o->why);
}

enum pli_err pli_file_coll_run(struct pli_file_access *a, enum pli_err err)
{
    if (a->file->comm->is_span) {
        return pli_file_agree(a->file, err == PLI_OK ? pli_file_access_run(a) : err);
    }
    struct pli_file_overlap overlap = { 0 };
    struct pli_file_op o = { .f = a->file, .a = a, .overlap = &overlap };
    bool is_alone = true, has_failed = false;
    o.wants = a->file->wants;
    err = err == PLI_OK ? pli_file_shared_batch_flush(a->file) : err;
    o.is_fine = err == PLI_OK && a->len > 0 && is_fine(&o);
    if (err == PLI_OK && is_early(&o)) {
        err = pli_file_access_run(a);
        o.is_done = true;
    }
    struct pli_fail_saved why;
    pli_fail_save(&why, err);
    enum pli_err coll = meet(&o, err, &has_failed, &is_alone);
    if (coll != PLI_OK) {
        err = coll;
    } else if (has_failed) { // then nothing is written at all
        err = pli_file_agree(a->file, pli_fail_repeat(&why));
    } else if (is_alone && !o.are_done) {
        err = pli_file_agree(a->file, o.is_done ? PLI_OK : pli_file_access_run(a));
    } else if (!is_alone) {
        err = run_together(&o);
        pli_file_shared_map_note(a->file, a);
        err = pli_file_agree(a->file, err);
    }
    return pli_file_settle(a->file, err);
}
