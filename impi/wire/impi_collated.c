// SPDX-License-Identifier: BSD-3-Clause
// Copies the COLL commands of the server, and writes them down again for other hosts.
#include "wire/impi_collated.h"
#include <stdlib.h>
#include <string.h>

enum pli_impi_err pli_impi_collated_add(struct pli_impi_collated *c, const struct pli_impi_cmd *cmd)
{
    int row = pli_impi_label_find(cmd->label);
    if (row < 0) {
        return PLI_IMPI_OK;
    }
    if (c->row[row].data != NULL) {
        return PLI_IMPI_ERR_PROTO;
    }
    unsigned char *copy = malloc(cmd->len + 1); // + 1: an empty label is kept too
    if (copy == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    memcpy(copy, cmd->data, cmd->len);
    c->row[row].data = copy;
    c->row[row].len = cmd->len;
    c->row[row].mask = cmd->mask;
    return PLI_IMPI_OK;
}

void pli_impi_collated_fini(struct pli_impi_collated *c)
{
    for (int i = 0; i < PLI_IMPI_N_LABEL; i++) {
        free(c->row[i].data);
    }
    memset(c, 0, sizeof *c);
}

size_t pli_impi_collated_len(const struct pli_impi_collated *c)
{
    size_t len = 0;
    for (int i = 0; i < PLI_IMPI_N_LABEL; i++) {
        if (c->row[i].data != NULL) {
            len += PLI_IMPI_CMD_COLLALL_HEAD + c->row[i].len;
        }
    }
    return len;
}

void pli_impi_collated_put(const struct pli_impi_collated *c, unsigned char *p)
{
    for (int i = 0; i < PLI_IMPI_N_LABEL; i++) {
        if (c->row[i].data == NULL) {
            continue;
        }
        size_t len = c->row[i].len;
        p += pli_impi_cmd_put_collall(p, pli_impi_label_table[i].label, c->row[i].mask, len);
        memcpy(p, c->row[i].data, len);
        p += len;
    }
}

enum pli_impi_err pli_impi_collated_get(struct pli_impi_collated *c, const unsigned char *p,
                                        size_t len)
{
    while (len > 0) {
        struct pli_impi_cmd_head head;
        struct pli_impi_cmd cmd;
        enum pli_impi_err err = pli_impi_cmd_get_head(p, len, &head);
        if (err != PLI_IMPI_OK || head.len > len - PLI_IMPI_CMD_HEAD) {
            return PLI_IMPI_ERR_PROTO;
        }
        err = pli_impi_cmd_get_server(&head, p + PLI_IMPI_CMD_HEAD, &cmd);
        if (err != PLI_IMPI_OK) {
            return err;
        }
        if (cmd.cmd == PLI_IMPI_CMD_COLL) {
            err = pli_impi_collated_add(c, &cmd);
            if (err != PLI_IMPI_OK) {
                return err;
            }
        }
        p += PLI_IMPI_CMD_HEAD + head.len;
        len -= PLI_IMPI_CMD_HEAD + head.len;
    }
    return PLI_IMPI_OK;
}
