// SPDX-License-Identifier: BSD-3-Clause
// MPI_Fork of ranks that have windows. "all": all ranks are cloned, so that the clones have the
// windows among themselves, with memory of their own. "some M": ranks 0 to M-1 are cloned, and the
// windows of all are lost to the clones, but not the data in them. "twice": windows of clones are
// cloned again. "ends": windows of endpoints, and MPI_COMM_ENDPOINTS.
#include "fork_t.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 3000, N_END = 2, LARGE = 12 << 20 };

struct windows {
    MPI_Win got, made, attached, shared; // got: of MPI_Win_allocate
    long *got_at, *shared_at, *right_at; // right_at: the part of the next rank
    long made_at[N], attached_at[N];
};

static void fill(long *at, long first)
{
    for (int i = 0; i < N; i++) {
        at[i] = first + i;
    }
}

static int n_wrong(const long *at, long first)
{
    int n = 0;
    for (int i = 0; i < N; i++) {
        n += at[i] != first + i;
    }
    return n;
}

static void make(struct windows *w, MPI_Comm comm)
{
    long first = 1000000L * (rank_of(comm) + 1);
    MPI_Aint size = N * sizeof(long);
    int unit;
    T_MPI(MPI_Win_allocate(size, sizeof(long), MPI_INFO_NULL, comm, &w->got_at, &w->got));
    T_MPI(MPI_Win_create(w->made_at, size, sizeof(long), MPI_INFO_NULL, comm, &w->made));
    T_MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &w->attached));
    T_MPI(MPI_Win_attach(w->attached, w->attached_at, size));
    T_MPI(MPI_Win_allocate_shared(size, sizeof(long), MPI_INFO_NULL, comm, &w->shared_at,
                                  &w->shared));
    T_MPI(MPI_Win_shared_query(w->shared, (rank_of(comm) + 1) % size_of(comm), &size, &unit,
                               &w->right_at));
    T_MPI(MPI_Win_set_name(w->got, "grid"));
    T_MPI(MPI_Win_set_errhandler(w->got, MPI_ERRORS_RETURN));
    T_MPI(MPI_Win_set_errhandler(w->shared, MPI_ERRORS_RETURN));
    fill(w->got_at, first);
    fill(w->made_at, first);
    fill(w->attached_at, first);
    fill(w->shared_at, first);
    T_MPI(MPI_Barrier(comm));
}

// All members put, get and add. tag: other members, of the parents or the clones, have another one.
static void use(MPI_Win win, long *mine, long tag)
{
    MPI_Group group, to, from;
    int rank, size, right, left;
    long in = -1, one = 1, out, old = mine[2];
    MPI_Win_get_group(win, &group);
    MPI_Group_rank(group, &rank);
    MPI_Group_size(group, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    MPI_Group_incl(group, 1, &right, &to);
    MPI_Group_incl(group, 1, &left, &from);
    mine[1] = 0;
    T_MPI(MPI_Win_fence(0, win));
    out = tag + rank;
    T_MPI(MPI_Put(&out, 1, MPI_LONG, right, 0, 1, MPI_LONG, win));
    T_MPI(MPI_Get(&in, 1, MPI_LONG, right, 2, 1, MPI_LONG, win));
    T_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    T_EQ(mine[0], tag + left);
    T_EQ(mine[2], old);
    T_OK(in != -1);
    for (int i = 1; i < 4; i++) {
        out = tag + 10L * i + rank;
        T_MPI(MPI_Win_post(from, 0, win));
        T_MPI(MPI_Win_start(to, 0, win));
        T_MPI(MPI_Put(&out, 1, MPI_LONG, right, 0, 1, MPI_LONG, win));
        T_MPI(MPI_Win_complete(win));
        T_MPI(MPI_Win_wait(win));
        T_EQ(mine[0], tag + 10L * i + left);
    }
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&group);
    for (int i = 0; i < 20; i++) {
        T_MPI(MPI_Win_lock(i % 2 == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win));
        T_MPI(MPI_Accumulate(&one, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_SUM, win));
        T_MPI(MPI_Win_unlock(0, win));
    }
    T_MPI(MPI_Win_fence(0, win));
    T_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    if (rank == 0) {
        T_EQ(mine[1], 20L * size);
    }
}

