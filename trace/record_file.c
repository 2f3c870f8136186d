// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads the record of a rank. A byte below 64 begins an event and is its kind, 64 stands
// before a varint that says how often the last event comes again, and from 128 on it names an event
// of the table of the last ones. The head says how many bytes count; it is changed when an event is
// complete, so that what was written up to any moment can be read.
#include "trace/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x64726f6365722d70u

enum { VERSION = 1, HEAD = 4096, WINDOW = 1 << 18, AGAIN = 64, NAMED = 128, MAX_VARINT = 10 };

_Static_assert(sizeof(struct pli_record_file_head) <= HEAD, "the head has a page");

static size_t put_varint(unsigned char *to, uint64_t v)
{
    size_t n = 0;
    for (; v >= 128; v >>= 7) {
        to[n++] = (unsigned char)(v | 128);
    }
    to[n++] = (unsigned char)v;
    return n;
}

static unsigned slot_of(const unsigned char *bytes, size_t n)
{
    uint32_t h = 0x811c9dc5u;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ bytes[i]) * 0x01000193u;
    }
    return (h ^ h >> 15) % PLI_RECORD_FILE_N_LAST;
}

static void keep_last(struct pli_record_file_last *last, const unsigned char *bytes, size_t n)
{
    if (n <= PLI_RECORD_FILE_SHORT) {
        unsigned slot = slot_of(bytes, n);
        last->slots[slot].n = (uint8_t)n;
        memcpy(last->slots[slot].bytes, bytes, n);
    }
}

static bool grow_window(struct pli_record_writer *w, char *why, size_t cap)
{
    uint64_t begin = HEAD + w->at / WINDOW * WINDOW;
    int err = posix_fallocate(w->fd, (off_t)begin, WINDOW);
    void *p = MAP_FAILED;
    if (err == 0) {
        p = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, (off_t)begin);
        err = p == MAP_FAILED ? errno : 0;
    }
    if (err != 0) {
        snprintf(why, cap, "the record cannot grow beyond %llu bytes: %s",
                 (unsigned long long)w->at, strerror(err));
        return false;
    }
    if (w->window != NULL) {
        munmap(w->window, WINDOW);
    }
    w->window = p;
    w->window_at = begin - HEAD;
    return true;
}

static bool put_bytes(struct pli_record_writer *w, const unsigned char *from, size_t n, char *why,
                      size_t cap)
{
    for (size_t i = 0; i < n; i++) {
        if ((w->window == NULL || w->at - w->window_at >= WINDOW) && !grow_window(w, why, cap)) {
            return false;
        }
        w->window[w->at++ - w->window_at] = from[i];
    }
    return true;
}

