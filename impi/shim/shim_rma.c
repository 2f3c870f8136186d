// SPDX-License-Identifier: BSD-3-Clause
// Accesses to windows that span clients. What is written leaves the program's memory at once, in
// messages of pieces; what is read comes in answers.
#include "shim/shim_win.h"
#include <stdlib.h>
#include <string.h>

enum { MANY = 64, CHUNK = 4 << 20 }; // messages under way; bytes of one answer in one run

struct side {
    void *buf;
    MPI_Count count;
    MPI_Datatype type;
};

struct target {
    struct shim_win *win;
    int rank;
    int64_t at;
    MPI_Count count;
    MPI_Datatype type;
    const struct shim_layout *layout;
    uint64_t bytes;
};

// rank MPI_PROC_NULL is left to the caller.
static int find(struct shim_win *w, int rank, MPI_Aint disp, MPI_Count count, MPI_Datatype type,
                struct target *t)
{
    int rc = pli_shim_win_sync_may(w, rank);
    rc = rc == MPI_SUCCESS && count < 0 ? MPI_ERR_COUNT : rc;
    rc = rc == MPI_SUCCESS ? pli_shim_layout_find(type, &t->layout) : rc;
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    bool is_dynamic = w->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    const struct shim_layout *l = t->layout;
    if (disp < 0 && !is_dynamic) {
        return MPI_ERR_DISP;
    }
    t->win = w;
    t->rank = rank;
    t->count = count;
    t->type = type;
    t->bytes = (uint64_t)count * l->size;
    if (__builtin_mul_overflow(disp, is_dynamic ? 1 : w->peer[rank].unit, &t->at)) {
        return MPI_ERR_DISP;
    }
    int64_t span = count > 0 ? (count - 1) * l->extent : 0;
    int64_t from = t->at + l->low + (span < 0 ? span : 0);
    int64_t to = t->at + l->high + (span > 0 ? span : 0);
    if (t->bytes > 0 && !is_dynamic && (from < 0 || (uint64_t)to > w->peer[rank].size)) {
        return pli_shim_fail(MPI_ERR_RMA_RANGE, "an access is outside of the target's memory");
    }
    return MPI_SUCCESS;
}

// The bytes of a side, one after the other; copy_out: to be freed.
static int flatten(const struct side *s, uint64_t want, bool is_more, const unsigned char **out,
                   unsigned char **copy_out, uint64_t *bytes_out)
{
    const struct shim_layout *l;
    int rc = s->count < 0 ? MPI_ERR_COUNT : pli_shim_layout_find(s->type, &l);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    uint64_t bytes = (uint64_t)s->count * l->size;
    *bytes_out = bytes;
    if (is_more ? bytes > want : bytes != want) {
        return pli_shim_fail(MPI_ERR_TRUNCATE, "the two sides of an access do not fit together");
    }
    if (l->is_dense || (l->n_run == 1 && s->count == 1)) {
        *out = (const unsigned char *)s->buf + l->low;
        return MPI_SUCCESS;
    }
    *copy_out = malloc(bytes + 1);
    if (*copy_out == NULL) {
        return MPI_ERR_NO_MEM;
    }
    pli_shim_layout_gather(l, s->buf, s->count, *copy_out);
    *out = *copy_out;
    return MPI_SUCCESS;
}

static int done_request(struct shim_win *w, int rank, MPI_Request *request)
{
    struct shim_access *op;
    if (request == NULL) {
        return MPI_SUCCESS;
    }
    int rc = pli_shim_win_msg_begin(w, rank, true, &op);
    return rc == MPI_SUCCESS ? pli_shim_win_msg_end(op, MPI_SUCCESS, request) : rc;
}

