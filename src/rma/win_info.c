// SPDX-License-Identifier: BSD-3-Clause
// Keeps the hints that the user gives about a window.
// None of them changes what is done; they are kept and told.
#include "rma/win_info.h"

#include "rma/win.h"

#include <stddef.h>

static const char *const hints[][2] = {
    { "no_locks", "false" },
    { "accumulate_ordering", "rar,raw,war,waw" },
    { "accumulate_ops", "same_op_no_op" },
    { "mpi_accumulate_granularity", "0" },
    { "same_size", "false" },
    { "same_disp_unit", "false" },
    { "alloc_shared_noncontig", "false" },
};

enum { N_HINT = sizeof hints / sizeof hints[0] };

enum pli_err pli_win_info_keep(struct pli_win *w, struct pli_info *info)
{
    enum pli_err err = w->info == NULL ? pli_info_create(&w->info) : PLI_OK;
    for (int i = 0; i < N_HINT && err == PLI_OK; i++) {
        const char *value = pli_info_find(info, hints[i][0]);
        if (value == NULL && pli_info_find(w->info, hints[i][0]) == NULL) {
            value = hints[i][1];
        }
        err = value != NULL ? pli_info_set(w->info, hints[i][0], value) : PLI_OK;
    }
    return err;
}

enum pli_err pli_win_info_set(struct pli_win *w, struct pli_info *info)
{
    return pli_win_info_keep(w, info);
}

enum pli_err pli_win_info_get(struct pli_win *w, struct pli_info **out)
{
    return pli_info_dup(w->info, out);
}
