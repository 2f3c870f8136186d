// SPDX-License-Identifier: BSD-3-Clause
// Whether a rank can be restored from the images that CRIU has written of it.
#ifndef PLI_LAUNCHER_CKPT_VERIFY_H
#define PLI_LAUNCHER_CKPT_VERIFY_H

#include <stdbool.h>

// As far as can be seen without restoring it; why (of PLI_CKPT_WHY characters) says else what is
// wrong.
bool pli_ckpt_verify(const char *dir, char *why);

#endif
