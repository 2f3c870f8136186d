// SPDX-License-Identifier: BSD-3-Clause
// Reads rules for the choice of collective algorithms.
#include "base/tune_rule.h"

#include <stdio.h>
#include <string.h>

// One rule. NULL: it is right; else what is wrong.
static const char *read_rule(const char *text, struct pli_tune_rule *out)
{
    char more[2];
    long long ranks[2];
    int n = sscanf(text, "%31s %lld-%lld %lld-%lld %31s %1s", out->operation, &ranks[0], &ranks[1],
                   &out->min_bytes, &out->max_bytes, out->algorithm, more);
    if (n != 6) {
        return "is not 'operation ranks-ranks bytes-bytes algorithm'";
    }
    if (ranks[0] < 1 || ranks[1] < ranks[0] || ranks[1] > 1 << 30 || out->min_bytes < 0 ||
        out->max_bytes < out->min_bytes) {
        return "has a range that is none";
    }
    out->min_rank = (int)ranks[0];
    out->max_rank = (int)ranks[1];
    return NULL;
}

bool pli_tune_rule_read(const char *at, const char *(*take)(const struct pli_tune_rule *r),
                        char *why_out, size_t room)
{
    while (*at != '\0') {
        size_t len = strcspn(at, at[0] == '#' ? "\n" : "\n;");
        char line[160];
        struct pli_tune_rule r;
        snprintf(line, sizeof line, "%.*s", (int)len, at);
        const char *text = line + strspn(line, " \t\r");
        if (*text != '\0' && *text != '#') {
            const char *why = len >= sizeof line ? "is too long" : read_rule(text, &r);
            why = why == NULL && take != NULL ? take(&r) : why;
            if (why != NULL) {
                snprintf(why_out, room, "the rule '%.60s' %s", text, why);
                return false;
            }
        }
        at += len + (at[len] != '\0');
    }
    return true;
}
