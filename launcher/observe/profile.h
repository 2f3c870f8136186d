// SPDX-License-Identifier: BSD-3-Clause
// --profile: where the time went, on one page.
#ifndef PLI_LAUNCHER_PROFILE_H
#define PLI_LAUNCHER_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct pli_trace_model;

// A call site of all ranks together.
struct pli_profile_site {
    uint32_t function;
    const char *place;
    uint64_t n, ns, longest, bytes;
    uint32_t n_rank;      // that called it
    uint32_t first, last; // of the model's ranks: which spent most and least time there
    uint64_t most, least; // and how much
};

struct pli_profile_wait {
    uint32_t waiter, index, ep; // a rank of the model waited for that process
    uint64_t ns;
};

enum { PLI_PROFILE_N_FINDING = 3, PLI_PROFILE_FINDING = 400 };

struct pli_profile {
    const struct pli_trace_model *m;
    struct pli_profile_site *sites; // the longest time first
    uint32_t n_site;
    struct pli_profile_wait *waits; // likewise
    uint32_t n_wait;
    uint64_t *late;                 // by rank of the model: how long others waited for it
    uint64_t ns, ns_mpi, ns_waited; // of all ranks together
    uint64_t elapsed;
    uint64_t bins[64];
    char findings[PLI_PROFILE_N_FINDING][PLI_PROFILE_FINDING];
    uint32_t n_finding;
};

void pli_profile_make(struct pli_profile *p, const struct pli_trace_model *m);
void pli_profile_fini(struct pli_profile *p);
void pli_profile_print(const struct pli_profile *p, FILE *to);
// The same with plots, as a page for a browser that needs nothing else.
void pli_profile_html(const struct pli_profile *p, FILE *to);

#endif
