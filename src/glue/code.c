// SPDX-License-Identifier: BSD-3-Clause
// Turns internal errors into MPI error codes and texts.
// Codes that carry a sentence are 1 in bit 30, a sequence number in bits 16 to 29 and the class
// below. The sentences are in a ring; a code whose sentence was overwritten keeps its class.
#include "glue/code.h"

#include "obj/errcode.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { N_NOTE = 256, N_SEQ = 1 << 14, CARRIES = 1 << 30 };
_Static_assert(PLI_ERRCODE_FIRST == MPI_ERR_LASTCODE + 1, "users' codes follow the standard's");

struct note {
    int code;
    char text[MPI_MAX_ERROR_STRING];
};
static struct note notes[N_NOTE];      // guarded by guard
static _Thread_local struct note mine; // the last one, however many others have made since
static unsigned n_made;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static const int class_of[PLI_N_ERR] = {
#define PLI_ERR(name, mpi_class, text) [PLI_ERR_INDEX_##name] = mpi_class,
#include "base/err.def"
#undef PLI_ERR
    [PLI_ERR_INDEX_USER] = MPI_ERR_OTHER,
};

static const struct {
    int number;
    const char *text;
} classes[] = {
    { MPI_SUCCESS, "no error" },
#define PLI_ERR(name, mpi_class, text) { mpi_class, text },
#include "base/err.def"
#undef PLI_ERR
    { MPI_T_ERR_CANNOT_INIT, "tool interface cannot be initialised" },
    { MPI_T_ERR_NOT_ACCESSIBLE, "tool interface: not accessible now" },
    { MPI_T_ERR_NOT_INITIALIZED, "tool interface is not initialised" },
    { MPI_T_ERR_NOT_SUPPORTED, "tool interface: not supported" },
    { MPI_T_ERR_MEMORY, "tool interface: out of memory" },
    { MPI_T_ERR_INVALID, "tool interface: wrong use or bad argument" },
    { MPI_T_ERR_INVALID_INDEX, "tool interface: no such index" },
    { MPI_T_ERR_INVALID_ITEM, "tool interface: no such item" },
    { MPI_T_ERR_INVALID_SESSION, "tool interface: invalid session" },
    { MPI_T_ERR_INVALID_HANDLE, "tool interface: invalid handle" },
    { MPI_T_ERR_INVALID_NAME, "tool interface: no such name" },
    { MPI_T_ERR_OUT_OF_HANDLES, "tool interface: no more handles" },
    { MPI_T_ERR_OUT_OF_SESSIONS, "tool interface: no more sessions" },
    { MPI_T_ERR_CVAR_SET_NOT_NOW, "tool interface: the variable cannot be set now" },
    { MPI_T_ERR_CVAR_SET_NEVER, "tool interface: the variable can never be set" },
    { MPI_T_ERR_PVAR_NO_WRITE, "tool interface: the variable cannot be written" },
    { MPI_T_ERR_PVAR_NO_STARTSTOP, "tool interface: the variable cannot be started or stopped" },
    { MPI_T_ERR_PVAR_NO_ATOMIC, "tool interface: the variable cannot be read and written at once" },
    { MPI_ERR_LASTCODE, "last error code of the standard" },
};

// The standard's text for one of its classes, or NULL.
static const char *class_text(int number)
{
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (classes[i].number == number) {
            return classes[i].text;
        }
    }
    return NULL;
}

int pli_code_make(const char *fn, enum pli_err err)
{
    int user_code;
    const char *reason = pli_fail_take(&user_code);
    int class = class_of[err < 0 && -err < PLI_N_ERR ? -err : PLI_ERR_INDEX_INTERN];
    if (err == PLI_ERR_USER && user_code != MPI_SUCCESS) {
        return user_code; // the caller of the callback gets the very number it returned
    }
    if (class == MPI_ERR_IN_STATUS || class == MPI_ERR_PENDING) {
        return class; // programs compare with these
    }
    if (reason[0] == '\0') {
        reason = pli_err_text(err);
    }
    snprintf(mine.text, sizeof mine.text, "%s%s%s", fn,
             strncmp(reason, "was ", 4) == 0 ? " " : ": ", reason);
    mine.code = class;
    if (class == MPI_WORLD_RESIZED) {
        return class; // with this too; the sentence is this thread's
    }
    pthread_mutex_lock(&guard);
    unsigned seq = n_made++;
    mine.code = CARRIES | (int)(seq % N_SEQ) << 16 | class;
    notes[seq % N_NOTE] = mine;
    pthread_mutex_unlock(&guard);
    return mine.code;
}

static bool carries(int code)
{
    return code > 0 && (code & CARRIES) != 0 && (code & 0xffff) != MPI_SUCCESS &&
           class_text(code & 0xffff) != NULL;
}

bool pli_code_class(int code, int *class_out)
{
    if (carries(code)) {
        *class_out = code & 0xffff;
    } else if (class_text(code) != NULL) {
        *class_out = code;
    } else {
        return pli_errcode_class(code, class_out);
    }
    return true;
}

bool pli_code_text(int code, char *text_out)
{
    bool is_mine = code != MPI_SUCCESS && mine.code == code;
    const char *text = is_mine ? mine.text : class_text(code);
    if (carries(code)) {
        text = class_text(code & 0xffff);
        pthread_mutex_lock(&guard);
        const struct note *n = is_mine ? &mine : &notes[(code >> 16) % N_NOTE];
        snprintf(text_out, MPI_MAX_ERROR_STRING, "%s", n->code == code ? n->text : text);
        pthread_mutex_unlock(&guard);
        return true;
    }
    if (text == NULL) {
        return pli_errcode_text(code, text_out, MPI_MAX_ERROR_STRING);
    }
    snprintf(text_out, MPI_MAX_ERROR_STRING, "%s", text);
    return true;
}

static enum pli_err unknown(int code)
{
    return pli_fail(PLI_ERR_ARG,
                    "argument errorcode is %d, which is neither a code that MPI returned nor one "
                    "made with MPI_Add_error_class or MPI_Add_error_code",
                    code);
}

enum pli_err pli_code_get_class(int code, int *class_out)
{
    return pli_code_class(code, class_out) ? PLI_OK : unknown(code);
}

enum pli_err pli_code_get_text(int code, char *text_out, int *len_out)
{
    if (!pli_code_text(code, text_out)) {
        return unknown(code);
    }
    *len_out = (int)strlen(text_out);
    return PLI_OK;
}

enum pli_err pli_code_add(int class, int *code_out)
{
    if (class < PLI_ERRCODE_FIRST && (class == MPI_SUCCESS || class_text(class) == NULL)) {
        return pli_fail(PLI_ERR_ARG, "argument errorclass is %d, which is no error class", class);
    }
    return pli_errcode_add_code(class, code_out);
}
