// SPDX-License-Identifier: BSD-3-Clause
// The files of a directory on their way to another host: eight bytes that say so, then for each
// file a head, its name and its content; a head without a name ends it. The receiver
// answers once, with a verdict. Little-endian.
#ifndef PLI_LAUNCHER_FILE_COPY_WIRE_H
#define PLI_LAUNCHER_FILE_COPY_WIRE_H

#include <stdint.h>

#define PLI_FILE_COPY_MAGIC "PLICOPY\1"

enum { PLI_FILE_COPY_NAME = 120, PLI_FILE_COPY_FILES = 1 << 20, PLI_FILE_COPY_WHY = 300 };

struct pli_file_copy_head {
    uint32_t name_len; // "file" or "folder/file", PLI_FILE_COPY_NAME at most; 0: there are no more
    uint32_t n_file;   // before this one
    uint64_t size;
};
_Static_assert(sizeof(struct pli_file_copy_head) == 16, "goes from host to host");

struct pli_file_copy_verdict {
    uint32_t error; // errno, 0: all is there
    char why[PLI_FILE_COPY_WHY];
};
_Static_assert(sizeof(struct pli_file_copy_verdict) == 304, "goes from host to host");

#endif
