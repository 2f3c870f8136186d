// SPDX-License-Identifier: BSD-3-Clause
// Finds the runs of bytes of a datatype, from its construction.
#include "shim/shim_layout.h"
#include <stdlib.h>
#include <string.h>

static int keyval = MPI_KEYVAL_INVALID;

// Rows for predefined types; index: of a pair.
static const struct row {
    uint8_t number, index;
    uint16_t first, size; // bytes of the value, and of both
} rows[] = {
    { PLI_ELEM_I8, 0, 1, 1 },
    { PLI_ELEM_U8, 0, 1, 1 },
    { PLI_ELEM_I16, 0, 2, 2 },
    { PLI_ELEM_U16, 0, 2, 2 },
    { PLI_ELEM_I32, 0, 4, 4 },
    { PLI_ELEM_U32, 0, 4, 4 },
    { PLI_ELEM_I64, 0, 8, 8 },
    { PLI_ELEM_U64, 0, 8, 8 },
    { PLI_ELEM_F32, 0, 4, 4 },
    { PLI_ELEM_F64, 0, 8, 8 },
    { PLI_ELEM_LD, 0, 16, 16 },
    { PLI_ELEM_CF32, 0, 8, 8 },
    { PLI_ELEM_CF64, 0, 16, 16 },
    { PLI_ELEM_CLD, 0, 32, 32 },
    { PLI_ELEM_F32, PLI_ELEM_I32, 4, 8 },
    { PLI_ELEM_F64, PLI_ELEM_I32, 8, 12 },
    { PLI_ELEM_I64, PLI_ELEM_I32, 8, 12 },
    { PLI_ELEM_I32, PLI_ELEM_I32, 4, 8 },
    { PLI_ELEM_I16, PLI_ELEM_I32, 2, 6 },
    { PLI_ELEM_LD, PLI_ELEM_I32, 16, 20 },
    { PLI_ELEM_F32, PLI_ELEM_F32, 4, 8 },
    { PLI_ELEM_F64, PLI_ELEM_F64, 8, 16 },
};
enum {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    LD,
    CF32,
    CF64,
    CLD,
    FLOAT_INT,
    DOUBLE_INT,
    LONG_INT,
    TWO_INT,
    SHORT_INT,
    LONG_DOUBLE_INT,
    TWO_REAL,
    TWO_DOUBLE
};

// The first type of each row is the one that operations are done with.
static int row_of(MPI_Datatype type)
{
    const struct {
        MPI_Datatype type;
        int row;
    } all[] = {
        { MPI_INT8_T, I8 },
        { MPI_UINT8_T, U8 },
        { MPI_INT16_T, I16 },
        { MPI_UINT16_T, U16 },
        { MPI_INT32_T, I32 },
        { MPI_UINT32_T, U32 },
        { MPI_INT64_T, I64 },
        { MPI_UINT64_T, U64 },
        { MPI_FLOAT, F32 },
        { MPI_DOUBLE, F64 },
        { MPI_LONG_DOUBLE, LD },
        { MPI_C_FLOAT_COMPLEX, CF32 },
        { MPI_C_DOUBLE_COMPLEX, CF64 },
        { MPI_C_LONG_DOUBLE_COMPLEX, CLD },
        { MPI_FLOAT_INT, FLOAT_INT },
        { MPI_DOUBLE_INT, DOUBLE_INT },
        { MPI_LONG_INT, LONG_INT },
        { MPI_2INT, TWO_INT },
        { MPI_SHORT_INT, SHORT_INT },
        { MPI_LONG_DOUBLE_INT, LONG_DOUBLE_INT },
        { MPI_2REAL, TWO_REAL },
        { MPI_2DOUBLE_PRECISION, TWO_DOUBLE },
        { MPI_INT, I32 },
        { MPI_CHAR, (char)-1 < 0 ? I8 : U8 },
        { MPI_SIGNED_CHAR, I8 },
        { MPI_UNSIGNED_CHAR, U8 },
        { MPI_BYTE, U8 },
        { MPI_PACKED, U8 },
        { MPI_C_BOOL, U8 },
        { MPI_CHARACTER, U8 },
        { MPI_SHORT, I16 },
        { MPI_UNSIGNED_SHORT, U16 },
        { MPI_UNSIGNED, U32 },
        { MPI_LONG, sizeof(long) == 8 ? I64 : I32 },
        { MPI_UNSIGNED_LONG, sizeof(long) == 8 ? U64 : U32 },
        { MPI_LONG_LONG, I64 },
        { MPI_UNSIGNED_LONG_LONG, U64 },
        { MPI_WCHAR, I32 },
        { MPI_AINT, I64 },
        { MPI_OFFSET, I64 },
        { MPI_COUNT, I64 },
        { MPI_LOGICAL, U32 },
        { MPI_INTEGER, I32 },
        { MPI_REAL, F32 },
        { MPI_DOUBLE_PRECISION, F64 },
        { MPI_COMPLEX, CF32 },
        { MPI_DOUBLE_COMPLEX, CF64 },
        { MPI_2INTEGER, TWO_INT },
        { MPI_INTEGER1, I8 },
        { MPI_INTEGER2, I16 },
        { MPI_INTEGER4, I32 },
        { MPI_INTEGER8, I64 },
        { MPI_REAL4, F32 },
        { MPI_REAL8, F64 },
        { MPI_COMPLEX8, CF32 },
        { MPI_COMPLEX16, CF64 },
    };
    for (size_t i = 0; type != MPI_DATATYPE_NULL && i < sizeof all / sizeof *all; i++) {
        if (all[i].type == type) {
            return all[i].row;
        }
    }
    return -1;
}

