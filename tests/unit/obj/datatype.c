// SPDX-License-Identifier: BSD-3-Clause
// Datatypes: the predefined ones, bounds, plans, counting elements, depth, life.
#include "obj/cursor.h"
#include "obj/datatype.h"
#include "obj/datatype_number.h"
#include "obj/status.h"
#include "obj/type_calls.h"
#include "obj/type_plan.h"
#include "datatype_t.h"
#include "t.h"

#include <limits.h>
#include <sys/mman.h>

static void test_predefined(void)
{
    static const struct {
        MPI_Datatype handle;
        const char *name;
    } rows[] = {
#define PLI_BASIC(name, type, family, number, ext) { MPI_##name, "MPI_" #name },
#define PLI_SENDRECV(name, v, vn, ve, i, in, ie) { MPI_##name, "MPI_" #name },
#include "obj/datatype_basic.def"
    };
    T_EQ(sizeof rows / sizeof rows[0], 70);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pli_datatype *t = basic(rows[i].handle);
        char name[MPI_MAX_OBJECT_NAME];
        int len = 0, combiner = 0;
        MPI_Count a, b, c, d;
        T_MUST(t != NULL);
        T_OK(pli_handle_of(t, PLI_KIND_DATATYPE) == rows[i].handle);
        T_EQ(pli_type_get_name(rows[i].handle, name, &len), 0);
        T_STR(name, rows[i].name);
        T_EQ(len, strlen(name));
        T_OK(t->is_committed && t->elem == t && t->extent >= t->size && t->ext_size > 0);
        T_EQ(pli_type_envelope_large(t, &a, &b, &c, &d, &combiner), 0);
        T_EQ(combiner, MPI_COMBINER_NAMED);
        T_EQ(a + b + c + d, 0);
        T_EQ(pli_type_free(t), PLI_ERR_TYPE);
        T_HAS(pli_fail_take(NULL), rows[i].name);
    }
    T_EQ(basic(MPI_SHORT_INT)->size, 6);
    T_EQ(basic(MPI_SHORT_INT)->extent, 8);
    T_EQ(basic(MPI_DOUBLE_INT)->size, 12);
    T_EQ(basic(MPI_DOUBLE_INT)->extent, 16);
    T_OK(!basic(MPI_DOUBLE_INT)->is_dense && basic(MPI_2INT)->is_dense);
    T_EQ(basic(MPI_REAL2)->size, 2);
    T_EQ(basic(MPI_COMPLEX32)->size, 32);
    T_EQ(basic(MPI_INTEGER16)->size, 16);
    T_EQ(basic(MPI_LONG_DOUBLE)->size, sizeof(long double));
    T_OK(basic(MPI_DATATYPE_NULL) == NULL);
}

// struct { double d; char c; } and what is derived from it.
static void test_bounds(void)
{
    int one[] = { 1, 1 };
    MPI_Aint at[] = { 0, 8 };
    MPI_Datatype types[] = { MPI_DOUBLE, MPI_CHAR };
    struct pli_datatype *s, *t, *u;
    T_EQ(pli_type_struct(2, SMALL(one), WIDE(at), types, &s), 0);
    T_EQ(s->size, 9);
    T_EQ(s->extent, 16);
    T_EQ(s->true_extent, 9);
    T_OK(s->is_run && !s->is_dense);

    T_EQ(pli_type_vector(3, 1, -2, s, &t), 0);
    T_EQ(t->lb, -64);
    T_EQ(t->extent, 80);
    pli_datatype_release(t);

    // A set bound hides the data's, also in types derived later.
    T_EQ(pli_type_resized(s, -5, 7, &t), 0);
    T_EQ(pli_type_contiguous(3, t, &u), 0);
    T_EQ(u->lb, -5);
    T_EQ(u->extent, 21);
    T_EQ(u->true_lb, 0);
    T_EQ(u->true_extent, 23);
    pli_datatype_release(u);
    types[0] = pli_handle_of(t, PLI_KIND_DATATYPE);
    at[1] = 100;
    T_EQ(pli_type_struct(2, SMALL(one), WIDE(at), types, &u), 0);
    T_EQ(u->lb, -5);
    T_EQ(u->extent, 7);
    T_EQ(u->true_extent, 101);
    pli_datatype_release(u);
    pli_datatype_release(t);

    // A negative extent walks backwards.
    T_EQ(pli_type_resized(s, 0, -16, &t), 0);
    T_EQ(pli_type_contiguous(4, t, &u), 0);
    T_EQ(u->true_lb, -48);
    T_EQ(u->lb, -48);
    T_EQ(u->extent, 32);
    pli_datatype_release(u);
    pli_datatype_release(t);

    // Nothing at all.
    T_EQ(pli_type_contiguous(0, s, &t), 0);
    T_EQ(t->size + t->lb + t->extent + t->true_lb + t->true_extent, 0);
    T_EQ(pli_type_vector(5, 0, 3, s, &u), 0);
    T_EQ(u->extent, 0);
    pli_datatype_release(u);
    T_EQ(pli_type_struct(0, SMALL(NULL), WIDE(NULL), NULL, &u), 0);
    T_EQ(u->size + u->extent, 0);
    pli_datatype_release(u);
    pli_datatype_release(t);
    pli_datatype_release(s);
}

