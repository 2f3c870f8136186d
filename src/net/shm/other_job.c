// SPDX-License-Identifier: BSD-3-Clause
// Maps the memory of other jobs and numbers them. The memory is opened through /proc, which gives
// it to the same user and to nobody else (pli_node_open: not to root either); no launcher takes
// part.
#include "net/shm/other_job.h"

#include "base/log.h"
#include "boot/boot.h"
#include "boot/jobtab.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct pli_other_job *_Atomic maps[PLI_JOBTAB_N_JOB]; // by number; written under guard
static struct pli_other_job *replaced; // whose memory is mapped still; changed under guard
static bool (*forget)(uint64_t job);

void pli_other_job_on_end(bool (*fn)(uint64_t job))
{
    forget = fn;
}

void pli_other_job_self(struct pli_other_job_name *out)
{
    const struct pli_node_header *h = pli_boot.node.header;
    *out = (struct pli_other_job_name){ pli_boot.job, h->launcher, h->memory };
}

static enum pli_err map(const struct pli_other_job_name *name, struct pli_node *out)
{
    int fd = pli_node_open(name->launcher, name->memory);
    if (fd < 0) {
        return pli_fail(PLI_ERR_PORT,
                        "the job whose launcher is process %u cannot be reached (%s); it has "
                        "ended, or belongs to another user, host or container",
                        name->launcher, strerror(errno));
    }
    enum pli_err err = pli_node_map(fd, out);
    close(fd);
    if (err == PLI_OK && pli_node_job(out->header) != name->job) {
        pli_node_unmap(out);
        err = pli_fail(PLI_ERR_PORT, "the job has ended, and process %u is another's launcher now",
                       name->launcher);
    }
    return err;
}

// Enter a mapping under its number. Context: guard held.
static enum pli_err enter(uint32_t number, const struct pli_other_job_name *name,
                          const struct pli_node *node, uint32_t mine)
{
    struct pli_other_job *o = malloc(sizeof *o), *old = maps[number];
    if (o == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a connection to another job");
    }
    *o = (struct pli_other_job){ name->job, *node, number, mine, NULL };
    if (old != NULL) {
        old->replaced = replaced;
        replaced = old;
    }
    atomic_store_explicit(&maps[number], o, memory_order_release);
    atomic_store_explicit(&pli_boot.is_linked, true, memory_order_relaxed);
    return PLI_OK;
}

// The few words that describe such a job stay, for another thread may be looking at them.
void pli_other_job_tidy(void)
{
    pthread_mutex_lock(&guard);
    struct pli_other_job *o = replaced;
    replaced = NULL;
    pthread_mutex_unlock(&guard); // forgetting locks lanes, whose holders may wait for the guard
    while (o != NULL) {
        struct pli_other_job *next = o->replaced;
        if (forget == NULL || forget(o->job)) {
            pli_node_unmap(&o->node);
        } else {
            pthread_mutex_lock(&guard);
            o->replaced = replaced;
            replaced = o;
            pthread_mutex_unlock(&guard);
        }
        o = next;
    }
}

static bool is_unread_at(const struct pli_shm_mailbox *box, uint32_t number)
{
    uint64_t at = atomic_load_explicit(&box->head, memory_order_acquire);
    uint64_t end = atomic_load_explicit(&box->tail, memory_order_acquire);
    bool is = false;
    for (; at != end && !is; at++) {
        const struct pli_shm_cell *cell = &box->cells[at % PLI_SHM_N_CELL];
        is = atomic_load_explicit(&cell->seq, memory_order_acquire) == (uint32_t)(at + 1) &&
             cell->src_proc >> PLI_OTHER_JOB_INDEX == number;
    }
    return is;
}

// Whether a message that bears the number of another job waits to be read by a process of this one.
static bool is_unread(const struct pli_node *node, uint32_t number)
{
    bool is = false;
    for (uint32_t row = 0; row < pli_node_n_used(node) && !is; row++) {
        const struct pli_node_row *r = &node->rows[row];
        uint32_t n = atomic_load_explicit(&r->n_lane, memory_order_acquire);
        bool has_ended = atomic_load_explicit(&r->has_ended, memory_order_acquire) != 0;
        for (uint32_t k = 0; !has_ended && k < n && k < PLI_NODE_N_LANE && !is; k++) {
            is = is_unread_at(pli_shm_box(node, row, (int)k), number);
        }
    }
    return is;
}

enum pli_err pli_other_job_meet(const struct pli_other_job_name *name)
{
    if (name->job == pli_boot.job) {
        return PLI_OK;
    }
    enum pli_err err = PLI_OK;
    pli_other_job_tidy();
    pthread_mutex_lock(&guard);
    struct pli_jobtab_job known = { 0 };
    uint32_t number = pli_jobtab_find_job(&pli_boot.node, name->job, &known);
    if (number != 0 && known.launcher != name->launcher) {
        err = pli_fail(PLI_ERR_PORT, "the other job is one of several that IMPI has joined, and "
                                     "this one has met another of them; they go by one number, so "
                                     "it cannot meet both");
    } else if (number == 0 || maps[number] == NULL || maps[number]->job != name->job) {
        struct pli_node node;
        struct pli_other_job_name self;
        struct pli_jobtab_pair pair = { 0 };
        err = map(name, &node);
        if (err == PLI_OK) {
            pli_other_job_self(&self);
            struct pli_jobtab_side here = { &pli_boot.node, self.job, self.launcher, self.memory };
            struct pli_jobtab_side there = { &node, name->job, name->launcher, name->memory };
            err = pli_jobtab_meet(&here, &there, is_unread, &pair);
            err = err == PLI_OK ? enter(pair.theirs_here, name, &node, pair.mine_there) : err;
            if (err != PLI_OK) {
                pli_node_unmap(&node);
            }
        }
    }
    pthread_mutex_unlock(&guard);
    return err;
}

