// SPDX-License-Identifier: BSD-3-Clause
// Transfers of memory in pieces (bupc_mem*_vlist, _ilist, _fstrided, _strided). All gets of a call
// are under way together.
#include "rt.h"
#include "rt_copy.h"
#include "upc_calls.h"

#include <string.h>

// Both lists of structures of the interface: a pointer-to-shared is as wide as a pointer.
struct piece {
    uint64_t at; // a pointer-to-shared, or an address
    size_t len;
};
_Static_assert(sizeof(void *) == sizeof(pli_upc_pts), "lists of both kinds have one layout");

// The pieces of one side, by one of three descriptions.
struct side {
    const struct piece *list; // of their own lengths
    const uint64_t *places;   // else: these; or counted from base
    uint64_t base;
    size_t n, len;
    const size_t *strides, *counts;
    size_t levels;
};

enum kind { CPY, PUT, GET };
static const char *const names[] = { "bupc_memcpy", "bupc_memput", "bupc_memget" };

static struct piece piece_at(const struct side *s, size_t i)
{
    if (s->list != NULL) {
        return s->list[i];
    }
    if (s->places != NULL) {
        return (struct piece){ s->places[i], s->len };
    }
    uint64_t at = s->base;
    for (size_t level = 0; level < s->levels; level++) {
        at += i % s->counts[level] * s->strides[level];
        i /= s->counts[level];
    }
    return (struct piece){ at, s->len };
}

static uint64_t bytes_of(const struct side *s)
{
    uint64_t sum = s->list == NULL ? (uint64_t)s->n * s->len : 0;
    for (size_t i = 0; s->list != NULL && i < s->n; i++) {
        sum += s->list[i].len;
    }
    return sum;
}

static void *move(enum kind kind, uint64_t dst, uint64_t src, size_t n)
{
    if (kind == CPY) {
        return pli_upc_memcpy_nb(dst, src, n);
    }
    return kind == PUT ? pli_upc_memput_nb(dst, (const void *)(uintptr_t)src, n)
                       : pli_upc_memget_nb((void *)(uintptr_t)dst, src, n);
}

static void *transfer(enum kind kind, const struct side *dst, const struct side *src)
{
    uint64_t left = bytes_of(dst), other = bytes_of(src);
    struct piece to = { 0, 0 }, from = { 0, 0 };
    size_t i = 0, j = 0;
    struct rt_batch batch = { 0 };
    if (left != other) {
        pli_rt_die("%s: the pieces of the destination have %llu bytes in all, those of the source "
                   "%llu",
                   names[kind], (unsigned long long)left, (unsigned long long)other);
    }
    while (left > 0) {
        while (to.len == 0) {
            to = piece_at(dst, i++);
        }
        while (from.len == 0) {
            from = piece_at(src, j++);
        }
        size_t n = to.len < from.len ? to.len : from.len;
        pli_rt_copy_batch_add(&batch, move(kind, to.at, from.at, n));
        to = (struct piece){ to.at + n, to.len - n };
        from = (struct piece){ from.at + n, from.len - n };
        left -= n;
    }
    return pli_rt_copy_batch_end(&batch);
}

static void *lists(enum kind kind, size_t n_dst, const void *dst, size_t n_src, const void *src)
{
    struct side to = { .list = dst, .n = n_dst }, from = { .list = src, .n = n_src };
    return n_dst + n_src == 0 ? NULL : transfer(kind, &to, &from);
}

static void *equal_lists(enum kind kind, const struct side *dst, const struct side *src)
{
    return dst->n + src->n == 0 ? NULL : transfer(kind, dst, src);
}

// count[0] is bytes; the others count the pieces at each stride.
static void *strided(enum kind kind, uint64_t dst, const size_t *dst_strides, uint64_t src,
                     const size_t *src_strides, const size_t *count, size_t levels)
{
    size_t n = 1;
    for (size_t i = 1; i <= levels; i++) {
        n *= count[i];
    }
    struct side to = { .base = dst, .n = n, .len = count[0], .strides = dst_strides };
    to.counts = count + 1;
    to.levels = levels;
    struct side from = to;
    from.base = src;
    from.strides = src_strides;
    return transfer(kind, &to, &from);
}

struct chunks {
    size_t len, stride, n;
};

static void *chunked(enum kind kind, uint64_t dst, struct chunks d, uint64_t src, struct chunks s)
{
    struct side to = { .base = dst, .n = d.n, .len = d.len, .strides = &d.stride, .counts = &d.n };
    struct side from = { .base = src, .n = s.n, .len = s.len, .strides = &s.stride };
    from.counts = &s.n;
    to.levels = from.levels = 1;
    return transfer(kind, &to, &from);
}

// end: what becomes of the handle. An address and a pointer-to-shared are passed alike.
#define PIECES(T, end, kind, name, suffix)                                                         \
    T pli_upc_mem##name##_vlist##suffix(size_t n_dst, const void *dst, size_t n_src,               \
                                        const void *src);                                          \
    T pli_upc_mem##name##_ilist##suffix(size_t n_dst, const uint64_t *dst, size_t dst_len,         \
                                        size_t n_src, const uint64_t *src, size_t src_len);        \
    T pli_upc_mem##name##_fstrided##suffix(uint64_t dst, size_t dst_len, size_t dst_stride,        \
                                           size_t n_dst, uint64_t src, size_t src_len,             \
                                           size_t src_stride, size_t n_src);                       \
    T pli_upc_mem##name##_strided##suffix(uint64_t dst, const size_t *dst_strides, uint64_t src,   \
                                          const size_t *src_strides, const size_t *count,          \
                                          size_t levels);                                          \
    T pli_upc_mem##name##_vlist##suffix(size_t n_dst, const void *dst, size_t n_src,               \
                                        const void *src)                                           \
    {                                                                                              \
        end(lists(kind, n_dst, dst, n_src, src));                                                  \
    }                                                                                              \
    T pli_upc_mem##name##_ilist##suffix(size_t n_dst, const uint64_t *dst, size_t dst_len,         \
                                        size_t n_src, const uint64_t *src, size_t src_len)         \
    {                                                                                              \
        struct side to = { .places = dst, .n = n_dst, .len = dst_len };                            \
        struct side from = { .places = src, .n = n_src, .len = src_len };                          \
        end(equal_lists(kind, &to, &from));                                                        \
    }                                                                                              \
    T pli_upc_mem##name##_fstrided##suffix(uint64_t dst, size_t dst_len, size_t dst_stride,        \
                                           size_t n_dst, uint64_t src, size_t src_len,             \
                                           size_t src_stride, size_t n_src)                        \
    {                                                                                              \
        end(chunked(kind, dst, (struct chunks){ dst_len, dst_stride, n_dst }, src,                 \
                    (struct chunks){ src_len, src_stride, n_src }));                               \
    }                                                                                              \
    T pli_upc_mem##name##_strided##suffix(uint64_t dst, const size_t *dst_strides, uint64_t src,   \
                                          const size_t *src_strides, const size_t *count,          \
                                          size_t levels)                                           \
    {                                                                                              \
        end(strided(kind, dst, dst_strides, src, src_strides, count, levels));                     \
    }
#define PIECES_BOTH(kind, name)                                                                    \
    PIECES(void, pli_upc_sync, kind, name, )                                                       \
    PIECES(void *, return, kind, name, _async)

PIECES_BOTH(CPY, cpy)
PIECES_BOTH(PUT, put)
PIECES_BOTH(GET, get)
