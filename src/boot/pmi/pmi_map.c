// SPDX-License-Identifier: BSD-3-Clause
// Reads PMI_process_mapping.
#include "boot/pmi/pmi_map.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 24 };

// A number and the one character that ends it.
static bool number(const char **s, char end, uint32_t *out)
{
    char *after;
    if (**s < '0' || **s > '9') {
        return false;
    }
    unsigned long v = strtoul(*s, &after, 10);
    if (v > MOST || *after != end) {
        return false;
    }
    *out = (uint32_t)v;
    *s = after + 1;
    return true;
}

// Place the processes of one block; false: malformed. *s is behind it.
static bool block(const char **s, uint32_t *host_of, uint32_t n, uint32_t *done)
{
    uint32_t first, hosts, each;
    if (**s != '(') {
        return false;
    }
    ++*s;
    if (!number(s, ',', &first) || !number(s, ',', &hosts) || !number(s, ')', &each) ||
        hosts == 0 || each == 0) {
        return false;
    }
    for (uint32_t h = 0; h < hosts && *done < n; h++) {
        for (uint32_t i = 0; i < each && *done < n; i++) {
            host_of[(*done)++] = first + h;
        }
    }
    return true;
}

bool pli_pmi_map_read(const char *text, uint32_t *host_of, uint32_t n)
{
    static const char head[] = "(vector,";
    if (strncmp(text, head, sizeof head - 1) != 0) {
        return false;
    }
    const char *first = text + sizeof head - 1, *s = first;
    uint32_t done = 0;
    while (done < n) {
        if (!block(&s, host_of, n, &done)) {
            return false;
        }
        if (*s == ')') { // the end: begin again for those that are left
            if (s[1] != '\0') {
                return false;
            }
            s = first;
        } else if (*s++ != ',') {
            return false;
        }
    }
    return true;
}
