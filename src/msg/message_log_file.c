// SPDX-License-Identifier: BSD-3-Clause
// Reads the log of the messages that a process received.
#include "msg/message_log_file.h"

#include "base/checksum.h"
#include "obj/datatype.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    uint64_t number;
    size_t at;
};

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct place *)a)->number, y = ((const struct place *)b)->number;
    return (x > y) - (x < y);
}

// The message at this offset, in *head_out. PLI_AGAIN: it ends behind the file, as the last one of
// a process that was killed does.
static enum pli_err read_message(const char *base, size_t len, size_t at,
                                 struct pli_message_log_head *head_out)
{
    struct pli_message_log_head head;
    size_t left = len - at;
    if (left < sizeof head) {
        return PLI_AGAIN;
    }
    memcpy(&head, base + at, sizeof head);
    const char *part = "head";
    bool is_good = head.magic == PLI_MESSAGE_LOG_MAGIC && head.form < PLI_N_FORM &&
                   head.n_stored <= head.size &&
                   head.sum == pli_checksum(0, &head, offsetof(struct pli_message_log_head, sum));
    if (is_good && head.n_stored > left - sizeof head) {
        return PLI_AGAIN;
    }
    if (is_good) {
        part = "data";
        is_good = head.data_sum == pli_checksum(0, base + at + sizeof head, (size_t)head.n_stored);
    }
    if (!is_good) {
        return pli_fail(PLI_ERR_OTHER,
                        "it is damaged: the checksum is wrong of the %s of the message at byte %zu "
                        "of %zu",
                        part, at, len);
    }
    *head_out = head;
    return PLI_OK;
}

// Where the whole messages are, as they lie in the file.
static enum pli_err find_messages(const char *base, size_t len, struct place **out, size_t *n_out)
{
    struct place *all = NULL;
    size_t n = 0, cap = 0, at = sizeof(struct pli_message_log_title);
    struct pli_message_log_head head = { 0 };
    enum pli_err err;
    while ((err = read_message(base, len, at, &head)) == PLI_OK) {
        if (n == cap) {
            cap = cap > 0 ? 2 * cap : 256;
            struct place *more = realloc(all, cap * sizeof *more);
            if (more == NULL) {
                free(all);
                return pli_fail(PLI_ERR_NOMEM, "there is no memory for its messages");
            }
            all = more;
        }
        all[n++] = (struct place){ head.number, at };
        at += sizeof head + (size_t)head.n_stored;
    }
    if (err != PLI_AGAIN) {
        free(all);
        return err;
    }
    *out = all;
    *n_out = n;
    return PLI_OK;
}

enum pli_err pli_message_log_file_index(const char *base, size_t len,
                                        struct pli_message_log_file *out)
{
    *out = (struct pli_message_log_file){ .base = base, .len = len };
    size_t n = 0;
    struct pli_message_log_title title;
    if (len < sizeof title ||
        memcmp(base, PLI_MESSAGE_LOG_TITLE, strlen(PLI_MESSAGE_LOG_TITLE)) != 0) {
        return pli_fail(PLI_ERR_OTHER,
                        "it is not a log of messages that this version of Pliant MPI can read");
    }
    memcpy(&title, base, sizeof title);
    if (title.sum != pli_checksum(0, &title, offsetof(struct pli_message_log_title, sum))) {
        return pli_fail(PLI_ERR_OTHER,
                        "it is damaged: the checksum of its first %zu bytes is wrong",
                        sizeof title);
    }
    out->job = title.job;
    struct place *all = NULL;
    enum pli_err err = find_messages(base, len, &all, &n);
    if (err != PLI_OK) {
        return err;
    }
    if (n > 0) {
        qsort(all, n, sizeof *all, by_number);
        out->at = malloc(n * sizeof *out->at);
    }
    for (size_t i = 0; i < n && out->at != NULL && all[i].number == i + 1; i++) {
        out->at[out->n++] = all[i].at;
    }
    free(all);
    return n > 0 && out->at == NULL ? pli_fail(PLI_ERR_NOMEM, "there is no memory for its messages")
                                    : PLI_OK;
}

enum pli_err pli_message_log_file_open(const char *path, struct pli_message_log_file *out)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe would keep us waiting
    void *base = MAP_FAILED;
    errno = fd >= 0 ? ENODATA : errno;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (base == MAP_FAILED) {
        return pli_fail(PLI_ERR_OTHER, "%s", strerror(error));
    }
    enum pli_err err = pli_message_log_file_index(base, (size_t)st.st_size, out);
    if (err != PLI_OK) {
        pli_message_log_file_close(out);
    }
    return err;
}

void pli_message_log_file_fini(struct pli_message_log_file *f)
{
    free(f->at);
}

void pli_message_log_file_close(struct pli_message_log_file *f)
{
    pli_message_log_file_fini(f);
    munmap((void *)(uintptr_t)f->base, f->len);
}

struct pli_message_log_head pli_message_log_file_get(const struct pli_message_log_file *f, size_t i,
                                                     const char **data_out)
{
    struct pli_message_log_head head;
    memcpy(&head, f->base + f->at[i], sizeof head);
    *data_out = f->base + f->at[i] + sizeof head;
    return head;
}
