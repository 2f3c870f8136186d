// SPDX-License-Identifier: BSD-3-Clause
// What the command line of upcrun says, and what mpiexec reads of it.
#ifndef PLI_UPCRUN_ARGS_H
#define PLI_UPCRUN_ARGS_H

#include <stdbool.h>

struct pli_upcrun_args {
    long n, pthreads, nodes;
    const char *heap, *timeout;
    bool is_quiet, is_verbose, is_show, is_info;
    char **program; // and its arguments
};

// The value of the option `name` in the command line of an upcrun, 0: it is not there, -1: it is no
// number of threads or hosts. Looks no further than the program.
long pli_upcrun_number(char **argv, const char *name);

#endif
