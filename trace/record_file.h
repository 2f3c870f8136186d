// SPDX-License-Identifier: BSD-3-Clause
// The record of one rank as a file: outcomes in the order in which the program saw them. An event
// is a kind and some numbers. It takes a byte and a varint for each number; one that was seen
// lately takes one byte, and repetitions are a count. The file is mapped memory, so that it is
// there when the process was killed.
#ifndef PLI_TRACE_RECORD_FILE_H
#define PLI_TRACE_RECORD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PLI_RECORD_FILE_N_KIND = 64, // kinds are below
    PLI_RECORD_FILE_LIST = 32,   // kinds from here on have a list: its length is the first number
    PLI_RECORD_FILE_SHORT = 16,  // bytes of an event that is kept in the table of the last ones
    PLI_RECORD_FILE_N_LAST = 128
};

// How many numbers the events of each kind below PLI_RECORD_FILE_LIST have.
extern const uint8_t pli_record_file_numbers[PLI_RECORD_FILE_LIST];

struct pli_record_file_head {
    uint64_t magic;
    uint32_t version, is_complete; // the program has come to its end
    uint64_t n_byte, n_event;
    uint64_t n_more; // how often the last event was repeated since it was written
};

// Events that were seen lately, by their hash; the same when it is written and when it is read.
struct pli_record_file_last {
    struct {
        uint8_t n;
        unsigned char bytes[PLI_RECORD_FILE_SHORT];
    } slots[PLI_RECORD_FILE_N_LAST];
};

struct pli_record_writer {
    int fd;
    struct pli_record_file_head *head;
    unsigned char *window; // a part of the file
    uint64_t window_at, size;
    uint64_t at; // bytes that are written, more than the head knows of while one is under way
    // What the head has of these is of a later time in a process that was restored from an image.
    uint64_t n_more, n_event;
    unsigned char *body;
    size_t n_body, cap_body;
    unsigned char *before; // the event before
    size_t n_before, cap_before;
    struct pli_record_file_last last;
};

// Both return false with a sentence for the user in why.
bool pli_record_file_create(struct pli_record_writer *w, const char *path, char *why, size_t cap);
bool pli_record_file_write(struct pli_record_writer *w, unsigned kind, const uint64_t *numbers,
                           size_t n, char *why, size_t cap);
void pli_record_file_close(struct pli_record_writer *w); // the rest of the file goes
// In a clone: the file belongs to the process that it was cloned from.
void pli_record_file_leave(struct pli_record_writer *w);

struct pli_record_file {
    unsigned char *bytes;
    uint64_t n_byte, n_more, n_event;
    bool is_complete;
};

bool pli_record_file_load(struct pli_record_file *f, const char *path, char *why, size_t cap);
void pli_record_file_unload(struct pli_record_file *f);

struct pli_record_reader {
    const struct pli_record_file *file;
    uint64_t at, n_again; // n_again: the event comes so many times more
    uint64_t n_read;
    bool is_last_done; // the repetitions that the head has were added
    bool is_damaged;   // what comes is no event
    unsigned kind;
    uint64_t *numbers; // of the event
    size_t n_number, cap_number;
    struct pli_record_file_last last;
};

void pli_record_file_begin(struct pli_record_reader *r, const struct pli_record_file *f);
bool pli_record_file_next(struct pli_record_reader *r); // false: there is no more
// How often the event that was read comes once more now. They count as read.
uint64_t pli_record_file_again(struct pli_record_reader *r);
void pli_record_file_end(struct pli_record_reader *r);

#endif
