// SPDX-License-Identifier: BSD-3-Clause
// Info objects: lists of keys and values, since each has few.
#include "obj/info.h"

#include "obj/info_env.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct pli_info_pair {
    char *key, *value;
};

struct pli_info pli_info_env = { .obj = { .kind = PLI_KIND_INFO, .value = 0x131, .refs = 1 } };

// Info is used rarely and must be safe for threads before the thread level is known.
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static enum pli_err check(struct pli_info *i)
{
    if (i == NULL) {
        return pli_fail(PLI_ERR_INFO, "argument info is MPI_INFO_NULL, but must be an info object");
    }
    if (i == &pli_info_env) {
        pli_info_env_fill();
    }
    return PLI_OK;
}

static enum pli_err check_key(struct pli_info *i, const char *key)
{
    enum pli_err err = check(i);
    if (err != PLI_OK) {
        return err;
    }
    if (key == NULL || key[0] == '\0') {
        return pli_fail(PLI_ERR_INFO_KEY, "argument key is %s",
                        key == NULL ? "NULL" : "an empty string");
    }
    size_t len = strnlen(key, MPI_MAX_INFO_KEY);
    if (len >= MPI_MAX_INFO_KEY) {
        return pli_fail(PLI_ERR_INFO_KEY,
                        "argument key (%.32s...) is longer than the %d characters of "
                        "MPI_MAX_INFO_KEY - 1",
                        key, MPI_MAX_INFO_KEY - 1);
    }
    return PLI_OK;
}

static enum pli_err check_change(const struct pli_info *i)
{
    return i != &pli_info_env
               ? PLI_OK
               : pli_fail(PLI_ERR_INFO, "MPI_INFO_ENV cannot be changed or freed; MPI_Info_dup "
                                        "makes a copy that can");
}

static struct pli_info_pair *find(const struct pli_info *i, const char *key)
{
    for (int k = 0; k < i->n; k++) {
        if (strcmp(i->pairs[k].key, key) == 0) {
            return &i->pairs[k];
        }
    }
    return NULL;
}

// Set without questions; guard held or the object still private. False: no memory.
static bool put(struct pli_info *i, const char *key, const char *value)
{
    struct pli_info_pair *p = find(i, key);
    char *copy = strdup(value);
    if (p != NULL && copy != NULL) {
        free(p->value);
        p->value = copy;
        return true;
    }
    char *name = copy != NULL ? strdup(key) : NULL;
    if (name != NULL && i->n == i->cap) {
        int cap = i->cap == 0 ? 8 : 2 * i->cap;
        p = realloc(i->pairs, (size_t)cap * sizeof *p);
        if (p != NULL) {
            i->pairs = p;
            i->cap = cap;
        }
    }
    if (name == NULL || i->n == i->cap) {
        free(name);
        free(copy);
        return false;
    }
    i->pairs[i->n++] = (struct pli_info_pair){ name, copy };
    return true;
}

static enum pli_err no_memory(void)
{
    return pli_fail(PLI_ERR_NOMEM, "no memory for an info object");
}

enum pli_err pli_info_create(struct pli_info **out)
{
    struct pli_info *i = pli_handle_create(PLI_KIND_INFO, sizeof *i);
    if (i == NULL) {
        return no_memory();
    }
    *out = i;
    return PLI_OK;
}

void pli_info_release(struct pli_info *i)
{
    if (i == NULL || i->obj.value != 0 || !pli_handle_release(i)) {
        return;
    }
    for (int k = 0; k < i->n; k++) {
        free(i->pairs[k].key);
        free(i->pairs[k].value);
    }
    free(i->pairs);
    pli_handle_destroy(i, sizeof *i);
}

enum pli_err pli_info_dup(struct pli_info *i, struct pli_info **out)
{
    struct pli_info *copy;
    bool is_done = true;
    enum pli_err err = check(i);
    if (err == PLI_OK) {
        err = pli_info_create(&copy);
    }
    if (err != PLI_OK) {
        return err;
    }
    pthread_mutex_lock(&guard);
    for (int k = 0; is_done && k < i->n; k++) {
        is_done = put(copy, i->pairs[k].key, i->pairs[k].value);
    }
    pthread_mutex_unlock(&guard);
    if (!is_done) {
        pli_info_release(copy);
        return no_memory();
    }
    *out = copy;
    return PLI_OK;
}

enum pli_err pli_info_set(struct pli_info *i, const char *key, const char *value)
{
    enum pli_err err = check_key(i, key);
    if (err == PLI_OK) {
        err = check_change(i);
    }
    if (err != PLI_OK) {
        return err;
    }
    if (value == NULL) {
        return pli_fail(PLI_ERR_INFO_VALUE, "argument value is NULL");
    }
    if (strnlen(value, MPI_MAX_INFO_VAL) >= MPI_MAX_INFO_VAL) {
        return pli_fail(PLI_ERR_INFO_VALUE,
                        "argument value (%.32s...) is longer than the %d characters of "
                        "MPI_MAX_INFO_VAL - 1",
                        value, MPI_MAX_INFO_VAL - 1);
    }
    pthread_mutex_lock(&guard);
    bool is_done = put(i, key, value);
    pthread_mutex_unlock(&guard);
    return is_done ? PLI_OK : no_memory();
}

