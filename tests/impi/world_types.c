// SPDX-License-Identifier: BSD-3-Clause
// Datatypes whose elements need care on their way to another client.
#include "world.h"
#include <impi.h>
#include <stdbool.h>
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

// Room for more than comes, bytes, and packed data whose length was asked for before.
static void packed_in_room(int me, int to, int from, int n)
{
    double *v = malloc((size_t)(2 * n + 4) * sizeof *v);
    int size, pos = 0, count = -1;
    MPI_Request req[2];
    MPI_Status st;
    MPI_Pack_size(n, MPI_DOUBLE, MPI_COMM_WORLD, &size);
    char *buf = malloc((size_t)size), *got = malloc((size_t)size);
    fill_doubles(v, n, me);
    MPI_Pack(v, n, MPI_DOUBLE, buf, size, &pos, MPI_COMM_WORLD);
    MPI_Isend(buf, pos, MPI_PACKED, to, 77, MPI_COMM_WORLD, &req[0]);
    MPI_Recv(v, 2 * n + 4, MPI_DOUBLE, from, 77, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_DOUBLE, &count);
    CHECK(count == n && are_doubles(v, n, from));
    MPI_Wait(&req[0], MPI_STATUS_IGNORE);
    MPI_Isend(buf, pos, MPI_PACKED, to, 78, MPI_COMM_WORLD, &req[0]);
    MPI_Send_init(buf, pos, MPI_PACKED, to, 78, MPI_COMM_WORLD, &req[1]);
    MPI_Start(&req[1]);
    MPI_Probe(from, 78, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_PACKED, &count);
    CHECK(count == size);
    for (int k = 0; k < 2; k++) {
        MPI_Recv(got, size, k == 0 ? MPI_PACKED : MPI_BYTE, from, 78, MPI_COMM_WORLD, &st);
        MPI_Get_count(&st, MPI_BYTE, &count);
        CHECK(count == size);
        memset(v, 0, (size_t)n * sizeof *v);
        pos = 0;
        MPI_Unpack(got, size, &pos, v, n, MPI_DOUBLE, MPI_COMM_WORLD);
        CHECK(are_doubles(v, n, from));
    }
    MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
    MPI_Request_free(&req[1]);
    free(got);
    free(buf);
    free(v);
}

// Numbers of several types that are received as MPI_PACKED; bytes, too, and what is then done with
// them. Between processes of one client of Pliant MPI those of several types are an error.
static void mixed_to_packed(MPI_Comm comm, int me, int to, int from, int is_ours)
{
    struct {
        int i;
        double d;
    } v = { 1 + me, me + 0.5 };
    int lens[2] = { 1, 1 }, pos = 0, i = -1, class = 0, code;
    double d = -1;
    char buf[64], copy[64], text[6] = "hello", got[6] = "";
    MPI_Aint at[2] = { 0, (char *)&v.d - (char *)&v };
    MPI_Datatype of[2] = { MPI_INT, MPI_DOUBLE }, type;
    MPI_Request req;
    MPI_Type_create_struct(2, lens, at, of, &type);
    MPI_Type_commit(&type);
    MPI_Isend(&v, 1, type, to, 76, comm, &req);
    code = MPI_Recv(buf, sizeof buf, MPI_PACKED, from, 76, comm, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) {
        v.i = 0;
        v.d = 0;
        MPI_Isend(buf, 12, MPI_PACKED, me, 77, comm, &req); // it goes on as it came
        MPI_Recv(&v, 1, type, me, 77, comm, MPI_STATUS_IGNORE);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        CHECK(v.i == 1 + from && v.d == from + 0.5);
        memcpy(copy, buf, sizeof buf);
        MPI_Unpack(buf, sizeof buf, &pos, &i, 1, MPI_INT, comm);
        MPI_Unpack(buf, sizeof buf, &pos, &d, 1, MPI_DOUBLE, comm);
        CHECK(i == 1 + from && d == from + 0.5 && pos == 12);
        pos = 0; // a copy is right, or an error
        code = MPI_Unpack(copy, sizeof copy, &pos, &i, 1, MPI_INT, comm);
        CHECK(code != MPI_SUCCESS || i == 1 + from);
        pos = 0; // other data in the same place
        i = 77 + me;
        MPI_Pack(&i, 1, MPI_INT, buf, sizeof buf, &pos, comm);
        pos = 0;
        i = 0;
        MPI_Unpack(buf, sizeof buf, &pos, &i, 1, MPI_INT, comm);
        CHECK(i == 77 + me);
    } else {
        CHECK(is_ours && class == MPI_ERR_TYPE);
    }
    MPI_Type_free(&type);
    MPI_Isend(text, 6, MPI_CHAR, to, 79, comm, &req);
    CHECK(MPI_Recv(buf, sizeof buf, MPI_PACKED, from, 79, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    pos = 0;
    MPI_Unpack(buf, 6, &pos, got, 6, MPI_CHAR, comm);
    CHECK(strcmp(got, "hello") == 0);
}

enum { N_KIND = 9, ROOM = 64 };

// Integers with gaps, made by each kind of constructor, for int or for large counts.
#define GAPS(name, form, count_t, aint_t)                                                          \
    static MPI_Datatype name(int kind)                                                             \
    {                                                                                              \
        count_t lens[2] = { 2, 1 }, places[2] = { 1, 5 }, whole[2] = { 6, 5 },                     \
                parts[2] = { 3, 2 };                                                               \
        count_t starts[2] = { 2, 1 };                                                              \
        aint_t bytes[2] = { 4, 28 };                                                               \
        MPI_Datatype type, of[2] = { MPI_INT, MPI_FLOAT };                                         \
        int ways[2] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK };                             \
        int args[2] = { 2, MPI_DISTRIBUTE_DFLT_DARG }, grid[2] = { 2, 1 };                         \
        kind == 0   ? MPI_Type_vector##form(3, 2, 4, MPI_INT, &type)                               \
        : kind == 1 ? MPI_Type_create_hvector##form(3, 1, 12, MPI_INT, &type)                      \
        : kind == 2 ? MPI_Type_indexed##form(2, lens, places, MPI_INT, &type)                      \
        : kind == 3 ? MPI_Type_create_hindexed##form(2, lens, bytes, MPI_INT, &type)               \
        : kind == 4 ? MPI_Type_create_indexed_block##form(2, 2, places, MPI_INT, &type)            \
        : kind == 5 ? MPI_Type_create_hindexed_block##form(2, 2, bytes, MPI_INT, &type)            \
        : kind == 6 ? MPI_Type_create_struct##form(2, lens, bytes, of, &type)                      \
        : kind == 7                                                                                \
            ? MPI_Type_create_subarray##form(2, whole, parts, starts, MPI_ORDER_C, MPI_INT, &type) \
            : MPI_Type_create_darray##form(2, 1, 2, whole, ways, args, grid, MPI_ORDER_FORTRAN,    \
                                           MPI_INT, &type);                                        \
        MPI_Type_commit(&type);                                                                    \
        return type;                                                                               \
    }
