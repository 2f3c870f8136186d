// SPDX-License-Identifier: BSD-3-Clause
// Packs and unpacks all data of one endpoint. The same bytes travel to another process and lie in a
// checkpoint, so a reader trusts nothing in them.
#include "balance_priv.h"
#include "balance_image_wire.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t align_up(uint64_t n)
{
    return (n + 15) / 16 * 16;
}

static int part_size(const struct pli_balance_part *p, const void *data, uint64_t *out)
{
    MPI_Count bytes = -1;
    if (data == NULL) {
        *out = PLI_BALANCE_IMAGE_NONE;
        return MPI_SUCCESS;
    }
    int code = p->calls.size(data, p->arg, &bytes);
    if (code == MPI_SUCCESS && bytes < 0) {
        return pli_balance_error_code(MPI_ERR_OTHER,
                                      "the size function of state '%s' gave %lld bytes", p->name,
                                      (long long)bytes);
    }
    *out = (uint64_t)bytes;
    return code;
}

int pli_balance_image_size(const struct pli_balance *b, const struct pli_balance_ep *ep,
                           MPI_Count *bytes)
{
    uint64_t sum = sizeof(struct pli_balance_image_head);
    for (int i = 0; i < b->n_part; i++) {
        uint64_t n = 0;
        int code = part_size(&b->part[i], ep->data[i], &n);
        if (code != MPI_SUCCESS) {
            return code;
        }
        sum +=
            sizeof(struct pli_balance_image_row) + (n == PLI_BALANCE_IMAGE_NONE ? 0 : align_up(n));
    }
    *bytes = (MPI_Count)sum;
    return MPI_SUCCESS;
}

static int too_small(MPI_Count bytes)
{
    return pli_balance_error_code(MPI_ERR_ARG,
                                  "%lld bytes are not enough for the data of the endpoint; ask "
                                  "MPIX_Balance_image_size right before",
                                  (long long)bytes);
}

int pli_balance_image_pack(const struct pli_balance *b, const struct pli_balance_ep *ep, void *buf,
                           MPI_Count bytes)
{
    struct pli_balance_image_head head = { .magic = PLI_BALANCE_IMAGE_MAGIC,
                                           .version = PLI_BALANCE_IMAGE_VERSION,
                                           .n_part = (uint32_t)b->n_part };
    char *to = buf;
    uint64_t at = sizeof head, cap = bytes > 0 ? (uint64_t)bytes : 0;
    for (int i = 0; i < b->n_part; i++) {
        const struct pli_balance_part *p = &b->part[i];
        struct pli_balance_image_row row = { .bytes = 0 };
        memcpy(row.name, p->name, sizeof p->name);
        int code = part_size(p, ep->data[i], &row.bytes);
        uint64_t n = row.bytes == PLI_BALANCE_IMAGE_NONE ? 0 : row.bytes;
        if (code != MPI_SUCCESS) {
            return code;
        }
        if (at + sizeof row > cap || n > cap - at - sizeof row) {
            return too_small(bytes);
        }
        memcpy(to + at, &row, sizeof row);
        at += sizeof row;
        if (ep->data[i] != NULL) {
            code = p->calls.pack(ep->data[i], p->arg, to + at, (MPI_Count)n);
        }
        if (code != MPI_SUCCESS) {
            return code;
        }
        uint64_t pad = align_up(n) - n;
        if (pad > cap - at - n) {
            return too_small(bytes);
        }
        memset(to + at + n, 0, pad);
        at += n + pad;
    }
    if (at > cap) {
        return too_small(bytes);
    }
    head.bytes = at;
    memcpy(to, &head, sizeof head);
    return MPI_SUCCESS;
}

