// SPDX-License-Identifier: BSD-3-Clause
// System calls on files, repeated until all is done, and what their errors mean to MPI.
#ifndef PLI_IO_FILE_SYS_H
#define PLI_IO_FILE_SYS_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iovec;

// Fails with the class that errno stands for and a sentence: "cannot write 512 bytes at offset 0 of
// file x: No space left on device". what: "write"; len < 0: no bytes are named. Context: any
// thread.
enum pli_err pli_file_sys_fail(int error, const char *what, const char *name, MPI_Offset at,
                               long long len);

// The number of the file system's kind (linux/magic.h); 0: not known.
uint32_t pli_file_sys_type(int fd);

// Read or write all of `len` bytes at an offset. Reading ends early at the end of the file:
// *done_out says how many bytes were moved, also on failure.
enum pli_err pli_file_sys_read(int fd, const char *name, void *buf, size_t len, MPI_Offset at,
                               size_t *done_out);
enum pli_err pli_file_sys_write(int fd, const char *name, const void *buf, size_t len,
                                MPI_Offset at, size_t *done_out);
// The same with several pieces of memory, which are changed.
enum pli_err pli_file_sys_readv(int fd, const char *name, struct iovec *iov, int n, MPI_Offset at,
                                size_t *done_out);
enum pli_err pli_file_sys_writev(int fd, const char *name, struct iovec *iov, int n, MPI_Offset at,
                                 size_t *done_out);

// Whether a file can have so many bytes on its disk, or that is not known. To ask for more would
// fill the disk for a moment, and others would fail.
bool pli_file_sys_has_room(int fd, MPI_Offset len);
// Whether the process may write so far into a file (RLIMIT_FSIZE): a write across that is cut
// short.
bool pli_file_sys_is_allowed(MPI_Offset hi);
// Both, for a range.
enum pli_err pli_file_sys_check_room(int fd, const char *name, MPI_Offset lo, MPI_Offset hi);
// Reserve space for a range; the size stays. Fails where a write of it would be cut short. A file
// system that cannot reserve is not asked.
enum pli_err pli_file_sys_reserve(int fd, const char *name, MPI_Offset lo, MPI_Offset hi);

// Lock a range of the file against other processes, other threads with a descriptor of their own
// and, on NFS, other hosts; waits. is_write: alone, else together with other readers. len 0: to the
// end.
enum pli_err pli_file_sys_lock(int fd, const char *name, bool is_write, MPI_Offset at,
                               MPI_Offset len);
// The same for writing, without waiting; false: another has a part of it, or there are no locks.
bool pli_file_sys_try_lock(int fd, MPI_Offset at, MPI_Offset len);
void pli_file_sys_unlock(int fd, MPI_Offset at, MPI_Offset len);
// After fork(): give the descriptor locks of its own, which it shares with that of the parent until
// then. Where the file cannot be opened again it stays as it is.
void pli_file_sys_part(int fd);

#endif
