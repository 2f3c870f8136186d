// SPDX-License-Identifier: BSD-3-Clause
// Callbacks that get an argument of their own (extra_state): there the function of the program is
// kept beside the program's argument, and ours in its place changes the handles.
#include "foreign_state.h"

#include <stdatomic.h>
#include <stdlib.h>

// Of the library below (src/msg/grequest.h).
bool pli_grequest_poll_by(MPI_Request handle, void (*poll)(void *extra));

static struct pli_foreign_state *_Atomic keyvals;             // the newest is the first
static _Thread_local struct pli_foreign_state *last_grequest; // that this thread started

// A key may be in use after it was freed, and a data representation lives as long as the program:
// only a generalized request gives its memory back.
static struct pli_foreign_state *make(struct pli_foreign_state like)
{
    struct pli_foreign_state *s = malloc(sizeof *s);
    if (s != NULL) {
        *s = like;
    }
    return s;
}

// What a callback of the program returned.
static int code_in(int code)
{
    return code == 0 ? 0 : pli_foreign_error_in(code);
}

#define PLI_FOREIGN_KEYVAL(name, Name)                                                             \
    static int copy_##name(MPI_##Name h, int keyval, void *extra_state, void *in, void *out,       \
                           int *flag)                                                              \
    {                                                                                              \
        struct pli_foreign_state *s = extra_state;                                                 \
        return code_in(s->call.copy.name(pli_foreign_##name##_out(h),                              \
                                         pli_foreign_keyval_out(keyval), s->call.extra, in, out,   \
                                         flag));                                                   \
    }                                                                                              \
    static int drop_##name(MPI_##Name h, int keyval, void *value, void *extra_state)               \
    {                                                                                              \
        struct pli_foreign_state *s = extra_state;                                                 \
        return code_in(s->call.drop.name(pli_foreign_##name##_out(h),                              \
                                         pli_foreign_keyval_out(keyval), value, s->call.extra));   \
    }

PLI_FOREIGN_KEYVAL(comm, Comm)
PLI_FOREIGN_KEYVAL(win, Win)
#define pli_foreign_type_out pli_foreign_datatype_out
PLI_FOREIGN_KEYVAL(type, Datatype)

// The functions that MPI itself has for copying and deleting. Where one has several addresses they
// do what they say all the same.
#if F_HANDLES_ARE_INTS
int MPIR_Dup_fn(F_Comm comm, int keyval, void *extra_state, void *in, void *out, int *flag);
int MPIR_Dup_fn(F_Comm comm, int keyval, void *extra_state, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    (void)extra_state;
    *(void **)out = in;
    *flag = 1;
    return 0;
}
#else
#define PLI_FOREIGN_FUNCTIONS(NAME, Name)                                                          \
    int OMPI_C_MPI_##NAME##DUP_FN(F_##Name h, int keyval, void *extra, void *in, void *out,        \
                                  int *flag);                                                      \
    int OMPI_C_MPI_##NAME##DUP_FN(F_##Name h, int keyval, void *extra, void *in, void *out,        \
                                  int *flag)                                                       \
    {                                                                                              \
        (void)h;                                                                                   \
        (void)keyval;                                                                              \
        (void)extra;                                                                               \
        *(void **)out = in;                                                                        \
        *flag = 1;                                                                                 \
        return 0;                                                                                  \
    }                                                                                              \
    int OMPI_C_MPI_##NAME##NULL_COPY_FN(F_##Name h, int keyval, void *extra, void *in, void *out,  \
                                        int *flag);                                                \
    int OMPI_C_MPI_##NAME##NULL_COPY_FN(F_##Name h, int keyval, void *extra, void *in, void *out,  \
                                        int *flag)                                                 \
    {                                                                                              \
        (void)h;                                                                                   \
        (void)keyval;                                                                              \
        (void)extra;                                                                               \
        (void)in;                                                                                  \
        (void)out;                                                                                 \
        *flag = 0;                                                                                 \
        return 0;                                                                                  \
    }                                                                                              \
    int OMPI_C_MPI_##NAME##NULL_DELETE_FN(F_##Name h, int keyval, void *value, void *extra);       \
    int OMPI_C_MPI_##NAME##NULL_DELETE_FN(F_##Name h, int keyval, void *value, void *extra)        \
    {                                                                                              \
        (void)h;                                                                                   \
        (void)keyval;                                                                              \
        (void)value;                                                                               \
        (void)extra;                                                                               \
        return 0;                                                                                  \
    }
PLI_FOREIGN_FUNCTIONS(COMM_, Comm)
PLI_FOREIGN_FUNCTIONS(TYPE_, Datatype)
PLI_FOREIGN_FUNCTIONS(WIN_, Win)
PLI_FOREIGN_FUNCTIONS(, Comm)
#endif