// Displacements are addresses.
static void use_attached(struct windows *w, MPI_Comm comm, long tag)
{
    int rank = rank_of(comm), size = size_of(comm);
    MPI_Aint at;
    long out, in = -1;
    MPI_Get_address(w->attached_at, &at);
    MPI_Aint *all = malloc((size_t)size * sizeof *all);
    T_MPI(MPI_Allgather(&at, 1, MPI_AINT, all, 1, MPI_AINT, comm));
    int right = (rank + 1) % size;
    T_MPI(MPI_Win_fence(0, w->attached));
    out = tag + rank;
    T_MPI(MPI_Put(&out, 1, MPI_LONG, right, all[right], 1, MPI_LONG, w->attached));
    T_MPI(MPI_Win_fence(0, w->attached));
    T_MPI(MPI_Get(&in, 1, MPI_LONG, right, all[right], 1, MPI_LONG, w->attached));
    T_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->attached));
    T_EQ(in, tag + rank);
    T_EQ(w->attached_at[0], tag + (rank + size - 1) % size);
    free(all);
}

static void check_data(const struct windows *w, int was)
{
    long first = 1000000L * (was + 1);
    T_EQ(n_wrong(w->got_at, first), 0);
    T_EQ(n_wrong(w->made_at, first), 0);
    T_EQ(n_wrong(w->attached_at, first), 0);
    T_EQ(n_wrong(w->shared_at, first), 0);
}

// Whether this is a clone, after a fork of m ranks whose windows were filled anew; both have the
// data then.
static int split_filled(struct windows *w, int was, int m)
{
    long first = 1000000L * (was + 1);
    fill(w->got_at, first);
    fill(w->made_at, first);
    fill(w->attached_at, first);
    T_MPI(MPI_Barrier(MPI_COMM_WORLD));
    int is_new = split(m) == 0;
    check_data(w, was);
    T_MPI(MPI_Barrier(MPI_COMM_WORLD));
    return is_new;
}

static void use_all(struct windows *w, MPI_Comm comm, int is_new)
{
    long tag = is_new ? 5000 : 7000;
    use(w->got, w->got_at, tag);
    use(w->made, w->made_at, tag);
    use_attached(w, comm, tag);
}

static void free_all(struct windows *w)
{
    T_MPI(MPI_Win_detach(w->attached, w->attached_at));
    T_MPI(MPI_Win_free(&w->got));
    T_MPI(MPI_Win_free(&w->made));
    T_MPI(MPI_Win_free(&w->attached));
    T_MPI(MPI_Win_free(&w->shared));
    T_OK(w->got == MPI_WIN_NULL && w->shared == MPI_WIN_NULL);
}

// A window of the new world, between parents and clones.
static void use_new_world(void)
{
    MPI_Win win;
    long *mem;
    T_MPI(
        MPI_Win_allocate(N * sizeof *mem, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win));
    fill(mem, 0);
    use(win, mem, 900);
    T_MPI(MPI_Win_free(&win));
}

// The clones have a window of their own, with the data at the same addresses, also those that
// MPI_Win_shared_query gave before; and each sees what the others store.
static void use_shared(struct windows *w, int was, int n, int is_new)
{
    MPI_Aint size;
    int unit;
    long *right_at;
    T_MPI(MPI_Win_shared_query(w->shared, (was + 1) % n, &size, &unit, &right_at));
    T_OK(right_at == w->right_at);
    T_EQ(size, N * (MPI_Aint)sizeof(long));
    T_EQ(n_wrong(right_at, 1000000L * ((was + 1) % n + 1)), 0);
    T_MPI(MPI_Barrier(is_new ? MPI_COMM_CHILDREN : MPI_COMM_PARENTS));
    use(w->shared, w->shared_at, is_new ? 200 : 100);
    T_MPI(MPI_Win_fence(0, w->shared));
    right_at[N - 1] += is_new;
    T_MPI(MPI_Win_fence(0, w->shared));
}

