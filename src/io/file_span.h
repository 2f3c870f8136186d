// SPDX-License-Identifier: BSD-3-Clause
// Files whose members are in several clients of an IMPI job. All see one file system, and each
// accesses the file by itself: between them go the shared pointer and whether all are well.
#ifndef PLI_IO_FILE_SPAN_H
#define PLI_IO_FILE_SPAN_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_comm;
struct pli_file;

// Whether a client of the job has no such files: then all members refuse, without a message.
bool pli_file_span_is_refused(const struct pli_comm *comm);
enum pli_err pli_file_span_check(const struct pli_comm *comm); // the same, with a sentence

// Numbers that all clients know, and back.
int pli_file_span_fault(enum pli_err err);
enum pli_err pli_file_span_err(int fault);
int pli_file_span_mode(int amode);

// What this process sees of the file it has opened, as in struct pli_file_wire_seen.
enum { PLI_FILE_N_SEEN = 4 };
enum pli_err pli_file_span_look(const struct pli_file *f, int64_t *seen);
// Rank 0 tells it to all. Collective.
enum pli_err pli_file_span_tell(struct pli_comm *comm, int64_t *seen);
// This process has tried to open the file that rank 0 has opened: is it the same?
enum pli_err pli_file_span_compare(const struct pli_file *f, enum pli_err err,
                                   const int64_t *first);

#endif