bool pli_shim_layout_elem(MPI_Datatype type, struct pli_region_elem *out)
{
    int row = row_of(type);
    if (row < 0) {
        return false;
    }
    const struct row *r = &rows[row];
    *out = (struct pli_region_elem){ r->number, r->index, r->size, r->size, r->size };
    if (row == SHORT_INT) { // the only one with a hole between its parts
        out->first = r->first;
        out->second = 4;
    }
    return true;
}

MPI_Datatype pli_shim_layout_type(const struct pli_region_elem *e)
{
    const MPI_Datatype all[] = { MPI_INT8_T,
                                 MPI_UINT8_T,
                                 MPI_INT16_T,
                                 MPI_UINT16_T,
                                 MPI_INT32_T,
                                 MPI_UINT32_T,
                                 MPI_INT64_T,
                                 MPI_UINT64_T,
                                 MPI_FLOAT,
                                 MPI_DOUBLE,
                                 MPI_LONG_DOUBLE,
                                 MPI_C_FLOAT_COMPLEX,
                                 MPI_C_DOUBLE_COMPLEX,
                                 MPI_C_LONG_DOUBLE_COMPLEX,
                                 MPI_FLOAT_INT,
                                 MPI_DOUBLE_INT,
                                 MPI_LONG_INT,
                                 MPI_2INT,
                                 MPI_SHORT_INT,
                                 MPI_LONG_DOUBLE_INT,
                                 MPI_2REAL,
                                 MPI_2DOUBLE_PRECISION };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].number == e->number && rows[i].index == e->index) {
            return all[i];
        }
    }
    return MPI_DATATYPE_NULL;
}

static int emit(struct shim_layout *l, MPI_Aint at, size_t len)
{
    if (len == 0) {
        return MPI_SUCCESS;
    }
    l->low = l->n_run == 0 || at < l->low ? at : l->low;
    l->high = l->n_run == 0 || at + (MPI_Aint)len > l->high ? at + (MPI_Aint)len : l->high;
    struct shim_run *last = l->n_run > 0 ? &l->run[l->n_run - 1] : NULL;
    if (last != NULL && last->at + (MPI_Aint)last->len == at) {
        last->len += len;
        return MPI_SUCCESS;
    }
    if (l->n_run == l->n_room) {
        size_t room = l->n_room * 2 + 4;
        struct shim_run *more = realloc(l->run, room * sizeof *more);
        if (more == NULL) {
            return MPI_ERR_NO_MEM;
        }
        l->run = more;
        l->n_room = room;
    }
    l->run[l->n_run++] = (struct shim_run){ at, len };
    return MPI_SUCCESS;
}

