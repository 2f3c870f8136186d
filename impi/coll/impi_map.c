// SPDX-License-Identifier: BSD-3-Clause
// Clients and hosts of a communicator, numbered by first appearance in it.
#include "impi/coll/impi_map.h"
#include "impi/wire/impi_job.h"
#include <stdlib.h>

// Colours of the ranks by the order in which they first appear; `seen` has one place for each id.
static int colour(const struct pli_impi_job *job, const uint32_t *world, int size, bool by_host,
                  int *seen, int *out)
{
    int n = 0;
    for (int i = 0; i < size; i++) {
        uint32_t host = job->proc[world[i]].host;
        uint32_t id = by_host ? host : job->host[host].client;
        if (seen[id] == 0) {
            seen[id] = ++n;
        }
        out[i] = seen[id] - 1;
    }
    return n;
}

static void fill(struct pli_impi_map *m)
{
    for (int i = 0; i < m->size; i++) {
        m->first[m->number[i] + 1]++;
    }
    for (int n = 0; n < m->n_master; n++) {
        m->first[n + 1] += m->first[n];
    }
    for (int i = m->size - 1; i >= 0; i--) { // from behind, the starts come out right
        m->local[--m->first[m->number[i] + 1]] = i;
        m->master[m->number[i]] = i;
    }
    // each start has moved up one place: first[n + 1] is now where client n begins
    for (int n = 0; n < m->n_master; n++) {
        m->first[n] = m->first[n + 1];
    }
    m->first[m->n_master] = m->size;
}

enum pli_impi_err pli_impi_map_create(const struct pli_impi_job *job, const uint32_t *world,
                                      int size, struct pli_impi_map **out)
{
    for (int i = 0; i < size; i++) {
        if (world[i] >= job->n_proc) {
            return PLI_IMPI_ERR_RANGE;
        }
    }
    struct pli_impi_map *m = calloc(1, sizeof *m);
    size_t n_seen = job->n_host > job->n_client ? job->n_host : job->n_client;
    int *client_seen = calloc(n_seen, sizeof *client_seen);
    int *host_seen = calloc(n_seen, sizeof *host_seen);
    size_t n = (size_t)size + 1;
    if (m != NULL) {
        m->number = calloc(n, sizeof *m->number);
        m->host = calloc(n, sizeof *m->host);
        m->master = calloc(n, sizeof *m->master);
        m->first = calloc(n + 1, sizeof *m->first);
        m->local = calloc(n, sizeof *m->local);
    }
    bool has_all = m != NULL && client_seen != NULL && host_seen != NULL && m->number != NULL &&
                   m->host != NULL && m->master != NULL && m->first != NULL && m->local != NULL;
    if (has_all) {
        m->size = size;
        m->n_master = colour(job, world, size, false, client_seen, m->number);
        m->n_host = colour(job, world, size, true, host_seen, m->host);
        fill(m);
        *out = m;
    } else {
        pli_impi_map_destroy(m);
    }
    free(client_seen);
    free(host_seen);
    return has_all ? PLI_IMPI_OK : PLI_IMPI_ERR_NOMEM;
}

void pli_impi_map_destroy(struct pli_impi_map *m)
{
    if (m == NULL) {
        return;
    }
    free(m->number);
    free(m->host);
    free(m->master);
    free(m->first);
    free(m->local);
    free(m);
}
