// SPDX-License-Identifier: BSD-3-Clause
// Sizes and offsets by the LP64 ABI. The C compiler lays out the translated program itself; these
// numbers serve constant expressions such as block sizes and array lengths.
#include "layout.h"

#include "type.h"

static int64_t basic_size(enum type_kind k)
{
    switch (k) {
    case TY_BOOL:
    case TY_CHAR:
    case TY_SCHAR:
    case TY_UCHAR:
    case TY_VOID: // GNU C
    case TY_FUNC:
        return 1;
    case TY_SHORT:
    case TY_USHORT:
    case TY_FLOAT16:
        return 2;
    case TY_INT:
    case TY_UINT:
    case TY_ENUM:
    case TY_FLOAT:
        return 4;
    case TY_LONG:
    case TY_ULONG:
    case TY_LLONG:
    case TY_ULLONG:
    case TY_DOUBLE:
    case TY_PTR:
        return 8;
    default:
        return 16;
    }
}

struct size pli_layout_size(const struct type *t)
{
    struct size s = { .known = true };
    switch (t->kind) {
    case TY_UNKNOWN:
        s.known = false;
        return s;
    case TY_ARRAY:
        if (t->len < 0) {
            s.known = false;
            return s;
        }
        s = pli_layout_size(t->base);
        if (__builtin_mul_overflow(s.n, t->len, &s.n)) {
            s.known = false;
        }
        s.known = s.known && !(s.threads && t->len_threads);
        s.threads |= t->len_threads;
        return s;
    case TY_STRUCT:
    case TY_UNION:
        s.known = t->rec->is_complete && t->rec->size >= 0;
        s.n = t->rec->size;
        return s;
    case TY_ENUM:
        s.n = t->en->is_long ? 8 : 4;
        return s;
    case TY_COMPLEX:
        s = pli_layout_size(t->base);
        s.n *= 2;
        return s;
    default:
        s.n = basic_size(t->kind);
        return s;
    }
}

int64_t pli_layout_align(const struct type *t)
{
    t = pli_type_ultimate(t);
    switch (t->kind) {
    case TY_STRUCT:
    case TY_UNION:
        return t->rec->align > 0 ? t->rec->align : 1;
    case TY_COMPLEX:
        return pli_layout_align(t->base);
    case TY_UNKNOWN:
        return 1;
    default:
        return pli_layout_size(t).n;
    }
}

struct size pli_layout_elems(const struct type *t)
{
    struct size s = { .known = true, .n = 1 };
    for (; t->kind == TY_ARRAY; t = t->base) {
        if (t->len < 0 || (s.threads && t->len_threads) ||
            __builtin_mul_overflow(s.n, t->len, &s.n)) {
            s.known = false;
            return s;
        }
        s.threads |= t->len_threads;
    }
    return s;
}

static int64_t align_up(int64_t n, int64_t to)
{
    return to <= 1 || n > INT64_MAX - to ? n : (n + to - 1) / to * to;
}

static int64_t member_align(const struct record *r, const struct member *m)
{
    int64_t a = r->packed || m->packed ? 1 : pli_layout_align(m->type);
    if (r->pack > 0 && a > r->pack) {
        a = r->pack;
    }
    return m->align > a ? m->align : a;
}

// Bits are packed upwards; a bit-field does not straddle a unit of its type unless packed.
static int64_t place_bits(const struct record *r, struct member *m, int64_t bit, int64_t size)
{
    int64_t unit = size * 8;
    if (m->width == 0) {
        return align_up(bit, unit);
    }
    if (!r->packed && bit / unit != (bit + m->width - 1) / unit) {
        bit = align_up(bit, unit);
    }
    m->offset = bit / unit * size;
    return bit + m->width;
}

void pli_layout_record(struct record *r)
{
    int64_t bit = 0, widest = 0;
    r->align = r->align_attr > 1 ? r->align_attr : 1;
    for (struct member *m = r->members; m != NULL; m = m->next) {
        bool flexible = m->type->kind == TY_ARRAY && m->type->len == LEN_NONE;
        struct size s = flexible ? (struct size){ .known = true } : pli_layout_size(m->type);
        if (!s.known || s.threads || s.n > INT64_MAX / 64) {
            r->size = -1;
            return;
        }
        int64_t a = member_align(r, m);
        if (!(m->is_bitfield && m->name == NULL) && a > r->align) {
            r->align = a;
        }
        int64_t start = r->is_union ? 0 : bit;
        if (m->is_bitfield && s.n > 0) {
            bit = place_bits(r, m, start, s.n);
        } else {
            m->offset = align_up((start + 7) / 8, a);
            bit = (m->offset + s.n) * 8;
        }
        if (bit > INT64_MAX / 4) {
            r->size = -1;
            return;
        }
        widest = bit > widest ? bit : widest;
    }
    r->size = align_up((widest + 7) / 8, r->align);
}

int64_t pli_layout_offset(const struct record *r, const struct name *name)
{
    for (const struct member *m = r->members; m != NULL; m = m->next) {
        if (m->name == name) {
            return m->offset;
        }
        if (m->name == NULL && (m->type->kind == TY_STRUCT || m->type->kind == TY_UNION)) {
            int64_t off = pli_layout_offset(m->type->rec, name);
            if (off >= 0) {
                return m->offset + off;
            }
        }
    }
    return -1;
}
