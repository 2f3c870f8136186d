// SPDX-License-Identifier: BSD-3-Clause
// What Open MPI's bindings for Java call and read in its C library besides functions of MPI:
// operations that are written in Java, and a table of error codes.
#include "foreign_cxx.h"

#include <pthread.h>
#include <stdlib.h>

// The environment of a thread of the virtual machine, or the machine: a table of functions.
typedef pli_foreign_function *const *const *jni;
enum { NEW_GLOBAL_REF = 21, GET_JAVA_VM = 219 }; // in the table of an environment
enum { GET_ENV = 6, ATTACH_AS_DAEMON = 7 };      // in that of a machine
enum { JNI_VERSION = 0x00010006 };

struct java_op {
    jni machine;
    void *object; // of Java
    int base;     // which of Java's types its elements are
};

void ompi_op_set_java_callback(F_Op op, jni env, void *object, int base);
void ompi_java_errors(void);

// The operation was made with the function of the bindings, which gets the object of Java. The
// bindings pass a reference that is good for one call; the operation needs one that stays.
void ompi_op_set_java_callback(F_Op op, jni env, void *object, int base)
{
    typedef void *new_global_ref(jni env, void *object);
    typedef int get_java_vm(jni env, jni * to);
    struct java_op *j = calloc(1, sizeof *j);
    struct pli_foreign_cxx *c = j != NULL ? pli_foreign_cxx_keep(NULL, NULL, j) : NULL;
    if (c == NULL || ((get_java_vm *)(*env)[GET_JAVA_VM])(env, &j->machine) != 0) {
        pli_foreign_env_end("there is no memory for an operation");
    }
    j->object = ((new_global_ref *)(*env)[NEW_GLOBAL_REF])(env, object);
    j->base = base;
    c->proxy = pli_user_calls_op(pli_foreign_op_in(op), (pli_foreign_function *)c);
}

// An environment is one thread's, and a reduction may go on in another than it began in.
static jni env_of_thread(const struct java_op *j)
{
    typedef int get_env(jni machine, jni * to, int version);
    typedef int attach(jni machine, jni * to, void *arguments);
    jni env = NULL;
    if (((get_env *)(*j->machine)[GET_ENV])(j->machine, &env, JNI_VERSION) != 0 &&
        ((attach *)(*j->machine)[ATTACH_AS_DAEMON])(j->machine, &env, NULL) != 0) {
        pli_foreign_env_end("a thread cannot call an operation that is written in Java");
    }
    return env;
}

void pli_foreign_java_op(const struct pli_foreign_cxx *c, void *in, void *inout, int *len,
                         F_Datatype *type)
{
    typedef void proxy(void *in, void *inout, int *len, F_Datatype *type, int base, jni env,
                       void *object);
    const struct java_op *j = c->object;
    ((proxy *)c->proxy)(in, inout, len, type, j->base, env_of_thread(j), j->object);
}

enum { N_CODE = F_MPI_ERR_LASTCODE + 1, N_TEXT = 256 };

// As Open MPI has them; the bindings look up the class and the text of a code in its place.
struct object {
    void *class;
    int count;
};
struct code {
    struct object object;
    int code, class;
    char text[N_TEXT];
};
struct codes {
    struct object object;
    struct {
        struct object object;
        pthread_mutex_t guard;
        int spin;
    } lock;
    int lowest_free, n_free, size, max_size, block_size;
    void *free_bits;
    struct code **at;
};
extern struct codes ompi_mpi_errcodes;
extern struct code ompi_err_unknown;
struct codes ompi_mpi_errcodes;
struct code ompi_err_unknown = { .code = F_MPI_ERR_UNKNOWN, .class = F_MPI_ERR_UNKNOWN };

static struct code codes[N_CODE];
static struct code *places[N_CODE];
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER; // of the texts

static void set_text(struct code *c, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;
    pli_std_MPI_Error_string(code, text, &len);
    pthread_mutex_lock(&guard);
    pli_foreign_env_text(c->text, text, N_TEXT, NULL);
    pthread_mutex_unlock(&guard);
}

// A code that knows more than its class has a number that no table can have. Its class is returned
// instead, and what it knows is the text of that class from now on. A class that the program has
// made is in no table either: the bindings have no function for that.
static int unmarked(int code)
{
    int class = MPI_ERR_OTHER;
    pli_std_MPI_Error_class(code, &class);
    int theirs = pli_foreign_class_out(class);
    if (theirs > 0 && theirs < N_CODE) {
        set_text(&codes[theirs], code);
    }
    return theirs;
}

// Called when the bindings are loaded (java/java_library.c).
void ompi_java_errors(void)
{
    for (int i = 0; i < N_CODE; i++) {
        codes[i].code = codes[i].class = i;
        places[i] = &codes[i];
    }
    ompi_mpi_errcodes.at = places;
    ompi_mpi_errcodes.size = N_CODE;
    pli_foreign_error_unmarked = unmarked;
}
