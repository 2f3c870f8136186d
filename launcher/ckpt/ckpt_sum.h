// SPDX-License-Identifier: BSD-3-Clause
// The checksum of whole files.
#ifndef PLI_LAUNCHER_CKPT_SUM_H
#define PLI_LAUNCHER_CKPT_SUM_H

#include <stdbool.h>
#include <stdint.h>

// Of a file's content; false with errno.
bool pli_ckpt_sum(const char *path, uint64_t *sum_out, uint64_t *bytes_out);
// The same of one that was just written: from where it is in memory. A disk that fails is SIGBUS.
bool pli_ckpt_sum_fresh(const char *path, uint64_t *sum_out, uint64_t *bytes_out);

#endif
