// SPDX-License-Identifier: BSD-3-Clause
// Datatype and operation functions as a program calls them, on one rank: results, and sentences
// for what is wrong.
#include "t.h"

#include <limits.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

static char why[MPI_MAX_ERROR_STRING];

static int class_of(int code)
{
    int class = -1, len;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, why, &len);
    return class;
}

static void test_errors(void)
{
    MPI_Datatype t = MPI_DATATYPE_NULL, sum = MPI_INT;
    int n, pos = 0, buf[4] = { 1, 2, 3, 4 };
    T_EQ(class_of(MPI_Type_contiguous(-1, MPI_INT, &t)), MPI_ERR_COUNT);
    T_EQ(class_of(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &t)), MPI_ERR_TYPE);
    T_HAS(why, "MPI_DATATYPE_NULL");
    T_EQ(class_of(MPI_Type_free(&sum)), MPI_ERR_TYPE);
    T_HAS(why, "MPI_INT");
    T_OK(sum == MPI_INT);
    T_EQ(class_of(MPI_Type_commit(&t)), MPI_ERR_TYPE);
    T_EQ(MPI_Type_vector(2, 1, 2, MPI_INT, &t), MPI_SUCCESS);
    T_EQ(class_of(MPI_Pack(buf, 1, t, buf, 16, &pos, MPI_COMM_WORLD)), MPI_ERR_TYPE);
    T_HAS(why, "commit");
    T_EQ(MPI_Type_commit(&t), MPI_SUCCESS);
    T_EQ(class_of(MPI_Pack(buf, 1, t, buf, 4, &pos, MPI_COMM_WORLD)), MPI_ERR_TRUNCATE);
    T_EQ(class_of(MPI_Get_count(MPI_STATUS_IGNORE, t, &n)), MPI_ERR_ARG);
    T_EQ(class_of(MPI_Type_size(t, NULL)), MPI_ERR_ARG);
    T_EQ(class_of(MPI_Reduce_local(buf, buf + 2, 1, t, MPI_SUM)), MPI_ERR_OP);
    T_HAS(why, "MPI_SUM");
    T_EQ(class_of(MPI_Reduce_local(buf, buf + 2, 1, MPI_DOUBLE, MPI_BAND)), MPI_ERR_OP);
    T_HAS(why, "MPI_DOUBLE");
    MPI_Op op = MPI_MAX;
    T_EQ(class_of(MPI_Op_free(&op)), MPI_ERR_OP);
    T_EQ(MPI_Type_free(&t), MPI_SUCCESS);
    T_OK(t == MPI_DATATYPE_NULL);
}

static void test_large(void)
{
    MPI_Datatype big, t;
    int n, combiner;
    MPI_Count wide, lb, extent, a, b, c, d;
    MPI_Aint aint, aint_lb;
    T_EQ(MPI_Type_contiguous_c((MPI_Count)INT_MAX + 10, MPI_INT, &big), MPI_SUCCESS);
    T_EQ(MPI_Type_size(big, &n), MPI_SUCCESS);
    T_EQ(n, MPI_UNDEFINED);
    T_EQ(MPI_Type_size_c(big, &wide), MPI_SUCCESS);
    T_EQ(wide, ((MPI_Count)INT_MAX + 10) * 4);
    T_EQ(MPI_Type_size_x(big, &wide), MPI_SUCCESS);
    T_EQ(wide, ((MPI_Count)INT_MAX + 10) * 4);
    T_EQ(MPI_Type_get_extent(big, &aint_lb, &aint), MPI_SUCCESS);
    T_EQ(aint, ((MPI_Count)INT_MAX + 10) * 4);
    T_EQ(MPI_Type_get_extent_c(big, &lb, &extent), MPI_SUCCESS);
    T_EQ(extent, aint);
    T_EQ(MPI_Type_get_true_extent_x(big, &lb, &extent), MPI_SUCCESS);
    T_EQ(extent, aint);
    T_EQ(class_of(MPI_Type_get_envelope(big, &n, &n, &n, &combiner)), MPI_ERR_TYPE);
    T_EQ(MPI_Type_get_envelope_c(big, &a, &b, &c, &d, &combiner), MPI_SUCCESS);
    T_OK(a == 0 && b == 0 && c == 1 && d == 1 && combiner == MPI_COMBINER_CONTIGUOUS);
    T_EQ(MPI_Type_get_contents_c(big, 0, 0, 1, 1, NULL, NULL, &wide, &t), MPI_SUCCESS);
    T_OK(wide == (MPI_Count)INT_MAX + 10 && t == MPI_INT);
    T_EQ(MPI_Pack_size(1, big, MPI_COMM_SELF, &n), MPI_SUCCESS);
    T_EQ(n, MPI_UNDEFINED);
    MPI_Status st;
    MPI_Count most = 0; // no bit of a count is lost in a status
    T_EQ(MPI_Status_set_elements_x(&st, MPI_BYTE, INT64_MAX), MPI_SUCCESS);
    T_EQ(MPI_Get_elements_x(&st, MPI_BYTE, &most), MPI_SUCCESS);
    T_OK(most == INT64_MAX);
    T_EQ(MPI_Status_set_elements_x(&st, MPI_BYTE, (MPI_Count)1 << 33), MPI_SUCCESS);
    T_EQ(MPI_Get_count(&st, MPI_BYTE, &n), MPI_SUCCESS);
    T_EQ(n, MPI_UNDEFINED);
    T_EQ(MPI_Get_count(&st, MPI_INT64_T, &n), MPI_SUCCESS);
    T_EQ(n, 1 << 30);
    T_EQ(MPI_Get_elements_x(&st, MPI_BYTE, &wide), MPI_SUCCESS);
    T_EQ(wide, (MPI_Count)1 << 33);
    T_EQ(MPI_Type_free(&big), MPI_SUCCESS);
}

