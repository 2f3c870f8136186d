// SPDX-License-Identifier: BSD-3-Clause
// Sections of Fortran arrays as datatypes: what a datatype picks out of a section is what the same
// count and type pick out of a contiguous copy of it.
#include "fortran/cdesc.h"
#include "t.h"

#include <mpi.h>
#include <stdlib.h>

enum { MAX_BYTES = 1 << 18, MAX_RANK = 15 };

static unsigned char memory[MAX_BYTES];

// Room for a descriptor of the highest rank.
struct section {
    _Alignas(struct pli_cdesc) unsigned char room[sizeof(struct pli_cdesc) +
                                                  MAX_RANK * sizeof(struct pli_cdesc_dim)];
};

static struct pli_cdesc *desc(struct section *s)
{
    return (struct pli_cdesc *)(void *)s->room;
}

static struct pli_cdesc_dim *dims(struct section *s)
{
    return desc(s)->dim;
}

// A section with the given extents and steps (in elements) of an array that is `array` long in each
// dimension.
static void make(struct section *s, size_t elem, int rank, const int *extent, const int *step,
                 const int *array)
{
    memset(s, 0, sizeof *s);
    desc(s)->elem_len = elem;
    desc(s)->rank = (signed char)rank;
    ptrdiff_t below = (ptrdiff_t)elem, first = 0;
    for (int i = 0; i < rank; i++) {
        dims(s)[i].extent = extent[i];
        dims(s)[i].sm = below * step[i];
        first += step[i] < 0 ? -below * step[i] * (extent[i] - 1) : 0;
        below *= array[i];
    }
    desc(s)->base_addr = memory + first;
}

static unsigned char *contiguous(struct section *s)
{
    unsigned char *copy = pli_cdesc_pack(desc(s));
    T_MUST(copy != NULL);
    return copy;
}

// The order of elements is that of Fortran, by a loop that knows nothing of cdesc.c.
static void check_pack(struct section *s)
{
    unsigned char *copy = contiguous(s);
    MPI_Count index[MAX_RANK] = { 0 }, n = pli_cdesc_size(desc(s));
    for (MPI_Count i = 0; i < n; i++) {
        unsigned char *at = desc(s)->base_addr;
        for (int k = 0; k < desc(s)->rank; k++) {
            at += index[k] * dims(s)[k].sm;
        }
        T_OK(memcmp(at, copy + (size_t)i * desc(s)->elem_len, desc(s)->elem_len) == 0);
        for (int k = 0; k < desc(s)->rank && ++index[k] == dims(s)[k].extent; k++) {
            index[k] = 0;
        }
    }
    pli_cdesc_unpack(desc(s), copy, false);
}

static int packed(const void *buf, MPI_Count count, MPI_Datatype type, unsigned char *out)
{
    MPI_Count at = 0;
    T_EQ(MPI_Pack_c(buf, count, type, out, MAX_BYTES, &at, MPI_COMM_SELF), MPI_SUCCESS);
    return (int)at;
}

// What begins `from` bytes behind the first one.
static void check_part(struct section *s, MPI_Count from, MPI_Count count, MPI_Datatype type)
{
    static unsigned char got[MAX_BYTES], want[MAX_BYTES];
    struct pli_cdesc_view v;
    unsigned char *copy = contiguous(s);
    T_EQ(pli_cdesc_part(desc(s), from, count, type, &v), MPI_SUCCESS);
    int n = packed(copy + from, count, type, want);
    T_EQ(packed(v.addr, v.count, v.type, got), n);
    T_OK(memcmp(got, want, (size_t)n) == 0);
    pli_cdesc_release(&v);
    free(copy);
}

static void check_view(struct section *s, MPI_Count count, MPI_Datatype type)
{
    check_part(s, 0, count, type);
}

