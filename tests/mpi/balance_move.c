// SPDX-License-Identifier: BSD-3-Clause
// Moving endpoints: state goes along, ranks and neighbours stay, processes may have none, failures
// change nothing, images come back.
#include "balance_t.h"

enum { N = 13 };

static MPI_Comm parent;
static int me, size;

// How many of the endpoints process p gets in round r: sometimes all, sometimes none.
static int share(int r, int p)
{
    if (r % 4 == 0) {
        return p == r / 4 % size ? N : 0;
    }
    int from = p * N / size, to = (p + 1) * N / size; // evenly, shifted by the round
    int shift = r % 3 - 1;
    from = p == 0 ? 0 : from + shift;
    to = p == size - 1 ? N : to + shift;
    return to - from;
}

// Every endpoint swaps with its neighbours, one thread for all.
static void ring(MPIX_Balance b)
{
    MPI_Request reqs[4 * N];
    int in[N][2], out[N], n = balance_count(b), k = 0;
    for (int i = 0; i < n; i++) {
        MPI_Comm c = balance_comm_at(b, i);
        int total, rank = rank_at(b, i);
        MPI_Comm_size(c, &total);
        T_EQ(total, N);
        out[i] = 100 + rank;
        int left = (rank + N - 1) % N, right = (rank + 1) % N;
        MPI_Irecv(&in[i][0], 1, MPI_INT, left, 1, c, &reqs[k++]);
        MPI_Irecv(&in[i][1], 1, MPI_INT, right, 2, c, &reqs[k++]);
        MPI_Isend(&out[i], 1, MPI_INT, right, 1, c, &reqs[k++]);
        MPI_Isend(&out[i], 1, MPI_INT, left, 2, c, &reqs[k++]);
    }
    T_MUST(MPI_Waitall(k, reqs, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < n; i++) {
        int rank = rank_at(b, i);
        T_EQ(in[i][0], 100 + (rank + N - 1) % N);
        T_EQ(in[i][1], 100 + (rank + 1) % N);
    }
}

static void check_where(MPIX_Balance b, int r)
{
    int first = 0, where;
    for (int p = 0; p < size; p++) {
        for (int i = 0; i < share(r, p); i++) {
            T_EQ(MPIX_Balance_where(b, first, &where), MPI_SUCCESS);
            T_EQ(where, p);
            first++;
        }
    }
    T_EQ(first, N);
}

static void rounds(MPIX_Balance b)
{
    for (int r = 1; r < 14; r++) {
        MPIX_Balance_result res;
        n_touched = 0;
        T_MUST(MPIX_Balance_move(b, share(r, me), &res) == MPI_SUCCESS);
        T_EQ(balance_count(b), share(r, me));
        T_OK(res.moved >= 0 && res.moved <= N && res.bytes >= 0);
        T_EQ(res.moved > 0, res.bytes > 0);
        T_OK(res.moved > 0 || n_touched == 0);
        check_where(b, r);
        state_check(b, 0);
        ring(b);
    }
}

static void expect_text(int code, const char *piece)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    T_OK(code != MPI_SUCCESS);
    MPI_Error_string(code, text, &length);
    T_HAS(text, piece);
}

// A function of the user fails at one process: all hear of it, nothing has changed.
static void failures(MPIX_Balance b, int r)
{
    int *const which[] = { &fail_size, &fail_pack, &fail_unpack };
    for (int k = 0; k < 3; k++) {
        int n_before = balance_count(b), to = (r + 1) % size;
        // All go to another process; sender and receiver are told apart by what fails.
        int is_culprit = k == 2 ? me == to : me == r;
        *which[k] = is_culprit ? MPI_ERR_BUFFER : 0;
        int code = MPIX_Balance_move(b, me == to ? N : 0, NULL);
        *which[k] = 0;
        if (is_culprit) {
            T_EQ(code, MPI_ERR_BUFFER);
        } else {
            expect_text(code, "nothing has changed");
        }
        T_EQ(balance_count(b), n_before);
        state_check(b, 0);
        ring(b);
    }
}