static void test_plans(void)
{
    struct pli_datatype *t, *u;
    T_EQ(pli_type_vector_large((MPI_Count)1 << 40, 1, 2, basic(MPI_DOUBLE), &t), 0);
    T_OK(t->plan->kind == PLI_NODE_STRIDED && t->nodes != NULL && t->nodes->next == NULL);
    T_EQ(t->size, (MPI_Count)8 << 40);
    T_EQ(pli_type_contiguous(3, t, &u), 0);
    T_EQ(u->size, (MPI_Count)24 << 40);
    pli_datatype_release(u);
    pli_datatype_release(t);

    int places[] = { 0, 3, 6, 9 }, lens[] = { 1, 1, 1, 1 };
    T_EQ(pli_type_indexed(4, SMALL(lens), SMALL(places), basic(MPI_INT), &t), 0);
    T_OK(t->plan->kind == PLI_NODE_STRIDED && t->plan->stride == 12);
    pli_datatype_release(t);
    int near[] = { 0, 1, 2, 3 };
    T_EQ(pli_type_indexed(4, SMALL(lens), SMALL(near), basic(MPI_INT), &t), 0);
    T_OK(t->is_dense && t->plan->kind == PLI_NODE_RUN);
    pli_datatype_release(t);

    int n[] = { 10, 10, 10 }, all[] = { 10, 10, 10 }, some[] = { 4, 10, 10 }, from[] = { 0, 0, 0 };
    int end[] = { 3, 0, 0 };
    T_EQ(pli_type_subarray(3, SMALL(n), SMALL(all), SMALL(from), MPI_ORDER_C, basic(MPI_INT), &t),
         0);
    T_OK(t->is_dense);
    pli_datatype_release(t);
    T_EQ(pli_type_subarray(3, SMALL(n), SMALL(some), SMALL(end), MPI_ORDER_C, basic(MPI_INT), &t),
         0);
    T_OK(t->is_run && !t->is_dense && t->true_lb == 1200);
    pli_datatype_release(t);
}

// Numbers that do not fit are refused, and nothing stays behind.
static void test_refused(void)
{
    struct pli_datatype *t = NULL;
    MPI_Count big = INT64_MAX / 4, places[] = { 0, INT64_MAX - 2 }, ones[] = { 1, 1 };
    T_EQ(pli_type_contiguous_large(big, basic(MPI_DOUBLE), &t), PLI_ERR_ARG);
    T_HAS(pli_fail_take(NULL), "64-bit");
    T_EQ(pli_type_vector_large(3, 1, big, basic(MPI_DOUBLE), &t), PLI_ERR_ARG);
    T_EQ(pli_type_hindexed(2, WIDE(ones), WIDE(places), basic(MPI_INT), &t), PLI_ERR_ARG);
    T_EQ(pli_type_indexed(2, WIDE(ones), WIDE(places), basic(MPI_INT), &t), PLI_ERR_ARG);
    T_EQ(pli_type_resized(basic(MPI_INT), INT64_MAX, 2, &t), PLI_ERR_ARG);
    int lens[] = { 1, -2 }, at[] = { 0, 1 };
    T_EQ(pli_type_indexed(2, SMALL(lens), SMALL(at), basic(MPI_INT), &t), PLI_ERR_ARG);
    T_HAS(pli_fail_take(NULL), "block length 1 is -2");
    MPI_Datatype types[] = { MPI_INT, MPI_DATATYPE_NULL };
    MPI_Aint bytes[] = { 0, 8 };
    lens[1] = 1;
    T_EQ(pli_type_struct(2, SMALL(lens), WIDE(bytes), types, &t), PLI_ERR_TYPE);
    T_HAS(pli_fail_take(NULL), "MPI_DATATYPE_NULL");
    int sizes[] = { 4, 4 }, subs[] = { 2, 3 }, starts[] = { 0, 2 };
    T_EQ(pli_type_subarray(2, SMALL(sizes), SMALL(subs), SMALL(starts), MPI_ORDER_C, basic(MPI_INT),
                           &t),
         PLI_ERR_ARG);
    T_HAS(pli_fail_take(NULL), "dimension 1");
    starts[1] = 0;
    T_EQ(pli_type_subarray(2, SMALL(sizes), SMALL(subs), SMALL(starts), 7, basic(MPI_INT), &t),
         PLI_ERR_ARG);
    int grid[] = { 2, 2 }, dist[] = { MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK },
        args[] = { 1, 2 };
    T_EQ(pli_type_darray(4, 0, 2, SMALL(sizes), dist, args, grid, MPI_ORDER_C, basic(MPI_INT), &t),
         PLI_ERR_ARG);
    T_HAS(pli_fail_take(NULL), "do not cover");
    T_EQ(pli_type_darray(5, 0, 2, SMALL(sizes), dist, args, grid, MPI_ORDER_C, basic(MPI_INT), &t),
         PLI_ERR_ARG);
    T_HAS(pli_fail_take(NULL), "5 places");
    T_OK(t == NULL);
    T_EQ(pli_handle_live(PLI_KIND_DATATYPE), 0);
}

