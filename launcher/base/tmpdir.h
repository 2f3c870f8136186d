// SPDX-License-Identifier: BSD-3-Clause
// A directory of this process alone for images on their way. It is gone when this process is,
// however that ends.
#ifndef PLI_LAUNCHER_TMPDIR_H
#define PLI_LAUNCHER_TMPDIR_H

#include <sys/types.h>
#include <limits.h>
#include <stdbool.h>

// Make it, under PLIANT_IMAGE_DIR, unless it is there; what dead processes have left there is
// removed. False with errno.
bool pli_tmpdir_open(void);
const char *pli_tmpdir_path(void); // empty: there is none
void pli_tmpdir_close(void);       // with all that is in it

// The directory for images: pli_launcher.tmpdir.
struct pli_tmpdir_state {
    char path[PATH_MAX];     // empty: there is none
    int lock_fd, cleaner_fd; // the cleaner waits at the latter
    pid_t cleaner;           // removes the directory when mpiexec is gone
};
void pli_tmpdir_init(void); // its first values

#endif
