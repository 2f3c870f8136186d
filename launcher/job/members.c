// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/job/members.h"

#include "launcher/job/job.h"
#include "launcher/base/say.h"

#include <stdlib.h>

static uint32_t *now, n_now;   // NULL: as the job began
static uint32_t *next, n_next; // NULL: nothing is planned
static uint32_t n_stay;

uint32_t pli_members_size(const struct pli_job *job)
{
    return now != NULL ? n_now : job->n_rank;
}

uint32_t pli_members_at(uint32_t rank)
{
    return now != NULL ? now[rank] : rank;
}

static bool is_dead(const struct pli_job *job, uint32_t index)
{
    return pli_node_failure(&job->node, index) != 0;
}

bool pli_members_is_dead(const struct pli_job *job, uint32_t rank)
{
    return is_dead(job, pli_members_at(rank));
}

uint32_t pli_members_living(const struct pli_job *job)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < pli_members_size(job); i++) {
        n += !pli_members_is_dead(job, i);
    }
    return n;
}

uint32_t *pli_members_list(uint32_t *n_out)
{
    *n_out = now != NULL ? n_now : 0;
    return now;
}

void pli_members_adopt(uint32_t *list, uint32_t n)
{
    now = list;
    n_now = n;
}

bool pli_members_plan(const struct pli_job *job, uint32_t n, bool with_dead)
{
    n_stay = 0;
    next = malloc((n + 1) * sizeof *next);
    for (uint32_t i = 0; next != NULL && i < pli_members_size(job) && n_stay < n; i++) {
        if (with_dead || !pli_members_is_dead(job, i)) {
            next[n_stay++] = pli_members_at(i);
        }
    }
    n_next = n;
    return next != NULL;
}

uint32_t *pli_members_next(uint32_t *n_out)
{
    *n_out = n_next;
    return next;
}

uint32_t pli_members_n_stay(void)
{
    return n_stay;
}

uint32_t pli_members_next_dead(const struct pli_job *job)
{
    uint32_t i = 0;
    while (i < n_next && !is_dead(job, next[i])) {
        i++;
    }
    return i < n_next ? i : UINT32_MAX;
}

void pli_members_drop_dead(const struct pli_job *job)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_next; i++) {
        next[n] = next[i];
        n += !is_dead(job, next[i]);
    }
    n_next = n;
}

void pli_members_drop_plan(void)
{
    free(next);
    next = NULL;
}

static bool stays(uint32_t index)
{
    uint32_t i = 0;
    while (i < n_next && next[i] != index) {
        i++;
    }
    return i < n_next;
}

uint32_t *pli_members_leavers(const struct pli_job *job, uint32_t *n_out)
{
    uint32_t size = pli_members_size(job), n = 0;
    uint32_t *list = pli_say_need(calloc((size_t)size + 1, sizeof *list));
    for (uint32_t i = 0; i < size; i++) {
        if (!pli_members_is_dead(job, i) && !stays(pli_members_at(i))) {
            list[n++] = pli_members_at(i);
        }
    }
    *n_out = n;
    return list;
}

void pli_members_turn(void)
{
    free(now);
    now = next;
    n_now = n_next;
    next = NULL;
}
