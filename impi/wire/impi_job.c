// SPDX-License-Identifier: BSD-3-Clause
// Builds the job from the collated labels. Every count is checked against the bytes that came, so
// nothing is allocated that was not paid for in bytes.
#include "wire/impi_collated.h"
#include "wire/impi_job.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROC = 1 << 28 }; // the table of identities stays within 32 bits

struct build {
    const struct pli_impi_collated *c;
    struct pli_impi_job *job;
    char *why;
    size_t cap;
};

__attribute__((format(printf, 2, 3))) static enum pli_impi_err refuse(struct build *b,
                                                                      const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(b->why, b->cap, fmt, ap);
    va_end(ap);
    return PLI_IMPI_ERR_PROTO;
}

static uint32_t full_mask(uint32_t n_client)
{
    return n_client == 32 ? UINT32_MAX : ((uint32_t)1 << n_client) - 1;
}

// Elements of a label that every client must have sent.
static enum pli_impi_err count_of(struct build *b, uint32_t label, size_t *n_out)
{
    int row = pli_impi_label_find(label);
    const struct pli_impi_label_row *r = &pli_impi_label_table[row];
    uint32_t missing = full_mask(b->job->n_client) & ~b->c->row[row].mask;
    if (b->c->row[row].data == NULL) {
        return refuse(b, "the server did not send IMPI_%s", r->name);
    }
    if (missing != 0) {
        return refuse(b, "client %d did not send IMPI_%s", __builtin_ctz(missing), r->name);
    }
    if (b->c->row[row].len % r->size != 0) {
        return refuse(b, "IMPI_%s has %zu bytes, not a multiple of %d", r->name, b->c->row[row].len,
                      r->size);
    }
    *n_out = b->c->row[row].len / r->size;
    return PLI_IMPI_OK;
}

// Check that a label has n elements in all.
static enum pli_impi_err expect(struct build *b, uint32_t label, uint64_t n)
{
    size_t got = 0;
    enum pli_impi_err err = count_of(b, label, &got);
    if (err == PLI_IMPI_OK && got != n) {
        return refuse(b, "IMPI_%s has %zu elements for %llu",
                      pli_impi_label_table[pli_impi_label_find(label)].name, got,
                      (unsigned long long)n);
    }
    return err;
}

// Element i of a label whose count was checked.
static struct pli_impi_label_value element(const struct build *b, uint32_t label, size_t i)
{
    int row = pli_impi_label_find(label);
    struct pli_impi_label_value v = { 0 };
    (void)pli_impi_label_get(row, b->c->row[row].data, b->c->row[row].len, i, &v);
    return v;
}

static uint32_t word(const struct build *b, uint32_t label, size_t i)
{
    return element(b, label, i).u32;
}

// Each client's list begins with 0.0, which is where one list ends and the next begins.
static enum pli_impi_err read_versions(struct build *b)
{
    size_t n = 0;
    enum pli_impi_err err = count_of(b, PLI_IMPI_C_VERSION, &n);
    if (err != PLI_IMPI_OK) {
        return err;
    }
    uint32_t n_list = 0;
    struct pli_impi_version last = { 0, 0 };
    for (size_t i = 0; i < n; i++) {
        struct pli_impi_version v = element(b, PLI_IMPI_C_VERSION, i).version;
        bool is_first = v.major == 0 && v.minor == 0;
        if (is_first && n_list == b->job->n_client) {
            return refuse(b, "IMPI_C_VERSION has more lists than clients");
        }
        if (!is_first && n_list == 0) {
            return refuse(b, "client 0 does not speak version 0.0");
        }
        if (!is_first &&
            (v.major < last.major || (v.major == last.major && v.minor <= last.minor))) {
            return refuse(b, "client %u lists versions out of order", n_list - 1);
        }
        n_list += is_first;
        b->job->client[n_list - 1].version = v;
        last = v;
    }
    if (n_list != b->job->n_client) {
        return refuse(b, "IMPI_C_VERSION has %u lists for %u clients", n_list, b->job->n_client);
    }
    return PLI_IMPI_OK;
}

