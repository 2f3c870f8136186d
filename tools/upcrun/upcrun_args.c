// SPDX-License-Identifier: BSD-3-Clause
// Reads options of upcrun: "-opt value" and "-opt=value", one dash or two.
#include "upcrun_args.h"

#include <stdlib.h>
#include <string.h>

const char *const pli_upcrun_valued[] = {
    "n",       "np",       "N",           "nodes",           "c",           "cpus-per-node",
    "p",       "pthreads", "shared-heap", "shared-heap-max", "heap-offset", "conf",
    "network", "env",      "timeout",     "tracefile",       "trace-file",  NULL,
};

bool pli_upcrun_is(char **argv, const char *name, const char **value_out, int *n_used)
{
    const char *word = argv[0];
    if (word[0] != '-') {
        return false;
    }
    word += word[1] == '-' ? 2 : 1;
    size_t len = strlen(name);
    if (strncmp(word, name, len) != 0 || (word[len] != '\0' && word[len] != '=')) {
        return false;
    }
    *value_out = word[len] == '=' ? word + len + 1 : argv[1];
    *n_used = word[len] == '=' ? 1 : 2;
    return true;
}

long pli_upcrun_number(char **argv, const char *name, const char *other)
{
    long n = 0;
    for (int i = 1; argv[i] != NULL && argv[i][0] == '-';) {
        const char *value = NULL;
        int used = 1;
        for (int k = 0; pli_upcrun_valued[k] != NULL; k++) {
            if (pli_upcrun_is(argv + i, pli_upcrun_valued[k], &value, &used)) {
                break;
            }
            used = 1;
        }
        if (pli_upcrun_is(argv + i, name, &value, &used) ||
            pli_upcrun_is(argv + i, other, &value, &used)) {
            char *end;
            n = value != NULL ? strtol(value, &end, 10) : -1;
            n = value == NULL || *value == '\0' || *end != '\0' || n < 1 || n > 1024 ? -1 : n;
        }
        if (used == 2 && argv[i + 1] == NULL) {
            break;
        }
        i += used;
    }
    return n;
}
