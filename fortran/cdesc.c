// SPDX-License-Identifier: BSD-3-Clause
// Sections of Fortran arrays as datatypes: nested vectors where the datatype fits into the
// elements, a list of bytes where it does not.
#include "fortran/cdesc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 15, MAX_PIECE = 2 * MAX_RANK + 2 };

// A section as few dimensions as say it: those that continue each other are one.
struct shape {
    int rank;
    MPI_Count extent[MAX_RANK];
    MPI_Count stride[MAX_RANK];
    MPI_Count below[MAX_RANK + 1]; // elements in one step of this dimension
    MPI_Count size;
};

static struct shape shape_of(const struct pli_cdesc *d)
{
    struct shape s = { .size = 1 };
    for (int i = 0; i < d->rank; i++) {
        MPI_Count extent = d->dim[i].extent, stride = d->dim[i].sm;
        s.size *= extent;
        if (extent == 1) {
            continue;
        }
        int last = s.rank - 1;
        if (s.rank > 0 && stride == s.extent[last] * s.stride[last]) {
            s.extent[last] *= extent;
        } else if (s.rank < MAX_RANK) {
            s.extent[s.rank] = extent;
            s.stride[s.rank] = stride;
            s.rank++;
        }
    }
    if (s.rank == 0) {
        s.extent[0] = 1;
        s.stride[0] = (MPI_Count)d->elem_len;
        s.rank = 1;
    }
    s.below[0] = 1;
    for (int i = 0; i < s.rank; i++) {
        s.below[i + 1] = s.below[i] * s.extent[i];
    }
    return s;
}

MPI_Count pli_cdesc_size(const struct pli_cdesc *d)
{
    return shape_of(d).size;
}

// Where element i lies, in bytes from the first.
static MPI_Count place_of(const struct shape *s, MPI_Count i)
{
    MPI_Count at = 0;
    for (int k = s->rank - 1; k >= 0; k--) {
        at += i / s->below[k] * s->stride[k];
        i %= s->below[k];
    }
    return at;
}

// The pieces that a datatype is made of, in order.
struct pieces {
    int n;
    MPI_Count length[MAX_PIECE];
    MPI_Count at[MAX_PIECE];
    MPI_Datatype type[MAX_PIECE];
    bool is_mine[MAX_PIECE];
};

static void add_piece(struct pieces *p, MPI_Count length, MPI_Count at, MPI_Datatype type,
                      bool is_mine)
{
    p->length[p->n] = length;
    p->at[p->n] = at;
    p->type[p->n] = type;
    p->is_mine[p->n++] = is_mine;
}

static void free_pieces(struct pieces *p)
{
    for (int i = 0; i < p->n; i++) {
        if (p->is_mine[i]) {
            PMPI_Type_free(&p->type[i]);
        }
    }
}

// Of how many elements from `first` on dimension k has whole steps: as many as n allows, up to the
// end of the dimension above it.
static MPI_Count steps_of(const struct shape *s, int k, MPI_Count first, MPI_Count n)
{
    MPI_Count steps = n / s->below[k];
    if (k + 1 < s->rank) {
        MPI_Count left = (s->below[k + 1] - first % s->below[k + 1]) / s->below[k];
        steps = steps < left ? steps : left;
    }
    return steps;
}

// n whole elements from number `first` on, each filled by `leaf`, as pieces: up to the end of a
// column, rows of the highest dimension, then what is left over in the one below, and so on.
static int add_elements(struct pieces *p, const struct shape *s, MPI_Count first, MPI_Count n,
                        MPI_Datatype leaf)
{
    MPI_Datatype row[MAX_RANK]; // row[k]: all of the dimensions below k
    int err = MPI_SUCCESS, n_row = 1;
    row[0] = leaf;
    int top = s->rank - 1;
    while (top > 0 && s->below[top] > n) {
        top--; // not even one row of it is wanted
    }
    for (; n_row <= top && err == MPI_SUCCESS; n_row++) {
        int k = n_row - 1;
        err = PMPI_Type_create_hvector_c(s->extent[k], 1, s->stride[k], row[k], &row[n_row]);
    }
    if (err != MPI_SUCCESS) {
        n_row--; // the last one was not made
    }
    while (n > 0 && err == MPI_SUCCESS) {
        int k = top;
        while (k > 0 && (first % s->below[k] != 0 || n < s->below[k])) {
            k--;
        }
        MPI_Count rows = steps_of(s, k, first, n);
        MPI_Datatype t;
        err = PMPI_Type_create_hvector_c(rows, 1, s->stride[k], row[k], &t);
        if (err == MPI_SUCCESS) {
            add_piece(p, 1, place_of(s, first), t, true);
        }
        first += rows * s->below[k];
        n -= rows * s->below[k];
    }
    for (int k = 1; k < n_row; k++) {
        PMPI_Type_free(&row[k]);
    }
    return err;
}

