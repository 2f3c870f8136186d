// SPDX-License-Identifier: BSD-3-Clause
// CRIU restores no file that has another size than at the dump. A job that goes on after the
// checkpoint writes to its files, so that would be nearly all. What is needed of the images is
// little: records of protobuf with a few fields, whose numbers never change.
#include "restart_files.h"

#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 8 };                     // bytes, in front of the records of an image
enum { ENTRY_REG = 3, REMAP_ORIG = 1 }; // fields of the records of files.img, remap-fpath.img
enum { REG_ID = 1, REG_FLAGS = 2, REG_NAME = 6, REG_SIZE = 8 }; // of a regular file

struct bytes {
    const uint8_t *at, *end;
};

struct field {
    uint32_t number;
    uint64_t value;
    struct bytes inner; // of a string or another record
};

struct regular {
    uint32_t id, flags;
    uint64_t size;
    bool has_size;
    char name[PATH_MAX];
};

static char first_cut[PATH_MAX];
static uint32_t n_cut;

static bool take_number(struct bytes *b, uint64_t *out)
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

static bool skip(struct bytes *b, uint64_t n, struct bytes *out)
{
    if (n > (uint64_t)(b->end - b->at)) {
        return false;
    }
    *out = (struct bytes){ b->at, b->at + n };
    b->at += n;
    return true;
}

// The next field of a record; false: there is none.
static bool take_field(struct bytes *b, struct field *out)
{
    enum { NUMBER, EIGHT, STRING, FOUR = 5 };
    uint64_t key, n;
    *out = (struct field){ 0 };
    if (!take_number(b, &key)) {
        return false;
    }
    out->number = (uint32_t)(key >> 3);
    switch (key & 7) {
    case NUMBER:
        return take_number(b, &out->value);
    case EIGHT:
        return skip(b, 8, &out->inner);
    case STRING:
        return take_number(b, &n) && skip(b, n, &out->inner);
    case FOUR:
        return skip(b, 4, &out->inner);
    default:
        return false;
    }
}

// The next record of an image.
static bool take_record(struct bytes *b, struct bytes *out)
{
    uint32_t len;
    if ((size_t)(b->end - b->at) < sizeof len) {
        return false;
    }
    memcpy(&len, b->at, sizeof len);
    b->at += sizeof len;
    return skip(b, len, out);
}

// The records of an image, to be freed; none where there is no such image.
static uint8_t *read_image(const char *dir, const char *name, struct bytes *out)
{
    char path[PATH_MAX + 64];
    struct stat st;
    uint8_t *all = NULL;
    *out = (struct bytes){ NULL, NULL };
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    if (fstat(fd, &st) == 0 && st.st_size > MAGIC) {
        all = pli_say_need(malloc((size_t)st.st_size));
        ssize_t n = read(fd, all, (size_t)st.st_size);
        if (n > MAGIC) {
            *out = (struct bytes){ all + MAGIC, all + n };
        }
    }
    close(fd);
    return all;
}

static bool find_regular(struct bytes entry, struct regular *out)
{
    struct field f, part;
    bool is_regular = false;
    memset(out, 0, sizeof *out);
    while (!is_regular && take_field(&entry, &f)) {
        is_regular = f.number == ENTRY_REG;
    }
    while (is_regular && take_field(&f.inner, &part)) {
        size_t len = (size_t)(part.inner.end - part.inner.at);
        if (part.number == REG_ID) {
            out->id = (uint32_t)part.value;
        } else if (part.number == REG_FLAGS) {
            out->flags = (uint32_t)part.value;
        } else if (part.number == REG_SIZE) {
            out->size = part.value;
            out->has_size = true;
        } else if (part.number == REG_NAME && len < sizeof out->name) {
            memcpy(out->name, part.inner.at, len);
        }
    }
    return is_regular;
}

// Whether the file had no name any more: its contents are in the image, and what has the name now
// is another one.
static bool is_elsewhere(struct bytes remaps, uint32_t id)
{
    struct bytes record;
    struct field f;
    while (take_record(&remaps, &record)) {
        while (take_field(&record, &f)) {
            if (f.number == REMAP_ORIG && f.value == id) {
                return true;
            }
        }
    }
    return false;
}

static bool put_back(const struct regular *r, uint32_t rank, bool is_cut)
{
    struct stat st;
    if (stat(r->name, &st) != 0) {
        pli_say("rank %u had %s open, which cannot be found: %s", rank, r->name, strerror(errno));
        return false;
    }
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size == r->size) {
        return true;
    }
    if ((uint64_t)st.st_size < r->size) {
        pli_say("rank %u had %s open, with %" PRIu64 " bytes at the checkpoint; it has %" PRIu64
                " now, and what is missing cannot be made good",
                rank, r->name, r->size, (uint64_t)st.st_size);
        return false;
    }
    if (!is_cut) {
        return true;
    }
    if (truncate(r->name, (off_t)r->size) != 0) {
        pli_say("rank %u had %s open, which cannot be cut back to its %" PRIu64
                " bytes of the checkpoint: %s",
                rank, r->name, r->size, strerror(errno));
        return false;
    }
    if (n_cut++ == 0) {
        snprintf(first_cut, sizeof first_cut, "%s", r->name);
    }
    return true;
}

bool pli_restart_files(const char *dir, uint32_t rank, bool is_cut)
{
    struct bytes files, remaps, entry;
    uint8_t *memory[2] = { read_image(dir, "files.img", &files),
                           read_image(dir, "remap-fpath.img", &remaps) };
    struct regular *r = pli_say_need(malloc(sizeof *r));
    bool is_good = true;
    while (is_good && take_record(&files, &entry)) {
        bool is_meant = find_regular(entry, r) && r->has_size && r->name[0] == '/' &&
                        (r->flags & O_ACCMODE) != O_RDONLY && !is_elsewhere(remaps, r->id);
        is_good = !is_meant || put_back(r, rank, is_cut);
    }
    free(r);
    free(memory[0]);
    free(memory[1]);
    return is_good;
}

void pli_restart_files_say(void)
{
    if (n_cut > 0) {
        pli_say("%s has grown since the checkpoint and was cut back to what it was then%s",
                first_cut, n_cut > 1 ? "; so were other files that the ranks write to" : "");
    }
}
