// SPDX-License-Identifier: BSD-3-Clause
// Refuses UCX in a library that was built without it.
// A library that was built where the headers of UCX were not: there is no worker, and so nothing
// that is done with one.
#include "net/ucx/ucx.h"

static enum pli_err refuse(void)
{
    return pli_fail(PLI_ERR_OTHER,
                    "Pliant MPI was built without UCX; build it where UCX's headers are (Debian: "
                    "libucx-dev)");
}

enum pli_err pli_ucx_version(char *text, size_t room)
{
    (void)text;
    (void)room;
    return refuse();
}

enum pli_err pli_ucx_open(const struct pli_ucx_calls *calls, void *arg, struct pli_ucx **out)
{
    (void)calls;
    (void)arg;
    (void)out;
    return refuse();
}

void pli_ucx_close(struct pli_ucx *u)
{
    (void)u;
}

void pli_ucx_avoid_shm(bool is_strict)
{
    (void)is_strict;
}

void *pli_ucx_address(struct pli_ucx *u, size_t *n_out)
{
    (void)u;
    (void)n_out;
    return NULL;
}

enum pli_err pli_ucx_connect(struct pli_ucx *u, const void *address, void *peer_arg,
                             struct pli_ucx_peer **out)
{
    (void)u;
    (void)address;
    (void)peer_arg;
    (void)out;
    return refuse();
}

bool pli_ucx_disconnect(struct pli_ucx_peer *p)
{
    (void)p;
    return true;
}

enum pli_err pli_ucx_send(struct pli_ucx_peer *p, const void *head, size_t n_head, const void *data,
                          size_t n, bool is_large, struct pli_ucx_op *op)
{
    (void)p;
    (void)head;
    (void)n_head;
    (void)data;
    (void)n;
    (void)is_large;
    (void)op;
    return refuse();
}

enum pli_err pli_ucx_fetch(struct pli_ucx *u, void *offer, void *to, size_t n,
                           struct pli_ucx_op *op)
{
    (void)u;
    (void)offer;
    (void)to;
    (void)n;
    (void)op;
    return refuse();
}

enum pli_err pli_ucx_flush(struct pli_ucx_peer *p, struct pli_ucx_op *op)
{
    (void)p;
    (void)op;
    return refuse();
}

enum pli_err pli_ucx_mem_map(void *at, size_t len, struct pli_ucx_mem *out)
{
    (void)at;
    (void)len;
    (void)out;
    return refuse();
}

void pli_ucx_mem_unmap(struct pli_ucx_mem *m)
{
    (void)m;
}

enum pli_err pli_ucx_key_unpack(struct pli_ucx_peer *p, const void *key, struct pli_ucx_key **out)
{
    (void)p;
    (void)key;
    (void)out;
    return refuse();
}

void pli_ucx_key_destroy(struct pli_ucx_key *key)
{
    (void)key;
}

enum pli_err pli_ucx_put(struct pli_ucx_peer *p, const void *from, size_t n, uint64_t to,
                         struct pli_ucx_key *key, struct pli_ucx_op *op)
{
    (void)p;
    (void)from;
    (void)n;
    (void)to;
    (void)key;
    (void)op;
    return refuse();
}

enum pli_err pli_ucx_get(struct pli_ucx_peer *p, void *to, size_t n, uint64_t from,
                         struct pli_ucx_key *key, struct pli_ucx_op *op)
{
    (void)p;
    (void)to;
    (void)n;
    (void)from;
    (void)key;
    (void)op;
    return refuse();
}

enum pli_err pli_ucx_atomic(struct pli_ucx_peer *p, enum pli_ucx_atomic what, size_t size,
                            const void *a, void *fetch, uint64_t at, struct pli_ucx_key *key,
                            struct pli_ucx_op *op)
{
    (void)p;
    (void)what;
    (void)size;
    (void)a;
    (void)fetch;
    (void)at;
    (void)key;
    (void)op;
    return refuse();
}

int pli_ucx_progress(struct pli_ucx *u)
{
    (void)u;
    return 0;
}

bool pli_ucx_arm(struct pli_ucx *u)
{
    (void)u;
    return true;
}

int pli_ucx_fd(const struct pli_ucx *u)
{
    (void)u;
    return -1;
}
