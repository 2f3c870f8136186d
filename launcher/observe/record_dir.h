// SPDX-License-Identifier: BSD-3-Clause
// The directory of --record and --replay: what was run, beside the records of the ranks.
#ifndef PLI_LAUNCHER_RECORD_DIR_H
#define PLI_LAUNCHER_RECORD_DIR_H

struct pli_job;

// Before the environment of the ranks is made: the directory is there, and has its full path. Ends
// mpiexec with a sentence where that cannot be.
void pli_record_dir_open(struct pli_job *job);
// When the parts of the job are known: write down what is run, or compare it with what was.
void pli_record_dir_describe(struct pli_job *job);
// When the world is known that the job is a part of: the same for its size. Returns what is wrong,
// or NULL.
const char *pli_record_dir_world(const struct pli_job *job);

#endif
