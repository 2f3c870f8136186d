// SPDX-License-Identifier: BSD-3-Clause
// Starts the process of a task.
#ifndef PLI_LAUNCHER_LAUNCH_H
#define PLI_LAUNCHER_LAUNCH_H

#include <sys/types.h>
#include <sys/resource.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum { PLI_LAUNCH_WHY = 256 }; // room for the reason of a failure

struct pli_job;
struct pli_output_lines;
struct pli_proc_task;

// Take over signals and open files from the shell; before anything else is opened.
// A descriptor that gives the signals sent to mpiexec is returned, -1 with a message on failure.
int pli_launch_init(void);

// Whether the system lets mpiexec watch processes (pidfd_open); else a message.
bool pli_launch_can_watch(void);

// The same, and whether the limit on open files, raised as far as it goes, is enough for the job.
bool pli_launch_check(const struct pli_job *job);

// Start the task. False: it could not be started; the reason is in why, or was said when that is
// NULL.
bool pli_launch_start(struct pli_job *job, struct pli_proc_task *task, char *why);

// Take what a task prints from these descriptors, which do not block and become ours.
void pli_launch_watch(struct pli_job *job, struct pli_proc_task *task, int out, int err);
// In mpiexec: print it, as lines.
void pli_launch_print(struct pli_job *job, struct pli_proc_task *task, int out, int err);

// Make ready for the output of a task that is started on another host.
void pli_launch_open_remote(struct pli_job *job, struct pli_proc_task *task,
                            void (*took)(struct pli_output_lines *s, size_t n));

// Die of this signal, so that the shell sees what happened.
_Noreturn void pli_launch_die(int sig);

// Signals and limits as the shell gave them: another program takes over this process.
void pli_launch_undo(void);

int pli_launch_null(void); // /dev/null

// Note how the task's process ended. False: it has not.
bool pli_launch_collect(struct pli_proc_task *task);

// What ranks inherit: pli_launcher.launch.
struct pli_launch_state {
    sigset_t user_mask; // as the shell gave it, for the ranks
    struct rlimit user_files;
    int null_fd;
    pid_t pid; // of mpiexec
};

#endif
