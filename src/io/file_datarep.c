// SPDX-License-Identifier: BSD-3-Clause
// external32, and the representations that programs register. Data that is not native passes
// through a buffer in the form it has in the file.
#include "io/file_datarep.h"

#include "obj/cursor.h"
#include "obj/datatype.h"
#include "obj/handle.h"
#include "obj/status.h"
#include "obj/type_blocks.h"
#include "obj/type_calls.h"
#include "obj/type_pack.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pli_file_datarep {
    struct pli_file_datarep *next;
    char name[MPI_MAX_DATAREP_STRING];
    MPI_Datarep_conversion_function *read_fn, *write_fn;
    MPI_Datarep_conversion_function_c *read_large, *write_large;
    MPI_Datarep_extent_function *extent_fn; // NULL: external32
    void *extra;
};

static struct pli_file_datarep external32 = { .name = "external32" };
static struct pli_file_datarep *registered; // only ever added to
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static struct pli_file_datarep *find(const char *name)
{
    pthread_mutex_lock(&guard);
    struct pli_file_datarep *r = registered;
    while (r != NULL && strcmp(r->name, name) != 0) {
        r = r->next;
    }
    pthread_mutex_unlock(&guard);
    return r;
}

enum pli_err pli_file_datarep_find(const char *name, const struct pli_file_datarep **out)
{
    if (strcmp(name, "native") == 0 || strcmp(name, "internal") == 0) {
        *out = NULL;
        return PLI_OK;
    }
    *out = strcmp(name, "external32") == 0 ? &external32 : find(name);
    return *out != NULL
               ? PLI_OK
               : pli_fail(
                     PLI_ERR_UNSUPPORTED_DATAREP,
                     "argument datarep is \"%.100s\", but must be native, internal, external32 "
                     "or a name that MPI_Register_datarep was called with",
                     name);
}

const char *pli_file_datarep_name(const struct pli_file_datarep *rep)
{
    return rep == NULL ? "native" : rep->name;
}

static enum pli_err add(const struct pli_file_datarep *r)
{
    struct pli_file_datarep *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a data representation");
    }
    *copy = *r;
    pthread_mutex_lock(&guard);
    copy->next = registered;
    registered = copy;
    pthread_mutex_unlock(&guard);
    return PLI_OK;
}

static enum pli_err check(const char *name, MPI_Datarep_extent_function *extent_fn)
{
    const struct pli_file_datarep *known;
    if (name == NULL || name[0] == '\0' || strlen(name) >= MPI_MAX_DATAREP_STRING) {
        return pli_fail(PLI_ERR_ARG,
                        "argument datarep is %s, but must be a name of at most %d characters",
                        name == NULL      ? "NULL"
                        : name[0] == '\0' ? "empty"
                                          : "too long",
                        MPI_MAX_DATAREP_STRING - 1);
    }
    if (pli_file_datarep_find(name, &known) == PLI_OK) {
        return pli_fail(PLI_ERR_DUP_DATAREP, "data representation \"%s\" is there already", name);
    }
    pli_fail_take(NULL);
    return extent_fn != NULL ? PLI_OK
                             : pli_fail(PLI_ERR_ARG, "argument dtype_file_extent_fn is NULL");
}

enum pli_err pli_file_datarep_register(const char *name, MPI_Datarep_conversion_function *read_fn,
                                       MPI_Datarep_conversion_function *write_fn,
                                       MPI_Datarep_extent_function *extent_fn, void *extra)
{
    enum pli_err err = check(name, extent_fn);
    struct pli_file_datarep r = {
        .read_fn = read_fn, .write_fn = write_fn, .extent_fn = extent_fn, .extra = extra
    };
    if (err == PLI_OK) {
        snprintf(r.name, sizeof r.name, "%s", name);
        err = add(&r);
    }
    return err;
}

enum pli_err pli_file_datarep_register_large(const char *name,
                                             MPI_Datarep_conversion_function_c *read_fn,
                                             MPI_Datarep_conversion_function_c *write_fn,
                                             MPI_Datarep_extent_function *extent_fn, void *extra)
{
    enum pli_err err = check(name, extent_fn);
    struct pli_file_datarep r = {
        .read_large = read_fn, .write_large = write_fn, .extent_fn = extent_fn, .extra = extra
    };
    if (err == PLI_OK) {
        snprintf(r.name, sizeof r.name, "%s", name);
        err = add(&r);
    }
    return err;
}

// Whether data in the file is as in memory, whatever the extent function says.
static bool is_native(const struct pli_file_datarep *rep)
{
    return rep == NULL ||
           (rep->extent_fn != NULL && rep->read_fn == NULL && rep->write_fn == NULL &&
            rep->read_large == NULL && rep->write_large == NULL);
}