// Deep chains: merged without end, refused where they cannot be, freed without recursion.
static void test_depth(void)
{
    struct pli_datatype *t = basic(MPI_INT), *next;
    for (int i = 0; i < 200000; i++) {
        T_MUST(pli_type_dup(t, &next) == PLI_OK);
        pli_datatype_release(t);
        t = next;
    }
    MPI_Status s;
    MPI_Count n;
    pli_status_set(&s, 0, 0, 0, 12);
    T_EQ(pli_type_get_elements(&s, t, &n), 0);
    T_EQ(n, 3);
    pli_datatype_release(t);
    T_EQ(pli_handle_live(PLI_KIND_DATATYPE), 0);

    t = basic(MPI_INT);
    enum pli_err err = PLI_OK;
    int deep = 0;
    for (; err == PLI_OK && deep < 100000; deep++) { // each level skips one: no merging
        int lens[] = { 1, 1 };
        MPI_Aint at[] = { 0, t->extent + 4 };
        MPI_Datatype types[] = { pli_handle_of(t, PLI_KIND_DATATYPE), MPI_INT };
        err = pli_type_struct(2, SMALL(lens), WIDE(at), types, &next);
        if (err == PLI_OK) {
            pli_datatype_release(t);
            t = next;
        }
    }
    T_EQ(err, PLI_ERR_TYPE);
    T_OK(deep > 500);
    char *user = calloc(1, (size_t)t->extent), *packed = malloc((size_t)t->size);
    for (MPI_Count i = 0; i < t->size / 4; i++) {
        memcpy(user + 8 * i, &(int){ (int)i }, 4);
    }
    struct pli_cursor c;
    pli_cursor_init(&c, user, 1, t);
    T_EQ(pli_cursor_pack(&c, packed, c.total), t->size);
    for (MPI_Count i = 0; i < t->size / 4; i++) {
        int v;
        memcpy(&v, packed + 4 * i, 4);
        T_EQ(v, i);
    }
    free(user);
    free(packed);
    pli_datatype_release(t);
    T_EQ(pli_handle_live(PLI_KIND_DATATYPE), 0);
}

