// SPDX-License-Identifier: BSD-3-Clause
// Gives rows of the node memory to processes that are started later, and takes them back.
#include "launcher/job/rank_rows.h"

#include "launcher/base/launcher.h"
#include "launcher/job/role.h"
#include "boot/ckpt_wire.h"
#include "boot/launcher_wire.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "net/shm/shm_wire.h"
#include "launcher/base/pack.h"
#include "launcher/base/refuse.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

// What a daemon says of a row whose process is gone.
enum level {
    IN_USE,
    FREE_IF_NEEDED, // a process here has a communicator with its process
    FREE,
    N_LEVEL = PLI_RANK_ROWS_N_LEVEL
};

// Nothing that the row's process sent waits to be read.
static bool is_read(const struct pli_node *node, uint32_t row)
{
    static const struct {
        uint32_t size, n;
    } classes[PLI_SHM_N_CLASS] = PLI_SHM_CLASSES;
    uint32_t n_lane = atomic_load_explicit(&node->rows[row].n_lane, memory_order_acquire);
    for (uint32_t lane = 0; lane < n_lane && lane < PLI_NODE_N_LANE; lane++) {
        const char *at = pli_node_area(node, row) + (size_t)lane * PLI_NODE_LANE + PLI_SHM_OUTBOX;
        for (int k = 0; k < PLI_SHM_N_CLASS; k++) {
            for (uint32_t i = 0; i < classes[k].n; i++) {
                if (atomic_load(&((const struct pli_shm_block *)at)->is_busy) != 0) {
                    return false;
                }
                at += sizeof(struct pli_shm_block) + classes[k].size;
            }
        }
    }
    return true;
}

// Whether all processes of the world of this row are gone.
static bool is_world_over(const struct pli_node *node, uint32_t row)
{
    const struct pli_node_row *r = &node->rows[row];
    if (r->version > 0) {
        return r->has_ended != 0; // its world is the job's, and goes on without it: see n_held
    }
    for (uint32_t i = 0; i < r->n_world; i++) {
        uint32_t other = pli_node_row_of(node, r->world + i);
        if (other != UINT32_MAX && !node->rows[other].has_ended) {
            return false;
        }
    }
    return true;
}

static void punch(const struct pli_job *job, uint32_t row)
{
    const struct pli_node_header *h = job->node.header;
    if (row - h->n_row >= h->n_file) {
        return; // it has no area here
    }
    if (fallocate(job->node_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)(h->areas + row * h->area_size), (off_t)h->area_size) != 0) {
        memset(pli_node_area(&job->node, row), 0, h->area_size);
    }
}

static enum level level_of(const struct pli_node *node, uint32_t row)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    if (self->rows[row - node->header->n_row].is_taken ||
        pli_node_failure(node, node->rows[row].index) != 0 || !is_world_over(node, row) ||
        !is_read(node, row)) {
        return IN_USE;
    }
    return atomic_load(&node->rows[row].n_held) == 0 ? FREE : FREE_IF_NEEDED;
}

// Give back the memory of processes that have ended and that no communicator contains.
static void tidy(const struct pli_job *job)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    const struct pli_node *node = &job->node;
    for (uint32_t row = node->header->n_row; row < pli_node_n_used(node); row++) {
        uint32_t i = row - node->header->n_row;
        if (self->rows[i].is_dirty && level_of(node, row) == FREE) {
            punch(job, row);
            self->rows[i].is_dirty = false;
        }
    }
}

static bool is_free_here(const struct pli_job *job, uint32_t i, int least)
{
    return (int)level_of(&job->node, job->node.header->n_row + i) >= least;
}

static bool is_free_on_hosts(const struct pli_job *job, uint32_t i, int least)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    (void)job;
    return self->rows[i].n_host[least] >= self->rows[i].n_need;
}

// least: FREE_IF_NEEDED or FREE.
static bool is_free(const struct pli_job *job, uint32_t i, enum level least)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    if (self->rows[i].is_taken || !self->rows[i].is_dirty) {
        return !self->rows[i].is_taken;
    }
    return pli_launcher.role->rows->is_free(job, i, (int)least);
}

