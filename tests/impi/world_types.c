// SPDX-License-Identifier: BSD-3-Clause
// Datatypes whose elements need care on their way to another client.
#include "world.h"
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 1024, LEN = 128, STRIDE = 256, N_INT = BLOCKS * STRIDE };

static int is_filled(const int *v, int salt)
{
    for (int b = 0; b < BLOCKS; b++) {
        for (int i = 0; i < LEN; i++) {
            if (v[b * STRIDE + i] != b * LEN + i + salt) {
                return 0;
            }
        }
        if (v[b * STRIDE + LEN] != -1) { // the gap
            return 0;
        }
    }
    return 1;
}

static void fill(int *v, int salt)
{
    for (int b = 0; b < BLOCKS; b++) {
        for (int i = 0; i < STRIDE; i++) {
            v[b * STRIDE + i] = i < LEN ? b * LEN + i + salt : -1;
        }
    }
}

// One element that is larger than a packet of the protocol and is not contiguous.
void world_large_element(int me, int n)
{
    MPI_Datatype type;
    MPI_Request req;
    int *v = malloc(N_INT * sizeof *v), last = n - 1;
    MPI_Type_vector(BLOCKS, LEN, STRIDE, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int k = 0; k < 9 && n > 1; k++) {
        if (me == 0) {
            fill(v, k);
            if (k % 3 == 0) {
                MPI_Send(v, 1, type, last, k, MPI_COMM_WORLD);
            } else if (k % 3 == 1) {
                MPI_Ssend(v, 1, type, last, k, MPI_COMM_WORLD);
            } else {
                MPI_Isend(v, 1, type, last, k, MPI_COMM_WORLD, &req);
                MPI_Wait(&req, MPI_STATUS_IGNORE);
            }
        } else if (me == last) {
            memset(v, -1, N_INT * sizeof *v);
            MPI_Recv(v, 1, type, 0, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(is_filled(v, k));
        }
    }
    for (int k = 0; k < 3; k++) {
        memset(v, -1, N_INT * sizeof *v);
        if (me == k % n) {
            fill(v, k);
        }
        MPI_Bcast(v, 1, type, k % n, MPI_COMM_WORLD);
        CHECK(is_filled(v, k));
    }
    MPI_Type_free(&type);
    free(v);
}

enum { N_SIZE = 4 };
static const int sizes[N_SIZE] = { 1, 5, 3000, 200000 };

static void fill_doubles(double *v, int n, int from)
{
    for (int i = 0; i < n; i++) {
        v[i] = from * 1.5 + i;
    }
}

static int are_doubles(const double *v, int n, int from)
{
    for (int i = 0; i < n; i++) {
        if (v[i] != from * 1.5 + i) {
            return 0;
        }
    }
    return 1;
}

// To `to` as MPI_PACKED, from `from` as what it was before it was packed.
static void packed_to_typed(int me, int to, int from, int n, int mode)
{
    double *v = malloc((size_t)n * sizeof *v);
    int size, pos = 0, count = -1;
    MPI_Request req;
    MPI_Status st;
    MPI_Pack_size(n, MPI_DOUBLE, MPI_COMM_WORLD, &size);
    char *buf = malloc((size_t)size);
    fill_doubles(v, n, me);
    MPI_Pack(v, n, MPI_DOUBLE, buf, size, &pos, MPI_COMM_WORLD);
    memset(v, 0, (size_t)n * sizeof *v);
    if (mode == 0) {
        MPI_Irecv(v, n, MPI_DOUBLE, from, 70, MPI_COMM_WORLD, &req);
        MPI_Send(buf, pos, MPI_PACKED, to, 70, MPI_COMM_WORLD);
        MPI_Wait(&req, &st);
    } else if (mode == 1) {
        MPI_Issend(buf, pos, MPI_PACKED, to, 71, MPI_COMM_WORLD, &req);
        MPI_Probe(from, 71, MPI_COMM_WORLD, &st);
        MPI_Get_count(&st, MPI_DOUBLE, &count);
        CHECK(count == n);
        MPI_Recv(v, n, MPI_DOUBLE, from, 71, MPI_COMM_WORLD, &st);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    } else {
        MPI_Isend(buf, pos, MPI_PACKED, to, 72, MPI_COMM_WORLD, &req);
        MPI_Recv(v, n, MPI_DOUBLE, from, 72, MPI_COMM_WORLD, &st);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    }
    MPI_Get_count(&st, MPI_DOUBLE, &count);
    CHECK(count == n && st.MPI_SOURCE == from && are_doubles(v, n, from));
    free(buf);
    free(v);
}

// The other way round: sent as numbers, received as MPI_PACKED, and unpacked.
static void typed_to_packed(int me, int to, int from, int n, int mode)
{
    double *v = malloc((size_t)n * sizeof *v);
    int size, pos = 0, count = -1;
    MPI_Request req;
    MPI_Status st;
    MPI_Pack_size(n, MPI_DOUBLE, MPI_COMM_WORLD, &size);
    char *buf = malloc((size_t)size);
    fill_doubles(v, n, me);
    if (mode == 0) {
        MPI_Irecv(buf, size, MPI_PACKED, from, 73, MPI_COMM_WORLD, &req);
        MPI_Send(v, n, MPI_DOUBLE, to, 73, MPI_COMM_WORLD);
        MPI_Wait(&req, &st);
    } else if (mode == 1) {
        void *attached = malloc((size_t)size + MPI_BSEND_OVERHEAD);
        MPI_Buffer_attach(attached, size + MPI_BSEND_OVERHEAD);
        MPI_Bsend(v, n, MPI_DOUBLE, to, 74, MPI_COMM_WORLD);
        MPI_Recv(buf, size, MPI_PACKED, from, 74, MPI_COMM_WORLD, &st);
        MPI_Buffer_detach(&attached, &count);
        free(attached);
    } else {
        MPI_Isend(v, n, MPI_DOUBLE, to, 75, MPI_COMM_WORLD, &req);
        MPI_Probe(from, 75, MPI_COMM_WORLD, &st);
        MPI_Recv(buf, size, MPI_PACKED, from, 75, MPI_COMM_WORLD, &st);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    }
    MPI_Get_count(&st, MPI_PACKED, &count);
    CHECK(count == size);
    memset(v, 0, (size_t)n * sizeof *v);
    MPI_Unpack(buf, count, &pos, v, n, MPI_DOUBLE, MPI_COMM_WORLD);
    CHECK(are_doubles(v, n, from));
    free(buf);
    free(v);
}

// Between processes of one client of another MPI the data is that MPI's, which does not know that
// packed data is external32 here: such neighbours leave it out.
void world_packed(int me, int n)
{
    int is_ours = !world_is_foreign(), all_ours = 0;
    MPI_Allreduce(&is_ours, &all_ours, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    for (int by = 0; by < n && all_ours; by++) {
        int to = (me + by) % n, from = (me + n - by) % n;
        for (int k = 0; k < N_SIZE * 3; k++) {
            packed_to_typed(me, to, from, sizes[k / 3], by == 0 && k % 3 == 1 ? 2 : k % 3);
            typed_to_packed(me, to, from, sizes[k / 3], k % 3);
        }
    }
    if (all_ours) { // elements of several types cannot be converted by who receives them
        struct {
            int i;
            double d;
        } v = { me, me };
        int class = 0, lens[2] = { 1, 1 };
        char buf[64];
        MPI_Aint at[2] = { 0, (char *)&v.d - (char *)&v };
        MPI_Datatype of[2] = { MPI_INT, MPI_DOUBLE }, type;
        MPI_Comm copy;
        MPI_Request req;
        MPI_Type_create_struct(2, lens, at, of, &type);
        MPI_Type_commit(&type);
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
        MPI_Isend(&v, 1, type, me, 76, copy, &req);
        int code = MPI_Recv(buf, sizeof buf, MPI_PACKED, me, 76, copy, MPI_STATUS_IGNORE);
        MPI_Error_class(code, &class);
        CHECK(n == 1 || class == MPI_ERR_TYPE);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        MPI_Comm_free(&copy);
        MPI_Type_free(&type);
    }
}

// Longs that need all of their bytes, a number beside them, and addresses instead of a buffer.
void world_longs(int me, int n)
{
    long v[2] = { 3000000000L + me, -5 }, sum[2] = { 0, 0 }, got[2] = { 0, 0 };
    int next = (me + 1) % n, before = (me + n - 1) % n, one = 1;
    MPI_Status st;
    MPI_Aint at;
    MPI_Datatype here, of = MPI_LONG;
    MPI_Allreduce(v, sum, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum[0] == 3000000000L * n + (long)n * (n - 1) / 2 && sum[1] == -5L * n);
    MPI_Sendrecv(v, 2, MPI_LONG, next, 80, got, 2, MPI_LONG, before, 80, MPI_COMM_WORLD, &st);
    CHECK(got[0] == 3000000000L + before && got[1] == -5);
    MPI_Get_address(&got[0], &at);
    MPI_Type_create_struct(1, &one, &at, &of, &here);
    MPI_Type_commit(&here);
    for (int root = 0; root < n; root++) {
        got[0] = me == root ? 4000000000L + root : 0;
        MPI_Bcast(MPI_BOTTOM, 1, here, root, MPI_COMM_WORLD);
        CHECK(got[0] == 4000000000L + root);
    }
    MPI_Send(MPI_BOTTOM, 0, here, next, 81, MPI_COMM_WORLD);
    MPI_Recv(MPI_BOTTOM, 1, here, before, 81, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    got[0] = me;
    MPI_Request req;
    MPI_Isend(v, 1, MPI_LONG, next, 82, MPI_COMM_WORLD, &req);
    MPI_Recv(MPI_BOTTOM, 1, here, before, 82, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    CHECK(got[0] == 3000000000L + before);
    MPI_Type_free(&here);
}

// Where the clients cannot agree on longs of 8 bytes: an error, and at every rank.
void world_overflow(int me, int n)
{
    long v = me == n - 1 ? 3000000000L : 1, sum = 0;
    int class = 0;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Allreduce(&v, &sum, 1, MPI_LONG, MPI_SUM, comm), &class);
    CHECK(class == MPI_ERR_CONVERSION);
    MPI_Error_class(MPI_Bcast(&v, 1, MPI_LONG, n - 1, comm), &class);
    CHECK(class == MPI_ERR_CONVERSION);
    if (me == n - 1) {
        MPI_Error_class(MPI_Send(&v, 1, MPI_LONG, 0, 83, comm), &class);
        CHECK(class == MPI_ERR_CONVERSION);
    }
    v = 1;
    MPI_Allreduce(&v, &sum, 1, MPI_LONG, MPI_SUM, comm); // and it works again
    CHECK(sum == n);
    MPI_Comm_free(&comm);
}