enum pli_err pli_info_delete(struct pli_info *i, const char *key)
{
    enum pli_err err = check_key(i, key);
    if (err == PLI_OK) {
        err = check_change(i);
    }
    if (err != PLI_OK) {
        return err;
    }
    pthread_mutex_lock(&guard);
    struct pli_info_pair *p = find(i, key);
    if (p != NULL) {
        free(p->key);
        free(p->value);
        memmove(p, p + 1, (size_t)(i->pairs + i->n - (p + 1)) * sizeof *p);
        i->n--;
    }
    pthread_mutex_unlock(&guard);
    return p != NULL ? PLI_OK
                     : pli_fail(PLI_ERR_INFO_NOKEY, "the info object has no key \"%s\"", key);
}

// Copy at most cap - 1 characters of a value and an end; *len_out: its whole length.
static enum pli_err read_value(struct pli_info *i, const char *key, char *value_out, size_t cap,
                               size_t *len_out, int *flag_out)
{
    enum pli_err err = check_key(i, key);
    if (err != PLI_OK) {
        return err;
    }
    pthread_mutex_lock(&guard);
    const struct pli_info_pair *p = find(i, key);
    *flag_out = p != NULL;
    if (p != NULL) {
        *len_out = strlen(p->value);
        size_t n = *len_out < cap ? *len_out : cap - 1;
        if (cap > 0) {
            memcpy(value_out, p->value, n);
            value_out[n] = '\0';
        }
    }
    pthread_mutex_unlock(&guard);
    return PLI_OK;
}

enum pli_err pli_info_get(struct pli_info *i, const char *key, int valuelen, char *value_out,
                          int *flag_out)
{
    size_t len;
    if (valuelen < 0) {
        return pli_fail(PLI_ERR_ARG, "argument valuelen is %d, but must be 0 or more", valuelen);
    }
    return read_value(i, key, value_out, (size_t)valuelen + 1, &len, flag_out);
}

enum pli_err pli_info_get_string(struct pli_info *i, const char *key, int *buflen, char *value_out,
                                 int *flag_out)
{
    size_t len = 0;
    if (buflen == NULL || *buflen < 0) {
        return buflen == NULL
                   ? pli_fail(PLI_ERR_ARG, "argument buflen is NULL")
                   : pli_fail(PLI_ERR_ARG, "*buflen is %d, but must be 0 or more", *buflen);
    }
    if (value_out == NULL && *buflen > 0) {
        return pli_fail(PLI_ERR_ARG, "argument value is NULL, but *buflen is %d", *buflen);
    }
    enum pli_err err = read_value(i, key, value_out, (size_t)*buflen, &len, flag_out);
    if (err == PLI_OK && *flag_out) {
        *buflen = (int)len + 1;
    }
    return err;
}

enum pli_err pli_info_get_valuelen(struct pli_info *i, const char *key, int *len_out, int *flag_out)
{
    size_t len = 0;
    enum pli_err err = read_value(i, key, NULL, 0, &len, flag_out);
    if (err == PLI_OK && *flag_out) {
        *len_out = (int)len;
    }
    return err;
}

enum pli_err pli_info_get_nkeys(struct pli_info *i, int *n_out)
{
    enum pli_err err = check(i);
    if (err == PLI_OK) {
        pthread_mutex_lock(&guard);
        *n_out = i->n;
        pthread_mutex_unlock(&guard);
    }
    return err;
}

enum pli_err pli_info_get_nthkey(struct pli_info *i, int n, char *key_out)
{
    enum pli_err err = check(i);
    if (err != PLI_OK) {
        return err;
    }
    pthread_mutex_lock(&guard);
    int n_key = i->n;
    if (n >= 0 && n < n_key) {
        strcpy(key_out, i->pairs[n].key);
    }
    pthread_mutex_unlock(&guard);
    if (n < 0 || n >= n_key) {
        return n_key == 0
                   ? pli_fail(PLI_ERR_ARG, "argument n is %d, but the info object is empty", n)
                   : pli_fail(PLI_ERR_ARG,
                              "argument n is %d, but the info object has %d keys: 0 to %d", n,
                              n_key, n_key - 1);
    }
    return PLI_OK;
}

enum pli_err pli_info_free(struct pli_info *i)
{
    enum pli_err err = check(i);
    if (err == PLI_OK) {
        err = check_change(i);
    }
    if (err == PLI_OK) {
        pli_info_release(i);
    }
    return err;
}

const char *pli_info_find(struct pli_info *i, const char *key)
{
    if (i == NULL || check(i) != PLI_OK) {
        return NULL;
    }
    pthread_mutex_lock(&guard);
    const struct pli_info_pair *p = find(i, key);
    const char *value = p != NULL ? p->value : NULL;
    pthread_mutex_unlock(&guard);
    return value;
}