// `n` elements of another layout at `at`.
static int place(struct shim_layout *l, const struct shim_layout *sub, MPI_Aint at, int64_t n)
{
    int rc = MPI_SUCCESS;
    if (sub->is_dense) {
        return n > 0 ? emit(l, at + sub->low, sub->size * (size_t)n) : rc;
    }
    for (int64_t i = 0; i < n && rc == MPI_SUCCESS; i++) {
        for (size_t k = 0; k < sub->n_run && rc == MPI_SUCCESS; k++) {
            rc = emit(l, at + i * sub->extent + sub->run[k].at, sub->run[k].len);
        }
    }
    return rc;
}

// A part of an array: of each dimension the places, dimension 0 moving slowest.
struct array {
    int n_dim;
    MPI_Count *size, **index, *n_index; // n_index: how many of the places in `index`
};

static int place_array(struct shim_layout *l, const struct shim_layout *old, const struct array *a,
                       int dim, int64_t before)
{
    int rc = MPI_SUCCESS;
    for (MPI_Count i = 0; i < a->n_index[dim] && rc == MPI_SUCCESS; i++) {
        int64_t here = before * a->size[dim] + a->index[dim][i];
        rc = dim + 1 < a->n_dim ? place_array(l, old, a, dim + 1, here)
                                : place(l, old, here * old->extent, 1);
    }
    return rc;
}

// Places of a process along one dimension of a distributed array.
static MPI_Count list_owned(MPI_Count size, MPI_Count distrib, MPI_Count arg, MPI_Count procs,
                            MPI_Count me, MPI_Count *out)
{
    MPI_Count n = 0;
    if (distrib == MPI_DISTRIBUTE_NONE) {
        procs = 1;
        me = 0;
        distrib = MPI_DISTRIBUTE_BLOCK;
        arg = MPI_DISTRIBUTE_DFLT_DARG;
    }
    if (arg == MPI_DISTRIBUTE_DFLT_DARG) {
        arg = distrib == MPI_DISTRIBUTE_CYCLIC ? 1 : (size + procs - 1) / procs;
    }
    for (MPI_Count i = 0; i < size; i++) {
        if (i / arg % procs == me) {
            out[n++] = i;
        }
    }
    return n;
}

// i: the integers of the constructor, behind those of a darray that say whose part it is.
static int of_array(struct shim_layout *l, const struct shim_layout *old, int combiner,
                    const MPI_Count *i)
{
    bool is_part = combiner == MPI_COMBINER_SUBARRAY;
    int n = (int)(is_part ? i[0] : i[2]), rc = MPI_SUCCESS;
    MPI_Count left = is_part ? 0 : i[1];
    const MPI_Count *size = i + (is_part ? 1 : 3);
    const MPI_Count *procs = size + 3 * n;
    bool is_c = i[is_part ? 1 + 3 * n : 3 + 4 * n] == MPI_ORDER_C;
    struct array a = { .n_dim = n };
    a.size = calloc((size_t)n, sizeof *a.size);
    a.n_index = calloc((size_t)n, sizeof *a.n_index);
    a.index = calloc((size_t)n, sizeof *a.index);
    rc = a.size == NULL || a.n_index == NULL || a.index == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    for (int d = n - 1; d >= 0 && rc == MPI_SUCCESS; d--) { // the last has the low part of a rank
        int to = is_c ? d : n - 1 - d;
        a.size[to] = size[d];
        a.index[to] = malloc(((size_t)size[d] + 1) * sizeof **a.index);
        if (a.index[to] == NULL) {
            rc = MPI_ERR_NO_MEM;
        } else if (is_part) {
            a.n_index[to] = size[n + d];
            for (MPI_Count k = 0; k < size[n + d]; k++) {
                a.index[to][k] = size[2 * n + d] + k;
            }
        } else {
            a.n_index[to] = list_owned(size[d], size[n + d], size[2 * n + d], procs[d],
                                       left % procs[d], a.index[to]);
            left /= procs[d];
        }
    }
    rc = rc == MPI_SUCCESS ? place_array(l, old, &a, 0, 0) : rc;
    for (int d = 0; a.index != NULL && d < n; d++) {
        free(a.index[d]);
    }
    free(a.size);
    free(a.n_index);
    free(a.index);
    return rc;
}

