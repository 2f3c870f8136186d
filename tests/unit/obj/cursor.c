// SPDX-License-Identifier: BSD-3-Clause
// The cursor against a type map written out in full: thousands of random nested types are packed,
// unpacked, resumed anywhere, told as pieces and copied into each other.
#include "datatype_random.h"
#include "obj/cursor.h"

#include <sys/uio.h>

// The memory of `count` elements: exactly the bytes the data spans, so that a sanitizer sees
// every step beside it.
struct memory {
    char *block;
    const char *buf; // what the user would pass
    size_t len;
};

static struct memory memory_for(const struct map *m, int64_t count, bool is_filled)
{
    int64_t ext = map_extent(m), far = (count - 1) * ext;
    int64_t lo = map_true_lb(m) + (far < 0 ? far : 0);
    int64_t hi = map_true_ub(m) + (far > 0 ? far : 0);
    struct memory mem = { .len = (size_t)(hi - lo) };
    mem.block = malloc(mem.len + 1);
    T_MUST(mem.block != NULL);
    for (size_t i = 0; i < mem.len; i++) {
        mem.block[i] = is_filled ? (char)rnd(256) : 0x55;
    }
    mem.buf = (const char *)((uintptr_t)mem.block - (uintptr_t)lo);
    return mem;
}

static char *place(const struct memory *mem, int64_t disp)
{
    return (char *)((uintptr_t)mem->buf + (uintptr_t)disp);
}

// Pack element by element, as the definition says.
static void pack_plainly(const struct map *m, int64_t count, const struct memory *mem, char *out)
{
    int64_t ext = map_extent(m);
    for (int64_t i = 0; i < count; i++) {
        for (int j = 0; j < m->n; j++) {
            memcpy(out, place(mem, i * ext + m->e[j].disp), (size_t)m->e[j].size);
            out += m->e[j].size;
        }
    }
}

static void unpack_plainly(const struct map *m, int64_t count, const struct memory *mem,
                           const char *in)
{
    int64_t ext = map_extent(m);
    for (int64_t i = 0; i < count; i++) {
        for (int j = 0; j < m->n; j++) {
            memcpy(place(mem, i * ext + m->e[j].disp), in, (size_t)m->e[j].size);
            in += m->e[j].size;
        }
    }
}

// Whether some byte belongs to two elements: then a receive is not defined.
static bool overlaps(const struct map *m, int64_t count)
{
    struct memory mem = memory_for(m, count, false);
    bool found = false;
    int64_t ext = map_extent(m);
    memset(mem.block, 0, mem.len);
    for (int64_t i = 0; i < count; i++) {
        for (int j = 0; j < m->n; j++) {
            char *p = place(&mem, i * ext + m->e[j].disp);
            for (int k = 0; k < m->e[j].size; k++) {
                found = found || p[k] != 0;
                p[k] = 1;
            }
        }
    }
    free(mem.block);
    return found;
}

static void check_numbers(const struct model *m)
{
    T_EQ(m->type->size, map_size(m->map));
    T_EQ(m->type->n_elem, m->map->n);
    T_EQ(m->type->lb, map_lb(m->map));
    T_EQ(m->type->extent, map_extent(m->map));
    T_EQ(m->type->true_lb, map_true_lb(m->map));
    T_EQ(m->type->true_extent, map_true_ub(m->map) - map_true_lb(m->map));
}

