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

// A set as seen in the node memory; valid as long as that is mapped, or, of a version of the world,
// as long as it is kept.
struct pli_pset {
    const char *name;
    const struct pli_pset_run *runs;
    uint32_t n_run;
    uint32_t n; // processes
    uint32_t version, origin, maker;
};

// Sets in the table now; it only grows, and has no versions of the world. Context: any thread, any
// process.
uint32_t pli_pset_count(const struct pli_node *node);
// The i-th set, false when there is none (or the table is damaged).
bool pli_pset_get(const struct pli_node *node, uint32_t i, struct pli_pset *out);
bool pli_pset_find(const struct pli_node *node, const char *name, struct pli_pset *out);

// Versions of the world, mpi://WORLD@2 and so on: the numbers that are kept now, 0: none; the set
// of one; and whether a set that was read since was kept all the time, as all others are.
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
// The name among all of the job's that looks most like this one, NULL when none does.
const char *pli_pset_nearest(const struct pli_node *node, const char *name);

bool pli_pset_has(const struct pli_pset *set, uint32_t index);
// The processes of a set in ascending order; out has room for set->n.
void pli_pset_list(const struct pli_pset *set, uint32_t *out);

// Add a set; the indices ascend. A set of that name with the same processes is no mistake: nothing
// is added, so every process may make the set that all of them need. Context: any thread, any
// process of the job; may wait a moment for another that adds one.
enum pli_err pli_pset_add(struct pli_node *node, const char *name, const uint32_t *indices,
                          uint32_t n, uint32_t version, enum pli_pset_origin origin,
                          uint32_t maker);

#endif
