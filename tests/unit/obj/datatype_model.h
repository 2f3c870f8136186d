// SPDX-License-Identifier: BSD-3-Clause
// A type and its map side by side: the predefined ones, and what an array constructor makes.
#ifndef PLI_TESTS_DATATYPE_MODEL_H
#define PLI_TESTS_DATATYPE_MODEL_H

#include "datatype_map.h"

static const MPI_Datatype model_basics[] = { MPI_BYTE,        MPI_CHAR,
                                             MPI_SHORT,       MPI_INT,
                                             MPI_DOUBLE,      MPI_C_DOUBLE_COMPLEX,
                                             MPI_SHORT_INT,   MPI_LONG_INT,
                                             MPI_LONG_DOUBLE, MPI_LONG_DOUBLE_INT };

static struct model model_basic(MPI_Datatype handle)
{
    struct model b = { pli_datatype_basic(handle), map_new() };
    int align = b.type->align;
    if (handle == MPI_SHORT_INT || handle == MPI_LONG_INT || handle == MPI_LONG_DOUBLE_INT) {
        int value = (int)b.type->size - 4;
        b.map->n = 2;
        b.map->e[0] = (struct entry){ 0, value, align };
        b.map->e[1] = (struct entry){ value < 4 ? 4 : value, 4, 4 };
    } else {
        b.map->n = 1;
        b.map->e[0] = (struct entry){ 0, (int)b.type->size, align };
    }
    return b;
}

static void model_drop(struct model *m)
{
    if (m->type != NULL && m->type->obj.value == 0) {
        pli_datatype_release(m->type);
    }
    free(m->map);
    *m = (struct model){ 0 };
}

static struct model model_make(int depth);

// The old type becomes part of the new one and is let go.
static struct model model_done(struct model *old, struct map *map, struct pli_datatype *t,
                               bool fits)
{
    struct model out = { t, map };
    T_MUST(t != NULL);
    if (!fits) { // too large to write out: use the old one
        model_drop(&out);
        return *old;
    }
    model_drop(old);
    return out;
}

static struct model make_subarray(struct model old)
{
    int nd = 1 + (int)rnd(3), sizes[3], subs[3], starts[3];
    int order = rnd(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    struct map *m = map_new();
    struct pli_datatype *t = NULL;
    int64_t total = 1, ext = map_extent(old.map);
    bool fits = true;
    for (int i = 0; i < nd; i++) {
        sizes[i] = (int)between(1, 5);
        subs[i] = (int)between(1, sizes[i]);
        starts[i] = (int)between(0, sizes[i] - subs[i]);
        total *= sizes[i];
    }
    // All places of the array in memory order; keep those inside the block.
    for (int64_t at = 0; at < total && fits; at++) {
        int64_t left = at;
        bool is_in = true;
        for (int k = 0; k < nd; k++) {
            int d = order == MPI_ORDER_C ? nd - 1 - k : k;
            int64_t x = left % sizes[d];
            left /= sizes[d];
            is_in = is_in && x >= starts[d] && x < starts[d] + subs[d];
        }
        fits = !is_in || map_add(m, old.map, at * ext);
    }
    m->has_bounds = true;
    m->lb = 0;
    m->ub = total * ext;
    T_EQ(pli_type_subarray(nd, (struct pli_ints){ sizes, false }, (struct pli_ints){ subs, false },
                           (struct pli_ints){ starts, false }, order, old.type, &t),
         0);
    return model_done(&old, m, t, fits);
}

static struct model make_darray(struct model old)
{
    int nd = 1 + (int)rnd(3), psizes[3], distribs[3], dargs[3], size = 1, coords[3];
    int64_t gsizes[3], blocks[3], total = 1, ext = map_extent(old.map);
    int order = rnd(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    struct map *m = map_new();
    struct pli_datatype *t = NULL;
    bool fits = true;
    for (int i = 0; i < nd; i++) {
        int kind = (int)rnd(3);
        gsizes[i] = between(1, 9);
        psizes[i] = kind == 0 ? 1 : (int)between(1, 3);
        distribs[i] = kind == 0   ? MPI_DISTRIBUTE_NONE
                      : kind == 1 ? MPI_DISTRIBUTE_BLOCK
                                  : MPI_DISTRIBUTE_CYCLIC;
        blocks[i] = kind == 0   ? gsizes[i]
                    : kind == 1 ? (gsizes[i] + psizes[i] - 1) / psizes[i] + between(0, 2)
                                : between(1, 3);
        dargs[i] = (int)blocks[i];
        if (rnd(2) == 0) {
            dargs[i] = MPI_DISTRIBUTE_DFLT_DARG;
            blocks[i] = kind == 0   ? gsizes[i]
                        : kind == 1 ? (gsizes[i] + psizes[i] - 1) / psizes[i]
                                    : 1;
        }
        size *= psizes[i];
        total *= gsizes[i];
    }
    int rank = (int)rnd((uint32_t)size), rest = rank;
    for (int i = nd - 1; i >= 0; i--) {
        coords[i] = rest % psizes[i];
        rest /= psizes[i];
    }
    for (int64_t at = 0; at < total && fits; at++) {
        int64_t left = at;
        bool is_mine = true;
        for (int k = 0; k < nd; k++) {
            int d = order == MPI_ORDER_C ? nd - 1 - k : k;
            is_mine = is_mine && left % gsizes[d] / blocks[d] % psizes[d] == coords[d];
            left /= gsizes[d];
        }
        fits = !is_mine || map_add(m, old.map, at * ext);
    }
    m->has_bounds = true;
    m->lb = 0;
    m->ub = total * ext;
    T_EQ(pli_type_darray(size, rank, nd, (struct pli_ints){ gsizes, true }, distribs, dargs, psizes,
                         order, old.type, &t),
         0);
    return model_done(&old, m, t, fits);
}

#endif
