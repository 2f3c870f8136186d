// SPDX-License-Identifier: BSD-3-Clause
// Makes two levels of communicators from process sets: one of the caller's set, and one of the
// first processes of all sets. The members of the sets are read from the node's memory.
#include "session/sparse.h"

#include "boot/boot.h"
#include "boot/pset.h"
#include "msg/lane.h"
#include "obj/comm.h"
#include "obj/group_build.h"
#include "session/from_group.h"
#include "session/session_pset.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct plan {
    char *mine; // name of the caller's set; of the heap
    uint32_t *leaders, n, cap;
};

static int compare_index(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static enum pli_err add_leader(struct plan *p, const struct pli_pset *set, const char *prefix)
{
    if (p->n == p->cap) {
        uint32_t cap = p->cap == 0 ? 16 : 2 * p->cap;
        uint32_t *more = realloc(p->leaders, cap * sizeof *more);
        if (more == NULL) {
            return pli_fail(PLI_ERR_NOMEM, "no memory for %u leaders", cap);
        }
        p->leaders = more;
        p->cap = cap;
    }
    p->leaders[p->n++] = set->runs[0].first;
    if (pli_pset_has(set, pli_proc.boot->index)) {
        if (p->mine != NULL) {
            return pli_fail(PLI_ERR_ARG,
                            "the process sets that begin with '%s' are not disjoint: this process "
                            "is in '%s' and in '%s'",
                            prefix, p->mine, set->name);
        }
        p->mine = strdup(set->name);
        if (p->mine == NULL) {
            return pli_fail(PLI_ERR_NOMEM, "no memory for the name of a process set");
        }
    }
    return PLI_OK;
}

static enum pli_err make_plan(const char *prefix, struct plan *p)
{
    struct pli_pset set;
    size_t len = strlen(prefix);
    bool is_folded = strncasecmp(prefix, "mpi://", 6) == 0;
    enum pli_err err = PLI_OK;
    pli_pset_lock(&pli_proc.boot->node);
    for (uint32_t at = 0; err == PLI_OK && pli_pset_next(&pli_proc.boot->node, &at, &set);) {
        bool fits = is_folded ? strncasecmp(set.name, prefix, len) == 0
                              : strncmp(set.name, prefix, len) == 0;
        // A later version is another set with another name; only first versions are used.
        if (fits && set.version == 1 && set.n > 0) {
            err = add_leader(p, &set, prefix);
        }
    }
    pli_pset_unlock(&pli_proc.boot->node);
    if (err == PLI_OK && p->mine == NULL) {
        err = pli_fail(PLI_ERR_ARG,
                       "this process is in none of the %u process sets that begin with '%s'", p->n,
                       prefix);
    }
    if (err == PLI_OK) {
        qsort(p->leaders, p->n, sizeof *p->leaders, compare_index);
    }
    return err;
}

static enum pli_err leaders_group(struct pli_session *s, const struct plan *p,
                                  struct pli_group **out)
{
    struct pli_group_build b;
    pli_group_build_init(&b);
    for (uint32_t i = 0; i < p->n; i++) {
        pli_group_build_add_id(&b, (struct pli_id){ pli_proc.boot->job | p->leaders[i], 0 });
    }
    return pli_group_build_finish(&b, s, (struct pli_id){ pli_proc.id, 0 }, out);
}

enum pli_err pli_sparse_create(struct pli_session *s, const char *prefix, const char *tag,
                               struct pli_info *info, struct pli_errhandler *errhandler,
                               struct pli_comm **local_out, struct pli_comm **leaders_out)
{
    struct plan p = { 0 };
    struct pli_group *group;
    struct pli_comm *local = NULL, *leaders = NULL;
    enum pli_err err = make_plan(prefix != NULL ? prefix : "mpi://host/", &p);
    if (err == PLI_OK) {
        err = pli_session_pset_group(s, p.mine, &group);
    }
    if (err == PLI_OK) {
        err = pli_from_group_comm(group, tag, info, errhandler, &local);
        pli_group_release(group);
    }
    if (err == PLI_OK && local->rank == 0) {
        err = leaders_group(s, &p, &group);
        if (err == PLI_OK) {
            err = pli_from_group_comm(group, tag, info, errhandler, &leaders);
            pli_group_release(group);
        }
    }
    free(p.leaders);
    free(p.mine);
    if (err != PLI_OK) {
        pli_comm_release(local);
        return err;
    }
    *local_out = local;
    *leaders_out = leaders;
    return PLI_OK;
}
