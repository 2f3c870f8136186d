// SPDX-License-Identifier: BSD-3-Clause
// Attributes: callbacks, order, errors from callbacks, keys freed in use, calls from callbacks.
#include "host.h"
#include "obj.h"

static int order[16], n_order;
static int verdict; // what the delete callback returns

static int note(MPI_Comm c, int key, void *value, void *extra)
{
    (void)c;
    (void)key;
    T_STR((char *)extra, "extra");
    order[n_order++] = (int)(intptr_t)value;
    return verdict;
}

static int note_type(MPI_Datatype t, int key, void *value, void *extra)
{
    (void)t;
    (void)key;
    (void)extra;
    order[n_order++] = (int)(intptr_t)value;
    return verdict;
}

static int copy_more(MPI_Datatype t, int key, void *extra, void *in, void *out, int *flag)
{
    (void)t;
    (void)key;
    (void)extra;
    *flag = (intptr_t)in != 13;
    *(void **)out = (void *)((intptr_t)in + 1);
    return (intptr_t)in == 99 ? 4711 : MPI_SUCCESS;
}

static void basics(void)
{
    int key, saved, flag;
    void *value = NULL;
    T_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note, &key, "extra"));
    T_OK(key != MPI_KEYVAL_INVALID);
    T_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
    T_EQ(flag, 0);
    T_MPI(MPI_Comm_set_attr(MPI_COMM_WORLD, key, (void *)5));
    T_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
    T_EQ(flag, 1);
    T_EQ((intptr_t)value, 5);
    T_MPI(MPI_Comm_get_attr(MPI_COMM_SELF, key, &value, &flag));
    T_EQ(flag, 0);
    T_MPI(MPI_Comm_set_attr(MPI_COMM_WORLD, key, (void *)6)); // the old value is deleted
    T_EQ(n_order, 1);
    T_EQ(order[0], 5);
    verdict = 4712;
    T_EQ(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), 4712); // refused: it stays
    T_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, key, (void *)7), 4712);
    verdict = 0;
    T_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
    T_EQ((intptr_t)value, 6);
    saved = key;
    T_MPI(MPI_Comm_free_keyval(&key));
    T_EQ(key, MPI_KEYVAL_INVALID);
    T_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, saved, &value, &flag)); // in use: still good
    T_EQ(flag, 1);
    T_REFUSED(MPI_Comm_set_attr(MPI_COMM_SELF, saved, NULL), MPI_ERR_KEYVAL, "freed");
    int again = saved;
    T_MPI(MPI_Comm_free_keyval(&again)); // a copy of a key in use may be freed too
    T_EQ(again, MPI_KEYVAL_INVALID);
    n_order = 0;
    T_MPI(MPI_Comm_delete_attr(MPI_COMM_WORLD, saved));
    T_EQ(n_order, 1);
    T_REFUSED_FREED(MPI_Comm_get_attr(MPI_COMM_WORLD, saved, &value, &flag), MPI_ERR_KEYVAL,
                    "freed");
    n_order = 0;
}

// Many keys come and go; a number kept too long never means another key.
static void turnover(void)
{
    int first, key, flag;
    void *value;
    T_MPI(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &first, NULL));
    key = first;
    T_MPI(MPI_Comm_free_keyval(&key));
    for (int i = 0; i < 300; i++) {
        T_MPI(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
        T_OK(key != first);
        T_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, key, &key));
        T_MPI(MPI_Comm_get_attr(MPI_COMM_SELF, key, &value, &flag));
        T_OK(flag && value == &key);
        T_MPI(MPI_Comm_delete_attr(MPI_COMM_SELF, key));
        T_MPI(MPI_Comm_free_keyval(&key));
    }
}

static int inner_key;

// Uses the attributes of the object from inside a callback.
static int busy(MPI_Comm c, int key, void *value, void *extra)
{
    void *got;
    int flag;
    (void)extra;
    T_MPI(MPI_Comm_get_attr(c, key, &got, &flag));
    T_OK(flag && got == value); // still there while it is deleted
    T_REFUSED(MPI_Comm_delete_attr(c, key), MPI_ERR_KEYVAL, "being deleted");
    T_REFUSED(MPI_Comm_set_attr(c, key, NULL), MPI_ERR_KEYVAL, "being deleted");
    for (intptr_t i = 1; i <= 20; i++) { // the list moves in memory meanwhile
        int more;
        T_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &more, NULL));
        T_MPI(MPI_Comm_set_attr(c, more, (void *)i));
        T_MPI(MPI_Comm_free_keyval(&more));
    }
    T_MPI(MPI_Comm_delete_attr(c, inner_key));
    return MPI_SUCCESS;
}

static void nested(void)
{
    int key, flag;
    void *value;
    T_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note, &inner_key, "extra"));
    T_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, busy, &key, NULL));
    T_MPI(MPI_Comm_set_attr(MPI_COMM_WORLD, inner_key, (void *)3));
    T_MPI(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &key));
    T_MPI(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
    T_EQ(n_order, 1);
    T_EQ(order[0], 3);
    n_order = 0;
    T_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
    T_EQ(flag, 0);
    T_MPI(MPI_Comm_free_keyval(&key));
    T_MPI(MPI_Comm_free_keyval(&inner_key));
}

static void old_names(void)
{
    int key, flag;
    void *value;
    T_MPI(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &key, NULL));
    T_MPI(MPI_Attr_put(MPI_COMM_WORLD, key, &key));
    T_MPI(MPI_Attr_get(MPI_COMM_WORLD, key, &value, &flag));
    T_OK(flag && value == &key);
    T_MPI(MPI_Attr_delete(MPI_COMM_WORLD, key));
    T_MPI(MPI_Keyval_free(&key));
}

