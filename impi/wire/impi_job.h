// SPDX-License-Identifier: BSD-3-Clause
// The job as every client computes it from the labels the server handed round: clients, hosts and
// procs in the order the protocol fixes, and the negotiated values. Context: start-up only for
// building; a built job is read-only and may be read by any thread.
#ifndef PLI_IMPI_JOB_H
#define PLI_IMPI_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/impi_cmd_wire.h"
#include "wire/impi_err.h"
#include "wire/impi_label_wire.h"

struct pli_impi_collated;

struct pli_impi_job_client {
    uint32_t first_host, n_host, first_rank, n_proc;
    struct pli_impi_version version; // the newest it speaks
    unsigned char token[PLI_IMPI_TOKEN];
    uint32_t machine;  // 0: not known
    uint32_t features; // enum pli_impi_feature, of this one
};

struct pli_impi_job_host {
    struct pli_impi_host h;
    uint32_t client, first_rank;
};

struct pli_impi_job_proc {
    struct pli_impi_proc_id id;
    uint32_t host;
};

struct pli_impi_job {
    uint32_t n_client, n_host, n_proc;
    uint32_t datalen;          // minimum over clients
    uint32_t ackmark, hiwater; // minima over all hosts (errata)
    int32_t tag_ub;            // minimum over clients
    int32_t coll_xsize, coll_maxlinear;
    uint32_t features; // enum pli_impi_feature: what all clients have
    struct pli_impi_job_client client[PLI_IMPI_MAX_CLIENT];
    struct pli_impi_job_host *host; // global host order
    struct pli_impi_job_proc *proc; // MPI_COMM_WORLD order
    uint32_t *index;                // hash of proc ids: rank + 1, 0 is free
    uint32_t n_index;               // a power of two
};

// Build the job of `n_client` clients. On failure `why` (of `cap` bytes) says what is wrong, and in
// which client. The result belongs to the caller.
enum pli_impi_err pli_impi_job_create(uint32_t n_client, const struct pli_impi_collated *c,
                                      char *why, size_t cap, struct pli_impi_job **out);
void pli_impi_job_destroy(struct pli_impi_job *job);

// Whether two clients have told that they are on one machine, so that what goes between them leaves
// it nowhere.
bool pli_impi_job_is_near(const struct pli_impi_job *job, uint32_t client, uint32_t other);

// WORLD rank of a proc. PLI_IMPI_ERR_PROTO: no process of this job.
enum pli_impi_err pli_impi_job_find(const struct pli_impi_job *job,
                                    const struct pli_impi_proc_id *id, uint32_t *rank_out);

#endif
