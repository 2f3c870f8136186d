// SPDX-License-Identifier: BSD-3-Clause
// Several threads, each with a session of its own, make communicators of overlapping groups at the
// same time; then threads share one session. Threads start in different orders at each process.
#include "session.h"

#include <pthread.h>
#include <unistd.h>

enum { N_THREAD = 4, N_ROUND = 25 };

struct work {
    int number;
    MPI_Session shared; // MPI_SESSION_NULL: open one
    int failed;
};

static void check(struct work *w, MPI_Comm c, int salt)
{
    int rank, size, got = -1;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    int mine = salt + rank, from = (rank + size - 1) % size;
    MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 3, &got, 1, MPI_INT, from, 3, c,
                 MPI_STATUS_IGNORE);
    w->failed += got != salt + from;
    MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_SUM, c);
    w->failed += got != size * salt + size * (size - 1) / 2;
}

static void *run(void *arg)
{
    struct work *w = arg;
    for (int i = 0; i < N_ROUND; i++) {
        MPI_Session s = w->shared;
        MPI_Group world, part;
        MPI_Comm all = MPI_COMM_NULL, some = MPI_COMM_NULL;
        char tag[64];
        int rank, size, bad = 0;
        if (s == MPI_SESSION_NULL) {
            MPI_Info info;
            MPI_Info_create(&info);
            MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
            bad += MPI_Session_init(info, MPI_ERRORS_RETURN, &s) != MPI_SUCCESS;
            MPI_Info_free(&info);
        }
        bad += MPI_Group_from_session_pset(s, "mpi://WORLD", &world) != MPI_SUCCESS;
        MPI_Group_rank(world, &rank);
        MPI_Group_size(world, &size);
        snprintf(tag, sizeof tag, "thread %d", w->number);
        bad += MPI_Comm_create_from_group(world, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &all) !=
               MPI_SUCCESS;
        int range[1][3] = { { 0, size - 1 - w->number % size, 1 } };
        MPI_Group_range_incl(world, 1, range, &part);
        if (rank <= range[0][1]) {
            bad += MPI_Comm_create_from_group(part, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &some) !=
                   MPI_SUCCESS;
            check(w, some, 1000 * w->number + i);
            MPI_Comm_free(&some);
        }
        check(w, all, 2000 * w->number + i);
        MPI_Comm_free(&all);
        MPI_Group_free(&part);
        MPI_Group_free(&world);
        if (w->shared == MPI_SESSION_NULL) {
            bad += MPI_Session_finalize(&s) != MPI_SUCCESS;
        }
        w->failed += bad;
    }
    return NULL;
}

static void all_threads(MPI_Session shared, int rank)
{
    pthread_t t[N_THREAD];
    struct work w[N_THREAD];
    for (int i = 0; i < N_THREAD; i++) {
        int k = (i + rank) % N_THREAD;
        w[k] = (struct work){ k, shared, 0 };
        T_MUST(pthread_create(&t[k], NULL, run, &w[k]) == 0);
    }
    for (int i = 0; i < N_THREAD; i++) {
        pthread_join(t[i], NULL);
        T_EQ(w[i].failed, 0);
    }
}

int main(void)
{
    int rank, size;
    all_threads(MPI_SESSION_NULL, getpid() % N_THREAD);
    MPI_Session s = s_open_threads();
    s_world(s, &rank, &size);
    all_threads(s, rank);
    T_MPI(MPI_Session_finalize(&s));
    return t_status();
}
