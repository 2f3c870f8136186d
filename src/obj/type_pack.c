// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack and MPI_Pack_external: packing into a user's buffer as bare bytes, or in the external32
// representation, big-endian numbers of fixed sizes. [MPI-5.0 5.2, 5.3, 14.5.2]
#include "obj/type_pack.h"

#include "boot/boot.h"
#include "boot/gateway_wire.h"
#include "obj/comm.h"
#include "obj/cursor.h"
#include "obj/datatype_priv.h"
#include "obj/type_blocks.h"

#include <stdlib.h>
#include <string.h>

static enum pli_err check(const void *buf, MPI_Count size, MPI_Count position, MPI_Count count,
                          MPI_Count each)
{
    MPI_Count need;
    if (position < 0 || position > size) {
        return pli_fail(PLI_ERR_ARG, "position %lld is not inside a buffer of %lld bytes",
                        (long long)position, (long long)size);
    }
    if (__builtin_mul_overflow(count, each, &need) || need > size - position) {
        return pli_fail(PLI_ERR_TRUNC,
                        "%lld elements of %lld bytes do not fit from position %lld into %lld bytes",
                        (long long)count, (long long)each, (long long)position, (long long)size);
    }
    if (need > 0 && buf == NULL) {
        return pli_fail(PLI_ERR_BUFFER, "the packed buffer is a null pointer");
    }
    return PLI_OK;
}

enum pli_err pli_type_pack(const void *in, MPI_Count count, struct pli_datatype *t, void *out,
                           MPI_Count out_size, MPI_Count *position, struct pli_comm *comm)
{
    if (comm != NULL && comm->is_span) { // other processes speak other formats, except for this one
        enum pli_err far = check(out, out_size, *position, count, pli_type_external_each(t));
        far = far == PLI_OK ? pli_type_external_put(in, count, t, (char *)out + *position) : far;
        *position += far == PLI_OK ? count * pli_type_external_each(t) : 0;
        return far;
    }
    enum pli_err err = check(out, out_size, *position, count, t->size);
    if (err == PLI_OK && count * t->size > 0) {
        struct pli_cursor c;
        pli_cursor_init(&c, in, count, t);
        pli_cursor_pack(&c, (char *)out + *position, c.total);
        *position += (MPI_Count)c.total;
    }
    return err;
}

enum pli_err pli_type_pack_unpack(const void *in, MPI_Count in_size, MPI_Count *position, void *out,
                                  MPI_Count count, struct pli_datatype *t, struct pli_comm *comm)
{
    if (comm != NULL && comm->is_span) {
        MPI_Count each = pli_type_external_each(t);
        enum pli_err far = check(in, in_size, *position, count, each);
        if (far == PLI_OK) {
            pli_type_external_get((const char *)in + *position, (size_t)(count * each), out, count,
                                  t);
            *position += count * each;
        }
        return far;
    }
    enum pli_err err = check(in, in_size, *position, count, t->size);
    if (err == PLI_OK && count * t->size > 0) {
        struct pli_cursor c;
        pli_cursor_init(&c, out, count, t);
        pli_cursor_unpack(&c, (const char *)in + *position, c.total);
        *position += (MPI_Count)c.total;
    }
    return err;
}

enum pli_err pli_type_pack_size(MPI_Count count, struct pli_datatype *t, struct pli_comm *comm,
                                MPI_Count *size)
{
    MPI_Count each = comm != NULL && comm->is_span ? pli_type_external_each(t) : t->size;
    if (__builtin_mul_overflow(count, each, size)) {
        return pli_fail(PLI_ERR_COUNT, "%lld elements of %lld bytes are more than a number counts",
                        (long long)count, (long long)each);
    }
    return PLI_OK;
}

struct flow {
    bool is_put;    // from the user's buffer to the external form
    bool has_long8; // in which a long has 8 bytes
    char *ext;
    const char *end; // of what there is to get
    MPI_Count n_got; // bytes of the user that were got
};

// A number inside an element: a complex has two, a pair a value and an index.
struct number {
    enum pli_number kind;
    int at, size, ext_size;
};

static bool has_long8(void)
{
    return pli_boot.gateway != NULL && pli_boot.gateway->has_long8 != 0;
}

