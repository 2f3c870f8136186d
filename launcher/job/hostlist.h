// SPDX-License-Identifier: BSD-3-Clause
// Reads lists of hosts as Slurm writes them: "n[01-03,07],gpu1".
#ifndef PLI_LAUNCHER_HOSTLIST_H
#define PLI_LAUNCHER_HOSTLIST_H

#include <stdbool.h>
#include <stdint.h>

// Most hosts that a list may stand for.
enum { PLI_HOSTLIST_MOST = 1 << 16 };

// Call fn with every name of the list, in order, until it returns false. NULL, or what is wrong
// with the list, as in "the list ...": names before the mistake have been told then. A list may be
// anything; it never stands for more than PLI_HOSTLIST_MOST names.
const char *pli_hostlist_each(const char *list, bool (*fn)(const char *name, void *arg), void *arg);

// Numbers as in "2(x3),1": 2, 2, 2, 1, and then the last one for ever.
struct pli_hostlist_counts {
    const char *at; // the text; NULL: there is none, and all numbers are 0
    uint32_t value, left;
};

// The next number. False: the text is not such a list.
bool pli_hostlist_count(struct pli_hostlist_counts *c, uint32_t *out);

#endif
