// SPDX-License-Identifier: BSD-3-Clause
// Sets, finds, copies and deletes attributes of objects. Callbacks run with no lock held and may
// themselves use the attributes of the object, so every list is looked up again after a callback.
#include "obj/attr.h"

#include "base/cpu.h"
#include "base/lock.h"
#include "obj/keyval.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct pli_keyval *key;
    void *value;
    bool is_busy; // its delete callback runs
};

struct pli_attr_list {
    int n, cap;
    struct entry entries[]; // in the order they were set
};

static struct pli_lock guard; // of all lists and keys
PLI_START_VAR static size_t offset_of[PLI_N_KIND];

PLI_START void pli_attr_keep(enum pli_kind kind, size_t offset)
{
    offset_of[kind] = offset;
}

static struct pli_attr_list **list_of(struct pli_obj *obj)
{
    return (struct pli_attr_list **)((char *)obj + offset_of[pli_handle_kind(obj)]);
}

// The entry of a key, or NULL; guard held.
static struct entry *find(struct pli_obj *obj, int keyval)
{
    struct pli_attr_list *l = *list_of(obj);
    for (int i = 0; l != NULL && i < l->n; i++) {
        if (l->entries[i].key->number == keyval) {
            return &l->entries[i];
        }
    }
    return NULL;
}

// Append; guard held. Takes a reference of the key. False: no memory.
static bool append(struct pli_obj *obj, struct pli_keyval *key, void *value)
{
    struct pli_attr_list **place = list_of(obj), *l = *place;
    if (l == NULL || l->n == l->cap) {
        int cap = l == NULL ? 4 : 2 * l->cap;
        struct pli_attr_list *more = realloc(l, sizeof *l + (size_t)cap * sizeof l->entries[0]);
        if (more == NULL) {
            return false;
        }
        more->n = l == NULL ? 0 : more->n;
        more->cap = cap;
        *place = l = more;
    }
    key->refs++;
    l->entries[l->n++] = (struct entry){ key, value, false };
    return true;
}

// Take an entry out; guard held.
static void take_out(struct pli_obj *obj, struct entry *e)
{
    struct pli_attr_list **place = list_of(obj), *l = *place;
    pli_keyval_release(e->key);
    memmove(e, e + 1, (size_t)(l->entries + l->n - (e + 1)) * sizeof *e);
    if (--l->n == 0) {
        free(l);
        *place = NULL;
    }
}

static int call_drop(const struct pli_keyval *k, struct pli_obj *obj, void *value)
{
    void *h = pli_handle_of(obj, obj->kind);
    switch (k->on) {
    case PLI_KIND_COMM:
        return k->drop.comm == MPI_COMM_NULL_DELETE_FN
                   ? 0
                   : k->drop.comm(h, k->number, value, k->extra);
    case PLI_KIND_DATATYPE:
        return k->drop.type == MPI_TYPE_NULL_DELETE_FN
                   ? 0
                   : k->drop.type(h, k->number, value, k->extra);
    default:
        return k->drop.win == MPI_WIN_NULL_DELETE_FN ? 0
                                                     : k->drop.win(h, k->number, value, k->extra);
    }
}

// The number 1 in place of a function says: copy the value as it is.
static int call_copy(const struct pli_keyval *k, struct pli_obj *obj, void *value, void **value_out,
                     int *flag_out)
{
    void *h = pli_handle_of(obj, obj->kind);
    *flag_out = (uintptr_t)k->copy.comm == 1;
    *value_out = value;
    if ((uintptr_t)k->copy.comm <= 1) {
        return 0;
    }
    switch (k->on) {
    case PLI_KIND_COMM:
        return k->copy.comm(h, k->number, k->extra, value, value_out, flag_out);
    case PLI_KIND_DATATYPE:
        return k->copy.type(h, k->number, k->extra, value, value_out, flag_out);
    default:
        return k->copy.win(h, k->number, k->extra, value, value_out, flag_out);
    }
}

// Delete one entry: guard held on entry, dropped on return.
static enum pli_err drop_entry(struct pli_obj *obj, struct entry *e)
{
    int number = e->key->number;
    if (e->is_busy) {
        pli_lock_drop(&guard);
        return pli_fail(PLI_ERR_KEYVAL, "the attribute with key %d is being deleted", number);
    }
    struct pli_keyval *key = e->key;
    void *value = e->value;
    e->is_busy = true; // no other thread takes it out while the callback runs
    pli_lock_drop(&guard);
    int code = call_drop(key, obj, value);
    pli_lock_take(&guard);
    e = find(obj, number);
    if (code == 0) {
        take_out(obj, e);
    } else {
        e->is_busy = false;
    }
    pli_lock_drop(&guard);
    return code == 0 ? PLI_OK
                     : pli_fail_user(code, "the delete callback of attribute key %d returned %d",
                                     number, code);
}

static enum pli_err no_key(struct pli_obj *obj, int keyval)
{
    if (keyval == MPI_KEYVAL_INVALID) {
        return pli_fail(PLI_ERR_KEYVAL, "the key is MPI_KEYVAL_INVALID");
    }
    return pli_fail(PLI_ERR_KEYVAL, "%d is not a key for attributes of a %s, or was freed", keyval,
                    pli_handle_kind_name(pli_handle_kind(obj)));
}

enum pli_err pli_attr_set(struct pli_obj *obj, int keyval, void *value)
{
    enum pli_err err = PLI_OK;
    pli_lock_take(&guard);
    struct pli_keyval *key = pli_keyval_find(keyval);
    if (key == NULL || key->on != pli_handle_kind(obj) || key->is_freed) {
        pli_lock_drop(&guard);
        return no_key(obj, keyval);
    }
    key->refs++; // the callback of the old value may free the key
    for (struct entry *e = find(obj, keyval); err == PLI_OK && e != NULL; e = find(obj, keyval)) {
        err = drop_entry(obj, e);
        pli_lock_take(&guard);
    }
    if (err == PLI_OK && !append(obj, key, value)) {
        err = pli_fail(PLI_ERR_NOMEM, "no memory for an attribute");
    }
    pli_keyval_release(key);
    pli_lock_drop(&guard);
    return err;
}

