// SPDX-License-Identifier: BSD-3-Clause
// MPI_Fork, step by step: all ranks agree that each of them can be cloned, the launcher reserves
// rows for the new ranks, the first m ranks fork, and the launcher makes the new version of the
// world the newest. A failure before this last step leaves the world as it was.
#include "elastic/fork.h"

#include "base/fault.h"
#include "base/futex.h"
#include "base/log.h"
#include "boot/boot.h"
#include "coll/board/board_life.h"
#include "coll/coll.h"
#include "elastic/fork_child.h"
#include "msg/process.h"
#include "net/ucx/ucx_quiesce.h"
#include "elastic/fork_comm.h"
#include "elastic/fork_exchange.h"
#include "elastic/resize_error.h"
#include "elastic/elastic_world.h"
#include "elastic/world_next.h"
#include "elastic/fork_split.h"
#include "io/file_fork.h"
#include "rma/win_fork.h"
#include "obj/comm.h"
#include "obj/handle.h"

#include <mpi.h>
#include <unistd.h>

static enum pli_err check(int m, const struct pli_comm *world)
{
    if (m < 1 || m > world->size) {
        return pli_fail(PLI_ERR_ARG,
                        "has argument m = %d, but it must be 1 to %d, the number of ranks", m,
                        world->size);
    }
    if (!pli_ucx_quiesce_is_done()) { // UCX has registered memory of windows or of UPC
        size_t n = pli_win_fork_count();
        if (n > 0) {
            return pli_fail(PLI_ERR_OTHER, "has %zu windows; free them before the call", n);
        }
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "uses one-sided access by UCX, and such ranks cannot be cloned; set "
                        "PLIANT_UCX_RMA=never to do without");
    }
    enum pli_err err = pli_file_fork_check();
    err = err == PLI_OK ? pli_fork_child_may() : err;
    return err == PLI_OK ? pli_win_fork_check(world->group) : err;
}

// Let MPI_COMM_WORLD be the new version. Old and new ranks call this alike.
static enum pli_err enter_new_world(uint32_t version, int n_old)
{
    _Atomic int *byte = &pli_boot.node.header->world; // of this host, which may learn of it later
    for (int v = atomic_load(byte); v < (int)version; v = atomic_load(byte)) {
        pli_futex_wait(byte, v, false, 0);
    }
    pli_fault("fork_enter", pli_boot.index);
    enum pli_err err = pli_elastic_world_set(version);
    pli_resize_error_forked(version);
    if (err == PLI_OK) {
        pli_process_recount();
        struct pli_comm *world = pli_handle_get(MPI_COMM_WORLD, PLI_KIND_COMM);
        err = pli_fork_comm_add(world, version, n_old);
        err = err == PLI_OK ? pli_coll_barrier(world) : err;
    }
    return err;
}

static int parent_pipe = -1; // in a clone: the pipe that its parent reads

static void tell_parent(void)
{
    if (parent_pipe >= 0) {
        pli_fork_split_notify(parent_pipe);
        parent_pipe = -1;
    }
}

// A clone becomes a rank. Its memory is a copy of its parent's.
static enum pli_err start_clone(uint32_t index, const struct pli_fork_clones *clones,
                                uint32_t version, int n_old)
{
    pli_fault("fork_clone", pli_boot.index); // still the parent's index
    pli_file_fork_leave();
    enum pli_err err = pli_win_fork_copy();
    err = err == PLI_OK ? pli_fork_child_begin(index, clones, tell_parent) : err;
    if (err != PLI_OK) {
        pli_log(PLI_ERROR, "a rank cannot be forked: %s", pli_fail_take(NULL));
        _exit(1); // the parent reads the end of the pipe
    }
    struct pli_boot *boot = &pli_boot;
    pli_board_life_clone();
    pli_elastic_world_clone();
    pli_world_next_clone();
    pli_fork_comm_clone();
    pli_win_fork_lose();
    pli_file_fork_lose();
    pli_fault("fork_become", boot->index);
    boot->ops->ready(boot);
    tell_parent();
    pli_fault("fork_ready", boot->index);
    err = enter_new_world(version, n_old);
    err = err == PLI_OK ? pli_win_fork_connect() : err;
    return err == PLI_OK ? pli_file_fork_connect() : err;
}