// Bytes of one element of a predefined type in the file.
static enum pli_err basic_size(const struct pli_file_datarep *rep, struct pli_datatype *t,
                               MPI_Count *out)
{
    MPI_Aint extent = 0;
    if (rep->extent_fn == NULL) {
        *out = t->ext_size;
        return PLI_OK;
    }
    int code =
        rep->extent_fn((MPI_Datatype)pli_handle_of(t, PLI_KIND_DATATYPE), &extent, rep->extra);
    if (code != MPI_SUCCESS || extent <= 0) {
        return pli_fail(PLI_ERR_CONVERSION,
                        "the extent function of data representation \"%s\" returned %d, and an "
                        "extent of %lld for %s",
                        rep->name, code, (long long)extent, pli_datatype_label(t));
    }
    *out = extent;
    return PLI_OK;
}

static struct pli_ints wide(const MPI_Count *a)
{
    return (struct pli_ints){ .data = a, .is_wide = true };
}

static struct pli_ints narrow(const int *a)
{
    return (struct pli_ints){ .data = a, .is_wide = false };
}

// The arguments of a type's constructor, with the types as they are in the file.
struct recipe {
    MPI_Count n_int, n_addr, n_count, n_type;
    int combiner;
    int *ints;
    MPI_Count *numbers; // counts, or addresses and ints widened
    MPI_Aint *addrs;
    MPI_Datatype *types;
    struct pli_datatype **layouts;
};

// Number i of the arguments, wherever the plain or the large-count function has it.
static MPI_Count number(const struct recipe *r, MPI_Count i)
{
    return r->n_count > 0 ? r->numbers[i] : r->ints[i];
}

static MPI_Count address(const struct recipe *r, MPI_Count from_counts, MPI_Count i)
{
    return r->n_count > 0 ? r->numbers[from_counts + i] : (MPI_Count)r->addrs[i];
}

static struct pli_ints list(const struct recipe *r, MPI_Count i)
{
    return r->n_count > 0 ? wide(r->numbers + i) : narrow(r->ints + i);
}

static struct pli_ints addresses(const struct recipe *r, MPI_Count from_counts)
{
    return r->n_count > 0 ? wide(r->numbers + from_counts)
                          : (struct pli_ints){ .data = r->addrs, .is_wide = true };
}

static enum pli_err make_struct(const struct recipe *r, MPI_Count n, struct pli_datatype **out)
{
    MPI_Datatype *handles = malloc(((size_t)n + 1) * sizeof *handles);
    if (handles == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a file view");
    }
    for (MPI_Count i = 0; i < n; i++) {
        handles[i] = (MPI_Datatype)pli_handle_of(r->layouts[i], PLI_KIND_DATATYPE);
    }
    enum pli_err err = pli_type_struct(n, list(r, 1), addresses(r, n + 1), handles, out);
    free(handles);
    return err;
}

static enum pli_err make_array(const struct recipe *r, struct pli_datatype **out)
{
    int dims = r->ints[r->combiner == MPI_COMBINER_SUBARRAY ? 0 : 2];
    if (r->combiner == MPI_COMBINER_SUBARRAY) {
        bool is_large = r->n_count > 0;
        const int *after = r->ints + 1 + (is_large ? 0 : 3 * dims);
        struct pli_ints all = is_large ? wide(r->numbers) : narrow(r->ints + 1);
        struct pli_ints sub = is_large ? wide(r->numbers + dims) : narrow(r->ints + 1 + dims);
        struct pli_ints at =
            is_large ? wide(r->numbers + 2 * dims) : narrow(r->ints + 1 + 2 * dims);
        return pli_type_subarray(dims, all, sub, at, after[0], r->layouts[0], out);
    }
    bool is_large = r->n_count > 0;
    const int *rest = r->ints + 3 + (is_large ? 0 : dims);
    struct pli_ints sizes = is_large ? wide(r->numbers) : narrow(r->ints + 3);
    return pli_type_darray(r->ints[0], r->ints[1], dims, sizes, rest, rest + dims, rest + 2 * dims,
                           rest[3 * dims], r->layouts[0], out);
}

