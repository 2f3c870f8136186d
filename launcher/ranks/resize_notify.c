// SPDX-License-Identifier: BSD-3-Clause
// Agrees with all hosts after which collective a resize is announced. Ranks of one host read each
// other's rows; for several hosts each sends its largest number of collectives here, and the
// largest of all goes to every host. A rank that has ended begins no other collective.
#include "launcher/ranks/resize_notify.h"

#include "launcher/base/launcher.h"
#include "boot/agree_wire.h"
#include "launcher/job/job.h"
#include "launcher/ranks/failure_news.h"
#include "launcher/base/say.h"

#include <stdlib.h>
#include <string.h>

void pli_resize_notify_begin(const uint32_t *members, uint32_t n)
{
    struct pli_resize_notify_state *self = pli_launcher.resize_notify;
    free(self->old);
    self->old = pli_say_need(malloc((n + 1) * sizeof *self->old));
    memcpy(self->old, members, n * sizeof *self->old);
    self->n_old = n;
}

void pli_resize_notify_check(struct pli_job *job)
{
    struct pli_resize_notify_state *self = pli_launcher.resize_notify;
    const struct pli_node *node = &job->node;
    uint32_t version = (uint32_t)atomic_load(&node->header->world), most = 0;
    if ((node->header->mode & PLI_NODE_TELLS) == 0 || self->n_told == version) {
        return;
    }
    for (uint32_t i = 0; i < self->n_old; i++) {
        uint32_t row = pli_node_row_of(node, self->old[i]);
        if (row == UINT32_MAX) {
            continue;
        }
        const struct pli_node_row *r = &node->rows[row];
        uint64_t said = atomic_load(&r->said);
        bool is_in =
            !pli_node_has_ended(node, self->old[i]) && atomic_load(&r->state) < PLI_NODE_FINALIZED;
        if (is_in && said >> 32 < version) {
            return;
        }
        if (said >> 32 == version && (uint32_t)said > most) {
            most = (uint32_t)said;
        }
    }
    self->n_told = version;
    pli_failure_news_tell(
        job, &(struct pli_news){ .what = PLI_NEWS_END, .seq = version, .n_begun = most });
}

void pli_resize_notify_hear(struct pli_job *job, const struct pli_agree_word *word)
{
    uint32_t row = pli_node_row_of(&job->node, word->place);
    if (row == UINT32_MAX) {
        return;
    }
    struct pli_node_row *r = &job->node.rows[row];
    if (word->what == PLI_AGREE_SAID) {
        atomic_store(&r->said, (uint64_t)word->seq << 32 | word->value);
    } else {
        atomic_store(&r->works, word->seq);
    }
    pli_resize_notify_check(job);
}
