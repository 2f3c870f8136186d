// SPDX-License-Identifier: BSD-3-Clause
// Chooses the bootstrap that started this process, and opens it once.
#ifndef PLI_BOOT_BOOT_OPEN_H
#define PLI_BOOT_BOOT_OPEN_H

#include "base/err.h"

struct pli_boot;

// The process's one bootstrap: opened by the first call, closed never (sessions come and go).
// Fails in a child forked after its parent had opened it. Context: any thread.
enum pli_err pli_boot_open(struct pli_boot **out);

#endif