bool pli_record_file_create(struct pli_record_writer *w, const char *path, char *why, size_t cap)
{
    *w = (struct pli_record_writer){ .fd = -1 };
    w->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int err = w->fd < 0 ? errno : posix_fallocate(w->fd, 0, HEAD);
    void *p = MAP_FAILED;
    if (err == 0) {
        p = mmap(NULL, HEAD, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
        err = p == MAP_FAILED ? errno : 0;
    }
    if (err != 0) {
        snprintf(why, cap,
                 "%s cannot be written: %s; the directory of --record must be there on "
                 "all hosts of the job, with room in it",
                 path, strerror(err));
        if (w->fd >= 0) {
            close(w->fd);
        }
        return false;
    }
    w->head = p;
    *w->head = (struct pli_record_file_head){ .magic = MAGIC, .version = VERSION };
    return true;
}

static bool reserve(unsigned char **p, size_t *cap, size_t n)
{
    if (n > *cap) {
        unsigned char *more = realloc(*p, n * 2);
        if (more == NULL) {
            return false;
        }
        *p = more;
        *cap = n * 2;
    }
    return true;
}

static bool make_body(struct pli_record_writer *w, unsigned kind, const uint64_t *numbers, size_t n)
{
    if (!reserve(&w->body, &w->cap_body, (n + 2) * MAX_VARINT)) {
        return false;
    }
    size_t at = 0;
    w->body[at++] = (unsigned char)kind;
    if (kind >= PLI_RECORD_FILE_LIST) {
        at += put_varint(w->body + at, n);
    }
    for (size_t i = 0; i < n; i++) {
        at += put_varint(w->body + at, numbers[i]);
    }
    w->n_body = at;
    return true;
}

// The repetitions of the event before this one, and then this one.
static bool put_event(struct pli_record_writer *w, char *why, size_t cap)
{
    unsigned slot = slot_of(w->body, w->n_body);
    bool is_short = w->n_body <= PLI_RECORD_FILE_SHORT;
    bool is_known = is_short && w->last.slots[slot].n == w->n_body &&
                    memcmp(w->last.slots[slot].bytes, w->body, w->n_body) == 0;
    unsigned char text[1 + MAX_VARINT], named = (unsigned char)(NAMED + slot);
    size_t n = 0;
    if (w->n_more > 0) {
        text[n++] = AGAIN;
        n += put_varint(text + n, w->n_more);
    }
    bool is_put =
        put_bytes(w, text, n, why, cap) &&
        (is_known ? put_bytes(w, &named, 1, why, cap) : put_bytes(w, w->body, w->n_body, why, cap));
    if (!is_put) {
        return false;
    }
    if (!is_known) {
        keep_last(&w->last, w->body, w->n_body);
    }
    w->n_more = w->head->n_more = 0; // a process that is killed here has a record without these
    __atomic_store_n(&w->head->n_byte, w->at, __ATOMIC_RELEASE);
    return true;
}

bool pli_record_file_write(struct pli_record_writer *w, unsigned kind, const uint64_t *numbers,
                           size_t n, char *why, size_t cap)
{
    w->head->is_complete = 0;
    w->head->n_event = ++w->n_event;
    if (!make_body(w, kind, numbers, n) || !reserve(&w->before, &w->cap_before, w->n_body)) {
        snprintf(why, cap, "there is no memory left for the record");
        return false;
    }
    if (w->n_before == w->n_body && memcmp(w->before, w->body, w->n_body) == 0) {
        w->head->n_more = ++w->n_more;
        __atomic_store_n(&w->head->n_byte, w->at, __ATOMIC_RELEASE);
        return true;
    }
    memcpy(w->before, w->body, w->n_body);
    w->n_before = w->n_body;
    return put_event(w, why, cap);
}

void pli_record_file_close(struct pli_record_writer *w)
{
    int done = ftruncate(w->fd, (off_t)(HEAD + w->at));
    (void)done; // it is only longer than it must be
    pli_record_file_leave(w);
}

void pli_record_file_leave(struct pli_record_writer *w)
{
    munmap(w->head, HEAD);
    if (w->window != NULL) {
        munmap(w->window, WINDOW);
    }
    close(w->fd);
    free(w->body);
    free(w->before);
    w->head = NULL;
}

static bool read_all(int fd, void *to, size_t n, off_t at)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = pread(fd, (char *)to + done, n - done, at + (off_t)done);
        if (got <= 0) {
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

bool pli_record_file_load(struct pli_record_file *f, const char *path, char *why, size_t cap)
{
    struct pli_record_file_head head;
    struct stat st;
    *f = (struct pli_record_file){ 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe would keep us waiting
    if (fd < 0) {
        snprintf(why, cap, "%s cannot be read: %s", path, strerror(errno));
        return false;
    }
    bool is_ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                 read_all(fd, &head, sizeof head, 0) && head.magic == MAGIC &&
                 head.version == VERSION &&
                 head.n_byte <= (uint64_t)st.st_size - (st.st_size >= HEAD ? HEAD : st.st_size);
    if (is_ok) {
        f->bytes = malloc(head.n_byte > 0 ? (size_t)head.n_byte : 1);
        is_ok = f->bytes != NULL && read_all(fd, f->bytes, (size_t)head.n_byte, HEAD);
        f->n_byte = head.n_byte;
        f->n_more = head.n_more;
        f->n_event = head.n_event;
        f->is_complete = head.is_complete != 0;
    }
    close(fd);
    if (!is_ok) {
        free(f->bytes);
        f->bytes = NULL;
        snprintf(why, cap, "%s is no record that this version of Pliant MPI can read", path);
    }
    return is_ok;
}

void pli_record_file_unload(struct pli_record_file *f)
{
    free(f->bytes);
    f->bytes = NULL;
}

void pli_record_file_begin(struct pli_record_reader *r, const struct pli_record_file *f)
{
    *r = (struct pli_record_reader){ .file = f };
}

void pli_record_file_end(struct pli_record_reader *r)
{
    free(r->numbers);
    r->numbers = NULL;
}

static bool get_varint(const unsigned char *from, uint64_t end, uint64_t *at, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char c = from[(*at)++];
        v |= (uint64_t)(c & 127) << shift;
        if (c < 128) {
            *out = v;
            return true;
        }
    }
    return false;
}

// The event that begins there; false: the bytes end within it.
static bool get_event(struct pli_record_reader *r, const unsigned char *from, uint64_t end,
                      uint64_t *at)
{
    unsigned kind = from[(*at)++];
    uint64_t n = kind < PLI_RECORD_FILE_LIST ? pli_record_file_numbers[kind] : 0;
    if (kind >= PLI_RECORD_FILE_LIST && (!get_varint(from, end, at, &n) || n > end - *at)) {
        return false;
    }
    if (n > r->cap_number) {
        uint64_t *more = realloc(r->numbers, (size_t)n * 2 * sizeof *more);
        if (more == NULL) {
            return false;
        }
        r->numbers = more;
        r->cap_number = (size_t)n * 2;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (!get_varint(from, end, at, &r->numbers[i])) {
            return false;
        }
    }
    r->kind = kind;
    r->n_number = (size_t)n;
    return true;
}

// How often the last event comes again, where that stands next. False: that makes no sense.
static bool look_again(struct pli_record_reader *r)
{
    const struct pli_record_file *f = r->file;
    if (r->n_again > 0 || r->n_read == 0) {
        return true;
    }
    if (r->at == f->n_byte && !r->is_last_done) {
        r->is_last_done = true;
        r->n_again = f->n_more;
    } else if (r->at < f->n_byte && f->bytes[r->at] == AGAIN) {
        r->at++;
        return get_varint(f->bytes, f->n_byte, &r->at, &r->n_again) && r->n_again > 0;
    }
    return true;
}

static bool get_next(struct pli_record_reader *r)
{
    const struct pli_record_file *f = r->file;
    uint64_t at = r->at;
    if (f->bytes[at] >= NAMED) {
        unsigned slot = f->bytes[at] - NAMED;
        uint64_t in = 0;
        r->at = at + 1;
        return r->last.slots[slot].n > 0 &&
               get_event(r, r->last.slots[slot].bytes, r->last.slots[slot].n, &in);
    }
    if (f->bytes[at] >= PLI_RECORD_FILE_N_KIND || !get_event(r, f->bytes, f->n_byte, &at)) {
        return false;
    }
    keep_last(&r->last, f->bytes + r->at, (size_t)(at - r->at));
    r->at = at;
    return true;
}

bool pli_record_file_next(struct pli_record_reader *r)
{
    if (r->is_damaged) {
        return false;
    }
    if (!look_again(r)) {
        r->is_damaged = true;
        return false;
    }
    if (r->n_again > 0) {
        r->n_again--;
    } else if (r->at >= r->file->n_byte) {
        return false;
    } else if (!get_next(r)) {
        r->is_damaged = true;
        return false;
    }
    r->n_read++;
    return true;
}

uint64_t pli_record_file_again(struct pli_record_reader *r)
{
    r->is_damaged = r->is_damaged || !look_again(r);
    uint64_t n = r->is_damaged ? 0 : r->n_again;
    r->n_again -= n;
    r->n_read += n;
    return n;
}
