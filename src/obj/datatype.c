// SPDX-License-Identifier: BSD-3-Clause
// Predefined datatypes; creates and destroys all others.
#include "obj/datatype.h"
#include "base/cpu.h"

#include "obj/attr.h"
#include "obj/datatype_priv.h"
#include "obj/handle_predefined.h"
#include "obj/type_calls.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct complex4 {
    pli_f16 re, im;
};
struct complex32 {
    pli_f128 re, im;
};

#define ALIGN_OF(type)                                                                             \
    (int)offsetof(                                                                                 \
        struct {                                                                                   \
            char c;                                                                                \
            type x;                                                                                \
        },                                                                                         \
        x)

static const struct basic_row {
    MPI_Datatype handle;
    const char *name;
    uint8_t family, number, size, align, ext;
} basic_rows[] = {
#define PLI_BASIC(name, type, family, number, ext)                                                 \
    { MPI_##name, "MPI_" #name, PLI_FAMILY_##family, number, sizeof(type), ALIGN_OF(type), ext },
#include "obj/datatype_basic.def"
};

static const struct pair_row {
    MPI_Datatype handle;
    const char *name;
    uint8_t number, index;
    uint8_t value_len, index_len, index_at, extent, align, ext;
} pair_rows[] = {
#define PLI_SENDRECV_OF(value, index)                                                              \
    struct {                                                                                       \
        value v;                                                                                   \
        index i;                                                                                   \
    }
#define PLI_SENDRECV(name, value, value_number, value_ext, index, index_number, index_ext)         \
    { MPI_##name,                                                                                  \
      "MPI_" #name,                                                                                \
      value_number,                                                                                \
      index_number,                                                                                \
      sizeof(value),                                                                               \
      sizeof(index),                                                                               \
      offsetof(PLI_SENDRECV_OF(value, index), i),                                                  \
      sizeof(PLI_SENDRECV_OF(value, index)),                                                       \
      ALIGN_OF(PLI_SENDRECV_OF(value, index)),                                                     \
      value_ext + index_ext },
#include "obj/datatype_basic.def"
};

// Datatypes without data that MPI 1 had to mark a bound with.
static const struct {
    MPI_Datatype handle;
    const char *name;
    bool has_lb, has_ub;
} marker_rows[] = { { MPI_LB, "MPI_LB", true, false }, { MPI_UB, "MPI_UB", false, true } };

enum {
    N_MARKER = sizeof marker_rows / sizeof marker_rows[0],
    N_BASIC = sizeof basic_rows / sizeof basic_rows[0],
    N_PAIR = sizeof pair_rows / sizeof pair_rows[0]
};

_Static_assert(PLI_N_FORM == N_BASIC + N_PAIR + 1 && PLI_N_FORM <= UINT8_MAX, "a byte each");

static struct pli_datatype predefined[N_BASIC + N_PAIR + N_MARKER];
static struct pli_datatype mixed_bytes;
static struct pli_type_node predefined_nodes[N_BASIC + N_PAIR];
static MPI_Count pair_places[N_PAIR][5]; // two displacements, three starts

static int value_of(MPI_Datatype handle)
{
    return (int)(uintptr_t)handle;
}

static void init_basic(const struct basic_row *row, struct pli_datatype *t,
                       struct pli_type_node *node)
{
    *node = (struct pli_type_node){
        .kind = PLI_NODE_RUN, .size = row->size, .len = row->size, .n = 1, .runs = 1
    };
    bool is_long = row->handle == MPI_LONG || row->handle == MPI_UNSIGNED_LONG;
    *t = (struct pli_datatype){ .size = row->size,
                                .extent = row->size,
                                .true_extent = row->size,
                                .is_committed = true,
                                .is_dense = true,
                                .is_run = true,
                                .form = (uint8_t)(t - predefined + 1),
                                .family = row->family,
                                .number = row->number,
                                .align = row->align,
                                .elem = t,
                                .n_elem = 1,
                                .ext_size = row->ext,
                                .long8_size = is_long ? sizeof(int64_t) : row->ext,
                                .plan = node,
                                .name = (char *)row->name };
    pli_handle_predefine(&t->obj, PLI_KIND_DATATYPE, value_of(row->handle));
}

static void init_pair(const struct pair_row *row, struct pli_datatype *t,
                      struct pli_type_node *node, MPI_Count *places)
{
    MPI_Count size = row->value_len + row->index_len;
    bool is_run = row->index_at == row->value_len;
    if (is_run) {
        *node = (struct pli_type_node){
            .kind = PLI_NODE_RUN, .size = size, .len = size, .n = 1, .runs = 1
        };
    } else {
        memcpy(places, (MPI_Count[5]){ 0, row->index_at, 0, row->value_len, size },
               5 * sizeof places[0]);
        *node = (struct pli_type_node){ .kind = PLI_NODE_BLOCKS,
                                        .size = size,
                                        .n = 2,
                                        .runs = 2,
                                        .disps = places,
                                        .starts = places + 2 };
    }
    *t = (struct pli_datatype){ .size = size,
                                .extent = row->extent,
                                .true_extent = row->index_at + row->index_len,
                                .is_committed = true,
                                .is_dense = is_run && size == row->extent,
                                .is_run = is_run,
                                .form = (uint8_t)(t - predefined + 1),
                                .family = PLI_FAMILY_PAIR,
                                .number = row->number,
                                .index = row->index,
                                .align = row->align,
                                .elem = t,
                                .n_elem = 2,
                                .ext_size = row->ext,
                                .long8_size = row->ext + (row->handle == MPI_LONG_INT ? 4 : 0),
                                .plan = node,
                                .name = (char *)row->name };
    pli_handle_predefine(&t->obj, PLI_KIND_DATATYPE, value_of(row->handle));
}

static void init_marker(int i, struct pli_datatype *t)
{
    *t = (struct pli_datatype){ .is_committed = true,
                                .is_dense = true,
                                .is_run = true,
                                .has_lb = marker_rows[i].has_lb,
                                .has_ub = marker_rows[i].has_ub,
                                .align = 1,
                                .name = (char *)marker_rows[i].name };
    pli_handle_predefine(&t->obj, PLI_KIND_DATATYPE, value_of(marker_rows[i].handle));
}

static const char *row_name(int i)
{
    return i < N_BASIC            ? basic_rows[i].name
           : i < N_BASIC + N_PAIR ? pair_rows[i - N_BASIC].name
                                  : marker_rows[i - N_BASIC - N_PAIR].name;
}

PLI_START void pli_datatype_init(void)
{
    pli_attr_keep(PLI_KIND_DATATYPE, offsetof(struct pli_datatype, attrs));
    for (int i = 0; i < N_BASIC; i++) {
        init_basic(&basic_rows[i], &predefined[i], &predefined_nodes[i]);
    }
    for (int i = 0; i < N_PAIR; i++) {
        int at = N_BASIC + i;
        init_pair(&pair_rows[i], &predefined[at], &predefined_nodes[at], pair_places[i]);
    }
    for (int i = 0; i < N_MARKER; i++) {
        init_marker(i, &predefined[N_BASIC + N_PAIR + i]);
    }
    mixed_bytes = predefined[PLI_FORM_BYTE - 1];
    mixed_bytes.form = PLI_FORM_MIXED;
}

void pli_datatype_fini(void)
{
    for (int i = 0; i < N_BASIC + N_PAIR + N_MARKER; i++) {
        if (predefined[i].name != row_name(i)) {
            free(predefined[i].name);
            predefined[i].name = (char *)row_name(i);
        }
    }
}

struct pli_datatype *pli_datatype_basic(MPI_Datatype handle)
{
    return pli_handle_get(handle, PLI_KIND_DATATYPE);
}

struct pli_datatype *pli_datatype_mixed_bytes(void)
{
    return &mixed_bytes;
}

struct pli_datatype *pli_datatype_of_form(uint8_t form)
{
    return form > PLI_FORM_MIXED && form < PLI_N_FORM ? &predefined[form - 1] : NULL;
}

struct pli_datatype *pli_datatype_create(int combiner, bool is_large, MPI_Count n_int,
                                         MPI_Count n_addr, MPI_Count n_count, MPI_Count n_type)
{
    struct pli_datatype *t = pli_handle_create(PLI_KIND_DATATYPE, sizeof *t);
    struct pli_type_recipe *r = NULL;
    size_t words = (size_t)n_addr + (size_t)n_count + (size_t)n_type;
    if (t != NULL) {
        r = calloc(1, sizeof *r + words * 8 + (size_t)n_int * sizeof(int));
    }
    if (r == NULL) {
        pli_handle_destroy(t, sizeof *t);
        pli_fail(PLI_ERR_NOMEM, "no memory for a datatype described by %lld numbers",
                 (long long)(n_int + n_addr + n_count + n_type));
        return NULL;
    }
    r->combiner = combiner;
    r->is_large = is_large;
    r->n_int = n_int;
    r->n_addr = n_addr;
    r->n_count = n_count;
    r->n_type = n_type;
    r->types = (struct pli_datatype **)(r + 1);
    r->addrs = (MPI_Aint *)(r->types + n_type);
    r->counts = (MPI_Count *)(r->addrs + n_addr);
    r->ints = (int *)(r->counts + n_count);
    t->recipe = r;
    return t;
}

void pli_datatype_keep(struct pli_datatype *owner, MPI_Count i, struct pli_datatype *t)
{
    owner->recipe->types[i] = pli_datatype_retain(t);
}

// The predefined ones are not counted: every message would fight for their cache lines.
struct pli_datatype *pli_datatype_retain(struct pli_datatype *t)
{
    if (t->obj.value == 0) {
        pli_handle_retain(t);
    }
    return t;
}

// Drop one reference; a type without references goes on the chain, through its name.
static void drop(struct pli_datatype *t, struct pli_datatype **chain)
{
    if (t != NULL && t->obj.value == 0 && pli_handle_release(t)) {
        free(t->name);
        t->name = (char *)*chain;
        *chain = t;
    }
}

// A loop and not a recursion: types may be derived from each other many thousand times.
void pli_datatype_release(struct pli_datatype *t)
{
    struct pli_datatype *chain = NULL;
    drop(t, &chain);
    while (chain != NULL) {
        struct pli_datatype *gone = chain;
        struct pli_type_recipe *r = gone->recipe;
        chain = (struct pli_datatype *)gone->name;
        for (MPI_Count i = 0; i < r->n_type; i++) {
            drop(r->types[i], &chain);
        }
        drop(r->inner, &chain);
        pli_attr_forget_all(&gone->obj);
        pli_type_plan_free(gone->nodes);
        free(r);
        pli_attr_forget_all(&gone->obj);
        pli_handle_destroy(gone, sizeof *gone);
    }
}

void pli_datatype_rename(struct pli_datatype *t, char *name)
{
    if (t->obj.value == 0 || t->name != row_name((int)(t - predefined))) {
        free(t->name);
    }
    t->name = name;
}

static const char *combiner_name(int combiner)
{
    static const char *const names[] = {
        "NAMED",    "DUP",           "CONTIGUOUS",     "VECTOR",  "HVECTOR",    "INDEXED",
        "HINDEXED", "INDEXED_BLOCK", "HINDEXED_BLOCK", "STRUCT",  "SUBARRAY",   "DARRAY",
        "F90_REAL", "F90_COMPLEX",   "F90_INTEGER",    "RESIZED", "VALUE_INDEX"
    };
    return names[combiner - MPI_COMBINER_NAMED];
}

const char *pli_datatype_label(const struct pli_datatype *t)
{
    static _Thread_local char text[2][64 + MPI_MAX_OBJECT_NAME];
    static _Thread_local int turn;
    turn ^= 1;
    if (t->name != NULL) {
        snprintf(text[turn], sizeof text[turn], "%s", t->name);
    } else {
        snprintf(text[turn], sizeof text[turn], "a derived datatype (%s) of %lld bytes",
                 combiner_name(t->recipe->combiner), (long long)t->size);
    }
    return text[turn];
}