static enum pli_impi_err read_counts(struct build *b)
{
    struct pli_impi_job *job = b->job;
    enum pli_impi_err err = expect(b, PLI_IMPI_C_NHOSTS, job->n_client);
    if (err == PLI_IMPI_OK) {
        err = expect(b, PLI_IMPI_C_NPROCS, job->n_client);
    }
    if (err != PLI_IMPI_OK) {
        return err;
    }
    uint64_t n_host = 0, n_proc = 0;
    for (uint32_t c = 0; c < job->n_client; c++) {
        struct pli_impi_job_client *jc = &job->client[c];
        jc->first_host = (uint32_t)n_host;
        jc->first_rank = (uint32_t)n_proc;
        jc->n_host = word(b, PLI_IMPI_C_NHOSTS, c);
        jc->n_proc = word(b, PLI_IMPI_C_NPROCS, c);
        n_host += jc->n_host;
        n_proc += jc->n_proc;
        if (jc->n_host == 0 || jc->n_proc == 0 || n_host > MAX_PROC || n_proc > MAX_PROC) {
            return refuse(b, "client %u has %u hosts and %u procs", c, jc->n_host, jc->n_proc);
        }
    }
    static const uint32_t per_host[] = { PLI_IMPI_H_IPV6, PLI_IMPI_H_PORT, PLI_IMPI_H_NPROCS,
                                         PLI_IMPI_H_ACKMARK, PLI_IMPI_H_HIWATER };
    for (size_t i = 0; i < sizeof per_host / sizeof *per_host && err == PLI_IMPI_OK; i++) {
        err = expect(b, per_host[i], n_host);
    }
    if (err == PLI_IMPI_OK) {
        err = expect(b, PLI_IMPI_P_IPV6, n_proc);
    }
    if (err == PLI_IMPI_OK) {
        err = expect(b, PLI_IMPI_P_PID, n_proc);
    }
    job->n_host = (uint32_t)n_host;
    job->n_proc = (uint32_t)n_proc;
    return err;
}

static enum pli_impi_err read_host(struct build *b, uint32_t client, uint32_t i, uint64_t *rank)
{
    struct pli_impi_job *job = b->job;
    struct pli_impi_job_host *jh = &job->host[i];
    *jh = (struct pli_impi_job_host){
        .h.port = word(b, PLI_IMPI_H_PORT, i) & 0xffff,
        .h.n_proc = word(b, PLI_IMPI_H_NPROCS, i),
        .h.ackmark = word(b, PLI_IMPI_H_ACKMARK, i),
        .h.hiwater = word(b, PLI_IMPI_H_HIWATER, i),
        .client = client,
        .first_rank = (uint32_t)*rank,
    };
    memcpy(jh->h.addr, element(b, PLI_IMPI_H_IPV6, i).addr, PLI_IMPI_HOSTID);
    if (jh->h.port == 0 || jh->h.n_proc == 0) {
        return refuse(b, "host %u of client %u has port %u and %u procs", i, client, jh->h.port,
                      jh->h.n_proc);
    }
    if (jh->h.ackmark == 0 || jh->h.ackmark > jh->h.hiwater) {
        return refuse(b, "host %u of client %u has ackmark %u and hiwater %u", i, client,
                      jh->h.ackmark, jh->h.hiwater);
    }
    job->ackmark = jh->h.ackmark < job->ackmark ? jh->h.ackmark : job->ackmark;
    job->hiwater = jh->h.hiwater < job->hiwater ? jh->h.hiwater : job->hiwater;
    *rank += jh->h.n_proc;
    return PLI_IMPI_OK;
}

