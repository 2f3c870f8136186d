// SPDX-License-Identifier: BSD-3-Clause
// Random nested types, made by the library and written out as maps.
#ifndef PLI_TESTS_DATATYPE_RANDOM_H
#define PLI_TESTS_DATATYPE_RANDOM_H

#include "datatype_model.h"

static struct model make_vector(struct model old, bool in_bytes, bool is_large)
{
    int64_t n = between(0, 6), len = between(0, 4), stride = between(-6, 8);
    struct map *m = map_new();
    struct pli_datatype *t = NULL;
    int64_t ext = map_extent(old.map), step = in_bytes ? stride * 8 : stride * ext;
    bool fits = true;
    for (int64_t i = 0; i < n && fits; i++) {
        fits = map_add_many(m, old.map, i * step, len);
    }
    if (in_bytes) {
        T_EQ((is_large ? pli_type_hvector_large : pli_type_hvector)(n, len, step, old.type, &t), 0);
    } else {
        T_EQ((is_large ? pli_type_vector_large : pli_type_vector)(n, len, stride, old.type, &t), 0);
    }
    return model_done(&old, m, t, fits);
}

static struct model make_contiguous(struct model old)
{
    int64_t n = between(0, 5);
    struct map *m = map_new();
    struct pli_datatype *t = NULL;
    bool fits = map_add_many(m, old.map, 0, n);
    T_EQ(pli_type_contiguous(n, old.type, &t), 0);
    return model_done(&old, m, t, fits);
}

static struct model make_resized(struct model old)
{
    struct map *m = map_new();
    struct pli_datatype *t = NULL;
    int64_t lb = between(-20, 20), extent = map_extent(old.map) + between(-8, 40);
    map_add(m, old.map, 0);
    m->has_bounds = true;
    m->lb = lb;
    m->ub = lb + extent;
    T_EQ(pli_type_resized(old.type, lb, extent, &t), 0);
    return model_done(&old, m, t, true);
}

// Lists: kind 0 indexed, 1 hindexed, 2 indexed_block, 3 hindexed_block.
static struct model make_list(struct model old, int kind)
{
    int n = (int)between(0, 7), lens[8];
    int64_t wide_lens[8], wide[8], len = between(0, 3);
    MPI_Aint bytes[8];
    int small[8];
    struct map *m = map_new();
    struct pli_datatype *t = NULL;
    int64_t ext = map_extent(old.map), place = between(-10, 10);
    bool fits = true, is_large = rnd(3) == 0, in_bytes = kind == 1 || kind == 3;
    bool is_regular = rnd(3) == 0; // so that patterns are found
    for (int i = 0; i < n; i++) {
        lens[i] = (int)(wide_lens[i] = is_regular ? 2 : between(0, 3));
        place += is_regular ? 5 : between(-3, 6);
        small[i] = (int)(wide[i] = in_bytes ? place * 4 : place);
        bytes[i] = wide[i];
        fits = fits && map_add_many(m, old.map, in_bytes ? wide[i] : wide[i] * ext,
                                    kind < 2 ? lens[i] : len);
    }
    struct pli_ints l = { is_large ? (void *)wide_lens : (void *)lens, is_large };
    struct pli_ints d = { is_large || in_bytes ? (in_bytes ? (void *)bytes : (void *)wide)
                                               : (void *)small,
                          is_large || in_bytes };
    switch (kind) {
    case 0:
        T_EQ(pli_type_indexed(n, l, d, old.type, &t), 0);
        break;
    case 1:
        T_EQ(pli_type_hindexed(n, l, d, old.type, &t), 0);
        break;
    case 2:
        T_EQ(pli_type_indexed_block(n, len, d, old.type, &t), 0);
        break;
    default:
        T_EQ((is_large ? pli_type_hindexed_block_large : pli_type_hindexed_block)(n, len, d,
                                                                                  old.type, &t),
             0);
    }
    return model_done(&old, m, t, fits);
}

static struct model make_struct(struct model old, int depth)
{
    struct model parts[4] = { old };
    int n = 1 + (int)rnd(4), lens[4];
    MPI_Aint places[4];
    MPI_Datatype handles[4];
    struct map *m = map_new();
    struct pli_datatype *t = NULL;
    int64_t place = between(-16, 16);
    bool fits = true;
    for (int i = 0; i < n; i++) {
        if (i > 0) {
            parts[i] = model_make(depth - 1);
        }
        lens[i] = (int)between(0, 3);
        places[i] = place;
        handles[i] = pli_handle_of(parts[i].type, PLI_KIND_DATATYPE);
        fits = fits && map_add_many(m, parts[i].map, place, lens[i]);
        place += between(0, 3) == 0 ? between(-30, 60)
                                    : lens[i] * map_extent(parts[i].map); // often adjacent
    }
    T_EQ(pli_type_struct(n, (struct pli_ints){ lens, false }, (struct pli_ints){ places, true },
                         handles, &t),
         0);
    for (int i = 1; i < n; i++) {
        model_drop(&parts[i]);
    }
    return model_done(&old, m, t, fits);
}

static struct model make_dup(struct model old)
{
    struct map *m = map_new();
    struct pli_datatype *t = NULL;
    bool fits = map_add(m, old.map, 0);
    T_EQ(pli_type_dup(old.type, &t), 0);
    return model_done(&old, m, t, fits);
}

// A random type of at most this many levels. The caller drops it.
static struct model model_make(int depth)
{
    uint32_t n = sizeof model_basics / sizeof model_basics[0];
    if (depth == 0 || rnd(8) == 0) {
        return model_basic(model_basics[rnd(n)]);
    }
    struct model old = model_make(depth - 1);
    switch (rnd(12)) {
    case 0:
        return make_vector(old, false, false);
    case 1:
        return make_vector(old, true, false);
    case 2:
        return make_vector(old, rnd(2) == 0, true);
    case 3:
        return make_contiguous(old);
    case 4:
        return make_resized(old);
    case 5:
    case 6:
        return make_list(old, (int)rnd(4));
    case 7:
    case 8:
        return make_struct(old, depth);
    case 9:
        return make_subarray(old);
    case 10:
        return make_darray(old);
    default:
        return make_dup(old);
    }
}

#endif
