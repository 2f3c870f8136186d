// SPDX-License-Identifier: BSD-3-Clause
// Procedures of a Fortran program that MPI calls.
#include "fortran/callback.h"

#include "fortran/argument.h"
#include "fortran/attribute.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

enum { N_OP = 256, N_ERRHANDLER = 64 };

// The index of a procedure in a table, where it is entered when it is new; -1: the table is full.
// An entry stays for good: C may call it as long as an operation that was freed is in use.
static int enter(pli_procedure **table, int n, pli_procedure *procedure)
{
    pthread_mutex_lock(&guard);
    int i = 0;
    while (i < n && table[i] != NULL && table[i] != procedure) {
        i++;
    }
    if (i < n) {
        table[i] = procedure;
    }
    pthread_mutex_unlock(&guard);
    return i < n ? i : -1;
}

static pli_procedure *ops[N_OP], *ops_c[N_OP];
static pli_procedure *comm_handlers[N_ERRHANDLER], *file_handlers[N_ERRHANDLER],
    *win_handlers[N_ERRHANDLER], *session_handlers[N_ERRHANDLER];

static void call_op(pli_procedure *procedure, void *in, void *inout, void *len,
                    const MPI_Datatype *type)
{
    int fortran_type = pli_argument_from_datatype(*type);
    ((void (*)(void *, void *, void *, int *))procedure)(in, inout, len, &fortran_type);
}

static void call_handler(pli_procedure *procedure, int handle, int *code)
{
    ((void (*)(int *, int *))procedure)(&handle, code);
}

#define FIRST_8(F, n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7)
#define OTHER_8(F, n) F(n##8) F(n##9) F(n##a) F(n##b) F(n##c) F(n##d) F(n##e) F(n##f)
#define TIMES_16(F, n) FIRST_8(F, n) OTHER_8(F, n)
#define TIMES_64(F) TIMES_16(F, 0x0) TIMES_16(F, 0x1) TIMES_16(F, 0x2) TIMES_16(F, 0x3)
#define TIMES_256(F)                                                                               \
    TIMES_64(F)                                                                                    \
    TIMES_16(F, 0x4)                                                                               \
    TIMES_16(F, 0x5)                                                                               \
    TIMES_16(F, 0x6)                                                                               \
    TIMES_16(F, 0x7)                                                                               \
    TIMES_16(F, 0x8)                                                                               \
    TIMES_16(F, 0x9)                                                                               \
    TIMES_16(F, 0xa)                                                                               \
    TIMES_16(F, 0xb)                                                                               \
    TIMES_16(F, 0xc)                                                                               \
    TIMES_16(F, 0xd)                                                                               \
    TIMES_16(F, 0xe)                                                                               \
    TIMES_16(F, 0xf)

#define OP(n)                                                                                      \
    static void op_##n(void *in, void *inout, int *len, MPI_Datatype *type)                        \
    {                                                                                              \
        call_op(ops[n], in, inout, len, type);                                                     \
    }                                                                                              \
    static void op_c_##n(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)                \
    {                                                                                              \
        call_op(ops_c[n], in, inout, len, type);                                                   \
    }
TIMES_256(OP)

#define HANDLER(n)                                                                                 \
    static void comm_##n(MPI_Comm *comm, int *code, ...)                                           \
    {                                                                                              \
        call_handler(comm_handlers[n], pli_argument_from_comm(*comm), code);                       \
    }                                                                                              \
    static void file_##n(MPI_File *file, int *code, ...)                                           \
    {                                                                                              \
        call_handler(file_handlers[n], pli_argument_from_file(*file), code);                       \
    }                                                                                              \
    static void win_##n(MPI_Win *win, int *code, ...)                                              \
    {                                                                                              \
        call_handler(win_handlers[n], pli_argument_from_win(*win), code);                          \
    }                                                                                              \
    static void session_##n(MPI_Session *session, int *code, ...)                                  \
    {                                                                                              \
        call_handler(session_handlers[n], pli_argument_from_session(*session), code);              \
    }
TIMES_64(HANDLER)

