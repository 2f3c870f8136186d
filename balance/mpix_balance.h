// SPDX-License-Identifier: BSD-3-Clause
// Load balancing by moving endpoints: the parts of a computation are the ranks of an endpoint
// communicator, and processes hold as many of them as their load allows. See mpix_balance(3).
#ifndef MPIX_BALANCE_H
#define MPIX_BALANCE_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct pli_balance *MPIX_Balance;
#define MPIX_BALANCE_NULL ((MPIX_Balance)0)

// One kind of data that endpoints have. Each function returns MPI_SUCCESS or an error code, which
// then ends the call it was made for without effect. arg is what was registered.
typedef struct MPIX_Balance_state {
    // How many bytes pack will write.
    int (*size)(const void *data, void *arg, MPI_Count *bytes);
    // Write them. buf is aligned for any type.
    int (*pack)(const void *data, void *arg, void *buf, MPI_Count bytes);
    // Make data of them; *data is the caller's from then on, in another process perhaps.
    int (*unpack)(const void *buf, MPI_Count bytes, void *arg, void **data);
    // The data is not needed here any more. NULL: nothing to do.
    void (*drop)(void *data, void *arg);
} MPIX_Balance_state;

// What a rebalance saw and did; the same at every process.
typedef struct MPIX_Balance_result {
    double before;   // largest load of a process by the mean, both per weight; 1 is perfect
    double after;    // the same for the loads as they lie now
    int moved;       // endpoints that went to another process
    MPI_Count bytes; // that they brought along
} MPIX_Balance_result;

// Computes a map: owner[i] becomes the process, a rank of the parent, that is to have endpoint i of
// n_ep, whose load was load[i] and which is at process was[i] now. weight[p]: how much process p
// can carry. Called with the same arguments in every process, where it gives the same map. Returns
// MPI_SUCCESS, or an error code, which then ends the rebalance without effect.
typedef int (*MPIX_Balance_partition)(int n_ep, const double load[], int n_process,
                                      const double weight[], const int was[], int owner[],
                                      void *arg);

// Collective over parent, by one thread per process: my_num_ep endpoints here, zero too.
int MPIX_Balance_create(MPI_Comm parent, int my_num_ep, MPI_Info info, MPIX_Balance *balance);
// Collective over parent: drop all state, free the endpoints.
int MPIX_Balance_free(MPIX_Balance *balance);

// Local, with the same names in the same order everywhere, before any data is set.
int MPIX_Balance_register(MPIX_Balance balance, const char *name, const MPIX_Balance_state *state,
                          void *arg, int *part);
// The data of the index-th endpoint here. Data that was never set is NULL and stays so. After
// MPIX_Balance_get the calling thread counts as working for that endpoint, until it gets the data
// of another one: its processor time is the load of the endpoint, unless loads are reported.
int MPIX_Balance_set(MPIX_Balance balance, int index, int part, void *data);
int MPIX_Balance_get(MPIX_Balance balance, int index, int part, void **data);

// Endpoints here now; the handle of each, valid until endpoints move; where a rank lies, as a
// rank of the parent.
int MPIX_Balance_count(MPIX_Balance balance, int *num_ep);
int MPIX_Balance_comm(MPIX_Balance balance, int index, MPI_Comm *comm);
int MPIX_Balance_where(MPIX_Balance balance, int rank, int *parent_rank);

// Add to the load of an endpoint since the last rebalance. Any thread, one per endpoint at a time.
// Where no process reports any the load is measured: see MPIX_Balance_get.
int MPIX_Balance_report(MPIX_Balance balance, int index, double load);
// How much this process can carry beside the others (1); 0 empties it at the next rebalance.
int MPIX_Balance_weight(MPIX_Balance balance, double weight);

// Collective over parent, by one thread per process while no other thread uses the endpoints. A
// failure leaves everything as it was, at all processes. result may be NULL.
int MPIX_Balance_rebalance(MPIX_Balance balance, MPIX_Balance_result *result);
// The same with the number of endpoints of this process given instead of computed.
int MPIX_Balance_move(MPIX_Balance balance, int my_num_ep, MPIX_Balance_result *result);

// The same with the process of every endpoint given: parent_rank[r] is to have rank r, for all
// ranks; the same map in every process.
int MPIX_Balance_map(MPIX_Balance balance, const int parent_rank[], MPIX_Balance_result *result);
// Local, the same in every process: from now on MPIX_Balance_rebalance asks this function where
// endpoints go. NULL: the library's own.
int MPIX_Balance_set_partition(MPIX_Balance balance, MPIX_Balance_partition partition, void *arg);

// Collective over parent, a communicator that takes the place of the one the balance was made with,
// say a world that has grown or shrunk. Endpoints stay where they are. A process that is new gives
// an empty balance of MPI_COMM_SELF with the same state registered. All processes that have
// endpoints are members of parent.
int MPIX_Balance_set_parent(MPIX_Balance balance, MPI_Comm parent);

// All data of one endpoint as one piece of bytes, for a checkpoint: it may be read back into the
// same rank, here or in another run with another number of processes. Local.
int MPIX_Balance_image_size(MPIX_Balance balance, int index, MPI_Count *bytes);
int MPIX_Balance_image_pack(MPIX_Balance balance, int index, void *buf, MPI_Count bytes);
int MPIX_Balance_image_unpack(MPIX_Balance balance, int index, const void *buf, MPI_Count bytes);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