// Whether a datatype has others inside, so that one got from the contents of another must be freed.
static bool is_derived(int combiner)
{
    return combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
           combiner != MPI_COMBINER_F90_COMPLEX && combiner != MPI_COMBINER_F90_INTEGER;
}

void pli_cdesc_free_content(MPI_Datatype type)
{
    MPI_Count n_int, n_addr, n_large, n_type;
    int combiner = MPI_COMBINER_NAMED;
    if (type != MPI_DATATYPE_NULL &&
        PMPI_Type_get_envelope_c(type, &n_int, &n_addr, &n_large, &n_type, &combiner) ==
            MPI_SUCCESS &&
        is_derived(combiner)) {
        PMPI_Type_free(&type);
    }
}

// A datatype that is a row of another without gaps becomes that other and a longer count: so an
// array of contiguous blocks can be cut anywhere. *mine is what the caller frees afterwards, unless
// it is MPI_DATATYPE_NULL.
static void reduce_type(MPI_Count *count, MPI_Datatype *type, MPI_Datatype *mine)
{
    MPI_Count n_int, n_addr, n_large, n_type;
    int combiner;
    *mine = MPI_DATATYPE_NULL;
    while (PMPI_Type_get_envelope_c(*type, &n_int, &n_addr, &n_large, &n_type, &combiner) ==
               MPI_SUCCESS &&
           (combiner == MPI_COMBINER_DUP || combiner == MPI_COMBINER_CONTIGUOUS)) {
        int ints[1] = { 1 };
        MPI_Count larges[1] = { 1 };
        MPI_Aint addrs[1];
        MPI_Datatype inner[1], outer = *mine;
        if (PMPI_Type_get_contents_c(*type, n_int, n_addr, n_large, n_type, ints, addrs, larges,
                                     inner) != MPI_SUCCESS) {
            return;
        }
        if (combiner == MPI_COMBINER_CONTIGUOUS) {
            *count *= n_large > 0 ? larges[0] : ints[0];
        }
        *type = inner[0];
        *mine = MPI_DATATYPE_NULL;
        if (PMPI_Type_get_envelope_c(*type, &n_int, &n_addr, &n_large, &n_type, &combiner) ==
                MPI_SUCCESS &&
            is_derived(combiner)) {
            *mine = *type;
        }
        if (outer != MPI_DATATYPE_NULL) {
            PMPI_Type_free(&outer);
        }
    }
}

// The byte offsets that a datatype picks out, in the order of its type map. Packing tells them:
// memory in which each byte says where it lies is packed, once for each byte of the offset. NULL:
// no memory.
static int64_t *offsets_of(MPI_Datatype type, MPI_Count size, MPI_Count lb, MPI_Count extent)
{
    unsigned char *from = malloc((size_t)extent), *to = malloc((size_t)size);
    int64_t *at = calloc((size_t)size, sizeof *at);
    bool is_good = from != NULL && to != NULL && at != NULL;
    for (int byte = 0; is_good && byte < 8 && (byte == 0 || extent >> (8 * byte) > 0); byte++) {
        for (MPI_Count i = 0; i < extent; i++) {
            from[i] = (unsigned char)(i >> (8 * byte));
        }
        MPI_Count done = 0;
        is_good = PMPI_Pack_c(from - lb, 1, type, to, size, &done, MPI_COMM_SELF) == MPI_SUCCESS &&
                  done == size;
        for (MPI_Count i = 0; is_good && i < size; i++) {
            at[i] |= (int64_t)to[i] << (8 * byte);
        }
    }
    for (MPI_Count i = 0; is_good && i < size; i++) {
        at[i] += lb;
    }
    free(from);
    free(to);
    if (!is_good) {
        free(at);
        at = NULL;
    }
    return at;
}

