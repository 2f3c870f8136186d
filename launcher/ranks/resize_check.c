// SPDX-License-Identifier: BSD-3-Clause
// Checks whether a resize, or clones of ranks, may be asked for.
#include "launcher/ranks/resize_check.h"

#include "launcher/job/role.h"
#include "boot/launcher_wire.h"
#include "launcher/job/job.h"
#include "launcher/job/members.h"
#include "launcher/base/refuse.h"

#include <errno.h>
#include <stdio.h>

// With --on-resize=error one version at a time: all ranks work in the one that counts. Spawned
// processes have a world of their own.
static bool have_taken_up(const struct pli_job *job)
{
    const struct pli_node_header *h = job->node.header;
    bool has = true;
    for (uint32_t row = 0; row < pli_node_n_used(&job->node) && (h->mode & PLI_NODE_TELLS) != 0;
         row++) {
        const struct pli_node_row *r = &job->node.rows[row];
        bool is_in = r->parent_context == 0 && pli_launcher.role->may_work(job, r);
        has = has && (!is_in || atomic_load(&r->works) == (uint32_t)atomic_load(&h->world));
    }
    return has;
}

uint32_t pli_resize_check_goal(const struct pli_job *job, const struct pli_ask_resize *ask,
                               bool is_idle, struct pli_answer *a)
{
    int64_t now = pli_members_living(job), n = ask->n;
    bool is_drop = ask->how == PLI_ASK_DROP;
    n = ask->how == PLI_ASK_GROW ? now + n : ask->how == PLI_ASK_SHRINK ? now - n : n;
    n = is_drop ? now : n;
    if (job->opt.elastic_max == 0 && !is_drop) {
        pli_refuse(a, EPERM,
                   "the job was started with a fixed size; mpiexec --elastic MIN:MAX lets it "
                   "be changed");
    } else if (!is_drop && (n < job->opt.elastic_min || n > job->opt.elastic_max)) {
        char text[160];
        snprintf(text, sizeof text, "%lld ranks %s --elastic %u:%u; there are %lld now",
                 (long long)(n < 0 ? now - n : n),
                 n < 0 ? "cannot leave a job with" : "are outside", job->opt.elastic_min,
                 job->opt.elastic_max, (long long)now);
        pli_refuse(a, ERANGE, "%s", text);
    } else if (job->n_app != 1 && !is_drop) {
        pli_refuse(a, ENOTSUP, "a job of several programs cannot be resized");
    } else if (!is_idle) {
        pli_refuse(a, EBUSY, "the job is being resized already");
    } else if (!have_taken_up(job)) {
        pli_refuse(a, EBUSY, "not all ranks have heard of the last resize yet; try again");
    }
    return a->error == 0 ? (uint32_t)n : 0;
}

bool pli_resize_check_fork(const struct pli_job *job, const struct pli_ask_fork *ask, bool is_idle,
                           struct pli_answer *a)
{
    char text[200];
    uint32_t now = pli_members_size(job);
    int version = atomic_load(&job->node.header->world);
    if (!is_idle) {
        pli_refuse(a, EBUSY, "the job is being resized already");
    } else if (!have_taken_up(job)) {
        pli_refuse(a, EBUSY, "not all ranks were told of the last resize yet");
    } else if (ask->version != (uint32_t)version) {
        snprintf(text, sizeof text,
                 "the world has become version %d, and the ranks work in version %u; take it up "
                 "(MPIX_Comm_world_at) before",
                 version, ask->version);
        pli_refuse(a, ESTALE, "%s", text);
    } else if (ask->n < 1 || ask->n > now) {
        pli_refuse(a, EINVAL, "the request makes no sense");
    } else if (job->opt.elastic_max != 0 && now + ask->n > job->opt.elastic_max) {
        snprintf(text, sizeof text, "%u ranks are outside --elastic %u:%u; there are %u now",
                 now + ask->n, job->opt.elastic_min, job->opt.elastic_max, now);
        pli_refuse(a, ERANGE, "%s", text);
    }
    return a->error == 0;
}
