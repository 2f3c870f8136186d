// SPDX-License-Identifier: BSD-3-Clause
// Contexts follow from the version, so nothing is sent to make the communicators.
#include "elastic/fork_part.h"

#include "base/cpu.h"
#include "boot/boot.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/process.h"
#include "elastic/fork.h"
#include "elastic/resize.h"
#include "obj/comm.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct part {
    struct part *before;
    uint32_t version;
    bool is_child;
    struct pli_comm *comm; // NULL: the user freed it
};

static struct part *last; // changed by forks and at the end alone

static enum pli_err make(const struct part *p, struct pli_comm *world, int n_old,
                         struct pli_comm **out)
{
    struct pli_endpoint *ep = pli_process_ep();
    struct pli_group *group;
    int first = p->is_child ? n_old : 0, n = p->is_child ? world->size - n_old : n_old;
    struct pli_id *ids = malloc((size_t)n * sizeof *ids);
    for (int i = 0; ids != NULL && i < n; i++) {
        ids[i] = pli_group_at(world->group, first + i);
    }
    enum pli_err err = ids != NULL ? pli_group_create(ids, n, NULL, &group)
                                   : pli_fail(PLI_ERR_NOMEM, "no memory for a group");
    free(ids);
    if (err != PLI_OK) {
        return err;
    }
    uint64_t context =
        pli_process_part_context(p->version, p->is_child ? PLI_PART_CHILDREN : PLI_PART_PARENTS);
    err = pli_comm_create(pli_endpoint_retain(ep), ep->id, group, NULL, context, out);
    pli_group_release(group);
    if (err != PLI_OK) {
        pli_endpoint_release(ep);
        return err;
    }
    snprintf((*out)->name, sizeof(*out)->name, "%s@%u", p->is_child ? "children" : "parents",
             p->version);
    return PLI_OK;
}

enum pli_err pli_fork_part_add(struct pli_comm *world, uint32_t version, int n_old)
{
    struct part *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for the parts of a fork");
    }
    p->version = version;
    p->is_child = world->rank >= n_old;
    enum pli_err err = make(p, world, n_old, &p->comm);
    if (err != PLI_OK) {
        free(p);
        return err;
    }
    p->before = last;
    last = p;
    return PLI_OK;
}

static void drop_all(bool is_mine)
{
    while (last != NULL) {
        struct part *p = last;
        last = p->before;
        if (is_mine) {
            pli_comm_release(p->comm);
        }
        free(p);
    }
}

void pli_fork_part_clone(void)
{
    drop_all(false);
}

void pli_fork_leave(void)
{
    drop_all(true);
}

static void forget(struct pli_comm *c)
{
    for (struct part *p = last; p != NULL; p = p->before) {
        if (p->comm == c) {
            p->comm = NULL;
        }
    }
}

PLI_START void pli_fork_prepare(void)
{
    pli_comm_on_end(forget);
}

static enum pli_err at(int version, bool is_child, struct pli_comm **out)
{
    int now;
    pli_resize_version(&now);
    if (version < 1 || version > now) {
        return pli_fail(PLI_ERR_ARG,
                        "argument version is %d, but forks and resizes have made versions 1 to %d",
                        version, now);
    }
    *out = NULL;
    for (struct part *p = last; p != NULL; p = p->before) {
        if (p->version == (uint32_t)version && p->is_child == is_child) {
            *out = p->comm;
        }
    }
    return PLI_OK;
}

enum pli_err pli_fork_parents_at(int version, struct pli_comm **out)
{
    return at(version, false, out);
}

enum pli_err pli_fork_children_at(int version, struct pli_comm **out)
{
    return at(version, true, out);
}

struct pli_comm *pli_fork_parents(void)
{
    return last != NULL && !last->is_child ? last->comm : NULL;
}

struct pli_comm *pli_fork_children(void)
{
    return last != NULL && last->is_child ? last->comm : NULL;
}
