// SPDX-License-Identifier: BSD-3-Clause
// Makes a checkpoint of what was written: checksums, manifest, name; and the oldest go.
#ifndef PLI_LAUNCHER_CKPT_COMMIT_H
#define PLI_LAUNCHER_CKPT_COMMIT_H

#include <stdbool.h>

// The plan is a struct pli_ckpt_plan; a sentence goes to report. Context: a helper.
bool pli_ckpt_commit(void *plan, int report);

#endif
