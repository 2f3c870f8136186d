// SPDX-License-Identifier: BSD-3-Clause
// Files that restored ranks have open or mapped.
#ifndef PLI_LAUNCHER_RESTART_FILES_H
#define PLI_LAUNCHER_RESTART_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct pli_criu_file;

enum pli_restart_stage {
    PLI_RESTART_FIND,     // all are there, and none is shorter than it was; nothing is changed
    PLI_RESTART_TRUNCATE, // what those that the rank writes to have grown by since is cut off
    PLI_RESTART_CHECK,    // those that it only reads have the size they had
};

// Before a rank is restored from the images in dir. Each stage is for all ranks before the next one
// begins: a file that one rank reads may be another's to write. False with a message: it cannot be.
bool pli_restart_files(const char *dir, uint32_t rank, enum pli_restart_stage stage);

// Before a rank that comes from another host is restored: others have gone on, and may have written
// to its files, of which nothing is cut off. CRIU is let compare only the sizes of programs and
// libraries, which must be as they were. False with a message: it cannot be restored.
bool pli_restart_files_moved(const char *dir, uint32_t rank);

// Whether CRIU opens the file by its name, and compares its size.
bool pli_restart_files_is_named(const struct pli_criu_file *file);

// Say what was cut off, in one sentence for all ranks.
void pli_restart_files_say(void);

#endif
