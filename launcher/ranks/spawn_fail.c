// SPDX-License-Identifier: BSD-3-Clause
// Finds out how a spawned process failed to start. That is kept in its row, which is used again
// only after all processes of its world are gone: the process that spawned it asks before that.
#include "launcher/ranks/spawn_fail.h"

#include "launcher/job/role.h"
#include "boot/launcher_wire.h"
#include "boot/node.h"
#include "launcher/job/job.h"
#include "launcher/base/refuse.h"
#include "launcher/ranks/failure_text.h"
#include "launcher/ranks/on_failure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { OF_SIGNAL = 128 }; // an exit status above it says which signal it was

bool pli_spawn_fail_take(const struct pli_job *job, const struct pli_rank_failure *c)
{
    struct pli_node_row *r = &job->node.rows[c->row];
    if (c->row < job->node.header->n_row || r->parent_context == 0 || c->fault == PLI_FAULT_ABORT ||
        c->state >= PLI_NODE_RUNNING) {
        return false;
    }
    r->abort_code = pli_failure_text_status(c);
    return true;
}

static void tell(int status, struct pli_answer *a)
{
    if (status > OF_SIGNAL) {
        snprintf(a->text, sizeof a->text, "was killed by signal %d, %s,", status - OF_SIGNAL,
                 pli_failure_text_signal(status - OF_SIGNAL));
    } else {
        snprintf(a->text, sizeof a->text, "ended with exit status %d%s", status,
                 status == 127 ? " (usually a command or a shared library that was not found: try "
                                 "ldd on the program)"
                               : "");
    }
}

void pli_spawn_fail_clear(struct pli_job *job, const char *body, size_t len, struct pli_answer *a)
{
    struct pli_ask_unspawn ask;
    if (len != sizeof ask) {
        pli_refuse(a, EINVAL, "a request of %zu bytes was not understood", len);
        return;
    }
    memcpy(&ask, body, sizeof ask);
    const struct pli_node_header *h = job->node.header;
    if (ask.n > h->n_row + h->n_more) { // no spawn has started as many
        pli_refuse(a, EINVAL, "this job has not %u processes", ask.n);
        return;
    }
    for (uint32_t i = 0; i < ask.n && a->text[0] == '\0'; i++) {
        uint32_t row = pli_node_row_of(&job->node, ask.first + i);
        const struct pli_node_row *r = row != UINT32_MAX ? &job->node.rows[row] : NULL;
        if (r != NULL && r->index == ask.first + i && r->has_ended != 0) {
            a->first = i;
            tell(r->abort_code, a);
        }
    }
    pli_launcher.role->spawn_drop(job, ask.first, ask.n);
    if (ask.is_known != 0) {
        pli_on_failure_dropped(job, ask.first, ask.n);
    }
}