static void check_pack(const struct model *m, int64_t count)
{
    struct memory mem = memory_for(m->map, count, true);
    size_t total = (size_t)(count * map_size(m->map));
    char *want = malloc(total + 1), *got = malloc(total + 1);
    struct pli_cursor c;
    pack_plainly(m->map, count, &mem, want);

    pli_cursor_init(&c, mem.buf, count, m->type);
    T_EQ(c.total, total);
    T_EQ(pli_cursor_pack(&c, got, total + 100), total);
    T_OK(memcmp(got, want, total) == 0);
    T_EQ(pli_cursor_pack(&c, got, 1), 0);

    memset(got, 0, total);
    pli_cursor_init(&c, mem.buf, count, m->type);
    while (c.done < total) { // in pieces
        size_t before = c.done, len = 1 + rnd(rnd(4) == 0 ? 200 : 20);
        size_t n = pli_cursor_pack(&c, got + before, len);
        T_EQ(n, len < total - before ? len : total - before);
        T_EQ(c.done, before + n);
    }
    T_OK(memcmp(got, want, total) == 0);

    for (int i = 0; i < 4 && total > 0; i++) { // from anywhere
        size_t at = rnd((uint32_t)total), len = rnd((uint32_t)(total - at) + 1);
        pli_cursor_seek(&c, at);
        T_EQ(pli_cursor_pack(&c, got, len), len);
        T_OK(memcmp(got, want + at, len) == 0);
    }

    pli_cursor_init(&c, mem.buf, count, m->type);
    size_t told = 0;
    while (told < total) {
        struct iovec iov[5];
        int n = 0;
        size_t len = pli_cursor_iov(&c, iov, 1 + (int)rnd(5), 1 + rnd(300), &n);
        T_MUST(len > 0 && n > 0);
        for (int i = 0; i < n; i++) {
            T_OK(memcmp(iov[i].iov_base, want + told, iov[i].iov_len) == 0);
            told += iov[i].iov_len;
        }
        T_EQ(c.done, told);
    }
    free(want);
    free(got);
    free(mem.block);
}

static void check_unpack(const struct model *m, int64_t count)
{
    size_t total = (size_t)(count * map_size(m->map));
    char *in = malloc(total + 1);
    for (size_t i = 0; i < total; i++) {
        in[i] = (char)rnd(256);
    }
    struct memory want = memory_for(m->map, count, false);
    struct memory got = memory_for(m->map, count, false);
    unpack_plainly(m->map, count, &want, in);
    struct pli_cursor c;
    pli_cursor_init(&c, got.buf, count, m->type);
    while (c.done < total) {
        size_t before = c.done, len = 1 + rnd(rnd(3) == 0 ? (uint32_t)total : 30);
        pli_cursor_unpack(&c, in + before, len < total - before ? len : total - before);
        T_MUST(c.done > before);
    }
    T_OK(memcmp(got.block, want.block, got.len) == 0);
    free(in);
    free(want.block);
    free(got.block);
}

static void check_copy(const struct model *a, int64_t n_a, const struct model *b, int64_t n_b)
{
    struct memory from = memory_for(a->map, n_a, true);
    struct memory want = memory_for(b->map, n_b, false);
    struct memory got = memory_for(b->map, n_b, false);
    size_t len_a = (size_t)(n_a * map_size(a->map)), len_b = (size_t)(n_b * map_size(b->map));
    size_t len = len_a < len_b ? len_a : len_b;
    char *stream = malloc(len_a + 1);
    pack_plainly(a->map, n_a, &from, stream);
    struct pli_cursor c; // the plain way, cut to the shorter stream
    pli_cursor_init(&c, want.buf, n_b, b->type);
    pli_cursor_unpack(&c, stream, len);
    T_EQ(pli_cursor_copy(from.buf, n_a, a->type, (void *)got.buf, n_b, b->type), len);
    T_OK(memcmp(got.block, want.block, got.len) == 0);
    free(stream);
    free(from.block);
    free(want.block);
    free(got.block);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 6000;
    pli_datatype_init();
    struct model kept = model_basic(MPI_DOUBLE);
    for (int i = 0; i < rounds && t_failed < 20; i++) {
        seed = (uint64_t)i * 7919 + 12345;
        int before = t_failed;
        struct model m = model_make(1 + (int)rnd(4));
        int64_t count = rnd(10) == 0 ? 20 : between(1, 4);
        check_numbers(&m);
        check_pack(&m, count);
        if (!overlaps(m.map, count)) {
            check_unpack(&m, count);
            check_copy(&m, count, &m, count);
            check_copy(&kept, between(1, 30), &m, count);
            model_drop(&kept);
            kept = m;
        } else {
            model_drop(&m);
        }
        if (t_failed != before) {
            fprintf(stderr, "in round %d\n", i);
        }
    }
    model_drop(&kept);
    T_EQ(pli_handle_live(PLI_KIND_DATATYPE), 0);
    return t_status();
}
