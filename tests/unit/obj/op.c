// SPDX-License-Identifier: BSD-3-Clause
// Every predefined operation on every predefined type against arithmetic in the widest number
// there is, and what is refused; user operations.
#include "obj/datatype.h"
#include "obj/datatype_number.h"
#include "obj/op.h"
#include "obj/op_kernel.h"
#include "obj/type_calls.h"
#include "obj/type_named.h"
#include "t.h"

#include <limits.h>

enum { N = 67 }; // no multiple of any vector length

static const MPI_Op ops[] = { MPI_SUM,  MPI_PROD, MPI_MIN, MPI_MAX,  MPI_BAND,   MPI_BOR,
                              MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC };
enum { N_OP = sizeof ops / sizeof ops[0] };

static const MPI_Datatype types[] = {
#define PLI_BASIC(name, type, family, number, ext) MPI_##name,
#include "obj/datatype_basic.def"
};
enum { N_TYPE = sizeof types / sizeof types[0] };

static const MPI_Datatype pairs[] = {
#define PLI_SENDRECV(name, v, vn, ve, i, in, ie) MPI_##name,
#include "obj/datatype_basic.def"
};

static uint64_t seed = 5;

static uint64_t rnd(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 20;
}

static struct pli_op *op_of(MPI_Op h)
{
    return pli_handle_get(h, PLI_KIND_OP);
}

// Which families an operation takes, written out from the standard's table once more.
static bool is_allowed(MPI_Op op, int family)
{
    bool is_int = family == PLI_FAMILY_C_INTEGER || family == PLI_FAMILY_F_INTEGER ||
                  family == PLI_FAMILY_MULTI;
    if (op == MPI_SUM || op == MPI_PROD) {
        return is_int || family == PLI_FAMILY_FLOAT || family == PLI_FAMILY_COMPLEX;
    }
    if (op == MPI_MIN || op == MPI_MAX) {
        return is_int || family == PLI_FAMILY_FLOAT;
    }
    if (op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR) {
        return is_int || family == PLI_FAMILY_BYTE;
    }
    if (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR) {
        return family == PLI_FAMILY_C_INTEGER || family == PLI_FAMILY_MULTI ||
               family == PLI_FAMILY_LOGICAL;
    }
    return family == PLI_FAMILY_PAIR;
}

static bool is_signed(int number)
{
    return number <= PLI_NUM_U128 && number % 2 == PLI_NUM_I8 % 2;
}

static pli_i128 load_int(const char *p, int size, bool with_sign)
{
    unsigned __int128 v = 0;
    memcpy(&v, p, (size_t)size); // the test runs on little-endian machines
    if (with_sign && size < 16 && (v >> (size * 8 - 1) & 1) != 0) {
        v |= ~(unsigned __int128)0 << (size * 8);
    }
    return (pli_i128)v;
}

static pli_i128 ref_int(MPI_Op op, pli_i128 a, pli_i128 b, bool with_sign)
{
    unsigned __int128 x = (unsigned __int128)a, y = (unsigned __int128)b;
    if (op == MPI_SUM) {
        return (pli_i128)(x + y);
    } else if (op == MPI_PROD) {
        return (pli_i128)(x * y);
    } else if (op == MPI_MIN) {
        return (with_sign ? a < b : x < y) ? a : b;
    } else if (op == MPI_MAX) {
        return (with_sign ? a > b : x > y) ? a : b;
    } else if (op == MPI_BAND) {
        return a & b;
    } else if (op == MPI_BOR) {
        return a | b;
    } else if (op == MPI_BXOR) {
        return a ^ b;
    } else if (op == MPI_LAND) {
        return a != 0 && b != 0;
    } else if (op == MPI_LOR) {
        return a != 0 || b != 0;
    }
    return (a != 0) != (b != 0);
}

static void test_ints(MPI_Op op, struct pli_datatype *t)
{
    char space[3][N * 16 + 1];
    char *in = space[0] + 1, *inout = space[1] + 1, *was = space[2] + 1; // at odd addresses
    int size = (int)t->size;
    bool is_truth = t->family == PLI_FAMILY_LOGICAL;
    for (int i = 0; i < N * size; i++) {
        in[i] = rnd() % 4 == 0 ? 0 : (char)rnd();
        inout[i] = rnd() % 4 == 0 ? 0 : (char)rnd();
        if (is_truth) {
            in[i] = i % size == 0 ? in[i] & 1 : 0;
            inout[i] = i % size == 0 ? inout[i] & 1 : 0;
        }
    }
    memcpy(was, inout, (size_t)(N * size));
    T_EQ(pli_op_reduce_local(in, inout, N, t, op_of(op)), 0);
    for (int i = 0; i < N; i++) {
        bool s = is_signed(t->number);
        pli_i128 want =
            ref_int(op, load_int(in + i * size, size, s), load_int(was + i * size, size, s), s);
        T_OK(memcmp(inout + i * size, &want, (size_t)size) == 0);
    }
}