// Each adds to the last byte of the next one's part.
static void use_large(MPI_Win large, char *mine, int rank, int n, int add)
{
    char *right;
    MPI_Aint size;
    int unit, was = mine[LARGE - 1];
    T_MPI(MPI_Win_shared_query(large, (rank + 1) % n, &size, &unit, &right));
    T_EQ(size, LARGE);
    T_MPI(MPI_Win_fence(0, large));
    right[LARGE - 1] = (char)(right[LARGE - 1] + add);
    T_MPI(MPI_Win_fence(0, large));
    T_EQ(mine[LARGE - 1], was + add);
}

// A process that came later has the memory of all.
static void make_large(void)
{
    MPI_Comm turned;
    MPI_Win large;
    char *mine;
    T_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of(MPI_COMM_WORLD), &turned));
    T_MPI(MPI_Win_allocate_shared(LARGE, 1, MPI_INFO_NULL, turned, &mine, &large));
    mine[LARGE - 1] = 5;
    use_large(large, mine, rank_of(turned), size_of(turned), 7);
    T_MPI(MPI_Win_free(&large));
    T_MPI(MPI_Comm_free(&turned));
}

static void all(void)
{
    struct windows *w = malloc(sizeof *w);
    int was = rank_of(MPI_COMM_WORLD), n = size_of(MPI_COMM_WORLD), len;
    char name[MPI_MAX_OBJECT_NAME], *large_at;
    MPI_Win large; // than an arena
    make(w, MPI_COMM_WORLD);
    T_MPI(MPI_Win_allocate_shared(LARGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &large_at, &large));
    T_MPI(MPI_Win_set_errhandler(large, MPI_ERRORS_RETURN));
    large_at[LARGE - 1] = (char)(was + 1);
    int is_new = split(n) == 0;
    check_data(w, was); // before any other rank changes it
    T_MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < 3; round++) {
        use_all(w, is_new ? MPI_COMM_CHILDREN : MPI_COMM_PARENTS, is_new);
    }
    MPI_Win_get_name(w->got, name, &len);
    T_STR(name, "grid");
    use_shared(w, was, n, is_new);
    T_EQ(large_at[LARGE - 1], was + 1);
    use_large(large, large_at, was, n, is_new ? 3 : 2);
    T_MPI(MPI_Barrier(MPI_COMM_WORLD));
    T_EQ(large_at[LARGE - 1], was + 1 + (is_new ? 3 : 2));
    T_MPI(MPI_Win_free(&large));
    use_new_world();
    make_large();
    T_EQ(w->shared_at[N - 1], 1000000L * (was + 1) + N - 1 + is_new);
    free_all(w);
    free(w);
}

static void some(int m)
{
    struct windows *w = malloc(sizeof *w);
    int was = rank_of(MPI_COMM_WORLD), got;
    make(w, MPI_COMM_WORLD);
    T_MPI(MPI_Win_lock_all(0, w->made));
    got = MPI_Fork(m);
    T_OK(got < 0);
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;
    MPI_Error_string(got < 0 ? -got : 0, text, &len);
    T_OK(strstr(text, "rank 0 has an open epoch: the window is locked at all ranks") != NULL);
    T_MPI(MPI_Win_unlock_all(w->made));
    use_all(w, MPI_COMM_WORLD, 0);
    long first = 1000000L * (was + 1);
    int is_new = split_filled(w, was, m);
    if (is_new) {
        T_REFUSED(MPI_Win_fence(0, w->got), MPI_ERR_WIN, "made before MPI_Fork");
        T_REFUSED(MPI_Win_lock_all(0, w->made), MPI_ERR_WIN, "made before MPI_Fork");
        fill(w->got_at, -1);
        T_MPI(MPI_Win_free(&w->got));
        T_MPI(MPI_Win_free(&w->made));
        T_MPI(MPI_Win_free(&w->attached));
        T_MPI(MPI_Win_free(&w->shared));
        T_OK(w->got == MPI_WIN_NULL);
        T_EQ(n_wrong(w->got_at, -1), 0);
        T_MPI(MPI_Barrier(MPI_COMM_WORLD));
    } else {
        use_all(w, MPI_COMM_PARENTS, 0);
        T_MPI(MPI_Barrier(MPI_COMM_WORLD));
        T_EQ(w->got_at[N - 1], first + N - 1);
        free_all(w);
    }
    use_new_world();
    free(w);
}

