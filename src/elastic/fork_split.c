// SPDX-License-Identifier: BSD-3-Clause
// fork with copy-on-write: its price is that of the page tables, whatever they point to. A process
// in between, which shares our memory and so costs nothing, forks and ends: the new process then
// falls to the launcher, which has asked the kernel for orphans, and not to us, so a program that
// waits for children of its own never meets it.
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

static sigset_t user_mask; // while no signal may come

#if HAS_RSEQ
// The kernel forgets where a process keeps its number of the core when that shares memory with
// another one; sched_getcpu would stand still.
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

void pli_fork_split_tell(int told)
{
    ssize_t n = write(told, "k", 1);
    (void)n; // who does not wait for it any more has ended
    close(told);
    pthread_sigmask(SIG_SETMASK, &user_mask, NULL);
}

// Wait until the new process has told that it is there.
static enum pli_err await(int fd, int error)
{
    char word = 0;
    ssize_t n;
    do {
        n = read(fd, &word, 1);
    } while (n < 0 && errno == EINTR);
    close(fd);
    if (error != 0) {
        return pli_fail(PLI_ERR_SPAWN, "cannot be forked: %s%s", strerror(error),
                        error == EAGAIN   ? " (the limit on processes, see ulimit -u)"
                        : error == ENOMEM ? " (the system promises no more memory than it has, see "
                                            "vm.overcommit_memory)"
                                          : "");
    }
    return n == 1 ? PLI_OK
                  : pli_fail(PLI_ERR_SPAWN, "was forked, but the clone could not become a rank");
}

// Say which number the next process in this namespace gets. False: that is not ours to say.
static bool set_next(uint32_t number)
{
    char text[16];
    int n = snprintf(text, sizeof text, "%u", number - 1);
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    bool is_set = fd >= 0 && write(fd, text, (size_t)n) == n;
    if (fd >= 0) {
        close(fd);
    }
    return is_set;
}

// fork, again while somebody else was faster. Context: the process in between.
static pid_t fork_as(uint32_t number)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES && number != 0 && set_next(number); i++) {
        pid_t pid = fork();
        if (pid == 0 && (uint32_t)getpid() != number) {
            _exit(0);
        }
        if (pid <= 0 || (uint32_t)pid == number) {
            return pid;
        }
        waitpid(pid, NULL, 0);
    }
    return fork(); // any: if it is taken there, whoever takes the image says so
}

enum pli_err pli_fork_split(uint32_t number, int *told_out)
{
    int pipes[2];
    volatile int error = 0; // written by the process in between, in our memory
    sigset_t none;
    if (pipe2(pipes, O_CLOEXEC) != 0) {
        return pli_fail(PLI_ERR_SPAWN, "cannot be forked: %s", strerror(errno));
    }
    fflush(NULL); // or both would print it
    sigfillset(&none);
    pthread_sigmask(SIG_SETMASK, &none, &user_mask);
    pid_t between = vfork();
    if (between == 0) {
        pid_t clone = fork_as(number);
        if (clone != 0) {
            error = clone < 0 ? errno : 0;
            _exit(0);
        }
        close(pipes[0]);
        register_rseq();
        *told_out = pipes[1];
        return PLI_OK;
    }
    error = between < 0 ? errno : error;
    close(pipes[1]);
    if (between > 0) {
        waitpid(between, NULL, 0);
    }
    pthread_sigmask(SIG_SETMASK, &user_mask, NULL);
    *told_out = -1;
    return await(pipes[0], error);
}