static long double load_float(const char *p, int number)
{
    long double ld;
    pli_f128 q;
    float f;
    double d;
#if PLI_HAS_F16
    pli_f16 h;
#endif
    switch (number) {
#if PLI_HAS_F16
    case PLI_NUM_F16:
        memcpy(&h, p, 2);
        return h;
#endif
    case PLI_NUM_F32:
        memcpy(&f, p, 4);
        return f;
    case PLI_NUM_F64:
        memcpy(&d, p, 8);
        return d;
    case PLI_NUM_F128:
        memcpy(&q, p, 16);
        return (long double)q;
    default:
        memcpy(&ld, p, sizeof ld);
        return ld;
    }
}

static void store_float(char *p, int number, long double v)
{
    long double ld = v;
    pli_f128 q = v;
    float f = (float)v;
    double d = (double)v;
#if PLI_HAS_F16
    pli_f16 h = (pli_f16)v;
#endif
    switch (number) {
#if PLI_HAS_F16
    case PLI_NUM_F16:
        memcpy(p, &h, 2);
        break;
#endif
    case PLI_NUM_F32:
        memcpy(p, &f, 4);
        break;
    case PLI_NUM_F64:
        memcpy(p, &d, 8);
        break;
    case PLI_NUM_F128:
        memcpy(p, &q, 16);
        break;
    default:
        memcpy(p, &ld, sizeof ld);
    }
}

static void test_floats(MPI_Op op, struct pli_datatype *t)
{
    char in[N * 16], inout[N * 16];
    int a[N], b[N], size = (int)t->size;
    for (int i = 0; i < N; i++) {
        a[i] = (int)(rnd() % 41) - 20;
        b[i] = (int)(rnd() % 41) - 20;
        store_float(in + i * size, t->number, a[i]);
        store_float(inout + i * size, t->number, b[i]);
    }
    T_EQ(pli_op_reduce_local(in, inout, N, t, op_of(op)), 0);
    for (int i = 0; i < N; i++) {
        int want = op == MPI_SUM    ? a[i] + b[i]
                   : op == MPI_PROD ? a[i] * b[i]
                   : op == MPI_MIN  ? (a[i] < b[i] ? a[i] : b[i])
                                    : (a[i] > b[i] ? a[i] : b[i]);
        T_OK(load_float(inout + i * size, t->number) == want);
    }
}

static int part_of(int number)
{
    static const int parts[] = { PLI_NUM_F16, PLI_NUM_F32, PLI_NUM_F64, PLI_NUM_LD, PLI_NUM_F128 };
    return number >= PLI_NUM_CF16 ? parts[number - PLI_NUM_CF16] : number;
}

static void test_complex(MPI_Op op, struct pli_datatype *t)
{
    int part = part_of(t->number), size = (int)t->size / 2;
    char in[N * 32], inout[N * 32];
    int a[2 * N], b[2 * N];
    for (int i = 0; i < 2 * N; i++) {
        a[i] = (int)(rnd() % 21) - 10;
        b[i] = (int)(rnd() % 21) - 10;
        store_float(in + i * size, part, a[i]);
        store_float(inout + i * size, part, b[i]);
    }
    T_EQ(pli_op_reduce_local(in, inout, N, t, op_of(op)), 0);
    for (int i = 0; i < 2 * N; i += 2) {
        int re = op == MPI_SUM ? a[i] + b[i] : a[i] * b[i] - a[i + 1] * b[i + 1];
        int im = op == MPI_SUM ? a[i + 1] + b[i + 1] : a[i] * b[i + 1] + a[i + 1] * b[i];
        T_OK(load_float(inout + i * size, part) == re);
        T_OK(load_float(inout + (i + 1) * size, part) == im);
    }
}

static void store_number(char *p, int number, int v)
{
    if (number >= PLI_NUM_F16) {
        store_float(p, number, v);
    } else {
        memcpy(p, &v, (size_t)(pli_number_size(number) < 4 ? pli_number_size(number) : 4));
        if (pli_number_size(number) == 8) {
            memcpy(p, &(long long){ v }, 8);
        }
    }
}

static int load_number(const char *p, int number)
{
    return number >= PLI_NUM_F16 ? (int)load_float(p, number)
                                 : (int)load_int(p, pli_number_size(number), is_signed(number));
}

