// SPDX-License-Identifier: BSD-3-Clause
// Envelopes and contents: every constructor gives back what it was given. Types found by
// property, and names.
#include "obj/datatype.h"
#include "obj/type_calls.h"
#include "obj/type_named.h"
#include "datatype_t.h"
#include "t.h"

static void check_envelope(struct pli_datatype *t, int combiner, int n_int, int n_addr, int n_count,
                           int n_type)
{
    MPI_Count a = -1, b = -1, c = -1, d = -1;
    int which = 0;
    T_EQ(pli_type_envelope_large(t, &a, &b, &c, &d, &which), 0);
    T_EQ(which, combiner);
    T_EQ(a, n_int);
    T_EQ(b, n_addr);
    T_EQ(c, n_count);
    T_EQ(d, n_type);
    enum pli_err err = pli_type_envelope(t, &a, &b, &d, &which);
    T_EQ(err, n_count > 0 ? PLI_ERR_TYPE : PLI_OK);
}

// What the last question brought back.
static int ints[32];
static MPI_Aint addrs[8];
static MPI_Count counts[32];
static MPI_Datatype types[8];

#define CONTENTS(t) pli_type_contents_large(t, 32, 8, 32, 8, ints, addrs, counts, types)

// Every constructor gives back what it was given.
static void test_lists(void)
{
    struct pli_datatype *t, *f = basic(MPI_FLOAT);
    int lens[] = { 3, 0, 2 }, places[] = { -4, 7, 1 };
    MPI_Aint bytes[] = { -40, 70, 12 };
    MPI_Count wide_lens[] = { 3, 0, 2 }, wide[] = { -4, 7, 1 };

    T_EQ(pli_type_vector(5, 2, -7, f, &t), 0);
    check_envelope(t, MPI_COMBINER_VECTOR, 3, 0, 0, 1);
    T_EQ(CONTENTS(t), 0);
    T_OK(ints[0] == 5 && ints[1] == 2 && ints[2] == -7 && types[0] == MPI_FLOAT);
    T_EQ(pli_type_contents(t, 2, 0, 1, ints, addrs, types), PLI_ERR_ARG);
    pli_datatype_release(t);

    T_EQ(pli_type_hvector_large(5, 2, -9, f, &t), 0);
    check_envelope(t, MPI_COMBINER_HVECTOR, 0, 0, 3, 1);
    T_EQ(CONTENTS(t), 0);
    T_OK(counts[0] == 5 && counts[1] == 2 && counts[2] == -9);
    pli_datatype_release(t);

    T_EQ(pli_type_hvector(5, 2, -9, f, &t), 0);
    check_envelope(t, MPI_COMBINER_HVECTOR, 2, 1, 0, 1);
    T_EQ(CONTENTS(t), 0);
    T_OK(ints[0] == 5 && ints[1] == 2 && addrs[0] == -9);
    pli_datatype_release(t);

    T_EQ(pli_type_indexed(3, SMALL(lens), SMALL(places), f, &t), 0);
    check_envelope(t, MPI_COMBINER_INDEXED, 7, 0, 0, 1);
    T_EQ(CONTENTS(t), 0);
    T_OK(ints[0] == 3 && memcmp(ints + 1, lens, sizeof lens) == 0 &&
         memcmp(ints + 4, places, sizeof places) == 0);
    pli_datatype_release(t);

    T_EQ(pli_type_indexed(3, WIDE(wide_lens), WIDE(wide), f, &t), 0);
    check_envelope(t, MPI_COMBINER_INDEXED, 0, 0, 7, 1);
    T_EQ(CONTENTS(t), 0);
    T_OK(counts[0] == 3 && memcmp(counts + 4, wide, sizeof wide) == 0);
    pli_datatype_release(t);

    T_EQ(pli_type_hindexed(3, SMALL(lens), WIDE(bytes), f, &t), 0);
    check_envelope(t, MPI_COMBINER_HINDEXED, 4, 3, 0, 1);
    T_EQ(CONTENTS(t), 0);
    T_OK(ints[0] == 3 && ints[3] == 2 && memcmp(addrs, bytes, sizeof bytes) == 0);
    pli_datatype_release(t);

    T_EQ(pli_type_indexed_block(3, 2, SMALL(places), f, &t), 0);
    check_envelope(t, MPI_COMBINER_INDEXED_BLOCK, 5, 0, 0, 1);
    T_EQ(CONTENTS(t), 0);
    T_OK(ints[0] == 3 && ints[1] == 2 && memcmp(ints + 2, places, sizeof places) == 0);
    pli_datatype_release(t);

    T_EQ(pli_type_hindexed_block(3, 2, WIDE(bytes), f, &t), 0);
    check_envelope(t, MPI_COMBINER_HINDEXED_BLOCK, 2, 3, 0, 1);
    pli_datatype_release(t);
    T_EQ(pli_type_hindexed_block_large(3, 2, WIDE(bytes), f, &t), 0);
    check_envelope(t, MPI_COMBINER_HINDEXED_BLOCK, 0, 0, 5, 1);
    pli_datatype_release(t);
}

