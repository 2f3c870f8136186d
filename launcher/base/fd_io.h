// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes whole buffers over blocking descriptors: calls that were interrupted, or that
// moved only a part, go on.
#ifndef PLI_LAUNCHER_FD_IO_H
#define PLI_LAUNCHER_FD_IO_H

#include <stdbool.h>
#include <stddef.h>

// False: not all could be written; errno says why.
bool pli_fd_io_write(int fd, const void *data, size_t len);
// How much was read before the end, or before an error, which errno says.
size_t pli_fd_io_read(int fd, void *data, size_t len);

#endif