// Block number 1 begins where the extent of the datatype says.
static void check_blocks(struct section *s, MPI_Count count, MPI_Datatype type, int n_block,
                         int expected)
{
    static unsigned char got[MAX_BYTES], want[MAX_BYTES];
    struct pli_cdesc_view v;
    T_EQ(pli_cdesc_blocks(desc(s), count, type, &v), expected);
    if (expected != MPI_SUCCESS) {
        return;
    }
    unsigned char *copy = contiguous(s);
    int n = packed(copy, count * n_block, type, want);
    T_EQ(packed(v.addr, v.count * n_block, v.type, got), n);
    T_OK(memcmp(got, want, (size_t)n) == 0);
    pli_cdesc_release(&v);
    free(copy);
}

static void test_plain(void)
{
    struct section s;
    make(&s, 4, 0, NULL, NULL, NULL);
    T_OK(pli_cdesc_is_plain(desc(&s)));
    make(&s, 8, 2, (int[]){ 5, 7 }, (int[]){ 1, 1 }, (int[]){ 5, 9 });
    T_OK(pli_cdesc_is_plain(desc(&s)));
    make(&s, 8, 2, (int[]){ 4, 7 }, (int[]){ 1, 1 }, (int[]){ 5, 9 });
    T_OK(!pli_cdesc_is_plain(desc(&s)));
    make(&s, 8, 2, (int[]){ 4, 1 }, (int[]){ 1, 1 }, (int[]){ 5, 9 });
    T_OK(pli_cdesc_is_plain(desc(&s)));
    make(&s, 8, 1, (int[]){ 3 }, (int[]){ -1 }, (int[]){ 9 });
    T_OK(!pli_cdesc_is_plain(desc(&s)));
    make(&s, 8, 1, (int[]){ -1 }, (int[]){ 1 }, (int[]){ 9 }); // of assumed size
    T_OK(pli_cdesc_is_plain(desc(&s)));
    // Without elements, and yet with strides: nothing is picked out.
    make(&s, 8, 2, (int[]){ 0, 3 }, (int[]){ 1, 2 }, (int[]){ 5, 9 });
    struct pli_cdesc_view v;
    T_EQ(pli_cdesc_view(desc(&s), 0, MPI_INT, &v), MPI_SUCCESS);
    T_EQ(v.count, 0);
    T_EQ(pli_cdesc_size(desc(&s)), 0);
}

static void test_short(void)
{
    struct section s;
    struct pli_cdesc_view v;
    make(&s, 4, 1, (int[]){ 5 }, (int[]){ 2 }, (int[]){ 10 });
    T_EQ(pli_cdesc_view(desc(&s), 6, MPI_INT, &v), MPI_ERR_COUNT);
    T_EQ(pli_cdesc_view(desc(&s), 3, MPI_DOUBLE, &v), MPI_ERR_COUNT);
    T_EQ(pli_cdesc_view(desc(&s), -1, MPI_INT, &v), MPI_SUCCESS); // the C function refuses it
    T_EQ(v.count, -1);
    T_EQ(pli_cdesc_part(desc(&s), 8, 4, MPI_INT, &v), MPI_ERR_COUNT);
    T_EQ(pli_cdesc_part(desc(&s), 6, 4, MPI_INT, &v), MPI_ERR_COUNT);
    T_EQ(pli_cdesc_part(desc(&s), -4, 1, MPI_INT, &v), MPI_ERR_COUNT);
}

static void test_blocks(void)
{
    struct section s;
    make(&s, 4, 1, (int[]){ 12 }, (int[]){ 3 }, (int[]){ 40 });
    check_blocks(&s, 1, MPI_INT, 12, MPI_SUCCESS);
    check_blocks(&s, 4, MPI_INT, 3, MPI_SUCCESS);
    check_blocks(&s, 2, MPI_DOUBLE, 3, MPI_SUCCESS); // each over two elements
    make(&s, 4, 2, (int[]){ 4, 6 }, (int[]){ 1, 1 }, (int[]){ 7, 6 });
    check_blocks(&s, 8, MPI_INT, 3, MPI_SUCCESS); // two columns each
    check_blocks(&s, 4, MPI_INT, 6, MPI_SUCCESS);
    check_blocks(&s, 3, MPI_INT, 8, MPI_ERR_BUFFER); // the second is in two columns
    make(&s, 8, 1, (int[]){ 6 }, (int[]){ -2 }, (int[]){ 20 });
    check_blocks(&s, 2, MPI_DOUBLE, 3, MPI_SUCCESS);
    check_blocks(&s, 1, MPI_INT, 6, MPI_ERR_BUFFER); // half an element
}