static int read_head(const struct pli_balance *b, const void *buf, MPI_Count bytes)
{
    struct pli_balance_image_head head;
    if (bytes < (MPI_Count)sizeof head) {
        return pli_balance_error_code(MPI_ERR_ARG, "%lld bytes are no image of an endpoint",
                                      (long long)bytes);
    }
    memcpy(&head, buf, sizeof head);
    if (head.magic != PLI_BALANCE_IMAGE_MAGIC || head.version != PLI_BALANCE_IMAGE_VERSION) {
        return pli_balance_error_code(MPI_ERR_ARG,
                                      "these bytes are no image of an endpoint, or one of another "
                                      "version or machine (%08" PRIx32 " %" PRIu32 ")",
                                      head.magic, head.version);
    }
    if (head.bytes > (uint64_t)bytes) {
        return pli_balance_error_code(MPI_ERR_ARG, "an image of %" PRIu64 " bytes ends after %lld",
                                      head.bytes, (long long)bytes);
    }
    if (head.n_part != (uint32_t)b->n_part) {
        return pli_balance_error_code(MPI_ERR_ARG,
                                      "the image has %" PRIu32 " kinds of state, the program has "
                                      "registered %d",
                                      head.n_part, b->n_part);
    }
    return MPI_SUCCESS;
}

// One row and its bytes.
static int read_part(const struct pli_balance_part *p, const char *from, uint64_t *at, uint64_t cap,
                     void **data_out)
{
    struct pli_balance_image_row row;
    if (cap - *at < sizeof row) {
        return pli_balance_error_code(MPI_ERR_ARG, "the image ends before state '%s'", p->name);
    }
    memcpy(&row, from + *at, sizeof row);
    *at += sizeof row;
    if (strncmp(row.name, p->name, sizeof row.name) != 0) {
        return pli_balance_error_code(
            MPI_ERR_ARG,
            "the image has state '%.63s' where the program has registered "
            "'%s'",
            row.name, p->name);
    }
    if (row.bytes == PLI_BALANCE_IMAGE_NONE) {
        return MPI_SUCCESS;
    }
    if (row.bytes > cap - *at || align_up(row.bytes) > cap - *at) {
        return pli_balance_error_code(MPI_ERR_ARG, "the image ends inside state '%s'", p->name);
    }
    int code = p->calls.unpack(from + *at, (MPI_Count)row.bytes, p->arg, data_out);
    if (code == MPI_SUCCESS && *data_out == NULL) {
        code = pli_balance_error_code(MPI_ERR_OTHER,
                                      "the unpack function of state '%s' made nothing", p->name);
    }
    *at += align_up(row.bytes);
    return code;
}

int pli_balance_image_unpack(const struct pli_balance *b, struct pli_balance_ep *ep,
                             const void *buf, MPI_Count bytes)
{
    struct pli_balance_ep *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return pli_balance_error_code(MPI_ERR_NO_MEM, "no memory to read the data of an endpoint");
    }
    uint64_t at = sizeof(struct pli_balance_image_head);
    int code = read_head(b, buf, bytes);
    for (int i = 0; i < b->n_part && code == MPI_SUCCESS; i++) {
        code = read_part(&b->part[i], buf, &at, (uint64_t)bytes, &made->data[i]);
    }
    if (code != MPI_SUCCESS) {
        pli_balance_image_drop(b, made);
    } else {
        pli_balance_image_drop(b, ep); // what it had before
        memcpy(ep->data, made->data, sizeof ep->data);
    }
    free(made);
    return code;
}

void pli_balance_image_drop(const struct pli_balance *b, struct pli_balance_ep *ep)
{
    for (int i = 0; i < b->n_part; i++) {
        if (ep->data[i] != NULL && b->part[i].calls.drop != NULL) {
            b->part[i].calls.drop(ep->data[i], b->part[i].arg);
        }
        ep->data[i] = NULL;
    }
}

uint64_t pli_balance_image_names(const struct pli_balance *b)
{
    uint64_t h = 14695981039346656037u;
    for (int i = 0; i < b->n_part; i++) {
        for (const char *c = b->part[i].name;; c++) {
            h = (h ^ (unsigned char)*c) * 1099511628211u;
            if (*c == '\0') {
                break;
            }
        }
    }
    return h;
}