// What a constructor got, in the order of the functions for int, whichever it was.
struct contents {
    int combiner;
    MPI_Count *i, n_i;
    MPI_Aint *a;
    MPI_Datatype *d;
    MPI_Count n_d;
};

static int of_blocks(struct shim_layout *l, const struct shim_layout *old, const struct contents *c)
{
    const MPI_Count *i = c->i;
    MPI_Count n = c->n_i > 0 ? i[0] : 0;
    int rc = MPI_SUCCESS;
    switch (c->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return place(l, old, 0, 1);
    case MPI_COMBINER_CONTIGUOUS:
        return place(l, old, 0, n);
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
        return of_array(l, old, c->combiner, i);
    default:
        break;
    }
    for (MPI_Count k = 0; k < n && rc == MPI_SUCCESS; k++) {
        switch (c->combiner) {
        case MPI_COMBINER_VECTOR:
            rc = place(l, old, (MPI_Aint)k * i[2] * old->extent, i[1]);
            break;
        case MPI_COMBINER_HVECTOR:
            rc = place(l, old, k * c->a[0], i[1]);
            break;
        case MPI_COMBINER_INDEXED:
            rc = place(l, old, (MPI_Aint)i[1 + n + k] * old->extent, i[1 + k]);
            break;
        case MPI_COMBINER_HINDEXED:
            rc = place(l, old, c->a[k], i[1 + k]);
            break;
        case MPI_COMBINER_INDEXED_BLOCK:
            rc = place(l, old, (MPI_Aint)i[2 + k] * old->extent, i[1]);
            break;
        case MPI_COMBINER_HINDEXED_BLOCK:
            rc = place(l, old, c->a[k], i[1]);
            break;
        default:
            return pli_shim_fail(MPI_ERR_TYPE, "a datatype of this kind cannot be used in a window "
                                               "that spans clients");
        }
    }
    return rc;
}

static int make(MPI_Datatype type, bool is_whole, struct shim_layout *l);

static int find(MPI_Datatype type, bool is_whole, struct shim_layout *mem,
                const struct shim_layout **out)
{
    if (!is_whole) {
        return pli_shim_layout_find(type, out);
    }
    *out = mem;
    return make(type, true, mem);
}

static int derive(const struct contents *c, struct shim_layout *l)
{
    int rc = MPI_SUCCESS;
    for (MPI_Count k = 0; k < c->n_d && rc == MPI_SUCCESS; k++) {
        struct shim_layout mem = { 0 };
        const struct shim_layout *old = &mem;
        bool is_used = c->combiner != MPI_COMBINER_STRUCT || c->i[1 + k] > 0;
        rc = find(c->d[k], l->is_whole, &mem, &old);
        if (rc == MPI_SUCCESS && is_used) {
            rc = c->combiner == MPI_COMBINER_STRUCT ? place(l, old, c->a[k], c->i[1 + k])
                                                    : of_blocks(l, old, c);
            l->elem = k == 0 || l->elem == old->elem ? old->elem : MPI_DATATYPE_NULL;
        }
        free(mem.run);
    }
    return rc;
}

