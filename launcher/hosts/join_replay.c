// SPDX-License-Identifier: BSD-3-Clause
// Copies what has become of the job from the memory of mpiexec into that of a host that joins.
#include "launcher/hosts/join_replay.h"

#include "boot/pset.h"
#include "launcher/job/job.h"
#include "launcher/ranks/failure_news.h"
#include "launcher/base/pack.h"
#include "launcher/job/rank_rows.h"
#include "launcher/base/say.h"

#include <stdlib.h>

static void pack_set(const struct pli_pset *set, struct pli_pack *to)
{
    pli_pack_text(to, set->name);
    pli_pack_u32(to, set->version);
    pli_pack_u32(to, set->origin);
    pli_pack_u32(to, set->maker);
    pli_pack_u32(to, set->n);
    uint32_t *list = pli_say_need(malloc((set->n + 1) * sizeof *list));
    pli_pset_list(set, list);
    for (uint32_t k = 0; k < set->n; k++) {
        pli_pack_u32(to, list[k]);
    }
    free(list);
}

// Those of the table, and the versions of the world that are kept.
static void pack_sets(struct pli_node *node, struct pli_pack *to)
{
    struct pli_pset set;
    uint32_t n = pli_pset_count(node), oldest, newest;
    pli_pset_worlds(node, &oldest, &newest);
    pli_pack_u32(to, n + (newest != 0 ? newest - oldest + 1 : 0));
    pli_pset_lock(node);
    for (uint32_t at = 0; pli_pset_next(node, &at, &set);) {
        pack_set(&set, to);
    }
    pli_pset_unlock(node);
    for (uint32_t v = oldest; newest != 0 && v <= newest && pli_pset_get_world(node, v, &set);
         v++) {
        pack_set(&set, to);
    }
}

static enum pli_err add_set(struct pli_job *job, const char *name, const struct pli_pset *as,
                            const uint32_t *list)
{
    uint32_t number = pli_pset_world_number(name);
    return number != 0 ? pli_pset_add_world(&job->node, number, list, as->n)
           : as->origin == PLI_PSET_MADE
               ? pli_pset_hear(&job->node, name, list, as->n, as->version, as->maker)
               : pli_pset_add(&job->node, name, list, as->n, as->version,
                              (enum pli_pset_origin)as->origin, as->maker);
}

static void take_sets(struct pli_job *job, struct pli_unpack *from)
{
    uint32_t n = pli_unpack_count(from, 20);
    for (uint32_t i = 0; i < n && !from->is_bad; i++) {
        char *name = pli_unpack_text(from);
        struct pli_pset as = { .version = pli_unpack_u32(from) };
        as.origin = pli_unpack_u32(from);
        as.maker = pli_unpack_u32(from);
        as.n = pli_unpack_count(from, 4);
        uint32_t *list = pli_say_need(malloc((as.n + 1) * sizeof *list));
        for (uint32_t k = 0; k < as.n; k++) {
            list[k] = pli_unpack_u32(from);
        }
        if (name == NULL || add_set(job, name, &as, list) != PLI_OK) {
            pli_say("host %s: %s", job->node.header->host, pli_fail_take(NULL));
            from->is_bad = true;
        }
        free(name);
        free(list);
    }
}

void pli_join_replay_pack(struct pli_job *job, struct pli_pack *to)
{
    const struct pli_node_header *h = job->node.header;
    pack_sets(&job->node, to);
    for (uint32_t i = 0; i < h->n_world; i++) {
        pli_pack_u32(to, atomic_load(&job->node.procs[i].has_ended));
    }
    pli_rank_rows_pack_replay(job, to);
    pli_failure_news_pack_replay(job, to);
    pli_pack_u32(to, h->world_size);
    pli_pack_u32(to, (uint32_t)atomic_load(&h->world));
}

void pli_join_replay_take(struct pli_job *job, struct pli_unpack *from)
{
    struct pli_node_header *h = job->node.header;
    take_sets(job, from);
    for (uint32_t i = 0; i < h->n_world; i++) {
        if (pli_unpack_u32(from) != 0) {
            pli_node_set_ended(&job->node, h->base + i);
        }
    }
    pli_rank_rows_take_replay(job, from);
    pli_failure_news_take_replay(job, from);
    h->world_size = pli_unpack_u32(from);
    atomic_store(&h->world, (int)pli_unpack_u32(from));
}
