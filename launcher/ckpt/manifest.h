// SPDX-License-Identifier: BSD-3-Clause
// The manifest of a checkpoint: a text that says what the checkpoint holds, with a checksum of
// every file and of itself. A directory without a good one is no checkpoint.
#ifndef PLI_LAUNCHER_MANIFEST_H
#define PLI_LAUNCHER_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PLI_MANIFEST "manifest"

// A rank that was alive. Pipes are known to the images by these numbers; 0: none.
struct pli_manifest_task {
    uint32_t row;
    int32_t pid;
    uint64_t in, out, err, resume_pipe;
    uint32_t host; // 0 where there is one
};

struct pli_manifest {
    char dir[4096]; // where it was read
    uint32_t number;
    bool is_state; // what programs registered, not images of processes
    uint32_t n_rank;
    uint64_t clock_ns; // CLOCK_MONOTONIC when it was made
    uint64_t bytes;    // of all files
    char *cwd;
    char **argv; // of mpiexec; n_arg words, ":" between parts
    uint32_t n_arg, program;
    uint32_t *members, n_member; // of the version of the world; NULL: as the job began
    uint32_t spawned;            // processes that were started later, so far
    struct pli_manifest_task *tasks;
    uint32_t n_task;
    // Of a job on several hosts.
    uint32_t *spread, n_spread; // the host of each task of the command line; none: one host
    uint64_t *clocks;           // of each host; 0: it was lost
    uint32_t n_host;
    char **joined; // names of those that joined the job, which are the last of its hosts
    uint32_t n_joined;
    uint32_t base, depth;         // the checkpoint it is based on, 0: none; through how many others
    uint64_t job;                 // its number
    uint32_t attempt, generation; // see ckpt_wire.h
};

// Write all but the files and the end.
void pli_manifest_put(FILE *f, const struct pli_manifest *m);

// Read and check the manifest in a directory, and with is_deep every file it names. False: why (of
// PLI_CKPT_WHY characters) says what is wrong, and out is as it was. Numbers of a manifest that was
// read fit together: hosts of processes are below n_host, program is a word of argv, and so on.
bool pli_manifest_read(const char *dir, bool is_deep, struct pli_manifest *out, char *why);
void pli_manifest_fini(struct pli_manifest *m); // of one that was read

#endif