// Gives a procedure one of the functions above; NULL: all are taken.
#define ENTER(name, function, table, functions)                                                    \
    function *pli_callback_##name(pli_procedure *procedure)                                        \
    {                                                                                              \
        static function *const all[] = { functions };                                              \
        int i = enter(table, (int)(sizeof all / sizeof all[0]), procedure);                        \
        return i >= 0 ? all[i] : NULL;                                                             \
    }
#define NAME_OP(n) op_##n,
#define NAME_OP_C(n) op_c_##n,
#define NAME_COMM(n) comm_##n,
#define NAME_FILE(n) file_##n,
#define NAME_WIN(n) win_##n,
#define NAME_SESSION(n) session_##n,
ENTER(op, MPI_User_function, ops, TIMES_256(NAME_OP))
ENTER(op_c, MPI_User_function_c, ops_c, TIMES_256(NAME_OP_C))
ENTER(comm_errhandler, MPI_Comm_errhandler_function, comm_handlers, TIMES_64(NAME_COMM))
ENTER(file_errhandler, MPI_File_errhandler_function, file_handlers, TIMES_64(NAME_FILE))
ENTER(win_errhandler, MPI_Win_errhandler_function, win_handlers, TIMES_64(NAME_WIN))
ENTER(session_errhandler, MPI_Session_errhandler_function, session_handlers, TIMES_64(NAME_SESSION))

struct pli_callback {
    pli_procedure *procedure[3]; // in the order of the arguments
    MPI_Aint extra, *variable;   // the extra state, and of a request where it lies
    MPI_Aint *follows, given;    // the variable that follows a copy, and what it holds; or NULL
    struct pli_callback *next;
};

struct pli_callback *pli_callback_state(pli_procedure *a, pli_procedure *b, pli_procedure *c,
                                        MPI_Aint extra)
{
    static struct pli_callback *all; // guarded by guard
    pthread_mutex_lock(&guard);
    struct pli_callback *s = all;
    while (s != NULL && (s->procedure[0] != a || s->procedure[1] != b || s->procedure[2] != c ||
                         s->extra != extra)) {
        s = s->next;
    }
    if (s == NULL && (s = malloc(sizeof *s)) != NULL) {
        *s = (struct pli_callback){ .procedure = { a, b, c }, .extra = extra, .next = all };
        all = s;
    }
    pthread_mutex_unlock(&guard);
    return s;
}

struct pli_callback *pli_callback_request(pli_procedure *query, pli_procedure *release,
                                          pli_procedure *cancel, MPI_Aint *variable)
{
    struct pli_callback *s = malloc(sizeof *s);
    if (s != NULL) {
        *s = (struct pli_callback){ .procedure = { query, release, cancel }, .variable = variable };
    }
    return s;
}

struct pli_callback *pli_callback_request_f08(pli_procedure *query, pli_procedure *release,
                                              pli_procedure *cancel, MPI_Aint *variable)
{
    struct pli_callback *s = pli_callback_request(query, release, cancel, variable);
    if (s != NULL) {
        s->extra = s->given = *variable;
        s->follows = variable;
        s->variable = &s->extra;
    }
    return s;
}

// The variable may be a constant, which cannot be written, or may be gone by now: a system call
// that finds that out moves the number in and out.
static bool move_number(const MPI_Aint *from, MPI_Aint *to)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return false;
    }
    bool ok = write(ends[1], from, sizeof *from) == (ssize_t)sizeof *from &&
              read(ends[0], to, sizeof *to) == (ssize_t)sizeof *to;
    close(ends[0]);
    close(ends[1]);
    return ok;
}

static void follow(struct pli_callback *s)
{
    MPI_Aint now = 0;
    if (s->follows != NULL && s->extra != s->given) {
        if (!move_number(s->follows, &now) || now != s->given ||
            !move_number(&s->extra, s->follows)) {
            s->follows = NULL;
        }
        s->given = s->extra;
    }
}

// The old functions have default INTEGERs for the extra state and the values, the others such of
// address kind.
static int copy_attribute(int handle, int keyval, struct pli_callback *s, void *in, void *out,
                          int *flag)
{
    MPI_Aint extra = s->extra, value_in = pli_attribute_value(in, keyval), value_out = 0;
    int ierror = MPI_SUCCESS, is_copied = 0;
    ((void (*)(int *, int *, MPI_Aint *, MPI_Aint *, MPI_Aint *, int *, int *))s->procedure[0])(
        &handle, &keyval, &extra, &value_in, &value_out, &is_copied, &ierror);
    *flag = is_copied != 0;
    if (ierror == MPI_SUCCESS && is_copied) {
        void *kept = pli_attribute_keep(value_out);
        if (kept == NULL) {
            return MPI_ERR_NO_MEM;
        }
        *(void **)out = kept;
    }
    return ierror;
}

