// SPDX-License-Identifier: BSD-3-Clause
// One process becomes two.
#ifndef PLI_ELASTIC_FORK_SPLIT_H
#define PLI_ELASTIC_FORK_SPLIT_H

#include "base/err.h"

#include <stdint.h>

// Returns twice. In the old process *told_out is -1, and the new one has told that it is a process
// of the job. In the new one it is what to tell that with. The new process is nobody's child here:
// it belongs to the launcher. number, if not 0: the process number it should have, and has where
// the system lets us choose. Context: the only thread.
enum pli_err pli_fork_split(uint32_t number, int *told_out);
void pli_fork_split_tell(int told);

#endif
