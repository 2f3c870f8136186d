// SPDX-License-Identifier: BSD-3-Clause
// Reads hints in the spellings that ROMIO made common.
#include "io/file_hints.h"

#include "base/log.h"
#include "io/file.h"
#include "obj/info.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LEAST_BUFFER = 4096 };

// A positive number with nothing behind it; false: it is none.
static bool read_size(const char *value, int64_t least, int64_t most, int64_t *out)
{
    char *end;
    errno = 0;
    long long n = strtoll(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || n < least || n > most) {
        return false;
    }
    *out = n;
    return true;
}

static const char *const words[] = { "automatic", "enable", "disable" }; // by enum pli_file_choice

static bool read_choice(const char *value, enum pli_file_choice *out)
{
    for (int i = 0; i < 3; i++) {
        if (strcasecmp(value, words[i]) == 0) { // ROMIO takes capitals too
            *out = (enum pli_file_choice)i;
            return true;
        }
    }
    return false;
}

struct hint {
    const char *key, *standard; // standard: the value at first, NULL: none
    bool (*read)(struct pli_file_hints *h, const char *value);
    int least; // a smaller positive number means this one
};

#define SIZE_HINT(name, field, least, most)                                                        \
    static bool name(struct pli_file_hints *h, const char *value)                                  \
    {                                                                                              \
        return read_size(value, least, most, &h->field);                                           \
    }
#define CHOICE_HINT(name, field)                                                                   \
    static bool name(struct pli_file_hints *h, const char *value)                                  \
    {                                                                                              \
        return read_choice(value, &h->field);                                                      \
    }

SIZE_HINT(read_buffer, buffer, LEAST_BUFFER, INT64_C(1) << 40)
SIZE_HINT(read_ind_rd, read_sieve, LEAST_BUFFER, INT64_C(1) << 40)
SIZE_HINT(read_ind_wr, write_sieve, LEAST_BUFFER, INT64_C(1) << 40)
SIZE_HINT(read_stripe, stripe, 0, INT64_C(1) << 40)
SIZE_HINT(read_stripes, stripes, 0, INT32_MAX)
CHOICE_HINT(read_cb_read, cb_read)
CHOICE_HINT(read_cb_write, cb_write)
CHOICE_HINT(read_ds_read, ds_read)
CHOICE_HINT(read_ds_write, ds_write)
CHOICE_HINT(read_map, map)
CHOICE_HINT(read_lock, lock)
CHOICE_HINT(read_shared_map, shared_map)
CHOICE_HINT(read_shared_batch, shared_batch)

static bool read_nodes(struct pli_file_hints *h, const char *value)
{
    int64_t n;
    bool is = read_size(value, 1, INT32_MAX, &n);
    h->nodes = is ? (int)n : h->nodes;
    return is;
}

static bool read_collective(struct pli_file_hints *h, const char *value)
{
    bool is_on = strcasecmp(value, "true") == 0, is_off = strcasecmp(value, "false") == 0;
    if (is_off) {
        h->cb_read = h->cb_write = PLI_FILE_DISABLE;
    }
    return is_on || is_off;
}

static const struct hint hints[] = {
    { "cb_buffer_size", "16777216", read_buffer, LEAST_BUFFER },
    { "ind_rd_buffer_size", "4194304", read_ind_rd, LEAST_BUFFER },
    { "ind_wr_buffer_size", "524288", read_ind_wr, LEAST_BUFFER },
    { "romio_cb_read", "automatic", read_cb_read, 0 },
    { "romio_cb_write", "automatic", read_cb_write, 0 },
    { "romio_ds_read", "automatic", read_ds_read, 0 },
    { "romio_ds_write", "automatic", read_ds_write, 0 },
    { "pliant_map", "automatic", read_map, 0 },
    { "pliant_lock", "automatic", read_lock, 0 },
    { "pliant_shared_map", "automatic", read_shared_map, 0 },
    { "pliant_shared_batch", "automatic", read_shared_batch, 0 },
    { "collective_buffering", NULL, read_collective, 0 },
    { "cb_nodes", NULL, read_nodes, 0 },
    { "striping_unit", NULL, read_stripe, 0 },
    { "striping_factor", NULL, read_stripes, 0 },
};

enum { N_HINT = sizeof hints / sizeof hints[0] };

static const struct hint *find(const char *key)
{
    for (int i = 0; i < N_HINT; i++) {
        if (strcmp(hints[i].key, key) == 0) {
            return &hints[i];
        }
    }
    return NULL;
}

static enum pli_err take_one(struct pli_file_hints *hs, const char *file, const char *key,
                             const char *value)
{
    const struct hint *h = find(key);
    int64_t small;
    char raised[16];
    if (h != NULL && h->least > 0 && read_size(value, 1, h->least, &small)) {
        snprintf(raised, sizeof raised, "%d", h->least); // MPI_File_get_info tells it
        value = raised;
    }
    if (h != NULL && !h->read(hs, value)) {
        pli_log(PLI_WARN, "file %s: hint %s is \"%s\", which it cannot be; it stays as it was",
                file, key, value);
        return PLI_OK;
    }
    return pli_info_set(hs->info, key, value);
}

