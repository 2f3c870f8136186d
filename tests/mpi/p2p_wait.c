// SPDX-License-Identifier: BSD-3-Clause
// Wait and test, one, any, some, all: null and inactive requests, statuses, errors in statuses;
// cancelling; generalized requests; looking without ending.
#include <mpi.h>

#include "t.h"

static int rank;

static int is_empty(const MPI_Status *s)
{
    int n = -1;
    MPI_Get_count(s, MPI_BYTE, &n);
    return s->MPI_SOURCE == MPI_ANY_SOURCE && s->MPI_TAG == MPI_ANY_TAG && n == 0;
}

static void nothing(void)
{
    MPI_Request r[3] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL };
    MPI_Status s[3];
    int index = 5, flag = 0, n = 5, indices[3];
    T_EQ(MPI_Wait(&r[0], &s[0]), MPI_SUCCESS);
    T_OK(is_empty(&s[0]));
    T_EQ(MPI_Test(&r[0], &flag, &s[0]), MPI_SUCCESS);
    T_OK(flag && is_empty(&s[0]));
    T_EQ(MPI_Waitany(3, r, &index, &s[0]), MPI_SUCCESS);
    T_OK(index == MPI_UNDEFINED && is_empty(&s[0]));
    flag = 0;
    T_EQ(MPI_Testany(3, r, &index, &flag, &s[0]), MPI_SUCCESS);
    T_OK(index == MPI_UNDEFINED && flag);
    T_EQ(MPI_Waitsome(3, r, &n, indices, s), MPI_SUCCESS);
    T_EQ(n, MPI_UNDEFINED);
    T_EQ(MPI_Testsome(3, r, &n, indices, s), MPI_SUCCESS);
    T_EQ(n, MPI_UNDEFINED);
    T_EQ(MPI_Waitall(3, r, s), MPI_SUCCESS);
    T_OK(is_empty(&s[2]));
    flag = 0;
    T_EQ(MPI_Testall(3, r, &flag, s), MPI_SUCCESS);
    T_OK(flag);
    T_EQ(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE), MPI_SUCCESS);
}

static void inactive(void)
{
    int v = 0, flag = 0;
    MPI_Request r;
    MPI_Status s;
    T_EQ(MPI_Recv_init(&v, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r), MPI_SUCCESS);
    T_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
    T_OK(is_empty(&s) && r != MPI_REQUEST_NULL);
    T_EQ(MPI_Test(&r, &flag, &s), MPI_SUCCESS);
    T_OK(flag);
    for (int i = 0; i < 3; i++) {
        int x = i + 40;
        T_EQ(MPI_Start(&r), MPI_SUCCESS);
        T_OK(MPI_Start(&r) != MPI_SUCCESS); // active already
        T_EQ(MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_SELF), MPI_SUCCESS);
        T_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
        T_EQ(v, x);
    }
    T_EQ(MPI_Request_free(&r), MPI_SUCCESS);
}

static void any_and_some(void)
{
    enum { N = 8 };
    int v[N], left = N, seen = 0;
    MPI_Request r[N];
    MPI_Status s[N];
    for (int i = 0; i < N; i++) {
        MPI_Irecv(&v[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &r[i]);
    }
    for (int i = N - 1; i >= 0; i -= 2) {
        MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_SELF);
    }
    int index, n, indices[N], flag;
    T_EQ(MPI_Waitany(N, r, &index, &s[0]), MPI_SUCCESS);
    T_OK(index % 2 == 1 && v[index] == index && s[0].MPI_TAG == index);
    T_OK(r[index] == MPI_REQUEST_NULL);
    left--;
    seen |= 1 << index;
    T_EQ(MPI_Waitsome(N, r, &n, indices, s), MPI_SUCCESS);
    T_EQ(n, N / 2 - 1);
    for (int i = 0; i < n; i++) {
        T_EQ(s[i].MPI_TAG, indices[i]);
        T_EQ(v[indices[i]], indices[i]);
        seen |= 1 << indices[i];
    }
    left -= n;
    T_EQ(MPI_Testsome(N, r, &n, indices, s), MPI_SUCCESS);
    T_EQ(n, 0);
    T_EQ(MPI_Testall(N, r, &flag, s), MPI_SUCCESS);
    T_EQ(flag, 0);
    T_EQ(MPI_Testany(N, r, &index, &flag, s), MPI_SUCCESS);
    T_OK(!flag && index == MPI_UNDEFINED);
    for (int i = 0; i < N; i += 2) {
        MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_SELF);
        seen |= 1 << i;
    }
    T_EQ(MPI_Waitall(N, r, s), MPI_SUCCESS);
    T_OK(is_empty(&s[1]) && s[2].MPI_TAG == 2);
    T_EQ(seen, (1 << N) - 1);
    T_EQ(left, N / 2);
}

