// SPDX-License-Identifier: BSD-3-Clause
// An ordinary MPI program that checks what it gets. It knows nothing of IMPI and runs on any number
// of ranks under any MPI; in the tests, under several at once.  usage: world [part...] [-part...]
#include "world.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me, n;
static const char *part = "start";

void world_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: rank %d of %d, part %s: not so: %s\n", file, line, me, n, part, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static double value(int from, int to, int i)
{
    return from * 1000.0 + to * 10.0 + i * 0.5;
}

// Every rank to every rank, in lengths around those where the way of sending changes.
static void pairs(void)
{
    static const int len[] = { 0, 1, 100, 8192, 8193, 50000 };
    for (int k = 0; k < 6; k++) {
        int count = len[k];
        MPI_Request *req = malloc(2 * (size_t)n * sizeof *req);
        double *out = malloc((size_t)n * (size_t)(count + 1) * sizeof *out);
        double *in = malloc((size_t)n * (size_t)(count + 1) * sizeof *in);
        for (int r = 0; r < n; r++) {
            MPI_Irecv(in + (size_t)r * (size_t)(count + 1), count, MPI_DOUBLE, r, 7 + k,
                      MPI_COMM_WORLD, &req[r]);
        }
        for (int r = 0; r < n; r++) {
            double *p = out + (size_t)r * (size_t)(count + 1);
            for (int i = 0; i < count; i++) {
                p[i] = value(me, r, i);
            }
            MPI_Isend(p, count, MPI_DOUBLE, r, 7 + k, MPI_COMM_WORLD, &req[n + r]);
        }
        MPI_Status *st = malloc(2 * (size_t)n * sizeof *st);
        MPI_Waitall(2 * n, req, st);
        for (int r = 0; r < n; r++) {
            int got = -1;
            MPI_Get_count(&st[r], MPI_DOUBLE, &got);
            CHECK(got == count);
            CHECK(st[r].MPI_SOURCE == r);
            CHECK(st[r].MPI_TAG == 7 + k);
            for (int i = 0; i < count; i++) {
                CHECK(in[(size_t)r * (size_t)(count + 1) + (size_t)i] == value(r, me, i));
            }
        }
        free(req);
        free(out);
        free(in);
        free(st);
    }
}

static void ring(void)
{
    int next = (me + 1) % n, before = (me + n - 1) % n, token = me, got;
    MPI_Status st;
    for (int i = 0; i < n; i++) {
        MPI_Sendrecv(&token, 1, MPI_INT, next, i, &got, 1, MPI_INT, before, i, MPI_COMM_WORLD, &st);
        CHECK(st.MPI_SOURCE == before && st.MPI_TAG == i);
        token = got;
        CHECK(token == (me + n - 1 - i) % n);
    }
    token = me;
    MPI_Sendrecv_replace(&token, 1, MPI_INT, next, 3, before, 3, MPI_COMM_WORLD, &st);
    CHECK(token == before);
}

// Rank 0 takes from anybody; each sender's messages come in order.
static void wild(void)
{
    enum { EACH = 20 };
    if (me != 0) {
        for (int i = 0; i < EACH; i++) {
            int v[3] = { me, i, me * i };
            MPI_Send(v, 1 + i % 3, MPI_INT, 0, 40 + i % 2, MPI_COMM_WORLD);
        }
        return;
    }
    int *seen = calloc((size_t)n, sizeof *seen);
    for (int k = 0; k < EACH * (n - 1); k++) {
        int v[3] = { -1, -1, -1 }, count;
        MPI_Status st, probed;
        MPI_Request req;
        if (k % 3 == 0) {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &probed);
            MPI_Get_count(&probed, MPI_INT, &count);
            MPI_Recv(v, count, MPI_INT, probed.MPI_SOURCE, probed.MPI_TAG, MPI_COMM_WORLD, &st);
            CHECK(st.MPI_SOURCE == probed.MPI_SOURCE && st.MPI_TAG == probed.MPI_TAG);
        } else if (k % 3 == 1) {
            MPI_Recv(v, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
        } else {
            MPI_Irecv(v, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &req);
            MPI_Wait(&req, &st);
        }
        MPI_Get_count(&st, MPI_INT, &count);
        int i = seen[st.MPI_SOURCE]++;
        CHECK(v[0] == st.MPI_SOURCE);
        CHECK(count == 1 + i % 3);
        CHECK(st.MPI_TAG == 40 + i % 2);
        CHECK(count < 2 || v[1] == i);
    }
    free(seen);
}

