// SPDX-License-Identifier: BSD-3-Clause
// What Open MPI's library for C++ calls in its C library for callbacks, and the objects of that
// library which it reads and writes.
#include "foreign_cxx.h"

#include "foreign_state.h"

#include <stdlib.h>

// An object that looks like one of a predefined handle, with what the library for C++ reads in it.
union fake {
    struct F_object handle;
    struct {
        char name[80]; // and what all objects have
        int on, language;
        pli_foreign_function *comm, *file, *win, *fortran, *dispatch;
    } errhandler;
    int comm_flags[512]; // they are at another place in each release, hence at all
};
enum { IS_INTER = 1, IS_CART = 0x100, IS_GRAPH = 0x200 };
enum { FIRST_FLAGS = sizeof(struct F_object) / sizeof(int) };
enum attribute_type { COMM_ATTR = 1, TYPE_ATTR, WIN_ATTR };
enum handler_type { HANDLER_COMM = 1, HANDLER_WIN, HANDLER_FILE };

// A list of what was registered, to which the library for C++ appends; it is empty at first.
struct list_item {
    void *class;
    int count;
    struct list_item *next, *previous;
    int is_free;
};
struct list {
    void *class;
    int count;
    struct list_item end;
    size_t n;
};
extern struct list ompi_registered_datareps;
struct list ompi_registered_datareps = { .end = { .next = &ompi_registered_datareps.end,
                                                  .previous = &ompi_registered_datareps.end } };

void ompi_op_set_cxx_callback(F_Op op, pli_foreign_function *user);
int ompi_attr_create_keyval(enum attribute_type type, pli_foreign_function *copy,
                            pli_foreign_function *drop, int *key, void *extra, int flags,
                            void *more);
union fake *ompi_errhandler_create(enum handler_type type, pli_foreign_function *user,
                                   int language);
int ompi_errhandler_invoke(void *errhandler, void *object, int type, int code, const char *message);

// The operation was made with the function of the library, which now gets that of the program.
void ompi_op_set_cxx_callback(F_Op op, pli_foreign_function *user)
{
    struct pli_foreign_cxx *c = pli_foreign_cxx_keep(user, NULL, NULL);
    if (c != NULL) {
        c->proxy = pli_user_calls_op(pli_foreign_op_in(op), (pli_foreign_function *)c);
    }
}

void pli_foreign_cxx_op(const struct pli_foreign_cxx *c, void *in, void *inout, int *len,
                        F_Datatype *type)
{
    typedef void proxy(void *in, void *inout, int *len, F_Datatype *type,
                       pli_foreign_function *user);
    if (c->user == NULL) {
        pli_foreign_java_op(c, in, inout, len, type);
    } else {
        ((proxy *)c->proxy)(in, inout, len, type, c->user);
    }
}

// A communicator for a function that looks at what kind it is.
static F_Comm show(union fake *f, F_Comm comm)
{
    MPI_Comm ours = pli_foreign_comm_in(comm);
    int is_inter = 0, topology = MPI_UNDEFINED;
    pli_std_MPI_Comm_test_inter(ours, &is_inter);
    if (!is_inter) {
        pli_std_MPI_Topo_test(ours, &topology);
    }
    int flags = is_inter                ? IS_INTER
                : topology == MPI_CART  ? IS_CART
                : topology == MPI_GRAPH ? IS_GRAPH
                                        : 0;
    for (size_t i = FIRST_FLAGS; i < sizeof f->comm_flags / sizeof f->comm_flags[0]; i++) {
        f->comm_flags[i] = flags;
    }
    f->handle = (struct F_object){ PLI_FOREIGN_MAGIC, (uintptr_t)ours, 0, -1 };
    return (F_Comm)(void *)f;
}

// Functions of a key of communicators; its argument are the program's functions.
static int copy_comm(F_Comm comm, int keyval, void *extra_state, void *in, void *out, int *flag)
{
    const struct pli_foreign_functions *c = extra_state;
    union fake f;
    return c->copy.comm(show(&f, comm), keyval, c->extra, in, out, flag);
}

static int drop_comm(F_Comm comm, int keyval, void *value, void *extra_state)
{
    const struct pli_foreign_functions *c = extra_state;
    union fake f;
    return c->drop.comm(show(&f, comm), keyval, value, c->extra);
}

