// SPDX-License-Identifier: BSD-3-Clause
// MPIX_World_next and redistribution plans, compared with a model that knows the owner of every
// element. "call": the program has the world resized. "shrink": ranks fail and are dropped.
// "respawn": a failed rank is replaced. "both": a rank fails, and the call asks for more ranks.
// Old and new ranks know from the version what has happened.
#include "obj.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 400, N_TRIAL = 12, MAX_RANK = 8 };

struct change { // what makes a version, beginning with the second
    const char *key, *value;
    int size;   // afterwards
    int n_dead; // ranks of the version before that die
    int dead[2];
};

struct script {
    const char *name;
    int first_size, n;
    struct change changes[8];
};

static const struct script scripts[] = {
    { "call",
      2,
      6,
      { { "size", "5", 5, 0, { 0 } },
        { "size", "3", 3, 0, { 0 } },
        { "delta", "1", 4, 0, { 0 } },
        { "delta", "-3", 1, 0, { 0 } },
        { "size", "4", 4, 0, { 0 } },
        { "size", "2", 2, 0, { 0 } } } },
    { "shrink", 5, 2, { { NULL, NULL, 4, 1, { 1 } }, { NULL, NULL, 2, 2, { 0, 2 } } } },
    { "respawn", 4, 1, { { NULL, NULL, 4, 1, { 2 } } } },
    { "both", 4, 2, { { "size", "6", 6, 1, { 0 } }, { "size", "3", 3, 1, { 4 } } } },
};

static const struct script *script;
static MPI_Comm world = MPI_COMM_NULL;
static unsigned seed;

static int draw(int n)
{
    seed = seed * 1103515245u + 12345u;
    return (int)((seed >> 16) % (unsigned)n);
}

// A distribution as the model has it.
struct model {
    int n, owner[MOST], local[MOST], count[MAX_RANK];
};

enum kind { BLOCK, CYCLIC, IRREGULAR };

static void model_regular(struct model *m, int n, int size, enum kind kind, int block)
{
    memset(m, 0, sizeof *m);
    m->n = n;
    for (int i = 0; i < n; i++) {
        int r = kind == CYCLIC ? i / block % size : 0;
        while (kind == BLOCK && n * (r + 1) / size <= i) {
            r++;
        }
        m->owner[i] = r;
        m->local[i] = m->count[r]++;
    }
}

// Runs of elements at any rank; a buffer has the last run first where is_down.
static void model_irregular(struct model *m, int n, int size, int is_down, int has_gaps)
{
    memset(m, 0, sizeof *m);
    m->n = n;
    for (int i = 0, left = 0, r = 0; i < n; i++, left--) {
        if (left == 0) {
            left = 1 + draw(9);
            r = draw(size + has_gaps) - has_gaps; // -1: no rank has it
        }
        m->owner[i] = r;
        m->count[r < 0 ? 0 : r] += r >= 0;
    }
    for (int r = 0; r < size; r++) {
        int at = is_down ? m->count[r] : 0;
        for (int i = 0, end; i < n; i = end) {
            for (end = i + 1; end < n && m->owner[end] == m->owner[i]; end++) {
            }
            if (m->owner[i] == r) {
                at -= is_down ? end - i : 0;
                for (int k = i; k < end; k++) {
                    m->local[k] = at + k - i;
                }
                at += is_down ? 0 : end - i;
            }
        }
    }
}

// The ranges of a rank, in the order of its buffer.
static int list_ranges(const struct model *m, int rank, MPI_Count first[], MPI_Count count[])
{
    int n = 0;
    for (int at = 0; rank >= 0 && at < m->count[rank];) {
        int i = 0;
        while (m->owner[i] != rank || m->local[i] != at) {
            i++;
        }
        first[n] = i;
        for (count[n] = 0; i < m->n && m->owner[i] == rank && m->local[i] == at; i++, at++) {
            count[n]++;
        }
        n++;
    }
    return n;
}

