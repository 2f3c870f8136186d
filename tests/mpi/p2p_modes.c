// SPDX-License-Identifier: BSD-3-Clause
// Every way to send against every way to receive, over sizes around each limit, to the other rank
// and to oneself, with dense and strided layouts.
#include <mpi.h>

#include <stdbool.h>

#include "t.h"

enum { MAX = 300000 };

static int rank;
static int out[2 * MAX + 2], in[2 * MAX + 2];
static MPI_Datatype strided; // one int, then a hole of one

static const int sizes[] = {
    0, 1, 2, 4, 6, 7, 16, 255, 256, 257, 2047, 2049, 4096, 4097, 8193, MAX
};
enum { N_SIZE = sizeof sizes / sizeof sizes[0] };

enum mode { SEND, SSEND, RSEND, BSEND, ISEND, ISSEND, IRSEND, IBSEND, PERSIST, PERSIST_S, N_MODE };

static void fill(int n, int step, int seed)
{
    for (int i = 0; i < n; i++) {
        out[i * step] = seed * 7919 + i;
    }
    memset(in, 0xa5, sizeof in);
}

static void verify(int n, int step, int seed)
{
    for (int i = 0; i < n; i++) {
        if (in[i * step] != seed * 7919 + i) {
            T_EQ(in[i * step], seed * 7919 + i);
            return;
        }
        if (step == 2 && in[i * 2 + 1] != (int)0xa5a5a5a5) {
            T_EQ(in[i * 2 + 1], (int)0xa5a5a5a5); // a hole must stay as it was
            return;
        }
    }
    T_EQ(in[n * step], (int)0xa5a5a5a5);
}

// Returns a request that is to be waited for, or MPI_REQUEST_NULL.
static MPI_Request send(enum mode m, int n, MPI_Datatype type, int to, int tag)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int rc = MPI_SUCCESS;
    switch (m) {
    case SEND:
        rc = MPI_Send(out, n, type, to, tag, MPI_COMM_WORLD);
        break;
    case SSEND:
        rc = MPI_Ssend(out, n, type, to, tag, MPI_COMM_WORLD);
        break;
    case RSEND:
        rc = MPI_Rsend(out, n, type, to, tag, MPI_COMM_WORLD);
        break;
    case BSEND:
        rc = MPI_Bsend(out, n, type, to, tag, MPI_COMM_WORLD);
        break;
    case ISEND:
        rc = MPI_Isend(out, n, type, to, tag, MPI_COMM_WORLD, &r);
        break;
    case ISSEND:
        rc = MPI_Issend(out, n, type, to, tag, MPI_COMM_WORLD, &r);
        break;
    case IRSEND:
        rc = MPI_Irsend(out, n, type, to, tag, MPI_COMM_WORLD, &r);
        break;
    case IBSEND:
        rc = MPI_Ibsend(out, n, type, to, tag, MPI_COMM_WORLD, &r);
        break;
    case PERSIST:
        rc = MPI_Send_init(out, n, type, to, tag, MPI_COMM_WORLD, &r);
        break;
    case PERSIST_S:
        rc = MPI_Ssend_init(out, n, type, to, tag, MPI_COMM_WORLD, &r);
        break;
    default:
        break;
    }
    T_EQ(rc, MPI_SUCCESS);
    if (m == PERSIST || m == PERSIST_S) {
        T_EQ(MPI_Start(&r), MPI_SUCCESS);
    }
    return r;
}

