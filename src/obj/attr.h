// SPDX-License-Identifier: BSD-3-Clause
// Attributes: values a user attaches to communicators, datatypes and windows under keys. [MPI-5.0
// 7.7]
#ifndef PLI_OBJ_ATTR_H
#define PLI_OBJ_ATTR_H

#include "base/err.h"
#include "obj/handle.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct pli_attr_list; // NULL while an object has none

// Tell where objects of a kind keep their `struct pli_attr_list *`: once, by the file that defines
// the kind. Context: start-up only.
void pli_attr_keep(enum pli_kind kind, size_t offset);

// Copy all attributes of one object to a new one of the same kind, calling the copy callbacks.
// When one fails its code is noted with pli_fail_user and the new object is left without any.
// Context: any thread; calls the user with no lock held.
enum pli_err pli_attr_copy_all(struct pli_obj *from, struct pli_obj *to);

// Delete all attributes, last set first, calling the delete callbacks while the handle still
// works. When one fails, it and those set before it stay. For MPI_Comm_free, MPI_Type_free, and
// on MPI_COMM_SELF at the start of MPI_Finalize.
enum pli_err pli_attr_delete_all(struct pli_obj *obj);

// Drop what is left without callbacks, for an object about to be destroyed: what a failing
// delete callback kept.
void pli_attr_forget_all(struct pli_obj *obj);

// A key for objects of a kind. The callbacks are those of the kind.
union pli_attr_copy {
    MPI_Comm_copy_attr_function *comm;
    MPI_Type_copy_attr_function *type;
    MPI_Win_copy_attr_function *win;
};
union pli_attr_drop {
    MPI_Comm_delete_attr_function *comm;
    MPI_Type_delete_attr_function *type;
    MPI_Win_delete_attr_function *win;
};
enum pli_err pli_attr_create_key(enum pli_kind on, union pli_attr_copy copy,
                                 union pli_attr_drop drop, void *extra, int *keyval_out);
// The key goes when no attribute uses it any more; *keyval becomes MPI_KEYVAL_INVALID.
enum pli_err pli_attr_free_key(enum pli_kind on, int *keyval);

enum pli_err pli_attr_set(struct pli_obj *obj, int keyval, void *value);
enum pli_err pli_attr_get(struct pli_obj *obj, int keyval, void *value_out, int *flag_out);
enum pli_err pli_attr_delete(struct pli_obj *obj, int keyval);

#endif
