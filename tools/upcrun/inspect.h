// SPDX-License-Identifier: BSD-3-Clause
// What upcc wrote into a program about how it was compiled.
#ifndef PLI_UPCRUN_INSPECT_H
#define PLI_UPCRUN_INSPECT_H

#include <stdbool.h>

struct pli_upcrun_facts {
    bool is_upc; // compiled by upcc, as far as can be seen
    bool is_pthreads;
    long static_threads; // 0: dynamic
    long each;           // OS threads per process unless an option says otherwise; 0: not given
};

// A program that cannot be found or read has no facts; starting it will fail with the reason.
void pli_upcrun_inspect(const char *program, struct pli_upcrun_facts *out);

#endif
