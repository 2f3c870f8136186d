// SPDX-License-Identifier: BSD-3-Clause
// The agent of a client: one process that relays messages between the client's processes, which
// send it frames, and the hosts of the other clients. It sleeps unless a socket is ready. Context:
// one thread.
#ifndef PLI_AGENT_H
#define PLI_AGENT_H

#include "engine/impi_env.h"
#include "engine/impi_net.h"

struct pli_agent_where;

struct pli_agent_conf {
    struct pli_impi_env env;
    uint32_t n_proc; // of this client
    int32_t tag_ub;  // the largest tag of its MPI
    int parent_fd;   // socket to the process that started the agent, process 0 of the client
    struct pli_impi_log log;
};

// Relay until the job is over. Returns the exit status of the program: 0, or 1 after an error.
int pli_agent_run(const struct pli_agent_conf *conf);

#endif