// The first of n consecutive numbers whose rows are free, UINT32_MAX: there are not so many.
static uint32_t find_run(const struct pli_job *job, uint32_t n, enum level least)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    const struct pli_node_header *h = job->node.header;
    uint32_t n_more = h->n_more, first = self->next;
    for (uint32_t k = self->next; k < self->next + n_more + n; k++) {
        bool has_room = pli_node_has_room(h, h->n_row + k % n_more);
        first = has_room && is_free(job, k % n_more, least) ? first : k + 1;
        if (k + 1 - first == n) {
            return first;
        }
    }
    return UINT32_MAX;
}

// Why there is no more room than there is.
static const char *why_room(const struct pli_node_header *h)
{
    return atomic_load(&h->n_room) == PLI_NODE_N_MORE
               ? ""
               : ", because a process of the job runs under valgrind or with a limit on address "
                 "space or on the size of files (ulimit -v, ulimit -f)";
}

bool pli_rank_rows_check(const struct pli_job *job, uint32_t n, struct pli_answer *a)
{
    const struct pli_node_header *h = job->node.header;
    uint32_t n_room = atomic_load(&h->n_room);
    if (n > n_room) {
        pli_refuse(a, ENOSPC, "%u processes at a time are more than the %u there is room for%s", n,
                   n_room, why_room(h));
    }
    return n <= n_room;
}

bool pli_rank_rows_take(const struct pli_job *job, uint32_t n, uint32_t *index_out,
                        struct pli_answer *a)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    struct pli_node_header *h = job->node.header;
    uint32_t n_room = atomic_load(&h->n_room);
    if (!pli_rank_rows_check(job, n, a)) {
        return false;
    }
    pli_launcher.role->rows->tidy(job);
    uint32_t first = find_run(job, n, FREE);
    first = first == UINT32_MAX ? find_run(job, n, FREE_IF_NEEDED) : first;
    if (first == UINT32_MAX) {
        pli_refuse(a, ENOSPC,
                   "there is room for %u spawned processes at a time%s, and too many are running "
                   "or left messages that were not received",
                   n_room, why_room(h));
        return false;
    }
    uint32_t index = pli_node_n_start(h) + first;
    if (index + n > PLI_NODE_MAX_INDEX) {
        pli_refuse(a, ENOSPC, "the job has had %u processes, and there are no numbers for more",
                   index);
        return false;
    }
    self->next = first + n;
    *index_out = index;
    return true;
}

uint32_t pli_rank_rows_at(const struct pli_job *job, uint32_t index)
{
    const struct pli_node_header *h = job->node.header;
    return h->n_row + (index - pli_node_n_start(h)) % h->n_more;
}

// One process more or less on a host: how crowded the cores are that hosts may share.
static void count(struct pli_job *job, uint32_t host, uint32_t by)
{
    job->node.hosts[host].n_proc += by;
    job->node.header->n_beside = pli_node_beside(&job->node);
}

static void filled_counted(struct pli_job *job, uint32_t i, uint32_t host)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    self->rows[i].is_counted = true;
    count(job, host, 1);
}

static void filled_uncounted(struct pli_job *job, uint32_t i, uint32_t host)
{
    (void)job;
    (void)i;
    (void)host;
}

// A head has the rows of all hosts, and the memory of no process.
static void no_tidy(const struct pli_job *job)
{
    (void)job;
}

static void no_clear(const struct pli_job *job, uint32_t row)
{
    (void)job;
    (void)row;
}

const struct pli_rank_rows_ops pli_rank_rows_solo = { is_free_here, tidy, punch, filled_uncounted };
const struct pli_rank_rows_ops pli_rank_rows_head = { is_free_on_hosts, no_tidy, no_clear,
                                                      filled_uncounted };
const struct pli_rank_rows_ops pli_rank_rows_daemon = { is_free_here, tidy, punch, filled_counted };