// The mapping behind a number, made if some other process of this job has met that one.
static struct pli_other_job *by_number(uint32_t number)
{
    struct pli_other_job *o = atomic_load_explicit(&maps[number], memory_order_acquire);
    struct pli_jobtab_job link;
    if (!pli_jobtab_get_job(&pli_boot.node, number, &link)) {
        return o;
    }
    if (o != NULL && o->job == link.job) {
        return o;
    }
    struct pli_other_job_name name = { link.job, link.launcher, link.memory };
    struct pli_node node;
    pthread_mutex_lock(&guard);
    o = maps[number];
    if (o == NULL || o->job != name.job) {
        o = map(&name, &node) == PLI_OK && enter(number, &name, &node, link.mine) == PLI_OK
                ? maps[number]
                : NULL;
    }
    pthread_mutex_unlock(&guard);
    return o;
}

const struct pli_other_job *pli_other_job_find(uint64_t job)
{
    uint32_t number = pli_jobtab_find_job(&pli_boot.node, job, NULL);
    return number != 0 ? by_number(number) : NULL;
}

void pli_other_job_visit(bool (*fn)(const struct pli_other_job *o, void *arg), void *arg)
{
    bool is_wanted = true;
    pthread_mutex_lock(&guard);
    for (int i = 1; i < PLI_JOBTAB_N_JOB && is_wanted; i++) {
        is_wanted = maps[i] == NULL || fn(maps[i], arg);
    }
    for (const struct pli_other_job *o = replaced; o != NULL && is_wanted; o = o->replaced) {
        is_wanted = fn(o, arg);
    }
    pthread_mutex_unlock(&guard);
}

bool pli_other_job_has_launcher(const struct pli_node *node)
{
    return pli_jobtab_has_launcher(node->header->launcher, node->header->memory);
}

// A mailbox of this process, and what was found of it.
struct left {
    uint32_t number, n;
    uint64_t head;
};

// Of the places that a dead writer had claimed those from head on.
static uint32_t count_left(const struct pli_shm_mailbox *writer, const struct left *left,
                           uint32_t mine)
{
    const uint64_t mask = ((uint64_t)1 << PLI_SHM_PLACE_CELLS) - 1;
    uint64_t place = atomic_load_explicit(&writer->far_place, memory_order_acquire);
    uint64_t n = place >> PLI_SHM_PLACE_CELLS & 0xff, passed = (left->head - place) & mask;
    bool is_here = atomic_load_explicit(&writer->far_claim, memory_order_acquire) == left->number &&
                   place >> PLI_SHM_PLACE_JOB == mine;
    return is_here && passed < n ? (uint32_t)(n - passed) : 0;
}

static bool find_left(const struct pli_other_job *o, void *arg)
{
    struct left *left = arg;
    bool is_gone = !pli_other_job_has_launcher(&o->node);
    for (uint32_t row = 0; row < pli_node_n_used(&o->node) && left->n == 0; row++) {
        const struct pli_node_row *r = &o->node.rows[row];
        uint32_t n = atomic_load_explicit(&r->n_lane, memory_order_acquire);
        bool has_ended = is_gone || atomic_load_explicit(&r->has_ended, memory_order_acquire) != 0;
        for (uint32_t k = 0; has_ended && k < n && k < PLI_NODE_N_LANE && left->n == 0; k++) {
            left->n = count_left(pli_shm_box(&o->node, row, (int)k), left, o->mine);
        }
    }
    return left->n == 0;
}

uint32_t pli_other_job_left_places(uint32_t number, uint64_t head)
{
    struct left left = { .number = number, .head = head };
    pli_other_job_visit(find_left, &left);
    return left.n;
}

bool pli_other_job_has_ended(uint64_t proc)
{
    const struct pli_other_job *o = pli_other_job_find(pli_node_job_of(proc));
    return o == NULL || !pli_other_job_has_launcher(&o->node) ||
           pli_node_has_ended(&o->node, (uint32_t)proc);
}

bool pli_other_job_is_lost(uint32_t src)
{
    uint32_t number = src >> PLI_OTHER_JOB_INDEX;
    if (number < PLI_JOBTAB_N_JOB && by_number(number) != NULL) {
        return false;
    }
    pli_log(PLI_INFO, "dropped a message of another job: %s", pli_fail_take(NULL));
    return true;
}

static struct pli_other_job *must(uint32_t number)
{
    struct pli_other_job *o = number < PLI_JOBTAB_N_JOB ? by_number(number) : NULL;
    if (o == NULL) {
        pli_log(PLI_ERROR, "a message of another job came, but its memory cannot be mapped: %s",
                pli_fail_take(NULL));
        abort(); // the message cannot be read, and would be lost silently
    }
    return o;
}

uint64_t pli_other_job_proc_slow(uint32_t src)
{
    return must(src >> PLI_OTHER_JOB_INDEX)->job | (src & ((1u << PLI_OTHER_JOB_INDEX) - 1));
}

struct pli_shm_block *pli_other_job_block_slow(uint64_t offset)
{
    const struct pli_other_job *o = must((uint32_t)(offset >> PLI_OTHER_JOB_SHIFT));
    offset &= ((uint64_t)1 << PLI_OTHER_JOB_SHIFT) - 1;
    return (struct pli_shm_block *)(o->node.base + offset);
}
