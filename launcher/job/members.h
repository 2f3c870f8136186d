// SPDX-License-Identifier: BSD-3-Clause
// Which processes are the ranks of the version of the world that counts, and of the next one.
#ifndef PLI_LAUNCHER_MEMBERS_H
#define PLI_LAUNCHER_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

struct pli_job;

// Ranks of the version that counts, and how many of them live.
uint32_t pli_members_size(const struct pli_job *job);
uint32_t pli_members_living(const struct pli_job *job);
uint32_t pli_members_at(uint32_t rank); // index of the process

// The list as a checkpoint has it; NULL: as the job began.
uint32_t *pli_members_list(uint32_t *n_out);
void pli_members_adopt(uint32_t *list, uint32_t n); // takes it over

// The next version has n ranks: those that stay, in their order, and room for those that come.
// With the dead each keeps its number; else the dead are dropped. False: no memory.
bool pli_members_plan(const struct pli_job *job, uint32_t n, bool with_dead);
uint32_t *pli_members_next(uint32_t *n_out);
uint32_t pli_members_n_stay(void); // how many of them were there before, as it was planned
// A rank of the next version that has died, UINT32_MAX: none.
uint32_t pli_members_next_dead(const struct pli_job *job);
void pli_members_drop_dead(const struct pli_job *job); // out of the next version
void pli_members_drop_plan(void);

// Processes that live and are no members of the next version; the caller frees the list.
uint32_t *pli_members_leavers(const struct pli_job *job, uint32_t *n_out);
void pli_members_advance(void); // the next version counts

// Members of the world: pli_launcher.members.
struct pli_members_state {
    uint32_t *now, n_now;   // NULL: as the job began
    uint32_t *next, n_next; // NULL: nothing is planned
    uint32_t n_stay;
};

#endif
