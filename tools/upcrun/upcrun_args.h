// SPDX-License-Identifier: BSD-3-Clause
// The command line of upcrun, as far as mpiexec must understand it too.
#ifndef PLI_UPCRUN_ARGS_H
#define PLI_UPCRUN_ARGS_H

#include <stdbool.h>

// Whether the word at argv[0] is the option `name`, with one dash or two; its value then is what
// follows '=' or the next word. *n_used: words taken. NULL in *value_out: the value is missing.
bool pli_upcrun_is(char **argv, const char *name, const char **value_out, int *n_used);

// Words of options that take a value, NULL at the end.
extern const char *const pli_upcrun_valued[];

// The number after an option with two names, 0: not said, -1: it is no number. Looks no further
// than the program.
long pli_upcrun_number(char **argv, const char *name, const char *other);

#endif