static enum pli_impi_err read_hosts(struct build *b)
{
    struct pli_impi_job *job = b->job;
    job->host = calloc(job->n_host, sizeof *job->host);
    if (job->host == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    job->ackmark = job->hiwater = UINT32_MAX;
    uint64_t rank = 0;
    for (uint32_t c = 0; c < job->n_client; c++) {
        const struct pli_impi_job_client *jc = &job->client[c];
        for (uint32_t i = jc->first_host; i < jc->first_host + jc->n_host; i++) {
            enum pli_impi_err err = read_host(b, c, i, &rank);
            if (err != PLI_IMPI_OK) {
                return err;
            }
        }
        if (rank != (uint64_t)jc->first_rank + jc->n_proc) {
            return refuse(b, "the hosts of client %u do not add up to its %u procs", c, jc->n_proc);
        }
    }
    return PLI_IMPI_OK;
}

static uint64_t hash_of(const struct pli_impi_proc_id *id)
{
    uint64_t h = 14695981039346656037u;
    for (int i = 0; i < PLI_IMPI_HOSTID; i++) {
        h = (h ^ id->host[i]) * 1099511628211u;
    }
    h = (h ^ id->pid) * 1099511628211u;
    return h ^ (h >> 29);
}

static uint32_t *slot_of(const struct pli_impi_job *job, const struct pli_impi_proc_id *id)
{
    uint32_t i = (uint32_t)hash_of(id) & (job->n_index - 1);
    while (job->index[i] != 0 &&
           !pli_impi_packet_is_same_proc(&job->proc[job->index[i] - 1].id, id)) {
        i = (i + 1) & (job->n_index - 1);
    }
    return &job->index[i];
}

static enum pli_impi_err read_procs(struct build *b)
{
    struct pli_impi_job *job = b->job;
    job->n_index = 16;
    while (job->n_index < 2 * (uint64_t)job->n_proc) {
        job->n_index *= 2;
    }
    job->proc = calloc(job->n_proc, sizeof *job->proc);
    job->index = calloc(job->n_index, sizeof *job->index);
    if (job->proc == NULL || job->index == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    uint32_t h = 0;
    for (uint32_t i = 0; i < job->n_proc; i++) {
        while (i >= job->host[h].first_rank + job->host[h].h.n_proc) {
            h++;
        }
        struct pli_impi_job_proc *p = &job->proc[i];
        p->host = h;
        p->id.pid = element(b, PLI_IMPI_P_PID, i).u64;
        memcpy(p->id.host, element(b, PLI_IMPI_P_IPV6, i).addr, PLI_IMPI_HOSTID);
        uint32_t *slot = slot_of(job, &p->id);
        if (*slot != 0) {
            return refuse(b, "procs %u and %u have the same identity", *slot - 1, i);
        }
        *slot = i + 1;
    }
    return PLI_IMPI_OK;
}

// The data length a client did not send is 1, the smallest there is: always safe.
static enum pli_impi_err read_datalen(struct build *b)
{
    int row = pli_impi_label_find(PLI_IMPI_C_DATALEN);
    uint32_t mask = b->c->row[row].mask & full_mask(b->job->n_client);
    size_t n = b->c->row[row].len / 4;
    if (b->c->row[row].len % 4 != 0 || n != (size_t)__builtin_popcount(mask)) {
        return refuse(b, "IMPI_C_DATALEN has %zu bytes for %d clients", b->c->row[row].len,
                      __builtin_popcount(mask));
    }
    b->job->datalen = mask == full_mask(b->job->n_client) ? UINT32_MAX : 1;
    for (size_t i = 0; i < n; i++) {
        uint32_t v = word(b, PLI_IMPI_C_DATALEN, i);
        if (v == 0) {
            return refuse(b, "a client's IMPI_C_DATALEN is 0");
        }
        b->job->datalen = v < b->job->datalen ? v : b->job->datalen;
    }
    return PLI_IMPI_OK;
}

static enum pli_impi_err read_tag_ub(struct build *b)
{
    enum pli_impi_err err = expect(b, PLI_IMPI_C_TAGUB, b->job->n_client);
    if (err != PLI_IMPI_OK) {
        return err;
    }
    b->job->tag_ub = INT32_MAX;
    for (uint32_t c = 0; c < b->job->n_client; c++) {
        int32_t v = (int32_t)word(b, PLI_IMPI_C_TAGUB, c);
        if (v < PLI_IMPI_MIN_TAGUB) {
            return refuse(b, "client %u has a largest tag of %d, below 32767", c, v);
        }
        b->job->tag_ub = v < b->job->tag_ub ? v : b->job->tag_ub;
    }
    return PLI_IMPI_OK;
}

// What is not of IMPI counts if all clients say it.
static enum pli_impi_err read_features(struct build *b)
{
    int row = pli_impi_label_find(PLI_IMPI_X_PLIANT);
    uint32_t n = b->job->n_client;
    if (b->c->row[row].mask != full_mask(n) ||
        b->c->row[row].len != (size_t)n * pli_impi_label_table[row].size) {
        return PLI_IMPI_OK;
    }
    b->job->features = UINT32_MAX;
    for (uint32_t c = 0; c < n; c++) {
        struct pli_impi_label_value v = element(b, PLI_IMPI_X_PLIANT, c);
        b->job->features &= v.features;
        b->job->client[c].features = v.features;
        b->job->client[c].machine = v.machine;
        memcpy(b->job->client[c].token, v.token, PLI_IMPI_TOKEN);
    }
    return PLI_IMPI_OK;
}

// A threshold on which all clients must agree, once -1 has become the default.
static enum pli_impi_err read_equal(struct build *b, uint32_t label, int32_t dflt, int32_t *out)
{
    enum pli_impi_err err = expect(b, label, b->job->n_client);
    if (err != PLI_IMPI_OK) {
        return err;
    }
    for (uint32_t c = 0; c < b->job->n_client; c++) {
        int32_t v = (int32_t)word(b, label, c);
        v = v == PLI_IMPI_LABEL_DEFAULT ? dflt : v;
        if (v < 0 || (c > 0 && v != *out)) {
            return refuse(b, "client %u wants %s %d%s", c,
                          pli_impi_label_table[pli_impi_label_find(label)].name, v,
                          v < 0 ? "" : ", another than client 0");
        }
        *out = v;
    }
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_job_create(uint32_t n_client, const struct pli_impi_collated *c,
                                      char *why, size_t cap, struct pli_impi_job **out)
{
    struct build b = { .c = c, .why = why, .cap = cap };
    if (n_client == 0 || n_client > PLI_IMPI_MAX_CLIENT) {
        return refuse(&b, "%u clients", n_client);
    }
    b.job = calloc(1, sizeof *b.job);
    if (b.job == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    snprintf(why, cap, "out of memory");
    b.job->n_client = n_client;
    static enum pli_impi_err (*const step[])(struct build *) = {
        read_versions, read_counts, read_hosts,    read_procs,
        read_datalen,  read_tag_ub, read_features,
    };
    enum pli_impi_err err = PLI_IMPI_OK;
    for (size_t i = 0; i < sizeof step / sizeof *step && err == PLI_IMPI_OK; i++) {
        err = step[i](&b);
    }
    if (err == PLI_IMPI_OK) {
        err = read_equal(&b, PLI_IMPI_C_COLL_XSIZE, PLI_IMPI_DEFAULT_XSIZE, &b.job->coll_xsize);
    }
    if (err == PLI_IMPI_OK) {
        err = read_equal(&b, PLI_IMPI_C_COLL_MAXLINEAR, PLI_IMPI_DEFAULT_MAXLINEAR,
                         &b.job->coll_maxlinear);
    }
    if (err != PLI_IMPI_OK) {
        pli_impi_job_destroy(b.job);
        return err;
    }
    *out = b.job;
    return PLI_IMPI_OK;
}

void pli_impi_job_destroy(struct pli_impi_job *job)
{
    if (job != NULL) {
        free(job->host);
        free(job->proc);
        free(job->index);
        free(job);
    }
}

enum pli_impi_err pli_impi_job_find(const struct pli_impi_job *job,
                                    const struct pli_impi_proc_id *id, uint32_t *rank_out)
{
    uint32_t at = *slot_of(job, id);
    if (at == 0) {
        return PLI_IMPI_ERR_PROTO;
    }
    *rank_out = at - 1;
    return PLI_IMPI_OK;
}

bool pli_impi_job_is_near(const struct pli_impi_job *job, uint32_t client, uint32_t other)
{
    return (job->features & PLI_IMPI_HAS_TOKEN) != 0 && job->client[client].machine != 0 &&
           job->client[client].machine == job->client[other].machine;
}