static void test_elements(void)
{
    // { int, int, double } three times, then pairs.
    int lens[] = { 2, 1 };
    MPI_Aint at[] = { 0, 8 };
    MPI_Datatype types[] = { MPI_INT, MPI_DOUBLE };
    struct pli_datatype *s, *t;
    MPI_Count n, count;
    MPI_Status st;
    T_EQ(pli_type_struct(2, SMALL(lens), WIDE(at), types, &s), 0);
    T_EQ(pli_type_contiguous(3, s, &t), 0);
    static const int bytes[] = { 0, 4, 8, 12, 16, 20, 48, 52, 64, 96 };
    static const int elems[] = { 0, 1, 2, MPI_UNDEFINED, 3, 4, 9, 10, 12, 18 };
    static const int counts[] = { 0,
                                  MPI_UNDEFINED,
                                  MPI_UNDEFINED,
                                  MPI_UNDEFINED,
                                  MPI_UNDEFINED,
                                  MPI_UNDEFINED,
                                  1,
                                  MPI_UNDEFINED,
                                  MPI_UNDEFINED,
                                  2 };
    for (int i = 0; i < 10; i++) {
        pli_status_set(&st, 1, 2, 0, (uint64_t)bytes[i]);
        T_EQ(pli_type_get_elements(&st, t, &n), 0);
        T_EQ(n, elems[i]);
        T_EQ(pli_type_get_count(&st, t, &count), 0);
        T_EQ(count, counts[i]);
        if (elems[i] >= 0) {
            MPI_Status back = { 0 };
            T_EQ(pli_type_set_elements(&back, t, n), 0);
            T_EQ(pli_status_bytes(&back), bytes[i]);
        }
    }
    pli_status_set(&st, 1, 2, 0, 12 * 3 + 8);
    T_EQ(pli_type_get_elements(&st, basic(MPI_DOUBLE_INT), &n), 0);
    T_EQ(n, 7);
    T_EQ(pli_type_set_elements(&st, basic(MPI_DOUBLE_INT), 7), 0);
    T_EQ(pli_status_bytes(&st), 44);
    pli_datatype_release(t);
    T_EQ(pli_type_contiguous(0, s, &t), 0);
    T_EQ(pli_type_get_count(&st, t, &n), 0);
    T_EQ(n, MPI_UNDEFINED);
    T_EQ(pli_type_set_elements(&st, t, 1), PLI_ERR_COUNT);
    T_EQ(pli_type_get_count(MPI_STATUS_IGNORE, t, &n), PLI_ERR_ARG);
    pli_datatype_release(t);
    pli_datatype_release(s);
}

// Counts beyond an int, over memory of which only a few pages are ever touched.
static void test_huge(void)
{
    MPI_Count n = ((MPI_Count)1 << 31) + 5;
    size_t span = (size_t)n * 2;
    char *user = mmap(NULL, span, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (user == MAP_FAILED) {
        fprintf(stderr, "no 4 GiB of address space: huge counts are not tested\n");
        return;
    }
    struct pli_datatype *t;
    T_EQ(pli_type_vector_large(n, 1, 2, basic(MPI_BYTE), &t), 0);
    T_EQ(t->size, n);
    T_EQ(t->extent, 2 * n - 1);
    user[0] = 'a';
    user[span - 2] = 'z';
    user[2 * (((size_t)1 << 31) + 1)] = 'm';
    struct pli_cursor c;
    char piece[16];
    pli_cursor_init(&c, user, 1, t);
    T_EQ(c.total, n);
    pli_cursor_seek(&c, ((size_t)1 << 31) - 3);
    T_EQ(pli_cursor_pack(&c, piece, 16), 8);
    T_OK(piece[4] == 'm' && piece[7] == 'z' && piece[0] == 0 && piece[6] == 0);
    pli_cursor_seek(&c, (size_t)n - 2);
    T_EQ(pli_cursor_unpack(&c, "XY", 9), 2);
    T_OK(user[span - 4] == 'X' && user[span - 2] == 'Y' && user[span - 3] == 0);
    MPI_Status st;
    MPI_Count count;
    pli_status_set(&st, 0, 0, 0, (uint64_t)n);
    T_EQ(pli_type_get_elements(&st, t, &count), 0);
    T_EQ(count, n);
    pli_datatype_release(t);

    // A count of elements beyond an int, of a type with holes: the last element only.
    MPI_Count at[] = { 1 };
    T_EQ(pli_type_hindexed_block_large(1, 1, WIDE(at), basic(MPI_BYTE), &t), 0);
    struct pli_datatype *u;
    T_EQ(pli_type_resized(t, 0, 2, &u), 0);
    user[span - 1] = 'Q';
    pli_cursor_init(&c, user, n, u);
    pli_cursor_seek(&c, (size_t)n - 1);
    T_EQ(pli_cursor_pack(&c, piece, 4), 1);
    T_EQ(piece[0], 'Q');
    pli_datatype_release(t);
    pli_datatype_release(u);
    munmap(user, span);
}

int main(void)
{
    pli_datatype_init();
    test_predefined();
    test_bounds();
    test_plans();
    test_refused();
    test_depth();
    test_elements();
    test_huge();
    return t_status();
}
