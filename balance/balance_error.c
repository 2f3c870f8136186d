// SPDX-License-Identifier: BSD-3-Clause
// Errors of this library are MPI error codes of standard classes whose text is one sentence, so
// that MPI_Error_string and fatal error handlers say what was wrong.
#include "balance_priv.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

enum { N_CLASS = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    int class, code;
} known[N_CLASS]; // one code for each class, its text that of the latest mistake; guarded by lock

static int code_of(int class)
{
    for (int i = 0; i < N_CLASS; i++) {
        if (known[i].code != 0 && known[i].class == class) {
            return known[i].code;
        }
        if (known[i].code == 0) {
            int code;
            if (MPI_Add_error_code(class, &code) != MPI_SUCCESS) {
                return class;
            }
            known[i].class = class;
            known[i].code = code;
            return code;
        }
    }
    return class;
}

static int say(int class, const char *format, va_list args)
{
    char text[MPI_MAX_ERROR_STRING];
    vsnprintf(text, sizeof text, format, args);
    pthread_mutex_lock(&lock);
    int code = code_of(class);
    if (code != class) {
        MPI_Add_error_string(code, text);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

int pli_balance_error_code(int class, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int code = say(class, format, args);
    va_end(args);
    return code;
}

int pli_balance_error_raise(const struct pli_balance *b, int code)
{
    if (code != MPI_SUCCESS) {
        MPI_Comm_call_errhandler(b != NULL ? b->parent : MPI_COMM_SELF, code);
    }
    return code;
}

int pli_balance_error(const struct pli_balance *b, int class, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int code = say(class, format, args);
    va_end(args);
    return pli_balance_error_raise(b, code);
}
