// SPDX-License-Identifier: BSD-3-Clause
// Reads images of CRIU. Nothing in an image is trusted: every length is compared with what is
// there.
#include "launcher/ckpt/criu_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER = 8 };    // bytes, in front of the records of an image
enum { ENTRY_REG = 3 }; // field of a record of files.img
enum { REG_ID = 1, REG_FLAGS = 2 };
enum { REMAP_FILE = 1, REMAP_GHOST = 2, REMAP_TYPE = 3, TYPE_GHOST = 1 };
enum { NUMBER, EIGHT, STRING, FOUR = 5 }; // how a field is written

static bool take_number(struct pli_criu_bytes *b, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; b->at < b->end && shift < 64; shift += 7) {
        uint8_t one = *b->at++;
        *out |= (uint64_t)(one & 0x7f) << shift;
        if ((one & 0x80) == 0) {
            return true;
        }
    }
    return false;
}

static bool skip(struct pli_criu_bytes *b, uint64_t n, struct pli_criu_bytes *out)
{
    if (n > (uint64_t)(b->end - b->at)) {
        return false;
    }
    *out = (struct pli_criu_bytes){ b->at, b->at + n };
    b->at += n;
    return true;
}

bool pli_criu_image_field(struct pli_criu_bytes *from, struct pli_criu_field *out)
{
    uint64_t key, n;
    *out = (struct pli_criu_field){ 0 };
    if (!take_number(from, &key)) {
        return false;
    }
    out->number = (uint32_t)(key >> 3);
    switch (key & 7) {
    case NUMBER:
        return take_number(from, &out->value);
    case EIGHT:
        return skip(from, 8, &out->inner);
    case STRING:
        return take_number(from, &n) && skip(from, n, &out->inner);
    case FOUR:
        return skip(from, 4, &out->inner);
    default:
        return false;
    }
}

bool pli_criu_image_record(struct pli_criu_bytes *from, struct pli_criu_bytes *out)
{
    uint32_t len;
    if (from->at == NULL || (size_t)(from->end - from->at) < sizeof len) {
        return false;
    }
    memcpy(&len, from->at, sizeof len);
    struct pli_criu_bytes rest = { from->at + sizeof len, from->end };
    if (!skip(&rest, len, out)) {
        return false; // what is left is no record, and stays
    }
    *from = rest;
    return true;
}

bool pli_criu_image_find(struct pli_criu_bytes record, uint32_t number, struct pli_criu_field *out)
{
    while (pli_criu_image_field(&record, out)) {
        if (out->number == number) {
            return true;
        }
    }
    return false;
}

// All that can be read, which may be less than there should be.
static size_t read_all(int fd, uint8_t *to, size_t len)
{
    size_t have = 0;
    ssize_t n = 1;
    while (have < len && (n > 0 || errno == EINTR)) {
        n = read(fd, to + have, len - have);
        have += n > 0 ? (size_t)n : 0;
        if (n == 0) {
            break;
        }
    }
    return have;
}

bool pli_criu_image_open(const char *dir, const char *name, struct pli_criu_image *out)
{
    return pli_criu_image_begin(dir, name, SIZE_MAX, out);
}

bool pli_criu_image_begin(const char *dir, const char *name, size_t most,
                          struct pli_criu_image *out)
{
    char path[PATH_MAX + 64];
    struct stat st;
    *out = (struct pli_criu_image){ 0 };
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    errno = EIO;
    size_t size = fstat(fd, &st) == 0 && st.st_size >= HEADER ? (size_t)st.st_size : 0;
    size = size < most ? size : most;
    if (size > 0 && (out->data = malloc(size)) != NULL) {
        out->len = read_all(fd, out->data, size);
        out->records = (struct pli_criu_bytes){ out->data + HEADER, out->data + out->len };
    }
    int error = errno;
    close(fd);
    errno = error;
    if (out->len < HEADER) {
        pli_criu_image_close(out);
        return false;
    }
    return true;
}

void pli_criu_image_close(struct pli_criu_image *image)
{
    free(image->data);
    *image = (struct pli_criu_image){ 0 };
}

