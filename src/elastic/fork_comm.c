// SPDX-License-Identifier: BSD-3-Clause
// Keeps the communicators of parents and children of every fork. Their contexts are computed from
// the version of the world, so no message is sent to make them.
#include "elastic/fork_comm.h"

#include "base/cpu.h"
#include "boot/boot.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/process.h"
#include "elastic/elastic_world.h"
#include "obj/comm.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct fork_comm {
    struct fork_comm *next;
    uint32_t version;
    bool is_child;
    struct pli_comm *comm; // NULL: the user freed it
};

static struct fork_comm *last; // newest first; changed only by forks and when the world ends

static enum pli_err make_comm(const struct fork_comm *p, struct pli_comm *world, int n_old,
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

enum pli_err pli_fork_comm_add(struct pli_comm *world, uint32_t version, int n_old)
{
    struct fork_comm *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for the communicator of a fork");
    }
    p->version = version;
    p->is_child = world->rank >= n_old;
    enum pli_err err = make_comm(p, world, n_old, &p->comm);
    if (err != PLI_OK) {
        free(p);
        return err;
    }
    p->next = last;
    last = p;
    return PLI_OK;
}

static void free_all(bool is_owner)
{
    while (last != NULL) {
        struct fork_comm *p = last;
        last = p->next;
        if (is_owner) {
            pli_comm_release(p->comm);
        }
        free(p);
    }
}

void pli_fork_comm_clone(void)
{
    free_all(false);
}

void pli_fork_comm_free_all(void)
{
    free_all(true);
}

static void forget_comm(struct pli_comm *c)
{
    for (struct fork_comm *p = last; p != NULL; p = p->next) {
        if (p->comm == c) {
            p->comm = NULL;
        }
    }
}

PLI_START void pli_fork_comm_prepare(void)
{
    pli_comm_on_end(forget_comm);
}

static enum pli_err find_comm(int version, bool is_child, struct pli_comm **out)
{
    int now;
    pli_elastic_world_version(&now);
    if (version < 1 || version > now) {
        return pli_fail(PLI_ERR_ARG,
                        "argument version is %d, but forks and resizes have made versions 1 to %d",
                        version, now);
    }
    *out = NULL;
    for (struct fork_comm *p = last; p != NULL; p = p->next) {
        if (p->version == (uint32_t)version && p->is_child == is_child) {
            *out = p->comm;
        }
    }
    return PLI_OK;
}

enum pli_err pli_fork_comm_parents_at(int version, struct pli_comm **out)
{
    return find_comm(version, false, out);
}

enum pli_err pli_fork_comm_children_at(int version, struct pli_comm **out)
{
    return find_comm(version, true, out);
}

struct pli_comm *pli_fork_comm_parents(void)
{
    return last != NULL && !last->is_child ? last->comm : NULL;
}

struct pli_comm *pli_fork_comm_children(void)
{
    return last != NULL && last->is_child ? last->comm : NULL;
}
