// SPDX-License-Identifier: BSD-3-Clause
// Files that restored ranks have open for writing.
#ifndef PLI_MPIEXEC_RESTART_FILES_H
#define PLI_MPIEXEC_RESTART_FILES_H

#include <stdbool.h>
#include <stdint.h>

// Before a rank is restored from the images in dir: what its files have grown by since is cut off,
// as the rank will write it again. False with a message: one is not there, or shorter than it was;
// without is_cut that is all that is looked at.
bool pli_restart_files(const char *dir, uint32_t rank, bool is_cut);

// Say what was cut off, in one sentence for all ranks.
void pli_restart_files_say(void);

#endif
