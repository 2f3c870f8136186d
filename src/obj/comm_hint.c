// SPDX-License-Identifier: BSD-3-Clause
// Hints on communicators, from and to info objects.
#include "obj/comm_hint.h"

#include "base/log.h"
#include "obj/info.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *key;
    uint32_t bit;
} hints[] = {
    { "mpi_assert_no_any_tag", PLI_HINT_NO_ANY_TAG },
    { "mpi_assert_no_any_source", PLI_HINT_NO_ANY_SOURCE },
    { "mpi_assert_exact_length", PLI_HINT_EXACT_LENGTH },
    { "mpi_assert_allow_overtaking", PLI_HINT_ALLOW_OVERTAKING },
};

enum { N_HINT = sizeof hints / sizeof hints[0] };

enum pli_err pli_comm_hint_set(struct pli_comm *c, struct pli_info *info)
{
    for (int i = 0; i < N_HINT; i++) {
        const char *value = pli_info_find(info, hints[i].key);
        if (value == NULL) {
            continue;
        }
        if (strcmp(value, "true") == 0) {
            c->hints |= hints[i].bit;
        } else if (strcmp(value, "false") == 0) {
            c->hints &= ~hints[i].bit;
        } else {
            pli_log(PLI_WARN, "hint %s=%s is neither true nor false and is not used", hints[i].key,
                    value);
        }
    }
    return PLI_OK;
}

enum pli_err pli_comm_hint_get(struct pli_comm *c, struct pli_info **out)
{
    struct pli_info *info;
    enum pli_err err = pli_info_create(&info);
    if (err != PLI_OK) {
        return err;
    }
    for (int i = 0; err == PLI_OK && i < N_HINT; i++) {
        err = pli_info_set(info, hints[i].key, (c->hints & hints[i].bit) != 0 ? "true" : "false");
    }
    uint32_t n_lane = c->hints >> PLI_HINT_LANES_AT;
    if (err == PLI_OK && n_lane != 0) {
        char text[16];
        snprintf(text, sizeof text, "%u", n_lane);
        err = pli_info_set(info, "pliant_num_lanes", text);
    }
    if (err == PLI_OK) { // [MPI-5.0 11.4.3]
        err = pli_info_set(info, "mpi_memory_alloc_kinds", "mpi,system");
    }
    if (err != PLI_OK) {
        pli_info_release(info);
        return err;
    }
    *out = info;
    return PLI_OK;
}
