// SPDX-License-Identifier: BSD-3-Clause
// Calls that accept MPI_WIN_NULL, or a window of the rank that this one was forked from.
#include "glue/win_calls.h"

#include "glue/check.h"
#include "glue/raise.h"
#include "rma/win.h"
#include "rma/win_free.h"

#include <string.h>

int pli_win_calls_get_name(MPI_Win win, char *name, int *len)
{
    static const char fn[] = "MPI_Win_get_name";
    struct pli_win *w = pli_arg_win(win);
    if (w == NULL && win != MPI_WIN_NULL) {
        return pli_bad_handle(NULL, fn, "win", PLI_KIND_WIN, win);
    }
    if (name == NULL || len == NULL) {
        return pli_bad_pointer(w != NULL ? &w->obj : NULL, fn,
                               name == NULL ? "win_name" : "resultlen");
    }
    strcpy(name, w != NULL ? w->name : "MPI_WIN_NULL");
    *len = (int)strlen(name);
    return MPI_SUCCESS;
}

int pli_win_calls_free(MPI_Win *win)
{
    static const char fn[] = "MPI_Win_free";
    if (win == NULL) {
        return pli_bad_pointer(NULL, fn, "win");
    }
    struct pli_win *w = pli_arg_win(*win);
    if (w == NULL && pli_handle_get(*win, PLI_KIND_LOST) != NULL) {
        *win = MPI_WIN_NULL;
        return MPI_SUCCESS;
    }
    if (w == NULL) {
        return pli_bad_handle(NULL, fn, "win", PLI_KIND_WIN, *win);
    }
    enum pli_err err = pli_win_free(w);
    if (err == PLI_OK) {
        *win = MPI_WIN_NULL;
    }
    return pli_glue_return(err == PLI_OK ? NULL : &w->obj, fn, err);
}
