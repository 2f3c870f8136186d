// SPDX-License-Identifier: BSD-3-Clause
// The agents of an IMPI client on several hosts, as mpiexec sees them through its daemons: each
// sends its address, the first one meets the other clients for all, and the rest are told of it.
#ifndef PLI_LAUNCHER_IMPI_AGENTS_H
#define PLI_LAUNCHER_IMPI_AGENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_job;

// Whether all ranks can be placed: those of a host follow each other, and hosts as they are listed,
// as IMPI numbers them. Else a message and false. True without --impi.
bool pli_impi_agents_check(const struct pli_job *job);

// A message from the agent of a host. True: all of them are up now.
bool pli_impi_agents_hear(struct pli_job *job, uint32_t host, int word, const void *data,
                          size_t len);

bool pli_impi_agents_are_up(const struct pli_job *job); // ranks may start; true without --impi
bool pli_impi_agents_are_over(struct pli_job *job);     // all ranks have ended: let them take leave

// The agents of an IMPI client on several hosts: pli_launcher.impi_agents.
struct pli_impi_agents_state {
    struct pli_native_agent_place *places; // by host
    bool *is_here;
    uint32_t n_here, n_up, n_over;
    bool is_told;
};

#endif
