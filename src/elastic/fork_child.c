// SPDX-License-Identifier: BSD-3-Clause
// Turns a forked process into a rank of its own. Its private memory is a copy of the parent's, but
// what lies in the shared memory of the job still belongs to the parent. So everything that points
// there is made anew, and everything that would be released there is forgotten.
#include "elastic/fork_child.h"

#include "base/call_site.h"
#include "base/lock.h"
#include "boot/boot.h"
#include "coll/comm_state.h"
#include "comm/endpoint_static.h"
#include "msg/arena.h"
#include "msg/bsend.h"
#include "msg/eager.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/message_log.h"
#include "ft/revoke_table.h"
#include "msg/process.h"
#include "msg/progress.h"
#include "msg/progress_thread.h"
#include "msg/segment.h"
#include "obj/comm.h"
#include "obj/group.h"
#include "obj/session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void flush_buffer(struct pli_comm *c, void *arg)
{
    (void)arg;
    if (c->buffer != NULL) {
        pli_bsend_comm_flush(c);
    }
}

static void count_upc(struct pli_comm *c, void *arg)
{
    *(size_t *)arg += c->context == PLI_CONTEXT_UPC || c->context == PLI_CONTEXT_UPC_ALL;
}

// The number of threads: the directory has a link for each of them besides its own two.
static unsigned long count_threads(void)
{
    struct stat st;
    return stat("/proc/self/task", &st) == 0 && st.st_nlink > 2 ? st.st_nlink - 2 : 1;
}

// Of the program: what it is done with is left to the parent.
static size_t count_requests(const struct pli_lane *lane)
{
    return pli_handle_pool_live(&lane->requests) - lane->n_copy;
}

size_t pli_fork_child_count_requests(void)
{
    size_t n = 0;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        n += pli_proc.lanes[i] != NULL ? count_requests(pli_proc.lanes[i]) : 0;
    }
    return n;
}

// Refuse when there are objects that cannot exist in two processes.
static enum pli_err check_objects(void)
{
    size_t n_upc = 0, n = 0;
    pli_comm_each(count_upc, &n_upc);
    if (n_upc > 0) {
        return pli_fail(PLI_ERR_UNSUPPORTED, "is a UPC program, whose threads are not cloned");
    }
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = pli_proc.lanes[i];
        if (lane != NULL) {
            pli_progress_once(lane); // requests that the program freed may have completed
            pli_lock_take(&lane->lock);
            n += count_requests(lane);
            pli_lock_drop(&lane->lock);
        }
    }
    if (n > 0) {
        return pli_fail(PLI_ERR_OTHER,
                        "has %zu request%s of nonblocking or persistent operations%s; complete or "
                        "free them before",
                        n, n == 1 ? "" : "s",
                        pli_process_has_threads() ? ", or of threads in calls of MPI" : "");
    }
    n = pli_handle_live(PLI_KIND_MESSAGE);
    if (n > 0) {
        return pli_fail(PLI_ERR_OTHER,
                        "has %zu matched messages (MPI_Mprobe) that it has not received; receive "
                        "or free them before",
                        n);
    }
    return PLI_OK;
}

enum pli_err pli_fork_child_may(void)
{
    const struct pli_boot *boot = pli_proc.boot;
    const struct pli_node_header *h = boot->node.header;
    unsigned long n;
    pli_progress_thread_rest();
    n = count_threads() - pli_progress_thread_is_running();
    if (boot->ops->clone == pli_boot_no_clone) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "was not started by Pliant MPI's mpiexec, which alone can add ranks; "
                        "mpiexec -n 1 PROGRAM is enough");
    }
    if (n > 1 && pli_process_has_threads() && !pli_call_site_prepare()) {
        return pli_fail(PLI_ERR_OTHER,
                        "has %lu threads, of which several may be in a call of MPI "
                        "(MPI_THREAD_MULTIPLE), and one that is cannot be cloned, which is not "
                        "known as MPI is linked into the program; end the others before (OpenMP: "
                        "omp_pause_resource_all), or start MPI with MPI_THREAD_SERIALIZED",
                        n);
    }
    if (boot->gateway != NULL) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "is in a job of several MPIs; ranks of such jobs are not cloned");
    }
    if (pli_message_log_is_on) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "writes a log of its messages (mpiexec --log-messages), which a clone "
                        "would write to as well; mpiexec --record can be used instead");
    }
    if (boot->row >= h->n_row && boot->version == 0) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "was started by MPI_Comm_spawn; only the world of mpiexec can be cloned");
    }
    pli_bsend_flush();
    pli_comm_each(flush_buffer, NULL);
    pli_process_drain(false);
    return check_objects();
}

// The clone of a process; false: it was not cloned.
static bool clone_of(const struct pli_fork_clones *clones, uint64_t proc, uint64_t *out)
{
    int rank = pli_group_rank_of(clones->parents, (struct pli_id){ proc, pli_process_ep()->id.ep });
    *out = pli_proc.boot->job | (clones->first + (uint32_t)(rank < 0 ? 0 : rank));
    return rank >= 0 && rank < clones->n;
}

// Handles of many endpoints share the members of their group; so do those of their clones.
struct last_group {
    const struct pli_group_store *store; // of the old one; NULL: it is one run
    struct pli_group_run one;
    const struct pli_session *session;
    int size;
    struct pli_group *clones; // NULL: not all were cloned
};

static bool is_same_group(const struct last_group *l, const struct pli_group *old)
{
    return l->size == old->size && l->session == old->session && l->store == old->store &&
           (old->store != NULL || memcmp(&l->one, &old->one, sizeof l->one) == 0);
}

