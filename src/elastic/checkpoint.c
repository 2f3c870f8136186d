// SPDX-License-Identifier: BSD-3-Clause
// MPIX_Checkpoint: asks the launcher for a checkpoint and waits until it is on the disk. In the
// image of the process it still waits; the launcher that restores the image ends the wait.
#include "elastic/checkpoint.h"

#include "base/futex.h"
#include "boot/boot.h"
#include "ckpt/freeze.h"
#include "boot/ckpt_wire.h"
#include "coll/coll.h"
#include "msg/endpoint.h"
#include "msg/progress.h"
#include "msg/statistics_hooks.h"
#include "dynamic/launcher_call.h"
#include "elastic/registered.h"
#include "obj/comm.h"

#include <stdio.h>
#include <string.h>

enum { WAIT_NS = 1000000 };

struct outcome {
    int32_t error, is_restarted;
    int32_t attempt; // with registered state: the number of the checkpoint
    char text[200];
    char to[sizeof((struct pli_node_save *)0)->to]; // the directory that all ranks write to
};

// The last attempt that this process took part in. A host may learn late that the checkpoint it was
// told to want has been made.
static _Atomic int last_attempt;

enum pli_err pli_checkpoint_wanted(int *flag_out)
{
    int wanted = pli_proc.boot != NULL
                     ? atomic_load_explicit(&pli_node_save(pli_proc.boot->node.header)->wanted,
                                            memory_order_relaxed)
                     : 0;
    *flag_out = wanted > atomic_load_explicit(&last_attempt, memory_order_relaxed);
    return PLI_OK;
}

// The launcher stops all processes, this one too, and writes their images.
static void make_image(struct pli_lane *lane, struct outcome *o)
{
    struct pli_node_save *save = pli_node_save(pli_proc.boot->node.header);
    int generation = atomic_load(&save->generation), awaited = atomic_load(&save->n_begun) + 1;
    if (!pli_freeze_ask()) {
        o->error = 1;
        snprintf(o->text, sizeof o->text, "mpiexec has ended");
        return;
    }
    for (int n = atomic_load(&save->n_done); n - awaited < 0; n = atomic_load(&save->n_done)) {
        while (pli_progress_once(lane) > 0) {
        }
        pli_futex_wait(&save->n_done, n, false, WAIT_NS);
    }
    o->error = save->error;
    o->is_restarted = atomic_load(&save->generation) != generation;
    snprintf(o->text, sizeof o->text, "%.190s", save->text);
}

static void set_outcome(struct outcome *o, enum pli_err err, const struct pli_answer *a)
{
    o->error = err != PLI_OK ? 1 : a->error;
    snprintf(o->text, sizeof o->text, "%.190s", err != PLI_OK ? pli_fail_take(NULL) : a->text);
}

// All ranks write their registered state; the launcher makes a checkpoint of the files.
static enum pli_err make_state(struct pli_comm *comm, struct outcome *o)
{
    struct pli_node_save *save = pli_node_save(pli_proc.boot->node.header);
    struct pli_answer a = { 0 };
    if (comm->rank ==
        0) { // its host knows the directory before the answer comes; others may not yet
        set_outcome(o, pli_launcher_call(comm->ep->lane, PLI_ASK_STATE, NULL, 0, &a), &a);
        o->attempt = atomic_load(&save->n_begun);
        memcpy(o->to, save->to, sizeof o->to);
    }
    enum pli_err err =
        pli_coll_bcast(o, sizeof *o, pli_handle_get(MPI_BYTE, PLI_KIND_DATATYPE), 0, comm);
    if (err != PLI_OK || o->error != 0) {
        return err;
    }
    o->to[sizeof o->to - 1] = '\0';
    err = pli_registered_agree(comm, pli_registered_write(o->to, comm->rank));
    atomic_store_explicit(&last_attempt, o->attempt, memory_order_relaxed);
    if (comm->rank == 0) {
        struct pli_ask_seal ask = { .is_good = err == PLI_OK, .n_piece = (uint32_t)comm->size };
        enum pli_err end = pli_launcher_call(comm->ep->lane, PLI_ASK_SEAL, &ask, sizeof ask, &a);
        if (err == PLI_OK) {
            set_outcome(o, end, &a);
        }
    }
    return err;
}

enum pli_err pli_checkpoint_make(struct pli_comm *comm, int *is_restarted_out)
{
    struct outcome o = { 0 };
    if (comm->is_inter) {
        return pli_fail(PLI_ERR_COMM, "argument comm is an intercommunicator");
    }
    if (comm->is_span) {
        return pli_comm_refuse_span(comm, "checkpoints");
    }
    uint32_t how = pli_node_save(pli_proc.boot->node.header)->how;
    if (how == PLI_NODE_SAVE_OFF || how == PLI_NODE_SAVE_MOVE) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "the job was started without checkpoints; mpiexec --checkpoint-dir DIR "
                        "allows them");
    }
    enum pli_err err =
        pli_coll_barrier(comm); // the checkpoint has all that any rank did before the call
    if (err == PLI_OK && how == PLI_NODE_SAVE_STATE) {
        err = make_state(comm, &o);
    } else if (err == PLI_OK && comm->rank == 0) {
        make_image(comm->ep->lane, &o);
    }
    if (err == PLI_OK) {
        err = pli_coll_bcast(&o, sizeof o, pli_handle_get(MPI_BYTE, PLI_KIND_DATATYPE), 0, comm);
    }
    if (err == PLI_OK && o.error != 0) {
        o.text[sizeof o.text - 1] = '\0';
        err = pli_fail(PLI_ERR_IO, "no checkpoint was made: %s", o.text);
    }
    if (err == PLI_OK) {
        if (how == PLI_NODE_SAVE_STATE) { // the processes did not stand still
            atomic_fetch_add(&pli_statistics_n_checkpoint, 1);
        }
        *is_restarted_out = o.is_restarted;
    }
    return err;
}