// Datatypes that do not fit into the elements: the bytes, one by one, each looked up in the
// section.
static int bytes_type(const struct pli_cdesc *d, const struct shape *s, MPI_Count from,
                      MPI_Count count, MPI_Datatype type, MPI_Datatype *out)
{
    MPI_Count size, lb, extent, true_lb, true_extent, elem = (MPI_Count)d->elem_len;
    PMPI_Type_size_c(type, &size);
    PMPI_Type_get_extent_c(type, &lb, &extent);
    PMPI_Type_get_true_extent_c(type, &true_lb, &true_extent);
    if (true_lb < 0 || (count > 1 && extent < 0) ||
        from + true_lb + true_extent + (count - 1) * extent > s->size * elem) {
        return MPI_ERR_COUNT;
    }
    int64_t *at = offsets_of(type, size, true_lb, true_extent);
    MPI_Count *place = malloc((size_t)(size * count) * sizeof *place);
    MPI_Count *length = malloc((size_t)(size * count) * sizeof *length);
    int err = at == NULL || place == NULL || length == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    MPI_Count n = 0;
    for (MPI_Count i = 0; err == MPI_SUCCESS && i < count; i++) {
        for (MPI_Count j = 0; j < size; j++) {
            MPI_Count byte = from + at[j] + i * extent;
            MPI_Count where = place_of(s, byte / elem) + byte % elem;
            if (n > 0 && place[n - 1] + length[n - 1] == where) {
                length[n - 1]++;
            } else {
                place[n] = where;
                length[n++] = 1;
            }
        }
    }
    if (err == MPI_SUCCESS) {
        err = PMPI_Type_create_hindexed_c(n, length, place, MPI_BYTE, out);
    }
    free(at);
    free(place);
    free(length);
    return err;
}

// Whether copies of the type fit into an element without crossing into the next.
static bool fits_elements(MPI_Datatype type, MPI_Count elem)
{
    MPI_Count lb, extent, true_lb, true_extent;
    PMPI_Type_get_extent_c(type, &lb, &extent);
    PMPI_Type_get_true_extent_c(type, &true_lb, &true_extent);
    return extent > 0 && elem % extent == 0 && true_lb >= 0 && true_lb + true_extent <= extent;
}

// Elements from number `first` on, filled by `per_elem` copies of the type each, and a rest in the
// one after them.
static int nested_type(const struct pli_cdesc *d, const struct shape *s, MPI_Count first,
                       MPI_Count count, MPI_Datatype type, MPI_Datatype *out)
{
    MPI_Count lb, extent;
    PMPI_Type_get_extent_c(type, &lb, &extent);
    MPI_Count per_elem = (MPI_Count)d->elem_len / extent, n = count / per_elem,
              rest = count % per_elem;
    if (first + n + (rest > 0) > s->size) {
        return MPI_ERR_COUNT;
    }
    MPI_Datatype leaf = type;
    int err = per_elem > 1 ? PMPI_Type_contiguous_c(per_elem, type, &leaf) : MPI_SUCCESS;
    struct pieces p = { .n = 0 };
    if (err == MPI_SUCCESS) {
        err = add_elements(&p, s, first, n, leaf);
        if (leaf != type) {
            PMPI_Type_free(&leaf);
        }
    }
    if (err == MPI_SUCCESS && rest > 0) {
        add_piece(&p, rest, place_of(s, first + n), type, false);
    }
    if (err == MPI_SUCCESS) {
        err = PMPI_Type_create_struct_c(p.n, p.length, p.at, p.type, out);
    }
    free_pieces(&p);
    return err;
}

// What lies `from` bytes behind the first byte of a contiguous copy, and after it.
static int any_type(const struct pli_cdesc *d, const struct shape *s, MPI_Count from,
                    MPI_Count count, MPI_Datatype type, MPI_Datatype *out)
{
    MPI_Datatype mine;
    MPI_Count elem = (MPI_Count)d->elem_len;
    if (from < 0) {
        return MPI_ERR_COUNT;
    }
    reduce_type(&count, &type, &mine);
    int err = fits_elements(type, elem) && from % elem == 0
                  ? nested_type(d, s, from / elem, count, type, out)
                  : bytes_type(d, s, from, count, type, out);
    if (mine != MPI_DATATYPE_NULL) {
        PMPI_Type_free(&mine);
    }
    return err;
}

