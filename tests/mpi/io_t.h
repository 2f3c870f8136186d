// SPDX-License-Identifier: BSD-3-Clause
// What tests of files share.
#ifndef PLI_MPI_IO_T_H
#define PLI_MPI_IO_T_H

#include <fcntl.h>
#include <unistd.h>

// Open a file to see what the system has: on NFS a client that wrote to it sees what others wrote
// under a lock only, which closing takes away.
static inline int io_t_open(const char *path)
{
    struct flock all = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
    int fd = open(path, O_RDONLY);
    if (fd >= 0 && fcntl(fd, F_OFD_SETLKW, &all) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

#endif