static int put(const struct target *t, const struct side *from, MPI_Request *request)
{
    const unsigned char *data = NULL;
    unsigned char *copy = NULL;
    struct shim_walk walk;
    struct pli_region_block blocks[PLI_REGION_N_BLOCK];
    uint64_t bytes = 0;
    int n, rc = flatten(from, t->bytes, true, &data, &copy, &bytes);
    pli_shim_layout_start(&walk, t->layout, t->at, t->count, 1, bytes);
    while (rc == MPI_SUCCESS) {
        pli_shim_win_msg_throttle(t->win, MANY);
        size_t len = pli_shim_layout_next(&walk, blocks, &n);
        if (len == 0) {
            break;
        }
        struct pli_region_msg *m = pli_shim_win_msg_new(PLI_REGION_MSG_PUT, blocks, n, len);
        if (m == NULL) {
            rc = MPI_ERR_NO_MEM;
            break;
        }
        size_t head = (size_t)n * sizeof *blocks;
        m->bytes = len;
        memcpy(m->data + head, data, len);
        data += len;
        t->win->peer[t->rank].sent++;
        rc = pli_shim_win_msg_send(t->win, t->rank, PLI_REGION_TAG_ASK, m, sizeof *m + head + len);
    }
    free(copy);
    return rc == MPI_SUCCESS ? done_request(t->win, t->rank, request) : rc;
}

