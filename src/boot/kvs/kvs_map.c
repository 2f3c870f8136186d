// SPDX-License-Identifier: BSD-3-Clause
// Numbers the hosts, whatever the launcher calls them.
#include "boot/kvs/kvs_map.h"

#include "boot/pset.h"
#include "boot/kvs/kvs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY_HOST "pliant-host"

void pli_kvs_map_fini(struct pli_kvs_map *m)
{
    free(m->host_of);
    free(m->row_of);
    free(m->leader);
}

// The number of the host that the launcher calls `word`: the last one most of the time, a new one
// when it is unknown. words: what each host is called.
static uint32_t number_of(struct pli_kvs_map *m, uint32_t *words, uint32_t word, uint32_t process)
{
    for (uint32_t h = m->n_host; h-- > 0;) {
        if (words[h] == word) {
            return h;
        }
    }
    words[m->n_host] = word;
    m->leader[m->n_host] = process;
    return m->n_host++;
}

// Number hosts and rows, whatever the launcher called the hosts.
static enum pli_err number_all(struct pli_kvs_map *m, uint32_t n, uint32_t me)
{
    uint32_t *words = malloc(n * sizeof *words), *n_row = calloc(n, sizeof *n_row);
    bool has_memory = words != NULL && n_row != NULL;
    for (uint32_t p = 0; has_memory && p < n; p++) {
        m->host_of[p] = number_of(m, words, m->host_of[p], p);
        m->row_of[p] = n_row[m->host_of[p]]++;
    }
    m->n_here = has_memory ? n_row[m->host_of[me]] : 0;
    free(words);
    free(n_row);
    return has_memory ? PLI_OK : pli_fail(PLI_ERR_NOMEM, "no memory for a table of hosts");
}

static uint32_t hash_word(const char *s)
{
    uint32_t h = 2166136261u;
    for (; *s != '\0'; s++) {
        h = (h ^ (unsigned char)*s) * 16777619u;
    }
    return h;
}

// The launcher does not tell: every rank says where it is, and reads all others.
static enum pli_err ask_hosts(const struct pli_kvs *s, uint32_t *host_of)
{
    char name[PLI_KVS_VALUE] = "";
    gethostname(name, 64);
    enum pli_err err = s->put(KEY_HOST, name[0] != '\0' ? name : "?");
    err = err == PLI_OK ? s->fence() : err;
    for (uint32_t p = 0; err == PLI_OK && p < s->size; p++) {
        err = s->get(p, KEY_HOST, name, sizeof name);
        host_of[p] = hash_word(name);
    }
    return err;
}

enum pli_err pli_kvs_map_init(struct pli_kvs_map *m, const struct pli_kvs *s)
{
    m->host_of = calloc(s->size, sizeof *m->host_of);
    m->row_of = calloc(s->size, sizeof *m->row_of);
    m->leader = calloc(s->size, sizeof *m->leader);
    if (m->host_of == NULL || m->row_of == NULL || m->leader == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a table of %u processes", s->size);
    }
    enum pli_err err = s->hosts(m->host_of);
    if (err == PLI_AGAIN) {
        err = ask_hosts(s, m->host_of);
    }
    return err == PLI_OK ? number_all(m, s->size, s->rank) : err;
}

// The name of a host's set. Two hosts may have one name, when a launcher pretends.
static void name_set(const struct pli_node *node, uint32_t host, char out[PLI_PSET_NAME])
{
    uint32_t n_same = 0;
    for (uint32_t h = 0; h < host; h++) {
        n_same += strcmp(node->hosts[h].name, node->hosts[host].name) == 0;
    }
    if (n_same > 0) {
        snprintf(out, PLI_PSET_NAME, "mpi://host/%s-%u", node->hosts[host].name, n_same + 1);
    } else {
        snprintf(out, PLI_PSET_NAME, "mpi://host/%s", node->hosts[host].name);
    }
}

enum pli_err pli_kvs_map_sets(const struct pli_kvs_map *m, struct pli_node *node)
{
    uint32_t n = node->header->n_world;
    uint32_t *there = malloc(n * sizeof *there);
    enum pli_err err =
        there != NULL ? PLI_OK : pli_fail(PLI_ERR_NOMEM, "no memory for a list of %u processes", n);
    for (uint32_t h = 0; h < m->n_host && err == PLI_OK; h++) {
        uint32_t n_there = 0;
        for (uint32_t p = m->leader[h]; p < n; p++) {
            if (m->host_of[p] == h) {
                there[n_there++] = p;
            }
        }
        char name[PLI_PSET_NAME];
        name_set(node, h, name);
        err = pli_pset_add(node, name, there, n_there, 1, PLI_PSET_HOST, UINT32_MAX);
        snprintf(name, sizeof name, "mpi://hw/node/%u", h);
        err = err == PLI_OK
                  ? pli_pset_add(node, name, there, n_there, 1, PLI_PSET_HARDWARE, UINT32_MAX)
                  : err;
    }
    free(there);
    return err;
}