static int delete_attribute(int handle, int keyval, void *value, struct pli_callback *s)
{
    MPI_Aint extra = s->extra, old = pli_attribute_value(value, keyval);
    int ierror = MPI_SUCCESS;
    ((void (*)(int *, int *, MPI_Aint *, MPI_Aint *, int *))s->procedure[1])(&handle, &keyval, &old,
                                                                             &extra, &ierror);
    return ierror;
}

int pli_callback_copy(MPI_Comm comm, int keyval, void *state, void *in, void *out, int *flag)
{
    struct pli_callback *s = state;
    int handle = pli_argument_from_comm(comm), extra = (int)s->extra, ierror = MPI_SUCCESS,
        is_copied = 0;
    int value_in = (int)pli_attribute_value(in, keyval), value_out = 0;
    ((void (*)(int *, int *, int *, int *, int *, int *, int *))s->procedure[0])(
        &handle, &keyval, &extra, &value_in, &value_out, &is_copied, &ierror);
    *flag = is_copied != 0;
    if (ierror == MPI_SUCCESS && is_copied) {
        void *kept = pli_attribute_keep(value_out);
        if (kept == NULL) {
            return MPI_ERR_NO_MEM;
        }
        *(void **)out = kept;
    }
    return ierror;
}

int pli_callback_delete(MPI_Comm comm, int keyval, void *value, void *state)
{
    struct pli_callback *s = state;
    int handle = pli_argument_from_comm(comm), extra = (int)s->extra, ierror = MPI_SUCCESS;
    int old = (int)pli_attribute_value(value, keyval);
    ((void (*)(int *, int *, int *, int *, int *))s->procedure[1])(&handle, &keyval, &old, &extra,
                                                                   &ierror);
    return ierror;
}

int pli_callback_comm_copy_attr(MPI_Comm comm, int keyval, void *state, void *in, void *out,
                                int *flag)
{
    return copy_attribute(pli_argument_from_comm(comm), keyval, state, in, out, flag);
}

int pli_callback_comm_delete_attr(MPI_Comm comm, int keyval, void *value, void *state)
{
    return delete_attribute(pli_argument_from_comm(comm), keyval, value, state);
}

int pli_callback_type_copy_attr(MPI_Datatype type, int keyval, void *state, void *in, void *out,
                                int *flag)
{
    return copy_attribute(pli_argument_from_datatype(type), keyval, state, in, out, flag);
}

int pli_callback_type_delete_attr(MPI_Datatype type, int keyval, void *value, void *state)
{
    return delete_attribute(pli_argument_from_datatype(type), keyval, value, state);
}

int pli_callback_win_copy_attr(MPI_Win win, int keyval, void *state, void *in, void *out, int *flag)
{
    return copy_attribute(pli_argument_from_win(win), keyval, state, in, out, flag);
}

int pli_callback_win_delete_attr(MPI_Win win, int keyval, void *value, void *state)
{
    return delete_attribute(pli_argument_from_win(win), keyval, value, state);
}

int pli_callback_grequest_query(void *state, MPI_Status *status)
{
    struct pli_callback *s = state;
    int ierror = MPI_SUCCESS;
    ((void (*)(MPI_Aint *, MPI_Status *, int *))s->procedure[0])(s->variable, status, &ierror);
    follow(s);
    return ierror;
}

int pli_callback_grequest_free(void *state)
{
    struct pli_callback *s = state;
    int ierror = MPI_SUCCESS;
    ((void (*)(MPI_Aint *, int *))s->procedure[1])(s->variable, &ierror);
    follow(s);
    free(s);
    return ierror;
}

int pli_callback_grequest_cancel(void *state, int complete)
{
    struct pli_callback *s = state;
    int ierror = MPI_SUCCESS, is_complete = complete != 0;
    ((void (*)(MPI_Aint *, int *, int *))s->procedure[2])(s->variable, &is_complete, &ierror);
    follow(s);
    return ierror;
}

