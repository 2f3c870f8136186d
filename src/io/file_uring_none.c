// SPDX-License-Identifier: BSD-3-Clause
// A library that was built where the headers of liburing were not.
#include "io/file_uring.h"

bool pli_file_uring_is_there(const char **why_out)
{
    *why_out = "Pliant MPI was built without liburing; build it where its headers are (Debian: "
               "liburing-dev)";
    return false;
}

bool pli_file_uring_is_wanted(uint32_t system)
{
    (void)system;
    return false;
}

void pli_file_uring_move(bool is_write, int fd, struct pli_file_piece *pieces, int n)
{
    (void)is_write;
    (void)fd;
    (void)pieces;
    (void)n;
}
