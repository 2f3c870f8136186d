// SPDX-License-Identifier: BSD-3-Clause
// All ranks agree that each of them can be cloned, the launcher prepares rows, the first ranks
// split, and the launcher changes the word that makes it count. Until then a failure leaves the
// world as it was.
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
#include "elastic/fork_part.h"
#include "elastic/fork_exchange.h"
#include "elastic/resize_error.h"
#include "elastic/resize.h"
#include "elastic/fork_split.h"
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
    if (!pli_ucx_quiesce_is_done()) { // UCX reaches memory of windows, or of UPC
        size_t n = pli_handle_live(PLI_KIND_WIN);
        if (n > 0) {
            return pli_fail(PLI_ERR_OTHER, "has %zu windows; free them before", n);
        }
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "reaches far memory by UCX (PLIANT_UCX_RMA=never does without); ranks of "
                        "such jobs are not cloned");
    }
    return pli_fork_child_may();
}

// The new world is there, for old and new ranks alike.
static enum pli_err enter(uint32_t version, int n_old)
{
    _Atomic int *word = &pli_boot.node.header->world; // of this host, which may hear of it later
    for (int v = atomic_load(word); v < (int)version; v = atomic_load(word)) {
        pli_futex_wait(word, v, false, 0);
    }
    pli_fault("fork_enter", pli_boot.index);
    enum pli_err err = pli_resize_take_up(version);
    pli_resize_error_forked(version);
    if (err == PLI_OK) {
        pli_process_recount();
        struct pli_comm *world = pli_handle_get(MPI_COMM_WORLD, PLI_KIND_COMM);
        err = pli_fork_part_add(world, version, n_old);
        err = err == PLI_OK ? pli_coll_barrier(world) : err;
    }
    return err;
}

static int told = -1; // in a clone: where its parent waits

static void tell_parent(void)
{
    if (told >= 0) {
        pli_fork_split_tell(told);
        told = -1;
    }
}

// The life of a new rank begins here. Its memory is that of the other one.
static enum pli_err begin(uint32_t index, uint32_t version, int n_old)
{
    pli_fault("fork_clone", pli_boot.index); // still its parent's
    enum pli_err err = pli_fork_child_begin(index, tell_parent);
    if (err != PLI_OK) {
        pli_log(PLI_ERROR, "a rank cannot be forked: %s", pli_fail_take(NULL));
        _exit(1); // who waits at the pipe sees its end
    }
    struct pli_boot *boot = &pli_boot;
    pli_board_life_clone();
    pli_resize_clone();
    pli_fork_part_clone();
    pli_fault("fork_become", boot->index);
    boot->ops->ready(boot);
    tell_parent();
    pli_fault("fork_ready", boot->index);
    return enter(version, n_old);
}

// Split this process. In the new one *is_new is true; the parent returns when that one has told
// that it is there, or is known and will go to another host.
static enum pli_err split(uint32_t index, bool *is_new)
{
    uint32_t number = 0;
    enum pli_err err = pli_fork_exchange_number(index, &number);
    err = err == PLI_OK ? pli_fork_split(number, &told) : err;
    *is_new = err == PLI_OK && told >= 0;
    return err;
}

static enum pli_err fork_calmly(int m, struct pli_info *info, enum pli_err why, int *n_out)
{
    uint32_t version;
    struct pli_comm *world = pli_resize_newest(&version);
    struct pli_answer a;
    int n_old = world->size, rank = world->rank;
    bool is_new = false;
    why = why == PLI_OK ? check(m, world) : why;
    enum pli_err err = pli_fork_exchange_agree(world, m, why);
    if (err != PLI_OK) {
        return err;
    }
    pli_fault("fork_ask", pli_boot.index);
    const struct pli_ask_fork want = { version, (uint32_t)m, pli_boot.index, 0 };
    err = pli_fork_exchange_clones(world, &want, info, &a);
    if (err != PLI_OK) {
        return err;
    }
    pli_resize_error_fork(true);
    pli_fault("fork_split", pli_boot.index);
    if (rank < m) {
        err = split(a.first + (uint32_t)rank, &is_new);
        if (is_new) {
            *n_out = 0;
            return begin(a.first + (uint32_t)rank, version + 1, n_old);
        }
    }
    pli_fault("fork_made", pli_boot.index);
    err = pli_fork_exchange_agree(world, m, err);
    pli_fault("fork_agreed", pli_boot.index);
    const struct pli_ask_forked done = { err == PLI_OK, 0 };
    enum pli_err end = pli_fork_exchange_ask(world, PLI_ASK_FORKED, &done, sizeof done, &a);
    err = err == PLI_OK ? end : err;
    if (err == PLI_OK) {
        err = enter(version + 1, n_old);
    } else {
        pli_resize_error_fork(false);
    }
    *n_out = m;
    return err;
}

enum pli_err pli_fork(int m, struct pli_info *info, enum pli_err why, int *n_out)
{
    bool is_calm = pli_ucx_quiesce_begin();
    enum pli_err err = fork_calmly(m, info, why, n_out);
    if (is_calm) { // old and new ranks alike
        pli_ucx_quiesce_end();
    }
    return err;
}
