// SPDX-License-Identifier: BSD-3-Clause
// A pid namespace for restored ranks. Images bear the numbers of their processes, which others may
// have by now; in a process namespace all numbers are free. Every process that mpiexec starts
// afterwards is in it too.
#ifndef PLI_LAUNCHER_PIDNS_H
#define PLI_LAUNCHER_PIDNS_H

#include <stddef.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

// Make one, in which processes get numbers above `last`. False with errno: it is not allowed here.
// Context: mpiexec has one thread.
bool pli_pidns_open(pid_t last);
bool pli_pidns_is_open(void);
// End what is in it, and let children be born outside again. Fine when there is none.
void pli_pidns_close(void);

// In a new process: see the files that the others in the namespace see, from the same directory.
// Makes system calls only.
void pli_pidns_enter(void);

// A child that is not in it, and so does not end with it.
pid_t pli_pidns_fork_outside(void);

// Our number for a child of ours that has this one in the namespace; 0: there is none.
pid_t pli_pidns_find(pid_t inner);

// How a process of the namespace ended that is not our child, as wait tells it; waits a moment for
// that. False: it is not known.
bool pli_pidns_status(pid_t inner, int *status_out);

struct pli_pidns_end;

// The process namespace of restored ranks: pli_launcher.pidns.
struct pli_pidns_state {
    int mount_fd;
    pid_t first;                  // the first process of the namespace
    int ends;                     // where it tells which processes have ended
    char where[PATH_MAX];         // setns leaves a process in the root directory
    struct pli_pidns_end *others; // reported before they were asked for
    size_t n_other;
};
void pli_pidns_init(void); // its first values

#endif