// Strides and places in elements grow with the elements; those in bytes stay what the user said.
static enum pli_err make(const struct recipe *r, struct pli_datatype **out)
{
    struct pli_datatype *t = r->n_type > 0 ? r->layouts[0] : NULL;
    MPI_Count n = r->n_int + r->n_count > 0 ? number(r, 0) : 0;
    switch (r->combiner) {
    case MPI_COMBINER_DUP:
        return pli_type_dup(t, out);
    case MPI_COMBINER_CONTIGUOUS:
        return pli_type_contiguous_large(n, t, out);
    case MPI_COMBINER_VECTOR:
        return pli_type_vector_large(n, number(r, 1), number(r, 2), t, out);
    case MPI_COMBINER_HVECTOR:
        return pli_type_hvector_large(n, number(r, 1), address(r, 2, 0), t, out);
    case MPI_COMBINER_INDEXED:
        return pli_type_indexed(n, list(r, 1), list(r, 1 + n), t, out);
    case MPI_COMBINER_HINDEXED:
        return pli_type_hindexed(n, list(r, 1), addresses(r, 1 + n), t, out);
    case MPI_COMBINER_INDEXED_BLOCK:
        return pli_type_indexed_block(n, number(r, 1), list(r, 2), t, out);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return pli_type_hindexed_block_large(n, number(r, 1), addresses(r, 2), t, out);
    case MPI_COMBINER_RESIZED:
        return pli_type_resized_large(t, address(r, 0, 0), address(r, 0, 1), out);
    case MPI_COMBINER_STRUCT:
        return make_struct(r, n, out);
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
        return make_array(r, out);
    default:
        return pli_fail(PLI_ERR_TYPE, "a datatype of this kind cannot be part of a file view");
    }
}

static enum pli_err rebuild(const struct pli_file_datarep *rep, struct pli_datatype *t,
                            struct pli_datatype **out)
{
    struct recipe r = { .ints = NULL };
    enum pli_err err =
        pli_type_envelope_large(t, &r.n_int, &r.n_addr, &r.n_count, &r.n_type, &r.combiner);
    r.ints = calloc((size_t)r.n_int + 1, sizeof *r.ints);
    r.addrs = calloc((size_t)r.n_addr + 1, sizeof *r.addrs);
    r.numbers = calloc((size_t)r.n_count + 1, sizeof *r.numbers);
    r.types = calloc((size_t)r.n_type + 1, sizeof *r.types);
    r.layouts = calloc((size_t)r.n_type + 1, sizeof(struct pli_datatype *));
    if (r.ints == NULL || r.addrs == NULL || r.numbers == NULL || r.types == NULL ||
        r.layouts == NULL) {
        err = pli_fail(PLI_ERR_NOMEM, "no memory for a file view");
    }
    err = err == PLI_OK ? pli_type_contents_large(t, r.n_int, r.n_addr, r.n_count, r.n_type, r.ints,
                                                  r.addrs, r.numbers, r.types)
                        : err;
    MPI_Count n_got = err == PLI_OK ? r.n_type : 0;
    for (MPI_Count i = 0; i < n_got && err == PLI_OK; i++) {
        err = pli_file_datarep_layout(rep, pli_handle_get(r.types[i], PLI_KIND_DATATYPE),
                                      &r.layouts[i]);
    }
    err = err == PLI_OK ? make(&r, out) : err;
    for (MPI_Count i = 0; i < n_got; i++) {
        struct pli_datatype *part = pli_handle_get(r.types[i], PLI_KIND_DATATYPE);
        if (part != NULL && part->obj.value == 0 && !part->is_permanent) {
            pli_type_free(part); // contents are handles of their own
        }
        if (r.layouts[i] != NULL) {
            pli_datatype_release(r.layouts[i]);
        }
    }
    free(r.ints);
    free(r.addrs);
    free(r.numbers);
    free(r.types);
    free(r.layouts);
    return err;
}

enum pli_err pli_file_datarep_layout(const struct pli_file_datarep *rep, struct pli_datatype *t,
                                     struct pli_datatype **out)
{
    if (is_native(rep) || (rep->extent_fn == NULL && t->ext_size == t->size)) {
        *out = pli_datatype_retain(t);
        return PLI_OK;
    }
    if (t->recipe != NULL && t->obj.value == 0) {
        return rebuild(rep, t, out);
    }
    MPI_Count size = 0;
    enum pli_err err = basic_size(rep, t, &size);
    return err == PLI_OK
               ? pli_type_contiguous_large(size, pli_handle_get(MPI_BYTE, PLI_KIND_DATATYPE), out)
               : err;
}

enum pli_err pli_file_datarep_copy(struct pli_datatype *t, struct pli_datatype **out)
{
    if (t->obj.value != 0 || t->is_permanent) {
        *out = t;
        return PLI_OK;
    }
    enum pli_err err = pli_type_dup(t, out);
    return err == PLI_OK ? pli_type_commit(*out) : err;
}

MPI_Count pli_file_datarep_size(const struct pli_file_datarep *rep, struct pli_datatype *t)
{
    struct pli_datatype *layout;
    if (is_native(rep)) {
        return t->size;
    }
    if (rep->extent_fn == NULL) {
        return t->ext_size;
    }
    if (pli_file_datarep_layout(rep, t, &layout) != PLI_OK) {
        return 0;
    }
    MPI_Count size = layout->size;
    pli_datatype_release(layout);
    return size;
}

