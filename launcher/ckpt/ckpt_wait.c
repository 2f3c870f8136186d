// SPDX-License-Identifier: BSD-3-Clause
// The requests that wait for the checkpoint that is being made.
#include "launcher/ckpt/ckpt_wait.h"

#include "launcher/ranks/rank_request.h"
#include "base/futex.h"
#include "boot/launcher_wire.h"
#include "boot/ckpt_wire.h"
#include "launcher/ckpt/ckpt_hosts.h"
#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/job/job.h"

#include <limits.h>
#include <stdio.h>

bool pli_ckpt_wait_add(void *token)
{
    for (int i = 0; i < PLI_CKPT_N_WAIT; i++) {
        if (pli_launcher.ckpt->tokens[i] == NULL) {
            pli_launcher.ckpt->tokens[i] = token;
            return true;
        }
    }
    return false;
}

bool pli_ckpt_wait_is_any(void)
{
    bool is_any = false;
    for (int i = 0; i < PLI_CKPT_N_WAIT; i++) {
        is_any = is_any || pli_launcher.ckpt->tokens[i] != NULL;
    }
    return is_any;
}

void pli_ckpt_forget(const void *token)
{
    for (int i = 0; i < PLI_CKPT_N_WAIT; i++) {
        pli_launcher.ckpt->tokens[i] =
            pli_launcher.ckpt->tokens[i] == token ? NULL : pli_launcher.ckpt->tokens[i];
    }
}

void pli_ckpt_wait_end(struct pli_job *job, const struct pli_answer *a)
{
    struct pli_node_save *save = pli_node_save(job->node.header);
    save->error = a->error;
    snprintf(save->text, sizeof save->text, "%.*s", (int)sizeof save->text - 1, a->text);
    save->number = a->error == 0 ? a->first : save->number;
    atomic_store(&save->wanted, 0);
    atomic_store(&save->n_done, atomic_load(&save->n_begun));
    pli_futex_wake(&save->n_done, INT_MAX, false);
    pli_ckpt_hosts_tell(job);
    for (int i = 0; i < PLI_CKPT_N_WAIT; i++) {
        if (pli_launcher.ckpt->tokens[i] != NULL) {
            pli_rank_request_answer(pli_launcher.ckpt->tokens[i], a);
            pli_launcher.ckpt->tokens[i] = NULL;
        }
    }
}