static int put_keyval(int *to, int key, int err, struct pli_foreign_state *s)
{
    if (err == 0) {
        *to = s->keyval = pli_foreign_keyval_out(key);
        s->next = atomic_load(&keyvals);
        while (!atomic_compare_exchange_weak(&keyvals, &s->next, s)) {
        }
    }
    return err == 0 ? 0 : pli_foreign_error_out(err);
}

struct pli_foreign_state *pli_foreign_state_of_keyval(int keyval)
{
    struct pli_foreign_state *s = atomic_load(&keyvals);
    while (s != NULL && s->keyval != keyval) {
        s = s->next;
    }
    return s;
}

int pli_foreign_state_comm_keyval(F_Comm_copy_attr_function *comm_copy_attr_fn,
                                  F_Comm_delete_attr_function *comm_delete_attr_fn,
                                  int *comm_keyval, void *extra_state)
{
    int key = 0;
    struct pli_foreign_state *s =
        make((struct pli_foreign_state){ .call.extra = extra_state,
                                         .call.copy.comm = comm_copy_attr_fn,
                                         .call.drop.comm = comm_delete_attr_fn });
    if (s == NULL) {
        return pli_foreign_error_out(MPI_ERR_NO_MEM);
    }
    int err = pli_std_MPI_Comm_create_keyval(
        comm_copy_attr_fn != NULL ? copy_comm : MPI_COMM_NULL_COPY_FN,
        comm_delete_attr_fn != NULL ? drop_comm : MPI_COMM_NULL_DELETE_FN,
        comm_keyval != NULL ? &key : NULL, s);
    return put_keyval(comm_keyval, key, err, s);
}

int pli_foreign_state_type_keyval(F_Type_copy_attr_function *type_copy_attr_fn,
                                  F_Type_delete_attr_function *type_delete_attr_fn,
                                  int *type_keyval, void *extra_state)
{
    int key = 0;
    struct pli_foreign_state *s =
        make((struct pli_foreign_state){ .call.extra = extra_state,
                                         .call.copy.type = type_copy_attr_fn,
                                         .call.drop.type = type_delete_attr_fn });
    if (s == NULL) {
        return pli_foreign_error_out(MPI_ERR_NO_MEM);
    }
    int err = pli_std_MPI_Type_create_keyval(
        type_copy_attr_fn != NULL ? copy_type : MPI_TYPE_NULL_COPY_FN,
        type_delete_attr_fn != NULL ? drop_type : MPI_TYPE_NULL_DELETE_FN,
        type_keyval != NULL ? &key : NULL, s);
    return put_keyval(type_keyval, key, err, s);
}

int pli_foreign_state_win_keyval(F_Win_copy_attr_function *win_copy_attr_fn,
                                 F_Win_delete_attr_function *win_delete_attr_fn, int *win_keyval,
                                 void *extra_state)
{
    int key = 0;
    struct pli_foreign_state *s =
        make((struct pli_foreign_state){ .call.extra = extra_state,
                                         .call.copy.win = win_copy_attr_fn,
                                         .call.drop.win = win_delete_attr_fn });
    if (s == NULL) {
        return pli_foreign_error_out(MPI_ERR_NO_MEM);
    }
    int err = pli_std_MPI_Win_create_keyval(
        win_copy_attr_fn != NULL ? copy_win : MPI_WIN_NULL_COPY_FN,
        win_delete_attr_fn != NULL ? drop_win : MPI_WIN_NULL_DELETE_FN,
        win_keyval != NULL ? &key : NULL, s);
    return put_keyval(win_keyval, key, err, s);
}

static int query(void *extra_state, MPI_Status *status)
{
    struct pli_foreign_state *s = extra_state;
    F_Status theirs = { .MPI_ERROR = 0 };
    pli_foreign_status_out(&theirs, status);
    int code = s->call.query(s->call.extra, &theirs);
    int error = status->MPI_ERROR;
    pli_foreign_status_in(status, &theirs);
    status->MPI_ERROR = error;
    return code_in(code);
}

static int drop_request(void *extra_state)
{
    struct pli_foreign_state *s = extra_state;
    int code = s->call.free != NULL ? s->call.free(s->call.extra) : 0;
    last_grequest = last_grequest == s ? NULL : last_grequest;
    free(s);
    return code_in(code);
}

static int cancel(void *extra_state, int complete)
{
    struct pli_foreign_state *s = extra_state;
    return code_in(s->call.cancel(s->call.extra, complete));
}

// The function that waits is for several requests at once, which saves time only: it is called
// where there is no other.
static void poll_request(void *extra_state)
{
    struct pli_foreign_state *s = extra_state;
    F_Status status = { .MPI_ERROR = 0 };
    if (s->call.poll != NULL) {
        s->call.poll(s->call.extra, &status);
    } else {
        s->call.wait(1, &s->call.extra, 0, &status);
    }
}

