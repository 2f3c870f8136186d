// SPDX-License-Identifier: BSD-3-Clause
// A directory of this process alone for images on their way. It is gone when this process is,
// however that ends.
#ifndef PLI_LAUNCHER_TMPDIR_H
#define PLI_LAUNCHER_TMPDIR_H

#include <stdbool.h>

// Make it, under PLIANT_IMAGE_DIR, unless it is there; what dead processes have left there is
// removed. False with errno.
bool pli_tmpdir_open(void);
const char *pli_tmpdir_path(void); // empty: there is none
void pli_tmpdir_close(void);       // with all that is in it

#endif
