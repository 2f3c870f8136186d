// SPDX-License-Identifier: BSD-3-Clause
// fork(2) of a rank, which copies the page tables and no more. An intermediate process (vfork),
// which shares this memory and so costs nothing, forks and ends: the launcher, a subreaper, then
// becomes the parent of the new process, so a program that waits for children of its own never sees
// it.
#include "elastic/fork_split.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HAS_RSEQ 1
#endif
#endif
#ifndef HAS_RSEQ
#define HAS_RSEQ 0
#endif

static sigset_t user_mask; // to restore; all signals are blocked during the fork

#if HAS_RSEQ
// The kernel drops the rseq area of a process that shares its memory (vfork). Without it
// sched_getcpu would always return the same core.
static void register_rseq(void)
{
    if (__rseq_size > 0) {
        enum { LEN = 32 };
        syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset, LEN, 0, RSEQ_SIG);
    }
}
#else
static void register_rseq(void)
{
}
#endif

void pli_fork_split_notify(int parent_pipe)
{
    ssize_t n = write(parent_pipe, "k", 1);
    (void)n; // fails only if the parent has ended
    close(parent_pipe);
    pthread_sigmask(SIG_SETMASK, &user_mask, NULL);
}

// Wait until the new process is a rank.
static enum pli_err wait_for_child(int fd, int error)
{
    char byte = 0;
    ssize_t n;
    do {
        n = read(fd, &byte, 1);
    } while (n < 0 && errno == EINTR);
    close(fd);
    if (error != 0) {
        return pli_fail(PLI_ERR_SPAWN, "cannot be forked: %s%s", strerror(error),
                        error == EAGAIN   ? " (the limit on processes, see ulimit -u)"
                        : error == ENOMEM ? " (the system does not overcommit memory, see "
                                            "vm.overcommit_memory)"
                                          : "");
    }
    return n == 1 ? PLI_OK
                  : pli_fail(PLI_ERR_SPAWN, "was forked, but the clone could not become a rank");
}

// Set the id that the next process of this namespace gets. False: this process may not.
static bool set_next_pid(uint32_t pid)
{
    char text[16];
    int n = snprintf(text, sizeof text, "%u", pid - 1);
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    bool is_set = fd >= 0 && write(fd, text, (size_t)n) == n;
    if (fd >= 0) {
        close(fd);
    }
    return is_set;
}

// Fork a process with this id; try again when another process got the id. Context: the intermediate
// process.
static pid_t fork_with_pid(uint32_t pid)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES && pid != 0 && set_next_pid(pid); i++) {
        pid_t child = fork();
        if (child == 0 && (uint32_t)getpid() != pid) {
            _exit(0);
        }
        if (child <= 0 || (uint32_t)child == pid) {
            return child;
        }
        waitpid(child, NULL, 0);
    }
    // with any id: if it is in use on the other host, the restore there fails and says so
    return fork();
}

enum pli_err pli_fork_split(uint32_t pid, int *parent_pipe_out)
{
    int fds[2];
    volatile int error = 0; // written by the intermediate process, which shares this memory
    sigset_t all_signals;
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return pli_fail(PLI_ERR_SPAWN, "cannot be forked: %s", strerror(errno));
    }
    fflush(NULL); // or both would print it
    sigfillset(&all_signals);
    pthread_sigmask(SIG_SETMASK, &all_signals, &user_mask);
    pid_t intermediate = vfork();
    if (intermediate == 0) {
        pid_t clone = fork_with_pid(pid);
        if (clone != 0) {
            error = clone < 0 ? errno : 0;
            _exit(0);
        }
        close(fds[0]);
        register_rseq();
        *parent_pipe_out = fds[1];
        return PLI_OK;
    }
    error = intermediate < 0 ? errno : error;
    close(fds[1]);
    if (intermediate > 0) {
        waitpid(intermediate, NULL, 0);
    }
    pthread_sigmask(SIG_SETMASK, &user_mask, NULL);
    *parent_pipe_out = -1;
    return wait_for_child(fds[0], error);
}
