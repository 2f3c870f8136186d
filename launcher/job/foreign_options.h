// SPDX-License-Identifier: BSD-3-Clause
// Options that people know from other MPIs and that have no effect here.
#ifndef PLI_LAUNCHER_FOREIGN_OPTIONS_H
#define PLI_LAUNCHER_FOREIGN_OPTIONS_H

struct pli_job;

// Remember an option that has no effect and why, and a parameter of Open MPI.
void pli_foreign_options_ignore(struct pli_job *job, const char *name, const char *advice);
void pli_foreign_options_mca(struct pli_job *job, const char *key, const char *value);

// Say once what has no effect, and what to use instead.
void pli_foreign_options_say(const struct pli_job *job);

#endif
