// SPDX-License-Identifier: BSD-3-Clause
// Keeps the table of other jobs, ports and names in the node memory.
// Changes the table under a lock that is taken away from the dead; what readers look at is complete
// before it counts.
#include "boot/jobtab.h"

#include "base/clock.h"
#include "base/process_stat.h"
#include "boot/node.h"
#include "boot/node_lock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static struct pli_jobtab_table *table_of(const struct pli_node *node)
{
    return (struct pli_jobtab_table *)(node->base + node->header->jobtab);
}

// When a process was started, in the kernel's ticks and one more; 0: there is none of this number.
static uint64_t born(uint32_t pid)
{
    return (uint64_t)(pli_process_stat(pid, PLI_PROCESS_STAT_START) + 1);
}

// Whether the process of this number is the one that a job had when it was met.
static bool is_there(const struct pli_jobtab_job *j)
{
    return born(j->launcher) == j->born;
}

uint32_t pli_jobtab_find_job(const struct pli_node *node, uint64_t job, struct pli_jobtab_job *out)
{
    const struct pli_jobtab_table *t = table_of(node);
    for (uint32_t i = 1; i < PLI_JOBTAB_N_JOB; i++) {
        if (atomic_load_explicit(&t->jobs[i].job, memory_order_acquire) == job) {
            if (out != NULL) {
                *out = t->jobs[i];
            }
            return i;
        }
    }
    return 0;
}

bool pli_jobtab_get_job(const struct pli_node *node, uint32_t number, struct pli_jobtab_job *out)
{
    const struct pli_jobtab_job *j = &table_of(node)->jobs[number];
    uint64_t job = atomic_load_explicit(&j->job, memory_order_acquire);
    if (job == 0) {
        return false;
    }
    out->job = job;
    out->launcher = j->launcher;
    out->memory = j->memory;
    out->mine = j->mine;
    return true;
}

bool pli_jobtab_has_met(const struct pli_node *node)
{
    return atomic_load_explicit(&table_of(node)->n_link, memory_order_relaxed) != 0;
}

bool pli_jobtab_has_launcher(uint32_t launcher, uint32_t memory)
{
    char path[64];
    // One that was killed and not waited for is there still, but has nothing open any more.
    snprintf(path, sizeof path, "/proc/%u/fd/%u", launcher, memory);
    return access(path, F_OK) == 0 || errno != ENOENT;
}

bool pli_jobtab_has_live(const struct pli_node *node)
{
    const struct pli_jobtab_table *t = table_of(node);
    bool is_live = false;
    for (uint32_t i = 1; i < PLI_JOBTAB_N_JOB && !is_live; i++) {
        const struct pli_jobtab_job *j = &t->jobs[i];
        is_live = atomic_load_explicit(&j->job, memory_order_acquire) != 0 && is_there(j) &&
                  pli_jobtab_has_launcher(j->launcher, j->memory);
    }
    return is_live;
}

// A place for a job: its own, a free one, or that of one that has ended and of which nothing waits
// to be read. 0: none.
static uint32_t place_for(const struct pli_node *node, uint64_t job, pli_jobtab_unread_fn is_unread)
{
    struct pli_jobtab_table *t = table_of(node);
    uint32_t place = pli_jobtab_find_job(node, job, NULL);
    for (uint32_t i = 1; place == 0 && i < PLI_JOBTAB_N_JOB; i++) {
        place = atomic_load_explicit(&t->jobs[i].job, memory_order_relaxed) == 0 ? i : 0;
    }
    for (uint32_t i = 1; place == 0 && i < PLI_JOBTAB_N_JOB; i++) {
        place = is_there(&t->jobs[i]) || is_unread(node, i) ? 0 : i;
    }
    return place;
}

static void enter(const struct pli_jobtab_side *at, uint32_t place,
                  const struct pli_jobtab_side *who, uint32_t mine)
{
    struct pli_jobtab_table *t = table_of(at->node);
    struct pli_jobtab_job *j = &t->jobs[place];
    if (atomic_load_explicit(&j->job, memory_order_relaxed) != who->job) {
        atomic_store_explicit(&j->job, 0, memory_order_release);
        j->launcher = who->launcher;
        j->memory = who->memory;
        j->born = born(who->launcher);
        atomic_fetch_add_explicit(&t->n_link, 1, memory_order_relaxed);
    }
    j->mine = mine;
    atomic_store_explicit(&j->job, who->job, memory_order_release);
}

