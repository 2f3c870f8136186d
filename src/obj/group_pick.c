// SPDX-License-Identifier: BSD-3-Clause
// Choosing members by rank: lists and ranges, taken in or left out.
#include "obj/group_pick.h"

#include "obj/group_build.h"

#include <stdlib.h>
#include <string.h>

// Which ranks of a group were named: a bit each.
struct marks {
    uint64_t *words;
};

static enum pli_err marks_init(struct marks *m, const struct pli_group *g)
{
    m->words = calloc((size_t)g->size / 64 + 1, sizeof *m->words);
    return m->words != NULL ? PLI_OK
                            : pli_fail(PLI_ERR_NOMEM, "no memory to mark %d ranks", g->size);
}

// False: it was marked already.
static bool mark(struct marks *m, int rank)
{
    uint64_t bit = (uint64_t)1 << (rank % 64);
    bool is_new = (m->words[rank / 64] & bit) == 0;
    m->words[rank / 64] |= bit;
    return is_new;
}

static enum pli_err bad_rank(const struct pli_group *g, const char *what, int i, long long rank)
{
    if (g->size == 0) {
        return pli_fail(PLI_ERR_RANK, "%s %d names rank %lld, but the group is empty", what, i,
                        rank);
    }
    return pli_fail(PLI_ERR_RANK, "%s %d names rank %lld, but the group has %d ranks: 0 to %d",
                    what, i, rank, g->size, g->size - 1);
}

// Check a list and mark its ranks.
static enum pli_err mark_list(struct marks *m, const struct pli_group *g, int n, const int ranks[])
{
    if (n > 0 && ranks == NULL) {
        return pli_fail(PLI_ERR_ARG, "argument ranks is NULL, but n is %d", n);
    }
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= g->size) {
            return bad_rank(g, "element", i, ranks[i]);
        }
        if (!mark(m, ranks[i])) {
            return pli_fail(PLI_ERR_RANK, "element %d names rank %d, which was named before", i,
                            ranks[i]);
        }
    }
    return PLI_OK;
}

// How many ranks a range has, after a check of its form; 0: bad, and the reason is noted.
static int64_t range_count(const struct pli_group *g, int i, const int range[3], enum pli_err *err)
{
    int64_t first = range[0], last = range[1], stride = range[2];
    if (stride == 0) {
        *err = pli_fail(PLI_ERR_ARG, "range %d (%lld, %lld, 0) has stride 0", i, (long long)first,
                        (long long)last);
        return 0;
    }
    if ((stride > 0 && first > last) || (stride < 0 && first < last)) {
        *err = pli_fail(PLI_ERR_ARG, "range %d (%lld, %lld, %lld) never gets from first to last", i,
                        (long long)first, (long long)last, (long long)stride);
        return 0;
    }
    int64_t n = (last - first) / stride + 1, end = first + (n - 1) * stride;
    if (first < 0 || first >= g->size || end < 0 || end >= g->size) {
        *err = bad_rank(g, "range", i, first < 0 || first >= g->size ? first : end);
        return 0;
    }
    return n;
}

// Check all ranges; mark their ranks when m is given.
static enum pli_err mark_ranges(struct marks *m, const struct pli_group *g, int n, int ranges[][3])
{
    enum pli_err err = PLI_OK;
    if (n > 0 && ranges == NULL) {
        return pli_fail(PLI_ERR_ARG, "argument ranges is NULL, but n is %d", n);
    }
    for (int i = 0; i < n; i++) {
        int64_t count = range_count(g, i, ranges[i], &err);
        if (count == 0) {
            return err;
        }
        for (int64_t k = 0; m != NULL && k < count; k++) {
            int rank = (int)(ranges[i][0] + k * ranges[i][2]);
            if (!mark(m, rank)) {
                return pli_fail(PLI_ERR_RANK, "range %d names rank %d, which was named before", i,
                                rank);
            }
        }
    }
    return PLI_OK;
}

// The group of the ranks that are not marked.
static enum pli_err finish_unmarked(const struct marks *m, struct pli_group *g,
                                    struct pli_group **out)
{
    struct pli_group_build b;
    int from = 0;
    pli_group_build_init(&b);
    for (int at = 0; at < g->size;) {
        uint64_t left = m->words[at / 64] >> (at % 64);
        if (left == 0) {
            at = (at / 64 + 1) * 64;
            continue;
        }
        at += __builtin_ctzll(left);
        pli_group_build_add_part(&b, g, from, 1, at - from);
        from = ++at;
    }
    pli_group_build_add_part(&b, g, from, 1, g->size - from);
    return pli_group_build_finish(&b, g->session, g->me, out);
}

enum pli_err pli_group_pick_incl(struct pli_group *g, int n, const int ranks[],
                                 struct pli_group **out)
{
    struct pli_group_build b;
    struct marks m;
    enum pli_err err = marks_init(&m, g);
    if (err == PLI_OK) {
        err = mark_list(&m, g, n, ranks);
    }
    free(m.words);
    if (err != PLI_OK) {
        return err;
    }
    pli_group_build_init(&b);
    for (int i = 0; i < n; i++) {
        pli_group_build_add_id(&b, pli_group_at(g, ranks[i]));
    }
    return pli_group_build_finish(&b, g->session, g->me, out);
}

enum pli_err pli_group_pick_excl(struct pli_group *g, int n, const int ranks[],
                                 struct pli_group **out)
{
    struct marks m;
    enum pli_err err = marks_init(&m, g);
    if (err == PLI_OK) {
        err = mark_list(&m, g, n, ranks);
    }
    if (err == PLI_OK) {
        err = finish_unmarked(&m, g, out);
    }
    free(m.words);
    return err;
}

enum pli_err pli_group_pick_range_incl(struct pli_group *g, int n, int ranges[][3],
                                       struct pli_group **out)
{
    struct pli_group_build b;
    struct marks m = { NULL };
    enum pli_err err = n > 1 ? marks_init(&m, g) : PLI_OK; // one range cannot repeat a rank
    if (err == PLI_OK) {
        err = mark_ranges(n > 1 ? &m : NULL, g, n, ranges);
    }
    free(m.words);
    if (err != PLI_OK) {
        return err;
    }
    pli_group_build_init(&b);
    for (int i = 0; i < n; i++) {
        int64_t count = range_count(g, i, ranges[i], &err);
        int step = count > 1 ? ranges[i][2] : 1; // a lone rank has none, and it may be huge
        pli_group_build_add_part(&b, g, ranges[i][0], step, (int)count);
    }
    return pli_group_build_finish(&b, g->session, g->me, out);
}

enum pli_err pli_group_pick_range_excl(struct pli_group *g, int n, int ranges[][3],
                                       struct pli_group **out)
{
    struct marks m;
    enum pli_err err = marks_init(&m, g);
    if (err == PLI_OK) {
        err = mark_ranges(&m, g, n, ranges);
    }
    if (err == PLI_OK) {
        err = finish_unmarked(&m, g, out);
    }
    free(m.words);
    return err;
}