// The arguments of MPI_Register_datarep: read, write, extent.
int pli_callback_datarep_extent(MPI_Datatype type, MPI_Aint *extent, void *state)
{
    struct pli_callback *s = state;
    int handle = pli_argument_from_datatype(type), ierror = MPI_SUCCESS;
    ((void (*)(int *, MPI_Aint *, MPI_Aint *, int *))s->procedure[2])(&handle, extent, &s->extra,
                                                                      &ierror);
    return ierror;
}

static int convert(pli_procedure *procedure, void *userbuf, MPI_Datatype type, void *count,
                   void *filebuf, MPI_Offset position, struct pli_callback *s)
{
    int handle = pli_argument_from_datatype(type), ierror = MPI_SUCCESS;
    ((void (*)(void *, int *, void *, void *, MPI_Offset *, MPI_Aint *, int *))procedure)(
        userbuf, &handle, count, filebuf, &position, &s->extra, &ierror);
    return ierror;
}

static int convert_read(void *userbuf, MPI_Datatype type, int count, void *filebuf,
                        MPI_Offset position, void *state)
{
    return convert(((struct pli_callback *)state)->procedure[0], userbuf, type, &count, filebuf,
                   position, state);
}

static int convert_write(void *userbuf, MPI_Datatype type, int count, void *filebuf,
                         MPI_Offset position, void *state)
{
    return convert(((struct pli_callback *)state)->procedure[1], userbuf, type, &count, filebuf,
                   position, state);
}

static int convert_read_c(void *userbuf, MPI_Datatype type, MPI_Count count, void *filebuf,
                          MPI_Offset position, void *state)
{
    return convert(((struct pli_callback *)state)->procedure[0], userbuf, type, &count, filebuf,
                   position, state);
}

static int convert_write_c(void *userbuf, MPI_Datatype type, MPI_Count count, void *filebuf,
                           MPI_Offset position, void *state)
{
    return convert(((struct pli_callback *)state)->procedure[1], userbuf, type, &count, filebuf,
                   position, state);
}

