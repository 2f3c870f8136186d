// SPDX-License-Identifier: BSD-3-Clause
// Standard input for the ranks.
#ifndef PLI_LAUNCHER_STDIN_H
#define PLI_LAUNCHER_STDIN_H

#include "launcher/base/loop.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_job;
struct pli_proc_task;

// The descriptor the task gets as standard input: mpiexec's own, the end of a pipe, or null_fd.
// -1 with errno: no pipe could be made.
int pli_stdin_input(struct pli_job *job, struct pli_proc_task *task, int null_fd);

// Whether the task is one that gets input.
bool pli_stdin_is_fed(const struct pli_job *job, const struct pli_proc_task *task);

// The task has it: close our copy.
void pli_stdin_started(struct pli_proc_task *task, int in, int null_fd);

// The task is started on another host; it gets input if it is its turn, once there is room there.
// send: how; no bytes mean the end of the input.
typedef void (*pli_stdin_send_fn)(const struct pli_proc_task *task, const void *data, size_t len);
void pli_stdin_add_remote(const struct pli_job *job, struct pli_proc_task *task,
                          pli_stdin_send_fn send);
// It has room for so many bytes more; 0: it reads no more.
void pli_stdin_done(const struct pli_proc_task *task, uint32_t n);

// The tasks of a host get nothing until all may again.
void pli_stdin_hold(uint32_t host);
void pli_stdin_release(void);

// All tasks have been started: begin to read. mpiexec was continued: look again whether it may.
void pli_stdin_begin(void);

struct pli_stdin_reader;

// Standard input on its way to ranks: pli_launcher.stdin.
struct pli_stdin_state {
    struct pli_watch source;
    struct pli_timer timer;
    struct pli_stdin_reader *readers;
    bool is_file; // always ready
    char *held;
    size_t held_len;
    uint32_t still; // host whose tasks get nothing for a while
};
void pli_stdin_init(void); // its first values

#endif