// Every extent, stride and size of elements, with datatypes that fill elements, parts of them,
// several of them, and such with gaps.
static void test_random(void)
{
    MPI_Datatype row, gaps, dup, mixed;
    MPI_Type_contiguous(3, MPI_INT, &row);
    MPI_Type_vector(2, 1, 3, MPI_SHORT, &gaps);
    MPI_Type_dup(row, &dup);
    MPI_Type_create_struct(2, (int[]){ 1, 3 }, (MPI_Aint[]){ 8, 1 },
                           (MPI_Datatype[]){ MPI_INT, MPI_CHAR }, &mixed);
    MPI_Datatype types[] = { MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX,
                             row,      gaps,      dup,     mixed };
    for (int i = 5; i < 9; i++) {
        MPI_Type_commit(&types[i]);
    }
    for (int round = 0; round < 3000; round++) {
        int rank = 1 + rand() % 4, extent[4], step[4], array[4];
        size_t elem = (size_t[]){ 1, 2, 4, 8, 12, 16, 24 }[rand() % 7];
        for (int i = 0; i < rank; i++) {
            extent[i] = 1 + rand() % 4;
            step[i] = (rand() % 4 == 0 ? -1 : 1) * (1 + rand() % 2);
            array[i] = extent[i] * 2 + rand() % 2;
        }
        struct section s;
        make(&s, elem, rank, extent, step, array);
        MPI_Datatype type = types[rand() % 9];
        MPI_Count lb, true_extent, full, type_extent;
        MPI_Type_get_extent_c(type, &lb, &type_extent);
        MPI_Type_get_true_extent_c(type, &lb, &true_extent);
        full = pli_cdesc_size(desc(&s)) * (MPI_Count)elem;
        MPI_Count most = full < lb + true_extent ? 0 : (full - lb - true_extent) / type_extent + 1;
        if (round % 10 == 0) {
            check_pack(&s);
        }
        check_view(&s, most == 0 ? 0 : 1 + rand() % most, type);
        check_view(&s, most, type);
        if (most > 0 && !pli_cdesc_is_plain(desc(&s))) {
            MPI_Count free_bytes = full - lb - true_extent;
            MPI_Count unit = rand() % 3 == 0 ? 1 : (MPI_Count)elem;
            MPI_Count from = rand() % (free_bytes / unit + 1) * unit;
            check_part(&s, from, (free_bytes - from) / type_extent + 1, type);
        }
    }
    MPI_Type_free(&row);
    MPI_Type_free(&gaps);
    MPI_Type_free(&dup);
    MPI_Type_free(&mixed);
}

// What was copied comes back to its places, and nothing else changes.
static void test_unpack(void)
{
    struct section s;
    make(&s, 2, 2, (int[]){ 3, 2 }, (int[]){ 2, 1 }, (int[]){ 6, 2 });
    memset(memory, 7, 64);
    unsigned char *copy = contiguous(&s);
    memset(copy, 9, 12);
    pli_cdesc_unpack(desc(&s), copy, true);
    int n = 0;
    for (int i = 0; i < 64; i++) {
        n += memory[i] == 9;
        T_OK(memory[i] == 7 || memory[i] == 9);
    }
    T_EQ(n, 12);
    T_EQ(memory[0], 9);
    T_EQ(memory[2], 7);
    T_EQ(memory[12], 9);
    pli_cdesc_unpack(desc(&s), NULL, true);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    srand(22);
    for (int i = 0; i < MAX_BYTES; i++) {
        memory[i] = (unsigned char)(rand() >> 8);
    }
    test_plain();
    test_short();
    test_blocks();
    test_random();
    test_unpack();
    MPI_Finalize();
    return t_status();
}
