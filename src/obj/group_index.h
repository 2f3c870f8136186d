// SPDX-License-Identifier: BSD-3-Clause
// Finding members fast in groups of several runs. Runs whose members lie on parallel lines are kept
// sorted along each line; a group of mostly single members gets a table of members instead.
#ifndef PLI_OBJ_GROUP_INDEX_H
#define PLI_OBJ_GROUP_INDEX_H

#include "obj/group.h"

#include <stdbool.h>

enum { PLI_GROUP_N_CLASS = 8 };

// Runs of one direction. Each member lies on exactly one line of the class, at place t.
struct pli_group_class {
    int32_t proc_step, ep_step; // proc_step > 0, or it is 0 and ep_step > 0
    int begin, end;             // rows
};

// A run as a stretch of a line: places lo to lo + n - 1.
struct pli_group_row {
    uint64_t line[2];
    uint64_t lo;
    int32_t n, base;
    bool is_reversed; // ranks fall while t rises
};

struct pli_group_lines {
    int n_class;
    struct pli_group_class classes[PLI_GROUP_N_CLASS];
    struct pli_group_row *rows; // of each class, sorted by line, then lo; never overlapping
    struct pli_group_row one;   // storage for a single run
};

// Where an identity is in a class.
struct pli_group_place {
    uint64_t line[2];
    uint64_t t;
};
struct pli_group_place pli_group_index_place(const struct pli_group_class *c, struct pli_id id);

// The first row of the class that ends at or after t on the place's line, or c->end.
int pli_group_index_seek(const struct pli_group_lines *l, const struct pli_group_class *c,
                         struct pli_group_place at);

// The lines of a group, made on first use and kept; *scratch is used for a single run, whose lines
// are made on the spot. NULL: the group has no useful lines; ask pli_group_rank_of for each member.
const struct pli_group_lines *pli_group_index_lines(const struct pli_group *g,
                                                    struct pli_group_lines *scratch);

// Take over the runs (malloc) with one reference; NULL: no memory, the runs stay the caller's.
struct pli_group_store *pli_group_index_create(struct pli_group_run *runs, int n_run, int size);
struct pli_group_store *pli_group_index_retain(struct pli_group_store *s);
void pli_group_index_release(struct pli_group_store *s);
const struct pli_group_run *pli_group_index_runs(const struct pli_group_store *s);

// A fact about the members that is found once and kept, see comm_hold.c.
bool pli_group_index_is_plain(const struct pli_group_store *s);
void pli_group_index_set_plain(struct pli_group_store *s);

// Say that n members will be looked up: for many of them a table of all members pays.
void pli_group_index_expect(const struct pli_group *g, int64_t n);

// The rank of an identity in a group of many runs, or -1.
int pli_group_index_find(const struct pli_group *g, struct pli_id id);

#endif