static int n_copy, n_delete;

static int on_copy(MPI_Datatype t, int key, void *extra, void *in, void *out, int *flag)
{
    (void)t;
    (void)key;
    (void)extra;
    n_copy++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Datatype t, int key, void *value, void *extra)
{
    int size;
    (void)key;
    (void)value;
    (void)extra;
    n_delete++;
    // The handle still works in here.
    return MPI_Type_size(t, &size) != MPI_SUCCESS ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void test_attributes(void)
{
    MPI_Datatype t, u;
    int key, flag;
    char place[4], *got;
    T_EQ(MPI_Type_create_keyval(on_copy, on_delete, &key, NULL), MPI_SUCCESS);
    T_EQ(MPI_Type_contiguous(4, MPI_INT, &t), MPI_SUCCESS);
    T_EQ(MPI_Type_set_attr(t, key, place), MPI_SUCCESS);
    T_EQ(MPI_Type_dup(t, &u), MPI_SUCCESS);
    T_EQ(n_copy, 1);
    T_EQ(MPI_Type_get_attr(u, key, &got, &flag), MPI_SUCCESS);
    T_OK(flag && got == place + 1);
    T_EQ(MPI_Type_free(&u), MPI_SUCCESS);
    T_EQ(n_delete, 1);
    T_EQ(MPI_Type_free(&t), MPI_SUCCESS);
    T_EQ(n_delete, 2);
    T_EQ(MPI_Type_free_keyval(&key), MPI_SUCCESS);
}

struct item {
    char tag;
    double x[2];
    short s;
};

// A C structure, an array of them, packed and back, absolute addresses from MPI_BOTTOM.
static void test_struct(void)
{
    struct item in[3] = { { 'a', { 1, 2 }, 3 }, { 'b', { 4, 5 }, 6 }, { 'c', { 7, 8 }, 9 } };
    struct item out[3] = { 0 };
    int lens[] = { 1, 2, 1 }, pos = 0, size;
    MPI_Aint at[3], base, lb, extent;
    MPI_Datatype types[] = { MPI_CHAR, MPI_DOUBLE, MPI_SHORT }, t, far;
    MPI_Get_address(&in[0], &base);
    MPI_Get_address(&in[0].tag, &at[0]);
    MPI_Get_address(&in[0].x, &at[1]);
    MPI_Get_address(&in[0].s, &at[2]);
    T_EQ(MPI_Type_create_struct(3, lens, at, types, &far), MPI_SUCCESS);
    for (int i = 0; i < 3; i++) {
        at[i] = MPI_Aint_diff(at[i], base);
    }
    T_EQ(at[1], offsetof(struct item, x));
    T_EQ(MPI_Type_create_struct(3, lens, at, types, &t), MPI_SUCCESS);
    T_EQ(MPI_Type_get_extent(t, &lb, &extent), MPI_SUCCESS);
    T_EQ(lb, 0);
    T_EQ(extent, sizeof(struct item));
    MPI_Type_commit(&t);
    MPI_Type_commit(&far);
    char packed[128], again[128];
    T_EQ(MPI_Pack_size(3, t, MPI_COMM_SELF, &size), MPI_SUCCESS);
    T_EQ(size, 3 * 19);
    T_EQ(MPI_Pack(in, 3, t, packed, sizeof packed, &pos, MPI_COMM_SELF), MPI_SUCCESS);
    T_EQ(pos, 57);
    pos = 0;
    T_EQ(MPI_Unpack(packed, 57, &pos, out, 3, t, MPI_COMM_SELF), MPI_SUCCESS);
    for (int i = 0; i < 3; i++) {
        T_OK(out[i].tag == in[i].tag && out[i].x[1] == in[i].x[1] && out[i].s == in[i].s);
    }
    pos = 0;
    T_EQ(MPI_Pack(MPI_BOTTOM, 1, far, again, sizeof again, &pos, MPI_COMM_SELF), MPI_SUCCESS);
    T_OK(pos == 19 && memcmp(packed, again, 19) == 0);
    MPI_Aint ext_pos = 0, ext_size;
    T_EQ(MPI_Pack_external_size("external32", 3, t, &ext_size), MPI_SUCCESS);
    T_EQ(ext_size, 57);
    T_EQ(MPI_Pack_external("external32", in, 3, t, packed, sizeof packed, &ext_pos), MPI_SUCCESS);
    memset(out, 0, sizeof out);
    ext_pos = 0;
    T_EQ(MPI_Unpack_external("external32", packed, 57, &ext_pos, out, 3, t), MPI_SUCCESS);
    T_OK(out[2].x[0] == 7 && out[1].s == 6);
    MPI_Type_free(&t);
    MPI_Type_free(&far);
}

static void test_names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int len;
    MPI_Datatype t, pair;
    T_EQ(MPI_Type_get_name(MPI_LONG_LONG, name, &len), MPI_SUCCESS);
    T_STR(name, "MPI_LONG_LONG_INT");
    T_EQ(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &len), MPI_SUCCESS);
    T_STR(name, "MPI_DATATYPE_NULL");
    T_EQ(class_of(MPI_Type_get_name((MPI_Datatype)MPI_COMM_WORLD, name, &len)), MPI_ERR_TYPE);
    T_EQ(MPI_Type_contiguous(2, MPI_INT, &t), MPI_SUCCESS);
    T_EQ(MPI_Type_set_name(t, "couple"), MPI_SUCCESS);
    T_EQ(MPI_Type_get_name(t, name, &len), MPI_SUCCESS);
    T_STR(name, "couple");
    T_EQ(len, 6);
    int buf[4] = { 0 };
    T_EQ(class_of(MPI_Reduce_local(buf, buf + 2, 1, t, MPI_PROD)), MPI_ERR_OP);
    T_HAS(why, "couple");
    MPI_Type_free(&t);
    T_EQ(MPI_Type_get_value_index(MPI_FLOAT, MPI_INT, &pair), MPI_SUCCESS);
    T_OK(pair == MPI_FLOAT_INT);
    T_EQ(MPI_Type_get_value_index(MPI_FLOAT, MPI_WCHAR, &pair), MPI_SUCCESS);
    T_OK(pair == MPI_DATATYPE_NULL);
    T_EQ(MPI_Type_create_f90_integer(9, &t), MPI_SUCCESS);
    T_EQ(class_of(MPI_Type_free(&t)), MPI_ERR_TYPE);
    T_EQ(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, &t), MPI_SUCCESS);
    T_OK(t == MPI_INTEGER8);
}