// Elements of any datatype are written and read as the ints they are made of.
struct element {
    MPI_Datatype type;
    int extent, n_int, at[3]; // in ints
};

static struct element make_type(int which)
{
    struct element e = { MPI_INT, 1, 1, { 0 } };
    if (which == 1) { // every second int
        MPI_Datatype t;
        MPI_Type_vector(3, 1, 2, MPI_INT, &t);
        MPI_Type_create_resized(t, 0, 7 * sizeof(int), &e.type);
        MPI_Type_free(&t);
        e = (struct element){ e.type, 7, 3, { 0, 2, 4 } };
    } else if (which == 2) { // backwards, with a hole
        int lens[2] = { 1, 1 };
        MPI_Aint displs[2] = { 2 * sizeof(int), 0 };
        MPI_Datatype types[2] = { MPI_INT, MPI_INT };
        MPI_Type_create_struct(2, lens, displs, types, &e.type);
        e = (struct element){ e.type, 3, 2, { 0, 2 } };
    }
    if (which != 0) {
        MPI_Type_commit(&e.type);
    }
    return e;
}

static int value(int i, int k)
{
    return i * 31 + k * 7 + 1;
}

static int is_dead(const struct change *c, int rank)
{
    return (c->n_dead > 0 && c->dead[0] == rank) || (c->n_dead > 1 && c->dead[1] == rank);
}

static void check_result(const struct change *c, const struct model *old, const struct model *new,
                         int to_rank, int plan, const struct element *e, const int *in)
{
    MPI_Count first[MOST], count[MOST];
    int n_range, n_missing = 0, want = 0;
    T_MPI(MPIX_Plan_get_missing(plan, MOST, first, count, &n_range));
    for (int i = 0; i < n_range; i++) {
        n_missing += (int)count[i];
    }
    for (int i = 0; i < new->n; i++) {
        MPI_Count global = -1;
        if (to_rank < 0 || new->owner[i] != to_rank) {
            continue;
        }
        int at = new->local[i], is_missing = old->owner[i] < 0 || is_dead(c, old->owner[i]);
        want += is_missing;
        T_MPI(MPIX_Plan_get_global(plan, at, &global));
        T_EQ((int)global, i);
        for (int k = 0; k < e->n_int; k++) {
            T_EQ(in[at * e->extent + e->at[k]], is_missing ? -1 : value(i, k));
        }
    }
    T_EQ(n_missing, want);
}

static void try_plan(const struct change *c, MPI_Comm from, MPI_Comm to, int old_size)
{
    static struct model old, new;
    static int out[MOST * 7], in[MOST * 7];
    MPI_Count of[MOST], oc[MOST], nf[MOST], nc[MOST], had, has;
    int plan = -1, from_rank = -1, to_rank = -1, n = draw(4) == 0 ? draw(4) : draw(MOST);
    enum kind kind = (enum kind)draw(3);
    int block = 1 + draw(12), which = draw(3);
    if (from != MPI_COMM_NULL) {
        MPI_Comm_rank(from, &from_rank);
    }
    if (to != MPI_COMM_NULL) {
        MPI_Comm_rank(to, &to_rank);
    }
    if (kind == IRREGULAR) {
        model_irregular(&old, n, old_size, draw(2), draw(2));
        model_irregular(&new, n, c->size, draw(2), draw(2));
        int n_old = list_ranges(&old, from_rank, of, oc),
            n_new = list_ranges(&new, to_rank, nf, nc);
        T_MPI(MPIX_Plan_create_irregular(from, to, n_old, of, oc, n_new, nf, nc, &plan));
    } else {
        model_regular(&old, n, old_size, kind, block);
        model_regular(&new, n, c->size, kind, block);
        T_MPI(kind == BLOCK ? MPIX_Plan_create_block(from, to, n, &plan)
                            : MPIX_Plan_create_cyclic(from, to, n, block, &plan));
    }
    T_MPI(MPIX_Plan_get_count(plan, &had, &has));
    T_EQ((int)had, from_rank < 0 ? 0 : old.count[from_rank]);
    T_EQ((int)has, to_rank < 0 ? 0 : new.count[to_rank]);
    struct element e = make_type(which);
    for (int round = 0; round < 2; round++) { // a plan is executed as often as wanted
        memset(in, -1, sizeof in);
        memset(out, 0, sizeof out);
        for (int i = 0; i < n; i++) {
            for (int k = 0; from_rank >= 0 && old.owner[i] == from_rank && k < e.n_int; k++) {
                out[old.local[i] * e.extent + e.at[k]] = value(i, k);
            }
        }
        T_MPI(MPIX_Plan_execute(plan, out, in, e.type));
        check_result(c, &old, &new, to_rank, plan, &e, in);
    }
    if (which != 0) {
        MPI_Type_free(&e.type);
    }
    T_MPI(MPIX_Plan_free(&plan));
    T_EQ(plan, -1);
}