// The other names of a predefined procedure.
#ifdef PLI_FORTRAN_OF_OPENMPI
#undef MPI_CONVERSION_FN_NULL
#define SPELLINGS(name, NAME, name_f, parameters)                                                  \
    void name parameters __attribute__((weak, alias(#name "_")));                                  \
    void name##__ parameters __attribute__((weak, alias(#name "_")));                              \
    void NAME parameters __attribute__((weak, alias(#name "_")));                                  \
    void name_f parameters __attribute__((weak, alias(#name "_")));
#else
#define SPELLINGS(name, NAME, name_f, parameters)
#endif

void mpi_conversion_fn_null_(void);
void mpi_conversion_fn_null_c_(void);

void mpi_conversion_fn_null_(void) // never called: C has NULL for it
{
}

void mpi_conversion_fn_null_c_(void)
{
}
SPELLINGS(mpi_conversion_fn_null, MPI_CONVERSION_FN_NULL, mpi_conversion_fn_null_f, (void))

MPI_Datarep_conversion_function *pli_callback_datarep_read(pli_procedure *procedure)
{
    return procedure == mpi_conversion_fn_null_ ? NULL : convert_read;
}

MPI_Datarep_conversion_function *pli_callback_datarep_write(pli_procedure *procedure)
{
    return procedure == mpi_conversion_fn_null_ ? NULL : convert_write;
}

MPI_Datarep_conversion_function_c *pli_callback_datarep_read_c(pli_procedure *procedure)
{
    return procedure == mpi_conversion_fn_null_c_ || procedure == mpi_conversion_fn_null_
               ? NULL
               : convert_read_c;
}

MPI_Datarep_conversion_function_c *pli_callback_datarep_write_c(pli_procedure *procedure)
{
    return procedure == mpi_conversion_fn_null_c_ || procedure == mpi_conversion_fn_null_
               ? NULL
               : convert_write_c;
}

// Integer is that of the attribute values: int in the old functions, MPI_Aint in the others.
#define COPY_ARGUMENTS(Integer)                                                                    \
    (int *handle, int *keyval, Integer *extra, Integer *in, Integer *out, int *flag, int *ierror)
#define DELETE_ARGUMENTS(Integer)                                                                  \
    (int *handle, int *keyval, Integer *value, Integer *extra, int *ierror)
#define PREDEFINED(prefix, PREFIX, Integer)                                                        \
    void prefix##null_copy_fn_ COPY_ARGUMENTS(Integer);                                            \
    void prefix##null_copy_fn_ COPY_ARGUMENTS(Integer)                                             \
    {                                                                                              \
        (void)handle, (void)keyval, (void)extra, (void)in, (void)out;                              \
        *flag = 0;                                                                                 \
        *ierror = MPI_SUCCESS;                                                                     \
    }                                                                                              \
    void prefix##dup_fn_ COPY_ARGUMENTS(Integer);                                                  \
    void prefix##dup_fn_ COPY_ARGUMENTS(Integer)                                                   \
    {                                                                                              \
        (void)handle, (void)keyval, (void)extra;                                                   \
        *out = *in;                                                                                \
        *flag = 1;                                                                                 \
        *ierror = MPI_SUCCESS;                                                                     \
    }                                                                                              \
    void prefix##null_delete_fn_ DELETE_ARGUMENTS(Integer);                                        \
    void prefix##null_delete_fn_ DELETE_ARGUMENTS(Integer)                                         \
    {                                                                                              \
        (void)handle, (void)keyval, (void)value, (void)extra;                                      \
        *ierror = MPI_SUCCESS;                                                                     \
    }                                                                                              \
    SPELLINGS(prefix##null_copy_fn, PREFIX##NULL_COPY_FN, o##prefix##null_copy_fn_f,               \
              COPY_ARGUMENTS(Integer))                                                             \
    SPELLINGS(prefix##dup_fn, PREFIX##DUP_FN, o##prefix##dup_fn_f, COPY_ARGUMENTS(Integer))        \
    SPELLINGS(prefix##null_delete_fn, PREFIX##NULL_DELETE_FN, o##prefix##null_delete_fn_f,         \
              DELETE_ARGUMENTS(Integer))
PREDEFINED(mpi_, MPI_, int)
PREDEFINED(mpi_comm_, MPI_COMM_, MPI_Aint)
PREDEFINED(mpi_type_, MPI_TYPE_, MPI_Aint)
PREDEFINED(mpi_win_, MPI_WIN_, MPI_Aint)

int pli_callback_checkpoint_size(void *state, MPI_Count *bytes)
{
    struct pli_callback *s = state;
    int ierror = MPI_SUCCESS;
    ((void (*)(MPI_Aint *, MPI_Count *, int *))s->procedure[0])(&s->extra, bytes, &ierror);
    return ierror;
}

int pli_callback_checkpoint_pack(void *state, void *buf, MPI_Count bytes)
{
    struct pli_callback *s = state;
    int ierror = MPI_SUCCESS;
    ((void (*)(MPI_Aint *, void *, MPI_Count *, int *))s->procedure[1])(&s->extra, buf, &bytes,
                                                                        &ierror);
    return ierror;
}

int pli_callback_checkpoint_unpack(void *state, int piece, int n_pieces, const void *buf,
                                   MPI_Count bytes)
{
    struct pli_callback *s = state;
    int ierror = MPI_SUCCESS;
    ((void (*)(MPI_Aint *, int *, int *, const void *, MPI_Count *, int *))s->procedure[2])(
        &s->extra, &piece, &n_pieces, buf, &bytes, &ierror);
    return ierror;
}

int pli_callback_fail_full(void)
{
    static int code; // guarded by guard
    pthread_mutex_lock(&guard);
    if (code == 0 && PMPI_Add_error_code(MPI_ERR_OTHER, &code) == MPI_SUCCESS) {
        PMPI_Add_error_string(
            code,
            "the Fortran library has room for 256 procedures as operations and for 64 as error "
            "handlers of each kind: make the operation or handler once and use it again");
    }
    int made = code != 0 ? code : MPI_ERR_OTHER;
    pthread_mutex_unlock(&guard);
    PMPI_Comm_call_errhandler(MPI_COMM_SELF, made);
    return made;
}

int pli_callback_fail_memory(void)
{
    PMPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
}
