// SPDX-License-Identifier: BSD-3-Clause
// Reads what is needed of CRIU's images: records of protobuf, each after its length, whose fields
// have numbers that never change.
#ifndef PLI_LAUNCHER_CRIU_IMAGE_H
#define PLI_LAUNCHER_CRIU_IMAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pli_criu_bytes {
    const uint8_t *at, *end;
};

struct pli_criu_field {
    uint32_t number;
    uint64_t value;              // of a number
    struct pli_criu_bytes inner; // of a string or another record; at is NULL for a number
};

// An image in memory. The records are consumed by pli_criu_image_record.
struct pli_criu_image {
    uint8_t *data; // all of the file, of the heap
    size_t len;
    struct pli_criu_bytes records;
};

// Fields of a regular file.
enum { PLI_CRIU_REG_NAME = 6, PLI_CRIU_REG_SIZE = 8 };

// A regular file that a process had open or mapped.
struct pli_criu_file {
    uint32_t id, flags;
    uint64_t size;
    bool has_size;
    char name[PATH_MAX];
};

// What stands for a file that had no name any more.
struct pli_criu_remap {
    uint32_t file;  // pli_criu_file.id
    uint32_t ghost; // number of the image with its contents
    bool is_ghost;
};

// Read an image of a folder. False with errno: it cannot be read, or is shorter than its header.
bool pli_criu_image_open(const char *dir, const char *name, struct pli_criu_image *out);
// The same of at most so many bytes of it.
bool pli_criu_image_begin(const char *dir, const char *name, size_t most,
                          struct pli_criu_image *out);
void pli_criu_image_close(struct pli_criu_image *image);

// The next record, the next field of one. False: there is none, or it is cut short.
bool pli_criu_image_record(struct pli_criu_bytes *from, struct pli_criu_bytes *out);
bool pli_criu_image_field(struct pli_criu_bytes *from, struct pli_criu_field *out);
// The first field of this number. False: there is none.
bool pli_criu_image_find(struct pli_criu_bytes record, uint32_t number, struct pli_criu_field *out);

// Take a record of files.img apart; false: it is of no regular file.
bool pli_criu_image_file(struct pli_criu_bytes record, struct pli_criu_file *out);
// Take a record of remap-fpath.img apart.
void pli_criu_image_remap(struct pli_criu_bytes record, struct pli_criu_remap *out);
// Whether a file had no name any more: what has its name now is another one.
bool pli_criu_image_is_remapped(struct pli_criu_bytes remaps, uint32_t file);

// Write the record of a regular file in files.img, with its length, and with this field in the
// place of that of the same number. False: it is none, or there is no memory.
bool pli_criu_image_put_file(FILE *file, struct pli_criu_bytes record,
                             const struct pli_criu_field *to);
// The same without the field of this number.
bool pli_criu_image_put_file_without(FILE *file, struct pli_criu_bytes record, uint32_t number);

// Write a field that is a number, or a string or another record.
void pli_criu_image_put_number(FILE *to, uint32_t number, uint64_t value);
void pli_criu_image_put(FILE *to, uint32_t number, const void *data, size_t len);

#endif
