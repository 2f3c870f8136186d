// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives frames over a stream socket. Many small frames are read at once through a
// staging buffer; the data of large ones is read directly to its place.
#include "agent/agent_link.h"
#include "engine/impi_sock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    STAGE = 32768,
    MAX_IOV = 32,
    READS = 16, // in one call
};

struct piece {
    struct pli_agent_frame f;
    const unsigned char *data;
    void *own;
    struct piece *next;
};

struct pli_agent_link {
    int fd;
    int passed_fd;  // came with the first frame
    bool has_first; // that frame has come, and no descriptor is taken any more
    const struct pli_agent_link_ops *ops;
    void *arg;
    struct piece *head, *tail;
    size_t at_out; // bytes of the first piece that have gone
    struct pli_agent_frame f;
    bool has_head;
    unsigned char *room;
    uint64_t got;
    unsigned char stage[STAGE];
    size_t from, to; // what of the stage is still to be looked at
};

enum pli_impi_err pli_agent_link_create(int fd, const struct pli_agent_link_ops *ops, void *arg,
                                        struct pli_agent_link **out)
{
    struct pli_agent_link *l = malloc(sizeof *l);
    if (l == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    l->fd = fd;
    l->passed_fd = -1;
    l->has_first = false;
    l->ops = ops;
    l->arg = arg;
    l->head = l->tail = NULL;
    l->at_out = l->from = l->to = 0;
    l->has_head = false;
    *out = l;
    return PLI_IMPI_OK;
}

static void drop_first(struct pli_agent_link *l)
{
    struct piece *p = l->head;
    l->head = p->next;
    if (l->head == NULL) {
        l->tail = NULL;
    }
    free(p->own);
    free(p);
}

void pli_agent_link_destroy(struct pli_agent_link *l)
{
    if (l == NULL) {
        return;
    }
    while (l->head != NULL) {
        drop_first(l);
    }
    close(l->fd);
    if (l->passed_fd >= 0) {
        close(l->passed_fd);
    }
    free(l);
}

int pli_agent_link_take_fd(struct pli_agent_link *l)
{
    int fd = l->passed_fd;
    l->passed_fd = -1;
    l->has_first = true;
    return fd;
}

int pli_agent_link_fd(const struct pli_agent_link *l)
{
    return l->fd;
}

enum pli_impi_err pli_agent_link_put(struct pli_agent_link *l, const struct pli_agent_frame *f,
                                     const void *data, void *own)
{
    struct piece *p = malloc(sizeof *p);
    if (p == NULL) {
        free(own);
        return PLI_IMPI_ERR_NOMEM;
    }
    *p = (struct piece){ .f = *f, .data = data, .own = own };
    if (l->tail != NULL) {
        l->tail->next = p;
    } else {
        l->head = p;
    }
    l->tail = p;
    return PLI_IMPI_OK;
}

bool pli_agent_link_has_output(const struct pli_agent_link *l)
{
    return l->head != NULL;
}

static int gather(const struct pli_agent_link *l, struct iovec *iov)
{
    size_t skip = l->at_out;
    int n = 0;
    for (struct piece *p = l->head; p != NULL && n + 2 <= MAX_IOV; p = p->next) {
        if (skip < sizeof p->f) {
            iov[n++] = (struct iovec){ (unsigned char *)&p->f + skip, sizeof p->f - skip };
            skip = 0;
        } else {
            skip -= sizeof p->f;
        }
        if (p->f.len > skip) {
            iov[n++] = (struct iovec){ (void *)(uintptr_t)(p->data + skip), p->f.len - skip };
        }
        skip = 0;
    }
    return n;
}

enum pli_impi_err pli_agent_link_write(struct pli_agent_link *l)
{
    enum pli_impi_err result = PLI_IMPI_AGAIN;
    while (l->head != NULL) {
        struct iovec iov[MAX_IOV];
        size_t len = 0;
        enum pli_impi_err err = pli_impi_sock_write(l->fd, iov, gather(l, iov), &len);
        if (err != PLI_IMPI_OK) {
            return err == PLI_IMPI_AGAIN ? result : PLI_IMPI_ERR_PEER;
        }
        result = PLI_IMPI_OK;
        l->at_out += len;
        while (l->head != NULL && l->at_out >= sizeof l->head->f + l->head->f.len) {
            l->at_out -= sizeof l->head->f + l->head->f.len;
            drop_first(l);
        }
    }
    return result;
}

static void end_frame(struct pli_agent_link *l)
{
    struct pli_agent_frame f = l->f; // the callback may bring the next one in
    void *room = l->room;
    l->has_head = false;
    l->ops->whole(l->arg, &f, room);
}

static enum pli_impi_err begin_frame(struct pli_agent_link *l)
{
    l->has_head = true;
    l->got = 0;
    l->room = NULL;
    if (l->f.type == 0 || l->f.type >= PLI_AGENT_N_TYPE) {
        return PLI_IMPI_ERR_PROTO;
    }
    if (l->f.len == 0) {
        end_frame(l);
        return PLI_IMPI_OK;
    }
    l->room = l->ops->room(l->arg, &l->f);
    return l->room == NULL ? PLI_IMPI_ERR_NOMEM : PLI_IMPI_OK;
}

static void took(struct pli_agent_link *l, size_t n)
{
    l->got += n;
    if (l->got == l->f.len) {
        end_frame(l);
    } else {
        l->ops->more(l->arg, &l->f, l->room, l->got);
    }
}

static enum pli_impi_err parse(struct pli_agent_link *l)
{
    while (l->from < l->to) {
        size_t left = l->to - l->from;
        if (!l->has_head) {
            if (left < sizeof l->f) {
                memmove(l->stage, l->stage + l->from, left);
                l->from = 0;
                l->to = left;
                return PLI_IMPI_OK;
            }
            memcpy(&l->f, l->stage + l->from, sizeof l->f);
            l->from += sizeof l->f;
            enum pli_impi_err err = begin_frame(l);
            if (err != PLI_IMPI_OK) {
                return err;
            }
            continue;
        }
        size_t n = l->f.len - l->got < left ? l->f.len - l->got : left;
        memcpy(l->room + l->got, l->stage + l->from, n);
        l->from += n;
        took(l, n);
    }
    l->from = l->to = 0;
    return PLI_IMPI_OK;
}

// Before the first frame is complete, with which a descriptor may come.
static enum pli_impi_err read_first(struct pli_agent_link *l, struct iovec *iov, int n, size_t *len)
{
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr msg = { .msg_iov = iov,
                          .msg_iovlen = (size_t)n,
                          .msg_control = &control,
                          .msg_controllen = sizeof control };
    ssize_t got = recvmsg(l->fd, &msg, MSG_CMSG_CLOEXEC);
    if (got < 0) {
        return errno == EAGAIN || errno == EINTR ? PLI_IMPI_AGAIN : PLI_IMPI_ERR_SYS;
    }
    const struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof(int))) {
        if (l->passed_fd >= 0) {
            close(l->passed_fd);
        }
        memcpy(&l->passed_fd, CMSG_DATA(c), sizeof(int));
    }
    *len = (size_t)got;
    return got == 0 ? PLI_IMPI_ERR_PEER : PLI_IMPI_OK;
}

enum pli_impi_err pli_agent_link_read(struct pli_agent_link *l)
{
    enum pli_impi_err result = PLI_IMPI_AGAIN;
    for (int turn = 0; turn < READS; turn++) {
        struct iovec iov[2];
        int n = 0;
        size_t len = 0, direct = l->has_head ? l->f.len - l->got : 0;
        if (direct > 0) { // then the stage is empty
            iov[n++] = (struct iovec){ l->room + l->got, direct };
        }
        iov[n++] = (struct iovec){ l->stage + l->to, STAGE - l->to };
        enum pli_impi_err err =
            l->has_first ? pli_impi_sock_read(l->fd, iov, n, &len) : read_first(l, iov, n, &len);
        if (err != PLI_IMPI_OK) {
            return err == PLI_IMPI_AGAIN ? result : PLI_IMPI_ERR_PEER;
        }
        result = PLI_IMPI_OK;
        bool is_full = len == direct + STAGE - l->to;
        size_t placed = len < direct ? len : direct;
        l->to += len - placed;
        if (placed > 0) {
            took(l, placed);
        }
        err = parse(l);
        if (err != PLI_IMPI_OK) {
            return err;
        }
        if (!is_full) {
            break;
        }
    }
    return result;
}
