// SPDX-License-Identifier: BSD-3-Clause
// Attributes of windows: those of the library, and the user's.
#include "rma/win_attr.h"

#include "obj/attr.h"
#include "rma/win.h"

#include <string.h>

enum pli_err pli_win_attr_create_key(MPI_Win_copy_attr_function *copy,
                                     MPI_Win_delete_attr_function *drop, int *keyval_out,
                                     void *extra)
{
    return pli_attr_create_key(PLI_KIND_WIN, (union pli_attr_copy){ .win = copy },
                               (union pli_attr_drop){ .win = drop }, extra, keyval_out);
}

enum pli_err pli_win_attr_free_key(int *keyval)
{
    return pli_attr_free_key(PLI_KIND_WIN, keyval);
}

// Those that the library sets: name and value, NULL: it is none of them.
static const char *fixed(struct pli_win *w, int keyval, void **value_out)
{
    switch (keyval) {
    case MPI_WIN_BASE:
        *value_out = w->base;
        return "MPI_WIN_BASE";
    case MPI_WIN_SIZE:
        *value_out = &w->size;
        return "MPI_WIN_SIZE";
    case MPI_WIN_DISP_UNIT:
        *value_out = &w->unit_int;
        return "MPI_WIN_DISP_UNIT";
    case MPI_WIN_CREATE_FLAVOR:
        *value_out = &w->flavor;
        return "MPI_WIN_CREATE_FLAVOR";
    case MPI_WIN_MODEL:
        *value_out = &w->model;
        return "MPI_WIN_MODEL";
    default:
        return NULL;
    }
}

static enum pli_err refuse(struct pli_win *w, int keyval, const char *what)
{
    void *value;
    const char *name = fixed(w, keyval, &value);
    return name == NULL ? PLI_OK
                        : pli_fail(PLI_ERR_KEYVAL, "%s is a predefined attribute and cannot be %s",
                                   name, what);
}

enum pli_err pli_win_attr_set(struct pli_win *w, int keyval, void *value)
{
    enum pli_err err = refuse(w, keyval, "set");
    return err == PLI_OK ? pli_attr_set(&w->obj, keyval, value) : err;
}

enum pli_err pli_win_attr_get(struct pli_win *w, int keyval, void *value_out, int *flag_out)
{
    void *value;
    if (fixed(w, keyval, &value) == NULL) {
        return pli_attr_get(&w->obj, keyval, value_out, flag_out);
    }
    memcpy(value_out, &value, sizeof value);
    *flag_out = 1;
    return PLI_OK;
}

enum pli_err pli_win_attr_delete(struct pli_win *w, int keyval)
{
    enum pli_err err = refuse(w, keyval, "deleted");
    return err == PLI_OK ? pli_attr_delete(&w->obj, keyval) : err;
}
