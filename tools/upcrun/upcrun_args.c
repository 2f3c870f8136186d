// SPDX-License-Identifier: BSD-3-Clause
// Finds a number in the command line of an upcrun, without taking its options.
#include "tools/upcrun/upcrun_args.h"

#include "upcrun_options.h"

#include <stdlib.h>

long pli_upcrun_number(char **argv, const char *name)
{
    long n = 0;
    for (int i = 1; argv[i] != NULL && pli_options_is_option(argv[i]);) {
        struct pli_option_use use;
        int used = pli_options_match(&pli_upcrun_options, argv + i, &use);
        if (used != 0 && pli_options_is_named(use.option, name)) {
            char *end;
            n = used > 0 ? strtol(use.text, &end, 10) : -1;
            bool is_number = used > 0 && use.text[0] != '\0' && *end == '\0';
            n = is_number && n >= use.option->min && n <= use.option->max ? n : -1;
        }
        if (used < 0) {
            break;
        }
        i += used > 0 ? used : 1;
    }
    return n;
}
