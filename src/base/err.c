// SPDX-License-Identifier: BSD-3-Clause
// The reason for the last failure of each thread, and the texts of the error table.
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char reason[512];
static _Thread_local char taken[512];
static _Thread_local int user_code;

enum pli_err pli_fail(enum pli_err err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    user_code = 0;
    return err;
}

enum pli_err pli_fail_user(int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    user_code = code;
    return PLI_ERR_USER;
}

const char *pli_fail_take(int *user_code_out)
{
    snprintf(taken, sizeof taken, "%s", reason);
    if (user_code_out != NULL) {
        *user_code_out = user_code;
    }
    reason[0] = '\0';
    user_code = 0;
    return taken;
}

void pli_fail_save(struct pli_fail_saved *s, enum pli_err err)
{
    s->err = err;
    s->user_code = 0;
    s->text[0] = '\0';
    if (err != PLI_OK) {
        snprintf(s->text, sizeof s->text, "%s", pli_fail_take(&s->user_code));
    }
}

enum pli_err pli_fail_repeat(const struct pli_fail_saved *s)
{
    if (s->err != PLI_OK) {
        pli_fail(s->err, "%s", s->text);
        user_code = s->user_code;
    }
    return s->err;
}

const char *pli_err_text(enum pli_err err)
{
    static const char *const text[PLI_N_ERR] = {
        [PLI_ERR_INDEX_NONE] = "no error",
#define PLI_ERR(name, mpi_class, text) [PLI_ERR_INDEX_##name] = text,
#include "base/err.def"
#undef PLI_ERR
        [PLI_ERR_INDEX_USER] = "error code of a user callback",
    };
    int i = err <= 0 ? -(int)err : 0;
    return i < PLI_N_ERR ? text[i] : "unknown error";
}
