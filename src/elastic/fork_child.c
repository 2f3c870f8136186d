// SPDX-License-Identifier: BSD-3-Clause
// Turns a forked process into a rank of its own. Its private memory is a copy of the parent's, but
// what lies in the shared memory of the job still belongs to the parent. So everything that points
// there is made anew, and everything that would be released there is forgotten.
#include "elastic/fork_child.h"

#include "base/lock.h"
#include "boot/boot.h"
#include "msg/arena.h"
#include "msg/bsend.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "ft/revoke_table.h"
#include "msg/process.h"
#include "msg/progress.h"
#include "msg/progress_thread.h"
#include "obj/comm.h"
#include "obj/group.h"
#include "obj/session.h"

#include <sys/stat.h>

static void flush_buffer(struct pli_comm *c, void *arg)
{
    (void)arg;
    if (c->buffer != NULL) {
        pli_bsend_comm_flush(c);
    }
}

struct uncloneable {
    size_t n_endpoint, n_upc;
};

static void count_uncloneable(struct pli_comm *c, void *arg)
{
    struct uncloneable *o = arg;
    o->n_endpoint += c->ep != pli_process_ep();
    o->n_upc += c->context == PLI_CONTEXT_UPC || c->context == PLI_CONTEXT_UPC_ALL;
}

// The number of threads: the directory has a link for each of them besides its own two.
static unsigned long count_threads(void)
{
    struct stat st;
    return stat("/proc/self/task", &st) == 0 && st.st_nlink > 2 ? st.st_nlink - 2 : 1;
}

// Refuse when there are objects that cannot exist in two processes.
static enum pli_err check_objects(void)
{
    static const struct {
        enum pli_kind kind;
        const char *what;
    } kinds[] = { { PLI_KIND_MESSAGE, "matched messages (MPI_Mprobe) that it has not received" },
                  { PLI_KIND_FILE, "files (MPI_File_open)" }, // each has a window
                  { PLI_KIND_WIN, "windows" } };
    struct uncloneable uncloneable = { 0, 0 };
    size_t n = 0;
    pli_comm_each(count_uncloneable, &uncloneable);
    if (uncloneable.n_upc > 0 || uncloneable.n_endpoint > 0) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        uncloneable.n_upc > 0
                            ? "is a UPC program, whose threads are not cloned"
                            : "has communicators of endpoints, which are not cloned; "
                              "free them before");
    }
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = pli_proc.lanes[i];
        if (lane != NULL) {
            pli_progress_once(lane); // requests that the program freed may have completed
            n += pli_handle_pool_live(&lane->requests);
        }
    }
    if (n > 0) {
        return pli_fail(PLI_ERR_OTHER,
                        "has %zu request%s of nonblocking or persistent operations; complete or "
                        "free them before",
                        n, n == 1 ? "" : "s");
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        n = pli_handle_live(kinds[i].kind);
        if (n > 0) {
            return pli_fail(PLI_ERR_OTHER, "has %zu %s; receive or free them before", n,
                            kinds[i].what);
        }
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
    if (n > 1) {
        return pli_fail(PLI_ERR_OTHER,
                        "has %lu threads, and a clone would have one; end the others before "
                        "(OpenMP: omp_pause_resource_all)",
                        n);
    }
    if (boot->gateway != NULL) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "is in a job of several MPIs; ranks of such jobs are not cloned");
    }
    if (boot->row >= h->n_row && boot->version == 0) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "was started by MPI_Comm_spawn; only the world of mpiexec can be cloned");
    }
    pli_bsend_flush();
    pli_comm_each(flush_buffer, NULL);
    pli_process_drain();
    return check_objects();
}

// A communicator with no member but the parent has no member but the clone here; all others are
// lost to the clone.
static void keep_if_single(struct pli_comm *c, void *arg)
{
    struct pli_group *mine = arg, *group;
    if (c->obj.value == (uintptr_t)MPI_COMM_WORLD) {
        return; // its attributes go to the next version
    }
    bool is_single = !c->is_inter && c->size == 1 && c->ep == pli_process_ep();
    c->is_holding = false; // the parent releases what it holds
    if (!is_single || pli_group_dup(mine, pli_process_ep()->id, &group) != PLI_OK) {
        pli_comm_lose(c);
        return;
    }
    group->session = pli_session_retain(c->group->session);
    pli_group_release(c->group);
    c->group = c->remote = group;
}

enum pli_err pli_fork_child_begin(uint32_t index, void (*on_known)(void))
{
    bool is_shared = pli_proc.boot->node.rows[pli_proc.boot->row].is_shared != 0;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        if (pli_proc.lanes[i] != NULL) {
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
    pli_lock_clone();
    pli_group_clone();
    pli_arena_clone();
    pli_revoke_table_clone();
    for (int i = 0; i < PLI_NODE_N_LANE && err == PLI_OK; i++) {
        struct pli_lane *lane = pli_proc.lanes[i];
        err = lane != NULL ? pli_lane_clone(lane) : PLI_OK;
        if (lane != NULL && err == PLI_OK) {
            pli_endpoint_clone(lane);
        }
    }
    struct pli_group *mine;
    if (err == PLI_OK) {
        err = pli_group_create(&pli_process_ep()->id, 1, NULL, &mine);
    }
    if (err == PLI_OK) {
        pli_comm_each(keep_if_single, mine);
        pli_group_release(mine);
        boot->ops->tell(boot, PLI_NODE_RUNNING);
    }
    return err;
}
