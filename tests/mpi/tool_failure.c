// SPDX-License-Identifier: BSD-3-Clause
// Events of MPI_T that tell of a process that is met and of one that dies.
#include "t.h"

#include <mpi.h>
#include <signal.h>

struct seen {
    int n, first, source;
};

static void note(MPI_T_event_instance e, MPI_T_event_registration r, MPI_T_cb_safety safety,
                 void *data)
{
    struct seen *s = data;
    (void)r;
    (void)safety;
    T_EQ(MPI_T_event_read(e, 0, &s->first), MPI_SUCCESS);
    T_EQ(MPI_T_event_get_source(e, &s->source), MPI_SUCCESS);
    s->n++;
}

static MPI_T_event_registration listen(const char *name, struct seen *s)
{
    int index;
    MPI_T_event_registration r;
    T_MUST(MPI_T_event_get_index(name, &index) == MPI_SUCCESS);
    T_MUST(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &r) == MPI_SUCCESS);
    T_EQ(MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, s, note),
         MPI_SUCCESS);
    return r;
}

int main(int argc, char **argv)
{
    int provided, rank, x = 0, left, right;
    struct seen met = { 0 }, died = { 0 };
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_event_registration a = listen("connect", &met), b = listen("failure", &died);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    left = (rank + 2) % 3;
    right = (rank + 1) % 3;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &x, 1, MPI_INT, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    T_EQ(x, left);
    if (rank == 2) {
        raise(SIGKILL);
    }
    T_OK(MPI_Recv(&x, 1, MPI_INT, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    // A lost connection may fail the receive before the launcher's word comes.
    for (double end = MPI_Wtime() + 30; died.n == 0 && MPI_Wtime() < end;) {
        int is_there;
        MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
    }
    T_EQ(MPI_T_event_handle_free(a, NULL, NULL), MPI_SUCCESS);
    T_EQ(MPI_T_event_handle_free(b, NULL, NULL), MPI_SUCCESS);
    T_OK(met.n >= 1 && met.source == 0);
    T_OK(died.n == 1 && died.first == 1 && died.source == 1);
    MPI_Finalize();
    T_EQ(MPI_T_finalize(), MPI_SUCCESS);
    return t_status();
}