// Whole data items in the first *left bytes of n elements of t, which leave *left. A pair is one.
static MPI_Count items_of(const struct pli_file_datarep *rep, struct pli_datatype *t, MPI_Count n,
                          MPI_Count *left)
{
    MPI_Count each = t->size > 0 ? pli_file_datarep_size(rep, t) : 0;
    if (each == 0 || *left == 0) {
        return 0;
    }
    MPI_Count whole = *left / each < n ? *left / each : n, items = whole * t->n_elem;
    *left -= whole * each;
    if (whole == n || t->recipe == NULL || t->obj.value != 0) {
        return items;
    }
    struct pli_type_blocks b = pli_type_blocks_of(t);
    MPI_Count i = 0;
    bool is_whole = true; // the data does not end within a block
    while (*left > 0 && is_whole && i < b.n) {
        struct pli_type_block k = pli_type_blocks_at(&b, i++);
        MPI_Count before = *left, got = items_of(rep, k.child, k.len, left);
        items += got;
        is_whole = before - *left == k.len * pli_file_datarep_size(rep, k.child);
    }
    return items;
}

static MPI_Count bytes_of(MPI_Count items, struct pli_datatype *t)
{
    MPI_Status s;
    pli_status_set(&s, 0, 0, 0, 0);
    return pli_type_set_elements(&s, t, items) == PLI_OK ? (MPI_Count)pli_status_bytes(&s) : 0;
}

// Has a function of the program convert data items, which are the entries of the type map of t, one
// after the other; where it has none the data is as in memory. [MPI-5.0 14.5.3]
static enum pli_err convert(const struct pli_file_datarep *rep, bool is_write, void *buf,
                            MPI_Count items, struct pli_datatype *t, char *file)
{
    MPI_Datarep_conversion_function *fn = is_write ? rep->write_fn : rep->read_fn;
    MPI_Datarep_conversion_function_c *large = is_write ? rep->write_large : rep->read_large;
    MPI_Datatype handle = (MPI_Datatype)pli_handle_of(t, PLI_KIND_DATATYPE);
    int code;
    if (fn == NULL && large == NULL) {
        struct pli_cursor c;
        if (pli_file_datarep_size(rep, t) != t->size) {
            return pli_fail(PLI_ERR_CONVERSION,
                            "data representation \"%s\" has no %s function, and its extent "
                            "function gives other sizes than those in memory",
                            rep->name, is_write ? "write" : "read");
        }
        pli_cursor_init(&c, buf, (items + t->n_elem - 1) / t->n_elem, t);
        if (is_write) {
            pli_cursor_pack(&c, file, c.total);
        } else {
            pli_cursor_unpack(&c, file, (size_t)bytes_of(items, t));
        }
        return PLI_OK;
    }
    if (large != NULL) {
        code = large(buf, handle, items, file, 0, rep->extra);
    } else if (items <= INT_MAX) {
        code = fn(buf, handle, (int)items, file, 0, rep->extra);
    } else {
        return pli_fail(PLI_ERR_COUNT,
                        "%lld data items are too many for a conversion function that "
                        "MPI_Register_datarep was called with; use "
                        "MPI_Register_datarep_c",
                        (long long)items);
    }
    return code == MPI_SUCCESS
               ? PLI_OK
               : pli_fail(PLI_ERR_CONVERSION,
                          "the %s function of data representation \"%s\" returned %d",
                          is_write ? "write" : "read", rep->name, code);
}

bool pli_file_datarep_is_users(const struct pli_file_datarep *rep)
{
    return rep != NULL && rep->extent_fn != NULL;
}

enum pli_err pli_file_datarep_write(const struct pli_file_datarep *rep, const void *buf,
                                    MPI_Count count, struct pli_datatype *t, char *to)
{
    MPI_Count at = 0;
    return rep->extent_fn == NULL
               ? pli_type_external("external32", buf, count, t, to, count * t->ext_size, &at)
               : convert(rep, true, (void *)(uintptr_t)buf, count * t->n_elem, t, to);
}

enum pli_err pli_file_datarep_read(const struct pli_file_datarep *rep, const char *from, size_t len,
                                   void *buf, MPI_Count count, struct pli_datatype *t,
                                   MPI_Count *bytes_out)
{
    if (rep->extent_fn != NULL) {
        MPI_Count left = (MPI_Count)len, items = items_of(rep, t, LLONG_MAX, &left);
        *bytes_out = bytes_of(items, t);
        return convert(rep, false, buf, items, t, (char *)(uintptr_t)from);
    }
    bool has_more = (MPI_Count)len > count * t->ext_size; // the file ends within an element
    *bytes_out = pli_type_external_part(from, len, buf, count + has_more, t);
    return PLI_OK;
}