GAPS(make_gaps, , int, MPI_Aint)
#if MPI_VERSION >= 4
GAPS(make_large, _c, MPI_Count, MPI_Count)
#else
#define make_large make_gaps
#endif

// Packed numbers are received with gaps, and put into a window with gaps.
static void large_gaps(int me, int n)
{
    int before = (me + n - 1) % n, next = (me + 1) % n, *mem;
    MPI_Win win;
    MPI_Win_allocate(ROOM * sizeof *mem, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    for (int kind = 0; kind < N_KIND; kind++) {
        MPI_Datatype small = make_gaps(kind), large = make_large(kind);
        int v[ROOM], want[ROOM], got[ROOM], pos = 0, size, count;
        char buf[4 * ROOM];
        MPI_Request req;
        MPI_Status st;
        MPI_Type_size(small, &size);
        for (int i = 0; i < ROOM; i++) {
            v[i] = i + 1;
            want[i] = got[i] = mem[i] = -1;
        }
        MPI_Pack(v, size / 4, MPI_INT, buf, sizeof buf, &pos, MPI_COMM_WORLD);
        if (kind == 6) { // the last of them is a float
            float f = 0.5f;
            pos -= 4;
            MPI_Pack(&f, 1, MPI_FLOAT, buf, sizeof buf, &pos, MPI_COMM_WORLD);
        }
        int at = 0;
        MPI_Unpack(buf, pos, &at, want, 1, small, MPI_COMM_WORLD);
        for (int to = 0; to < 2; to++) { // this process, and the next one
            MPI_Isend(buf, pos, MPI_PACKED, to == 0 ? me : next, 82, MPI_COMM_WORLD, &req);
            memset(got, -1, sizeof got);
            MPI_Recv(got, 2, large, to == 0 ? me : before, 82, MPI_COMM_WORLD, &st);
            MPI_Wait(&req, MPI_STATUS_IGNORE);
            MPI_Get_count(&st, large, &count);
            CHECK(count == 1 && memcmp(got, want, sizeof got) == 0);
        }
        MPI_Win_fence(0, win);
        MPI_Put(want, 1, small, next, 0, 1, large, win);
        MPI_Win_fence(0, win);
        CHECK(memcmp(mem, want, sizeof want) == 0);
        MPI_Type_free(&small);
        MPI_Type_free(&large);
    }
    MPI_Win_free(&win);
}

// Between processes of one client of another MPI nobody knows before a message is received whether
// it is packed.
void world_packed(int me, int n)
{
    int is_ours = !world_is_foreign(), all_ours = 0;
    MPI_Allreduce(&is_ours, &all_ours, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    for (int by = 0; by < n; by++) {
        int to = (me + by) % n, from = (me + n - by) % n;
        for (int k = 0; k < (all_ours ? N_SIZE : N_SIZE - 1) * 3; k++) {
            bool may_ask = all_ours && by > 0;
            packed_to_typed(me, to, from, sizes[k / 3], !may_ask && k % 3 == 1 ? 2 : k % 3);
            typed_to_packed(me, to, from, sizes[k / 3], k % 3);
            if (k % 3 == 0) {
                packed_in_room(me, to, from, sizes[k / 3]);
            }
        }
    }
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    for (int by = 0; by < n; by++) {
        mixed_to_packed(copy, me, (me + by) % n, (me + n - by) % n, is_ours);
    }
    MPI_Comm_free(&copy);
    large_gaps(me, n);
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
