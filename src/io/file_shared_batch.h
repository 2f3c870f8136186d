// SPDX-License-Identifier: BSD-3-Clause
// Lines that come quickly, one after the other, are collected in shared memory and written by one
// system call for many. Lines that come slowly are written at once.
#ifndef PLI_IO_FILE_SHARED_BATCH_H
#define PLI_IO_FILE_SHARED_BATCH_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct pli_file;
struct pli_file_access;
struct pli_datatype;

// Rank 0, which has opened the file: how much memory all share, which begins with the shared
// pointer; 0: lines are not collected in this file.
size_t pli_file_shared_batch_len(const struct pli_file *f);
// Rank 0 has that memory, and makes it ready.
void pli_file_shared_batch_offer(struct pli_file *f);
// Every member, where rank 0 did. Closing ends the thread, and is allowed without.
enum pli_err pli_file_shared_batch_open(struct pli_file *f);
void pli_file_shared_batch_close(struct pli_file *f);
// What was collected is written, and the thread ends until it is needed again.
void pli_file_shared_batch_pause(struct pli_file *f);

// The short way for a line of bytes, which finds its place too. True: it is collected, or *err_out
// tells why it is not. False: it is to be written by itself, at *at_out if that was changed.
bool pli_file_shared_batch_line(struct pli_file *f, const void *buf, MPI_Count count,
                                const struct pli_datatype *type, MPI_Offset *at_out,
                                size_t *len_out, enum pli_err *err_out);
// Collect what is written with the shared pointer. False: the line is to be written by itself.
// *err_out: lines that were collected before could not be written.
bool pli_file_shared_batch_write(struct pli_file_access *a, enum pli_err *err_out);
// A line was written by itself.
enum pli_err pli_file_shared_batch_note(const struct pli_file_access *a);
// What members have collected is in the file, or this tells what is wrong. Before every access.
// Context: any thread.
enum pli_err pli_file_shared_batch_flush(struct pli_file *f);
// The same in a collective call, which changes the file or ends its use: it tells also what this
// process could not write before.
enum pli_err pli_file_shared_batch_settle(struct pli_file *f);
// Whether lines were collected since the file was opened.
bool pli_file_shared_batch_is_used(const struct pli_file *f);
// As pli_file_shared_batch_flush for all files of this process, which is about to end.
void pli_file_shared_batch_flush_all(void);
// The same before MPI is over, and lines are no longer collected: files may have been left open.
void pli_file_shared_batch_leave(void);

#endif
