// SPDX-License-Identifier: BSD-3-Clause
// Keys of attributes: numbers that stay good while any attribute uses them.
#ifndef PLI_OBJ_KEYVAL_H
#define PLI_OBJ_KEYVAL_H

#include "obj/attr.h"

struct pli_keyval {
    int number;
    enum pli_kind on;
    bool is_freed; // by the user; attributes may still use it
    int refs;      // the user's, and one per attribute; guarded by the caller's lock
    union pli_attr_copy copy;
    union pli_attr_drop drop;
    void *extra;
};

// All with the attribute lock held.
struct pli_keyval *pli_keyval_create(enum pli_kind on); // NULL: no memory or no number left
struct pli_keyval *pli_keyval_find(int number);         // NULL: there is none
void pli_keyval_release(struct pli_keyval *k);

#endif