// Errors of some requests of a list are in their statuses; the others are done.
static void errors_in_status(void)
{
    int a = 0, b[2] = { 0 }, class;
    MPI_Request r[2];
    MPI_Status s[2];
    const int two[2] = { 1, 2 };
    MPI_Irecv(&a, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[0]);
    MPI_Irecv(b, 2, MPI_INT, 0, 2, MPI_COMM_SELF, &r[1]);
    MPI_Send(two, 2, MPI_INT, 0, 1, MPI_COMM_SELF); // too long for a
    MPI_Send(two, 2, MPI_INT, 0, 2, MPI_COMM_SELF);
    int rc = MPI_Waitall(2, r, s);
    MPI_Error_class(rc, &class);
    T_EQ(class, MPI_ERR_IN_STATUS);
    MPI_Error_class(s[0].MPI_ERROR, &class);
    T_EQ(class, MPI_ERR_TRUNCATE);
    T_EQ(s[1].MPI_ERROR, MPI_SUCCESS);
    T_EQ(a, 1);
    T_EQ(b[1], 2);
    char text[MPI_MAX_ERROR_STRING];
    int len;
    MPI_Error_string(s[0].MPI_ERROR, text, &len);
    T_HAS(text, "8 bytes");
    T_HAS(text, "4 bytes");
    T_HAS(text, "tag 1");
    T_HAS(text, "MPI_COMM_SELF");
}

static void cancels(void)
{
    int v = 0, flag;
    MPI_Request r;
    MPI_Status s;
    MPI_Irecv(&v, 1, MPI_INT, rank, 77, MPI_COMM_WORLD, &r);
    T_EQ(MPI_Cancel(&r), MPI_SUCCESS);
    T_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
    T_EQ(MPI_Test_cancelled(&s, &flag), MPI_SUCCESS);
    T_EQ(flag, 1);
    // A synchronous send that nobody receives can be called back, from here and from afar.
    for (int to = 0; to < 2; to++) {
        const int tag = 82 + to; // rank 0 may be a turn ahead
        if (rank == 0) {
            MPI_Issend(&v, 1, MPI_INT, to, tag, MPI_COMM_WORLD, &r);
            T_EQ(MPI_Cancel(&r), MPI_SUCCESS);
            T_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
            MPI_Test_cancelled(&s, &flag);
            T_EQ(flag, 1);
            MPI_Send(&v, 1, MPI_INT, 1, 79, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&v, 1, MPI_INT, 0, 79, MPI_COMM_WORLD, &s);
            MPI_Iprobe(0, tag, MPI_COMM_WORLD, &flag, &s);
            T_EQ(flag, 0);
        }
        MPI_Barrier(MPI_COMM_WORLD); // else the next one may be seen before it is called back
    }
    // One that was received already cannot.
    if (rank == 0) {
        int told;
        MPI_Issend(&v, 1, MPI_INT, 1, 80, MPI_COMM_WORLD, &r);
        MPI_Recv(&told, 1, MPI_INT, 1, 81, MPI_COMM_WORLD, &s);
        T_EQ(MPI_Cancel(&r), MPI_SUCCESS);
        T_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
        MPI_Test_cancelled(&s, &flag);
        T_EQ(flag, 0);
    } else {
        MPI_Recv(&v, 1, MPI_INT, 0, 80, MPI_COMM_WORLD, &s);
        MPI_Send(&v, 1, MPI_INT, 0, 81, MPI_COMM_WORLD);
    }
}

static int n_query, n_free, n_cancel;

static int query(void *extra, MPI_Status *s)
{
    n_query++;
    MPI_Status_set_elements(s, MPI_INT, *(int *)extra);
    MPI_Status_set_cancelled(s, 0);
    s->MPI_SOURCE = 17;
    s->MPI_TAG = 18;
    return MPI_SUCCESS;
}

static int end(void *extra)
{
    (void)extra;
    n_free++;
    return MPI_SUCCESS;
}

static int stop(void *extra, int complete)
{
    (void)extra;
    n_cancel += complete ? 100 : 1;
    return MPI_SUCCESS;
}

static void generalized(void)
{
    int five = 5, flag = 1, n;
    MPI_Request r;
    MPI_Status s;
    T_EQ(MPI_Grequest_start(query, end, stop, &five, &r), MPI_SUCCESS);
    T_EQ(MPI_Test(&r, &flag, &s), MPI_SUCCESS);
    T_EQ(flag, 0);
    T_EQ(MPI_Cancel(&r), MPI_SUCCESS);
    T_EQ(n_cancel, 1);
    T_EQ(MPI_Grequest_complete(r), MPI_SUCCESS);
    T_EQ(MPI_Request_get_status(r, &flag, &s), MPI_SUCCESS);
    T_OK(flag && s.MPI_SOURCE == 17);
    T_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
    MPI_Get_count(&s, MPI_INT, &n);
    T_OK(n == 5 && s.MPI_TAG == 18 && n_query == 2 && n_free == 1);
    T_OK(r == MPI_REQUEST_NULL);
    T_EQ(MPI_Grequest_start(query, end, stop, &five, &r), MPI_SUCCESS);
    MPI_Request copy = r;
    T_EQ(MPI_Request_free(&r), MPI_SUCCESS);
    T_EQ(n_free, 1); // not before it is complete
    T_EQ(MPI_Grequest_complete(copy), MPI_SUCCESS);
    T_EQ(n_free, 2);
}

