// SPDX-License-Identifier: BSD-3-Clause
// Locks the folder of checkpoints; the kernel releases the lock however its holders end.
#include "launcher/ckpt/ckpt_lock.h"

#include "base/clock.h"
#include "launcher/base/loop.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

enum { WAIT_MS = 4000, LOOK_MS = 10 };

bool pli_ckpt_lock_wait(const char *checkpoint)
{
    char folder[PATH_MAX + 4];
    snprintf(folder, sizeof folder, "%.*s/..", PATH_MAX - 1, checkpoint);
    uint64_t end = pli_clock_ns() + (uint64_t)WAIT_MS * PLI_MS;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_used;
    // Where files cannot be locked no job holds a lock.
    while ((is_used = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) &&
           pli_clock_ns() < end) {
        poll(NULL, 0, LOOK_MS);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (is_used) {
        pli_say("a job that writes its checkpoints to the folder of %s is still running: end it "
                "first, or copy the checkpoint to another folder",
                checkpoint);
    }
    return !is_used;
}

int pli_ckpt_lock_take(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}
