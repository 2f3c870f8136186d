// SPDX-License-Identifier: BSD-3-Clause
// Groups against a plain list: every operation, on thousands of random groups of every shape.
#include "obj/group.h"

#include "obj/group_pick.h"
#include "obj/group_sets.h"
#include "obj/session.h"
#include "t.h"

#include <mpi.h>
#include <stdbool.h>

enum { N_PROC = 40, N_EP = 4, MAX = N_PROC * N_EP };

struct list {
    struct pli_id id[MAX];
    int n;
};

static uint64_t seed = 12345;

static int draw(int n) // 0 to n-1
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

static int place(const struct list *l, struct pli_id id)
{
    for (int i = 0; i < l->n; i++) {
        if (pli_group_same(l->id[i], id)) {
            return i;
        }
    }
    return -1;
}

// A member that may exist: two jobs, so that some steps are too far for a run.
static struct pli_id name(int proc, int ep)
{
    return (struct pli_id){ ((uint64_t)(1 + proc % 2) << 40) + (uint64_t)proc, (uint32_t)ep };
}

static struct pli_id near_name(int proc, int ep)
{
    return (struct pli_id){ 1000 + (uint64_t)proc, (uint32_t)ep };
}

// Stretches of lines in every direction, and single members.
static void random_list(struct list *l, bool is_far)
{
    int n_piece = draw(7);
    l->n = 0;
    for (int k = 0; k < n_piece; k++) {
        int proc = draw(N_PROC), ep = draw(3) == 0 ? draw(N_EP) : 0;
        int dp = draw(3) == 0 ? draw(9) - 4 : draw(2) * 2 - 1, de = draw(4) == 0 ? draw(3) - 1 : 0;
        int len = 1 + draw(draw(2) == 0 ? 3 : 20);
        for (int i = 0; i < len && proc >= 0 && proc < N_PROC && ep >= 0 && ep < N_EP; i++) {
            struct pli_id id = is_far ? name(proc, ep) : near_name(proc, ep);
            if (place(l, id) < 0) {
                l->id[l->n++] = id;
            }
            proc += dp;
            ep += de;
        }
    }
}

static bool is_same(const struct pli_group *g, const struct list *l)
{
    if (g->size != l->n) {
        return false;
    }
    int base = 0;
    for (int i = 0; i < g->n_run; i++) {
        if (g->runs[i].base != base || g->runs[i].n < 1) {
            return false;
        }
        base += g->runs[i].n;
    }
    for (int i = 0; i < l->n; i++) {
        if (!pli_group_same(pli_group_at(g, i), l->id[i])) {
            return false;
        }
    }
    return base == l->n;
}

static struct pli_group *make(const struct list *l)
{
    struct pli_group *g;
    T_MUST(pli_group_create(l->id, l->n, NULL, &g) == PLI_OK);
    T_OK(is_same(g, l));
    return g;
}

static void drop(struct pli_group *g, const struct list *want)
{
    T_OK(is_same(g, want));
    pli_group_release(g);
}

static void filter(const struct list *a, const struct list *b, bool wants_in, struct list *out)
{
    for (int i = 0; i < a->n; i++) {
        if ((place(b, a->id[i]) >= 0) == wants_in) {
            out->id[out->n++] = a->id[i];
        }
    }
}

static void look_up(const struct pli_group *g, const struct list *l, bool is_far)
{
    for (int p = 0; p < N_PROC; p++) {
        for (int e = 0; e < N_EP; e++) {
            struct pli_id id = is_far ? name(p, e) : near_name(p, e);
            T_EQ(pli_group_rank_of(g, id), place(l, id));
        }
    }
}

