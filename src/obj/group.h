// SPDX-License-Identifier: BSD-3-Clause
// Groups: ordered lists of endpoints, stored as runs, so that a world of a million is a few words.
#ifndef PLI_OBJ_GROUP_H
#define PLI_OBJ_GROUP_H

#include "base/err.h"
#include "obj/handle.h"

#include <stdint.h>

struct pli_group_store; // runs and the index over them, see group_index.h
struct pli_session;

// An endpoint's identity: unique for the life of the job.
struct pli_id {
    uint64_t proc; // job and index of the process
    uint32_t ep;   // which endpoint of that process
};

// Members first, first+1, ... n of them: member i is { proc + i*proc_step, ep + i*ep_step }.
struct pli_group_run {
    struct pli_id first;
    int32_t proc_step, ep_step;
    int32_t base; // rank of the first member
    int32_t n;
};

struct pli_group {
    struct pli_obj obj;
    struct pli_session *session; // NULL: of the world model; a reference is held
    int size;
    int n_run;
    const struct pli_group_run *runs; // sorted by base
    struct pli_group_run one;         // storage when n_run <= 1
    struct pli_group_store *store;    // storage when n_run > 1, shared by copies of the group
    struct pli_id me;                 // the caller: MPI_Group_rank is the rank of this member
};

// The identity of a member; rank must be in range. Constant time for one run, else log(runs).
static inline struct pli_id pli_group_at(const struct pli_group *g, int rank)
{
    const struct pli_group_run *r = g->runs;
    if (__builtin_expect(g->n_run > 1, 0)) {
        int lo = 0, hi = g->n_run - 1;
        while (lo < hi) {
            int mid = (lo + hi + 1) / 2;
            if (r[mid].base <= rank) {
                lo = mid;
            } else {
                hi = mid - 1;
            }
        }
        r += lo;
    }
    int64_t i = rank - r->base;
    return (struct pli_id){ r->first.proc + (uint64_t)(i * r->proc_step),
                            r->first.ep + (uint32_t)(i * r->ep_step) };
}

// The rank of an identity in the group, or -1.
int pli_group_rank_of(const struct pli_group *g, struct pli_id id);

// From a list of identities, or from one run; runs are found and merged. One reference. `me` is
// this process's first endpoint. No members: pli_group_empty. Context: any thread.
enum pli_err pli_group_create(const struct pli_id *ids, int n, struct pli_session *session,
                              struct pli_group **out);
enum pli_err pli_group_create_run(struct pli_group_run run, struct pli_session *session,
                                  struct pli_group **out);
void pli_group_release(struct pli_group *g);

// This process was forked from another one: groups that were made before are seen by that one.
void pli_group_clone(void);

// The same members under a handle of its own, seen by `me`: constant time and a few words. What a
// user holds is always a copy of what the library holds, so freeing a handle twice harms nothing.
enum pli_err pli_group_dup(struct pli_group *g, struct pli_id me, struct pli_group **out);

extern struct pli_group pli_group_empty; // MPI_GROUP_EMPTY

static inline bool pli_group_same(struct pli_id a, struct pli_id b)
{
    return a.proc == b.proc && a.ep == b.ep;
}

// Groups of different sessions, or of a session and the world model, do not mix; the empty group
// goes with all. [MPI-5.0 11.3.1]
enum pli_err pli_group_check_session(const struct pli_group *a, const struct pli_group *b);

// MPI_Group_size, _rank and _free.
enum pli_err pli_group_get_size(struct pli_group *g, int *size_out);
enum pli_err pli_group_get_rank(struct pli_group *g, int *rank_out);
enum pli_err pli_group_free(struct pli_group *g);

// ranks[i] of a, expressed in b: MPI_UNDEFINED where absent, MPI_PROC_NULL kept.
enum pli_err pli_group_translate_ranks(struct pli_group *a, int n, const int ranks[],
                                       struct pli_group *b, int out[]);

#endif