static bool is_named(int combiner)
{
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

#if MPI_VERSION >= 4
// How many of the large counts are integers in the form for int; the rest are addresses.
static MPI_Count n_integer(int combiner, const MPI_Count *large, MPI_Count n_large)
{
    switch (combiner) {
    case MPI_COMBINER_RESIZED:
        return 0;
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return 2;
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
        return 1 + large[0];
    default:
        return n_large;
    }
}

// ints and large: what a constructor for large counts got. Those of arrays have their sizes among
// the large ones, behind the first integers.
static void arrange(struct contents *c, const int *ints, MPI_Count n_int, const MPI_Count *large,
                    MPI_Count n_large)
{
    bool is_array = c->combiner == MPI_COMBINER_SUBARRAY || c->combiner == MPI_COMBINER_DARRAY;
    MPI_Count first = c->combiner == MPI_COMBINER_SUBARRAY ? 1 : is_array ? 3 : n_int;
    MPI_Count most = is_array ? n_large : n_integer(c->combiner, large, n_large);
    for (MPI_Count k = 0; k < first; k++) {
        c->i[c->n_i++] = ints[k];
    }
    for (MPI_Count k = 0; k < n_large; k++) {
        if (k < most) {
            c->i[c->n_i++] = large[k];
        } else {
            c->a[k - most] = (MPI_Aint)large[k];
        }
    }
    for (MPI_Count k = first; k < n_int; k++) {
        c->i[c->n_i++] = ints[k];
    }
}
#endif

static void close_contents(struct contents *c)
{
    for (MPI_Count k = 0; c->d != NULL && k < c->n_d; k++) {
        pli_shim_type_free_derived(&c->d[k]);
    }
    free(c->i);
    free(c->a);
    free(c->d);
}

// A predefined type has none.
static int open_contents(MPI_Datatype type, struct contents *c)
{
    MPI_Count n_int, n_a, n_large = 0;
#if MPI_VERSION >= 4
    int rc = PMPI_Type_get_envelope_c(type, &n_int, &n_a, &n_large, &c->n_d, &c->combiner);
#else
    int n[3] = { 0 }, rc = PMPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &c->combiner);
    n_int = n[0];
    n_a = n[1];
    c->n_d = n[2];
#endif
    if (rc != MPI_SUCCESS || is_named(c->combiner)) {
        return rc;
    }
    int *ints = malloc(((size_t)n_int + 1) * sizeof *ints);
    MPI_Count *large = malloc(((size_t)n_large + 1) * sizeof *large);
    c->i = malloc((size_t)(n_int + n_large + 1) * sizeof *c->i);
    c->a = malloc((size_t)(n_a + n_large + 1) * sizeof *c->a);
    c->d = malloc((size_t)(c->n_d + 1) * sizeof *c->d);
    rc = ints == NULL || large == NULL || c->i == NULL || c->a == NULL || c->d == NULL
             ? MPI_ERR_NO_MEM
             : MPI_SUCCESS;
    if (rc == MPI_SUCCESS) {
#if MPI_VERSION >= 4
        rc = PMPI_Type_get_contents_c(type, n_int, n_a, n_large, c->n_d, ints, c->a, large, c->d);
#else
        rc = PMPI_Type_get_contents(type, (int)n_int, (int)n_a, (int)c->n_d, ints, c->a, c->d);
#endif
    }
    if (rc != MPI_SUCCESS) {
        c->n_d = 0;
    } else if (n_large == 0) {
        for (c->n_i = 0; c->n_i < n_int; c->n_i++) {
            c->i[c->n_i] = ints[c->n_i];
        }
    } else {
#if MPI_VERSION >= 4
        arrange(c, ints, n_int, large, n_large);
#endif
    }
    free(ints);
    free(large);
    return rc;
}

static int make(MPI_Datatype type, bool is_whole, struct shim_layout *l)
{
    struct contents c = { 0 };
    struct pli_region_elem e;
    MPI_Aint lb;
    MPI_Count size;
    *l = (struct shim_layout){ .elem = MPI_DATATYPE_NULL, .is_whole = is_whole };
    int rc = open_contents(type, &c);
    rc = rc == MPI_SUCCESS ? PMPI_Type_get_extent(type, &lb, &l->extent) : rc;
    rc = rc == MPI_SUCCESS ? PMPI_Type_size_x(type, &size) : rc;
    if (rc == MPI_SUCCESS && is_named(c.combiner)) {
        l->elem = type;
        if (!pli_shim_layout_elem(type, &e) || is_whole || e.first == e.size) {
            rc = emit(l, 0, (size_t)size);
        } else {
            rc = emit(l, 0, e.first);
            rc = rc == MPI_SUCCESS ? emit(l, e.second, (size_t)e.size - e.first) : rc;
        }
    } else if (rc == MPI_SUCCESS) {
        rc = derive(&c, l);
    }
    close_contents(&c);
    for (size_t k = 0; k < l->n_run; k++) {
        l->size += l->run[k].len;
    }
    l->is_dense = l->n_run == 1 && (MPI_Aint)l->size == l->extent;
    return rc;
}