MPI_Count pli_type_external_each(const struct pli_datatype *t)
{
    return has_long8() ? t->long8_size : t->ext_size;
}

#define SWAPPED (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

// Copy a number of the same size, turned round where the machine is little-endian.
static void turn(char *dst, const char *src, int size)
{
    if (SWAPPED && size == 4) {
        uint32_t v;
        memcpy(&v, src, 4);
        v = __builtin_bswap32(v);
        memcpy(dst, &v, 4);
    } else if (SWAPPED && size == 8) {
        uint64_t v;
        memcpy(&v, src, 8);
        v = __builtin_bswap64(v);
        memcpy(dst, &v, 8);
    } else if (SWAPPED) {
        for (int i = 0; i < size; i++) {
            dst[i] = src[size - 1 - i];
        }
    } else {
        memcpy(dst, src, (size_t)size);
    }
}

static bool is_signed(enum pli_number kind)
{
    return kind == PLI_NUM_I8 || kind == PLI_NUM_I16 || kind == PLI_NUM_I32 || kind == PLI_NUM_I64;
}

static int64_t load(const char *src, int size, bool with_sign)
{
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t v = 0;
    switch (size) {
    case 1:
        memcpy(&i8, src, 1);
        return with_sign ? i8 : (uint8_t)i8;
    case 2:
        memcpy(&i16, src, 2);
        return with_sign ? i16 : (uint16_t)i16;
    case 4:
        memcpy(&i32, src, 4);
        return with_sign ? i32 : (int64_t)(uint32_t)i32;
    default:
        memcpy(&v, src, 8);
        return v;
    }
}

static void store(char *dst, int size, int64_t v)
{
    int8_t i8 = (int8_t)v;
    int16_t i16 = (int16_t)v;
    int32_t i32 = (int32_t)v;
    memcpy(dst,
           size == 1   ? (void *)&i8
           : size == 2 ? (void *)&i16
           : size == 4 ? (void *)&i32
                       : &v,
           (size_t)size);
}

// An integer whose size differs outside.
static enum pli_err convert_integer(const struct flow *f, const struct number *n, char *user)
{
    char raw[8] = { 0 };
    bool with_sign = is_signed(n->kind);
    if (f->is_put) {
        int64_t v = load(user, n->size, with_sign);
        store(raw, n->ext_size, v);
        if (load(raw, n->ext_size, with_sign) != v) {
            return pli_fail(PLI_ERR_CONVERSION,
                            "the value %lld does not fit into the %d bytes that external32 has "
                            "for it",
                            (long long)v, n->ext_size);
        }
        turn(f->ext, raw, n->ext_size);
    } else {
        turn(raw, f->ext, n->ext_size);
        store(user, n->size, load(raw, n->ext_size, with_sign));
    }
    return PLI_OK;
}

// A long double that is not the IEEE quadruple of the external form.
static void convert_long_double(const struct flow *f, char *user)
{
    long double here;
    pli_f128 wide;
    if (f->is_put) {
        memcpy(&here, user, sizeof here);
        wide = here;
        turn(f->ext, (char *)&wide, sizeof wide);
    } else {
        turn((char *)&wide, f->ext, sizeof wide);
        here = (long double)wide;
        memcpy(user, &here, sizeof here);
    }
}

// PLI_AGAIN: there is not all of the number.
static enum pli_err convert(struct flow *f, const struct number *n, char *user)
{
    enum pli_err err = PLI_OK;
    if (!f->is_put && f->end - f->ext < n->ext_size) {
        return PLI_AGAIN;
    }
    if (n->kind == PLI_NUM_LD && LDBL_MANT_DIG != 113) {
        convert_long_double(f, user);
    } else if (n->size != n->ext_size) {
        err = convert_integer(f, n, user);
    } else if (f->is_put) {
        turn(f->ext, user, n->size);
    } else {
        turn(user, f->ext, n->size);
    }
    f->ext += n->ext_size;
    f->n_got += n->size;
    return err;
}

