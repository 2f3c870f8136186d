// SPDX-License-Identifier: BSD-3-Clause
// Gives ids to requests: the index in the lower half and the generation in the upper.
#include "net/tcp/reqid.h"

#include <stddef.h>
#include <stdlib.h>

static bool grow(struct pli_reqid_table *t)
{
    uint32_t n = t->n == 0 ? 16 : t->n * 2;
    struct pli_reqid *more = realloc(t->at, n * sizeof *more);
    if (more == NULL) {
        return false;
    }
    t->at = more;
    for (uint32_t i = n; i > t->n; i--) {
        t->at[i - 1] = (struct pli_reqid){ .next = t->free };
        t->free = i;
    }
    t->n = n;
    return true;
}

uint64_t pli_reqid_give(struct pli_reqid_table *t, struct pli_request *r, struct pli_conn *c,
                        enum pli_reqid_kind kind)
{
    if (t->free == 0 && !grow(t)) {
        return 0;
    }
    uint32_t slot = t->free;
    struct pli_reqid *it = &t->at[slot - 1];
    t->free = it->next;
    it->request = r;
    it->conn = c;
    it->kind = kind;
    it->generation++;
    t->n_out++;
    return (uint64_t)it->generation << 32 | slot;
}

static struct pli_reqid *look(const struct pli_reqid_table *t, uint64_t reqid)
{
    uint32_t slot = (uint32_t)reqid;
    struct pli_reqid *it = slot >= 1 && slot <= t->n ? &t->at[slot - 1] : NULL;
    return it != NULL && it->generation == (uint32_t)(reqid >> 32) && it->kind != PLI_REQID_NONE
               ? it
               : NULL;
}

struct pli_request *pli_reqid_find(const struct pli_reqid_table *t, uint64_t reqid,
                                   const struct pli_conn *c, enum pli_reqid_kind kind)
{
    const struct pli_reqid *it = look(t, reqid);
    return it != NULL && it->conn == c && it->kind == kind ? it->request : NULL;
}

struct pli_request *pli_reqid_at(const struct pli_reqid_table *t, uint32_t n,
                                 const struct pli_conn *c, enum pli_reqid_kind *kind_out)
{
    const struct pli_reqid *it = &t->at[n];
    *kind_out = it->kind;
    return it->kind != PLI_REQID_NONE && it->conn == c ? it->request : NULL;
}

void pli_reqid_withdraw(struct pli_reqid_table *t, uint32_t n)
{
    t->at[n].kind = PLI_REQID_WITHDRAWN;
    t->at[n].request = NULL;
    t->n_out--;
}

bool pli_reqid_is_withdrawn(const struct pli_reqid_table *t, uint64_t reqid,
                            const struct pli_conn *c)
{
    const struct pli_reqid *it = look(t, reqid);
    return it != NULL && it->conn == c && it->kind == PLI_REQID_WITHDRAWN;
}

void pli_reqid_end(struct pli_reqid_table *t, uint64_t reqid)
{
    struct pli_reqid *it = look(t, reqid);
    if (it != NULL) {
        t->n_out -= it->kind != PLI_REQID_WITHDRAWN;
        it->kind = PLI_REQID_NONE;
        it->request = NULL;
        it->next = t->free;
        t->free = (uint32_t)reqid;
    }
}

struct pli_request *pli_reqid_reclaim(struct pli_reqid_table *t, const struct pli_conn *c,
                                      enum pli_reqid_kind *kind_out)
{
    for (uint32_t i = 0; i < t->n; i++) {
        struct pli_reqid *it = &t->at[i];
        if (it->kind != PLI_REQID_NONE && it->conn == c) {
            struct pli_request *r = it->request;
            *kind_out = it->kind;
            pli_reqid_end(t, (uint64_t)it->generation << 32 | (i + 1));
            if (r != NULL) {
                return r;
            }
        }
    }
    return NULL;
}

bool pli_reqid_has(const struct pli_reqid_table *t, const struct pli_conn *c)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->at[i].request != NULL && t->at[i].conn == c) {
            return true;
        }
    }
    return false;
}

void pli_reqid_fini(struct pli_reqid_table *t)
{
    free(t->at);
    *t = (struct pli_reqid_table){ 0 };
}
