// SPDX-License-Identifier: BSD-3-Clause
// Reads the log of the messages that a process received.
#include "msg/message_log_file.h"

#include "obj/datatype.h"

#include <errno.h>
#include <fcntl.h>
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

// Where the whole messages are, as they lie in the file. False: no memory.
static bool find_messages(const char *base, size_t len, struct place **out, size_t *n_out)
{
    struct place *all = NULL;
    size_t n = 0, cap = 0, at = sizeof(struct pli_message_log_title);
    struct pli_message_log_head head;
    while (len - at >= sizeof head) {
        memcpy(&head, base + at, sizeof head);
        if (head.magic != PLI_MESSAGE_LOG_MAGIC || head.form >= PLI_N_FORM ||
            head.n_stored > head.size || head.n_stored > len - at - sizeof head) {
            break;
        }
        if (n == cap) {
            cap = cap > 0 ? 2 * cap : 256;
            struct place *more = realloc(all, cap * sizeof *more);
            if (more == NULL) {
                free(all);
                return false;
            }
            all = more;
        }
        all[n++] = (struct place){ head.number, at };
        at += sizeof head + (size_t)head.n_stored;
    }
    *out = all;
    *n_out = n;
    return true;
}

enum pli_err pli_message_log_file_index(const char *base, size_t len,
                                        struct pli_message_log_file *out)
{
    *out = (struct pli_message_log_file){ .base = base, .len = len };
    size_t n = 0;
    if (len < sizeof(struct pli_message_log_title) ||
        memcmp(base, PLI_MESSAGE_LOG_TITLE, strlen(PLI_MESSAGE_LOG_TITLE)) != 0) {
        return pli_fail(PLI_ERR_OTHER, "it is not a log of messages that this version can read");
    }
    struct place *all;
    if (!find_messages(base, len, &all, &n)) {
        return pli_fail(PLI_ERR_NOMEM, "there is no memory for its messages");
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
    return pli_message_log_file_index(base, (size_t)st.st_size, out);
}

void pli_message_log_file_fini(struct pli_message_log_file *f)
{
    free(f->at);
}

struct pli_message_log_head pli_message_log_file_get(const struct pli_message_log_file *f, size_t i,
                                                     const char **data_out)
{
    struct pli_message_log_head head;
    memcpy(&head, f->base + f->at[i], sizeof head);
    *data_out = f->base + f->at[i] + sizeof head;
    return head;
}
