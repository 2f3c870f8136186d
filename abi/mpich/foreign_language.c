// SPDX-License-Identifier: BSD-3-Clause
// What MPICH's libraries for Fortran and C++ call in its C library, besides MPI functions. Those
// libraries are used as they are, above this one.
#include "foreign_state.h"
#include "fortran/attribute.h"

#include <stdint.h>

// How an attribute was set, or is to be read: bit 0 says that it is an integer.
enum attr_type { ATTR_PTR, ATTR_AINT, ATTR_INT = 3 };

// They call a function of their language with a value that is an integer, or an address. The
// handle may be of each kind that has attributes.
typedef int copy_proxy(F_Comm_copy_attr_function *fn, int handle, int keyval, void *extra,
                       enum attr_type type, void *value, void **copy, int *flag);
typedef int drop_proxy(F_Comm_delete_attr_function *fn, int handle, int keyval, enum attr_type type,
                       void *value, void *extra);
void MPII_Keyval_set_proxy(int keyval, copy_proxy *copy, drop_proxy *drop);
void MPII_Grequest_set_lang_f77(F_Request request);
int MPII_Comm_set_attr(F_Comm comm, int keyval, void *value, enum attr_type type);
int MPII_Type_set_attr(F_Datatype datatype, int keyval, void *value, enum attr_type type);
int MPII_Win_set_attr(F_Win win, int keyval, void *value, enum attr_type type);
int MPII_Comm_get_attr(F_Comm comm, int keyval, void *value, int *flag, enum attr_type type);
int MPII_Type_get_attr(F_Datatype datatype, int keyval, void *value, int *flag,
                       enum attr_type type);
int MPII_Win_get_attr(F_Win win, int keyval, void *value, int *flag, enum attr_type type);

// C keeps an address. For an integer it is that of a cell (fortran/attribute.h).
static enum attr_type take(void *kept, void **value)
{
    *value = (void *)pli_attribute_value(kept, MPI_KEYVAL_INVALID);
    return *value == kept ? ATTR_PTR : ATTR_AINT;
}

// In place of the program's functions; its argument is the state. A copy is as the original is.
static int copy(int handle, int keyval, void *extra_state, void *in, void *out, int *flag)
{
    struct pli_foreign_state *s = extra_state;
    void *value, *other = NULL;
    enum attr_type type = take(in, &value);
    int code = ((copy_proxy *)s->copy_proxy)(s->inner.copy.comm, handle, keyval, s->inner.extra,
                                             type, value, &other, flag);
    if (code == 0 && *flag) {
        *(void **)out = type == ATTR_PTR ? other : pli_attribute_keep((MPI_Aint)other);
        return *(void **)out == NULL && type != ATTR_PTR ? F_MPI_ERR_NO_MEM : 0;
    }
    return code;
}

static int drop(int handle, int keyval, void *kept, void *extra_state)
{
    struct pli_foreign_state *s = extra_state;
    void *value;
    enum attr_type type = take(kept, &value);
    return ((drop_proxy *)s->drop_proxy)(s->inner.drop.comm, handle, keyval, type, value,
                                         s->inner.extra);
}

void MPII_Keyval_set_proxy(int keyval, copy_proxy *copy_by, drop_proxy *drop_by)
{
    struct pli_foreign_state *s = pli_foreign_state_of_keyval(keyval);
    if (s == NULL) {
        return;
    }
    s->copy_proxy = (void (*)(void))copy_by;
    s->drop_proxy = (void (*)(void))drop_by;
    s->inner = s->call;
    s->call.extra = s;
    s->call.copy.comm = copy;
    s->call.drop.comm = drop;
}

// The functions of a generalized request that Fortran started: all arguments are addresses, the
// last is ierror.
static int query(void *extra_state, F_Status *status)
{
    struct pli_foreign_state *s = extra_state;
    int code = 0;
    ((void (*)(void *, F_Status *, int *))(void (*)(void))s->inner.query)(s->inner.extra, status,
                                                                          &code);
    return code;
}

static int release(void *extra_state)
{
    struct pli_foreign_state *s = extra_state;
    int code = 0;
    ((void (*)(void *, int *))(void (*)(void))s->inner.free)(s->inner.extra, &code);
    return code;
}

static int cancel(void *extra_state, int complete)
{
    struct pli_foreign_state *s = extra_state;
    int code = 0;
    ((void (*)(void *, int *, int *))(void (*)(void))s->inner.cancel)(s->inner.extra, &complete,
                                                                      &code);
    return code;
}

void MPII_Grequest_set_lang_f77(F_Request request)
{
    struct pli_foreign_state *s = pli_foreign_state_of_grequest(request);
    if (s == NULL) {
        return;
    }
    s->inner = s->call;
    s->call = (struct pli_foreign_functions){
        .extra = s, .query = query, .free = release, .cancel = cancel
    };
}

#define PLI_FOREIGN_SET(name, Name, word)                                                          \
    int MPII_##Name##_set_attr(F_##word h, int keyval, void *value, enum attr_type type)           \
    {                                                                                              \
        void *kept = type == ATTR_PTR ? value : pli_attribute_keep((MPI_Aint)value);               \
        if (kept == NULL && type != ATTR_PTR) {                                                    \
            return F_MPI_ERR_NO_MEM;                                                               \
        }                                                                                          \
        int err = pli_std_MPI_##Name##_set_attr(pli_foreign_##name##_in(h),                        \
                                                pli_foreign_keyval_in(keyval), kept);              \
        return err == 0 ? 0 : pli_foreign_error_out(err);                                          \
    }
PLI_FOREIGN_SET(comm, Comm, Comm)
PLI_FOREIGN_SET(datatype, Type, Datatype)
PLI_FOREIGN_SET(win, Win, Win)

// Fortran's name of a predefined key is one more than C's, which is odd.
static int c_keyval(int keyval)
{
    return (uint32_t)keyval >> 30 == 1 && keyval % 2 == 0 ? keyval - 1 : keyval;
}

static int get(int err, int keyval, void *value, const int *flag, enum attr_type type)
{
    if (err == 0 && *flag && type != ATTR_PTR) {
        *(MPI_Aint *)value = pli_attribute_value(*(void **)value, pli_foreign_keyval_in(keyval));
    }
    return err;
}

int MPII_Comm_get_attr(F_Comm comm, int keyval, void *value, int *flag, enum attr_type type)
{
    int key = c_keyval(keyval);
    return get(pli_foreign_attr_comm(comm, key, value, flag), key, value, flag, type);
}

int MPII_Type_get_attr(F_Datatype datatype, int keyval, void *value, int *flag, enum attr_type type)
{
    int err = pli_std_MPI_Type_get_attr(pli_foreign_datatype_in(datatype),
                                        pli_foreign_keyval_in(keyval), value, flag);
    return get(err == 0 ? 0 : pli_foreign_error_out(err), keyval, value, flag, type);
}

int MPII_Win_get_attr(F_Win win, int keyval, void *value, int *flag, enum attr_type type)
{
    int key = c_keyval(keyval);
    return get(pli_foreign_attr_win(win, key, value, flag), key, value, flag, type);
}
