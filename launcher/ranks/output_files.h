// SPDX-License-Identifier: BSD-3-Clause
// Files that the output of the ranks goes to: --output-filename, -outfile-pattern and
// -errfile-pattern. All are on the host of mpiexec.
#ifndef PLI_LAUNCHER_OUTPUT_FILES_H
#define PLI_LAUNCHER_OUTPUT_FILES_H

struct pli_job;
struct pli_proc_task;

// Make the files of all ranks, and empty them unless the job goes on from a checkpoint. A file that
// cannot be made ends mpiexec with a sentence. Context: before anything was started.
void pli_output_files_make(struct pli_job *job);

// The streams of a task are open: let them go to its files.
void pli_output_files_attach(const struct pli_job *job, struct pli_proc_task *t);

#endif