enum pli_err pli_jobtab_meet(const struct pli_jobtab_side *here,
                             const struct pli_jobtab_side *there, pli_jobtab_unread_fn is_unread,
                             struct pli_jobtab_pair *out)
{
    bool is_first = here->job < there->job; // the same order on both sides: no deadlock
    struct pli_jobtab_table *a = table_of(is_first ? here->node : there->node);
    struct pli_jobtab_table *b = table_of(is_first ? there->node : here->node);
    pli_node_lock_take(a->owner);
    pli_node_lock_take(b->owner);
    uint32_t theirs = place_for(here->node, there->job, is_unread);
    uint32_t mine = place_for(there->node, here->job, is_unread);
    if (theirs != 0 && mine != 0) {
        enter(here, theirs, there, mine);
        enter(there, mine, here, theirs);
    }
    pli_node_lock_drop(b->owner);
    pli_node_lock_drop(a->owner);
    if (theirs == 0 || mine == 0) {
        return pli_fail(PLI_ERR_NO_SPACE, "%s job is connected to %d others already",
                        theirs == 0 ? "this" : "the other", PLI_JOBTAB_N_JOB - 1);
    }
    *out = (struct pli_jobtab_pair){ theirs, mine };
    return PLI_OK;
}

static uint64_t make_cookie(void)
{
    uint64_t c = 0;
    while (c == 0) {
        if (getrandom(&c, sizeof c, 0) != (ssize_t)sizeof c) {
            c = pli_clock_ns() * 0x9e3779b97f4a7c15u;
        }
    }
    return c;
}

static bool has_ended(const struct pli_node *node, uint32_t index)
{
    uint32_t row = pli_node_row_of(node, index);
    return row == UINT32_MAX ||
           atomic_load_explicit(&node->rows[row].has_ended, memory_order_acquire) != 0;
}

enum pli_err pli_jobtab_open_port(const struct pli_node *node, uint32_t owner, uint32_t *place_out,
                                  uint64_t *cookie)
{
    struct pli_jobtab_table *t = table_of(node);
    uint32_t place = 0;
    pli_node_lock_take(t->owner);
    while (place < PLI_JOBTAB_N_PORT &&
           atomic_load_explicit(&t->ports[place].cookie, memory_order_relaxed) != 0 &&
           !has_ended(node, t->ports[place].owner)) {
        place++;
    }
    if (place < PLI_JOBTAB_N_PORT) {
        *place_out = place;
        *cookie = *cookie != 0 ? *cookie : make_cookie();
        t->ports[place].owner = owner;
        t->ports[place].ep = 0;
        atomic_store_explicit(&t->ports[place].cookie, *cookie, memory_order_release);
    }
    pli_node_lock_drop(t->owner);
    return place < PLI_JOBTAB_N_PORT
               ? PLI_OK
               : pli_fail(PLI_ERR_NO_SPACE, "the job has %d ports open; close one first",
                          PLI_JOBTAB_N_PORT);
}

uint32_t pli_jobtab_find_port(const struct pli_node *node, uint64_t cookie)
{
    const struct pli_jobtab_table *t = table_of(node);
    uint32_t place = 0;
    while (place < PLI_JOBTAB_N_PORT &&
           atomic_load_explicit(&t->ports[place].cookie, memory_order_acquire) != cookie) {
        place++;
    }
    return place;
}

enum pli_err pli_jobtab_close_port(const struct pli_node *node, uint32_t place, uint64_t cookie)
{
    struct pli_jobtab_table *t = table_of(node);
    if (place < PLI_JOBTAB_N_PORT &&
        atomic_compare_exchange_strong(&t->ports[place].cookie, &cookie, 0)) {
        return PLI_OK;
    }
    return pli_fail(PLI_ERR_PORT, "the port is not open");
}

