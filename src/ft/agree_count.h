// SPDX-License-Identifier: BSD-3-Clause
// Counting the votes of an agreement: by any member where all are on one host, and by the head of
// the job where they are not.
#ifndef PLI_FT_AGREE_COUNT_H
#define PLI_FT_AGREE_COUNT_H

#include "boot/failure_wire.h"
#include "boot/node.h"

#include <stdbool.h>

// Whether a process is among the first n_failed that died.
bool pli_agree_count_is_out(const struct pli_node *node, uint64_t proc, uint32_t n_failed);
// Whether all members that are not out have come to agreement `seq`.
bool pli_agree_count_is_full(const struct pli_node *node,
                             const struct pli_failure_agreement *agreement, uint32_t seq,
                             uint32_t n_failed);
// What follows from the votes of the members that are not out.
struct pli_failure_outcome pli_agree_count_count(const struct pli_node *node,
                                                 const struct pli_failure_agreement *agreement,
                                                 uint32_t seq, uint32_t n_failed);

#endif