static void test_structs(void)
{
    struct pli_datatype *t, *f = basic(MPI_FLOAT);
    int lens[] = { 3, 0, 2 };
    MPI_Aint bytes[] = { -40, 70, 12 };
    MPI_Datatype parts[] = { MPI_INT, MPI_CHAR, MPI_FLOAT };
    T_EQ(pli_type_struct(3, SMALL(lens), WIDE(bytes), parts, &t), 0);
    check_envelope(t, MPI_COMBINER_STRUCT, 4, 3, 0, 3);
    T_EQ(CONTENTS(t), 0);
    T_OK(memcmp(types, parts, sizeof parts) == 0 && memcmp(addrs, bytes, sizeof bytes) == 0);

    // A derived type comes back as a handle of its own to free.
    struct pli_datatype *u;
    T_EQ(pli_type_resized(t, -3, 99, &u), 0);
    check_envelope(u, MPI_COMBINER_RESIZED, 0, 2, 0, 1);
    pli_datatype_release(t);
    T_EQ(CONTENTS(u), 0);
    T_OK(addrs[0] == -3 && addrs[1] == 99 && basic(types[0]) == t);
    pli_datatype_release(u);
    check_envelope(t, MPI_COMBINER_STRUCT, 4, 3, 0, 3);
    T_EQ(pli_type_free(basic(types[0])), 0);
    T_EQ(pli_type_resized_large(f, 1, 2, &t), 0);
    check_envelope(t, MPI_COMBINER_RESIZED, 0, 0, 2, 1);
    pli_datatype_release(t);

    T_EQ(pli_type_dup(f, &t), 0);
    check_envelope(t, MPI_COMBINER_DUP, 0, 0, 0, 1);
    T_OK(t->is_committed);
    pli_datatype_release(t);
    T_EQ(pli_type_contiguous_large(8, f, &t), 0);
    check_envelope(t, MPI_COMBINER_CONTIGUOUS, 0, 0, 1, 1);
    pli_datatype_release(t);
}

static void test_arrays(void)
{
    struct pli_datatype *t, *f = basic(MPI_FLOAT);
    int sizes[] = { 5, 6 }, subs[] = { 2, 3 }, starts[] = { 1, 2 };
    MPI_Count wide_sizes[] = { 5, 6 };
    T_EQ(pli_type_subarray(2, SMALL(sizes), SMALL(subs), SMALL(starts), MPI_ORDER_FORTRAN, f, &t),
         0);
    check_envelope(t, MPI_COMBINER_SUBARRAY, 8, 0, 0, 1);
    T_EQ(CONTENTS(t), 0);
    int want[] = { 2, 5, 6, 2, 3, 1, 2, MPI_ORDER_FORTRAN };
    T_OK(memcmp(ints, want, sizeof want) == 0);
    pli_datatype_release(t);
    int grid[] = { 2, 3 }, dist[] = { MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC };
    int args[] = { MPI_DISTRIBUTE_DFLT_DARG, 2 };
    T_EQ(pli_type_darray(6, 4, 2, WIDE(wide_sizes), dist, args, grid, MPI_ORDER_C, f, &t), 0);
    check_envelope(t, MPI_COMBINER_DARRAY, 10, 0, 2, 1);
    T_EQ(CONTENTS(t), 0);
    int darray[] = { 6, 4, 2, dist[0], dist[1], args[0], args[1], 2, 3, MPI_ORDER_C };
    T_OK(memcmp(ints, darray, sizeof darray) == 0 && counts[1] == 6);
    pli_datatype_release(t);
    T_EQ(pli_type_contents(f, 0, 0, 0, NULL, NULL, NULL), PLI_ERR_TYPE);
    T_EQ(pli_handle_live(PLI_KIND_DATATYPE), 0);
}