static void test_pair(MPI_Op op, struct pli_datatype *t)
{
    char in[N * 64] = { 0 }, inout[N * 64] = { 0 };
    int v[2][N], x[2][N], ext = (int)t->extent;
    int index_at = (int)t->true_extent - pli_number_size(t->index);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 2; k++) {
            v[k][i] = (int)(rnd() % 4); // often equal
            x[k][i] = (int)(rnd() % 100);
            store_number((k == 0 ? in : inout) + i * ext, t->number, v[k][i]);
            store_number((k == 0 ? in : inout) + i * ext + index_at, t->index, x[k][i]);
        }
    }
    T_EQ(pli_op_reduce_local(in, inout, N, t, op_of(op)), 0);
    for (int i = 0; i < N; i++) {
        int a = v[0][i], b = v[1][i];
        bool first = op == MPI_MINLOC ? a < b : a > b;
        int value = first ? a : b;
        int index = a == b ? (x[0][i] < x[1][i] ? x[0][i] : x[1][i]) : first ? x[0][i] : x[1][i];
        T_EQ(load_number(inout + i * ext, t->number), value);
        T_EQ(load_number(inout + i * ext + index_at, t->index), index);
    }
}

static void test_all(void)
{
    int n_valid = 0;
    for (int i = 0; i < N_TYPE; i++) {
        struct pli_datatype *t = pli_datatype_basic(types[i]);
        for (int k = 0; k < N_OP; k++) {
            bool is_ok = is_allowed(ops[k], t->family) &&
                         (PLI_HAS_F16 || (t->number != PLI_NUM_F16 && t->number != PLI_NUM_CF16));
            enum pli_err err = pli_op_check(op_of(ops[k]), t);
            T_EQ(err, is_ok ? PLI_OK : PLI_ERR_OP);
            if (!is_ok) {
                const char *why = pli_fail_take(NULL);
                T_HAS(why, pli_op_label(op_of(ops[k])));
                T_HAS(why, t->name);
                continue;
            }
            n_valid++;
            if (t->family == PLI_FAMILY_FLOAT) {
                test_floats(ops[k], t);
            } else if (t->family == PLI_FAMILY_COMPLEX) {
                test_complex(ops[k], t);
            } else {
                test_ints(ops[k], t);
            }
        }
    }
    T_OK(n_valid > 250);
}

static void test_pairs(void)
{
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct pli_datatype *t = pli_datatype_basic(pairs[i]);
        test_pair(MPI_MINLOC, t);
        test_pair(MPI_MAXLOC, t);
        T_EQ(pli_op_check(op_of(MPI_SUM), t), PLI_ERR_OP);
    }
    int n = 0;
    for (int i = 0; i < N_TYPE; i++) {
        for (int k = 0; k < N_TYPE; k++) {
            struct pli_datatype *t = NULL;
            T_EQ(pli_type_value_index(pli_datatype_basic(types[i]), pli_datatype_basic(types[k]),
                                      &t),
                 0);
            if (t != NULL) {
                test_pair(MPI_MINLOC, t);
                test_pair(MPI_MAXLOC, t);
                n++;
            }
        }
    }
    T_OK(n > 500);
}

enum { MANY = 700, ROOM = MANY * 32 + 1 }; // more than any loop does at once

static void fill(char *p, int number)
{
    int part = part_of(number), size = pli_number_size(part);
    for (int i = 0; i < ROOM - 1; i++) {
        p[i] = rnd() % 3 == 0 ? 0 : (char)rnd();
    }
    for (int i = 0; i + size < ROOM && part >= PLI_NUM_F16; i += size) {
        store_float(p + i, part, ((int)(rnd() % 2001) - 1000) / 7.0L); // products get rounded
    }
}

static void test_vectors_of(enum pli_vectors v, enum pli_op_which op, enum pli_number number)
{
    static char room[4][ROOM];
    char *in = room[0] + 1, *was = room[1] + 1, *one = room[2] + 1, *all = room[3] + 1;
    pli_op_fn plain = pli_op_kernel_with(PLI_VECTORS_PLAIN, op, number);
    pli_op_fn longer = pli_op_kernel_with(v, op, number);
    T_OK((plain == NULL) == (longer == NULL));
    if (plain == NULL || longer == NULL) {
        return;
    }
    int size = pli_number_size(number);
    fill(in, number);
    fill(was, number);
    memcpy(one, was, ROOM - 1);
    for (int i = 0; i < MANY; i++) {
        plain(in + i * size, one + i * size, 1);
    }
    for (int n = 0; n <= MANY; n += 1 + (int)(rnd() % 40)) {
        memcpy(all, was, ROOM - 1);
        longer(in, all, (size_t)n);
        T_OK(memcmp(all, one, (size_t)(n * size)) == 0);
        T_OK(memcmp(all + n * size, was + n * size, (size_t)(ROOM - 1 - n * size)) == 0);
    }
}