static int count(int (*get)(MPI_Group *))
{
    MPI_Group g;
    int n = -1;
    T_MPI(get(&g));
    MPI_Group_size(g, &n);
    MPI_Group_free(&g);
    return n;
}

// The same at old and new ranks.
static void check_change(const struct change *c, int old_size)
{
    int living = old_size - c->n_dead, is_leaving = -1;
    T_EQ(count(MPIX_World_get_added), c->size > living ? c->size - living : 0);
    T_EQ(count(MPIX_World_get_leaving), c->size < living ? living - c->size : 0);
    T_EQ(count(MPIX_World_get_failed), c->n_dead);
    T_MPI(MPIX_World_leaving(&is_leaving));
    T_OK(is_leaving == 0 || c->size < living);
}

// The dying ranks die when all have come so far.
static void let_die(const struct change *c)
{
    int rank, ok = 1;
    MPI_Comm_rank(world, &rank);
    MPIX_Comm_agree(world, &ok);
    if (is_dead(c, rank)) {
        raise(SIGKILL);
    }
}

static void refuse(void)
{
    MPI_Comm c = MPI_COMM_NULL;
    MPI_Info info;
    int plan = 77, n;
    MPI_Count first = -1, one = 1;
    MPI_Info_create(&info);
    MPI_Info_set(info, "size", "many");
    T_REFUSED(MPIX_World_next(&c, info), MPI_ERR_INFO_VALUE, "must be a number");
    MPI_Info_set(info, "size", "2");
    MPI_Info_set(info, "delta", "2");
    T_REFUSED(MPIX_World_next(&c, info), MPI_ERR_INFO_VALUE, "give one");
    MPI_Info_delete(info, "delta");
    MPI_Info_set(info, "size", "99");
    T_REFUSED(MPIX_World_next(&c, info), MPI_ERR_SPAWN, "outside --elastic");
    MPI_Info_free(&info);
    T_REFUSED(MPIX_Plan_execute(plan, NULL, NULL, MPI_INT), MPI_ERR_ARG, "is no plan");
    T_REFUSED(MPIX_Plan_free(&plan), MPI_ERR_ARG, "is no plan");
    T_REFUSED(MPIX_Plan_create_block(world, world, -1, &plan), MPI_ERR_COUNT, "0 or more");
    T_REFUSED(MPIX_Plan_create_cyclic(world, world, 1, 0, &plan), MPI_ERR_COUNT, "1 or more");
    T_REFUSED(MPIX_Plan_create_block(MPI_COMM_NULL, MPI_COMM_NULL, 1, &plan), MPI_ERR_COMM, "both");
    T_REFUSED(MPIX_Plan_create_block(MPI_COMM_SELF, world, 1, &plan), MPI_ERR_COMM,
              "neither the same");
    T_REFUSED(MPIX_Plan_create_irregular(world, world, 1, &first, &one, 0, NULL, NULL, &plan),
              MPI_ERR_ARG, "0 or more");
    first = 4; // at all ranks
    T_REFUSED(MPIX_Plan_create_irregular(world, world, 1, &first, &one, 0, NULL, NULL, &plan),
              MPI_ERR_ARG, "element 4 is in a range of rank");
    T_MPI(MPIX_Plan_create_block(world, world, 9, &plan));
    T_REFUSED(MPIX_Plan_get_global(plan, 9, &one), MPI_ERR_ARG, "has");
    T_REFUSED(MPIX_Plan_get_missing(plan, -1, NULL, NULL, &n), MPI_ERR_ARG, "below 0");
    int from[9] = { 7 }, to[9] = { 0 }; // once an error at one end left the receives of it waiting
    T_REFUSED(MPIX_Plan_execute(plan, NULL, to, MPI_INT), MPI_ERR_BUFFER, "is NULL");
    T_REFUSED(MPIX_Plan_execute(plan, from, NULL, MPI_INT), MPI_ERR_BUFFER, "is NULL");
    T_REFUSED(MPIX_Plan_execute(plan, from, from, MPI_INT), MPI_ERR_BUFFER, "may not overlap");
    T_REFUSED(MPIX_Plan_execute(plan, MPI_IN_PLACE, to, MPI_INT), MPI_ERR_BUFFER, "MPI_IN_PLACE");
    T_MPI(MPIX_Plan_execute(plan, from, to, MPI_INT));
    T_EQ(to[0], 7);
    T_MPI(MPIX_Plan_free(&plan));
}

