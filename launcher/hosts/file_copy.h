// SPDX-License-Identifier: BSD-3-Clause
// Sends the files of a directory, and of the folders in it, over a protected connection, and
// receives them. Both wait; so they are for processes that have nothing else to do.
#ifndef PLI_LAUNCHER_FILE_COPY_H
#define PLI_LAUNCHER_FILE_COPY_H

#include "base/protect_stream.h"
#include "launcher/hosts/file_copy_wire.h"

#include <stdbool.h>

// All are there when it is true; else a sentence is in `why` (PLI_FILE_COPY_WHY bytes).
bool pli_file_copy_send(struct pli_protect_stream *s, const char *dir, char *why);

// Into a directory that no other user may write. Whatever comes, nothing is made outside of it, and
// no file is there already; when it is false what was received is of no use.
bool pli_file_copy_receive(struct pli_protect_stream *s, const char *dir, char *why);

#endif
