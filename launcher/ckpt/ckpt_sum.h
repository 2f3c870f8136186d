// SPDX-License-Identifier: BSD-3-Clause
// A checksum of files, against damage.
#ifndef PLI_LAUNCHER_CKPT_SUM_H
#define PLI_LAUNCHER_CKPT_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Of a file's content; false with errno.
bool pli_ckpt_sum(const char *path, uint64_t *sum_out, uint64_t *bytes_out);
// The same of one that was just written: from where it is in memory. A disk that fails is SIGBUS.
bool pli_ckpt_sum_fresh(const char *path, uint64_t *sum_out, uint64_t *bytes_out);
uint64_t pli_ckpt_hash(uint64_t seed, const void *data, size_t len);

#endif