bool pli_jobtab_own_port(const struct pli_node *node, uint32_t place, uint64_t cookie,
                         uint32_t owner, uint32_t ep)
{
    struct pli_jobtab_table *t = table_of(node);
    pli_node_lock_take(t->owner);
    bool is_open = place < PLI_JOBTAB_N_PORT &&
                   atomic_load_explicit(&t->ports[place].cookie, memory_order_relaxed) == cookie;
    if (is_open) {
        t->ports[place].owner = owner;
        t->ports[place].ep = ep;
    }
    pli_node_lock_drop(t->owner);
    return is_open;
}

bool pli_jobtab_port_owner(const struct pli_node *node, uint32_t place, uint64_t cookie,
                           uint32_t *owner_out, uint32_t *ep_out)
{
    const struct pli_jobtab_table *t = table_of(node);
    if (place >= PLI_JOBTAB_N_PORT ||
        atomic_load_explicit(&t->ports[place].cookie, memory_order_acquire) != cookie) {
        return false;
    }
    *owner_out = t->ports[place].owner;
    *ep_out = t->ports[place].ep;
    return !has_ended(node, *owner_out);
}

// The place of a name that counts, or of the first free one; PLI_JOBTAB_N_NAME: none.
static uint32_t find_name(const struct pli_node *node, const char *service, bool *is_there_out)
{
    struct pli_jobtab_table *t = table_of(node);
    uint32_t n = atomic_load_explicit(&t->n_name, memory_order_acquire), free = PLI_JOBTAB_N_NAME;
    *is_there_out = false;
    for (uint32_t i = 0; i < n && i < PLI_JOBTAB_N_NAME; i++) {
        struct pli_jobtab_name *name = &t->names[i];
        bool is_used = atomic_load_explicit(&name->is_used, memory_order_acquire) != 0 &&
                       !has_ended(node, name->owner);
        if (is_used && strncmp(name->service, service, PLI_JOBTAB_SERVICE) == 0) {
            *is_there_out = true;
            return i;
        }
        free = !is_used && free == PLI_JOBTAB_N_NAME ? i : free;
    }
    return free < PLI_JOBTAB_N_NAME ? free : n;
}

enum pli_err pli_jobtab_publish(const struct pli_node *node, uint32_t owner, const char *service,
                                const char *port)
{
    struct pli_jobtab_table *t = table_of(node);
    enum pli_err err = PLI_OK;
    bool is_there;
    pli_node_lock_take(t->owner);
    uint32_t i = find_name(node, service, &is_there);
    if (is_there) {
        err = pli_fail(PLI_ERR_SERVICE, "the service name '%s' is published already", service);
    } else if (i >= PLI_JOBTAB_N_NAME) {
        err =
            pli_fail(PLI_ERR_NO_SPACE, "the job has published %d names already", PLI_JOBTAB_N_NAME);
    } else {
        struct pli_jobtab_name *name = &t->names[i];
        atomic_store_explicit(&name->is_used, 0, memory_order_release);
        name->owner = owner;
        snprintf(name->service, sizeof name->service, "%s", service);
        snprintf(name->port, sizeof name->port, "%s", port);
        atomic_store_explicit(&name->is_used, 1, memory_order_release);
        if (i >= atomic_load_explicit(&t->n_name, memory_order_relaxed)) {
            atomic_store_explicit(&t->n_name, i + 1, memory_order_release);
        }
    }
    pli_node_lock_drop(t->owner);
    return err;
}

enum pli_err pli_jobtab_unpublish(const struct pli_node *node, const char *service)
{
    struct pli_jobtab_table *t = table_of(node);
    bool is_there;
    pli_node_lock_take(t->owner);
    uint32_t i = find_name(node, service, &is_there);
    if (is_there) {
        atomic_store_explicit(&t->names[i].is_used, 0, memory_order_release);
    }
    pli_node_lock_drop(t->owner);
    return is_there ? PLI_OK
                    : pli_fail(PLI_ERR_SERVICE,
                               "the service name '%s' is not published by this job", service);
}

bool pli_jobtab_lookup(const struct pli_node *node, const char *service, char *port_out)
{
    struct pli_jobtab_table *t = table_of(node);
    bool is_there;
    pli_node_lock_take(t->owner);
    uint32_t i = find_name(node, service, &is_there);
    if (is_there) {
        snprintf(port_out, PLI_JOBTAB_PORT, "%s", t->names[i].port);
    }
    pli_node_lock_drop(t->owner);
    return is_there;
}