// The numbers in one element of a predefined type; returns how many.
static int numbers_of(const struct pli_datatype *t, int ext_size, struct number out[2])
{
    static const uint8_t part[PLI_N_NUM] = {
        [PLI_NUM_CF16] = PLI_NUM_F16, [PLI_NUM_CF32] = PLI_NUM_F32,   [PLI_NUM_CF64] = PLI_NUM_F64,
        [PLI_NUM_CLD] = PLI_NUM_LD,   [PLI_NUM_CF128] = PLI_NUM_F128,
    };
    if (t->family == PLI_FAMILY_PAIR) {
        int value = pli_number_size(t->number), index = pli_number_size(t->index);
        int index_ext = index; // int and the Fortran kinds: as here
        out[0] = (struct number){ t->number, 0, value, ext_size - index_ext };
        out[1] = (struct number){ t->index, (int)t->true_extent - index, index, index_ext };
        return 2;
    }
    if (t->family == PLI_FAMILY_COMPLEX) {
        int size = (int)t->size / 2, ext = ext_size / 2;
        out[0] = (struct number){ part[t->number], 0, size, ext };
        out[1] = (struct number){ part[t->number], size, size, ext };
        return 2;
    }
    out[0] = (struct number){ t->number, 0, (int)t->size, ext_size };
    return 1;
}

static char *at(const char *base, MPI_Count offset)
{
    return (char *)((uintptr_t)base + (uintptr_t)offset);
}

// n numbers of the same size in both forms that lie close together: at the speed of memory.
static void turn_many(char *restrict dst, const char *restrict src, int size, size_t n)
{
    if (n == 0) { // the buffers may be NULL then
        return;
    }
    if (size == 1 || !SWAPPED) {
        memcpy(dst, src, n * (size_t)size);
        return;
    }
    for (size_t i = 0; size == 8 && i < n; i++) {
        uint64_t v;
        memcpy(&v, src + 8 * i, 8);
        v = __builtin_bswap64(v);
        memcpy(dst + 8 * i, &v, 8);
    }
    for (size_t i = 0; size == 4 && i < n; i++) {
        uint32_t v;
        memcpy(&v, src + 4 * i, 4);
        v = __builtin_bswap32(v);
        memcpy(dst + 4 * i, &v, 4);
    }
    for (size_t i = 0; size != 4 && size != 8 && i < n; i++) {
        turn(dst + (size_t)size * i, src + (size_t)size * i, size);
    }
}

static void convert_many(struct flow *f, int size, char *user, size_t n)
{
    if (f->is_put) {
        turn_many(f->ext, user, size, n);
    } else {
        turn_many(user, f->ext, size, n);
    }
    f->ext += n * (size_t)size;
    f->n_got += (MPI_Count)n * size;
}

static enum pli_err walk(struct flow *f, const struct pli_datatype *t, char *user, MPI_Count n);

static enum pli_err walk_blocks(struct flow *f, const struct pli_type_blocks *b, char *user)
{
    enum pli_err err = PLI_OK;
    for (MPI_Count i = 0; i < b->n && err == PLI_OK; i++) {
        struct pli_type_block k = pli_type_blocks_at(b, i);
        err = walk(f, k.child, at(user, k.disp), k.len);
    }
    return err;
}

// n elements of t in a row.
static enum pli_err walk(struct flow *f, const struct pli_datatype *t, char *user, MPI_Count n)
{
    enum pli_err err = PLI_OK;
    if (t->size == 0) {
        return PLI_OK;
    }
    MPI_Count extent = t->extent;
    struct pli_type_blocks b = pli_type_blocks_of(t);
    while (b.is_loop && b.n == 1 && b.len == 1) { // the same elements, other bounds
        t = pli_type_blocks_at(&b, 0).child;
        b = pli_type_blocks_of(t);
    }
    if (b.n > 0) {
        for (MPI_Count i = 0; i < n && err == PLI_OK; i++) {
            err = walk_blocks(f, &b, at(user, i * extent));
        }
        return err;
    }
    struct number numbers[2];
    int ext_size = (int)(f->has_long8 ? t->long8_size : t->ext_size);
    int n_number = numbers_of(t, ext_size, numbers);
    bool is_plain = numbers[0].size == numbers[0].ext_size && t->family != PLI_FAMILY_PAIR &&
                    (numbers[0].kind != PLI_NUM_LD || LDBL_MANT_DIG == 113) &&
                    extent == n_number * numbers[0].size;
    if (is_plain && (f->is_put || (f->end - f->ext) / ext_size >= n)) {
        convert_many(f, numbers[0].size, user, (size_t)(n * n_number));
        return PLI_OK;
    }
    for (MPI_Count i = 0; i < n && err == PLI_OK; i++) {
        for (int j = 0; j < n_number && err == PLI_OK; j++) {
            err = convert(f, &numbers[j], at(user, i * extent + numbers[j].at));
        }
    }
    return err;
}

