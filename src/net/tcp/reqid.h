// SPDX-License-Identifier: BSD-3-Clause
// Ids of requests that other hosts may name: a number that means nothing but an entry of a table,
// and is refused when it is wrong, old, or of another connection. Guarded by the lane's lock.
#ifndef PLI_NET_REQID_H
#define PLI_NET_REQID_H

#include <stdbool.h>
#include <stdint.h>

struct pli_conn;
struct pli_request;

enum pli_reqid_kind {
    PLI_REQID_NONE,
    PLI_REQID_SEND,
    PLI_REQID_RECV,
    PLI_REQID_WITHDRAWN // its request was withdrawn; the other side may still name it
};

struct pli_reqid {
    struct pli_request *request;
    struct pli_conn *conn; // that may name it
    uint32_t generation;   // grows each time the place is used
    uint32_t next;         // free place
    enum pli_reqid_kind kind;
};

struct pli_reqid_table {
    struct pli_reqid *at;
    uint32_t n, free; // places; the first free one + 1, 0: none
    uint32_t n_out;   // ids that are out
};

// Never 0; 0: no memory.
uint64_t pli_reqid_give(struct pli_reqid_table *t, struct pli_request *r, struct pli_conn *c,
                        enum pli_reqid_kind kind);
// The request, or NULL: there is no such id of that kind for that conn.
struct pli_request *pli_reqid_find(const struct pli_reqid_table *t, uint64_t reqid,
                                   const struct pli_conn *c, enum pli_reqid_kind kind);
// The request of the n-th place, if its id is out and this conn may say it; else NULL.
struct pli_request *pli_reqid_at(const struct pli_reqid_table *t, uint32_t n,
                                 const struct pli_conn *c, enum pli_reqid_kind *kind_out);
// The request at the n-th place is withdrawn.
void pli_reqid_withdraw(struct pli_reqid_table *t, uint32_t n);
bool pli_reqid_is_withdrawn(const struct pli_reqid_table *t, uint64_t reqid,
                            const struct pli_conn *c);
void pli_reqid_end(struct pli_reqid_table *t, uint64_t reqid);
// Any request of a conn whose id is still in use, which it ends; NULL: none is left, not even a
// withdrawn one.
struct pli_request *pli_reqid_reclaim(struct pli_reqid_table *t, const struct pli_conn *c,
                                      enum pli_reqid_kind *kind_out);
// Whether any is; withdrawn ones do not count.
bool pli_reqid_has(const struct pli_reqid_table *t, const struct pli_conn *c);
void pli_reqid_fini(struct pli_reqid_table *t);

#endif
