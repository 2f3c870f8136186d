// SPDX-License-Identifier: BSD-3-Clause
// Adopts a program that was started without mpiexec: it becomes a task without a child process,
// with one indirect rank in it.
#include "launcher/ranks/singleton.h"

#include "launcher/base/launcher.h"
#include "launcher/ranks/control_msgs.h"
#include "launcher/job/job.h"
#include "launcher/base/say.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

bool pli_singleton_map(struct pli_job *job)
{
    struct pli_singleton_state *self = pli_launcher.singleton;
    if (sscanf(job->opt.singleton, "memory=%d,ctl=%d,ready=%d,pid=%d", &self->memory,
               &self->control, &self->ready, &self->pid) != 4) {
        pli_say("--singleton is for programs that spawn without mpiexec, not for people");
        return false;
    }
    if (pli_node_map(self->memory, &job->node) != PLI_OK) {
        pli_say("%s", pli_fail_take(NULL));
        return false;
    }
    fcntl(self->control, F_SETFD, FD_CLOEXEC);
    fcntl(self->ready, F_SETFD, FD_CLOEXEC);
    job->node_fd = self->memory;
    return true;
}

bool pli_singleton_adopt(struct pli_job *job)
{
    struct pli_singleton_state *self = pli_launcher.singleton;
    struct pli_proc_task *t = &job->tasks[0];
    int yes = 1;
    t->job = job;
    t->is_exited = true;
    t->control.fd = self->control;
    job->n_begun = job->n_started = 1;
    setsockopt(self->control, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
    if (!pli_control_msgs_adopt(t, 0, (pid_t)self->pid)) {
        return false;
    }
    pli_control_msgs_begin(t);
    job->node.header->memory = (uint32_t)self->memory;
    job->node.header->launcher = (uint32_t)getpid();
    bool is_told = write(self->ready, "k", 1) == 1;
    close(self->ready);
    return is_told;
}
