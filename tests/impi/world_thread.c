// SPDX-License-Identifier: BSD-3-Clause
// Several threads of a rank at once, each with a communicator of its own: messages, probes and
// collectives of all of them are under way together.
#include "world.h"
#include <pthread.h>
#include <stdlib.h>

enum { N_THREAD = 4, ROUNDS = 12, LONG = 50000 };

struct work {
    MPI_Comm comm, pair;
    int index;
};

static void pass_on(struct work *w, int me, int n, int round, int *out, int *in)
{
    int next = (me + 1) % n, before = (me + n - 1) % n, count = round % 3 == 0 ? LONG : round;
    MPI_Request req[2];
    MPI_Status st;
    for (int i = 0; i < count; i++) {
        out[i] = me + i * (w->index + 1);
    }
    if (round % 2 == 0) {
        MPI_Irecv(in, count, MPI_INT, before, round, w->comm, &req[0]);
        MPI_Isend(out, count, MPI_INT, next, round, w->comm, &req[1]);
        MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
    } else {
        MPI_Message message;
        MPI_Isend(out, count, MPI_INT, next, round, w->comm, &req[0]);
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, w->comm, &message, &st);
        CHECK(st.MPI_SOURCE == before && st.MPI_TAG == round);
        MPI_Mrecv(in, count, MPI_INT, &message, MPI_STATUS_IGNORE);
        MPI_Wait(&req[0], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < count; i++) {
        CHECK(in[i] == before + i * (w->index + 1));
    }
}

// Communicators, while other threads make some of their own parents.
static void make_some(struct work *w, int me, int n)
{
    MPI_Comm copy, half;
    int side = me % 2, size, sum, one = 1;
    MPI_Comm_dup(w->comm, &copy);
    MPI_Comm_split(copy, side, me, &half);
    MPI_Comm_size(half, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
    CHECK(sum == size);
    MPI_Allreduce(&w->index, &sum, 1, MPI_INT, MPI_SUM, copy);
    CHECK(sum == n * w->index);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
}

// Inter-communicators, and one of the members that call alone, while other threads make theirs.
static void make_across(struct work *w, int me, int n)
{
    MPI_Comm half, inter, both, few;
    MPI_Group all, some;
    int side = me % 2, sum, one = 1, size, range[1][3] = { { 0, n - 2, 1 } };
    MPI_Comm_split(w->comm, side, me, &half);
    MPI_Intercomm_create(half, 0, w->comm, 1 - side, 3, &inter);
    MPI_Comm_remote_size(inter, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == size);
    MPI_Intercomm_merge(inter, side, &both);
    MPI_Allreduce(&w->index, &sum, 1, MPI_INT, MPI_SUM, both);
    CHECK(sum == n * w->index);
    MPI_Comm_free(&both);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Comm_group(w->comm, &all);
    MPI_Group_range_incl(all, 1, range, &some);
    if (me < n - 1) {
        MPI_Comm_create_group(w->comm, some, 5, &few);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, few);
        CHECK(sum == n - 1);
        MPI_Comm_free(&few);
    }
    MPI_Group_free(&some);
    MPI_Group_free(&all);
}

static void *live(void *arg)
{
    struct work *w = arg;
    int me, n, size, *out = malloc(LONG * sizeof *out), *in = malloc(LONG * sizeof *in);
    MPI_Comm_rank(w->comm, &me);
    MPI_Comm_size(w->comm, &n);
    MPI_Comm_size(w->pair, &size);
    for (int round = 1; round <= ROUNDS; round++) {
        int mine = me * round + w->index, sum = 0;
        pass_on(w, me, n, round, out, in);
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, w->comm);
        CHECK(sum == n * (n - 1) / 2 * round + n * w->index);
        mine = 1;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, w->pair);
        CHECK(sum == size);
        if (round % 4 == 0) {
            make_some(w, me, n);
            make_across(w, me, n);
            MPI_Barrier(w->comm);
        }
    }
    free(out);
    free(in);
    return NULL;
}

void world_threads(int me)
{
    struct work work[N_THREAD];
    pthread_t thread[N_THREAD];
    int level;
    MPI_Query_thread(&level);
    CHECK(level == MPI_THREAD_MULTIPLE);
    for (int i = 0; i < N_THREAD; i++) { // of one parent: one after the other
        work[i].index = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &work[i].comm);
        MPI_Comm_split(MPI_COMM_WORLD, me / 2, me, &work[i].pair);
    }
    for (int i = 0; i < N_THREAD; i++) {
        CHECK(pthread_create(&thread[i], NULL, live, &work[i]) == 0);
    }
    for (int i = 0; i < N_THREAD; i++) {
        pthread_join(thread[i], NULL);
        MPI_Comm_free(&work[i].comm);
        MPI_Comm_free(&work[i].pair);
    }
}

// Some ranks have something under way with others while neighbours do a collective; and messages a
// program sends itself are its own, whatever collectives do meanwhile.
void world_busy(int me, int n)
{
    int far = (me + n / 2) % n, back = (me + n - n / 2) % n, got = -1, sum, v, self = -1;
    MPI_Comm pair;
    MPI_Request req, to_self;
    MPI_Comm_split(MPI_COMM_WORLD, me / 2, me, &pair);
    for (int round = 0; round < 3; round++) {
        v = 7 * me + round;
        MPI_Isend(&v, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &to_self);
        if (me % 2 == 0) {
            MPI_Irecv(&got, 1, MPI_INT, back, 80, MPI_COMM_WORLD, &req);
        }
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, pair);
        CHECK(sum == (me / 2 * 2 + 1 < n ? me / 2 * 4 + 1 : me));
        MPI_Barrier(pair);
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == n * (n - 1) / 2);
        if (far % 2 == 0) {
            MPI_Send(&me, 1, MPI_INT, far, 80, MPI_COMM_WORLD);
        }
        if (me % 2 == 0) {
            MPI_Wait(&req, MPI_STATUS_IGNORE);
            CHECK(got == back);
        }
        MPI_Recv(&self, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Wait(&to_self, MPI_STATUS_IGNORE);
        CHECK(self == v);
    }
    MPI_Comm_free(&pair);
}