static void mistakes(MPIX_Balance b)
{
    MPI_Comm c;
    int x, code, n = balance_count(b);
    void *data;
    expect_text(MPIX_Balance_comm(b, n, &c), "this process has");
    expect_text(MPIX_Balance_comm(b, -1, &c), "argument index is -1");
    expect_text(MPIX_Balance_where(b, N, &x), "endpoints 0 to 12");
    expect_text(MPIX_Balance_weight(b, -1), "argument weight is -1");
    expect_text(MPIX_Balance_register(b, "field", &field_calls, NULL, NULL), "already");
    expect_text(MPIX_Balance_register(b, "", &field_calls, NULL, NULL), "1 to 63");
    expect_text(MPIX_Balance_register(b, "x", &(MPIX_Balance_state){ .size = field_size }, 0, 0),
                "size, pack and unpack");
    expect_text(MPIX_Balance_count(MPIX_BALANCE_NULL, &x), "MPIX_BALANCE_NULL");
    if (n > 0) {
        expect_text(MPIX_Balance_report(b, 0, -2.5), "load is -2.5");
        expect_text(MPIX_Balance_get(b, 0, 2, &data), "2 kinds of state");
        expect_text(MPIX_Balance_register(b, "late", &field_calls, NULL, NULL), "after data");
    }
    expect_text(MPIX_Balance_move(b, N + 1, NULL), "but there are 13");
    expect_text(MPIX_Balance_move(b, me == size - 1 ? -1 : N, NULL), "must not be negative");
    code = MPIX_Balance_weight(b, 0);
    T_EQ(code, MPI_SUCCESS);
    expect_text(MPIX_Balance_rebalance(b, NULL), "all processes have weight 0");
    MPIX_Balance_weight(b, 1);
    MPIX_Balance none = MPIX_BALANCE_NULL;
    expect_text(MPIX_Balance_create(parent, me == 0 ? -3 : 1, MPI_INFO_NULL, &none),
                me == 0 ? "my_num_ep is -3" : "rank 0 of the parent could not begin");
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpix_balance_gain", "little");
    expect_text(MPIX_Balance_create(parent, 1, info, &none), "'little'");
    MPI_Info_free(&info);
    T_OK(none == MPIX_BALANCE_NULL);
    state_check(b, 0);
    ring(b);
}

// All of an endpoint as bytes and back; damaged bytes are refused and change nothing.
static void images(MPIX_Balance b)
{
    for (int i = 0; i < balance_count(b); i++) {
        MPI_Count bytes;
        T_MUST(MPIX_Balance_image_size(b, i, &bytes) == MPI_SUCCESS && bytes % 16 == 0);
        char *image = malloc((size_t)bytes);
        T_MUST(MPIX_Balance_image_pack(b, i, image, bytes) == MPI_SUCCESS);
        expect_text(MPIX_Balance_image_pack(b, i, image, bytes - 1), "not enough");
        T_MUST(MPIX_Balance_image_pack(b, i, image, bytes) == MPI_SUCCESS);
        for (MPI_Count cut = 0; cut < bytes; cut += 16) {
            T_OK(MPIX_Balance_image_unpack(b, i, image, cut) != MPI_SUCCESS);
        }
        image[0] ^= 1;
        expect_text(MPIX_Balance_image_unpack(b, i, image, bytes), "no image");
        image[0] ^= 1;
        image[32] ^= 1; // the first name
        expect_text(MPIX_Balance_image_unpack(b, i, image, bytes), "'field'");
        image[32] ^= 1;
        memset(image + 32 + 64, 0x7f, 8); // its length
        expect_text(MPIX_Balance_image_unpack(b, i, image, bytes), "ends inside state 'field'");
        T_MUST(MPIX_Balance_image_pack(b, i, image, bytes) == MPI_SUCCESS);
        T_EQ(MPIX_Balance_image_unpack(b, i, image, bytes), MPI_SUCCESS);
        free(image);
    }
    state_check(b, 0);
}

int main(int argc, char **argv)
{
    MPIX_Balance b;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(parent, &me);
    MPI_Comm_size(parent, &size);
    T_MUST(MPIX_Balance_create(parent, share(0, me), MPI_INFO_NULL, &b) == MPI_SUCCESS);
    state_create(b);
    check_where(b, 0);
    state_check(b, 0);
    ring(b);
    rounds(b);
    if (size > 1) {
        for (int r = 0; r < size; r++) {
            T_MUST(MPIX_Balance_move(b, me == r ? N : 0, NULL) == MPI_SUCCESS);
            failures(b, r);
        }
    }
    mistakes(b);
    images(b);
    T_EQ(MPIX_Balance_free(&b), MPI_SUCCESS);
    T_OK(b == MPIX_BALANCE_NULL);
    T_EQ(n_alive, 0);
    expect_text(MPIX_Balance_free(&b), "MPIX_BALANCE_NULL");
    MPI_Comm_free(&parent);
    MPI_Finalize();
    return t_status();
}