static void sets(const struct list *a, const struct list *b)
{
    struct pli_group *x = make(a), *y = make(b), *r;
    struct list both = { .n = 0 }, only = { .n = 0 }, either = *a;
    int relation, rank_a[MAX], rank_b[MAX];
    filter(a, b, true, &both);
    filter(a, b, false, &only);
    filter(b, a, false, &either);
    T_MUST(pli_group_sets_intersection(x, y, &r) == PLI_OK);
    drop(r, &both);
    T_MUST(pli_group_sets_difference(x, y, &r) == PLI_OK);
    drop(r, &only);
    T_MUST(pli_group_sets_union(x, y, &r) == PLI_OK);
    drop(r, &either);
    T_MUST(pli_group_sets_compare(x, y, &relation) == PLI_OK);
    T_EQ(relation, is_same(x, b)                 ? MPI_IDENT
                   : a->n == b->n && only.n == 0 ? MPI_SIMILAR
                                                 : MPI_UNEQUAL);
    for (int i = 0; i < a->n; i++) {
        rank_a[i] = draw(10) == 0 ? MPI_PROC_NULL : draw(a->n);
    }
    T_MUST(pli_group_translate_ranks(x, a->n, rank_a, y, rank_b) == PLI_OK);
    for (int i = 0; i < a->n; i++) {
        int at = rank_a[i] == MPI_PROC_NULL ? MPI_PROC_NULL : place(b, a->id[rank_a[i]]);
        T_EQ(rank_b[i], at == -1 ? MPI_UNDEFINED : at);
    }
    pli_group_release(x);
    pli_group_release(y);
}

