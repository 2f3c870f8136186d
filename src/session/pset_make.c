// SPDX-License-Identifier: BSD-3-Clause
// Makes process sets from groups and by set operations. Here a set is a list of process indices in
// ascending order.
#include "session/pset_make.h"

#include "boot/boot.h"
#include "boot/pset.h"
#include "msg/lane.h"
#include "msg/progress.h"
#include "obj/group.h"
#include "session/session_pset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
    uint32_t *at, n;
};

enum membership { IN_A = 1, IN_B = 2, IN_BOTH = 4 };

static enum pli_err no_memory(uint32_t n)
{
    return pli_fail(PLI_ERR_NOMEM, "no memory for a set of %u processes", n);
}

static int compare_index(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

// The processes of a group; a process with several endpoints is listed once.
static enum pli_err list_group(const struct pli_group *group, struct list *out)
{
    uint32_t n = 0, *at = malloc((size_t)group->size * sizeof *at + 1);
    if (at == NULL) {
        return no_memory((uint32_t)group->size);
    }
    for (int i = 0; i < group->size; i++) {
        struct pli_id id = pli_group_at(group, i);
        if (pli_node_job_of(id.proc) != pli_proc.boot->job) {
            free(at);
            return pli_fail(PLI_ERR_GROUP, "member %d of the group is not a process of this job",
                            i);
        }
        at[i] = (uint32_t)id.proc;
    }
    qsort(at, (size_t)group->size, sizeof *at, compare_index);
    for (int i = 0; i < group->size; i++) {
        if (n == 0 || at[n - 1] != at[i]) {
            at[n++] = at[i];
        }
    }
    *out = (struct list){ at, n };
    return PLI_OK;
}

static enum pli_err add_set(const char *name, const struct list *l, uint32_t version)
{
    return pli_pset_add(&pli_proc.boot->node, name, l->at, l->n, version, PLI_PSET_MADE,
                        pli_proc.boot->index);
}

// Whether a program may give this name: not one of MPI's, and not that of a version.
static enum pli_err check_name(const char *name)
{
    enum pli_err err = pli_pset_check_name(name, false);
    if (err == PLI_OK && strchr(name, '@') != NULL) {
        err = pli_fail(PLI_ERR_ARG,
                       "the process set '%s' cannot be made: @ is for versions, which "
                       "MPIX_Pset_revise makes",
                       name);
    }
    return err;
}

enum pli_err pli_pset_make_from_group(struct pli_session *s, struct pli_group *group,
                                      const char *name)
{
    struct list l;
    (void)s;
    enum pli_err err = check_name(name);
    if (err == PLI_OK) {
        err = list_group(group, &l);
    }
    if (err == PLI_OK) {
        err = add_set(name, &l, 1);
        free(l.at);
    }
    return err;
}

// Merge two ascending lists; keep says which elements belong to the result. out has room for both.
static void merge(const struct list *a, const struct list *b, int keep, struct list *out)
{
    uint32_t i = 0, k = 0;
    while (i < a->n || k < b->n) {
        uint32_t x = i < a->n ? a->at[i] : UINT32_MAX, y = k < b->n ? b->at[k] : UINT32_MAX;
        int where = x == y ? IN_BOTH : x < y ? IN_A : IN_B;
        if ((where & keep) != 0) {
            out->at[out->n++] = x < y ? x : y;
        }
        i += x <= y;
        k += y <= x;
    }
}

static enum pli_err combine(const char *name_a, const char *name_b, int keep, const char *name)
{
    struct list a = { 0 }, b = { 0 }, out = { 0 };
    enum pli_err err = check_name(name);
    if (err == PLI_OK) {
        err = pli_session_pset_list(name_a, &a.at, &a.n);
    }
    if (err == PLI_OK) {
        err = pli_session_pset_list(name_b, &b.at, &b.n);
    }
    if (err == PLI_OK) {
        out.at = malloc(((size_t)a.n + b.n) * sizeof *out.at + 1);
        err = out.at != NULL ? PLI_OK : no_memory(a.n + b.n);
    }
    if (err == PLI_OK) {
        merge(&a, &b, keep, &out);
        err = add_set(name, &out, 1);
    }
    free(a.at);
    free(b.at);
    free(out.at);
    return err;
}

enum pli_err pli_pset_make_union(struct pli_session *s, const char *a, const char *b,
                                 const char *name)
{
    (void)s;
    return combine(a, b, IN_A | IN_B | IN_BOTH, name);
}

enum pli_err pli_pset_make_intersection(struct pli_session *s, const char *a, const char *b,
                                        const char *name)
{
    (void)s;
    return combine(a, b, IN_BOTH, name);
}

enum pli_err pli_pset_make_difference(struct pli_session *s, const char *a, const char *b,
                                      const char *name)
{
    (void)s;
    return combine(a, b, IN_A, name);
}

// Whether a set has exactly these members; false also when it was freed meanwhile.
static bool has_members(const char *name, const struct list *l)
{
    struct list has = { 0 };
    bool is = pli_session_pset_list(name, &has.at, &has.n) == PLI_OK && has.n == l->n &&
              memcmp(has.at, l->at, l->n * sizeof *l->at) == 0;
    free(has.at);
    return is;
}

// Use the newest version if it has these members, otherwise add the next.
static enum pli_err next_version(const char *stem, const struct list *l, char *name_out)
{
    for (;;) {
        uint32_t version = pli_session_pset_newest(stem, name_out);
        if (version == 0) {
            return pli_fail(PLI_ERR_ARG, "there is no process set '%s' to revise", stem);
        }
        if (has_members(name_out, l)) {
            // It is made once more, as by all calls that make sets.
            return add_set(name_out, l, version);
        }
        pli_fail_take(NULL);
        if (snprintf(name_out, PLI_PSET_NAME, "%s@%u", stem, version + 1) >= PLI_PSET_NAME) {
            return pli_fail(PLI_ERR_ARG, "the name '%.40s...' is too long for a version", stem);
        }
        enum pli_err err = add_set(name_out, l, version + 1);
        if (err != PLI_ERR_NAME) { // otherwise another process added it first: try the next
            return err;
        }
    }
}

enum pli_err pli_pset_make_revise(struct pli_session *s, const char *name, struct pli_group *group,
                                  char *name_out)
{
    struct list l;
    (void)s;
    enum pli_err err = check_name(name);
    if (err == PLI_OK) {
        err = list_group(group, &l);
    }
    if (err == PLI_OK) {
        err = next_version(name, &l, name_out);
        free(l.at);
    }
    return err;
}

enum pli_err pli_pset_make_free(struct pli_session *s, const char *name)
{
    (void)s;
    enum pli_err err = pli_pset_check_name(name, true);
    return err == PLI_OK ? pli_pset_release(&pli_proc.boot->node, name, NULL, 0) : err;
}

// A watch makes the waiting loop wake up from time to time, and the loop itself looks for the set.
static void ignore(const struct pli_waiter *w)
{
    (void)w;
}

enum pli_err pli_pset_make_wait(struct pli_session *s, const char *name)
{
    struct pli_pset set;
    (void)s;
    enum pli_err err = pli_pset_check_name(name, true);
    if (err != PLI_OK || pli_pset_is_name(PLI_PSET_WORLD, name) ||
        pli_pset_is_name(PLI_PSET_SELF, name)) {
        return err;
    }
    // No message says that a set was made: poll often at first, then a few times a second.
    struct pli_waiter w = { .lane = pli_proc.lanes[0], .is_restless = true };
    for (uint32_t n = 0; !pli_pset_find(&pli_proc.boot->node, name, &set); n++) {
        pli_progress_step(&w);
        if (n == 2000) {
            w.is_restless = false;
            w.watch = ignore;
        }
    }
    pli_progress_end(&w);
    return PLI_OK;
}