// What the functions of a generalized request return is what the call returns that calls them; of
// two the last, which is the free function.
static int code_of_query, code_of_free, code_of_cancel;

static int failing_query(void *extra, MPI_Status *s)
{
    (void)extra;
    MPI_Status_set_elements(s, MPI_BYTE, 0);
    MPI_Status_set_cancelled(s, 0);
    return code_of_query;
}

static int failing_free(void *extra)
{
    (void)extra;
    return code_of_free;
}

static int failing_cancel(void *extra, int is_complete)
{
    (void)extra;
    (void)is_complete;
    return code_of_cancel;
}

static int class_of(int rc)
{
    int class;
    MPI_Error_class(rc, &class);
    return class;
}

static MPI_Request failing(int query_code, int free_code, int cancel_code)
{
    MPI_Request r;
    code_of_query = query_code;
    code_of_free = free_code;
    code_of_cancel = cancel_code;
    T_EQ(MPI_Grequest_start(failing_query, failing_free, failing_cancel, NULL, &r), MPI_SUCCESS);
    return r;
}

static void generalized_errors(void)
{
    int flag, index;
    MPI_Status s;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Request r = failing(MPI_ERR_BUFFER, MPI_SUCCESS, MPI_SUCCESS);
    MPI_Grequest_complete(r);
    T_EQ(class_of(MPI_Request_get_status(r, &flag, &s)), MPI_ERR_BUFFER);
    T_EQ(class_of(MPI_Wait(&r, &s)), MPI_ERR_BUFFER);
    r = failing(MPI_ERR_BUFFER, MPI_ERR_TAG, MPI_SUCCESS);
    MPI_Grequest_complete(r);
    T_EQ(class_of(MPI_Test(&r, &flag, &s)), MPI_ERR_TAG);
    r = failing(MPI_SUCCESS, MPI_ERR_TAG, MPI_SUCCESS);
    MPI_Grequest_complete(r);
    T_EQ(class_of(MPI_Waitany(1, &r, &index, &s)), MPI_ERR_TAG);
    r = failing(MPI_SUCCESS, MPI_ERR_TAG, MPI_SUCCESS);
    MPI_Grequest_complete(r);
    T_EQ(class_of(MPI_Waitall(1, &r, &s)), MPI_ERR_IN_STATUS);
    T_EQ(class_of(s.MPI_ERROR), MPI_ERR_TAG);
    r = failing(MPI_SUCCESS, MPI_ERR_TAG, MPI_SUCCESS);
    MPI_Grequest_complete(r);
    T_EQ(class_of(MPI_Request_free(&r)), MPI_ERR_TAG);
    T_OK(r == MPI_REQUEST_NULL);
    MPI_Request copy = r = failing(MPI_SUCCESS, MPI_ERR_TAG, MPI_SUCCESS);
    T_EQ(MPI_Request_free(&r), MPI_SUCCESS); // the free function is not called yet
    T_EQ(class_of(MPI_Grequest_complete(copy)), MPI_ERR_TAG);
    r = failing(MPI_SUCCESS, MPI_SUCCESS, MPI_ERR_BUFFER);
    T_EQ(class_of(MPI_Cancel(&r)), MPI_ERR_BUFFER);
    MPI_Grequest_complete(r);
    T_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
}

// Looking at requests leaves them as they are.
static void looking(void)
{
    int a = 3, b = 0, flag, n, index, indices[2];
    MPI_Request r[2];
    MPI_Status s[2];
    MPI_Irecv(&b, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &r[0]);
    r[1] = MPI_REQUEST_NULL;
    T_EQ(MPI_Request_get_status(r[0], &flag, &s[0]), MPI_SUCCESS);
    T_EQ(flag, 0);
    T_EQ(MPI_Request_get_status_any(2, r, &index, &flag, &s[0]), MPI_SUCCESS);
    T_EQ(flag, 0);
    MPI_Send(&a, 1, MPI_INT, 0, 9, MPI_COMM_SELF);
    T_EQ(MPI_Request_get_status(r[0], &flag, &s[0]), MPI_SUCCESS);
    T_OK(flag && s[0].MPI_TAG == 9 && r[0] != MPI_REQUEST_NULL);
    T_EQ(MPI_Request_get_status_all(2, r, &flag, s), MPI_SUCCESS);
    T_OK(flag && s[0].MPI_TAG == 9 && is_empty(&s[1]));
    T_EQ(MPI_Request_get_status_any(2, r, &index, &flag, &s[0]), MPI_SUCCESS);
    T_OK(flag && index == 0);
    T_EQ(MPI_Request_get_status_some(2, r, &n, indices, s), MPI_SUCCESS);
    T_OK(n == 1 && indices[0] == 0);
    T_EQ(MPI_Wait(&r[0], &s[0]), MPI_SUCCESS);
    T_EQ(b, 3);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    nothing();
    inactive();
    any_and_some();
    errors_in_status();
    cancels();
    generalized();
    generalized_errors();
    looking();
    MPI_Finalize();
    return t_status();
}
