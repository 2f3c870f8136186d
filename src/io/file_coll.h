// SPDX-License-Identifier: BSD-3-Clause
// Collective access in two phases: members exchange data with a few of them, the aggregators, which
// read and write large contiguous parts of the file. [MPI-5.0 14.4.2]
#ifndef PLI_IO_FILE_COLL_H
#define PLI_IO_FILE_COLL_H

#include "base/err.h"
#include "io/file.h"

struct pli_file_access;
struct pli_file_view;

// How rank 0, which has opened the file, would do rounds; it tells all. A file system that answers
// late is used while the next window comes.
enum pli_file_rounds pli_file_coll_rounds(const struct pli_file *f);
// Choose the aggregators when the file is opened; n_core: of the host of rank 0. All members have
// the same hints and choose alike.
enum pli_err pli_file_coll_begin(struct pli_file *f, int n_core);
void pli_file_coll_end(struct pli_file *f);

// Tell the aggregators what this member sees of the file from now on; collective.
enum pli_err pli_file_coll_share_view(struct pli_file *f, const struct pli_file_view *v);

// Move the data of all members; err: what this one failed with before. All members get the same
// error. Members in several clients of an IMPI job access it each by itself.
// Context: no other collective on the file's communicator is under way.
enum pli_err pli_file_coll_run(struct pli_file_access *a, enum pli_err err);

#endif