static void use(MPI_Comm next, int size)
{
    int n, sum, one = 1;
    world = next;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_size(world, &n);
    T_EQ(n, size);
    T_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world));
    T_EQ(sum, size);
}

// Version v begins. False: this rank is to leave.
static int take_up(int v)
{
    const struct change *c = &script->changes[v - 1];
    int old_size = v == 1 ? script->first_size : script->changes[v - 2].size, now = -1;
    MPI_Comm next, same;
    MPI_Info info;
    MPI_Info_create(&info);
    if (c->key != NULL) {
        MPI_Info_set(info, c->key, c->value);
    }
    if (world != MPI_COMM_NULL && c->n_dead > 0) {
        let_die(c);
    }
    T_MPI(MPIX_World_next(&next, info));
    MPI_Info_free(&info);
    check_change(c, old_size);
    seed = (unsigned)v * 7919u;
    for (int i = 0; i < N_TRIAL; i++) {
        try_plan(c, world, next, old_size);
    }
    if (next == MPI_COMM_NULL) {
        T_REFUSED(MPIX_World_next(&same, MPI_INFO_NULL), MPI_ERR_OTHER, "has left the world");
        return 0;
    }
    T_MPI(MPIX_Comm_world_version(next, &now));
    T_EQ(now, v);
    use(next, c->size);
    T_MPI(MPIX_World_next(&same, MPI_INFO_NULL)); // nothing has happened
    T_OK(same == next);
    T_EQ(count(MPIX_World_get_added), 0);
    T_EQ(count(MPIX_World_get_failed), 0);
    return 1;
}

int main(int argc, char **argv)
{
    int version = 0, stays = 1;
    MPI_Init(&argc, &argv);
    T_MUST(argc == 2);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        script = strcmp(scripts[i].name, argv[1]) == 0 ? &scripts[i] : script;
    }
    T_MUST(script != NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    T_MPI(MPIX_Comm_world_version(MPI_COMM_WORLD, &version));
    if (version == 0) {
        world = MPI_COMM_WORLD;
        if (strcmp(script->name, "call") == 0) {
            refuse();
        }
        version = 1;
    }
    for (int v = version; stays && v <= script->n; v++) {
        stays = take_up(v);
    }
    MPI_Finalize();
    return t_status();
}