static enum pli_err check_rep(const char *rep)
{
    if (rep == NULL || strcmp(rep, "external32") != 0) {
        return pli_fail(PLI_ERR_ARG, "the data representation is \"%s\"; it must be \"external32\"",
                        rep == NULL ? "(null)" : rep);
    }
    return PLI_OK;
}

enum pli_err pli_type_external(const char *rep, const void *in, MPI_Count count,
                               struct pli_datatype *t, void *out, MPI_Count out_size,
                               MPI_Count *position)
{
    enum pli_err err = check_rep(rep);
    if (err == PLI_OK) {
        err = check(out, out_size, *position, count, t->ext_size);
    }
    if (err == PLI_OK) {
        struct flow f = { .is_put = true, .ext = at(out, *position) };
        err = walk(&f, t, (char *)in, count);
    }
    if (err == PLI_OK) {
        *position += count * t->ext_size;
    }
    return err;
}

enum pli_err pli_type_external_unpack(const char *rep, const void *in, MPI_Count in_size,
                                      MPI_Count *position, void *out, MPI_Count count,
                                      struct pli_datatype *t)
{
    enum pli_err err = check_rep(rep);
    if (err == PLI_OK) {
        err = check(in, in_size, *position, count, t->ext_size);
    }
    if (err == PLI_OK) {
        struct flow f = { .is_put = false, .ext = at(in, *position), .end = at(in, in_size) };
        err = walk(&f, t, out, count);
    }
    if (err == PLI_OK) {
        *position += count * t->ext_size;
    }
    return err;
}

MPI_Count pli_type_external_part(const void *from, size_t len, void *buf, MPI_Count count,
                                 const struct pli_datatype *t)
{
    struct flow f = { .is_put = false, .ext = (char *)(uintptr_t)from };
    f.end = f.ext + len;
    walk(&f, t, buf, count); // what is not there stays as it was
    return f.n_got;
}

enum pli_err pli_type_external_put(const void *buf, MPI_Count count, const struct pli_datatype *t,
                                   void *to)
{
    struct flow f = { .is_put = true, .has_long8 = has_long8(), .ext = to };
    return walk(&f, t, (char *)(uintptr_t)buf, count);
}

bool pli_type_external_fits(const void *buf, MPI_Count count, const struct pli_datatype *t)
{
    MPI_Count each = pli_type_external_each(t);
    if (each >= t->size || count == 0) { // no number is shorter outside
        return true;
    }
    char *out = malloc((size_t)each);
    bool fits = true; // without memory: it will be seen when it is sent
    for (MPI_Count i = 0; out != NULL && fits && i < count; i++) {
        fits = pli_type_external_put(at(buf, i * t->extent), 1, t, out) == PLI_OK;
    }
    free(out);
    return fits;
}

void pli_type_external_get(const void *from, size_t len, void *buf, MPI_Count count,
                           const struct pli_datatype *t)
{
    struct flow f = { .is_put = false, .has_long8 = has_long8(), .ext = (char *)(uintptr_t)from };
    f.end = f.ext + len;
    walk(&f, t, buf, count); // what is not there stays as it was
}

enum pli_err pli_type_external_size(const char *rep, MPI_Count count, struct pli_datatype *t,
                                    MPI_Count *size)
{
    enum pli_err err = check_rep(rep);
    if (err == PLI_OK && __builtin_mul_overflow(count, t->ext_size, size)) {
        err = pli_fail(PLI_ERR_COUNT, "%lld elements of %lld bytes are more than a number counts",
                       (long long)count, (long long)t->ext_size);
    }
    return err;
}
