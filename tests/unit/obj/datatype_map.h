// SPDX-License-Identifier: BSD-3-Clause
// A plain model of datatypes for the tests: the type map written out element by element, straight
// from the standard's definitions.
#ifndef PLI_TESTS_DATATYPE_MAP_H
#define PLI_TESTS_DATATYPE_MAP_H

#include "obj/datatype.h"
#include "obj/handle.h"
#include "obj/type_calls.h"
#include "t.h"

#include <stdbool.h>
#include <stdint.h>

enum { MODEL_MAX = 3000, MODEL_ALL = 64 };

struct entry {
    int64_t disp;
    int size, align;
};

struct map {
    int n;
    bool has_bounds;
    int64_t lb, ub; // set ones
    struct entry e[MODEL_MAX];
};

// A type in both worlds.
struct model {
    struct pli_datatype *type;
    struct map *map;
};

static uint64_t seed = 1;

static uint32_t rnd(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return below == 0 ? 0 : (uint32_t)(seed >> 33) % below;
}

static int64_t between(int lo, int hi)
{
    return lo + (int)rnd((uint32_t)(hi - lo + 1));
}

static int64_t map_true_lb(const struct map *m)
{
    int64_t v = 0;
    for (int i = 0; i < m->n; i++) {
        v = i == 0 || m->e[i].disp < v ? m->e[i].disp : v;
    }
    return v;
}

static int64_t map_true_ub(const struct map *m)
{
    int64_t v = 0;
    for (int i = 0; i < m->n; i++) {
        int64_t end = m->e[i].disp + m->e[i].size;
        v = i == 0 || end > v ? end : v;
    }
    return v;
}

static int64_t map_lb(const struct map *m)
{
    return m->has_bounds ? m->lb : map_true_lb(m);
}

// The upper bound with the padding that alignment asks for. [MPI-5.0 5.1.6]
static int64_t map_extent(const struct map *m)
{
    int64_t align = 1, span = map_true_ub(m) - map_true_lb(m);
    for (int i = 0; i < m->n; i++) {
        align = m->e[i].align > align ? m->e[i].align : align;
    }
    return m->has_bounds ? m->ub - m->lb : (span + align - 1) / align * align;
}

static int64_t map_size(const struct map *m)
{
    int64_t v = 0;
    for (int i = 0; i < m->n; i++) {
        v += m->e[i].size;
    }
    return v;
}

// Append one element of `from`, moved by disp; false when the map is full.
static bool map_add(struct map *to, const struct map *from, int64_t disp)
{
    if (to->n + from->n > MODEL_MAX) {
        return false;
    }
    for (int i = 0; i < from->n; i++) {
        to->e[to->n] = from->e[i];
        to->e[to->n++].disp += disp;
    }
    if (from->has_bounds) {
        int64_t lb = from->lb + disp, ub = from->ub + disp;
        to->lb = to->has_bounds && to->lb < lb ? to->lb : lb;
        to->ub = to->has_bounds && to->ub > ub ? to->ub : ub;
        to->has_bounds = true;
    }
    return true;
}

static bool map_add_many(struct map *to, const struct map *from, int64_t disp, int64_t n)
{
    bool fits = true;
    int64_t ext = map_extent(from);
    for (int64_t i = 0; i < n && fits; i++) {
        fits = map_add(to, from, disp + i * ext);
    }
    return fits;
}

static struct map *map_new(void)
{
    struct map *m = calloc(1, sizeof *m);
    T_MUST(m != NULL);
    return m;
}

#endif