static void types(void)
{
    int key, plain, flag;
    void *value;
    MPI_Datatype a, b;
    T_MPI(MPI_Type_create_keyval(copy_more, note_type, &key, NULL));
    T_MPI(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &plain, NULL));
    T_MPI(MPI_Type_contiguous(3, MPI_INT, &a));
    T_MPI(MPI_Type_set_attr(a, key, (void *)40));
    T_MPI(MPI_Type_set_attr(a, plain, (void *)50));
    T_MPI(MPI_Type_dup(a, &b));
    T_MPI(MPI_Type_get_attr(b, key, &value, &flag));
    T_EQ((intptr_t)value, 41);
    T_MPI(MPI_Type_get_attr(b, plain, &value, &flag));
    T_EQ((intptr_t)value, 50);
    T_MPI(MPI_Type_free(&b));
    T_EQ(n_order, 1);
    T_EQ(order[0], 41);
    T_MPI(MPI_Type_set_attr(a, key, (void *)13)); // this one does not want to be copied
    T_MPI(MPI_Type_dup(a, &b));
    T_MPI(MPI_Type_get_attr(b, key, &value, &flag));
    T_EQ(flag, 0);
    T_MPI(MPI_Type_free(&b));
    T_MPI(MPI_Type_set_attr(a, key, (void *)99)); // this one fails to be copied
    b = MPI_DATATYPE_NULL;
    T_EQ(MPI_Type_dup(a, &b), 4711);
    T_OK(b == MPI_DATATYPE_NULL);
    verdict = 4713; // and this one does not want to go
    T_EQ(MPI_Type_free(&a), 4713);
    T_OK(a != MPI_DATATYPE_NULL);
    verdict = 0;
    T_MPI(MPI_Type_free(&a));
    T_MPI(MPI_Type_set_attr(MPI_INT, plain, &value)); // predefined types have attributes too
    T_MPI(MPI_Type_delete_attr(MPI_INT, plain));
    T_REFUSED(MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL), MPI_ERR_KEYVAL, "communicator");
    T_REFUSED(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL, "communicator");
    T_MPI(MPI_Type_free_keyval(&key));
    T_MPI(MPI_Type_free_keyval(&plain));
    n_order = 0;
}

static int fixed(int key)
{
    int *value = NULL, flag = 0;
    T_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
    T_EQ(flag, 1);
    return flag ? *value : -99;
}

static void predefined(int has_launcher)
{
    int size, flag, *value, code;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    T_OK(fixed(MPI_TAG_UB) >= 32767);
    T_EQ(fixed(MPI_IO), MPI_ANY_SOURCE);
    T_EQ(fixed(MPI_HOST), MPI_PROC_NULL);
    h_find(MPI_COMM_WORLD);
    T_EQ(fixed(MPI_WTIME_IS_GLOBAL), h_count == 1); // clocks of two hosts are two clocks
    T_OK(fixed(MPI_UNIVERSE_SIZE) >= size);
    if (!T_IS_ENDPOINT) { // ranks of one process add to the same codes
        T_EQ(fixed(MPI_LASTUSEDCODE), MPI_ERR_LASTCODE);
        T_MPI(MPI_Add_error_class(&code));
        T_EQ(fixed(MPI_LASTUSEDCODE), code);
        T_MPI(MPI_Remove_error_class(code));
        T_EQ(fixed(MPI_LASTUSEDCODE), MPI_ERR_LASTCODE);
    }
    T_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    T_EQ(flag, has_launcher);
    T_OK(!flag || *value == 0);
    T_REFUSED(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, NULL), MPI_ERR_KEYVAL, "MPI_TAG_UB");
    T_REFUSED(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_IO), MPI_ERR_KEYVAL, "MPI_IO");
}

static void mistakes(void)
{
    int key = 12345, flag;
    void *value;
    T_REFUSED(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &value, &flag), MPI_ERR_KEYVAL,
              "MPI_KEYVAL_INVALID");
    T_REFUSED(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag), MPI_ERR_KEYVAL, "12345");
    T_REFUSED(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL, "12345");
    T_REFUSED(MPI_Comm_free_keyval(NULL), MPI_ERR_ARG, "NULL");
    T_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    T_REFUSED(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_ERR_KEYVAL, "no attribute");
    T_REFUSED(MPI_Comm_get_attr(MPI_COMM_WORLD, key, NULL, &flag), MPI_ERR_ARG, "attribute_val");
    T_REFUSED(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, NULL), MPI_ERR_ARG, "flag");
    T_REFUSED(MPI_Comm_get_attr(MPI_COMM_NULL, key, &value, &flag), MPI_ERR_COMM, "MPI_COMM_NULL");
    T_REFUSED(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, NULL, NULL),
              MPI_ERR_ARG, "comm_keyval");
    T_MPI(MPI_Comm_free_keyval(&key));
}

// Deleted at MPI_Finalize, last set first, while MPI still works.
static int at_end(MPI_Comm c, int key, void *value, void *extra)
{
    int size, done;
    (void)key;
    (void)extra;
    T_OK(c == MPI_COMM_SELF);
    T_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
    T_MPI(MPI_Finalized(&done));
    T_EQ(done, 0);
    order[n_order++] = (int)(intptr_t)value;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    t_start(&argc, &argv);
    basics();
    turnover();
    nested();
    old_names();
    types();
    predefined(argc > 1);
    mistakes();
    for (intptr_t i = 1; i <= 5; i++) {
        int key;
        T_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL));
        T_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)i));
        T_MPI(MPI_Comm_free_keyval(&key));
    }
    MPI_Finalize();
    T_EQ(n_order, 5);
    for (int i = 0; i < n_order; i++) {
        T_EQ(order[i], 5 - i);
    }
    return t_status();
}
