// SPDX-License-Identifier: BSD-3-Clause
// Jobs for tests, made the way a real one is: from the bytes of labels.
#ifndef PLI_TESTS_IMPI_T_JOB_H
#define PLI_TESTS_IMPI_T_JOB_H

#include "t.h"
#include "wire/impi_collated.h"
#include "wire/impi_job.h"

struct t_shape {
    uint32_t n_client, n_host, n_proc; // hosts of each client, procs of each host
    uint32_t datalen, ackmark, hiwater;
};

enum { T_MAX_HOST = 8, T_MAX_PROC = 64 };

struct t_client { // storage behind a struct pli_impi_client_info
    struct pli_impi_version version;
    struct pli_impi_host host[T_MAX_HOST];
    struct pli_impi_proc_id proc[T_MAX_PROC];
    struct pli_impi_client_info info;
};

static inline void t_client(const struct t_shape *s, uint32_t c, struct t_client *out)
{
    memset(out, 0, sizeof *out);
    for (uint32_t h = 0; h < s->n_host; h++) {
        struct pli_impi_host *host = &out->host[h];
        *host = (struct pli_impi_host){ .port = 1 + c * 100 + h,
                                        .n_proc = s->n_proc,
                                        .ackmark = s->ackmark,
                                        .hiwater = s->hiwater };
        pli_impi_label_put_ipv4((const unsigned char[4]){ 127, 0, 0, 1 }, host->addr);
        for (uint32_t p = 0; p < s->n_proc; p++) {
            struct pli_impi_proc_id *id = &out->proc[h * s->n_proc + p];
            memcpy(id->host, host->addr, sizeof id->host);
            id->pid = 1000 * (c + 1) + h * s->n_proc + p;
        }
    }
    out->info = (struct pli_impi_client_info){ .version = &out->version,
                                               .n_version = 1,
                                               .host = out->host,
                                               .n_host = s->n_host,
                                               .proc = out->proc,
                                               .n_proc = s->n_host * s->n_proc,
                                               .datalen = s->datalen,
                                               .tag_ub = INT32_MAX,
                                               .coll_xsize = -1,
                                               .coll_maxlinear = -1 };
}

static inline struct pli_impi_job *t_job(const struct t_shape *s)
{
    static unsigned char buf[65536];
    struct pli_impi_collated c = { 0 };
    struct pli_impi_job *job = NULL;
    char why[200];
    for (int row = 0; row < PLI_IMPI_N_LABEL; row++) {
        struct pli_impi_cmd cmd = { .cmd = PLI_IMPI_CMD_COLL,
                                    .data = buf,
                                    .label = pli_impi_label_table[row].label };
        for (uint32_t i = 0; i < s->n_client; i++) {
            struct t_client client;
            t_client(s, i, &client);
            pli_impi_label_put(&client.info, row, buf + cmd.len);
            cmd.len += pli_impi_label_len(&client.info, row);
            cmd.mask |= (uint32_t)1 << i;
        }
        T_EQ(PLI_IMPI_OK, pli_impi_collated_add(&c, &cmd));
    }
    T_EQ(PLI_IMPI_OK, pli_impi_job_create(s->n_client, &c, why, sizeof why, &job));
    pli_impi_collated_fini(&c);
    return job;
}

#endif
