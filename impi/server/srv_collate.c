// SPDX-License-Identifier: BSD-3-Clause
// Collates labels. A label is written once every client has sent a label at or above it, or DONE.
// Known labels that no client sent are written with an empty mask, as the reference server does;
// labels this server does not know are opaque to it and are written too. X_PLIANT is written only
// if all clients have sent it: others would not know what to make of it.
#include "server/srv_collate.h"
#include "wire/impi_label_wire.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_PART = 4096 }; // labels from one client

void pli_srv_collate_init(struct pli_srv_collate *c, int n_client)
{
    *c = (struct pli_srv_collate){ .n_client = n_client };
}

void pli_srv_collate_fini(struct pli_srv_collate *c)
{
    for (int r = 0; r < c->n_client; r++) {
        pli_srv_collate_forget(c, r);
    }
    free(c->stream);
    *c = (struct pli_srv_collate){ 0 };
}

void pli_srv_collate_forget(struct pli_srv_collate *c, int rank)
{
    for (size_t i = 0; i < c->from[rank].n_part; i++) {
        free(c->from[rank].part[i].data);
    }
    free(c->from[rank].part);
    memset(&c->from[rank], 0, sizeof c->from[rank]);
}

static enum pli_impi_err reserve(struct pli_srv_collate *c, size_t more)
{
    if (c->cap - c->len >= more) {
        return PLI_IMPI_OK;
    }
    size_t cap = c->cap * 2 > c->len + more ? c->cap * 2 : c->len + more;
    unsigned char *p = realloc(c->stream, cap);
    if (p == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    c->stream = p;
    c->cap = cap;
    return PLI_IMPI_OK;
}

// The next part of a client, or NULL.
static struct pli_srv_part *head_of(struct pli_srv_collate *c, int rank)
{
    return c->from[rank].next < c->from[rank].n_part ? &c->from[rank].part[c->from[rank].next]
                                                     : NULL;
}

static void drop_label(struct pli_srv_collate *c, uint32_t label)
{
    for (int r = 0; r < c->n_client; r++) {
        struct pli_srv_part *p = head_of(c, r);
        if (p != NULL && p->label == label) {
            free(p->data);
            p->data = NULL;
            c->from[r].next++;
        }
    }
    c->flushed = label;
}

static enum pli_impi_err write_label(struct pli_srv_collate *c, uint32_t label)
{
    uint32_t mask = 0;
    size_t len = 0;
    for (int r = 0; r < c->n_client; r++) {
        const struct pli_srv_part *p = head_of(c, r);
        if (p != NULL && p->label == label) {
            mask |= (uint32_t)1 << r;
            len += p->len;
        }
    }
    bool is_all = mask == (c->n_client == 32 ? UINT32_MAX : ((uint32_t)1 << c->n_client) - 1);
    if (label == PLI_IMPI_X_PLIANT && !is_all) {
        drop_label(c, label);
        return PLI_IMPI_OK;
    }
    if (len > INT32_MAX - 8) {
        return PLI_IMPI_ERR_NOMEM;
    }
    enum pli_impi_err err = reserve(c, PLI_IMPI_CMD_COLLALL_HEAD + len);
    if (err != PLI_IMPI_OK) {
        return err;
    }
    c->len += pli_impi_cmd_put_collall(c->stream + c->len, label, mask, len);
    for (int r = 0; r < c->n_client; r++) {
        struct pli_srv_part *p = head_of(c, r);
        if (p != NULL && p->label == label) {
            memcpy(c->stream + c->len, p->data, p->len);
            c->len += p->len;
            free(p->data);
            p->data = NULL;
            c->from[r].next++;
        }
    }
    c->flushed = label;
    return PLI_IMPI_OK;
}

// The lowest label above `flushed` that anybody sent or that is known; 0 if there is none.
static uint32_t next_label(struct pli_srv_collate *c)
{
    uint32_t best = 0;
    for (int i = 0; i < PLI_IMPI_N_STANDARD && best == 0; i++) {
        if (pli_impi_label_table[i].label > c->flushed) {
            best = pli_impi_label_table[i].label;
        }
    }
    for (int r = 0; r < c->n_client; r++) {
        const struct pli_srv_part *p = head_of(c, r);
        if (p != NULL && (best == 0 || p->label < best)) {
            best = p->label;
        }
    }
    return best;
}

static enum pli_impi_err flush(struct pli_srv_collate *c)
{
    uint32_t horizon = UINT32_MAX;
    bool all_done = true;
    for (int r = 0; r < c->n_client; r++) {
        if (!c->from[r].is_done) {
            all_done = false;
            horizon = c->from[r].progress < horizon ? c->from[r].progress : horizon;
        }
    }
    enum pli_impi_err err = PLI_IMPI_OK;
    for (uint32_t l = next_label(c); l != 0 && l <= horizon && err == PLI_IMPI_OK;
         l = next_label(c)) {
        err = write_label(c, l);
    }
    if (err == PLI_IMPI_OK && all_done && !c->is_over) {
        err = reserve(c, PLI_IMPI_CMD_HEAD);
        if (err == PLI_IMPI_OK) {
            c->len += pli_impi_cmd_put_done(c->stream + c->len);
            c->is_over = true;
        }
    }
    return err;
}

enum pli_impi_err pli_srv_collate_add(struct pli_srv_collate *c, int rank, uint32_t label,
                                      unsigned char *data, size_t len, size_t limit)
{
    size_t n = c->from[rank].n_part;
    if (c->from[rank].is_done || label <= c->from[rank].progress) {
        free(data);
        return PLI_IMPI_AGAIN;
    }
    if (n == MAX_PART || len > limit || c->from[rank].n_byte > limit - len) {
        free(data);
        return PLI_IMPI_ERR_NOMEM;
    }
    if (n == c->from[rank].cap_part) {
        size_t cap = n == 0 ? 16 : 2 * n;
        struct pli_srv_part *p = realloc(c->from[rank].part, cap * sizeof *p);
        if (p == NULL) {
            free(data);
            return PLI_IMPI_ERR_NOMEM;
        }
        c->from[rank].part = p;
        c->from[rank].cap_part = cap;
    }
    c->from[rank].part[n] = (struct pli_srv_part){ .label = label, .data = data, .len = len };
    c->from[rank].n_part++;
    c->from[rank].n_byte += len;
    c->from[rank].progress = label;
    return flush(c);
}

enum pli_impi_err pli_srv_collate_done(struct pli_srv_collate *c, int rank)
{
    c->from[rank].is_done = true;
    return flush(c);
}
