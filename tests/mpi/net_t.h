// SPDX-License-Identifier: BSD-3-Clause
// The connections that this process has with others.
#ifndef PLI_TESTS_MPI_NET_T_H
#define PLI_TESTS_MPI_NET_T_H

#include <sys/socket.h>

#include "t.h"

enum { MOST = 1024 };

static inline int connections(void)
{
    int n = 0;
    for (int fd = 0; fd < MOST; fd++) {
        struct sockaddr_storage a;
        socklen_t len = sizeof a;
        n += getpeername(fd, (struct sockaddr *)&a, &len) == 0 &&
             (a.ss_family == AF_INET || a.ss_family == AF_INET6);
    }
    return n;
}

#endif
