// SPDX-License-Identifier: BSD-3-Clause
// What two of the three roles do alike: for most of these slots that is nothing.
#include "launcher/role_common.h"

#include "launcher/ranks/on_failure.h"
#include "launcher/ranks/spawn_fail.h"
#include "tools/lib/job_status.h"

bool pli_role_has_begun(void)
{
    return true;
}

void pli_role_all_started(const struct pli_job *job)
{
    (void)job; // it starts none
}

void pli_role_cannot_go_on(int status)
{
    (void)status; // the supervisor knows already
}

bool pli_role_watches_host(const struct pli_job *job, uint32_t host)
{
    (void)job;
    (void)host;
    return true;
}

bool pli_role_take_failure(struct pli_job *job, const struct pli_rank_failure *c)
{
    return pli_spawn_fail_take(job, c) || pli_on_failure_take(job, c);
}

void pli_role_send_news(const struct pli_news *n)
{
    (void)n; // it is in the memory of this host
}

bool pli_role_forward_request(uint16_t kind, uint32_t id, const void *body, size_t len)
{
    (void)kind;
    (void)id;
    (void)body;
    (void)len;
    return false;
}

void pli_role_drop_request(uint32_t id)
{
    (void)id; // none was forwarded
}

void pli_role_answer_request(uint32_t host, uint32_t id, const struct pli_answer *answer)
{
    (void)host; // none comes from another host
    (void)id;
    (void)answer;
}

bool pli_role_collect_status(const struct pli_job *job, const struct pli_ask_look *look,
                             void *token, struct pli_answer *a)
{
    (void)job;
    (void)look;
    (void)token;
    (void)a;
    return true; // all is in the memory of this host
}

void pli_role_announce_world(const struct pli_world_version *w)
{
    (void)w; // its message is in the memory of this host
}

bool pli_role_may_work(const struct pli_job *job, const struct pli_node_row *r)
{
    (void)job;
    return atomic_load(&r->state) == PLI_NODE_RUNNING;
}

bool pli_role_open_agent_stderr(int err[2])
{
    (void)err;
    return true;
}

void pli_role_agent_said(const char *text, size_t len)
{
    (void)text; // it has our standard error
    (void)len;
}

void pli_role_agent_message(char word, const void *data, size_t len)
{
    (void)word; // for agents of other hosts, and there are none
    (void)data;
    (void)len;
}

void pli_role_agent_over(void)
{
    // pli_impi_agent_is_over says so
}

void pli_role_replace_failed(struct pli_job *job)
{
    (void)job; // it counts against the slots of its host until it is over: see head_run.c
}
