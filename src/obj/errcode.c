// SPDX-License-Identifier: BSD-3-Clause
// The table of error classes and codes added by the user. Numbers are handed out upwards and not
// given twice while they or a later one are in use.
#include "obj/errcode.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    bool is_used;
    int class; // its own number for a class
    int n_code;
    char *text; // NULL: none
};

static struct row *rows; // guarded by guard, as all below
static int n_row, cap;
static int last = PLI_ERRCODE_FIRST - 1;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

// The row of a number, or NULL.
static struct row *row_of(int number)
{
    int i = number - PLI_ERRCODE_FIRST;
    return number >= PLI_ERRCODE_FIRST && i < n_row && rows[i].is_used ? &rows[i] : NULL;
}

static struct row *class_row(int number)
{
    struct row *r = row_of(number);
    return r != NULL && r->class == number ? r : NULL;
}

// A new number of the given class, or of a class of its own (0); 0: no memory.
static int add_row(int class)
{
    if (n_row == cap) {
        int more = cap == 0 ? 16 : 2 * cap;
        struct row *p = realloc(rows, (size_t)more * sizeof *p);
        if (p == NULL) {
            return 0;
        }
        rows = p;
        cap = more;
    }
    int number = PLI_ERRCODE_FIRST + n_row;
    rows[n_row++] = (struct row){ true, class != 0 ? class : number, 0, NULL };
    last = number;
    return number;
}

static void drop_row(struct row *r)
{
    r->is_used = false;
    while (n_row > 0 && !rows[n_row - 1].is_used) {
        n_row--;
    }
    last = PLI_ERRCODE_FIRST + n_row - 1;
}

enum pli_err pli_errcode_add_class(int *class_out)
{
    pthread_mutex_lock(&guard);
    int number = add_row(0);
    pthread_mutex_unlock(&guard);
    if (number == 0) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for an error class");
    }
    *class_out = number;
    return PLI_OK;
}

enum pli_err pli_errcode_add_code(int class, int *code_out)
{
    pthread_mutex_lock(&guard);
    bool is_class = class < PLI_ERRCODE_FIRST || class_row(class) != NULL;
    int number = is_class ? add_row(class) : 0;
    if (number != 0 && class >= PLI_ERRCODE_FIRST) {
        class_row(class)->n_code++;
    }
    pthread_mutex_unlock(&guard);
    if (!is_class) {
        return pli_fail(PLI_ERR_ARG, "argument errorclass is %d, which is no error class", class);
    }
    if (number == 0) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for an error code");
    }
    *code_out = number;
    return PLI_OK;
}

// Replace the text of a number; NULL removes it. *had_out: whether there was one.
static bool set_text(int code, char *text, bool *had_out)
{
    pthread_mutex_lock(&guard);
    struct row *r = row_of(code);
    if (r != NULL) {
        *had_out = r->text != NULL;
        free(r->text);
        r->text = text;
    }
    pthread_mutex_unlock(&guard);
    return r != NULL;
}

static enum pli_err not_added(const char *arg, int number, const char *by)
{
    return pli_fail(PLI_ERR_ARG, "argument %s is %d, which was not added by %s", arg, number, by);
}

enum pli_err pli_errcode_add_string(int code, const char *text)
{
    bool had;
    if (text == NULL) {
        return pli_fail(PLI_ERR_ARG, "argument string is NULL");
    }
    if (strlen(text) >= MPI_MAX_ERROR_STRING) {
        return pli_fail(PLI_ERR_ARG, "argument string has %zu characters, but at most %d fit",
                        strlen(text), MPI_MAX_ERROR_STRING - 1);
    }
    char *copy = strdup(text);
    if (copy == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for an error string");
    }
    if (!set_text(code, copy, &had)) {
        free(copy);
        return not_added("errorcode", code, "MPI_Add_error_class or MPI_Add_error_code");
    }
    return PLI_OK;
}

enum pli_err pli_errcode_remove_string(int code)
{
    bool had;
    if (!set_text(code, NULL, &had)) {
        return not_added("errorcode", code, "MPI_Add_error_class or MPI_Add_error_code");
    }
    return had ? PLI_OK
               : pli_fail(PLI_ERR_ARG, "argument errorcode is %d, which has no error string", code);
}

enum pli_err pli_errcode_remove_class(int class)
{
    pthread_mutex_lock(&guard);
    struct row *r = class_row(class);
    int n_code = r != NULL ? r->n_code : 0;
    bool has_text = r != NULL && r->text != NULL;
    if (r != NULL && n_code == 0 && !has_text) {
        drop_row(r);
    }
    pthread_mutex_unlock(&guard);
    if (r == NULL) {
        return not_added("errorclass", class, "MPI_Add_error_class");
    }
    if (n_code > 0) {
        return pli_fail(PLI_ERR_OTHER,
                        "error class %d still has %d code%s: MPI_Remove_error_code comes first",
                        class, n_code, n_code == 1 ? "" : "s");
    }
    return !has_text ? PLI_OK
                     : pli_fail(PLI_ERR_OTHER,
                                "error class %d still has a string: MPI_Remove_error_string comes "
                                "first",
                                class);
}

enum pli_err pli_errcode_remove_code(int code)
{
    pthread_mutex_lock(&guard);
    struct row *r = row_of(code);
    bool is_code = r != NULL && r->class != code;
    bool has_text = is_code && r->text != NULL;
    if (is_code && !has_text) {
        if (r->class >= PLI_ERRCODE_FIRST) {
            class_row(r->class)->n_code--;
        }
        drop_row(r);
    }
    pthread_mutex_unlock(&guard);
    if (!is_code) {
        return not_added("errorcode", code, "MPI_Add_error_code");
    }
    return !has_text ? PLI_OK
                     : pli_fail(PLI_ERR_OTHER,
                                "error code %d still has a string: MPI_Remove_error_string comes "
                                "first",
                                code);
}

bool pli_errcode_class(int code, int *class_out)
{
    pthread_mutex_lock(&guard);
    const struct row *r = row_of(code);
    if (r != NULL) {
        *class_out = r->class;
    }
    pthread_mutex_unlock(&guard);
    return r != NULL;
}

bool pli_errcode_text(int code, char *text_out, size_t n)
{
    pthread_mutex_lock(&guard);
    const struct row *r = row_of(code);
    if (r != NULL) {
        snprintf(text_out, n, "%s", r->text != NULL ? r->text : ""); // [MPI-5.0 9.5: empty]
    }
    pthread_mutex_unlock(&guard);
    return r != NULL;
}

const int *pli_errcode_last(void)
{
    return &last;
}
