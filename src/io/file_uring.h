// SPDX-License-Identifier: BSD-3-Clause
// Several reads or writes of a file under way at once, by io_uring (liburing), where the program
// may use it and where it helps.
#ifndef PLI_IO_FILE_URING_H
#define PLI_IO_FILE_URING_H

#include <stdbool.h>
#include <stdint.h>

struct pli_file_piece;

// Whether io_uring can be used now: the library was built with it and finds it, and the kernel
// allows it. Else *why_out says what is missing. Context: any thread.
bool pli_file_uring_is_there(const char **why_out);

// Whether accesses to files of this file system (see pli_file_sys_type) should use it: as
// PLIANT_FILE_URING says.
bool pli_file_uring_is_wanted(uint32_t system);

// Move pieces, as far as the kernel does; the caller does the rest of those that are not done in
// another way, which tells why. Nothing is left of the ring afterwards: a process with one cannot
// be dumped for a checkpoint. Context: any thread.
void pli_file_uring_move(bool is_write, int fd, struct pli_file_piece *pieces, int n);

#endif