static void test_named(void)
{
    struct pli_datatype *a, *b;
    T_EQ(pli_type_f90_real(10, 100, &a), 0);
    T_EQ(pli_type_f90_real(10, 100, &b), 0);
    T_OK(a == b && a->size == 8 && a->is_committed && a->elem == basic(MPI_REAL8));
    check_envelope(a, MPI_COMBINER_F90_REAL, 2, 0, 0, 0);
    T_EQ(pli_type_free(a), PLI_ERR_TYPE);
    T_EQ(pli_type_f90_real(3, MPI_UNDEFINED, &a), 0);
    T_EQ(a->size, 4);
    T_EQ(pli_type_f90_complex(MPI_UNDEFINED, 4000, &a), 0);
    T_EQ(a->size, 32);
    T_EQ(pli_type_f90_real(40, 3, &a), PLI_ERR_ARG);
    T_EQ(pli_type_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &a), PLI_ERR_ARG);
    static const int digits[] = { 1, 2, 3, 5, 9, 10, 18, 19, 38 };
    static const int sizes[] = { 1, 1, 2, 4, 4, 8, 8, 16, 16 };
    for (int i = 0; i < 9; i++) {
        T_EQ(pli_type_f90_integer(digits[i], &a), 0);
        T_EQ(a->size, sizes[i]);
        check_envelope(a, MPI_COMBINER_F90_INTEGER, 1, 0, 0, 0);
    }
    T_EQ(pli_type_f90_integer(39, &a), PLI_ERR_ARG);

    T_EQ(pli_type_match_size(MPI_TYPECLASS_REAL, 8, &a), 0);
    T_OK(a == basic(MPI_REAL8));
    T_EQ(pli_type_match_size(MPI_TYPECLASS_COMPLEX, 8, &a), 0);
    T_OK(a == basic(MPI_COMPLEX8));
    T_EQ(pli_type_match_size(MPI_TYPECLASS_INTEGER, 3, &a), PLI_ERR_ARG);

    T_EQ(pli_type_value_index(basic(MPI_DOUBLE), basic(MPI_INT), &a), 0);
    T_OK(a == basic(MPI_DOUBLE_INT));
    T_EQ(pli_type_value_index(basic(MPI_DOUBLE), basic(MPI_INT64_T), &a), 0);
    T_EQ(pli_type_value_index(basic(MPI_DOUBLE), basic(MPI_INT64_T), &b), 0);
    T_OK(a == b && a != NULL);
    check_envelope(a, MPI_COMBINER_VALUE_INDEX, 0, 0, 0, 2);
    T_EQ(pli_type_value_index(basic(MPI_INT8_T), basic(MPI_UINT64_T), &b), 0);
    T_OK(b != NULL && b->size == 9 && b->extent == 16 && b->n_elem == 2);
    T_EQ(pli_type_free(b), PLI_ERR_TYPE);
    T_EQ(pli_type_value_index(basic(MPI_DOUBLE), basic(MPI_DOUBLE), &b), 0);
    T_OK(b == NULL);

    char name[MPI_MAX_OBJECT_NAME], text[2 * MPI_MAX_OBJECT_NAME];
    int len;
    T_EQ(pli_type_get_name(pli_handle_of(a, PLI_KIND_DATATYPE), name, &len), 0);
    T_STR(name, "");
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    T_EQ(pli_type_set_name(basic(MPI_INT), text), 0);
    T_EQ(pli_type_get_name(MPI_INT, name, &len), 0);
    T_EQ(len, MPI_MAX_OBJECT_NAME - 1);
    T_EQ(pli_type_set_name(basic(MPI_INT), "mine"), 0);
    T_STR(pli_datatype_label(basic(MPI_INT)), "mine");
    pli_type_named_fini();
    pli_datatype_fini();
    T_STR(pli_datatype_label(basic(MPI_INT)), "MPI_INT");
    T_EQ(pli_handle_live(PLI_KIND_DATATYPE), 0);
}

int main(void)
{
    pli_datatype_init();
    test_lists();
    test_structs();
    test_arrays();
    test_named();
    return t_status();
}
