// SPDX-License-Identifier: BSD-3-Clause
// Collects the status of all hosts, for one request at a time, and for none while a deadlock is
// being reported.
#include "launcher/hosts/status_collect.h"

#include "launcher/base/launcher.h"
#include "launcher/ranks/rank_request.h"
#include "boot/launcher_wire.h"
#include "launcher/hosts/head_run.h"
#include "launcher/job/job.h"
#include "launcher/base/refuse.h"

#include <errno.h>
#include <stddef.h>

static void shown(void)
{
    struct pli_status_collect_state *self = pli_launcher.status_collect;
    struct pli_answer a = { 0 };
    if (self->waits != NULL) {
        pli_rank_request_answer(self->waits, &a);
    }
    self->waits = NULL;
}

bool pli_status_collect_ask(const struct pli_job *job, const struct pli_ask_look *look, void *token,
                            struct pli_answer *a)
{
    struct pli_status_collect_state *self = pli_launcher.status_collect;
    if (job->n_started == 0) {
        pli_refuse(a, EAGAIN, "the job has not begun yet; try again");
    } else if (pli_head_run_is_showing()) {
        pli_refuse(a, EBUSY, "another request is being answered; try again");
    }
    if (a->error != 0) {
        return true;
    }
    self->waits = token;
    pli_head_run_show(look->what, look->index, shown);
    return self->waits == NULL;
}

void pli_status_collect_forget(const void *token)
{
    struct pli_status_collect_state *self = pli_launcher.status_collect;
    self->waits = self->waits == token ? NULL : self->waits;
}