// What goes through all communicators.
struct keeping {
    struct pli_fork_clones clones;
    struct last_group last;
};

static struct pli_group *make_clones(const struct pli_fork_clones *clones,
                                     const struct pli_group *old)
{
    struct pli_group *group = NULL;
    struct pli_id *ids = malloc(((size_t)old->size + 1) * sizeof *ids);
    bool is_good = ids != NULL;
    for (int i = 0; i < old->size && is_good; i++) {
        struct pli_id id = pli_group_at(old, i);
        is_good = clone_of(clones, id.proc, &ids[i].proc);
        ids[i].ep = id.ep; // endpoints have the same numbers there
    }
    if (!is_good || pli_group_create(ids, old->size, old->session, &group) != PLI_OK) {
        group = NULL;
    }
    free(ids);
    return group;
}

// The clones of all members of a group, seen by `me`; NULL: not all were cloned, or there is no
// memory.
static struct pli_group *group_of_clones(struct keeping *k, const struct pli_group *old,
                                         struct pli_id me)
{
    struct pli_group *group = NULL;
    if (!is_same_group(&k->last, old)) {
        pli_group_release(k->last.clones);
        k->last = (struct last_group){ old->store, old->one, old->session, old->size,
                                       make_clones(&k->clones, old) };
    }
    return k->last.clones != NULL && pli_group_dup(k->last.clones, me, &group) == PLI_OK ? group
                                                                                         : NULL;
}

// The context of a communicator among the clones: as if the clone of its maker had made it. No
// process can have made the same, since all clones are new.
static bool context_of_clones(const struct pli_fork_clones *clones, uint64_t old, uint64_t *out)
{
    uint64_t maker = old >> PLI_CONTEXT_MAKER_BIT, clone;
    uint64_t count = old & (((uint64_t)1 << PLI_CONTEXT_MAKER_BIT) - 1);
    bool is_counted = maker <= PLI_CONTEXT_MAKER_MAX && count >= PLI_CONTEXT_FIRST;
    if (!is_counted || !clone_of(clones, pli_proc.boot->job | maker, &clone)) {
        return false;
    }
    *out = (clone & PLI_CONTEXT_MAKER_MAX) << PLI_CONTEXT_MAKER_BIT | count;
    return true;
}

// Whether the clones of all members have this communicator, too; then it is theirs from now on.
static bool keep_among_clones(struct pli_comm *c, struct keeping *k)
{
    uint64_t context;
    if (c->is_span || pli_comm_is_stopped(c) ||
        !context_of_clones(&k->clones, c->context, &context)) {
        return false;
    }
    struct pli_group *group = group_of_clones(k, c->group, c->ep->id);
    struct pli_group *remote =
        group != NULL && c->is_inter ? group_of_clones(k, c->remote, c->ep->id) : group;
    if (group == NULL || remote == NULL) {
        pli_group_release(group);
        return false;
    }
    if (c->is_inter) {
        pli_group_release(c->remote);
    }
    pli_group_release(c->group);
    c->group = group;
    c->remote = remote;
    c->context = context;
    c->n_coll = c->n_coll_init = c->n_later = 0;
    c->n_agreement = c->n_agreed = 0;
    pli_comm_state_clone(c);
    return true;
}

// A communicator with no member but the parent has no member but the clone here. One whose members
// were all cloned is that of their clones, and all others are lost to the clone.
static void keep_or_lose(struct pli_comm *c, void *arg)
{
    struct pli_group *group;
    if (c->obj.value == (uintptr_t)MPI_COMM_WORLD) {
        return; // its attributes go to the next version
    }
    bool is_single = !c->is_inter && c->size == 1 && c->ep == pli_process_ep();
    c->is_holding = false; // the parent releases what it holds
    if (is_single &&
        pli_group_create(&pli_process_ep()->id, 1, c->group->session, &group) == PLI_OK) {
        pli_group_release(c->group);
        c->group = c->remote = group;
    } else if (is_single || !keep_among_clones(c, arg)) {
        pli_comm_lose(c);
    }
}

enum pli_err pli_fork_child_begin(uint32_t index, const struct pli_fork_clones *clones,
                                  void (*on_known)(void))
{
    bool is_shared = pli_proc.boot->node.rows[pli_proc.boot->row].is_shared != 0;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        if (pli_proc.lanes[i] != NULL) {
            pli_eager_drop_copies(pli_proc.lanes[i]);
            pli_lane_leave(pli_proc.lanes[i]);
        }
    }
    enum pli_err err = pli_boot_clone(index, on_known);
    if (err != PLI_OK) {
        return err;
    }
    struct pli_boot *boot = pli_proc.boot;
    pli_proc.id = boot->job | boot->index;
    boot->node.rows[boot->row].is_shared = is_shared;
    pli_group_clone();
    pli_arena_clone();
    pli_segment_clone();
    pli_revoke_table_clone();
    for (int i = 0; i < PLI_NODE_N_LANE && err == PLI_OK; i++) {
        struct pli_lane *lane = pli_proc.lanes[i];
        err = lane != NULL ? pli_lane_clone(lane) : PLI_OK;
        if (lane != NULL && err == PLI_OK) {
            pli_endpoint_clone(lane);
        }
    }
    if (err == PLI_OK) {
        struct keeping k = { .clones = *clones };
        pli_comm_each(keep_or_lose, &k);
        pli_group_release(k.last.clones);
        pli_endpoint_static_clone();
        boot->ops->tell(boot, PLI_NODE_RUNNING);
    }
    return err;
}