// Where answers go: the program's memory itself, or memory of the operation.
static int open_answer(struct shim_access *op, const struct side *to, uint64_t bytes, bool is_exact,
                       unsigned char **out)
{
    const struct shim_layout *l;
    int rc = to->count < 0 ? MPI_ERR_COUNT : pli_shim_layout_find(to->type, &l);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    uint64_t room = (uint64_t)to->count * l->size;
    if (is_exact ? room != bytes : room < bytes) {
        return pli_shim_fail(MPI_ERR_TRUNCATE, "the two sides of an access do not fit together");
    }
    if (l->is_dense || (l->n_run == 1 && to->count == 1)) {
        *out = (unsigned char *)to->buf + l->low;
        return MPI_SUCCESS;
    }
    op->packed = malloc(bytes + 1);
    op->len = bytes;
    op->buf = to->buf;
    op->layout = l;
    *out = op->packed;
    return op->packed == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

// Ask for some bytes, which go to `to`.
static int fetch(struct shim_access *op, struct pli_region_msg *m, size_t len, uint64_t bytes,
                 unsigned char *to)
{
    struct shim_win *w = op->win;
    if (m == NULL) {
        return MPI_ERR_NO_MEM;
    }
    m->bytes = bytes;
    m->tag = pli_shim_win_msg_tag(w);
    int rc = pli_shim_win_msg_recv(w, op->rank, m->tag, to, bytes, op);
    if (rc != MPI_SUCCESS) {
        free(m);
        return rc;
    }
    return pli_shim_win_msg_send(w, op->rank, PLI_REGION_TAG_ASK, m, sizeof *m + len);
}

static int get(const struct target *t, const struct side *to, MPI_Request *request)
{
    struct shim_access *op;
    struct shim_walk walk;
    struct pli_region_block blocks[PLI_REGION_N_BLOCK];
    unsigned char *here = NULL;
    const struct shim_layout *l = t->layout;
    bool is_run = l->is_dense || (l->n_run == 1 && t->count == 1);
    uint64_t done = 0;
    int rc = pli_shim_win_msg_begin(t->win, t->rank, request != NULL, &op);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = open_answer(op, to, t->bytes, false, &here);
    pli_shim_layout_start(&walk, l, t->at, t->count, 1, t->bytes);
    while (rc == MPI_SUCCESS && done < t->bytes) {
        int n = 1;
        uint64_t len = t->bytes - done < CHUNK ? t->bytes - done : CHUNK;
        pli_shim_win_msg_throttle(t->win, MANY);
        if (is_run) {
            blocks[0] = (struct pli_region_block){ t->at + l->low + (int64_t)done, len, 0, 1 };
        } else {
            len = pli_shim_layout_next(&walk, blocks, &n);
        }
        rc = fetch(op, pli_shim_win_msg_new(PLI_REGION_MSG_GET, blocks, n, 0),
                   (size_t)n * sizeof *blocks, len, here + done);
        done += len;
    }
    return pli_shim_win_msg_end(op, rc, request);
}

static int number_of(MPI_Op op)
{
    const MPI_Op all[] = { MPI_OP_NULL, MPI_SUM,    MPI_PROD,   MPI_MIN,     MPI_MAX,
                           MPI_BAND,    MPI_BOR,    MPI_BXOR,   MPI_LAND,    MPI_LOR,
                           MPI_LXOR,    MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP };
    for (int i = 1; i < (int)(sizeof all / sizeof *all); i++) {
        if (all[i] == op) {
            return i;
        }
    }
    return 0;
}

static bool is_defined(int op, const struct pli_region_elem *e)
{
    bool is_integer = e->number <= PLI_ELEM_U64, is_complex = e->number >= PLI_ELEM_CF32;
    if (op == PLI_COMBINE_REPLACE || op == PLI_COMBINE_NO_OP) {
        return true;
    }
    if (op == PLI_COMBINE_MINLOC || op == PLI_COMBINE_MAXLOC || e->index != 0) {
        return e->index != 0 && (op == PLI_COMBINE_MINLOC || op == PLI_COMBINE_MAXLOC);
    }
    return op <= PLI_COMBINE_PROD || (op <= PLI_COMBINE_MAX ? !is_complex : is_integer);
}

// The elements of the target, which those of the other side must be.
static int check_update(const struct target *t, const struct side *s, int op,
                        struct pli_region_elem *e)
{
    const struct shim_layout *l;
    struct pli_region_elem its;
    if (op == 0) {
        return pli_shim_fail(MPI_ERR_OP, "an accumulation takes predefined operations only");
    }
    if (t->layout->elem == MPI_DATATYPE_NULL || !pli_shim_layout_elem(t->layout->elem, e)) {
        return pli_shim_fail(MPI_ERR_TYPE, "the elements of an accumulation must be of one "
                                           "predefined type");
    }
    if (!is_defined(op, e)) {
        return pli_shim_fail(MPI_ERR_OP, "the operation is not defined for elements of this type");
    }
    int rc = s == NULL ? MPI_SUCCESS : pli_shim_layout_find(s->type, &l);
    if (rc == MPI_SUCCESS && s != NULL &&
        (l->elem == MPI_DATATYPE_NULL || !pli_shim_layout_elem(l->elem, &its) ||
         its.number != e->number || its.index != e->index)) {
        rc = pli_shim_fail(MPI_ERR_TYPE, "the sides of an accumulation have different elements");
    }
    return rc;
}

// All pieces of an accumulation. op: NULL, or where what was there goes, from `here` on.
static int send_pieces(const struct target *t, const struct shim_layout *l, int which,
                       const struct pli_region_elem *e, const unsigned char *data,
                       struct shim_access *op, unsigned char *here)
{
    struct shim_walk walk;
    struct pli_region_block blocks[PLI_REGION_N_BLOCK];
    int n, rc = MPI_SUCCESS;
    pli_shim_layout_start(&walk, l, t->at, t->count, e->size, t->bytes);
    while (rc == MPI_SUCCESS) {
        pli_shim_win_msg_throttle(t->win, MANY);
        size_t len = pli_shim_layout_next(&walk, blocks, &n), head = (size_t)n * sizeof *blocks;
        if (len == 0) {
            break;
        }
        struct pli_region_msg *m = pli_shim_win_msg_new(PLI_REGION_MSG_APPLY, blocks, n, len);
        if (m == NULL) {
            return MPI_ERR_NO_MEM;
        }
        m->op = (uint8_t)which;
        m->elem = *e;
        m->bytes = len;
        size_t more = data != NULL ? len : 0;
        if (data != NULL) {
            memcpy(m->data + head, data, len);
            data += len;
        }
        if (op != NULL) {
            rc = fetch(op, m, head + more, len, here);
            here += len;
        } else {
            t->win->peer[t->rank].sent++;
            rc = pli_shim_win_msg_send(t->win, t->rank, PLI_REGION_TAG_ASK, m,
                                       sizeof *m + head + more);
        }
    }
    return rc;
}

// result: NULL, or where what was there goes.
static int update(const struct target *t, const struct side *from, const struct side *result,
                  MPI_Op which, MPI_Request *request)
{
    struct pli_region_elem e;
    struct shim_layout whole = { 0 };
    const struct shim_layout *l = t->layout;
    const unsigned char *data = NULL;
    unsigned char *copy = NULL, *here = NULL;
    struct shim_access *op = NULL;
    uint64_t bytes;
    int number = number_of(which);
    const struct side *in = number == PLI_COMBINE_NO_OP ? NULL : from;
    if (t->bytes == 0) {
        return done_request(t->win, t->rank, request);
    }
    int rc = check_update(t, in, number, &e);
    rc = rc == MPI_SUCCESS && in != NULL ? flatten(in, t->bytes, false, &data, &copy, &bytes) : rc;
    if (rc == MPI_SUCCESS && e.first != e.size) {
        rc = pli_shim_layout_whole(t->type, &whole);
        l = &whole;
    }
    if (rc == MPI_SUCCESS && result != NULL) {
        rc = pli_shim_win_msg_begin(t->win, t->rank, request != NULL, &op);
        rc = rc == MPI_SUCCESS ? open_answer(op, result, t->bytes, true, &here) : rc;
    }
    rc = rc == MPI_SUCCESS ? send_pieces(t, l, number, &e, data, op, here) : rc;
    free(copy);
    free(whole.run);
    if (op != NULL) {
        return pli_shim_win_msg_end(op, rc, request);
    }
    return rc == MPI_SUCCESS ? done_request(t->win, t->rank, request) : rc;
}

// A request that is over, for an access to MPI_PROC_NULL.
static int nothing(struct shim_win *w, MPI_Request *request)
{
    return done_request(w, w->span->rank, request);
}

static int do_put(struct shim_win *w, struct side from, int rank, MPI_Aint disp, MPI_Count count,
                  MPI_Datatype type, MPI_Request *request)
{
    struct target t;
    if (rank == MPI_PROC_NULL) {
        return pli_shim_win_end(w, nothing(w, request));
    }
    int rc = find(w, rank, disp, count, type, &t);
    return pli_shim_win_end(w, rc == MPI_SUCCESS ? put(&t, &from, request) : rc);
}

static int do_get(struct shim_win *w, struct side to, int rank, MPI_Aint disp, MPI_Count count,
                  MPI_Datatype type, MPI_Request *request)
{
    struct target t;
    if (rank == MPI_PROC_NULL) {
        return pli_shim_win_end(w, nothing(w, request));
    }
    int rc = find(w, rank, disp, count, type, &t);
    return pli_shim_win_end(w, rc == MPI_SUCCESS ? get(&t, &to, request) : rc);
}

static int do_update(struct shim_win *w, struct side from, const struct side *result, int rank,
                     MPI_Aint disp, MPI_Count count, MPI_Datatype type, MPI_Op op,
                     MPI_Request *request)
{
    struct target t;
    if (rank == MPI_PROC_NULL) {
        return pli_shim_win_end(w, nothing(w, request));
    }
    int rc = find(w, rank, disp, count, type, &t);
    return pli_shim_win_end(w, rc == MPI_SUCCESS ? update(&t, &from, result, op, request) : rc);
}

// The two forms of each function: for int, and for large counts.
#define ACCESS(suffix, count_t)                                                                    \
    PLI_SHIM_API int MPI_Put##suffix(const void *from, count_t n, MPI_Datatype type, int rank,     \
                                     MPI_Aint disp, count_t n_to, MPI_Datatype to_type,            \
                                     MPI_Win win)                                                  \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        struct shim_win *w = pli_shim_win_find(win);                                               \
        return w == NULL ? PMPI_Put##suffix(from, n, type, rank, disp, n_to, to_type, win)         \
                         : do_put(w, (struct side){ (void *)(uintptr_t)from, n, type }, rank,      \
                                  disp, n_to, to_type, NULL);                                      \
    }                                                                                              \
    PLI_SHIM_API int MPI_Rput##suffix(const void *from, count_t n, MPI_Datatype type, int rank,    \
                                      MPI_Aint disp, count_t n_to, MPI_Datatype to_type,           \
                                      MPI_Win win, MPI_Request *request)                           \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        struct shim_win *w = pli_shim_win_find(win);                                               \
        return w == NULL                                                                           \
                   ? PMPI_Rput##suffix(from, n, type, rank, disp, n_to, to_type, win, request)     \
                   : do_put(w, (struct side){ (void *)(uintptr_t)from, n, type }, rank, disp,      \
                            n_to, to_type, request);                                               \
    }                                                                                              \
    PLI_SHIM_API int MPI_Get##suffix(void *to, count_t n, MPI_Datatype type, int rank,             \
                                     MPI_Aint disp, count_t n_from, MPI_Datatype from_type,        \
                                     MPI_Win win)                                                  \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        struct shim_win *w = pli_shim_win_find(win);                                               \
        return w == NULL                                                                           \
                   ? PMPI_Get##suffix(to, n, type, rank, disp, n_from, from_type, win)             \
                   : do_get(w, (struct side){ to, n, type }, rank, disp, n_from, from_type, NULL); \
    }                                                                                              \
    PLI_SHIM_API int MPI_Rget##suffix(void *to, count_t n, MPI_Datatype type, int rank,            \
                                      MPI_Aint disp, count_t n_from, MPI_Datatype from_type,       \
                                      MPI_Win win, MPI_Request *request)                           \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        struct shim_win *w = pli_shim_win_find(win);                                               \
        return w == NULL                                                                           \
                   ? PMPI_Rget##suffix(to, n, type, rank, disp, n_from, from_type, win, request)   \
                   : do_get(w, (struct side){ to, n, type }, rank, disp, n_from, from_type,        \
                            request);                                                              \
    }                                                                                              \
    PLI_SHIM_API int MPI_Accumulate##suffix(const void *from, count_t n, MPI_Datatype type,        \
                                            int rank, MPI_Aint disp, count_t n_to,                 \
                                            MPI_Datatype to_type, MPI_Op op, MPI_Win win)          \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        struct shim_win *w = pli_shim_win_find(win);                                               \
        return w == NULL                                                                           \
                   ? PMPI_Accumulate##suffix(from, n, type, rank, disp, n_to, to_type, op, win)    \
                   : do_update(w, (struct side){ (void *)(uintptr_t)from, n, type }, NULL, rank,   \
                               disp, n_to, to_type, op, NULL);                                     \
    }                                                                                              \
    PLI_SHIM_API int MPI_Raccumulate##suffix(                                                      \
        const void *from, count_t n, MPI_Datatype type, int rank, MPI_Aint disp, count_t n_to,     \
        MPI_Datatype to_type, MPI_Op op, MPI_Win win, MPI_Request *request)                        \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        struct shim_win *w = pli_shim_win_find(win);                                               \
        return w == NULL ? PMPI_Raccumulate##suffix(from, n, type, rank, disp, n_to, to_type, op,  \
                                                    win, request)                                  \
                         : do_update(w, (struct side){ (void *)(uintptr_t)from, n, type }, NULL,   \
                                     rank, disp, n_to, to_type, op, request);                      \
    }                                                                                              \
    PLI_SHIM_API int MPI_Get_accumulate##suffix(                                                   \
        const void *from, count_t n, MPI_Datatype type, void *result, count_t n_result,            \
        MPI_Datatype result_type, int rank, MPI_Aint disp, count_t n_to, MPI_Datatype to_type,     \
        MPI_Op op, MPI_Win win)                                                                    \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        struct shim_win *w = pli_shim_win_find(win);                                               \
        struct side out = { result, n_result, result_type };                                       \
        return w == NULL                                                                           \
                   ? PMPI_Get_accumulate##suffix(from, n, type, result, n_result, result_type,     \
                                                 rank, disp, n_to, to_type, op, win)               \
                   : do_update(w, (struct side){ (void *)(uintptr_t)from, n, type }, &out, rank,   \
                               disp, n_to, to_type, op, NULL);                                     \
    }                                                                                              \
    PLI_SHIM_API int MPI_Rget_accumulate##suffix(                                                  \
        const void *from, count_t n, MPI_Datatype type, void *result, count_t n_result,            \
        MPI_Datatype result_type, int rank, MPI_Aint disp, count_t n_to, MPI_Datatype to_type,     \
        MPI_Op op, MPI_Win win, MPI_Request *request)                                              \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        struct shim_win *w = pli_shim_win_find(win);                                               \
        struct side out = { result, n_result, result_type };                                       \
        return w == NULL                                                                           \
                   ? PMPI_Rget_accumulate##suffix(from, n, type, result, n_result, result_type,    \
                                                  rank, disp, n_to, to_type, op, win, request)     \
                   : do_update(w, (struct side){ (void *)(uintptr_t)from, n, type }, &out, rank,   \
                               disp, n_to, to_type, op, request);                                  \
    }