// A shuffled part of the list, by ranks.
static void picks(const struct list *a)
{
    struct pli_group *g = make(a), *r;
    struct list in = { .n = 0 }, out = { .n = 0 };
    int order[MAX], n = a->n == 0 ? 0 : draw(a->n + 1);
    for (int i = 0; i < a->n; i++) {
        order[i] = i;
    }
    for (int i = 0; draw(2) == 0 && i < a->n; i++) {
        int k = draw(a->n), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (int i = 0; i < n; i++) {
        in.id[in.n++] = a->id[order[i]];
    }
    filter(a, &in, false, &out);
    T_MUST(pli_group_pick_incl(g, n, order, &r) == PLI_OK);
    drop(r, &in);
    T_MUST(pli_group_pick_excl(g, n, order, &r) == PLI_OK);
    drop(r, &out);
    pli_group_release(g);
}

static void ranges(const struct list *a)
{
    struct pli_group *g = make(a), *r;
    struct list in = { .n = 0 }, out = { .n = 0 };
    int range[4][3], n = 0;
    for (int k = 0; k < 4 && a->n > 0; k++) {
        struct list more = in;
        int first = draw(a->n), last = draw(a->n), stride = 1 + draw(4);
        bool is_new = true;
        stride = first > last ? -stride : stride;
        for (int i = first; stride > 0 ? i <= last : i >= last; i += stride) {
            is_new = is_new && place(&more, a->id[i]) < 0;
            more.id[more.n++] = a->id[i];
            if (!is_new) {
                break;
            }
        }
        if (is_new) {
            range[n][0] = first;
            range[n][1] = last;
            range[n++][2] = stride;
            in = more;
        }
    }
    filter(a, &in, false, &out);
    T_MUST(pli_group_pick_range_incl(g, n, range, &r) == PLI_OK);
    drop(r, &in);
    T_MUST(pli_group_pick_range_excl(g, n, range, &r) == PLI_OK);
    drop(r, &out);
    pli_group_release(g);
}

static void refuses(enum pli_err got, enum pli_err want, const char *piece)
{
    T_EQ(got, want);
    T_HAS(pli_fail_take(NULL), piece);
}

static void mistakes(void)
{
    struct pli_group *g, *other, *r;
    struct pli_group_run run = { .first = { 1, 0 }, .proc_step = 1, .n = 10 };
    T_MUST(pli_group_create_run(run, NULL, &g) == PLI_OK);
    struct pli_session *session;
    T_MUST(pli_session_create(&session) == PLI_OK);
    T_MUST(pli_group_create_run(run, session, &other) == PLI_OK);
    pli_session_release(session); // the group keeps it
    refuses(pli_group_sets_union(g, other, &r), PLI_ERR_GROUP, "session");
    T_EQ(pli_group_sets_union(&pli_group_empty, other, &r), PLI_OK);
    T_OK(r->session == other->session);
    pli_group_release(r);
    refuses(pli_group_pick_incl(g, 2, (int[]){ 3, 10 }, &r), PLI_ERR_RANK, "10");
    refuses(pli_group_pick_incl(g, 2, (int[]){ 3, -1 }, &r), PLI_ERR_RANK, "0 to 9");
    refuses(pli_group_pick_excl(g, 3, (int[]){ 3, 4, 3 }, &r), PLI_ERR_RANK, "before");
    refuses(pli_group_pick_incl(g, 2, NULL, &r), PLI_ERR_ARG, "NULL");
    refuses(pli_group_pick_range_incl(g, 1, (int[][3]){ { 1, 5, 0 } }, &r), PLI_ERR_ARG, "stride");
    refuses(pli_group_pick_range_incl(g, 1, (int[][3]){ { 5, 1, 1 } }, &r), PLI_ERR_ARG, "never");
    refuses(pli_group_pick_range_incl(g, 1, (int[][3]){ { 0, 10, 1 } }, &r), PLI_ERR_RANK, "10");
    refuses(pli_group_pick_range_excl(g, 2, (int[][3]){ { 0, 4, 1 }, { 4, 9, 1 } }, &r),
            PLI_ERR_RANK, "before");
    // The last of a range need not be hit, only the ranks it names must exist.
    T_EQ(pli_group_pick_range_incl(g, 1, (int[][3]){ { 1, 10, 2 } }, &r), PLI_OK);
    T_EQ(r->size, 5);
    pli_group_release(r);
    T_EQ(pli_group_pick_range_incl(g, 1, (int[][3]){ { 9, 9, INT32_MIN } }, &r), PLI_OK);
    T_EQ(r->size, 1);
    pli_group_release(r);
    refuses(pli_group_translate_ranks(g, 1, (int[]){ 10 }, g, (int[]){ 0 }), PLI_ERR_RANK, "10");
    pli_group_release(g);
    pli_group_release(other);
}

// What the user holds is a copy: freeing it leaves the original alone.
static void copies(void)
{
    struct list l = { .n = 0 };
    struct pli_group *copy, *g;
    size_t live = pli_handle_live(PLI_KIND_GROUP);
    for (int i = 0; i < 20; i++) {
        l.id[l.n++] = near_name((i * 7) % N_PROC, i % N_EP);
    }
    g = make(&l);
    T_MUST(pli_group_dup(g, l.id[3], &copy) == PLI_OK);
    int rank;
    T_EQ(pli_group_get_rank(copy, &rank), PLI_OK);
    T_EQ(rank, 3);
    T_EQ(pli_group_free(g), PLI_OK);
    T_OK(pli_handle_get(g, PLI_KIND_GROUP) == NULL);
    drop(copy, &l);
    T_EQ(pli_handle_live(PLI_KIND_GROUP), live);
    T_EQ(pli_group_create(NULL, 0, NULL, &g), PLI_OK);
    T_OK(g == &pli_group_empty);
    T_EQ(pli_group_free(g), PLI_OK);
    T_OK(pli_handle_get(MPI_GROUP_EMPTY, PLI_KIND_GROUP) == &pli_group_empty);
}

int main(void)
{
    for (int round = 0; round < 4000; round++) {
        struct list a, b;
        bool is_far = round % 4 == 0;
        random_list(&a, is_far);
        random_list(&b, is_far);
        struct pli_group *g = make(&a);
        look_up(g, &a, is_far);
        pli_group_release(g);
        if (round % 5 == 0) { // the same members in another order, or the same list
            b = a;
            for (int i = 0; round % 2 == 0 && i < b.n; i++) {
                int k = draw(b.n);
                struct pli_id swap = b.id[i];
                b.id[i] = b.id[k];
                b.id[k] = swap;
            }
        }
        sets(&a, &b);
        picks(&a);
        ranges(&a);
    }
    mistakes();
    copies();
    T_EQ(pli_handle_live(PLI_KIND_GROUP), 0);
    return t_status();
}
