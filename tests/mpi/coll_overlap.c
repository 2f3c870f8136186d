// SPDX-License-Identifier: BSD-3-Clause
// Very many nonblocking collectives at once, of all kinds and sizes, mixed with messages and
// blocking collectives, ended in several orders.
#include "coll_t.h"

enum { N_OP = 1500, WIDTH = 40 };

struct op {
    int kind, len, root;
    int *in, *out;
};

static struct op ops[N_OP];
static MPI_Request reqs[N_OP];

static void begin(int i)
{
    struct op *o = &ops[i];
    o->kind = i % 7;
    o->len = i % 100 == 99 ? 9000 : i % WIDTH;
    o->root = i % n;
    o->in = fresh((size_t)o->len * (size_t)n);
    o->out = fresh((size_t)o->len * (size_t)n);
    for (int k = 0; k < o->len * n; k++) {
        o->in[k] = me * 10 + i + k;
    }
    MPI_Comm c = MPI_COMM_WORLD;
    switch (o->kind) {
    case 0:
        GOOD(MPI_Iallreduce(o->in, o->out, o->len, MPI_INT, MPI_SUM, c, &reqs[i]));
        break;
    case 1:
        GOOD(MPI_Ibcast(o->in, o->len, MPI_INT, o->root, c, &reqs[i]));
        break;
    case 2:
        GOOD(MPI_Iallgather(o->in, o->len, MPI_INT, o->out, o->len, MPI_INT, c, &reqs[i]));
        break;
    case 3:
        GOOD(MPI_Ialltoall(o->in, o->len, MPI_INT, o->out, o->len, MPI_INT, c, &reqs[i]));
        break;
    case 4:
        GOOD(MPI_Iscan(o->in, o->out, o->len, MPI_INT, MPI_SUM, c, &reqs[i]));
        break;
    case 5:
        GOOD(MPI_Igather(o->in, o->len, MPI_INT, o->out, o->len, MPI_INT, o->root, c, &reqs[i]));
        break;
    default:
        GOOD(MPI_Ibarrier(c, &reqs[i]));
    }
}

static int wanted(const struct op *o, int i, int k)
{
    int block = o->len > 0 ? k / o->len : 0, rest = o->len > 0 ? k % o->len : 0;
    switch (o->kind) {
    case 0:
        return 10 * n * (n - 1) / 2 + n * (i + k);
    case 2:
    case 5:
        return block * 10 + i + rest;
    case 3:
        return block * 10 + i + me * o->len + rest;
    default:
        return 10 * me * (me + 1) / 2 + (me + 1) * (i + k);
    }
}

static void end(int i)
{
    struct op *o = &ops[i];
    if (o->kind == 1) {
        for (int k = 0; k < o->len; k++) {
            T_EQ(o->in[k], o->root * 10 + i + k);
        }
    } else if (o->kind != 6 && (o->kind != 5 || me == o->root)) {
        int len = o->kind == 0 || o->kind == 4 ? o->len : o->len * n;
        for (int k = 0; k < len; k++) {
            T_EQ(o->out[k], wanted(o, i, k));
        }
    }
    free(o->in);
    free(o->out);
}

// A message around the ring and a blocking collective while much is under way.
static void disturb(int i)
{
    int x = me + i, y = -1, sum = 0;
    MPI_Request q;
    GOOD(MPI_Irecv(&y, 1, MPI_INT, (me - 1 + n) % n, 5, MPI_COMM_WORLD, &q));
    GOOD(MPI_Send(&x, 1, MPI_INT, (me + 1) % n, 5, MPI_COMM_WORLD));
    GOOD(MPI_Wait(&q, MPI_STATUS_IGNORE));
    T_EQ(y, (me - 1 + n) % n + i);
    GOOD(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    T_EQ(sum, n * (n - 1) / 2 + n * i);
}

// All but the root have done their part of very many gathers, more than its mailbox holds, before
// it begins the first.
static void gather_ahead(void)
{
    static int in[N_OP];
    int *out = fresh((size_t)n * N_OP), token = 0;
    MPI_Status st;
    for (int i = 1; i < n && me == 0; i++) {
        GOOD(MPI_Recv(&token, 1, MPI_INT, i, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < N_OP; i++) {
        in[i] = me * N_OP + i;
        GOOD(MPI_Igather(&in[i], 1, MPI_INT, out + i * n, 1, MPI_INT, 0, MPI_COMM_WORLD, &reqs[i]));
    }
    if (me != 0) {
        GOOD(MPI_Send(&token, 1, MPI_INT, 0, 6, MPI_COMM_WORLD));
    }
    st.MPI_SOURCE = st.MPI_TAG = 7;
    GOOD(MPI_Wait(&reqs[0], &st));
    T_EQ(st.MPI_SOURCE, MPI_ANY_SOURCE);
    T_EQ(st.MPI_TAG, MPI_ANY_TAG);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); // of requests that have no other
    T_OK(MPI_Cancel(&reqs[1]) != MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    GOOD(MPI_Waitall(N_OP - 1, reqs + 1, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N_OP * n && me == 0; i++) {
        T_EQ(out[i], i % n * N_OP + i / n);
    }
    free(out);
}

// Operations without elements are over when they have begun.
static void nothing(void)
{
    MPI_Request r[3];
    int done, counts[64] = { 0 };
    GOOD(MPI_Iallreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[0]));
    GOOD(MPI_Ireduce_scatter(NULL, NULL, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[1]));
    GOOD(MPI_Ireduce_scatter_block(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[2]));
    for (int i = 0; i < 3; i++) {
        MPI_Status s;
        GOOD(MPI_Test(&r[i], &done, &s));
        T_OK(done && r[i] == MPI_REQUEST_NULL);
        T_OK(s.MPI_SOURCE == MPI_ANY_SOURCE && s.MPI_TAG == MPI_ANY_TAG);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N_OP; i++) {
            begin(i);
            if (i % 300 == 150) {
                disturb(i);
            }
        }
        if (round == 0) {
            GOOD(MPI_Waitall(N_OP, reqs, MPI_STATUSES_IGNORE));
        } else if (round == 1) {
            for (int i = N_OP - 1; i >= 0; i--) {
                GOOD(MPI_Wait(&reqs[i], MPI_STATUS_IGNORE));
            }
        } else {
            int left = N_OP, done, index[N_OP];
            while (left > 0) {
                GOOD(MPI_Waitsome(N_OP, reqs, &done, index, MPI_STATUSES_IGNORE));
                left -= done;
            }
        }
        for (int i = 0; i < N_OP; i++) {
            T_OK(reqs[i] == MPI_REQUEST_NULL);
            end(i);
        }
    }
    gather_ahead();
    nothing();
    MPI_Finalize();
    return t_status();
}