// Longer vectors compute the same bits, and touch nothing beside the elements.
static void test_vectors(void)
{
    for (enum pli_vectors v = PLI_VECTORS_PLAIN; v < PLI_N_VECTORS; v++) {
        for (int op = 0; op < PLI_N_OP && pli_op_has_vectors(v); op++) {
            for (int number = PLI_NUM_NONE; number < PLI_N_NUM; number++) {
                test_vectors_of(v, (enum pli_op_which)op, (enum pli_number)number);
            }
        }
    }
    T_OK(pli_op_has_vectors(pli_op_vectors()));
}

static int n_call, largest;
static MPI_Datatype seen_type;

static void add_ints(void *in, void *inout, int *len, MPI_Datatype *type)
{
    n_call++;
    largest = *len > largest ? *len : largest;
    seen_type = *type;
    for (int i = 0; i < *len && *len < 100; i++) {
        ((int *)inout)[i] += ((int *)in)[i];
    }
    *len = -1; // what a user does with it is no matter
}

static void count_only(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    n_call++;
    largest = *len > INT_MAX ? -1 : (int)*len;
    seen_type = *type;
}

static void test_user(void)
{
    struct pli_op *op, *big;
    int a[] = { 1, 2, 3 }, b[] = { 10, 20, 30 }, commute = -1;
    struct pli_datatype *i = pli_datatype_basic(MPI_INT), *t;
    T_EQ(pli_op_create(add_ints, 0, &op), 0);
    T_EQ(pli_op_commutative(op, &commute), 0);
    T_EQ(commute, 0);
    T_EQ(pli_op_reduce_local(a, b, 3, i, op), 0);
    T_OK(b[0] == 11 && b[2] == 33 && n_call == 1 && seen_type == MPI_INT);

    // More than an int counts comes in pieces; the empty type lets us do without the memory.
    T_EQ(pli_type_contiguous(0, i, &t), 0);
    n_call = largest = 0;
    pli_op_apply(op, a, b, (MPI_Count)INT_MAX * 2 + 3, t);
    T_EQ(n_call, 3);
    T_EQ(largest, INT_MAX);
    T_EQ(pli_op_create_large(count_only, 1, &big), 0);
    n_call = 0;
    pli_op_apply(big, a, b, (MPI_Count)INT_MAX * 2 + 3, t);
    T_EQ(n_call, 1);
    T_EQ(largest, -1);
    T_OK(seen_type == pli_handle_of(t, PLI_KIND_DATATYPE));
    pli_datatype_release(t);
    T_EQ(pli_op_free(op), 0);
    T_EQ(pli_op_free(big), 0);
    T_EQ(pli_op_create(NULL, 0, &op), PLI_ERR_ARG);
    T_EQ(pli_op_free(op_of(MPI_SUM)), PLI_ERR_OP);
    T_HAS(pli_fail_take(NULL), "MPI_SUM");
    T_EQ(pli_op_commutative(op_of(MPI_SUM), &commute), 0);
    T_EQ(commute, 1);
    T_EQ(pli_handle_live(PLI_KIND_OP), 0);
}

static void test_derived(void)
{
    struct pli_datatype *t, *i = pli_datatype_basic(MPI_INT);
    int a[] = { 1, 2, 3, 4 }, b[] = { 10, 20, 30, 40 };
    T_EQ(pli_type_contiguous(2, i, &t), 0);
    T_EQ(pli_op_check(op_of(MPI_SUM), t), PLI_ERR_OP);
    T_HAS(pli_fail_take(NULL), "MPI_Op_create");
    T_EQ(pli_op_check_accumulate(op_of(MPI_SUM), t), 0);
    T_EQ(pli_op_check(op_of(MPI_REPLACE), i), PLI_ERR_OP);
    T_EQ(pli_op_check_accumulate(op_of(MPI_REPLACE), t), 0);
    pli_op_apply(op_of(MPI_REPLACE), a, b, 2, t);
    T_OK(b[0] == 1 && b[3] == 4);
    pli_datatype_release(t);
    T_EQ(pli_type_dup(i, &t), 0); // the same under another handle
    T_EQ(pli_op_reduce_local(a, b, 4, t, op_of(MPI_SUM)), 0);
    T_OK(b[0] == 2 && b[3] == 8);
    pli_datatype_release(t);
    T_EQ(pli_type_f90_integer(9, &t), 0);
    T_EQ(pli_op_reduce_local(a, b, 4, t, op_of(MPI_SUM)), 0);
    T_EQ(b[3], 12);
}

int main(void)
{
    pli_datatype_init();
    pli_op_init();
    test_all();
    test_vectors();
    test_pairs();
    test_user();
    test_derived();
    pli_type_named_fini();
    pli_datatype_fini();
    T_EQ(pli_handle_live(PLI_KIND_DATATYPE), 0);
    return t_status();
}