// A receive from MPI_ANY_SOURCE, then one from somebody: the first message must go to the first.
static void wild_order(void)
{
    int a = -1, b = -1, go = 1;
    if (n < 2) {
        return;
    }
    for (int from = 1; from < n; from++) {
        if (me == 0) {
            MPI_Request req[2];
            MPI_Status st[2];
            MPI_Irecv(&a, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &req[0]);
            MPI_Irecv(&b, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &req[1]);
            MPI_Send(&go, 1, MPI_INT, from, 6, MPI_COMM_WORLD);
            MPI_Waitall(2, req, st);
            CHECK(a == 100 + from && b == 200 + from);
            CHECK(st[0].MPI_SOURCE == from && st[1].MPI_SOURCE == from);
        } else if (me == from) {
            MPI_Recv(&go, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            a = 100 + me;
            b = 200 + me;
            MPI_Send(&a, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
            MPI_Send(&b, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void modes(void)
{
    int next = (me + 1) % n, before = (me + n - 1) % n, v, got[4] = { 0 }, room;
    enum { BIG = 30000 };
    MPI_Request req[4], send;
    char *buffer;
    int *big = malloc(BIG * sizeof *big), *big_in = malloc(BIG * sizeof *big_in);
    for (int i = 0; i < 4; i++) {
        MPI_Irecv(&got[i], 1, MPI_INT, before, 20 + i, MPI_COMM_WORLD, &req[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD); // for the ready send
    v = me * 3;
    MPI_Rsend(&v, 1, MPI_INT, next, 20, MPI_COMM_WORLD);
    MPI_Issend(&v, 1, MPI_INT, next, 21, MPI_COMM_WORLD, &send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &room);
    room += MPI_BSEND_OVERHEAD;
    buffer = malloc((size_t)room);
    MPI_Buffer_attach(buffer, room);
    MPI_Bsend(&v, 1, MPI_INT, next, 22, MPI_COMM_WORLD);
    MPI_Buffer_detach(&buffer, &room);
    free(buffer);
    MPI_Ssend(&v, 1, MPI_INT, next, 23, MPI_COMM_WORLD);
    MPI_Waitall(4, req, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++) {
        CHECK(got[i] == before * 3);
    }
    // long and synchronous, with the receive posted late
    for (int i = 0; i < BIG; i++) {
        big[i] = me + i;
    }
    MPI_Issend(big, BIG, MPI_INT, next, 24, MPI_COMM_WORLD, &send);
    MPI_Recv(big_in, BIG, MPI_INT, before, 24, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    for (int i = 0; i < BIG; i++) {
        CHECK(big_in[i] == before + i);
    }
    free(big);
    free(big_in);
}

static void persistent(void)
{
    int next = (me + 1) % n, before = (me + n - 1) % n, out = 0, in, flag, index, count, which[2];
    MPI_Request req[2];
    MPI_Status st[2];
    MPI_Send_init(&out, 1, MPI_INT, next, 30, MPI_COMM_WORLD, &req[0]);
    MPI_Recv_init(&in, 1, MPI_INT, before, 30, MPI_COMM_WORLD, &req[1]);
    MPI_Waitany(2, req, &index, st);
    CHECK(index == MPI_UNDEFINED);
    for (int i = 0; i < 6; i++) {
        out = me * 10 + i;
        in = -1;
        MPI_Startall(2, req);
        if (i % 3 == 0) {
            MPI_Waitall(2, req, st);
        } else if (i % 3 == 1) {
            flag = 0;
            while (flag == 0) {
                MPI_Testall(2, req, &flag, st);
            }
        } else {
            int done = 0;
            while (done < 2) {
                MPI_Waitsome(2, req, &count, which, st);
                CHECK(count > 0);
                done += count;
            }
            MPI_Waitsome(2, req, &count, which, st);
            CHECK(count == MPI_UNDEFINED);
        }
        CHECK(in == before * 10 + i);
    }
    MPI_Request_free(&req[0]);
    MPI_Request_free(&req[1]);
    CHECK(req[0] == MPI_REQUEST_NULL);
}

struct mixed {
    char c[3];
    int i;
    double d;
    long l;
};

static void types(void)
{
    int next = (me + 1) % n, before = (me + n - 1) % n, count;
    struct mixed out[5], in[5];
    MPI_Datatype st, column, bare;
    int lens[4] = { 3, 1, 1, 1 };
    MPI_Aint at[4] = { offsetof(struct mixed, c), offsetof(struct mixed, i),
                       offsetof(struct mixed, d), offsetof(struct mixed, l) };
    MPI_Datatype of[4] = { MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_LONG };
    MPI_Type_create_struct(4, lens, at, of, &bare);
    MPI_Type_create_resized(bare, 0, sizeof(struct mixed), &st);
    MPI_Type_commit(&st);
    memset(in, 0, sizeof in);
    for (int i = 0; i < 5; i++) {
        out[i] =
            (struct mixed){ { 'a', (char)('b' + me), (char)i }, me - 7, i / 3.0, -1000000L * me };
    }
    MPI_Request req;
    MPI_Status status;
    MPI_Irecv(in, 5, st, before, 50, MPI_COMM_WORLD, &req);
    MPI_Send(out, 4, st, next, 50, MPI_COMM_WORLD);
    MPI_Wait(&req, &status);
    MPI_Get_count(&status, st, &count);
    CHECK(count == 4);
    MPI_Get_elements(&status, st, &count);
    CHECK(count == 24);
    for (int i = 0; i < 4; i++) {
        CHECK(in[i].c[1] == 'b' + before && in[i].i == before - 7 && in[i].d == i / 3.0 &&
              in[i].l == -1000000L * before);
    }
    CHECK(in[4].i == 0);
    // a column of a matrix, received as a row
    double m[6][4], row[6];
    for (int i = 0; i < 24; i++) {
        m[i / 4][i % 4] = me * 100 + i;
    }
    MPI_Type_vector(6, 1, 4, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Irecv(row, 6, MPI_DOUBLE, before, 51, MPI_COMM_WORLD, &req);
    MPI_Send(&m[0][2], 1, column, next, 51, MPI_COMM_WORLD);
    MPI_Wait(&req, &status);
    for (int i = 0; i < 6; i++) {
        CHECK(row[i] == before * 100 + i * 4 + 2);
    }
    MPI_Type_free(&column);
    MPI_Type_free(&bare);
    MPI_Type_free(&st);
    // packed
    char buf[200];
    int pos = 0, i = me, size;
    double d = me / 2.0;
    MPI_Pack(&i, 1, MPI_INT, buf, sizeof buf, &pos, MPI_COMM_WORLD);
    MPI_Pack(&d, 1, MPI_DOUBLE, buf, sizeof buf, &pos, MPI_COMM_WORLD);
    MPI_Irecv(buf + 100, 100, MPI_PACKED, before, 52, MPI_COMM_WORLD, &req);
    MPI_Send(buf, pos, MPI_PACKED, next, 52, MPI_COMM_WORLD);
    MPI_Wait(&req, &status);
    MPI_Get_count(&status, MPI_PACKED, &size);
    pos = 0;
    MPI_Unpack(buf + 100, size, &pos, &i, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Unpack(buf + 100, size, &pos, &d, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    CHECK(i == before && d == before / 2.0);
}

static void cancel(void)
{
    int to = (me + n / 2) % n, from = (me + n - n / 2) % n, v = me, flag = 0, gone[2] = { 0 },
        their[2];
    MPI_Request req[2];
    MPI_Status st;
    MPI_Irecv(&v, 1, MPI_INT, from, 60, MPI_COMM_WORLD, &req[0]);
    MPI_Cancel(&req[0]);
    MPI_Wait(&req[0], &st);
    MPI_Test_cancelled(&st, &flag);
    CHECK(flag != 0);
    // a send nobody receives until its fate is known: cancelled or not, never both
    MPI_Isend(&v, 1, MPI_INT, to, 61, MPI_COMM_WORLD, &req[0]);
    MPI_Cancel(&req[0]);
    MPI_Wait(&req[0], &st);
    MPI_Test_cancelled(&st, &flag);
    gone[0] = flag != 0;
    MPI_Sendrecv(gone, 2, MPI_INT, to, 62, their, 2, MPI_INT, from, 62, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Iprobe(from, 61, MPI_COMM_WORLD, &flag, &st);
    if (their[0] == 0) {
        MPI_Recv(&v, 1, MPI_INT, from, 61, MPI_COMM_WORLD, &st);
        CHECK(v == from);
    } else {
        CHECK(flag == 0);
    }
    // one that was received cannot be cancelled
    MPI_Isend(&me, 1, MPI_INT, to, 63, MPI_COMM_WORLD, &req[0]);
    MPI_Recv(&v, 1, MPI_INT, from, 63, MPI_COMM_WORLD, &st);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Cancel(&req[0]);
    MPI_Wait(&req[0], &st);
    MPI_Test_cancelled(&st, &flag);
    CHECK(flag == 0 && v == from);
}

// A group without members can be made and freed often.
static void empty_groups(void)
{
    MPI_Group world, none;
    int size;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < 10; i++) {
        MPI_Group_incl(world, 0, NULL, &none);
        MPI_Group_size(none, &size);
        CHECK(size == 0);
        MPI_Group_free(&none);
    }
    MPI_Group_free(&world);
}

// Who frees a communicator does not wait for the others, and receives on it what is under way.
static void free_early(void)
{
    MPI_Comm dup;
    MPI_Request req;
    int v = -1, last = n - 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    if (me == last) {
        MPI_Irecv(&v, 1, MPI_INT, 0, 4, dup, &req);
        MPI_Comm_free(&dup);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        int out = 77;
        MPI_Send(&out, 1, MPI_INT, last, 4, dup);
    }
    if (me == last) {
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        CHECK(v == 77);
    } else {
        MPI_Comm_free(&dup);
    }
}

static void comms(void)
{
    empty_groups();
    if (n > 1) {
        free_early();
    }
    MPI_Comm half, dup, few, deep, cart;
    MPI_Group world, pick, other;
    int rank, size, result, v, sum;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_compare(dup, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_CONGRUENT);
    // a message on the copy is not seen on the original
    v = me;
    MPI_Request req;
    MPI_Isend(&v, 1, MPI_INT, (me + 1) % n, 9, dup, &req);
    MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &result, MPI_STATUS_IGNORE);
    CHECK(result == 0);
    MPI_Recv(&sum, 1, MPI_INT, MPI_ANY_SOURCE, 9, dup, MPI_STATUS_IGNORE);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    CHECK(sum == (me + n - 1) % n);
    // odd and even, backwards
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
    MPI_Comm_rank(half, &rank);
    MPI_Comm_size(half, &size);
    CHECK(size == (n + 1 - me % 2) / 2);
    CHECK(rank == size - 1 - me / 2);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, half);
    CHECK(sum == size * (me % 2) + size * (size - 1));
    world_reductions(half);
    world_moves(half);
    MPI_Comm_split(half, rank == 0 ? MPI_UNDEFINED : 0, 0, &deep);
    CHECK((deep == MPI_COMM_NULL) == (rank == 0));
    if (deep != MPI_COMM_NULL) {
        MPI_Comm_size(deep, &result);
        CHECK(result == size - 1);
        MPI_Barrier(deep);
        MPI_Comm_free(&deep);
    }
    // all but the second, by groups
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(world, &size);
    CHECK(size == n);
    int second = 1 % n, first = 0, back;
    MPI_Group_excl(world, 1, &second, &pick);
    MPI_Group_incl(world, 1, &first, &other);
    MPI_Group_translate_ranks(other, 1, &first, pick, &back);
    CHECK(n < 2 || back == 0);
    MPI_Comm_create(MPI_COMM_WORLD, pick, &few);
    CHECK((few == MPI_COMM_NULL) == (me == second));
    if (few != MPI_COMM_NULL) {
        MPI_Comm_size(few, &size);
        CHECK(size == n - 1);
        sum = 0;
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, few);
        CHECK(sum == n * (n - 1) / 2 - second);
        MPI_Comm_free(&few);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&pick);
    MPI_Group_free(&other);
    int dims[1] = { n }, periods[1] = { 1 }, from, to;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &cart);
    MPI_Cart_shift(cart, 0, 1, &from, &to);
    CHECK(to == (me + 1) % n && from == (me + n - 1) % n);
    MPI_Sendrecv(&me, 1, MPI_INT, to, 1, &v, 1, MPI_INT, from, 1, cart, MPI_STATUS_IGNORE);
    CHECK(v == from);
    MPI_Comm_free(&cart);
    MPI_Comm_free(&half);
    MPI_Comm_free(&dup);
}

// Between even and odd ranks, each with members everywhere.
static void inter(void)
{
    MPI_Comm half, both, copy, one;
    int rank, size, remote, flag, v = me, got = -1, high = me % 2, order;
    MPI_Status st;
    if (n < 3) {
        return;
    }
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 77, &both);
    MPI_Comm_test_inter(both, &flag);
    CHECK(flag != 0);
    MPI_Comm_rank(both, &rank);
    MPI_Comm_size(both, &size);
    MPI_Comm_remote_size(both, &remote);
    CHECK(rank == me / 2 && size == (n + 1 - me % 2) / 2 && remote == n - size);
    for (int c = 0; c < 2; c++) { // everybody to everybody of the other side
        MPI_Request *req = malloc((size_t)remote * sizeof *req);
        if (c == 0) {
            MPI_Comm_dup(both, &copy);
        }
        MPI_Comm on = c == 0 ? both : copy;
        for (int r = 0; r < remote; r++) {
            MPI_Isend(&v, 1, MPI_INT, r, 3, on, &req[r]);
        }
        for (int r = 0; r < remote; r++) {
            MPI_Recv(&got, 1, MPI_INT, c == 0 ? r : MPI_ANY_SOURCE, 3, on, &st);
            CHECK(got == 2 * st.MPI_SOURCE + 1 - me % 2);
        }
        MPI_Waitall(remote, req, MPI_STATUSES_IGNORE);
        free(req);
    }
    world_across(both);
    world_across(copy);
    world_across_parts(copy);
    MPI_Comm_free(&copy);
    MPI_Intercomm_merge(both, 1 - high, &one); // odd ranks first
    MPI_Comm_rank(one, &order);
    MPI_Comm_size(one, &size);
    CHECK(size == n && order == (me % 2 == 1 ? me / 2 : n / 2 + me / 2));
    MPI_Allreduce(&me, &got, 1, MPI_INT, MPI_SUM, one);
    CHECK(got == n * (n - 1) / 2);
    MPI_Comm_free(&one);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

static void errors(void)
{
    int v[4] = { 1, 2, 3, 4 }, class = 0, *ub, flag;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &ub, &flag);
    CHECK(flag != 0 && *ub >= 32767);
    int least = 0, most = 0, to = (me + 1) % n, got = -1;
    MPI_Allreduce(ub, &least, 1, MPI_INT, MPI_MIN, comm); // one for all, and it can be used
    MPI_Allreduce(ub, &most, 1, MPI_INT, MPI_MAX, comm);
    CHECK(least == most);
    MPI_Sendrecv(&me, 1, MPI_INT, to, *ub, &got, 1, MPI_INT, (me + n - 1) % n, *ub, comm,
                 MPI_STATUS_IGNORE);
    CHECK(got == (me + n - 1) % n);
    int rc = MPI_Send(v, 1, MPI_INT, n, 0, comm);
    MPI_Error_class(rc, &class);
    CHECK(class == MPI_ERR_RANK);
    if (n > 1) { // too long for its receiver
        int last = n - 1;
        if (me == 0) {
            MPI_Send(v, 4, MPI_INT, last, 2, comm);
        } else if (me == last) {
            rc = MPI_Recv(v, 2, MPI_INT, 0, 2, comm, MPI_STATUS_IGNORE);
            MPI_Error_class(rc, &class);
            CHECK(class == MPI_ERR_TRUNCATE);
        }
    }
    MPI_Comm_free(&comm);
}

static void collectives(void)
{
    world_reductions(MPI_COMM_WORLD);
    world_moves(MPI_COMM_WORLD);
}

// For tests that end it by force; not run unless asked for.
// A file of this rank's own in the folder that the test names says that it is here.
static void say_ready(void)
{
    char path[4096];
    const char *folder = getenv("IMPI_TEST_READY");
    snprintf(path, sizeof path, "%s/%d", folder != NULL ? folder : ".", me);
    FILE *f = folder != NULL ? fopen(path, "w") : NULL;
    if (f != NULL) {
        fclose(f);
    }
}

static void hang(void)
{
    int v;
    say_ready();
    if (me == n - 1) {
        for (;;) {
            pause();
        }
    }
    MPI_Recv(&v, 1, MPI_INT, n - 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void threads(void)
{
    world_threads(me);
}

static const struct {
    const char *name;
    void (*fn)(void);
    void (*other)(int me, int n); // in another file
} all[] = { { "pairs", pairs, NULL },
            { "ring", ring, NULL },
            { "wild", wild, NULL },
            { "wild_order", wild_order, NULL },
            { "modes", modes, NULL },
            { "persistent", persistent, NULL },
            { "types", types, NULL },
            { "cancel", cancel, NULL },
            { "collectives", collectives, NULL },
            { "comms", comms, NULL },
            { "inter", inter, NULL },
            { "errors", errors, NULL },
            { "probes", NULL, world_matched_probes },
            { "busy", NULL, world_busy },
            { "large_element", NULL, world_large_element },
            { "packed", NULL, world_packed },
            { "large", NULL, world_large },
            { "longs", NULL, world_longs },
            { "overflow", NULL, world_overflow },
            { "later", NULL, world_later },
            { "windows", NULL, world_windows },
            { "files", NULL, world_files },
            { "persistent_coll", NULL, world_persistent_coll },
            { "refuse_later", NULL, world_refuse_later },
            { "own", NULL, world_own },
            { "threads", threads, NULL },
            { "hang", hang, NULL } };

// A part that is named, or all but those that want a word if none is; "-name" leaves one out.
static int is_wanted(const char *name, int argc, char **argv)
{
    int has_names = 0, is_asked_for = strcmp(name, "own") == 0 || strcmp(name, "threads") == 0 ||
                                      strcmp(name, "overflow") == 0 || strcmp(name, "hang") == 0 ||
                                      strcmp(name, "persistent_coll") == 0 ||
                                      strcmp(name, "files") == 0 ||
                                      strcmp(name, "refuse_later") == 0;
    for (int k = 1; k < argc; k++) {
        const char *word = argv[k];
        if (strcmp(word, name) == 0 || (word[0] == '-' && strcmp(word + 1, name) == 0)) {
            return word[0] != '-';
        }
        has_names = has_names || word[0] != '-';
    }
    return !has_names && !is_asked_for;
}

// Of what there is of a world, mpiexec of Pliant MPI keeps this from its ranks.
static int is_told(void)
{
    return getenv("IMPI_SERVER") != NULL || getenv("IMPI_TOKEN") != NULL;
}

int world_is_joined(void)
{
#if defined(MPICH) || defined(OPEN_MPI)
    return is_told();
#else
    return 1;
#endif
}

int world_is_foreign(void)
{
#if defined(MPICH) || defined(OPEN_MPI)
    return 1;
#else
    return is_told();
#endif
}

int main(int argc, char **argv)
{
    int level;
    if (is_wanted("threads", argc, argv)) {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    } else {
        MPI_Init(&argc, &argv);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (is_wanted(all[i].name, argc, argv)) {
            part = all[i].name;
            if (all[i].fn != NULL) {
                all[i].fn();
            } else {
                all[i].other(me, n);
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    printf("rank %d of %d ok\n", me, n);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
