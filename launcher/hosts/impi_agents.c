// SPDX-License-Identifier: BSD-3-Clause
// Passes messages between the agents of an IMPI client on several hosts.
#include "launcher/hosts/impi_agents.h"

#include "launcher/base/launcher.h"
#include "impi/agent_native/native_agent.h"
#include "launcher/hosts/head.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/base/say.h"

#include <stdlib.h>
#include <string.h>

bool pli_impi_agents_check(const struct pli_job *job)
{
    for (uint32_t r = 1; job->opt.impi_server != NULL && r < job->n_rank; r++) {
        if (job->procs[r].host < job->procs[r - 1].host) {
            pli_say("in an IMPI job the ranks of a host follow each other, but rank %u is on %s "
                    "after rank %u on %s; use --map-by slot, or give the hosts more slots",
                    r, job->hosts[job->procs[r].host].name, r - 1,
                    job->hosts[job->procs[r - 1].host].name);
            return false;
        }
    }
    return true;
}

static void keep_place(struct pli_job *job, uint32_t host, const void *data, size_t len)
{
    struct pli_impi_agents_state *self = pli_launcher.impi_agents;
    if (self->places == NULL) {
        self->places = pli_say_need(calloc(job->n_host, sizeof *self->places));
        self->is_here = pli_say_need(calloc(job->n_host, sizeof *self->is_here));
    }
    if (len != sizeof self->places[0] || self->is_here[host]) {
        return;
    }
    memcpy(&self->places[host], data, len);
    self->is_here[host] = true;
    if (++self->n_here == job->n_host) {
        pli_head_tell_agent(0, PLI_NATIVE_AGENT_LIST, self->places,
                            job->n_host * sizeof self->places[0]);
    }
}

bool pli_impi_agents_hear(struct pli_job *job, uint32_t host, int word, const void *data,
                          size_t len)
{
    struct pli_impi_agents_state *self = pli_launcher.impi_agents;
    switch (word) {
    case PLI_NATIVE_AGENT_HERE:
        keep_place(job, host, data, len);
        break;
    case PLI_NATIVE_AGENT_JOB:
        for (uint32_t h = 1; host == 0 && h < job->n_host; h++) {
            pli_head_tell_agent(h, PLI_NATIVE_AGENT_JOB, data, len);
        }
        break;
    case PLI_NATIVE_AGENT_UP:
        if (++self->n_up == job->n_host && len == sizeof job->node.header->n_joint) {
            memcpy(&job->node.header->n_joint, data,
                   len); // spawned processes are numbered after those
            return true;
        }
        break;
    case PLI_NATIVE_AGENT_OVER:
        self->n_over++;
        break;
    default:
        break;
    }
    return false;
}

bool pli_impi_agents_are_up(const struct pli_job *job)
{
    struct pli_impi_agents_state *self = pli_launcher.impi_agents;
    return job->opt.impi_server == NULL || self->n_up == job->n_host;
}

bool pli_impi_agents_are_over(struct pli_job *job)
{
    struct pli_impi_agents_state *self = pli_launcher.impi_agents;
    for (uint32_t h = 0; !self->is_told && h < job->n_host; h++) {
        pli_head_tell_agent(h, PLI_NATIVE_AGENT_END, NULL, 0);
    }
    self->is_told = true;
    return self->n_over == job->n_host;
}
