// SPDX-License-Identifier: BSD-3-Clause
// The end of communicators: operations under way outlive the handle, delete callbacks can refuse,
// predefined and freed ones are recognised, disconnect waits for what was let go.
#include "comm.h"

enum { BIG = 1 << 20 };

static int n_deleted, refuses;

static int drop(MPI_Comm comm, int key, void *value, void *extra)
{
    int size;
    (void)key, (void)value, (void)extra;
    T_MPI(MPI_Comm_size(comm, &size)); // the handle still works
    T_EQ(size, world_size);
    n_deleted++;
    return refuses ? MPI_ERR_OTHER : MPI_SUCCESS;
}

// Free first, complete later: small and large messages, sends and receives.
static void pending(void)
{
    static int big[BIG], got[BIG];
    int to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size;
    for (int k = 0; k < 2; k++) {
        int n = k == 0 ? 1 : BIG;
        MPI_Comm c;
        MPI_Request r[2];
        T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &c));
        for (int i = 0; i < n; i++) {
            big[i] = world_rank * 1000 + i;
            got[i] = -1;
        }
        T_MPI(MPI_Irecv(got, n, MPI_INT, from, 1, c, &r[0]));
        T_MPI(MPI_Isend(big, n, MPI_INT, to, 1, c, &r[1]));
        T_MPI(MPI_Comm_free(&c));
        T_MPI(MPI_Barrier(MPI_COMM_WORLD));
        T_MPI(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        T_EQ(got[0], from * 1000);
        T_EQ(got[n - 1], from * 1000 + n - 1);
    }
}

static void twice(void)
{
    MPI_Comm c, copy;
    MPI_Request r;
    int x;
    T_MPI(MPI_Comm_dup(MPI_COMM_SELF, &c));
    copy = c;
    T_MPI(MPI_Comm_free(&c));
    T_REFUSED_FREED(MPI_Comm_free(&copy), MPI_ERR_COMM, "freed");
    // A receive keeps the object: the handle must be refused all the same.
    T_MPI(MPI_Comm_dup(MPI_COMM_SELF, &c));
    copy = c;
    T_MPI(MPI_Irecv(&x, 1, MPI_INT, 0, 0, c, &r));
    T_MPI(MPI_Comm_free(&c));
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    T_REFUSED(MPI_Comm_free(&copy), MPI_ERR_COMM, "freed already");
    T_MPI(MPI_Cancel(&r));
    T_MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    if (!T_IS_ENDPOINT) {
        c = MPI_COMM_WORLD;
        T_REFUSED(MPI_Comm_free(&c), MPI_ERR_COMM, "predefined");
        T_OK(c == MPI_COMM_WORLD);
        c = MPI_COMM_SELF;
        T_REFUSED(MPI_Comm_disconnect(&c), MPI_ERR_COMM, "predefined");
    }
    c = MPI_COMM_NULL;
    T_REFUSED(MPI_Comm_free(&c), MPI_ERR_COMM, "MPI_COMM_NULL");
    T_REFUSED(MPI_Comm_free(NULL), MPI_ERR_ARG, "comm");
}

// A delete callback that fails keeps the communicator alive and usable.
static void refused(void)
{
    MPI_Comm c;
    int key;
    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    T_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, &key, NULL));
    T_MPI(MPI_Comm_set_attr(c, key, NULL));
    refuses = 1;
    T_EQ(MPI_Comm_free(&c), MPI_ERR_OTHER);
    T_OK(c != MPI_COMM_NULL);
    T_MPI(MPI_Barrier(c));
    refuses = n_deleted = 0;
    T_MPI(MPI_Comm_free(&c));
    T_EQ(n_deleted, 1);
    MPI_Comm_free_keyval(&key);
}

// A send whose request was freed must have left its buffer when disconnect returns.
static void disconnect(void)
{
    static int data[BIG], got[BIG];
    MPI_Comm c;
    MPI_Request r;
    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    int to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size;
    MPI_Request recv;
    T_MPI(MPI_Irecv(got, BIG, MPI_INT, from, 0, c, &recv));
    for (int i = 0; i < BIG; i++) {
        data[i] = world_rank + i;
    }
    T_MPI(MPI_Isend(data, BIG, MPI_INT, to, 0, c, &r));
    T_MPI(MPI_Request_free(&r));
    T_MPI(MPI_Wait(&recv, MPI_STATUS_IGNORE));
    T_MPI(MPI_Comm_disconnect(&c));
    T_OK(c == MPI_COMM_NULL);
    memset(data, 255, sizeof data);
    T_MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < BIG; i += 4099) {
        T_EQ(got[i], from + i);
    }
    // An inactive persistent request is no pending traffic.
    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    T_MPI(MPI_Recv_init(got, 1, MPI_INT, 0, 0, c, &r));
    T_MPI(MPI_Comm_disconnect(&c));
    T_MPI(MPI_Request_free(&r));
}

int main(int argc, char **argv)
{
    c_start(&argc, &argv);
    pending();
    twice();
    refused();
    disconnect();
    return t_end();
}
