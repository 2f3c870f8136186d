// SPDX-License-Identifier: BSD-3-Clause
// Operations and error handlers of the program: they get no argument of their own, so the library
// below calls them through the table that is set here.
#include "foreign_cxx.h"

// As src/obj/user_calls.h has it.
struct pli_user_calls {
    void (*op)(MPI_User_function *fn, void *in, void *inout, int *len, MPI_Datatype *type);
    void (*op_c)(MPI_User_function_c *fn, void *in, void *inout, MPI_Count *len,
                 MPI_Datatype *type);
    void (*comm)(MPI_Comm_errhandler_function *fn, MPI_Comm *comm, int *code);
    void (*win)(MPI_Win_errhandler_function *fn, MPI_Win *win, int *code);
    void (*file)(MPI_File_errhandler_function *fn, MPI_File *file, int *code);
    void (*session)(MPI_Session_errhandler_function *fn, MPI_Session *session, int *code);
};
extern const struct pli_user_calls *pli_user_calls;

// A code of the library below is a class, a number that the program has added, or a class in the
// low bits with marks above it, by which its text is found (src/glue/code.c). MPICH promises that
// what is added is above MPI_ERR_LASTCODE: there it has the mark too.
enum { MARK = 1 << 30, CLASS = 0xffff, ADDED = 0x4000, IS_ABOVE = F_MPI_ERR_LASTCODE > ADDED };

int pli_foreign_error_in(int code)
{
    if (code < ADDED) {
        return pli_foreign_class_in(code);
    }
    int class = code & CLASS;
    if ((code & MARK) == 0 || (IS_ABOVE && code == (MARK | class) && class >= ADDED)) {
        return IS_ABOVE && (code & MARK) == 0 ? PLI_FOREIGN_NONE : code & ~MARK;
    }
    return (code & ~CLASS) | (class < ADDED ? pli_foreign_class_in(class) : class);
}

int (*pli_foreign_error_unmarked)(int code);

int pli_foreign_error_out(int code)
{
    if (pli_foreign_error_unmarked != NULL) {
        return pli_foreign_error_unmarked(code);
    }
    if (code < ADDED) {
        return pli_foreign_class_out(code);
    }
    if ((code & MARK) == 0) {
        return IS_ABOVE ? code | MARK : code;
    }
    int class = code & CLASS;
    return (code & ~CLASS) | (class < ADDED ? pli_foreign_class_out(class) : class);
}

static void call_op(MPI_User_function *fn, void *in, void *inout, int *len, MPI_Datatype *type)
{
    F_Datatype theirs = pli_foreign_datatype_out(*type);
    const struct pli_foreign_cxx *cxx = pli_foreign_cxx_of((pli_foreign_function *)fn);
    if (cxx != NULL) {
        pli_foreign_cxx_op(cxx, in, inout, len, &theirs);
        return;
    }
    ((F_User_function *)(void (*)(void))fn)(in, inout, len, &theirs);
}

static void call_op_c(MPI_User_function_c *fn, void *in, void *inout, MPI_Count *len,
                      MPI_Datatype *type)
{
    F_Datatype theirs = pli_foreign_datatype_out(*type);
    ((F_User_function_c *)(void (*)(void))fn)(in, inout, len, &theirs);
}

// The handler may change the code, which the failed call then returns.
#define PLI_FOREIGN_RAISE(name, Name, cxx_call)                                                    \
    static void call_##name(MPI_##Name##_errhandler_function *fn, MPI_##Name *h, int *code)        \
    {                                                                                              \
        F_##Name theirs = pli_foreign_##name##_out(*h);                                            \
        int number = pli_foreign_error_out(*code), old = number;                                   \
        const struct pli_foreign_cxx *cxx = pli_foreign_cxx_of((pli_foreign_function *)fn);        \
        if (cxx != NULL) {                                                                         \
            cxx_call;                                                                              \
        } else {                                                                                   \
            ((F_##Name##_errhandler_function *)(void (*)(void))fn)(&theirs, &number);              \
        }                                                                                          \
        if (number != old) {                                                                       \
            *code = number == 0 ? 0 : pli_foreign_error_in(number);                                \
        }                                                                                          \
    }
PLI_FOREIGN_RAISE(comm, Comm, pli_foreign_cxx_error(cxx, PLI_FOREIGN_ON_COMM, &theirs, &number))
PLI_FOREIGN_RAISE(win, Win, pli_foreign_cxx_error(cxx, PLI_FOREIGN_ON_WIN, &theirs, &number))
PLI_FOREIGN_RAISE(file, File, pli_foreign_cxx_error(cxx, PLI_FOREIGN_ON_FILE, &theirs, &number))
PLI_FOREIGN_RAISE(session, Session, (void)0) // C++ has none

static const struct pli_user_calls calls = {
    .op = call_op,
    .op_c = call_op_c,
    .comm = call_comm,
    .win = call_win,
    .file = call_file,
    .session = call_session,
};

__attribute__((constructor)) static void set_calls(void)
{
    pli_user_calls = &calls;
}

int pli_foreign_op_create(F_User_function *user_fn, int commute, F_Op *op)
{
    MPI_Op o = MPI_OP_NULL;
    int err = pli_std_MPI_Op_create((MPI_User_function *)(void (*)(void))user_fn, commute,
                                    op != NULL ? &o : NULL);
    if (err == 0) {
        *op = pli_foreign_op_out(o);
    }
    return err == 0 ? 0 : pli_foreign_error_out(err);
}

int pli_foreign_op_create_large(F_User_function_c *user_fn, int commute, F_Op *op)
{
    MPI_Op o = MPI_OP_NULL;
    int err = pli_std_MPI_Op_create_c((MPI_User_function_c *)(void (*)(void))user_fn, commute,
                                      op != NULL ? &o : NULL);
    if (err == 0) {
        *op = pli_foreign_op_out(o);
    }
    return err == 0 ? 0 : pli_foreign_error_out(err);
}

#define PLI_FOREIGN_HANDLER(name, Name)                                                            \
    int pli_foreign_error_##name(F_##Name##_errhandler_function *name##_errhandler_fn,             \
                                 F_Errhandler *errhandler)                                         \
    {                                                                                              \
        MPI_Errhandler e = MPI_ERRHANDLER_NULL;                                                    \
        int err = pli_std_MPI_##Name##_create_errhandler(                                          \
            (MPI_##Name##_errhandler_function *)(void (*)(void))name##_errhandler_fn,              \
            errhandler != NULL ? &e : NULL);                                                       \
        if (err == 0) {                                                                            \
            *errhandler = pli_foreign_errhandler_out(e);                                           \
        }                                                                                          \
        return err == 0 ? 0 : pli_foreign_error_out(err);                                          \
    }
PLI_FOREIGN_HANDLER(comm, Comm)
PLI_FOREIGN_HANDLER(win, Win)
PLI_FOREIGN_HANDLER(file, File)
PLI_FOREIGN_HANDLER(session, Session)
