// SPDX-License-Identifier: BSD-3-Clause
// Reads and changes the list of members, rank by rank.
#include "launcher/job/members.h"

#include "launcher/base/launcher.h"
#include "launcher/job/job.h"
#include "launcher/base/say.h"

#include <stdlib.h>

uint32_t pli_members_size(const struct pli_job *job)
{
    struct pli_members_state *self = pli_launcher.members;
    return self->now != NULL ? self->n_now : job->n_rank;
}

uint32_t pli_members_at(uint32_t rank)
{
    struct pli_members_state *self = pli_launcher.members;
    return self->now != NULL ? self->now[rank] : rank;
}

static bool is_dead(const struct pli_job *job, uint32_t index)
{
    return pli_node_failure(&job->node, index) != 0;
}

static bool is_rank_dead(const struct pli_job *job, uint32_t rank)
{
    return is_dead(job, pli_members_at(rank));
}

uint32_t pli_members_living(const struct pli_job *job)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < pli_members_size(job); i++) {
        n += !is_rank_dead(job, i);
    }
    return n;
}

uint32_t *pli_members_list(uint32_t *n_out)
{
    struct pli_members_state *self = pli_launcher.members;
    *n_out = self->now != NULL ? self->n_now : 0;
    return self->now;
}

void pli_members_adopt(uint32_t *list, uint32_t n)
{
    struct pli_members_state *self = pli_launcher.members;
    self->now = list;
    self->n_now = n;
}

bool pli_members_plan(const struct pli_job *job, uint32_t n, bool with_dead)
{
    struct pli_members_state *self = pli_launcher.members;
    self->n_stay = 0;
    self->next = malloc((n + 1) * sizeof *self->next);
    for (uint32_t i = 0; self->next != NULL && i < pli_members_size(job) && self->n_stay < n; i++) {
        if (with_dead || !is_rank_dead(job, i)) {
            self->next[self->n_stay++] = pli_members_at(i);
        }
    }
    self->n_next = n;
    return self->next != NULL;
}

uint32_t *pli_members_next(uint32_t *n_out)
{
    struct pli_members_state *self = pli_launcher.members;
    *n_out = self->n_next;
    return self->next;
}

uint32_t pli_members_n_stay(void)
{
    struct pli_members_state *self = pli_launcher.members;
    return self->n_stay;
}

uint32_t pli_members_next_dead(const struct pli_job *job)
{
    struct pli_members_state *self = pli_launcher.members;
    uint32_t i = 0;
    while (i < self->n_next && !is_dead(job, self->next[i])) {
        i++;
    }
    return i < self->n_next ? i : UINT32_MAX;
}

void pli_members_drop_dead(const struct pli_job *job)
{
    struct pli_members_state *self = pli_launcher.members;
    uint32_t n = 0;
    for (uint32_t i = 0; i < self->n_next; i++) {
        self->next[n] = self->next[i];
        n += !is_dead(job, self->next[i]);
    }
    self->n_next = n;
}

void pli_members_drop_plan(void)
{
    struct pli_members_state *self = pli_launcher.members;
    free(self->next);
    self->next = NULL;
}

static bool stays(uint32_t index)
{
    struct pli_members_state *self = pli_launcher.members;
    uint32_t i = 0;
    while (i < self->n_next && self->next[i] != index) {
        i++;
    }
    return i < self->n_next;
}

uint32_t *pli_members_leavers(const struct pli_job *job, uint32_t *n_out)
{
    uint32_t size = pli_members_size(job), n = 0;
    uint32_t *list = pli_say_need(calloc((size_t)size + 1, sizeof *list));
    for (uint32_t i = 0; i < size; i++) {
        if (!is_rank_dead(job, i) && !stays(pli_members_at(i))) {
            list[n++] = pli_members_at(i);
        }
    }
    *n_out = n;
    return list;
}

void pli_members_advance(void)
{
    struct pli_members_state *self = pli_launcher.members;
    free(self->now);
    self->now = self->next;
    self->n_now = self->n_next;
    self->next = NULL;
}