int pli_foreign_state_grequest_as(const struct pli_foreign_functions *like, F_Request *request)
{
    MPI_Request r = MPI_REQUEST_NULL;
    struct pli_foreign_state *s = make((struct pli_foreign_state){ .call = *like });
    if (s == NULL) {
        return pli_foreign_error_out(MPI_ERR_NO_MEM);
    }
    int err = pli_std_MPI_Grequest_start(like->query != NULL ? query : NULL, drop_request,
                                         like->cancel != NULL ? cancel : NULL, s,
                                         request != NULL ? &r : NULL);
    if (err != 0) {
        free(s);
        return pli_foreign_error_out(err);
    }
    *request = s->request = pli_foreign_request_out(r);
    last_grequest = s;
    if (like->poll != NULL || like->wait != NULL) {
        pli_grequest_poll_by(r, poll_request);
    }
    return 0;
}

int pli_foreign_state_grequest(F_Grequest_query_function *query_fn,
                               F_Grequest_free_function *free_fn,
                               F_Grequest_cancel_function *cancel_fn, void *extra_state,
                               F_Request *request)
{
    struct pli_foreign_functions f = {
        .extra = extra_state, .query = query_fn, .free = free_fn, .cancel = cancel_fn
    };
    return pli_foreign_state_grequest_as(&f, request);
}

struct pli_foreign_state *pli_foreign_state_of_grequest(F_Request request)
{
    return last_grequest != NULL && last_grequest->request == request ? last_grequest : NULL;
}

static int extent(MPI_Datatype type, MPI_Aint *to, void *extra_state)
{
    struct pli_foreign_state *s = extra_state;
    return code_in(s->extent(pli_foreign_datatype_out(type), to, s->call.extra));
}

#define PLI_FOREIGN_CONVERSION(name, Count)                                                        \
    static int call_##name(void *userbuf, MPI_Datatype type, Count count, void *filebuf,           \
                           MPI_Offset position, void *extra_state)                                 \
    {                                                                                              \
        struct pli_foreign_state *s = extra_state;                                                 \
        return code_in(s->name(userbuf, pli_foreign_datatype_out(type), count, filebuf, position,  \
                               s->call.extra));                                                    \
    }
PLI_FOREIGN_CONVERSION(read, int)
PLI_FOREIGN_CONVERSION(write, int)
PLI_FOREIGN_CONVERSION(read_c, MPI_Count)
PLI_FOREIGN_CONVERSION(write_c, MPI_Count)

int pli_foreign_state_datarep(const char *datarep,
                              F_Datarep_conversion_function *read_conversion_fn,
                              F_Datarep_conversion_function *write_conversion_fn,
                              F_Datarep_extent_function *dtype_file_extent_fn, void *extra_state)
{
    struct pli_foreign_state *s = make((struct pli_foreign_state){ .call.extra = extra_state,
                                                                   .extent = dtype_file_extent_fn,
                                                                   .read = read_conversion_fn,
                                                                   .write = write_conversion_fn });
    if (s == NULL) {
        return pli_foreign_error_out(MPI_ERR_NO_MEM);
    }
    int err = pli_std_MPI_Register_datarep(
        datarep, read_conversion_fn != NULL ? call_read : MPI_CONVERSION_FN_NULL,
        write_conversion_fn != NULL ? call_write : MPI_CONVERSION_FN_NULL,
        dtype_file_extent_fn != NULL ? extent : NULL, s);
    return err == 0 ? 0 : pli_foreign_error_out(err);
}

int pli_foreign_state_datarep_large(const char *datarep,
                                    F_Datarep_conversion_function_c *read_conversion_fn,
                                    F_Datarep_conversion_function_c *write_conversion_fn,
                                    F_Datarep_extent_function *dtype_file_extent_fn,
                                    void *extra_state)
{
    struct pli_foreign_state *s =
        make((struct pli_foreign_state){ .call.extra = extra_state,
                                         .extent = dtype_file_extent_fn,
                                         .read_c = read_conversion_fn,
                                         .write_c = write_conversion_fn });
    if (s == NULL) {
        return pli_foreign_error_out(MPI_ERR_NO_MEM);
    }
    int err = pli_std_MPI_Register_datarep_c(
        datarep, read_conversion_fn != NULL ? call_read_c : MPI_CONVERSION_FN_NULL_C,
        write_conversion_fn != NULL ? call_write_c : MPI_CONVERSION_FN_NULL_C,
        dtype_file_extent_fn != NULL ? extent : NULL, s);
    return err == 0 ? 0 : pli_foreign_error_out(err);
}
