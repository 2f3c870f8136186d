// SPDX-License-Identifier: BSD-3-Clause
// The rules that mpiinfo --tune writes: which collective algorithm is the fastest for so many ranks
// and bytes. A rule is `allreduce 3-4 182-1448 ring`; rules stand on lines, or between semicolons.
#ifndef PLI_BASE_TUNE_RULE_H
#define PLI_BASE_TUNE_RULE_H

#include <stdbool.h>
#include <stddef.h>

#define PLI_TUNE_RULE_HEAD "pliant-tune 1" // first words of a file of rules

struct pli_tune_rule {
    char operation[32], algorithm[32];
    int min_rank, max_rank;
    long long min_bytes, max_bytes;
};

// Read all rules; `take` gets each and returns NULL, or what is wrong with it; it may be NULL.
// False: one cannot be read or was refused, and why_out says so.
bool pli_tune_rule_read(const char *text, const char *(*take)(const struct pli_tune_rule *r),
                        char *why_out, size_t room);

#endif
