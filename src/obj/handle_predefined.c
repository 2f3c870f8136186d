// SPDX-License-Identifier: BSD-3-Clause
// The table of predefined objects by their ABI value; explains what is wrong with a handle.
#include "obj/handle_predefined.h"

#include "base/cpu.h"
#include "obj/errhandler.h"
#include "obj/group.h"
#include "obj/info.h"

#include <stdio.h>

// Objects that may be used before any initialisation are there from the start; the others are
// entered.
struct pli_obj *pli_handle_predefined[PLI_N_PREDEFINED] = {
    [0x109] = &pli_group_empty.obj,       [0x131] = &pli_info_env.obj,
    [0x141] = &pli_errhandler_fatal.obj,  [0x142] = &pli_errhandler_abort.obj,
    [0x143] = &pli_errhandler_return.obj,
};

PLI_START void pli_handle_predefine(struct pli_obj *obj, enum pli_kind kind, int value)
{
    if (obj != NULL) {
        atomic_store_explicit(&obj->kind, (uint16_t)kind, memory_order_relaxed);
        obj->value = (uint16_t)value;
        atomic_store_explicit(&obj->refs, 1, memory_order_relaxed);
    }
    pli_handle_predefined[value] = obj;
}

const char *pli_handle_why(const void *h, enum pli_kind kind)
{
    static _Thread_local char text[96];
    uintptr_t v = (uintptr_t)h;
    const struct pli_obj *o = NULL;
    if (v < PLI_N_PREDEFINED) {
        if (pli_handle_null_name(h) != NULL) {
            snprintf(text, sizeof text, "is %s", pli_handle_null_name(h));
            return text;
        }
        o = pli_handle_predefined[v];
    } else if (pli_handle_is_inside(v)) {
        o = (const struct pli_obj *)v;
    }
    if (o != NULL && o->kind == PLI_KIND_NONE && v >= PLI_N_PREDEFINED) {
        snprintf(text, sizeof text, "is a handle that was freed or never made (%p)", h);
    } else if (o != NULL && o->kind == PLI_KIND_LOST) {
        snprintf(text, sizeof text,
                 "was made before MPI_Fork by the rank that this one is a clone of");
    } else if (o != NULL && o->kind != kind && o->kind < PLI_N_KIND) {
        snprintf(text, sizeof text, "is a handle of another kind: a %s",
                 pli_handle_kind_name(o->kind));
    } else {
        snprintf(text, sizeof text, "is not a handle (%p)", h);
    }
    return text;
}
