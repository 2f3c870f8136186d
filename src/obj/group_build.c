// SPDX-License-Identifier: BSD-3-Clause
// Finding runs in a list of members. Two neighbours make a run only when they differ by one, else
// three equal steps are needed: a random order then stays points instead of turning into long
// strides that cover everything and make look-up slow.
#include "obj/group_build.h"

#include "obj/group_index.h"
#include "obj/session.h"

#include <stdlib.h>
#include <string.h>

void pli_group_build_init(struct pli_group_build *b)
{
    *b = (struct pli_group_build){ 0 };
}

void pli_group_build_fini(struct pli_group_build *b)
{
    free(b->runs);
    *b = (struct pli_group_build){ 0 };
}

static bool grow(struct pli_group_build *b)
{
    int cap = b->cap == 0 ? 8 : 2 * b->cap;
    struct pli_group_run *runs = realloc(b->runs, (size_t)cap * sizeof *runs);
    if (runs == NULL) {
        b->has_failed = true;
        return false;
    }
    b->runs = runs;
    b->cap = cap;
    return true;
}

// The step from a to b; false: too far for a run.
static bool step_between(struct pli_id a, struct pli_id b, int32_t *proc_out, int32_t *ep_out)
{
    int64_t proc = (int64_t)(b.proc - a.proc);
    int64_t ep = (int64_t)b.ep - (int64_t)a.ep;
    if (proc > INT32_MAX || proc < -INT32_MAX || ep > INT32_MAX || ep < -INT32_MAX) {
        return false;
    }
    *proc_out = (int32_t)proc;
    *ep_out = (int32_t)ep;
    return true;
}

static struct pli_id member(const struct pli_group_run *r, int64_t i)
{
    return (struct pli_id){ r->first.proc + (uint64_t)(i * r->proc_step),
                            r->first.ep + (uint32_t)(i * r->ep_step) };
}

static bool is_unit(int32_t proc, int32_t ep)
{
    return (ep == 0 && (proc == 1 || proc == -1)) || (proc == 0 && (ep == 1 || ep == -1));
}

// Whether `run` goes on where `last` ends, in the same direction; merges when so.
static bool extend(struct pli_group_run *last, const struct pli_group_run *run)
{
    int32_t proc, ep;
    if (!step_between(member(last, last->n - 1), run->first, &proc, &ep)) {
        return false;
    }
    bool fits_last = last->n > 1 ? proc == last->proc_step && ep == last->ep_step : true;
    bool fits_run = run->n > 1 ? proc == run->proc_step && ep == run->ep_step : true;
    if (!fits_last || !fits_run || (last->n == 1 && run->n == 1 && !is_unit(proc, ep))) {
        return false;
    }
    last->proc_step = proc;
    last->ep_step = ep;
    last->n += run->n;
    return true;
}

// Three single members at the end that are equally far apart become one run.
static void join_singles(struct pli_group_build *b)
{
    struct pli_group_run *r = b->runs + b->n_run - 3;
    int32_t p1, e1, p2, e2;
    if (b->n_run < 3 || r[0].n != 1 || r[1].n != 1 || r[2].n != 1 ||
        !step_between(r[0].first, r[1].first, &p1, &e1) ||
        !step_between(r[1].first, r[2].first, &p2, &e2) || p1 != p2 || e1 != e2) {
        return;
    }
    r[0].proc_step = p1;
    r[0].ep_step = e1;
    r[0].n = 3;
    b->n_run -= 2;
}

void pli_group_build_add(struct pli_group_build *b, struct pli_group_run run)
{
    run.base = (int32_t)b->size;
    if (run.n == 1) {
        run.proc_step = 1; // the line a single member is looked up on
        run.ep_step = 0;
    }
    b->size += run.n;
    if (b->size > INT32_MAX) {
        return; // finish refuses
    }
    if (b->n_run > 0 && extend(&b->runs[b->n_run - 1], &run)) {
        return;
    }
    if (b->has_failed || (b->n_run == b->cap && !grow(b))) {
        return;
    }
    b->runs[b->n_run++] = run;
    if (run.n == 1) {
        join_singles(b);
    }
}

void pli_group_build_add_id(struct pli_group_build *b, struct pli_id id)
{
    pli_group_build_add(b, (struct pli_group_run){ .first = id, .n = 1 });
}

// The run of g that holds a rank.
static int run_of(const struct pli_group *g, int rank)
{
    int lo = 0, hi = g->n_run - 1;
    while (lo < hi) {
        int mid = (lo + hi + 1) / 2;
        if (g->runs[mid].base <= rank) {
            lo = mid;
        } else {
            hi = mid - 1;
        }
    }
    return lo;
}

void pli_group_build_add_part(struct pli_group_build *b, const struct pli_group *g, int first,
                              int step, int count)
{
    int at = count > 0 ? run_of(g, first) : 0;
    while (count > 0) {
        const struct pli_group_run *r = &g->runs[at];
        int64_t room = step > 0 ? (int64_t)r->base + r->n - 1 - first : first - r->base;
        int64_t in_run = room / (step > 0 ? step : -(int64_t)step) + 1;
        int n = in_run < count ? (int)in_run : count;
        int64_t proc = (int64_t)r->proc_step * step, ep = (int64_t)r->ep_step * step;
        if (proc == (int32_t)proc && ep == (int32_t)ep) {
            pli_group_build_add(b, (struct pli_group_run){ member(r, first - r->base),
                                                           (int32_t)proc, (int32_t)ep, 0, n });
        } else {
            for (int i = 0; i < n; i++) {
                pli_group_build_add_id(b, member(r, first - r->base + (int64_t)i * step));
            }
        }
        count -= n;
        if (count > 0) {
            first += n * step;
            at = at + (step > 0) - (step < 0);
            if (first < g->runs[at].base || first >= g->runs[at].base + g->runs[at].n) {
                at = run_of(g, first);
            }
        }
    }
}

enum pli_err pli_group_build_finish(struct pli_group_build *b, struct pli_session *session,
                                    struct pli_id me, struct pli_group **out)
{
    struct pli_group *g = NULL;
    if (b->size > INT32_MAX) {
        enum pli_err err = pli_fail(PLI_ERR_GROUP,
                                    "the group would have %lld members, more than "
                                    "an int can count",
                                    (long long)b->size);
        pli_group_build_fini(b);
        return err;
    }
    if (b->size == 0 && !b->has_failed) {
        *out = &pli_group_empty;
        return PLI_OK;
    }
    if (!b->has_failed) {
        g = pli_handle_create(PLI_KIND_GROUP, sizeof *g);
    }
    if (g != NULL && b->n_run > 1) {
        g->store = pli_group_index_create(b->runs, b->n_run, (int)b->size);
        if (g->store == NULL) {
            pli_group_release(g);
            g = NULL;
        } else {
            b->runs = NULL; // the store has it now
        }
    }
    if (g == NULL) {
        enum pli_err err =
            pli_fail(PLI_ERR_NOMEM, "no memory for a group of %lld members", (long long)b->size);
        pli_group_build_fini(b);
        return err;
    }
    if (b->n_run == 1) {
        g->one = b->runs[0];
    }
    g->n_run = b->n_run;
    g->runs = g->store != NULL ? pli_group_index_runs(g->store) : &g->one;
    g->size = (int)b->size;
    g->session = pli_session_retain(session);
    g->me = me;
    pli_group_build_fini(b);
    *out = g;
    return PLI_OK;
}