ACCESS(, int)
#if MPI_VERSION >= 4
ACCESS(_c, MPI_Count)
#endif

PLI_SHIM_API int MPI_Fetch_and_op(const void *from, void *result, MPI_Datatype type, int rank,
                                  MPI_Aint disp, MPI_Op op, MPI_Win win)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    struct side out = { result, 1, type };
    return w == NULL ? PMPI_Fetch_and_op(from, result, type, rank, disp, op, win)
                     : do_update(w, (struct side){ (void *)(uintptr_t)from, 1, type }, &out, rank,
                                 disp, 1, type, op, NULL);
}

static int swap(struct shim_win *w, const void *from, const void *compare, void *result,
                MPI_Datatype type, int rank, MPI_Aint disp)
{
    struct target t;
    struct pli_region_elem e;
    struct shim_access *op;
    int rc = find(w, rank, disp, 1, type, &t);
    if (rc == MPI_SUCCESS &&
        (!pli_shim_layout_elem(type, &e) || e.index != 0 || e.number > PLI_ELEM_U64)) {
        rc = pli_shim_fail(MPI_ERR_TYPE, "elements of this type cannot be compared and swapped");
    }
    rc = rc == MPI_SUCCESS ? pli_shim_win_msg_begin(w, rank, false, &op) : rc;
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    pli_shim_win_msg_throttle(w, MANY);
    struct pli_region_block b = { t.at, e.size, 0, 1 };
    struct pli_region_msg *m = pli_shim_win_msg_new(PLI_REGION_MSG_SWAP, &b, 1, 2 * (size_t)e.size);
    if (m != NULL) {
        m->elem = e;
        memcpy(m->data + sizeof b, compare, e.size);
        memcpy(m->data + sizeof b + e.size, from, e.size);
    }
    rc = fetch(op, m, sizeof b + 2 * (size_t)e.size, e.size, result);
    return pli_shim_win_msg_end(op, rc, NULL);
}

PLI_SHIM_API int MPI_Compare_and_swap(const void *from, const void *compare, void *result,
                                      MPI_Datatype type, int rank, MPI_Aint disp, MPI_Win win)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    if (w == NULL) {
        return PMPI_Compare_and_swap(from, compare, result, type, rank, disp, win);
    }
    return rank == MPI_PROC_NULL
               ? MPI_SUCCESS
               : pli_shim_win_end(w, swap(w, from, compare, result, type, rank, disp));
}
