// SPDX-License-Identifier: BSD-3-Clause
// In a daemon: the output of tasks on its way to mpiexec, and input on its way to tasks. Nothing is
// kept here that mpiexec has no room for: what a task writes then stays in its pipe.
#ifndef PLI_LAUNCHER_IO_FORWARD_H
#define PLI_LAUNCHER_IO_FORWARD_H

#include "launcher/base/output_lines.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_job;
struct pli_pack;
struct pli_unpack;
struct pli_proc_task;

// Read from fd (non-blocking, becomes ours) and send it on as output of this task.
void pli_io_forward_open(struct pli_output_lines *s, int fd, uint32_t task, uint16_t which);

// The process is over: send what it left in the pipe and close.
void pli_io_forward_finish(struct pli_output_lines *s);

// mpiexec has room for so many bytes more.
void pli_io_forward_credit(struct pli_output_lines *s, uint32_t n);

// The end of a pipe that becomes the standard input of the task; -1 with errno.
int pli_io_forward_input(const struct pli_proc_task *task);

// Bytes for it; none: the end.
void pli_io_forward_put(uint32_t task, const void *data, size_t len);

// Tasks that stand still go to another host: what they have not read of their input, for the daemon
// there to go on with; and whether all that a task has written is on its way.
void pli_io_forward_pack(const struct pli_job *job, struct pli_pack *to);
void pli_io_forward_unpack(struct pli_unpack *from);
bool pli_io_forward_is_drained(const struct pli_output_lines *s);

struct pli_io_forward_input;

// Standard input of the tasks of a daemon: pli_launcher.io_forward.
struct pli_io_forward_state {
    struct pli_io_forward_input *inputs;
};

#endif