static struct pli_file_hints first; // what a file has without hints

static void read_standard(void)
{
    for (int i = 0; i < N_HINT; i++) {
        if (hints[i].standard != NULL) {
            hints[i].read(&first, hints[i].standard);
        }
    }
}

static enum pli_err note_number(struct pli_info *info, const char *key, int64_t n)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)n);
    if (n > 0) {
        return pli_info_set(info, key, text);
    }
    return pli_info_find(info, key) != NULL ? pli_info_delete(info, key) : PLI_OK;
}

// What counts in place of what this member passed: that of rank 0, as it was when the file was
// opened.
static enum pli_err note(const struct pli_file_hints *h, struct pli_info *info)
{
    enum pli_err err = note_number(info, "cb_buffer_size", h->buffer);
    err = err == PLI_OK && h->nodes > 0 ? note_number(info, "cb_nodes", h->nodes) : err;
    err = err == PLI_OK ? note_number(info, "striping_unit", h->stripe) : err;
    err = err == PLI_OK ? pli_info_set(info, "pliant_lock", words[h->lock]) : err;
    return err == PLI_OK ? pli_info_set(info, "pliant_shared_map", words[h->shared_map]) : err;
}

// What hints tell that the program did not give.
static enum pli_err tell_standard(const struct pli_file_hints *h, struct pli_info **out)
{
    struct pli_info *info;
    enum pli_err err = pli_info_create(&info);
    if (err != PLI_OK) {
        return err;
    }
    for (int i = 0; i < N_HINT && err == PLI_OK; i++) {
        err = hints[i].standard != NULL ? pli_info_set(info, hints[i].key, hints[i].standard)
                                        : PLI_OK;
    }
    err = err == PLI_OK ? note(h, info) : err;
    if (err == PLI_OK) {
        *out = info;
    } else {
        pli_info_release(info);
    }
    return err;
}

void pli_file_hints_init(struct pli_file *f)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_standard);
    f->hints = first;
}

static enum pli_err take(struct pli_file_hints *h, const char *file, struct pli_info *info)
{
    int n = 0;
    enum pli_err err = info != NULL ? pli_info_get_nkeys(info, &n) : PLI_OK;
    if (n > 0 && h->info == NULL) {
        err = tell_standard(h, &h->info);
    }
    for (int i = 0; i < n && err == PLI_OK; i++) {
        char key[MPI_MAX_INFO_KEY + 1];
        err = pli_info_get_nthkey(info, i, key);
        err = err == PLI_OK ? take_one(h, file, key, pli_info_find(info, key)) : err;
    }
    return err;
}

enum pli_err pli_file_hints_take(struct pli_file *f, struct pli_info *info)
{
    return take(&f->hints, f->name, info);
}

void pli_file_hints_release(struct pli_file *f)
{
    pli_info_release(f->hints.info);
}

enum pli_err pli_file_hints_note_nodes(struct pli_file *f, int n)
{
    f->hints.nodes = n;
    return f->hints.info != NULL ? note(&f->hints, f->hints.info) : PLI_OK;
}

enum pli_err pli_file_hints_merge(const struct pli_file *f, struct pli_info *info,
                                  struct pli_file_hints *out)
{
    const struct pli_file_hints *old = &f->hints;
    struct pli_file_hints h = *old;
    h.info = NULL;
    enum pli_err err = old->info != NULL ? pli_info_dup(old->info, &h.info) : PLI_OK;
    err = err == PLI_OK ? take(&h, f->name, info) : err;
    h.buffer = old->buffer;
    h.nodes = old->nodes;
    h.stripe = old->stripe;
    h.lock = old->lock;
    h.shared_map = old->shared_map;
    err = err == PLI_OK && h.info != NULL ? note(&h, h.info) : err;
    if (err != PLI_OK) {
        pli_info_release(h.info);
        return err;
    }
    *out = h;
    return PLI_OK;
}

void pli_file_hints_replace(struct pli_file *f, const struct pli_file_hints *h)
{
    pli_info_release(f->hints.info);
    f->hints = *h;
}

enum pli_err pli_file_hints_set(struct pli_file *f, struct pli_info *info)
{
    struct pli_file_hints h;
    enum pli_err err = pli_file_check_idle(f, "MPI_File_set_info");
    err = err == PLI_OK ? pli_file_hints_merge(f, info, &h) : err;
    if (err == PLI_OK) {
        pli_file_hints_replace(f, &h);
    }
    return err;
}

enum pli_err pli_file_hints_get(struct pli_file *f, struct pli_info **out)
{
    return f->hints.info != NULL ? pli_info_dup(f->hints.info, out) : tell_standard(&f->hints, out);
}
