// SPDX-License-Identifier: BSD-3-Clause
// The performance variables that there are, and how each is read.
#ifndef PLI_TOOL_TOOL_PVAR_LIST_H
#define PLI_TOOL_TOOL_PVAR_LIST_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_comm;
struct pli_tool_pvar;

// The value now: bytes, a number, nanoseconds, or millionths of the whole. Context: pli_tool_lock
// is held, no lane is locked.
typedef uint64_t (*pli_tool_pvar_fn)(const struct pli_tool_pvar *v, struct pli_comm *comm);

struct pli_tool_pvar {
    char name[64], about[128];
    int class, category, verbosity, bind;
    MPI_Datatype type;  // MPI_UNSIGNED_LONG_LONG, MPI_DOUBLE (seconds, a part of 1) or MPI_INT
    const char *words;  // of a state
    bool is_continuous; // it cannot be started or stopped
    bool is_readonly;   // nor reset or written
    bool is_counted;    // only while pli_statistics_want
    int gauge;          // of a high-water mark: enum pli_stat_gauge
    pli_tool_pvar_fn now;
    int a, b; // arguments of `now`
};

enum { PLI_TOOL_PVAR_MAX = 320 };
extern struct pli_tool_pvar pli_tool_pvar_list[PLI_TOOL_PVAR_MAX];

// Fill the list; returns how many there are. Context: pli_tool_lock is held.
int pli_tool_pvar_list_make(void);

#endif
