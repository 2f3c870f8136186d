// SPDX-License-Identifier: BSD-3-Clause
// fork(2) of a rank, which copies the page tables and no more. An intermediate process (vfork),
// which shares this memory and so costs nothing, forks and ends: the launcher, a subreaper, then
// becomes the parent of the new process, so a program that waits for children of its own never sees
// it. Where there are other threads they are stopped meanwhile, and made anew in the new process.
#include "elastic/fork_split.h"

#include "base/clock.h"
#include "base/rseq.h"
#include "ckpt/thread_copy.h"
#include "ckpt/thread_stop.h"
#include "elastic/fork_child.h"
#include "msg/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static sigset_t user_mask; // to restore; all signals are blocked during the fork

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

// The caller and, in the new process, the other threads.
static bool has_others;
static struct pli_thread_copy caller;

static bool count_others(void)
{
    struct stat st;
    enum { OWN_LINKS = 2 }; // of the folder; each thread adds one
    return stat("/proc/self/task", &st) != 0 || st.st_nlink > OWN_LINKS + 1;
}

// fork(2) itself where threads are to live on: that of the C library gives their stacks away.
static pid_t make_process(void)
{
    return has_others ? (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, 0, 0, 0, 0) : fork();
}

// In the new process: they go on at once, as one may hold a lock of the C library.
static void make_others(void)
{
    struct pli_thread_stopped others = pli_thread_stop_list();
    pli_thread_copy_become(&caller);
    for (int i = 0; i < others.n; i++) {
        pid_t tid;
        if (!pli_thread_copy_make(others.all[i], true, &tid)) {
            _exit(1); // the parent reads the end of the pipe
        }
    }
    pli_thread_stop_release();
}

// Whether none of those that were stopped is in a call of MPI, or has begun an operation there.
static bool are_outside(void)
{
    struct pli_thread_stopped others = pli_thread_stop_list();
    for (int i = 0; i < others.n; i++) {
        if (others.all[i]->is_in_call) {
            return false;
        }
    }
    return pli_fork_child_count_requests() == 0;
}

// Under MPI_THREAD_MULTIPLE a thread may be in a call of MPI, whose state is made anew in the clone
// around the caller; it is waited for.
static enum pli_err stop_outside(void)
{
    enum { TIMEOUT_S = 1, TRY_NS = 1000000 };
    uint64_t end = pli_clock_ns() + (uint64_t)TIMEOUT_S * 1000000000u;
    bool is_multiple = pli_process_has_threads();
    for (;;) {
        enum pli_err err = pli_thread_stop_all(is_multiple);
        if (err != PLI_OK || !is_multiple || are_outside()) {
            return err;
        }
        pli_thread_stop_release();
        if (pli_clock_ns() > end) {
            return pli_fail(PLI_ERR_OTHER,
                            "has a thread in calls of MPI (MPI_THREAD_MULTIPLE), and one that is "
                            "there cannot be cloned; let no other thread call MPI meanwhile");
        }
        nanosleep(&(struct timespec){ .tv_nsec = TRY_NS }, NULL);
    }
}

// All others are stopped, and can be made anew.
static enum pli_err stop_others(void)
{
    pli_thread_copy_note(&caller);
    enum pli_err err = stop_outside();
    bool is_noted = caller.is_noted;
    struct pli_thread_stopped others = pli_thread_stop_list();
    for (int i = 0; i < others.n && err == PLI_OK; i++) {
        is_noted = is_noted && others.all[i]->is_noted;
    }
    if (err == PLI_OK && !is_noted) {
        pli_thread_stop_release();
        err = pli_fail(PLI_ERR_UNSUPPORTED, "has threads, of which the kernel does not tell what "
                                            "a clone needs (CONFIG_CHECKPOINT_RESTORE)");
    }
    return err;
}

// Fork a process with this id; try again when another process got the id. Context: the intermediate
// process.
static pid_t fork_with_pid(uint32_t pid)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES && pid != 0 && set_next_pid(pid); i++) {
        pid_t child = make_process();
        if (child == 0 && (uint32_t)syscall(SYS_getpid) != pid) {
            _exit(0);
        }
        if (child <= 0 || (uint32_t)child == pid) {
            return child;
        }
        waitpid(child, NULL, 0);
    }
    // with any id: if it is in use on the other host, the restore there fails and says so
    return make_process();
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
    has_others = count_others();
    enum pli_err err = has_others ? stop_others() : PLI_OK;
    if (err != PLI_OK) {
        pthread_sigmask(SIG_SETMASK, &user_mask, NULL);
        close(fds[0]);
        close(fds[1]);
        *parent_pipe_out = -1;
        return err;
    }
    pid_t intermediate = vfork();
    if (intermediate == 0) {
        pid_t clone = fork_with_pid(pid);
        if (clone != 0) {
            error = clone < 0 ? errno : 0;
            _exit(0);
        }
        close(fds[0]);
        pli_rseq_register(); // the kernel dropped it in the intermediate process
        if (has_others) {
            make_others();
        }
        *parent_pipe_out = fds[1];
        return PLI_OK;
    }
    error = intermediate < 0 ? errno : error;
    close(fds[1]);
    if (intermediate > 0) {
        waitpid(intermediate, NULL, 0);
    }
    if (has_others) {
        pli_thread_stop_release();
    }
    pthread_sigmask(SIG_SETMASK, &user_mask, NULL);
    *parent_pipe_out = -1;
    return wait_for_child(fds[0], error);
}