enum pli_err pli_attr_get(struct pli_obj *obj, int keyval, void *value_out, int *flag_out)
{
    pli_lock_take(&guard);
    const struct entry *e = find(obj, keyval);
    const struct pli_keyval *key = e != NULL ? e->key : pli_keyval_find(keyval);
    bool is_key = key != NULL && key->on == pli_handle_kind(obj);
    *flag_out = e != NULL;
    if (e != NULL) {
        memcpy(value_out, &e->value, sizeof e->value);
    }
    pli_lock_drop(&guard);
    return is_key ? PLI_OK : no_key(obj, keyval);
}

enum pli_err pli_attr_delete(struct pli_obj *obj, int keyval)
{
    pli_lock_take(&guard);
    struct entry *e = find(obj, keyval);
    if (e != NULL) {
        return drop_entry(obj, e);
    }
    const struct pli_keyval *key = pli_keyval_find(keyval);
    bool is_key = key != NULL && key->on == pli_handle_kind(obj);
    pli_lock_drop(&guard);
    return is_key ? pli_fail(PLI_ERR_KEYVAL, "no attribute is set under key %d", keyval)
                  : no_key(obj, keyval);
}

enum pli_err pli_attr_delete_all(struct pli_obj *obj)
{
    enum pli_err err = PLI_OK;
    pli_lock_take(&guard);
    while (err == PLI_OK && *list_of(obj) != NULL) {
        struct pli_attr_list *l = *list_of(obj);
        err = drop_entry(obj, &l->entries[l->n - 1]);
        pli_lock_take(&guard);
    }
    pli_lock_drop(&guard);
    return err;
}

void pli_attr_forget_all(struct pli_obj *obj)
{
    pli_lock_take(&guard);
    while (*list_of(obj) != NULL) {
        struct pli_attr_list *l = *list_of(obj);
        take_out(obj, &l->entries[l->n - 1]);
    }
    pli_lock_drop(&guard);
}

// Copy the attribute with this key, if it is still there.
static enum pli_err copy_one(struct pli_obj *from, struct pli_obj *to, int keyval)
{
    void *copy;
    int flag, code;
    pli_lock_take(&guard);
    const struct entry *e = find(from, keyval);
    if (e == NULL || e->is_busy) {
        pli_lock_drop(&guard);
        return PLI_OK;
    }
    struct pli_keyval *key = e->key;
    void *value = e->value;
    key->refs++;
    pli_lock_drop(&guard);
    code = call_copy(key, from, value, &copy, &flag);
    pli_lock_take(&guard);
    bool is_full = code == 0 && flag && !append(to, key, copy);
    pli_keyval_release(key);
    pli_lock_drop(&guard);
    if (is_full) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for an attribute");
    }
    return code == 0 ? PLI_OK
                     : pli_fail_user(code, "the copy callback of attribute key %d returned %d",
                                     keyval, code);
}

enum pli_err pli_attr_copy_all(struct pli_obj *from, struct pli_obj *to)
{
    enum pli_err err = PLI_OK;
    pli_lock_take(&guard);
    const struct pli_attr_list *l = *list_of(from);
    int n = l != NULL ? l->n : 0;
    int *keys = n > 0 ? malloc((size_t)n * sizeof *keys) : NULL;
    for (int i = 0; keys != NULL && i < n; i++) {
        keys[i] = l->entries[i].key->number;
    }
    pli_lock_drop(&guard);
    if (n > 0 && keys == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory to copy %d attributes", n);
    }
    for (int i = 0; err == PLI_OK && i < n; i++) {
        err = copy_one(from, to, keys[i]);
    }
    free(keys);
    if (err != PLI_OK) {
        int code;
        char why[256];
        snprintf(why, sizeof why, "%s", pli_fail_take(&code));
        pli_attr_delete_all(to); // what a second failure leaves goes with the object
        err = err == PLI_ERR_USER ? pli_fail_user(code, "%s", why) : pli_fail(err, "%s", why);
    }
    return err;
}

enum pli_err pli_attr_create_key(enum pli_kind on, union pli_attr_copy copy,
                                 union pli_attr_drop drop, void *extra, int *keyval_out)
{
    pli_lock_take(&guard);
    struct pli_keyval *k = pli_keyval_create(on);
    if (k != NULL) {
        k->copy = copy;
        k->drop = drop;
        k->extra = extra;
        *keyval_out = k->number;
    }
    pli_lock_drop(&guard);
    return k != NULL ? PLI_OK : pli_fail(PLI_ERR_NOMEM, "no memory for an attribute key");
}

enum pli_err pli_attr_free_key(enum pli_kind on, int *keyval)
{
    if (keyval == NULL) {
        return pli_fail(PLI_ERR_ARG, "the pointer to the key is NULL");
    }
    pli_lock_take(&guard);
    struct pli_keyval *k = pli_keyval_find(*keyval);
    bool is_good = k != NULL && k->on == on;
    if (is_good && !k->is_freed) { // a key in use may be freed again, as a copy of it
        k->is_freed = true;
        pli_keyval_release(k);
    }
    pli_lock_drop(&guard);
    if (!is_good) {
        return no_key(&(struct pli_obj){ .kind = (uint16_t)on }, *keyval);
    }
    *keyval = MPI_KEYVAL_INVALID;
    return PLI_OK;
}
