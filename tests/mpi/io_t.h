// SPDX-License-Identifier: BSD-3-Clause
// What tests of files share.
#ifndef PLI_MPI_IO_T_H
#define PLI_MPI_IO_T_H

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/stat.h>
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

// A file of all ranks in a folder. Where the file system can, and all ranks see the same processes,
// it has no name but that of rank 0's descriptor, so that nothing stays whatever ends the ranks;
// else the caller unlinks it in the end, which does nothing to the others.
static inline void io_t_path(char *path, int cap, const char *folder, const char *program)
{
    struct stat s = { .st_ino = 0 };
    int me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    int fd = me == 0 ? open(folder, O_TMPFILE | O_RDWR, 0600) : -1;
    if (me == 0) {
        snprintf(path, (size_t)cap, "/proc/%d/fd/%d", (int)getpid(), fd);
    }
    MPI_Bcast(path, cap, MPI_CHAR, 0, MPI_COMM_WORLD);
    unsigned long mine = stat(path, &s) == 0 ? (unsigned long)s.st_ino : 0, its = mine;
    MPI_Bcast(&its, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
    int is_seen = mine != 0 && mine == its;
    MPI_Allreduce(MPI_IN_PLACE, &is_seen, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (is_seen) {
        return; // the descriptor is closed with its process
    }
    if (me == 0) {
        close(fd);
        snprintf(path, (size_t)cap, "%s/%s.%d", folder, program, (int)getpid());
    }
    MPI_Bcast(path, cap, MPI_CHAR, 0, MPI_COMM_WORLD);
}

#endif