// Fork this process. In the clone *is_new is true. The parent returns when the clone is a process
// of the job, or is known to the launcher and will be moved to another host.
static enum pli_err clone_process(uint32_t index, bool *is_new)
{
    uint32_t pid = 0;
    enum pli_err err = pli_fork_exchange_pid(index, &pid);
    err = err == PLI_OK ? pli_fork_split(pid, &parent_pipe) : err;
    *is_new = err == PLI_OK && parent_pipe >= 0;
    return err;
}

// All ranks can be cloned, and no window is in use. *is_new: this is a clone.
static enum pli_err fork_agreed(int m, struct pli_info *info, struct pli_comm *world,
                                uint32_t version, bool *is_new)
{
    struct pli_answer a;
    int n_old = world->size, rank = world->rank;
    pli_fault("fork_ask", pli_boot.index);
    const struct pli_ask_fork want = { version, (uint32_t)m, pli_boot.index, 0 };
    enum pli_err err = pli_fork_exchange_clones(world, &want, info, &a);
    if (err != PLI_OK) {
        return err;
    }
    pli_resize_error_fork(true);
    pli_fault("fork_split", pli_boot.index);
    if (rank < m) {
        err = clone_process(a.first + (uint32_t)rank, is_new);
        if (*is_new) {
            const struct pli_fork_clones clones = { world->group, m, a.first };
            return start_clone(a.first + (uint32_t)rank, &clones, version + 1, n_old);
        }
    }
    pli_fault("fork_made", pli_boot.index);
    err = pli_fork_exchange_agree(world, m, err);
    pli_fault("fork_agreed", pli_boot.index);
    pli_fault_hold("fork_agreed", pli_boot.index);
    const struct pli_ask_forked done = { err == PLI_OK, 0 };
    enum pli_err end = pli_fork_exchange_ask(world, PLI_ASK_FORKED, &done, sizeof done, &a);
    err = end != PLI_OK ? end : err; // the launcher may know the cause
    if (err != PLI_OK) {
        pli_resize_error_fork(false);
        return err;
    }
    return enter_new_world(version + 1, n_old);
}

static enum pli_err fork_quiesced(int m, struct pli_info *info, enum pli_err why, int *n_out)
{
    uint32_t version;
    struct pli_comm *world = pli_elastic_world_newest(&version);
    bool is_new = false;
    struct pli_fail_saved saved;
    pli_file_fork_suspend();
    why = why == PLI_OK ? check(m, world) : why;
    enum pli_err err = pli_fork_exchange_agree(world, m, why);
    bool is_agreed = err == PLI_OK;
    if (is_agreed) {
        pli_win_fork_suspend();
        err = fork_agreed(m, info, world, version, &is_new);
    }
    *n_out = is_new ? 0 : m;
    if (!is_new) {
        pli_fail_save(&saved, err);
        enum pli_err resumed = is_agreed ? pli_win_fork_resume() : PLI_OK;
        resumed = resumed == PLI_OK ? pli_file_fork_resume() : resumed;
        err = err == PLI_OK ? resumed : pli_fail_repeat(&saved);
    }
    return err;
}

enum pli_err pli_fork(int m, struct pli_info *info, enum pli_err why, int *n_out)
{
    bool is_quiesced = pli_ucx_quiesce_begin();
    enum pli_err err = fork_quiesced(m, info, why, n_out);
    if (is_quiesced) { // old and new ranks alike
        pli_ucx_quiesce_end();
    }
    return err;
}