static int forget(MPI_Datatype type, int key, void *value, void *extra)
{
    struct shim_layout *l = value;
    (void)type;
    (void)key;
    (void)extra;
    free(l->run);
    free(l);
    return MPI_SUCCESS;
}

int pli_shim_layout_find(MPI_Datatype type, const struct shim_layout **out)
{
    int flag = 0, rc = MPI_SUCCESS;
    struct shim_layout *l;
    if (type == MPI_DATATYPE_NULL) {
        return MPI_ERR_TYPE;
    }
    if (keyval == MPI_KEYVAL_INVALID) {
        rc = PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &keyval, NULL);
    }
    if (rc == MPI_SUCCESS) {
        rc = PMPI_Type_get_attr(type, keyval, &l, &flag);
    }
    if (rc != MPI_SUCCESS || flag != 0) {
        *out = l;
        return rc;
    }
    l = malloc(sizeof *l);
    rc = l == NULL ? MPI_ERR_NO_MEM : make(type, false, l);
    rc = rc == MPI_SUCCESS ? PMPI_Type_set_attr(type, keyval, l) : rc;
    if (rc != MPI_SUCCESS && l != NULL) {
        free(l->run);
        free(l);
    }
    *out = l;
    return rc;
}

int pli_shim_layout_whole(MPI_Datatype type, struct shim_layout *out)
{
    int rc = make(type, true, out);
    if (rc != MPI_SUCCESS) {
        free(out->run);
        out->run = NULL;
    }
    return rc;
}

void pli_shim_layout_start(struct shim_walk *w, const struct shim_layout *l, MPI_Aint at,
                           MPI_Count count, size_t unit, uint64_t bytes)
{
    *w = (struct shim_walk){ .layout = l,
                             .at = at,
                             .n_left = l->size == 0 ? 0 : (uint64_t)count,
                             .unit = unit,
                             .left = bytes };
}

void pli_shim_layout_gather(const struct shim_layout *l, const void *buf, MPI_Count count,
                            unsigned char *out)
{
    const char *from = buf;
    for (MPI_Count i = 0; i < (l->is_dense ? count > 0 : count); i++, from += l->extent) {
        for (size_t k = 0; k < l->n_run; k++) {
            size_t len = l->is_dense ? l->size * (size_t)count : l->run[k].len;
            memcpy(out, from + l->run[k].at, len);
            out += len;
        }
    }
}

void pli_shim_layout_scatter(const struct shim_layout *l, const unsigned char *in, size_t len,
                             void *buf)
{
    char *to = buf;
    for (; len > 0 && l->size > 0; to += l->extent) {
        for (size_t k = 0; k < l->n_run && len > 0; k++) {
            size_t n = l->is_dense || l->run[k].len > len ? len : l->run[k].len;
            memcpy(to + l->run[k].at, in, n);
            in += n;
            len -= n;
        }
    }
}

size_t pli_shim_layout_next(struct shim_walk *w, struct pli_region_block *blocks, int *n_out)
{
    const struct shim_layout *l = w->layout;
    size_t bytes = 0;
    *n_out = 0;
    while (w->n_left > 0 && w->left > 0) {
        // elements side by side are one long run
        uint64_t whole = l->is_dense ? l->size * w->n_left : l->run[w->run].len;
        uint64_t left = whole - w->done, room = PLI_REGION_ROOM - bytes;
        left = left < w->left ? left : w->left;
        uint64_t len = (left < room ? left : room) / w->unit * w->unit;
        if (len == 0 || !pli_region_block_add(blocks, n_out, PLI_REGION_N_BLOCK,
                                              w->at + l->run[w->run].at + (MPI_Aint)w->done, len)) {
            break;
        }
        bytes += len;
        w->done += len;
        w->left -= len;
        if (w->done < whole) {
            continue;
        }
        w->done = 0;
        if (l->is_dense) {
            w->n_left = 0;
        } else if (++w->run == l->n_run) {
            w->run = 0;
            w->at += l->extent;
            w->n_left--;
        }
    }
    return bytes;
}
