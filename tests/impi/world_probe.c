// SPDX-License-Identifier: BSD-3-Clause
// Matched probes: what they find is received by whoever has the handle, and by nobody else.
#include "world.h"
#include <stdlib.h>

enum { LONG = 90000 };

static int value(int from, int i)
{
    return from * 100000 + i;
}

// Each rank sends everybody a short and a long message and an empty one, under one tag.
static void send_all(int me, int n, int *big, MPI_Request *req)
{
    for (int i = 0; i < LONG; i++) {
        big[i] = value(me, i);
    }
    for (int r = 0; r < n; r++) {
        MPI_Isend(big, 3, MPI_INT, r, 70, MPI_COMM_WORLD, &req[3 * r]);
        MPI_Isend(big, LONG, MPI_INT, r, 70, MPI_COMM_WORLD, &req[3 * r + 1]);
        MPI_Isend(NULL, 0, MPI_INT, r, 70, MPI_COMM_WORLD, &req[3 * r + 2]);
    }
}

// The k-th message of `from`.
static void take(MPI_Message *message, const MPI_Status *found, int from, int k, int is_blocking,
                 int *in)
{
    static const int want[] = { 3, LONG, 0 };
    int count;
    MPI_Status st;
    MPI_Get_count(found, MPI_INT, &count);
    CHECK(count == want[k] && found->MPI_SOURCE == from && found->MPI_TAG == 70);
    in[0] = -1;
    if (is_blocking) {
        MPI_Mrecv(in, count, MPI_INT, message, &st);
    } else {
        MPI_Request req;
        MPI_Imrecv(in, count, MPI_INT, message, &req);
        MPI_Wait(&req, &st);
        CHECK(req == MPI_REQUEST_NULL);
    }
    CHECK(*message == MPI_MESSAGE_NULL);
    CHECK(st.MPI_SOURCE == from && st.MPI_TAG == 70);
    MPI_Get_count(&st, MPI_INT, &count);
    CHECK(count == want[k]);
    for (int i = 0; i < count; i++) {
        CHECK(in[i] == value(from, i));
    }
}

static void from_anybody(int me, int n)
{
    int *out = malloc(LONG * sizeof *out), *in = malloc(LONG * sizeof *in);
    int *seen = calloc((size_t)n, sizeof *seen);
    MPI_Request *req = malloc(3 * (size_t)n * sizeof *req);
    send_all(me, n, out, req);
    for (int k = 0; k < 3 * n; k++) {
        MPI_Message message;
        MPI_Status st;
        int flag = 0;
        if (k % 2 == 0) {
            MPI_Mprobe(MPI_ANY_SOURCE, 70, MPI_COMM_WORLD, &message, &st);
        } else {
            while (flag == 0) {
                MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &st);
            }
        }
        take(&message, &st, st.MPI_SOURCE, seen[st.MPI_SOURCE]++, k % 4 < 2, in);
    }
    MPI_Waitall(3 * n, req, MPI_STATUSES_IGNORE);
    free(out);
    free(in);
    free(seen);
    free(req);
}

// A handle keeps its message: receives and probes after it get the ones behind, in any order.
static void held_back(int me, int n)
{
    MPI_Message *held = malloc((size_t)n * sizeof *held);
    MPI_Request *req = malloc(2 * (size_t)n * sizeof *req);
    MPI_Status st;
    int v[2] = { me, me + 1000 }, got, flag;
    for (int r = 0; r < n; r++) {
        MPI_Isend(&v[0], 1, MPI_INT, r, 71, MPI_COMM_WORLD, &req[2 * r]);
        MPI_Isend(&v[1], 1, MPI_INT, r, 71, MPI_COMM_WORLD, &req[2 * r + 1]);
    }
    for (int r = 0; r < n; r++) {
        MPI_Mprobe(r, 71, MPI_COMM_WORLD, &held[r], &st);
        CHECK(st.MPI_SOURCE == r);
    }
    for (int r = 0; r < n; r++) {
        MPI_Recv(&got, 1, MPI_INT, r, 71, MPI_COMM_WORLD, &st);
        CHECK(got == r + 1000 && st.MPI_SOURCE == r);
    }
    MPI_Iprobe(MPI_ANY_SOURCE, 71, MPI_COMM_WORLD, &flag, &st);
    CHECK(flag == 0);
    for (int r = n - 1; r >= 0; r--) { // what was found first, last
        MPI_Mrecv(&got, 1, MPI_INT, &held[r], &st);
        CHECK(got == r && st.MPI_SOURCE == r);
    }
    MPI_Waitall(2 * n, req, MPI_STATUSES_IGNORE);
    free(held);
    free(req);
}

// A synchronous send waits for the receive of what was probed; a message that is too long is an
// error, and nobody is none.
static void edges(int me, int n)
{
    int next = (me + 1) % n, before = (me + n - 1) % n, v = me, got[2] = { -1, -1 }, flag,
        class = 0;
    MPI_Message message;
    MPI_Request req;
    MPI_Status st;
    MPI_Comm comm;
    MPI_Issend(&v, 1, MPI_INT, next, 72, MPI_COMM_WORLD, &req);
    MPI_Mprobe(before, 72, MPI_COMM_WORLD, &message, &st);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Test(&req, &flag, MPI_STATUS_IGNORE);
    CHECK(flag == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Mrecv(got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    CHECK(got[0] == before);
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &st);
    CHECK(message == MPI_MESSAGE_NO_PROC && st.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Mrecv(got, 1, MPI_INT, &message, &st);
    CHECK(st.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); // which MPICH asks in MPI_Mrecv
    MPI_Isend(got, 2, MPI_INT, next, 73, comm, &req);
    MPI_Mprobe(before, 73, comm, &message, &st);
    MPI_Error_class(MPI_Mrecv(&v, 1, MPI_INT, &message, MPI_STATUS_IGNORE), &class);
    CHECK(class == MPI_ERR_TRUNCATE);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
}

void world_matched_probes(int me, int n)
{
    from_anybody(me, n);
    MPI_Barrier(MPI_COMM_WORLD);
    held_back(me, n);
    MPI_Barrier(MPI_COMM_WORLD);
    edges(me, n);
}