// What clones allocate is elsewhere, and is cloned as well.
static void twice(void)
{
    struct windows *w = malloc(sizeof *w);
    split(size_of(MPI_COMM_WORLD));
    int was = rank_of(MPI_COMM_WORLD), n = size_of(MPI_COMM_WORLD);
    make(w, MPI_COMM_WORLD);
    use_all(w, MPI_COMM_WORLD, 0);
    int is_new = split_filled(w, was, n);
    use_all(w, is_new ? MPI_COMM_CHILDREN : MPI_COMM_PARENTS, is_new);
    use_shared(w, was, n, is_new);
    use_new_world();
    free_all(w);
    free(w);
}

struct end {
    pthread_t thread;
    MPI_Comm comm;
    MPI_Win win, shared;
    long *at, *shared_at;
    long tag;
    int index;
};

static void *make_end(void *arg)
{
    struct end *e = arg;
    T_MPI(
        MPI_Win_allocate(N * sizeof(long), sizeof(long), MPI_INFO_NULL, e->comm, &e->at, &e->win));
    fill(e->at, 1000000L * (rank_of(e->comm) + 1));
    use(e->win, e->at, 10);
    T_MPI(MPI_Win_allocate_shared(N * sizeof(long), sizeof(long), MPI_INFO_NULL, e->comm,
                                  &e->shared_at, &e->shared));
    fill(e->shared_at, 1000000L * (rank_of(e->comm) + 1));
    return arg;
}

static void *use_end(void *arg)
{
    struct end *e = arg;
    use(e->win, e->at, e->tag);
    T_MPI(MPI_Win_free(&e->win));
    T_EQ(n_wrong(e->shared_at, 1000000L * (rank_of(e->comm) + 1)), 0);
    T_MPI(MPI_Barrier(e->comm));
    use(e->shared, e->shared_at, e->tag);
    T_MPI(MPI_Win_free(&e->shared));
    T_MPI(MPI_Comm_free(&e->comm));
    return arg;
}

static void *attach_end(void *arg)
{
    struct end *e = arg;
    int sum = 0, one = 1;
    T_MPI(MPI_Comm_endpoint_attach(MPI_COMM_ENDPOINTS, e->index));
    T_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_ENDPOINTS));
    T_EQ(sum, (int)e->tag);
    T_MPI(MPI_Comm_detach(MPI_COMM_ENDPOINTS));
    return arg;
}

static void run(struct end *ends, void *(*fn)(void *))
{
    for (int i = 0; i < N_END; i++) {
        T_EQ(pthread_create(&ends[i].thread, NULL, fn, &ends[i]), 0);
    }
    for (int i = 0; i < N_END; i++) {
        pthread_join(ends[i].thread, NULL);
    }
}

static void set_tags(struct end *ends, long tag)
{
    for (int i = 0; i < N_END; i++) {
        ends[i].tag = tag;
        ends[i].index = i;
    }
}

static void ends(void)
{
    struct end e[N_END];
    MPI_Comm comms[N_END];
    int n = size_of(MPI_COMM_WORLD);
    T_MPI(MPI_Comm_create_endpoints(MPI_COMM_WORLD, N_END, MPI_INFO_NULL, comms));
    for (int i = 0; i < N_END; i++) {
        e[i] = (struct end){ .comm = comms[i] };
    }
    run(e, make_end);
    set_tags(e, (long)N_END * n);
    run(e, attach_end);
    int is_new = split(n) == 0;
    run(e, attach_end);
    set_tags(e, is_new ? 3000 : 4000);
    run(e, use_end);
    use_new_world();
    // One of all: no clone of the others, so none of what they have together.
    is_new = split(1) == 0;
    if (is_new) {
        T_REFUSED(MPI_Comm_endpoint_attach(MPI_COMM_ENDPOINTS, 0), MPI_ERR_COMM,
                  "MPI_Fork did not clone");
    }
    T_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    T_MUST(argc > 1);
    if (strcmp(argv[1], "all") == 0) {
        all();
    } else if (strcmp(argv[1], "some") == 0) {
        some(atoi(argv[2]));
    } else if (strcmp(argv[1], "twice") == 0) {
        twice();
    } else {
        ends();
    }
    return t_end();
}
