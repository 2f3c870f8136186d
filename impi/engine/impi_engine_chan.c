// SPDX-License-Identifier: BSD-3-Clause
// The bytes of one connection between hosts. In: headers and small data pass through a staging
// buffer; the data of a large packet is read straight into its place. Out: headers from a ring,
// data from where the sender has it.
#include "engine/impi_engine_priv.h"
#include <string.h>
#include <sys/uio.h>

static bool is_alive(const struct chan *c)
{
    return c->state != C_NONE && c->state != C_LOST && c->state != C_OVER;
}

int pli_impi_engine_in_iov(struct pli_impi_engine *e, uint32_t host, struct iovec *iov)
{
    struct chan *c = &e->chan[host];
    int n = 0;
    if (!is_alive(c)) {
        return 0;
    }
    if (c->in_data && c->dst_left > 0) {
        iov[n++] = (struct iovec){ c->dst, c->dst_left };
    }
    if (c->at_stage > 0) { // what is left is less than a header
        memmove(c->stage, c->stage + c->at_stage, c->n_stage - c->at_stage);
        c->n_stage -= c->at_stage;
        c->at_stage = 0;
    }
    iov[n++] = (struct iovec){ c->stage + c->n_stage, STAGE - c->n_stage };
    return n;
}

// `n` bytes of the packet's data are in place, or were thrown away.
static void advance(struct chan *c, uint32_t n)
{
    uint32_t placed = n < c->dst_left ? n : c->dst_left;
    c->dst_left -= placed;
    c->dst = c->dst_left > 0 ? c->dst + placed : NULL;
    c->left -= n;
}

// Data that went through the staging buffer.
static void take_staged(struct chan *c)
{
    size_t have = c->n_stage - c->at_stage;
    while (have > 0 && c->left > 0) {
        uint32_t n = c->dst_left > 0 ? c->dst_left : c->left;
        n = n < have ? n : (uint32_t)have;
        if (c->dst_left > 0) {
            memcpy(c->dst, c->stage + c->at_stage, n);
        }
        advance(c, n);
        c->at_stage += n;
        have -= n;
    }
}

static enum pli_impi_err parse(struct chan *c)
{
    for (;;) {
        enum pli_impi_err err;
        if (c->in_data) {
            take_staged(c);
            if (c->left > 0) {
                return PLI_IMPI_OK;
            }
            c->in_data = false;
            err = pli_impi_engine_recv_end(c);
            if (err != PLI_IMPI_OK) {
                return err;
            }
        }
        err = pli_impi_packet_get(c->stage + c->at_stage, c->n_stage - c->at_stage, &c->pk);
        if (err == PLI_IMPI_AGAIN) {
            return PLI_IMPI_OK;
        }
        if (err != PLI_IMPI_OK) {
            return pli_impi_engine_lose(c, err, "it sent something that is no packet");
        }
        c->at_stage += PLI_IMPI_PACKET_HEAD;
        err = pli_impi_engine_recv_begin(c);
        if (err != PLI_IMPI_OK) {
            return err;
        }
        if (c->state == C_OVER) {
            return PLI_IMPI_OK; // nothing counts any more
        }
        c->in_data = c->pk.type <= PLI_IMPI_PK_DATASYNC;
    }
}

enum pli_impi_err pli_impi_engine_in_done(struct pli_impi_engine *e, uint32_t host, size_t len)
{
    struct chan *c = &e->chan[host];
    if (!is_alive(c)) {
        return c->state == C_OVER ? PLI_IMPI_OK : PLI_IMPI_ERR_PEER;
    }
    if (c->in_data && c->dst_left > 0) {
        uint32_t n = len < c->dst_left ? (uint32_t)len : c->dst_left;
        advance(c, n);
        len -= n;
    }
    c->n_stage += len;
    return parse(c);
}

enum pli_impi_err pli_impi_engine_input(struct pli_impi_engine *e, uint32_t host, const void *p,
                                        size_t len)
{
    const unsigned char *from = p;
    while (len > 0) {
        struct iovec iov[2];
        int n = pli_impi_engine_in_iov(e, host, iov);
        if (n == 0) {
            return e->chan[host].state == C_OVER ? PLI_IMPI_OK : PLI_IMPI_ERR_PEER;
        }
        size_t part = iov[0].iov_len < len ? iov[0].iov_len : len;
        memcpy(iov[0].iov_base, from, part);
        enum pli_impi_err err = pli_impi_engine_in_done(e, host, part);
        if (err != PLI_IMPI_OK) {
            return err;
        }
        from += part;
        len -= part;
    }
    return PLI_IMPI_OK;
}

int pli_impi_engine_out_iov(struct pli_impi_engine *e, uint32_t host, struct iovec *iov, int max)
{
    struct chan *c = &e->chan[host];
    int n = 0;
    if (!is_alive(c)) {
        return 0;
    }
    pli_impi_engine_flow_fill(c);
    size_t skip = c->at_item;
    for (uint32_t i = 0; i < c->n_item && n < max; i++) {
        struct item *it = &c->ring[(c->first + i) % RING];
        if (skip < PLI_IMPI_PACKET_HEAD) {
            iov[n++] = (struct iovec){ it->head + skip, PLI_IMPI_PACKET_HEAD - skip };
            skip = PLI_IMPI_PACKET_HEAD;
        }
        if (it->len > 0 && n < max) {
            size_t at = skip - PLI_IMPI_PACKET_HEAD;
            iov[n++] = (struct iovec){ (void *)(uintptr_t)(it->data + at), it->len - at };
        }
        skip = 0;
    }
    if (n == 0) {
        c->is_told = false;
    }
    return n;
}

static void item_written(struct chan *c, struct item *it)
{
    struct pli_impi_engine *e = c->e;
    uint32_t type = it->type;
    struct send *s = it->send;
    uint32_t len = it->len;
    c->n_byte -= len;
    c->first = (c->first + 1) % RING;
    c->n_item--;
    c->at_item = 0;
    if (s != NULL) {
        pli_impi_engine_send_written(s, len);
    }
    if (type == PLI_IMPI_PK_FINI) {
        pli_impi_engine_go(c, c->state == C_GOT ? C_OVER : C_SENT);
        pli_impi_engine_drop_sends(c, PLI_IMPI_ERR_CLOSED);
        if (c->state == C_OVER) {
            e->ops->peer_down(e->arg, c->host, PLI_IMPI_OK);
        }
    }
}

void pli_impi_engine_out_done(struct pli_impi_engine *e, uint32_t host, size_t len)
{
    struct chan *c = &e->chan[host];
    while (len > 0 && c->n_item > 0) {
        struct item *it = &c->ring[c->first];
        size_t left = PLI_IMPI_PACKET_HEAD + it->len - c->at_item;
        if (len < left) {
            c->at_item += len;
            return;
        }
        len -= left;
        item_written(c, it);
    }
}
