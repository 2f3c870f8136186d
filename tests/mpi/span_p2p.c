// SPDX-License-Identifier: BSD-3-Clause
// Messages between any two ranks, in every mode: run on one job, and over several that IMPI joins,
// where ranks of the first and second half are far from each other.
#include <mpi.h>

#include "t.h"

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static int rank, size;

// Whom this rank talks to: its partner in the other half; the odd one out, if any, has none.
static int partner(void)
{
    int half = size / 2;
    return rank < half ? rank + half : rank < 2 * half ? rank - half : MPI_PROC_NULL;
}

static bool is_first(void)
{
    return rank < size / 2;
}

static double value(int from, int mode, long i)
{
    return from * 1e6 + mode * 1e5 + (double)(i % 1000);
}

static void send_by(int mode, const double *buf, int n, int to)
{
    static int (*const persist[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                                  MPI_Request *) = { MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init,
                                                     MPI_Rsend_init };
    MPI_Request r;
    switch (mode) {
    case 0:
        MPI_Send(buf, n, MPI_DOUBLE, to, mode, MPI_COMM_WORLD);
        return;
    case 1:
        MPI_Ssend(buf, n, MPI_DOUBLE, to, mode, MPI_COMM_WORLD);
        return;
    case 2:
        MPI_Bsend(buf, n, MPI_DOUBLE, to, mode, MPI_COMM_WORLD);
        return;
    case 3:
        MPI_Isend(buf, n, MPI_DOUBLE, to, mode, MPI_COMM_WORLD, &r);
        break;
    case 4:
        MPI_Issend(buf, n, MPI_DOUBLE, to, mode, MPI_COMM_WORLD, &r);
        break;
    default:
        persist[mode - 5](buf, n, MPI_DOUBLE, to, mode, MPI_COMM_WORLD, &r);
        MPI_Start(&r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Request_free(&r);
        return;
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void modes(int n)
{
    int to = partner(), got;
    double *out = malloc(sizeof(double) * (size_t)(n + 1)),
           *in = malloc(sizeof(double) * (size_t)(n + 1));
    size_t room = 2 * (sizeof(double) * (size_t)n + MPI_BSEND_OVERHEAD);
    void *attached = malloc(room);
    MPI_Buffer_attach(attached, (int)room);
    for (int mode = 0; mode < 9; mode++) {
        MPI_Status s;
        MPI_Request r;
        for (long i = 0; i < n; i++) {
            out[i] = value(rank, mode, i);
            in[i] = -1;
        }
        MPI_Irecv(in, n, MPI_DOUBLE, mode % 2 ? MPI_ANY_SOURCE : to, mode, MPI_COMM_WORLD, &r);
        if (mode == 8) { // who sends in ready mode knows of the receive
            MPI_Barrier(MPI_COMM_WORLD);
        }
        if (to == MPI_PROC_NULL) {
            MPI_Cancel(&r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            continue;
        }
        send_by(mode, out, n, to);
        MPI_Wait(&r, &s);
        MPI_Get_count(&s, MPI_DOUBLE, &got);
        T_EQ(got, n);
        T_EQ(s.MPI_SOURCE, to);
        T_EQ(s.MPI_TAG, mode);
        long bad = 0;
        for (long i = 0; i < n; i++) {
            bad += in[i] != value(to, mode, i);
        }
        T_EQ(bad, 0);
    }
    void *back;
    int len;
    MPI_Buffer_detach(&back, &len);
    free(attached);
    free(out);
    free(in);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Types that look different outside: long, wchar_t, pairs, holes.
static void types(void)
{
    struct mix {
        char c;
        long l;
        double d[2];
        short s;
    } out[50], in[50];
    int lens[] = { 1, 1, 2, 1 }, to = partner(), n;
    MPI_Aint at[] = { offsetof(struct mix, c), offsetof(struct mix, l), offsetof(struct mix, d),
                      offsetof(struct mix, s) };
    MPI_Datatype parts[] = { MPI_CHAR, MPI_LONG, MPI_DOUBLE, MPI_SHORT }, raw, mix;
    MPI_Type_create_struct(4, lens, at, parts, &raw);
    MPI_Type_create_resized(raw, 0, sizeof(struct mix), &mix);
    MPI_Type_commit(&mix);
    memset(in, 0, sizeof in);
    for (int i = 0; i < 50; i++) {
        out[i] = (struct mix){ (char)i, -70000L * i - rank, { i / 3.0, rank }, (short)(-i) };
    }
    MPI_Status s;
    MPI_Sendrecv(out, 50, mix, to, 3, in, 50, mix, to, 3, MPI_COMM_WORLD, &s);
    for (int i = 0; to != MPI_PROC_NULL && i < 50; i++) {
        T_OK(in[i].c == (char)i && in[i].l == -70000L * i - to && in[i].d[0] == i / 3.0 &&
             in[i].d[1] == to && in[i].s == -i);
    }
    long longs[7] = { 1, -2, 3, -4, 5, 6, -7 }, back[12];
    MPI_Sendrecv(longs, 7, MPI_LONG, to, 4, back, 12, MPI_LONG, to, 4, MPI_COMM_WORLD, &s);
    MPI_Get_count(&s, MPI_LONG, &n);
    T_EQ(n, to == MPI_PROC_NULL ? 0 : 7);
    T_OK(to == MPI_PROC_NULL || memcmp(longs, back, sizeof longs) == 0);
    // Part of an element: 3 numbers of a struct of 5.
    char one = 'x';
    if (is_first() && to != MPI_PROC_NULL) {
        MPI_Send(&one, 1, MPI_CHAR, to, 5, MPI_COMM_WORLD);
    } else if (to != MPI_PROC_NULL) {
        MPI_Recv(in, 1, mix, to, 5, MPI_COMM_WORLD, &s);
        MPI_Get_count(&s, mix, &n);
        T_EQ(n, MPI_UNDEFINED);
        MPI_Get_elements(&s, mix, &n);
        T_EQ(n, 1);
        T_EQ(in[0].c, 'x');
    }
    MPI_Type_free(&mix);
    MPI_Type_free(&raw);
    double mine = rank;
    MPI_Sendrecv_replace(&mine, 1, MPI_DOUBLE, to, 6, to, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    T_OK(mine == (to == MPI_PROC_NULL ? rank : to));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void packing(void)
{
    char buf[256];
    int at = 0, n, to = partner(), i = rank * 1000 + 7;
    long l = -rank - 5;
    MPI_Pack(&i, 1, MPI_INT, buf, sizeof buf, &at, MPI_COMM_WORLD);
    MPI_Pack(&l, 1, MPI_LONG, buf, sizeof buf, &at, MPI_COMM_WORLD);
    MPI_Status s;
    char in[256];
    MPI_Sendrecv(buf, at, MPI_PACKED, to, 8, in, sizeof in, MPI_PACKED, to, 8, MPI_COMM_WORLD, &s);
    if (to != MPI_PROC_NULL) {
        MPI_Get_count(&s, MPI_PACKED, &n);
        T_EQ(n, at);
        at = 0;
        MPI_Unpack(in, n, &at, &i, 1, MPI_INT, MPI_COMM_WORLD);
        MPI_Unpack(in, n, &at, &l, 1, MPI_LONG, MPI_COMM_WORLD);
        T_EQ(i, to * 1000 + 7);
        T_EQ(l, -to - 5);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void probes(int n)
{
    int to = partner(), got;
    MPI_Status s;
    MPI_Message m;
    long *buf = calloc((size_t)n + 1, sizeof *buf);
    if (to != MPI_PROC_NULL && is_first()) {
        for (int i = 0; i < n; i++) {
            buf[i] = i - 5;
        }
        MPI_Request r[2]; // large ones wait for their receive
        MPI_Isend(buf, n, MPI_LONG, to, 21, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(buf, n, MPI_LONG, to, 22, MPI_COMM_WORLD, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    } else if (to != MPI_PROC_NULL) {
        MPI_Probe(MPI_ANY_SOURCE, 22, MPI_COMM_WORLD, &s);
        MPI_Get_count(&s, MPI_LONG, &got);
        T_EQ(got, n);
        MPI_Mprobe(to, MPI_ANY_TAG, MPI_COMM_WORLD, &m, &s);
        T_EQ(s.MPI_TAG, 21); // the older one
        MPI_Mrecv(buf, n, MPI_LONG, &m, &s);
        T_OK(n == 0 || buf[n - 1] == n - 6);
        MPI_Recv(buf, n, MPI_LONG, to, 22, MPI_COMM_WORLD, &s);
        MPI_Get_count(&s, MPI_LONG, &got);
        T_EQ(got, n);
        int flag;
        MPI_Iprobe(to, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &s);
        T_EQ(flag, 0);
    }
    free(buf);
    MPI_Barrier(MPI_COMM_WORLD);
}

// A send is cancelled while nobody has asked for the message, and is not after it was received.
static void cancels(int n)
{
    int to = partner(), flag;
    char *buf = calloc((size_t)n + 1, 1);
    MPI_Request r;
    MPI_Status s;
    if (to != MPI_PROC_NULL && is_first()) {
        MPI_Issend(buf, n, MPI_CHAR, to, 31, MPI_COMM_WORLD, &r);
        MPI_Cancel(&r);
        MPI_Wait(&r, &s);
        MPI_Test_cancelled(&s, &flag);
        T_EQ(flag, 1);
        MPI_Send(buf, 0, MPI_CHAR, to, 32, MPI_COMM_WORLD);
        MPI_Issend(buf, n, MPI_CHAR, to, 33, MPI_COMM_WORLD, &r);
        MPI_Recv(buf, 0, MPI_CHAR, to, 34, MPI_COMM_WORLD, &s); // it has come
        MPI_Cancel(&r);
        MPI_Wait(&r, &s);
        MPI_Test_cancelled(&s, &flag);
        T_EQ(flag, 0);
    } else if (to != MPI_PROC_NULL) {
        MPI_Recv(buf, 0, MPI_CHAR, to, 32, MPI_COMM_WORLD, &s);
        MPI_Iprobe(to, 31, MPI_COMM_WORLD, &flag, &s);
        T_EQ(flag, 0);
        MPI_Recv(buf, n, MPI_CHAR, to, 33, MPI_COMM_WORLD, &s);
        MPI_Send(buf, 0, MPI_CHAR, to, 34, MPI_COMM_WORLD);
    }
    free(buf);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Many messages that nobody asked for, in order; then a large one.
static void flood(int n)
{
    int to = partner(), x;
    if (to != MPI_PROC_NULL && is_first()) {
        for (int i = 0; i < n; i++) {
            MPI_Send(&i, 1, MPI_INT, to, 41, MPI_COMM_WORLD);
        }
        MPI_Recv(&x, 1, MPI_INT, to, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (to != MPI_PROC_NULL) {
        usleep(50000);
        long bad = 0;
        for (int i = 0; i < n; i++) {
            MPI_Recv(&x, 1, MPI_INT, to, 41, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            bad += x != i;
        }
        T_EQ(bad, 0);
        MPI_Send(&x, 1, MPI_INT, to, 42, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void truncated(int n)
{
    int to = partner(), class, code;
    int *buf = calloc((size_t)n + 1, sizeof *buf);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (to != MPI_PROC_NULL && is_first()) {
        MPI_Send(buf, n, MPI_INT, to, 51, MPI_COMM_WORLD);
    } else if (to != MPI_PROC_NULL) {
        code = MPI_Recv(buf, n / 2, MPI_INT, to, 51, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Error_class(code, &class);
        T_EQ(class, MPI_ERR_TRUNCATE);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    free(buf);
    MPI_Barrier(MPI_COMM_WORLD);
}

// A number far into a large message that does not fit its form between MPIs, where a long has 4
// bytes: its sender is told, and what was not sent is zero.
static void misfit(void)
{
    enum { N = 700000, AT = 690000 };
    int to = partner(), is_sent = 1;
    long *buf = malloc(N * sizeof *buf);
    for (long i = 0; i < N; i++) {
        buf[i] = i + 1;
    }
    buf[AT] = sizeof(long) > 4 ? (long)1 << (sizeof(long) * 8 - 3) : 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (to != MPI_PROC_NULL && is_first()) {
        is_sent = MPI_Send(buf, N, MPI_LONG, to, 52, MPI_COMM_WORLD) == MPI_SUCCESS;
        MPI_Send(&is_sent, 1, MPI_INT, to, 53, MPI_COMM_WORLD);
    } else if (to != MPI_PROC_NULL) {
        long big = buf[AT];
        memset(buf, 255, N * sizeof *buf);
        MPI_Recv(buf, N, MPI_LONG, to, 52, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&is_sent, 1, MPI_INT, to, 53, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        T_OK(buf[0] == 1 && buf[999] == 1000);
        T_EQ(buf[AT], is_sent ? big : 0);
        T_EQ(buf[N - 1], is_sent ? N : 0);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    free(buf);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Large messages both ways at once, several under way.
static void streams(int n, int k)
{
    int to = partner();
    MPI_Request r[32];
    double *out = malloc((size_t)n * sizeof *out), *in = malloc((size_t)n * (size_t)k * sizeof *in);
    for (int i = 0; i < n; i++) {
        out[i] = value(rank, 7, i);
    }
    for (int j = 0; j < k; j++) {
        MPI_Irecv(in + (size_t)j * (size_t)n, n, MPI_DOUBLE, to, 60 + j, MPI_COMM_WORLD, &r[j]);
    }
    for (int j = 0; j < k; j++) { // not in the order they are received in
        MPI_Isend(out, n, MPI_DOUBLE, to, 60 + k - 1 - j, MPI_COMM_WORLD, &r[k + j]);
    }
    MPI_Waitall(2 * k, r, MPI_STATUSES_IGNORE);
    long bad = 0;
    for (long i = 0; to != MPI_PROC_NULL && i < (long)n * k; i++) {
        bad += in[i] != value(to, 7, i % n);
    }
    T_EQ(bad, 0);
    free(out);
    free(in);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 0, 1, 2, 3, 13, 600, 4096, 4097, 9000, 40000, 300000 };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        modes(sizes[i]);
    }
    types();
    packing();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i += 2) {
        probes(sizes[i]);
        truncated(sizes[i] + 2);
        cancels(sizes[i] * 4);
    }
    misfit();
    flood(5000);
    streams(300000, 6);
    MPI_Finalize();
    return t_status();
}