void pli_rank_rows_fill(struct pli_job *job, uint32_t host, const struct pli_node_row *as)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    struct pli_node_header *h = job->node.header;
    uint32_t row = pli_rank_rows_at(job, as->index), i = row - h->n_row;
    if (self->rows[i].is_dirty) {
        pli_launcher.role->rows->clear(job, row);
    }
    memset(&self->rows[i], 0, sizeof self->rows[i]);
    self->rows[i].is_taken = self->rows[i].is_dirty = true;
    self->rows[i].n_need = pli_hosts_n_left(job);
    memset(&job->node.rows[row], 0, sizeof job->node.rows[row]);
    memcpy(&job->node.rows[row], as, sizeof *as);
    job->node.procs[h->n_world + i] = (struct pli_node_proc){ .host = host, .row = row };
    pli_launcher.role->rows->filled(job, i, host);
    if (row >= atomic_load_explicit(&h->n_used, memory_order_relaxed)) {
        atomic_store_explicit(&h->n_used, row + 1, memory_order_release);
    }
}

void pli_rank_rows_release(const struct pli_job *job, uint32_t row)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    self->rows[row - job->node.header->n_row].is_taken = false;
}

void pli_rank_rows_cancel(struct pli_job *job, uint32_t row)
{
    pli_rank_rows_ended(job, job->node.rows[row].index);
    pli_rank_rows_release(job, row);
}

void pli_rank_rows_ended(struct pli_job *job, uint32_t index)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    const struct pli_node_header *h = job->node.header;
    uint32_t row = pli_node_row_of(&job->node, index);
    if (index < pli_node_n_start(h) || row == UINT32_MAX) {
        return;
    }
    uint32_t i = row - h->n_row, host = job->node.procs[h->n_world + i].host;
    pli_node_set_ended(&job->node, index);
    if (self->rows[i].is_counted) {
        self->rows[i].is_counted = false;
        count(job, host, UINT32_MAX);
    }
    if (!pli_launcher.role->watches_host(job, host)) {
        pli_rank_rows_release(job, row);
    }
}

bool pli_rank_rows_are_moving(const struct pli_job *job)
{
    return atomic_load(pli_node_moving(job->node.header)) != 0;
}

bool pli_rank_rows_pack_free(struct pli_job *job, struct pli_pack *to)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    const struct pli_node *node = &job->node;
    bool is_any = false;
    for (uint32_t row = node->header->n_row; row < pli_node_n_used(node); row++) {
        uint32_t i = row - node->header->n_row;
        enum level level = self->rows[i].is_dirty ? level_of(node, row) : IN_USE;
        if ((int)level <= self->rows[i].told) {
            continue;
        }
        pli_pack_u32(to, node->rows[row].index);
        pli_pack_u32(to, (uint32_t)self->rows[i].told);
        pli_pack_u32(to, level);
        self->rows[i].told = (int)level;
        is_any = true;
        if (level == FREE) {
            self->rows[i].is_dirty = false;
            if (node->procs[node->header->n_world + i].host == job->here) {
                punch(job, row);
            }
        }
    }
    return is_any;
}

bool pli_rank_rows_are_used(const struct pli_job *job)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    uint32_t n = pli_node_n_used(&job->node) - job->node.header->n_row;
    for (uint32_t i = 0; i < n; i++) {
        if (self->rows[i].is_dirty) {
            return true;
        }
    }
    return false;
}

void pli_rank_rows_unpack_free(const struct pli_job *job, struct pli_unpack *from)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    while (from->at < from->end && !from->is_bad) {
        uint32_t index = pli_unpack_u32(from), was = pli_unpack_u32(from);
        uint32_t level = pli_unpack_u32(from), row = pli_node_row_of(&job->node, index);
        if (from->is_bad || row == UINT32_MAX || index < job->node.header->n_world ||
            level >= N_LEVEL) {
            continue; // of a process whose row is another's by now
        }
        for (uint32_t k = was + 1; k <= level; k++) {
            self->rows[row - job->node.header->n_row].n_host[k]++;
        }
    }
}

uint32_t pli_rank_rows_count(void)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    return self->next;
}

