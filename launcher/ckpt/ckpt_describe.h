// SPDX-License-Identifier: BSD-3-Clause
// What the manifest of a checkpoint says of the job, beside the list of files.
#ifndef PLI_LAUNCHER_CKPT_DESCRIBE_H
#define PLI_LAUNCHER_CKPT_DESCRIBE_H

#include <stdbool.h>
#include <stdint.h>

struct pli_ckpt_plan;
struct pli_manifest_task;

struct pli_ckpt_what {
    struct pli_manifest_task *tasks; // NULL: it is registered state
    uint32_t n;                      // of those, or ranks that have written theirs
    const uint64_t *clocks;          // of all hosts; NULL: one host
};
// Make plan->head.
bool pli_ckpt_describe(struct pli_ckpt_plan *plan, const struct pli_ckpt_what *what);

#endif