// Their functions for copying get the new object too, as a last argument that those of C++ ignore.
int ompi_attr_create_keyval(enum attribute_type type, pli_foreign_function *copy,
                            pli_foreign_function *drop, int *key, void *extra, int flags,
                            void *more)
{
    (void)flags;
    (void)more; // lives as long as the key, and a key may be in use after it was freed
    if (type == TYPE_ATTR) {
        return pli_foreign_state_type_keyval((F_Type_copy_attr_function *)copy,
                                             (F_Type_delete_attr_function *)drop, key, extra);
    }
    if (type == WIN_ATTR) {
        return pli_foreign_state_win_keyval((F_Win_copy_attr_function *)copy,
                                            (F_Win_delete_attr_function *)drop, key, extra);
    }
    struct pli_foreign_functions *c = malloc(sizeof *c);
    if (c == NULL) {
        return F_MPI_ERR_NO_MEM;
    }
    *c = (struct pli_foreign_functions){ .extra = extra,
                                         .copy.comm = (F_Comm_copy_attr_function *)copy,
                                         .drop.comm = (F_Comm_delete_attr_function *)drop };
    return pli_foreign_state_comm_keyval(copy != NULL ? copy_comm : NULL,
                                         drop != NULL ? drop_comm : NULL, key, c);
}

// The library writes into the object it gets which of its functions calls the program's.
union fake *ompi_errhandler_create(enum handler_type type, pli_foreign_function *user, int language)
{
    (void)language; // C++
    MPI_Errhandler e = MPI_ERRHANDLER_NULL;
    union fake *f = calloc(1, sizeof *f);
    pli_foreign_function *c =
        f != NULL ? (pli_foreign_function *)pli_foreign_cxx_keep(user, NULL, f) : NULL;
    int err = c == NULL ? MPI_ERR_NO_MEM
              : type == HANDLER_COMM
                  ? pli_std_MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)c, &e)
              : type == HANDLER_WIN
                  ? pli_std_MPI_Win_create_errhandler((MPI_Win_errhandler_function *)c, &e)
                  : pli_std_MPI_File_create_errhandler((MPI_File_errhandler_function *)c, &e);
    if (err != 0) {
        pli_foreign_env_end("there is no memory for an error handler");
    }
    f->handle = (struct F_object){ PLI_FOREIGN_MAGIC, (uintptr_t)e, 0, -1 };
    return f;
}

void pli_foreign_cxx_error(const struct pli_foreign_cxx *c, enum pli_foreign_on on, void *handle,
                           int *code)
{
    typedef void dispatch(void *handle, int *code, const char *message, pli_foreign_function *user);
    const union fake *f = c->object;
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;
    (void)on;
    pli_std_MPI_Error_string(pli_foreign_error_in(*code), text, &len);
    ((dispatch *)f->errhandler.dispatch)(handle, code, text, c->user);
}

// A call of the bindings that failed before it came to MPI: the error is raised on MPI_COMM_WORLD
// or on no file.
int ompi_errhandler_invoke(void *errhandler, void *object, int type, int code, const char *message)
{
    (void)errhandler; // these two were read in the object, which is not theirs
    (void)type;
    (void)message;
    if (object == (void *)pli_foreign_file_out(MPI_FILE_NULL)) {
        pli_std_MPI_File_call_errhandler(MPI_FILE_NULL, pli_foreign_error_in(code));
    } else {
        pli_std_MPI_Comm_call_errhandler(pli_foreign_comm_in((F_Comm)object),
                                         pli_foreign_error_in(code));
    }
    return code;
}

// MPI::ERRORS_THROW_EXCEPTIONS is a variable into which the library writes its three functions.
extern const union fake throwing __asm__("ompi_mpi_errors_throw_exceptions");
const F_Errhandler pli_foreign_cxx_throwing = (F_Errhandler)&throwing;

MPI_Errhandler pli_foreign_cxx_thrower(enum pli_foreign_on on)
{
    MPI_Errhandler e = MPI_ERRHANDLER_NULL;
    if (on == PLI_FOREIGN_ON_COMM && throwing.errhandler.comm != NULL) {
        pli_std_MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)throwing.errhandler.comm,
                                           &e);
    } else if (on == PLI_FOREIGN_ON_FILE && throwing.errhandler.file != NULL) {
        pli_std_MPI_File_create_errhandler((MPI_File_errhandler_function *)throwing.errhandler.file,
                                           &e);
    } else if (on == PLI_FOREIGN_ON_WIN && throwing.errhandler.win != NULL) {
        pli_std_MPI_Win_create_errhandler((MPI_Win_errhandler_function *)throwing.errhandler.win,
                                          &e);
    }
    return e;
}
