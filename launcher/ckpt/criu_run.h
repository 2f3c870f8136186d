// SPDX-License-Identifier: BSD-3-Clause
// Runs CRIU as a program.
#ifndef PLI_LAUNCHER_CRIU_RUN_H
#define PLI_LAUNCHER_CRIU_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_helper;

// Whether CRIU works here; else one sentence says what to install or allow.
bool pli_criu_check(char *why);
struct pli_criu_dump_plan {
    uint32_t number; // of the process, as it knows itself
    const char *dir; // for its images
    bool is_last;    // it ends with that, else it goes on
    int page_fd;     // where its pages are sent, -1: into the directory
};
bool pli_criu_dump(struct pli_helper *h, const struct pli_criu_dump_plan *d);
// A pipe whose end `ours`, 0 or 1, never waits.
bool pli_criu_pipe(int ours, int *ours_out, int *theirs_out);
struct pli_criu_restore_plan {
    const char *dir, *work; // images; where messages go
    const char *log;        // file with these
    int fds[4];             // ends of pipes that it gets instead of those with these inodes; -1
    uint64_t inodes[4];
};
// The restored process is our child then, or one of the PID namespace.
bool pli_criu_restore(struct pli_helper *h, const struct pli_criu_restore_plan *b);
// Why CRIU failed: a signal, 0 where it was none, or what its log says first.
void pli_criu_reason(const char *log, int killed_by, char *to, size_t cap);

#endif
