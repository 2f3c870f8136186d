// SPDX-License-Identifier: BSD-3-Clause
// Keeps rules for the choice of algorithms and finds the one that fits. mpiexec gives all ranks of
// a job the same rules, whatever files their hosts have: members that chose differently would wait
// for each other for ever. For the same reason they are not used between jobs.
#include "coll/coll_tune.h"

#include "base/log.h"
#include "base/tune_rule.h"
#include "boot/boot.h"
#include "coll/coll_kind.h"
#include "coll/coll_select.h"
#include "msg/lane.h"
#include "obj/comm.h"

#include <stdlib.h>
#include <string.h>

struct rule {
    int kind;
    int min_rank, max_rank;
    MPI_Count min_bytes, max_bytes;
    const struct pli_coll_algo *row;
};

static struct rule *rules;
static int n_rule;

static int kind_of(const char *name)
{
    for (int k = 0; k < PLI_N_COLL; k++) {
        if (strcmp(pli_coll_kind_info[k].name, name) == 0) {
            return k;
        }
    }
    return -1;
}

static const char *keep(const struct pli_tune_rule *r)
{
    int kind = kind_of(r->operation);
    if (kind < 0) {
        return "names no collective operation (mpiinfo --collectives lists them)";
    }
    const struct pli_coll_algo *row = pli_coll_select_named(kind, r->algorithm);
    if (row == NULL) {
        return "names no algorithm of that operation (mpiinfo --collectives lists them)";
    }
    struct rule *more = realloc(rules, (size_t)(n_rule + 1) * sizeof *rules);
    if (more == NULL) {
        // The other members choose by rules that this one cannot know, and it cannot warn them.
        pli_log(PLI_ERROR, "no memory for the rules of mpiinfo --tune");
        abort();
    }
    rules = more;
    rules[n_rule++] =
        (struct rule){ kind, r->min_rank, r->max_rank, r->min_bytes, r->max_bytes, row };
    return NULL;
}

bool pli_coll_tune_open(const char *text)
{
    char why[256];
    if (!pli_tune_rule_read(text, keep, why, sizeof why)) {
        n_rule = 0; // all ranks have the same text and drop it alike
        if (pli_proc.boot == NULL || pli_proc.boot->index == 0) {
            pli_log(PLI_WARN, "the table of mpiinfo --tune is not used: %s", why);
        }
    }
    return n_rule > 0;
}

static bool is_of_one_job(const struct pli_comm *comm)
{
    for (int i = 0; i < comm->size; i++) {
        if (pli_group_at(comm->group, i).proc >> 32 != pli_proc.id >> 32) {
            return false;
        }
    }
    return true;
}

const struct pli_coll_algo *pli_coll_tune_find(const struct pli_comm *comm, int kind,
                                               MPI_Count bytes)
{
    for (int i = 0; i < n_rule; i++) {
        const struct rule *r = &rules[i];
        if (r->kind == kind && comm->size >= r->min_rank && comm->size <= r->max_rank &&
            bytes >= r->min_bytes && bytes <= r->max_bytes) {
            return is_of_one_job(comm) ? r->row : NULL;
        }
    }
    return NULL;
}
