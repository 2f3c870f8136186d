// SPDX-License-Identifier: BSD-3-Clause
// The stacks of ranks on other hosts, for mpictl stack: a helper of each daemon reads them.
#ifndef PLI_LAUNCHER_STACK_COLLECT_H
#define PLI_LAUNCHER_STACK_COLLECT_H

#include "launcher/base/helper.h"
#include "launcher/base/pack.h"

struct pli_job;
struct pli_node;

// Have the stack of one process of this host read, or of all (UINT32_MAX), and sent to mpiexec.
// Context: a daemon.
void pli_stack_collect_begin(struct pli_job *job, uint32_t index);
// Forget the stacks that were asked for before. Context: mpiexec.
void pli_stack_collect_clear(struct pli_node *node);
// What a daemon has sent, into the memory of mpiexec.
void pli_stack_collect_take(struct pli_node *node, struct pli_unpack *u);

// The helper: pli_launcher.stack_collect.
struct pli_stack_collect_state {
    struct pli_helper helper;
    int memory; // where it writes, -1: none
    uint32_t index;
};
void pli_stack_collect_init(void); // its first values

#endif
