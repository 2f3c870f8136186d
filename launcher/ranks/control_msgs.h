// SPDX-License-Identifier: BSD-3-Clause
// What ranks tell mpiexec, and the ranks that are not its children.
#ifndef PLI_LAUNCHER_CONTROL_MSGS_H
#define PLI_LAUNCHER_CONTROL_MSGS_H

#include "launcher/base/loop.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pli_proc_task;

// A process that is a rank but not a child of mpiexec: it came with a hello.
struct pli_indirect_rank {
    struct pli_watch watch; // its pidfd
    struct pli_timer timer; // see supervisor.c
    struct pli_proc_task *task;
    struct pli_indirect_rank *next; // of its task
    pid_t pid;
    uint32_t row;
    uint32_t n_look;          // for how it ended
    struct pli_watch control; // its own socket; none when it uses the task's
    char tracer[16];          // name of the debugger in which it began, "": none
    bool is_over;
};

// Names that older headers lack: a message comes with a pidfd of its sender, which tells how it
// ended even if it is gone when the message is read.
enum { PLI_CONTROL_MSGS_PASS_PIDFD = 76, PLI_CONTROL_MSGS_PIDFD = 4 };

// Listen to the task's control socket from now on.
void pli_control_msgs_begin(struct pli_proc_task *task);

// Hear everything that has been said so far.
void pli_control_msgs_listen(struct pli_proc_task *task);

// End the one in this row, if it is such a rank.
void pli_control_msgs_kill(struct pli_proc_task *task, uint32_t row);

// Send a signal to those ranks of the task that mpiexec did not start itself.
void pli_control_msgs_signal(struct pli_proc_task *task, int sig);

// A process that is a rank already. False: it is gone.
bool pli_control_msgs_adopt(struct pli_proc_task *task, uint32_t row, pid_t pid);

// The task is over and about to go away. Context: between two turns of the loop.
void pli_control_msgs_forget(struct pli_proc_task *task);

#endif
