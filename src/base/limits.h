// SPDX-License-Identifier: BSD-3-Clause
// How much this process may reserve: limits of the system, and of a tool that watches it.
#ifndef PLI_BASE_LIMITS_H
#define PLI_BASE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

// Bytes of addresses one reservation may take, so that several of them together leave the program
// most of what it may map (ulimit -v). UINT64_MAX: there is no limit. Context: any thread.
uint64_t pli_limits_share(void);

// Whether the process runs under valgrind. It knows fewer addresses than the machine has, and its
// search for leaks reads, and so makes, every page of what is mapped. Context: any thread.
bool pli_limits_is_valgrind(void);

// Bytes a file may become (ulimit -f), UINT64_MAX: there is no limit. It is the soft limit where
// that allows `least`, else the hard one. Context: any thread.
uint64_t pli_limits_file(uint64_t least);

// Give a file this size. Where the soft limit on files is lower, it is raised for that moment;
// where that is not allowed, false with errno, and no signal. Context: start-up only.
bool pli_limits_resize(int fd, uint64_t size);

#endif
