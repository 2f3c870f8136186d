// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking access: a thread of the file does one operation after the other. Operations of
// different files do not wait for each other, and those of one file are done in the order in which
// they began, as collectives must be.
#ifndef PLI_IO_FILE_ASYNC_H
#define PLI_IO_FILE_ASYNC_H

#include "base/err.h"

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>

struct pli_file;
struct pli_file_access;
struct pli_obj;
struct pli_request;

// Take an access over, which began with err, and do it later. is_coll: together with all members.
enum pli_err pli_file_async_start(struct pli_file_access *a, enum pli_err err, bool is_coll,
                                  struct pli_request **out);
// Wait until all operations that began before are over. Context: no lock held.
void pli_file_async_drain(struct pli_file *f);
// The same for a collective call that changes the file; fails while a split collective is open, or
// where lines that were collected cannot be written.
enum pli_err pli_file_async_settle(struct pli_file *f, const char *call);
// A thread for a file, which leaves signals to the program. 0, or the number of the error.
int pli_file_async_begin_thread(pthread_t *out, void *(*body)(void *), void *arg);
// The file is closed.
void pli_file_async_end(struct pli_file *f);

// The file that a request belongs to, as owner of an error handler; NULL: it is of another kind.
struct pli_obj *pli_file_async_owner(const struct pli_request *r);

#endif
