// SPDX-License-Identifier: BSD-3-Clause
// Process sets: named, immutable lists of processes that live once per host in the node memory.
// mpi://WORLD and mpi://SELF are not in the table: every process knows them.
#ifndef PLI_BOOT_PSET_H
#define PLI_BOOT_PSET_H

#include "base/err.h"
#include "boot/pset_wire.h"

#include <stdbool.h>
#include <stddef.h>

struct pli_node;

enum { PLI_PSET_NAME = 1024 }; // longest name, with the zero: MPI_MAX_PSET_NAME_LEN

#define PLI_PSET_WORLD "mpi://WORLD"
#define PLI_PSET_SELF "mpi://SELF"

// A set as seen in the node memory; valid while it is kept (pli_pset_is_kept), or the table locked.
struct pli_pset {
    const char *name;
    const struct pli_pset_run *runs;
    uint32_t n_run;
    uint32_t n; // processes
    uint32_t version, origin, maker;
    uint32_t serial; // the order in which sets were made; 0: a version of the world
    uint32_t turn;   // of the table
};

// How many sets there are now, without versions of the world. Context: any thread, any process.
uint32_t pli_pset_count(struct pli_node *node);
// The set by its name; false when there is none.
bool pli_pset_find(const struct pli_node *node, const char *name, struct pli_pset *out);
// The next set from place *at on, in the order in which they were made; false: there are no more
// (or the table is damaged). Context: the table is locked by the caller, who adds nothing.
bool pli_pset_next(const struct pli_node *node, uint32_t *at, struct pli_pset *out);
void pli_pset_lock(struct pli_node *node);
void pli_pset_unlock(struct pli_node *node);

// Versions of the world, mpi://WORLD@2 and so on: the numbers that are kept now, 0: none; the set
// of one; and whether a set, also of the table, was as it is until now.
void pli_pset_worlds(const struct pli_node *node, uint32_t *oldest_out, uint32_t *newest_out);
bool pli_pset_get_world(const struct pli_node *node, uint32_t number, struct pli_pset *out);
bool pli_pset_is_kept(const struct pli_node *node, const struct pli_pset *set);
// Add the next version; those that were kept longest make room for it. The same again is fine.
// Context: one process of the host, its launcher.
enum pli_err pli_pset_add_world(struct pli_node *node, uint32_t number, const uint32_t *indices,
                                uint32_t n);
// The number of a version by its name, 0: it is none.
uint32_t pli_pset_world_number(const char *name);

// Two names of one set: those that begin with mpi:// are compared without regard to case.
bool pli_pset_is_name(const char *a, const char *b);
// A name a set can bear, or the sentence that says why not. is_reserved: mpi:// is allowed.
enum pli_err pli_pset_check_name(const char *name, bool is_reserved);
// The name among all of the job's that looks most like this one, false when none does. out has room
// for PLI_PSET_NAME.
bool pli_pset_nearest(struct pli_node *node, const char *name, char *out);

bool pli_pset_has(const struct pli_pset *set, uint32_t index);
// The processes of a set in ascending order; out has room for set->n.
void pli_pset_list(const struct pli_pset *set, uint32_t *out);

// Add a set; the indices ascend. A set of that name with the same processes is no mistake: nothing
// is added, so every process may make the set that all of them need; a set that programs make is
// freed when it was freed as often as it was made. Context: any thread, any process of the job; may
// wait a moment for another that adds one.
enum pli_err pli_pset_add(struct pli_node *node, const char *name, const uint32_t *indices,
                          uint32_t n, uint32_t version, enum pli_pset_origin origin,
                          uint32_t maker);
// Undo one making by a process of this host. indices: NULL, or the members that it must have.
enum pli_err pli_pset_release(struct pli_node *node, const char *name, const uint32_t *indices,
                              uint32_t n);

// What processes of other hosts have made, and have all freed. Context: the launcher.
enum pli_err pli_pset_hear(struct pli_node *node, const char *name, const uint32_t *indices,
                           uint32_t n, uint32_t version, uint32_t maker);
void pli_pset_forget(struct pli_node *node, const char *name, const uint32_t *indices, uint32_t n);
void pli_pset_forget_all(struct pli_node *node);
// What the other hosts are to be told: the next set from place *at on that processes of this host
// have made, or have all freed, since that was asked for last. Context: the launcher, locked.
bool pli_pset_next_news(struct pli_node *node, uint32_t *at, struct pli_pset *out,
                        bool *is_made_out);
uint32_t pli_pset_n_change(const struct pli_node *node); // another number: there may be some
// The launcher was restarted: other hosts know nothing of what processes of this one have made; in
// its own memory, no host has made anything.
void pli_pset_retell(struct pli_node *node);
void pli_pset_disown(struct pli_node *node);

#endif