void pli_rank_rows_restore(const struct pli_job *job, uint32_t n)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    self->next = n;
    for (uint32_t row = job->node.header->n_row; row < pli_node_n_used(&job->node); row++) {
        self->rows[row - job->node.header->n_row].is_dirty = true;
        self->rows[row - job->node.header->n_row].n_need = pli_hosts_n_left(job);
    }
}

// What a daemon knows and has told of rows, for the one that takes its ranks.
void pli_rank_rows_pack(const struct pli_job *job, struct pli_pack *to)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    uint32_t n = pli_node_n_used(&job->node) - job->node.header->n_row;
    pli_pack_u32(to, n);
    for (uint32_t i = 0; i < n; i++) {
        pli_pack_u32(to, (uint32_t)self->rows[i].is_taken | (uint32_t)self->rows[i].is_dirty << 1 |
                             (uint32_t)self->rows[i].is_counted << 2);
        pli_pack_u32(to, (uint32_t)self->rows[i].told);
    }
}

void pli_rank_rows_unpack(struct pli_unpack *from)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    uint32_t n = pli_unpack_count(from, 8);
    for (uint32_t i = 0; i < n && i < PLI_NODE_N_MORE; i++) {
        uint32_t bits = pli_unpack_u32(from);
        self->rows[i].is_taken = (bits & 1) != 0;
        self->rows[i].is_dirty = (bits & 2) != 0;
        self->rows[i].is_counted = (bits & 4) != 0;
        self->rows[i].told = (int)pli_unpack_u32(from);
    }
}

void pli_rank_rows_adopt(const struct pli_job *job, uint32_t row)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    uint32_t i = row - job->node.header->n_row;
    self->rows[i].is_taken = self->rows[i].is_dirty = true;
}

void pli_rank_rows_pack_replay(const struct pli_job *job, struct pli_pack *to)
{
    struct pli_rank_rows_state *self = pli_launcher.rank_rows;
    const struct pli_node *node = &job->node;
    struct pli_pack list = { 0 };
    uint32_t n = 0;
    for (uint32_t row = node->header->n_row; row < pli_node_n_used(node); row++) {
        uint32_t i = row - node->header->n_row;
        const struct pli_node_row *r = &node->rows[row];
        const struct pli_node_proc *p = &node->procs[node->header->n_world + i];
        if (is_free(job, i, FREE)) {
            continue;
        }
        const uint32_t words[] = {
            r->index,  r->app,       r->n_app,   r->world, r->n_world,
            r->parent, r->parent_ep, r->version, p->host,  atomic_load(&p->has_ended)
        };
        for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
            pli_pack_u32(&list, words[k]);
        }
        pli_pack_u64(&list, r->parent_context);
        self->rows[i].n_need++; // it will say too when it needs the row no more
        n++;
    }
    pli_pack_u32(to, n);
    pli_pack_bytes(to, list.data, list.len);
    pli_pack_fini(&list);
}

void pli_rank_rows_take_replay(struct pli_job *job, struct pli_unpack *from)
{
    uint32_t n = pli_unpack_count(from, 48);
    for (uint32_t i = 0; i < n && !from->is_bad; i++) {
        struct pli_node_row as = { .index = pli_unpack_u32(from) };
        as.app = pli_unpack_u32(from);
        as.n_app = pli_unpack_u32(from);
        as.world = pli_unpack_u32(from);
        as.n_world = pli_unpack_u32(from);
        as.parent = pli_unpack_u32(from);
        as.parent_ep = pli_unpack_u32(from);
        as.version = pli_unpack_u32(from);
        uint32_t host = pli_unpack_u32(from), has_ended = pli_unpack_u32(from);
        as.parent_context = pli_unpack_u64(from);
        const struct pli_node_header *h = job->node.header;
        bool is_later = as.index >= pli_node_n_start(h) && as.index < PLI_NODE_MAX_INDEX;
        if (from->is_bad || host >= job->n_host || h->n_more == 0 || !is_later) {
            from->is_bad = true;
            return;
        }
        pli_rank_rows_fill(job, host, &as);
        if (has_ended != 0) {
            pli_rank_rows_ended(job, as.index);
        }
    }
}