static int finish(int err, struct pli_cdesc_view *out, MPI_Datatype made)
{
    if (err == MPI_SUCCESS) {
        err = PMPI_Type_commit(&made);
    }
    if (err == MPI_SUCCESS) {
        out->count = 1;
        out->type = out->made = made;
    }
    return err;
}

static bool is_empty(MPI_Datatype type, MPI_Count count)
{
    MPI_Count size = 0;
    return count <= 0 || type == MPI_DATATYPE_NULL ||
           PMPI_Type_size_c(type, &size) != MPI_SUCCESS || size <= 0;
}

int pli_cdesc_part(const struct pli_cdesc *d, MPI_Count from, MPI_Count count, MPI_Datatype type,
                   struct pli_cdesc_view *out)
{
    *out = (struct pli_cdesc_view){ d->base_addr, count, type, MPI_DATATYPE_NULL };
    if (pli_cdesc_is_plain(d) || is_empty(type, count)) {
        return MPI_SUCCESS; // a wrong count or type is the C function's to judge
    }
    struct shape s = shape_of(d);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int err = any_type(d, &s, from, count, type, &made);
    return finish(err, out, made);
}

int pli_cdesc_view(const struct pli_cdesc *d, MPI_Count count, MPI_Datatype type,
                   struct pli_cdesc_view *out)
{
    return pli_cdesc_part(d, 0, count, type, out);
}

int pli_cdesc_blocks(const struct pli_cdesc *d, MPI_Count count, MPI_Datatype type,
                     struct pli_cdesc_view *out)
{
    *out = (struct pli_cdesc_view){ d->base_addr, count, type, MPI_DATATYPE_NULL };
    if (pli_cdesc_is_plain(d) || is_empty(type, count)) {
        return MPI_SUCCESS;
    }
    struct shape s = shape_of(d);
    MPI_Count lb, extent, elem = (MPI_Count)d->elem_len;
    PMPI_Type_get_extent_c(type, &lb, &extent);
    MPI_Count bytes = count * extent, step = bytes / elem, top = s.below[s.rank - 1];
    if (bytes % elem != 0 || step % top != 0) {
        return MPI_ERR_BUFFER; // the next block does not lie as this one does
    }
    MPI_Datatype one = MPI_DATATYPE_NULL, made = MPI_DATATYPE_NULL;
    int err = any_type(d, &s, 0, count, type, &one);
    if (err == MPI_SUCCESS) {
        err = PMPI_Type_create_resized_c(one, 0, step / top * s.stride[s.rank - 1], &made);
        PMPI_Type_free(&one);
    }
    return finish(err, out, made);
}

void pli_cdesc_release(struct pli_cdesc_view *view)
{
    if (view->made != MPI_DATATYPE_NULL) {
        PMPI_Type_free(&view->made);
    }
}

// Runs of neighbours could be copied at once; this is the way of the few calls that must copy.
void pli_cdesc_gather(const struct pli_cdesc *d, void *packed)
{
    struct shape s = shape_of(d);
    unsigned char *to = packed;
    for (MPI_Count i = 0; i < s.size; i++) {
        memcpy(to + (size_t)i * d->elem_len, (unsigned char *)d->base_addr + place_of(&s, i),
               d->elem_len);
    }
}

void pli_cdesc_scatter(const struct pli_cdesc *d, const void *packed)
{
    struct shape s = shape_of(d);
    const unsigned char *from = packed;
    for (MPI_Count i = 0; i < s.size; i++) {
        memcpy((unsigned char *)d->base_addr + place_of(&s, i), from + (size_t)i * d->elem_len,
               d->elem_len);
    }
}

void *pli_cdesc_pack(const struct pli_cdesc *d)
{
    MPI_Count bytes = pli_cdesc_size(d) * (MPI_Count)d->elem_len;
    void *packed = malloc(bytes > 0 ? (size_t)bytes : 1);
    if (packed != NULL) {
        pli_cdesc_gather(d, packed);
    }
    return packed;
}

void pli_cdesc_unpack(const struct pli_cdesc *d, void *packed, bool changed)
{
    if (packed != NULL && changed) {
        pli_cdesc_scatter(d, packed);
    }
    free(packed);
}
