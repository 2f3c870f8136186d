// SPDX-License-Identifier: BSD-3-Clause
// Tells the server of a world that a job has ended without having joined: nobody else could.
#ifndef PLI_AGENT_EXIT_H
#define PLI_AGENT_EXIT_H

#include "engine/impi_env.h"

// `what` names the job. Does nothing where the world is complete, or over.
void pli_agent_exit(const struct pli_impi_env *env, const char *what);

#endif
