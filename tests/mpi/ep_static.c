// SPDX-License-Identifier: BSD-3-Clause
// MPI_COMM_ENDPOINTS: who is in it, one handle for many threads, what is made of it, mistakes.
// Arguments: "uneven" (process r asks for r + 1 endpoints), "launched N" (mpiexec asked for N),
// "single" (one thread plays all of them in turn), "none" (there is no such communicator).
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>

#include "t.h"

enum { MANY = 16 };

static int world_rank, world_size, n_mine, n_total, first;
static int n_deleted; // attributes; by one thread

static int class_of(int rc)
{
    int class;
    MPI_Error_class(rc, &class);
    return class;
}

#define T_FAILS(call, wanted, piece)                                                               \
    do {                                                                                           \
        char t_text[MPI_MAX_ERROR_STRING];                                                         \
        int t_rc = (call), t_len;                                                                  \
        T_EQ(class_of(t_rc), wanted);                                                              \
        MPI_Error_string(t_rc, t_text, &t_len);                                                    \
        T_HAS(t_text, piece);                                                                      \
    } while (0)

static void count_endpoints(void)
{
    MPI_Allreduce(&n_mine, &n_total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    first = 0;
    MPI_Exscan(&n_mine, &first, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

// Every process of the world is in it, as endpoint 0 of itself.
static void processes(void)
{
    MPI_Group w, e;
    int there, want = first, mine = world_rank;
    MPI_Comm_group(MPI_COMM_WORLD, &w);
    T_EQ(MPI_Comm_endpoint_attach(MPI_COMM_ENDPOINTS, n_mine - 1), MPI_SUCCESS);
    MPI_Comm_group(MPI_COMM_ENDPOINTS, &e);
    MPI_Group_translate_ranks(w, 1, &mine, e, &there);
    T_EQ(there, want);
    T_EQ(MPI_Comm_detach(MPI_COMM_ENDPOINTS), MPI_SUCCESS);
    MPI_Group_free(&w);
    MPI_Group_free(&e);
}

static void messages(int index)
{
    int rank, size, in = -1, sum;
    MPI_Status s;
    MPI_Comm_rank(MPI_COMM_ENDPOINTS, &rank);
    MPI_Comm_size(MPI_COMM_ENDPOINTS, &size);
    T_EQ(rank, first + index);
    T_EQ(size, n_total);
    for (int i = 0; i < 20; i++) {
        int to = (rank + 1 + i) % size, from = (rank + 2 * size - 1 - i % size) % size;
        MPI_Sendrecv(&rank, 1, MPI_INT, to, i, &in, 1, MPI_INT, from, i, MPI_COMM_ENDPOINTS, &s);
        T_EQ(in, from);
        T_EQ(s.MPI_SOURCE, from);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_ENDPOINTS);
        T_EQ(sum, size * (size - 1) / 2);
    }
}

// Communicators made of it have a handle for each endpoint.
static void children(void)
{
    MPI_Comm copy, half;
    int rank, size, r, sum, one = 1, result;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Comm_rank(MPI_COMM_ENDPOINTS, &rank);
    MPI_Comm_size(MPI_COMM_ENDPOINTS, &size);
    MPI_Comm_dup(MPI_COMM_ENDPOINTS, &copy);
    MPI_Comm_compare(MPI_COMM_ENDPOINTS, copy, &result);
    T_EQ(result, MPI_CONGRUENT);
    MPI_Comm_split(copy, rank % 2, -rank, &half);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
    T_EQ(sum, (size + 1 - rank % 2) / 2);
    MPI_Comm_rank(half, &r);
    T_EQ(r, sum - 1 - rank / 2);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
    MPI_Comm_get_name(MPI_COMM_ENDPOINTS, name, &r);
    T_STR(name, "MPI_COMM_ENDPOINTS");
    copy = MPI_COMM_ENDPOINTS;
    T_FAILS(MPI_Comm_free(&copy), MPI_ERR_COMM, "predefined");
}

static void *run(void *arg)
{
    int index = *(int *)arg, rank;
    T_FAILS(MPI_Comm_rank(MPI_COMM_ENDPOINTS, &rank), MPI_ERR_COMM, "attached to no rank");
    T_FAILS(MPI_Comm_detach(MPI_COMM_ENDPOINTS), MPI_ERR_COMM, "MPI_Comm_endpoint_attach");
    T_FAILS(MPI_Comm_endpoint_attach(MPI_COMM_ENDPOINTS, -1), MPI_ERR_ARG, "index is -1");
    T_FAILS(MPI_Comm_endpoint_attach(MPI_COMM_ENDPOINTS, n_mine), MPI_ERR_ARG, "endpoints 0 to");
    T_FAILS(MPI_Comm_endpoint_attach(MPI_COMM_WORLD, 0), MPI_ERR_COMM,
            "must be MPI_COMM_ENDPOINTS");
    T_FAILS(MPI_Comm_endpoint_attach(MPI_COMM_NULL, 0), MPI_ERR_COMM, "is MPI_COMM_NULL");
    T_EQ(MPI_Comm_endpoint_attach(MPI_COMM_ENDPOINTS, index), MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_ENDPOINTS, MPI_ERRORS_RETURN);
    T_FAILS(MPI_Comm_endpoint_attach(MPI_COMM_ENDPOINTS, index), MPI_ERR_COMM, "already");
    T_FAILS(MPI_Comm_attach(MPI_COMM_ENDPOINTS), MPI_ERR_COMM, "already");
    messages(index);
    children();
    MPI_Barrier(MPI_COMM_ENDPOINTS);
    T_EQ(MPI_Comm_detach(MPI_COMM_ENDPOINTS), MPI_SUCCESS);
    T_FAILS(MPI_Comm_rank(MPI_COMM_ENDPOINTS, &rank), MPI_ERR_COMM, "attached to no rank");
    return NULL;
}

static void threads(void)
{
    pthread_t id[MANY];
    int index[MANY];
    for (int i = 0; i < n_mine; i++) {
        index[i] = i;
        T_MUST(pthread_create(&id[i], NULL, run, &index[i]) == 0);
    }
    for (int i = 0; i < n_mine; i++) {
        pthread_join(id[i], NULL);
    }
}

static int delete_attr(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key;
    (void)extra;
    int rank;
    MPI_Comm_rank(comm, &rank);
    T_OK(comm == MPI_COMM_ENDPOINTS && rank == (int)(intptr_t)value);
    n_deleted++;
    return MPI_SUCCESS;
}

// One thread is each of them in turn; attributes stay with the endpoint, not with the thread.
static void in_turn(void)
{
    int key, in[MANY], sum[MANY], rank, flag;
    void *got;
    MPI_Request reqs[MANY];
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attr, &key, NULL);
    for (int i = 0; i < n_mine; i++) {
        T_EQ(MPI_Comm_endpoint_attach(MPI_COMM_ENDPOINTS, i), MPI_SUCCESS);
        MPI_Comm_rank(MPI_COMM_ENDPOINTS, &rank);
        MPI_Comm_set_attr(MPI_COMM_ENDPOINTS, key, (void *)(intptr_t)rank);
        in[i] = rank;
        MPI_Iallreduce(&in[i], &sum[i], 1, MPI_INT, MPI_SUM, MPI_COMM_ENDPOINTS, &reqs[i]);
        T_EQ(MPI_Comm_detach(MPI_COMM_ENDPOINTS), MPI_SUCCESS);
    }
    MPI_Waitall(n_mine, reqs, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n_mine; i++) {
        T_EQ(sum[i], n_total * (n_total - 1) / 2);
        MPI_Comm_endpoint_attach(MPI_COMM_ENDPOINTS, i);
        MPI_Comm_get_attr(MPI_COMM_ENDPOINTS, key, &got, &flag);
        T_OK(flag && (int)(intptr_t)got == first + i);
        MPI_Comm_detach(MPI_COMM_ENDPOINTS);
    }
    MPI_Comm_free_keyval(&key);
}

static void *intrude(void *arg)
{
    (void)arg;
    T_FAILS(MPI_Comm_endpoint_attach(MPI_COMM_ENDPOINTS, 0), MPI_ERR_OTHER,
            "only the thread that initialised it");
    return NULL;
}

static void none(void)
{
    int rank;
    T_FAILS(MPI_Comm_rank(MPI_COMM_ENDPOINTS, &rank), MPI_ERR_COMM, "mpiexec --endpoints");
    T_FAILS(MPI_Comm_endpoint_attach(MPI_COMM_ENDPOINTS, 0), MPI_ERR_COMM, "MPI_Init_endpoints");
}

static void start(const char *how, int argc, char **argv)
{
    int level = MPI_THREAD_MULTIPLE;
    if (strcmp(how, "launched") == 0) {
        n_mine = atoi(argv[2]);
        T_EQ(MPI_Init(&argc, &argv), MPI_SUCCESS);
        MPI_Query_thread(&level);
    } else if (strcmp(how, "none") == 0) {
        MPI_Init(&argc, &argv);
    } else {
        bool is_single = strcmp(how, "single") == 0;
        const char *me = getenv("PLIANT_RANK");
        n_mine = strcmp(how, "uneven") == 0 && me != NULL ? atoi(me) + 1 : 3;
        // A mistake of one is told to all, and nothing is left that a second try would trip over.
        int bad = me == NULL || strcmp(me, "0") == 0 ? 0 : n_mine;
        T_FAILS(MPI_Init_endpoints(&argc, &argv, bad, MPI_THREAD_MULTIPLE, &level), MPI_ERR_ARG,
                bad == 0 ? "count is 0" : "rank 0");
        T_FAILS(MPI_Init_endpoints(&argc, &argv, 1, 99, &level), MPI_ERR_ARG, "required is 99");
        T_EQ(MPI_Init_endpoints(&argc, &argv, n_mine,
                                is_single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level),
             MPI_SUCCESS);
        T_FAILS(MPI_Init_endpoints(&argc, &argv, 1, level, &level), MPI_ERR_OTHER, "already");
        T_EQ(level, is_single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE);
        level = MPI_THREAD_MULTIPLE;
    }
    T_EQ(level, MPI_THREAD_MULTIPLE);
}

int main(int argc, char **argv)
{
    const char *how = argv[1];
    int rank, flag;
    MPI_Initialized(&flag); // settings are read from here on
    T_FAILS(MPI_Comm_rank(MPI_COMM_ENDPOINTS, &rank), MPI_ERR_OTHER, "before MPI_Init");
    start(how, argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (strcmp(how, "none") == 0) {
        none();
    } else {
        count_endpoints();
        processes();
        if (strcmp(how, "single") == 0) {
            pthread_t id;
            pthread_create(&id, NULL, intrude, NULL);
            pthread_join(id, NULL);
        } else {
            threads();
        }
        in_turn();
    }
    MPI_Finalize();
    T_EQ(n_deleted, n_mine);
    return t_status();
}
