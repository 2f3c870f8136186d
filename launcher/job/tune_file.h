// SPDX-License-Identifier: BSD-3-Clause
// The file in which mpiinfo --tune keeps its rules (src/base/tune_rule.h), and mpiexec finds them.
#ifndef PLI_LAUNCHER_JOB_TUNE_FILE_H
#define PLI_LAUNCHER_JOB_TUNE_FILE_H

#include <stdbool.h>
#include <stddef.h>

// Cores that the rules are for: those of this host that may be used.
int pli_tune_file_cores(void);

// Where it is. False: PLIANT_TUNE_FILE says none, or there is no home.
bool pli_tune_file_path(char *out, size_t room);

// Write these rules. False: a sentence was printed, and the old file is there.
bool pli_tune_file_write(const char *path, const char *rules);

// The rules of this host, with semicolons between them; NULL: there is no file, or one that a
// sentence was printed about. The memory stays.
const char *pli_tune_file_read(void);

#endif
