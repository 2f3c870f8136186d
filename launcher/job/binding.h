// SPDX-License-Identifier: BSD-3-Clause
// Decides which cores each task runs on.
#ifndef PLI_LAUNCHER_BINDING_H
#define PLI_LAUNCHER_BINDING_H

#include <stdbool.h>
#include <stdint.h>

struct pli_job;
struct pli_options;
struct pli_binding;

// Work out task->place for --bind-to and --map-by; without these nothing is bound and the machine
// is not even looked at, which takes longer than starting a rank. Ends mpiexec with a sentence when
// the machine has no such things.
void pli_binding_plan(struct pli_job *job);

// Whether the words of these options can be understood at all; else mpiexec ends with a sentence.
void pli_binding_check(const struct pli_options *o);

// Bind the calling process. Only makes a system call: safe between vfork and exec.
bool pli_binding_apply(const struct pli_binding *place);

// "core 2 (cpu 4,5)"
const char *pli_binding_text(const struct pli_binding *place);

// Processors that the ranks of the job may use together.
uint32_t pli_binding_n_core(const struct pli_job *job);

// A part of the machine and the ranks bound inside it, in ascending order.
struct pli_domain {
    const char *kind; // "socket", "numa", "core"
    uint32_t number;
    uint32_t *ranks, n;
};

// The i-th part that has ranks, NULL after the last. None when nothing is bound.
const struct pli_domain *pli_binding_domain(uint32_t i);

// What ranks are bound to: pli_launcher.binding.
struct pli_binding_state {
    void *used; // hwloc_bitmap_t, by any rank; NULL: nothing is bound
    struct pli_domain *domains;
    uint32_t n_domain;
};

#endif
