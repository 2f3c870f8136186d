// SPDX-License-Identifier: BSD-3-Clause
// What the recorder of --profile and --timeline asks the library: who takes part in a communicator.
#ifndef PLI_GLUE_OBSERVE_H
#define PLI_GLUE_OBSERVE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_observe_process {
    uint32_t index;             // in the job
    uint32_t world, rank, size; // index of the first process of its world
};

struct pli_observe_comm {
    uint64_t context; // the same at all members, unique in the job
    uint32_t me, my_ep;
    int32_t n_peer;
    bool is_session; // not of the world model
    bool is_told;    // a world whose calls may return MPI_WORLD_RESIZED, to the program alone
    bool is_run;     // peer i is first + i * step, with endpoints likewise
    uint32_t first, first_ep;
    int32_t step, ep_step;
};

// False before MPI is initialized, and where mpiexec did not start the process.
bool pli_observe_get_process(struct pli_observe_process *out);
bool pli_observe_get_comm(MPI_Comm comm, struct pli_observe_comm *out);
// Index of the process that a rank names; its endpoint to *ep_out. The rank must be in range.
uint32_t pli_observe_get_peer(MPI_Comm comm, int rank, uint32_t *ep_out);

// From now on a thread that waits calls this after looks in vain, with how many there were: each
// takes some 10 ns. Context: the function must not call MPI.
void pli_observe_note_looks(void (*looked)(uint32_t n_look));

// MPIX_Phase_begin and MPIX_Phase_end do nothing unless a tool records them.
int pli_observe_phase_begin(const char *name);
int pli_observe_phase_end(void);

#endif
