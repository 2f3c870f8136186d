// SPDX-License-Identifier: BSD-3-Clause
// The end of a window: all members meet, and its memory is given back.
#include "rma/win_free.h"

#include "boot/boot.h"
#include "coll/coll.h"
#include "comm/agree.h"
#include "obj/attr.h"
#include "msg/arena.h"
#include "obj/comm.h"
#include "obj/errhandler.h"
#include "obj/info.h"
#include "onesided/region.h"
#include "rma/rma_target.h"
#include "rma/win.h"
#include "rma/win_attach.h"
#include "rma/win_memory.h"
#include "rma/win_region.h"
#include "rma/win_ring.h"

#include <stdlib.h>

void pli_win_free_local(struct pli_win *w)
{
    if (w == NULL) {
        return;
    }
    pli_win_forget(w);
    pli_win_region_close(w);
    pli_win_ring_destroy(w);
    pli_comm_release(w->comm);
    pli_errhandler_release(w->errhandler);
    pli_win_attach_clear(w);
    pli_info_release(w->info);
    pli_win_memory_give(&w->memory);
    free(w->is_guard_own ? w->guard : NULL);
    pli_arena_give(w->is_guard_arena ? w->guard : NULL);
    free(w->posted.at);
    free(w->started.at);
    pli_arena_give(w->epochs);
    free(w->peers);
    pli_handle_destroy(w, sizeof *w);
}

enum pli_err pli_win_free(struct pli_win *w)
{
    enum pli_err err = pli_rma_target_no_epoch(w, "MPI_Win_free");
    if (err == PLI_OK && w->is_posted) {
        err = pli_fail(PLI_ERR_RMA_SYNC,
                       "%s is exposed; MPI_Win_wait must come before MPI_Win_free", pli_win_say(w));
    }
    if (err == PLI_OK && w->attrs != NULL) {
        err = pli_attr_delete_all(&w->obj);
    }
    if (err != PLI_OK) {
        return err;
    }
    pli_region_drain(w->region); // keys may have been asked for
    pli_win_ring_drain(w);
    // No epoch is open here, so all that this member did is done. Others may still want something
    // of it, until they come here too; dead ones will not.
    bool is_mortal = (pli_boot.node.header->mode & PLI_NODE_SURVIVES) != 0;
    err = is_mortal ? pli_agree_meet(w->comm, "MPI_Win_free") : pli_coll_barrier(w->comm);
    if (err != PLI_OK) {
        pli_fail_take(NULL);
    }
    pli_win_free_local(w);
    return PLI_OK;
}
