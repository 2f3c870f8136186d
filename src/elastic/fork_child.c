// SPDX-License-Identifier: BSD-3-Clause
// What a forked process has is a copy of private memory; what lies in the memory of the job is the
// other process's. So all that points there is made anew, and all that would give something back
// there is forgotten.
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

static void flush(struct pli_comm *c, void *arg)
{
    (void)arg;
    if (c->buffer != NULL) {
        pli_bsend_comm_flush(c);
    }
}

struct others {
    size_t n_endpoint, n_upc;
};

static void count_others(struct pli_comm *c, void *arg)
{
    struct others *o = arg;
    o->n_endpoint += c->ep != pli_process_ep();
    o->n_upc += c->context == PLI_CONTEXT_UPC || c->context == PLI_CONTEXT_UPC_ALL;
}

// Threads of this process: the directory has a link for each besides its own two.
static unsigned long n_thread(void)
{
    struct stat st;
    return stat("/proc/self/task", &st) == 0 && st.st_nlink > 2 ? st.st_nlink - 2 : 1;
}

// Objects that cannot be in two processes.
static enum pli_err check_objects(void)
{
    static const struct {
        enum pli_kind kind;
        const char *what;
    } kinds[] = { { PLI_KIND_MESSAGE, "matched messages (MPI_Mprobe) that it has not received" },
                  { PLI_KIND_FILE, "files (MPI_File_open)" }, // each has a window
                  { PLI_KIND_WIN, "windows" } };
    struct others others = { 0, 0 };
    size_t n = 0;
    pli_comm_each(count_others, &others);
    if (others.n_upc > 0 || others.n_endpoint > 0) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        others.n_upc > 0 ? "is a UPC program, whose threads are not cloned"
                                         : "has communicators of endpoints, which are not cloned; "
                                           "free them before");
    }
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = pli_proc.lanes[i];
        if (lane != NULL) {
            pli_progress_once(lane); // requests that were freed may have ended
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
    n = n_thread() - pli_progress_thread_is_running();
    if (boot->ops->clone == pli_boot_no_clone) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "was not started by Pliant MPI's mpiexec, which alone can have more ranks; "
                        "mpiexec -n 1 PROGRAM is enough");
    }
    if (n > 1) {
        return pli_fail(PLI_ERR_OTHER,
                        "has %lu threads, and a clone would have one; end the others before "
                        "(OpenMP: omp_pause_resource_all)",
                        n);
    }
    if (boot->gate != NULL) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "is in a job of several MPIs; ranks of such jobs are not cloned");
    }
    if (boot->row >= h->n_row && boot->version == 0) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "was started by MPI_Comm_spawn; only the world of mpiexec can be cloned");
    }
    pli_bsend_flush();
    pli_comm_each(flush, NULL);
    pli_process_drain();
    return check_objects();
}

// A communicator of one member was the other process's alone: here it is this one's.
static void sort_out(struct pli_comm *c, void *arg)
{
    struct pli_group *mine = arg, *group;
    if (c->obj.value == (uintptr_t)MPI_COMM_WORLD) {
        return; // what hangs on it goes to the next version
    }
    bool is_single = !c->is_inter && c->size == 1 && c->ep == pli_process_ep();
    c->is_holding = false; // the other process gives back what it holds
    if (!is_single || pli_group_dup(mine, pli_process_ep()->id, &group) != PLI_OK) {
        pli_comm_lose(c);
        return;
    }
    group->session = pli_session_retain(c->group->session);
    pli_group_release(c->group);
    c->group = c->remote = group;
}

enum pli_err pli_fork_child_begin(uint32_t index, void (*known)(void))
{
    bool is_shared = pli_proc.boot->node.rows[pli_proc.boot->row].is_shared != 0;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        if (pli_proc.lanes[i] != NULL) {
            pli_lane_leave(pli_proc.lanes[i]);
        }
    }
    enum pli_err err = pli_boot_clone(index, known);
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
        pli_comm_each(sort_out, mine);
        pli_group_release(mine);
        boot->ops->tell(boot, PLI_NODE_RUNNING);
    }
    return err;
}
