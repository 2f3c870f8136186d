// SPDX-License-Identifier: BSD-3-Clause
// The environment of the ranks.
#ifndef PLI_LAUNCHER_ENVIRONMENT_H
#define PLI_LAUNCHER_ENVIRONMENT_H

#include <stdint.h>

struct pli_app;
struct pli_job;
struct pli_node_row;
struct pli_proc_task;

// Make app->env: what is passed and set for this part, and room for pli_environment_fill.
void pli_environment_make(const struct pli_job *job, struct pli_app *app);

// In a daemon: app->env is mpiexec's. Make it fit here: what belongs to a login or a machine is
// ours unless the user has set it, and there is room for pli_environment_fill.
void pli_environment_adopt(struct pli_app *app);

// Write into task->app->env what only this task is told. Valid until the next call.
void pli_environment_fill(const struct pli_job *job, const struct pli_proc_task *task, int ctl,
                          int accept_fd);

// Which of the processes of its world on this host a spawned process is, and of how many.
void pli_environment_local_rank(const struct pli_job *job, const struct pli_node_row *row,
                                uint32_t *rank_out, uint32_t *size_out);

// Take the first folders of a list, all of `begin`, out of the value of a variable. When nothing
// is left the variable goes too.
void pli_environment_shorten(struct pli_app *app, const char *name, const char *begin);

// Give a variable that pli_environment_make has reserved room for, or that is there, a value.
void pli_environment_set(struct pli_app *app, const char *name, const char *value);

// What the ranks of this part will find under a name, NULL: nothing.
const char *pli_environment_get(const struct pli_app *app, const char *name);

// The variable every process of the job carries, to find what is left of it: "PLIANT_JOB=" and,
// with points between them, the job, and the number and the start of the launcher on this host.
void pli_environment_cookie(const struct pli_job *job, char *to, unsigned long cap);

enum { PLI_ENVIRONMENT_LEN = 128 };

// Variables that differ from task to task: pli_launcher.environment.
struct pli_environment_state {
    char (*own)[PLI_ENVIRONMENT_LEN]; // variables of the task that is started next
    uint64_t start;                   // when this process was started, asked for once
    uint32_t me;                      // this process; 0: not asked yet
};
void pli_environment_init(void); // its first values

#endif