static void end(MPI_Request *r)
{
    T_EQ(MPI_Wait(r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    if (*r != MPI_REQUEST_NULL) {
        T_EQ(MPI_Request_free(r), MPI_SUCCESS);
    }
    T_OK(*r == MPI_REQUEST_NULL);
}

static void check_status(const MPI_Status *s, int source, int tag, int n, MPI_Datatype type)
{
    int got;
    T_EQ(s->MPI_SOURCE, source);
    T_EQ(s->MPI_TAG, tag);
    T_EQ(MPI_Get_count(s, type, &got), MPI_SUCCESS);
    T_EQ(got, n);
}

// The receive comes first or last, blocking or not, exact or with wildcards, or by a probe.
static void receive(int how, int n, MPI_Datatype type, int from, int tag)
{
    MPI_Status s;
    MPI_Request r;
    MPI_Message m;
    int flag = 0, room = n + 3 < MAX ? n + 3 : MAX;
    switch (how) {
    case 0:
        T_EQ(MPI_Recv(in, room, type, from, tag, MPI_COMM_WORLD, &s), MPI_SUCCESS);
        break;
    case 1:
        T_EQ(MPI_Recv(in, room, type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s),
             MPI_SUCCESS);
        break;
    case 2:
        T_EQ(MPI_Irecv(in, room, type, from, MPI_ANY_TAG, MPI_COMM_WORLD, &r), MPI_SUCCESS);
        T_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
        break;
    case 3:
        T_EQ(MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &s), MPI_SUCCESS);
        check_status(&s, from, tag, n, type);
        T_EQ(MPI_Recv(in, room, type, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD, &s), MPI_SUCCESS);
        break;
    case 4:
        T_EQ(MPI_Mprobe(from, tag, MPI_COMM_WORLD, &m, &s), MPI_SUCCESS);
        T_EQ(MPI_Imrecv(in, room, type, &m, &r), MPI_SUCCESS);
        T_OK(m == MPI_MESSAGE_NULL);
        while (!flag) {
            T_EQ(MPI_Test(&r, &flag, &s), MPI_SUCCESS);
        }
        break;
    default:
        T_EQ(MPI_Recv_init(in, room, type, from, tag, MPI_COMM_WORLD, &r), MPI_SUCCESS);
        T_EQ(MPI_Start(&r), MPI_SUCCESS);
        T_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
        T_EQ(MPI_Request_free(&r), MPI_SUCCESS);
        break;
    }
    check_status(&s, from, tag, n, type);
}

static void to_other(void)
{
    int seed = 0, token = 0;
    for (int layout = 0; layout < 2; layout++) {
        MPI_Datatype type = layout ? strided : MPI_INT;
        for (int k = 0; k < N_SIZE; k++) {
            for (int m = 0; m < N_MODE; m++, seed++) {
                int how = seed % 6, n = sizes[k], tag = seed % 100;
                bool is_ready = m == RSEND || m == IRSEND;
                if (rank == 0) {
                    fill(n, layout + 1, seed);
                    if (is_ready) { // the receive must be there
                        MPI_Recv(&token, 1, MPI_INT, 1, 999, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    }
                    MPI_Request r = send((enum mode)m, n, type, 1, tag);
                    end(&r);
                } else {
                    fill(0, 1, 0);
                    if (is_ready) {
                        MPI_Request r;
                        MPI_Status s;
                        MPI_Irecv(in, n, type, 0, tag, MPI_COMM_WORLD, &r);
                        MPI_Send(&token, 1, MPI_INT, 0, 999, MPI_COMM_WORLD);
                        T_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
                        check_status(&s, 0, tag, n, type);
                    } else {
                        receive(how, n, type, 0, tag);
                    }
                    verify(n, layout + 1, seed);
                }
            }
        }
    }
}

enum { ROW = 320 };

static unsigned char row_at(int pass, int n, int i)
{
    return (unsigned char)(pass * 31 + n * 7 + i);
}

// Every size around what a message has room for in the places of a mailbox, many times around it;
// the receive is there before the message, looks for it, or comes later, and has holes or not.
static void in_a_row(void)
{
    enum { PASSES = 8 };
    static unsigned char mine[ROW + 1][2 * ROW + 2];
    static MPI_Request reqs[ROW + 1];
    static MPI_Status got[ROW + 1];
    MPI_Datatype holes;
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &holes);
    MPI_Type_commit(&holes);
    for (int pass = 0; pass < PASSES; pass++) {
        int step = pass >= PASSES / 2 ? 2 : 1, how = pass % 4;
        MPI_Datatype type = step == 2 ? holes : MPI_BYTE;
        for (int n = 0; n <= ROW; n++) {
            memset(mine[n], 0xa5, sizeof mine[n]);
            for (int i = 0; i < n && rank == 0; i++) {
                mine[n][i * step] = row_at(pass, n, i);
            }
            if (rank == 1 && how == 0) {
                MPI_Irecv(mine[n], n + 1, type, 0, 7, MPI_COMM_WORLD, &reqs[n]);
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int n = 0; n <= ROW && rank == 0; n++) {
            if (how == 3) {
                MPI_Send(mine[n], n, type, 1, 7, MPI_COMM_WORLD);
                reqs[n] = MPI_REQUEST_NULL;
            } else {
                MPI_Isend(mine[n], n, type, 1, 7, MPI_COMM_WORLD, &reqs[n]);
            }
        }
        if (how == 1) {
            MPI_Barrier(MPI_COMM_WORLD); // all messages have come, and none was expected
        }
        for (int n = 0; n <= ROW && rank == 1 && how != 0; n++) {
            MPI_Recv(mine[n], n + 1, type, 0, 7, MPI_COMM_WORLD, &got[n]);
        }
        if (rank == 0 || how == 0) {
            MPI_Waitall(ROW + 1, reqs, got);
        }
        for (int n = 0; n <= ROW && rank == 1; n++) {
            int is_good = 1;
            for (int i = 0; i < n; i++) {
                is_good &= mine[n][i * step] == row_at(pass, n, i);
                is_good &= step == 1 || mine[n][i * 2 + 1] == 0xa5;
            }
            T_OK(is_good && mine[n][n * step] == 0xa5);
            check_status(&got[n], 0, 7, n, type);
        }
    }
    MPI_Type_free(&holes);
}

static void to_myself(void)
{
    int seed = 5000;
    for (int layout = 0; layout < 2; layout++) {
        MPI_Datatype type = layout ? strided : MPI_INT;
        for (int k = 0; k < N_SIZE; k++) {
            for (int m = BSEND; m < N_MODE; m++, seed++) {
                if (m == IRSEND) {
                    continue;
                }
                fill(sizes[k], layout + 1, seed);
                MPI_Request r = send((enum mode)m, sizes[k], type, rank, 5);
                receive(seed % 6, sizes[k], type, rank, 5);
                end(&r);
                verify(sizes[k], layout + 1, seed);
            }
        }
    }
}

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    T_MUST(size == 2);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &strided);
    MPI_Type_commit(&strided);
    static char space[MAX * sizeof(int) + 4 * MPI_BSEND_OVERHEAD];
    T_EQ(MPI_Buffer_attach(space, sizeof space), MPI_SUCCESS);
    to_other();
    in_a_row();
    to_myself();
    void *back;
    int len;
    T_EQ(MPI_Buffer_detach(&back, &len), MPI_SUCCESS);
    T_OK(back == space && len == (int)sizeof space);
    MPI_Type_free(&strided);
    MPI_Finalize();
    return t_status();
}
