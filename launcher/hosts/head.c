// SPDX-License-Identifier: BSD-3-Clause
// Sends frames to the daemons of a job on several hosts, and keeps what is known of each host.
#include "launcher/hosts/head.h"
#include "launcher/hosts/head_state.h"

#include "launcher/base/launcher.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/ranks/launch.h"

void pli_head_send(uint32_t host, uint16_t kind, uint16_t flag, uint32_t a, const void *data,
                   size_t len)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    struct pli_dframe f = { kind, flag, host, a, data, len };
    if (host != (uint32_t)PLI_DLINK_ALL) {
        pli_dlink_send(
            &head->hosts[pli_daemon_tree_next(PLI_DAEMON_TREE_TOP, host, head->spec.tree)].link,
            &f);
        return;
    }
    for (uint32_t h = 0; h < job->n_host; h++) {
        pli_dlink_send(&head->hosts[h].link, &f);
    }
}

void pli_head_credit(struct pli_output_lines *s, size_t n)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_pack p = { 0 };
    const struct pli_proc_task *t = pli_job_find_task(job, s->task);
    pli_pack_u32(&p, (uint32_t)n);
    if (t != NULL) {
        pli_head_send(t->host, PLI_DLINK_OUT_DONE, s->which, s->task, p.data, p.len);
    }
    pli_pack_fini(&p);
}

void pli_head_tell_agent(uint32_t host, int word, const void *data, size_t len)
{
    pli_head_send(host, PLI_DLINK_TO_AGENT, (uint16_t)word, 0, data, len);
}

void pli_head_signal(struct pli_job *job, int sig, const struct pli_proc_task *but, uint16_t flags)
{
    struct pli_pack p = { 0 };
    (void)job;
    pli_pack_u32(&p, but != NULL ? but->number : UINT32_MAX);
    pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_SIGNAL, flags, (uint32_t)sig, p.data, p.len);
    pli_pack_fini(&p);
}

void pli_head_input(const struct pli_proc_task *task, const void *data, size_t len)
{
    pli_head_send(task->host, PLI_DLINK_IN, 0, task->number, data, len);
}

void pli_head_add(struct pli_proc_task *t)
{
    struct pli_job *job = pli_launcher.job;
    t->job = job;
    t->next = job->spawned;
    job->spawned = t;
    job->n_task++;
    job->n_started++;
    job->hosts[t->host].n_task++;
    job->hosts[t->host].n_rank += t->n;
    pli_launch_open_remote(job, t, pli_head_credit);
}

void pli_head_admit(void)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    uint32_t host = job->n_host++;
    head->hosts[host].link.hear = head->hear;
    head->hosts[host].link.lost = head->lost;
    head->hosts[host].is_up = true;
    head->n_up++;
}

struct pli_dlink *pli_head_link(uint32_t host)
{
    return &pli_launcher.head->hosts[host].link;
}

const struct pli_daemon_spec *pli_head_spec(void)
{
    return &pli_launcher.head->spec;
}

const struct pli_daemon_addr *pli_head_addr(void)
{
    return &pli_launcher.head->place;
}

struct pli_host_table *pli_head_host_info(void)
{
    return pli_launcher.head->host_info;
}

uint32_t pli_head_n_first(void)
{
    return pli_launcher.head->spec.tree.n;
}

bool pli_head_is_started(void)
{
    return pli_launcher.head->is_started;
}
