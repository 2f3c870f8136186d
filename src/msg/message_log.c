// SPDX-License-Identifier: BSD-3-Clause
// Writes the log of the messages that a process received. Each is one system call, so that all of
// them are there whatever ends the process.
#include "msg/message_log.h"

#include "base/checksum.h"
#include "base/log.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/message_log_wire.h"
#include "msg/request.h"
#include "obj/comm.h"
#include "obj/cursor.h"
#include "obj/datatype.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

bool pli_message_log_is_on;

// A receive whose data is on its way.
struct open_receive {
    const struct pli_request *recv;
    struct pli_message_log_head head;
};

static struct {
    pthread_mutex_t guard; // of all below but n_number
    int fd;
    char path[4096];
    _Atomic uint64_t n_number;
    struct open_receive *open;
    size_t n_open, cap;
} log_file = { .guard = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

enum pli_err pli_message_log_open(const char *dir, uint64_t job, uint32_t proc)
{
    snprintf(log_file.path, sizeof log_file.path, "%s/messages.%u", dir, proc);
    log_file.fd = open(log_file.path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    struct pli_message_log_title title = { .text = PLI_MESSAGE_LOG_TITLE, .job = job };
    title.sum = pli_checksum(0, &title, offsetof(struct pli_message_log_title, sum));
    if (log_file.fd < 0 || write(log_file.fd, &title, sizeof title) != (ssize_t)sizeof title) {
        return pli_fail(PLI_ERR_OTHER, "the log of messages %s cannot be written: %s",
                        log_file.path, strerror(errno));
    }
    pli_message_log_is_on = true;
    return PLI_OK;
}

uint64_t pli_message_log_number(void)
{
    return 1 + atomic_fetch_add_explicit(&log_file.n_number, 1, memory_order_relaxed);
}

void pli_message_log_match(struct pli_request *recv, const struct pli_conn *from, uint8_t form,
                           uint64_t number)
{
    pthread_mutex_lock(&log_file.guard);
    if (log_file.n_open == log_file.cap) {
        size_t cap = log_file.cap > 0 ? 2 * log_file.cap : 64;
        struct open_receive *more = realloc(log_file.open, cap * sizeof *more);
        if (more == NULL) {
            pli_log(PLI_ERROR, "no memory to log a message");
            abort(); // a log with a hole would replay something else
        }
        log_file.open = more;
        log_file.cap = cap;
    }
    log_file.open[log_file.n_open++] = (struct open_receive){
        .recv = recv,
        .head = { .magic = PLI_MESSAGE_LOG_MAGIC,
                  .dst_ep = recv->comm->ep->id.ep,
                  .number = number != 0 ? number : pli_message_log_number(),
                  .context = recv->item.context,
                  .src_proc = from->proc,
                  .src_rank = recv->source,
                  .tag = recv->tag,
                  .src_lane = from->peer_lane,
                  .form = form },
    };
    recv->state |= PLI_REQ_LOGGED;
    pthread_mutex_unlock(&log_file.guard);
}

// Take the newest entry of the request: one that was withdrawn may have left an older one.
static bool take_open(const struct pli_request *recv, struct pli_message_log_head *out)
{
    bool is_found = false;
    for (size_t i = log_file.n_open; i-- > 0;) {
        if (log_file.open[i].recv == recv) {
            *out = is_found ? *out : log_file.open[i].head;
            is_found = true;
            log_file.open[i] = log_file.open[--log_file.n_open];
        }
    }
    return is_found;
}

static void write_message(struct pli_message_log_head *head, const void *data)
{
    head->data_sum = pli_checksum(0, data, (size_t)head->n_stored);
    head->sum = pli_checksum(0, head, offsetof(struct pli_message_log_head, sum));
    struct iovec iov[2] = { { head, sizeof *head },
                            { (void *)(uintptr_t)data, (size_t)head->n_stored } };
    size_t left = sizeof *head + (size_t)head->n_stored;
    while (left > 0 && log_file.fd >= 0) {
        ssize_t n = writev(log_file.fd, iov, 2);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            pli_log(PLI_WARN,
                    "the log of messages %s cannot be written: %s; it ends with the message "
                    "before this one",
                    log_file.path, n < 0 ? strerror(errno) : "nothing was taken");
            close(log_file.fd);
            log_file.fd = -1;
            return;
        }
        left -= (size_t)n;
        for (int i = 0; i < 2; i++) {
            size_t step = (size_t)n < iov[i].iov_len ? (size_t)n : iov[i].iov_len;
            iov[i].iov_base = (char *)iov[i].iov_base + step;
            iov[i].iov_len -= step;
            n -= (ssize_t)step;
        }
    }
}

void pli_message_log_end(struct pli_request *recv, enum pli_err err)
{
    struct pli_message_log_head head;
    recv->state &= (uint16_t)~PLI_REQ_LOGGED;
    pthread_mutex_lock(&log_file.guard);
    if (take_open(recv, &head) && (err == PLI_OK || err == PLI_ERR_TRUNC)) {
        head.size = recv->bytes;
        head.n_stored = recv->bytes < recv->size ? recv->bytes : recv->size;
        const char *data = (const char *)recv->buf + recv->type->true_lb;
        char *packed = NULL;
        if (!recv->type->is_dense && head.n_stored > 0) {
            packed = malloc(head.n_stored);
            struct pli_cursor c;
            pli_cursor_init(&c, recv->buf, recv->count, recv->type);
            if (packed == NULL) {
                pli_log(PLI_ERROR, "no memory to log a message");
                abort();
            }
            pli_cursor_pack(&c, packed, head.n_stored);
            data = packed;
        }
        write_message(&head, data);
        free(packed);
    }
    pthread_mutex_unlock(&log_file.guard);
}
