// SPDX-License-Identifier: BSD-3-Clause
// Makes a checkpoint of what was written: checksums, manifest, name; and the oldest go.
#ifndef PLI_LAUNCHER_CKPT_COMMIT_H
#define PLI_LAUNCHER_CKPT_COMMIT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pli_job;

// What a checkpoint writes of memories.
enum pli_ckpt_pages {
    PLI_CKPT_PAGES_PLAIN, // all pages
    PLI_CKPT_PAGES_FULL,  // all pages, and hashes of them for the next
    PLI_CKPT_PAGES_CHANGED
};

// What a checkpoint consists of beside the images; the text of the manifest is made of it.
struct pli_ckpt_plan {
    struct pli_job *job;
    char dir[PATH_MAX];  // of all checkpoints, absolute
    char temp[PATH_MAX]; // of this one until it is complete
    uint32_t number;
    uint32_t keep;
    uint32_t increments;       // how many incremental ones may follow a full one
    uint32_t base, depth;      // what this one is based on, 0: nothing; through how many others
    uint32_t last, last_depth; // of the last complete one, 0: none
    enum pli_ckpt_pages pages; // of the images
    char parent[32];           // from temp to what it is based on; empty: nothing
    uint32_t good, first;      // what the job went on from, 0: nothing there; what it wrote first
    pid_t owner;               // mpiexec
    char **words;              // of the command line
    char *head;                // the manifest without the files
};

// The plan is a struct pli_ckpt_plan; a sentence goes to report. Context: a helper.
bool pli_ckpt_commit(void *plan, int report);

#endif