bool pli_criu_image_file(struct pli_criu_bytes record, struct pli_criu_file *out)
{
    struct pli_criu_field f, part;
    memset(out, 0, sizeof *out);
    if (!pli_criu_image_find(record, ENTRY_REG, &f)) {
        return false;
    }
    while (pli_criu_image_field(&f.inner, &part)) {
        size_t len = (size_t)(part.inner.end - part.inner.at);
        if (part.number == REG_ID) {
            out->id = (uint32_t)part.value;
        } else if (part.number == REG_FLAGS) {
            out->flags = (uint32_t)part.value;
        } else if (part.number == PLI_CRIU_REG_SIZE) {
            out->size = part.value;
            out->has_size = true;
        } else if (part.number == PLI_CRIU_REG_NAME && part.inner.at != NULL &&
                   len < sizeof out->name) {
            memcpy(out->name, part.inner.at, len);
        }
    }
    return true;
}

void pli_criu_image_remap(struct pli_criu_bytes record, struct pli_criu_remap *out)
{
    struct pli_criu_field f;
    *out = (struct pli_criu_remap){ 0 };
    while (pli_criu_image_field(&record, &f)) {
        if (f.number == REMAP_FILE) {
            out->file = (uint32_t)f.value;
        } else if (f.number == REMAP_GHOST) {
            out->ghost = (uint32_t)f.value;
        } else if (f.number == REMAP_TYPE) {
            out->is_ghost = f.value == TYPE_GHOST;
        }
    }
}

bool pli_criu_image_is_remapped(struct pli_criu_bytes remaps, uint32_t file)
{
    struct pli_criu_bytes record;
    struct pli_criu_remap r;
    while (pli_criu_image_record(&remaps, &record)) {
        pli_criu_image_remap(record, &r);
        if (r.file == file) {
            return true;
        }
    }
    return false;
}

static void put_number(FILE *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        fputc((int)(value & 0x7f) | 0x80, to);
    }
    fputc((int)value, to);
}

void pli_criu_image_put_number(FILE *to, uint32_t number, uint64_t value)
{
    put_number(to, (uint64_t)number << 3 | NUMBER);
    put_number(to, value);
}

void pli_criu_image_put(FILE *to, uint32_t number, const void *data, size_t len)
{
    put_number(to, (uint64_t)number << 3 | STRING);
    put_number(to, len);
    fwrite(data, 1, len, to);
}

// A record with this field in the place of that of the same number, or without it, of the heap.
// NULL: there is no memory.
static char *change(struct pli_criu_bytes record, const struct pli_criu_field *to, bool is_without,
                    size_t *len_out)
{
    struct pli_criu_field f;
    char *all = NULL;
    FILE *m = open_memstream(&all, len_out);
    for (const uint8_t *from = record.at; m != NULL && pli_criu_image_field(&record, &f);
         from = record.at) {
        if (f.number != to->number) {
            fwrite(from, 1, (size_t)(record.at - from), m);
        } else if (is_without) {
            continue;
        } else if (to->inner.at != NULL) {
            pli_criu_image_put(m, to->number, to->inner.at, (size_t)(to->inner.end - to->inner.at));
        } else {
            pli_criu_image_put_number(m, to->number, to->value);
        }
    }
    if (m != NULL && fclose(m) != 0) {
        free(all);
        all = NULL;
    }
    return all;
}

static bool put_file(FILE *file, struct pli_criu_bytes record, const struct pli_criu_field *to,
                     bool is_without)
{
    struct pli_criu_field reg = { .number = ENTRY_REG };
    size_t inner_len = 0, outer_len = 0;
    char *inner = NULL, *outer = NULL;
    if (pli_criu_image_find(record, ENTRY_REG, &reg)) {
        inner = change(reg.inner, to, is_without, &inner_len);
    }
    if (inner != NULL) {
        reg.inner = (struct pli_criu_bytes){ (uint8_t *)inner, (uint8_t *)inner + inner_len };
        outer = change(record, &reg, false, &outer_len);
    }
    if (outer != NULL) {
        uint32_t len = (uint32_t)outer_len;
        fwrite(&len, sizeof len, 1, file);
        fwrite(outer, 1, outer_len, file);
    }
    free(inner);
    free(outer);
    return outer != NULL;
}

bool pli_criu_image_put_file(FILE *file, struct pli_criu_bytes record,
                             const struct pli_criu_field *to)
{
    return put_file(file, record, to, false);
}

bool pli_criu_image_put_file_without(FILE *file, struct pli_criu_bytes record, uint32_t number)
{
    const struct pli_criu_field none = { .number = number };
    return put_file(file, record, &none, true);
}