static void times_two(void *in, void *inout, int *len, MPI_Datatype *t)
{
    T_OK(*t == MPI_INT);
    for (int i = 0; i < *len; i++) {
        ((int *)inout)[i] = 2 * ((int *)in)[i] + ((int *)inout)[i];
    }
}

static void test_ops(void)
{
    int a[] = { 1, 2 }, b[] = { 10, 20 }, commute;
    MPI_Op op;
    T_EQ(MPI_Op_create(times_two, 0, &op), MPI_SUCCESS);
    T_EQ(MPI_Op_commutative(op, &commute), MPI_SUCCESS);
    T_EQ(commute, 0);
    T_EQ(MPI_Reduce_local(a, b, 2, MPI_INT, op), MPI_SUCCESS);
    T_OK(b[0] == 12 && b[1] == 24);
    T_EQ(MPI_Reduce_local_c(a, b, 2, MPI_INT, MPI_PROD), MPI_SUCCESS);
    T_OK(b[0] == 12 && b[1] == 48);
    T_EQ(MPI_Op_free(&op), MPI_SUCCESS);
    T_OK(op == MPI_OP_NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    test_errors();
    test_large();
    test_attributes();
    test_struct();
    test_names();
    test_ops();
    MPI_Finalize();
    return t_status();
}
