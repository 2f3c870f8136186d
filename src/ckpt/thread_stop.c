// SPDX-License-Identifier: BSD-3-Clause
// The leader sends the signal to every thread in /proc/self/task, until a look finds none that was
// not stopped before. Everything but pli_thread_stop_all runs in a signal handler, with system
// calls and plain memory only.
#include "ckpt/thread_stop.h"

#include "base/call_site.h"
#include "base/futex.h"
#include "ckpt/freeze_wire.h"
#include "ckpt/thread_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_THREAD = 4096,
    STOP_TRIES = 20000, // of STOP_NS: how long threads may take to stop
    STOP_NS = 100000
};

static _Atomic int leader;     // thread that stops the others, 0: none
static _Atomic int stop_round; // for which they are stopped (futex), 0: none
static _Atomic int n_stopped;
static _Atomic bool asks_for_calls; // they say whether they are in calls of MPI
static _Atomic pid_t stopped[MAX_THREAD];
static struct pli_thread_copy *threads[MAX_THREAD]; // of those
static pid_t signalled[MAX_THREAD];
static int n_signalled;

static pid_t own_tid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

bool pli_thread_stop_lead(void)
{
    int nobody = 0;
    return atomic_compare_exchange_strong(&leader, &nobody, own_tid());
}

void pli_thread_stop_resign(void)
{
    atomic_store(&leader, 0);
}

static bool is_stopped(pid_t tid)
{
    int n = atomic_load(&n_stopped);
    for (int i = 0; i < n && i < MAX_THREAD; i++) {
        if (atomic_load(&stopped[i]) == tid) {
            return true;
        }
    }
    return false;
}

// Send the signal to a thread once.
static void signal_thread(pid_t tid)
{
    for (int i = 0; i < n_signalled; i++) {
        if (signalled[i] == tid) {
            return;
        }
    }
    if (n_signalled < MAX_THREAD) {
        signalled[n_signalled++] = tid;
        syscall(SYS_tgkill, getpid(), tid, PLI_FREEZE_SIGNAL);
    }
}

// A thread that has not stopped yet. 0: all had stopped before the search began; -1: not known.
static pid_t find_running_thread(void)
{
    char buf[4096];
    pid_t found = 0, me = own_tid();
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n = fd >= 0 ? syscall(SYS_getdents64, fd, buf, sizeof buf) : -1;
    for (; n > 0; n = syscall(SYS_getdents64, fd, buf, sizeof buf)) {
        for (long at = 0; at < n;) {
            const struct dirent64 *d = (const struct dirent64 *)(buf + at);
            pid_t tid = (pid_t)atoi(d->d_name);
            if (tid > 0 && tid != me && !is_stopped(tid)) {
                signal_thread(tid);
                found = tid;
            }
            at += d->d_reclen;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return n < 0 ? -1 : found;
}

pid_t pli_thread_stop_others(int round)
{
    atomic_store(&stop_round, round);
    pid_t tid = find_running_thread();
    for (int i = 0; tid != 0 && i < STOP_TRIES; i++) {
        nanosleep(&(struct timespec){ .tv_nsec = STOP_NS }, NULL);
        tid = find_running_thread();
    }
    return tid;
}

struct pli_thread_stopped pli_thread_stop_list(void)
{
    int n = atomic_load(&n_stopped);
    return (struct pli_thread_stopped){ threads, n < MAX_THREAD ? n : MAX_THREAD };
}

void pli_thread_stop_release(void)
{
    n_signalled = 0;
    atomic_store(&asks_for_calls, false);
    for (int i = 0; i < MAX_THREAD && i < atomic_load(&n_stopped); i++) {
        atomic_store(&stopped[i], 0);
    }
    atomic_store(&n_stopped, 0);
    // Before the others wake: the first of them that leaves the handler may get the signal of the
    // next round, and must find that there is no leader.
    atomic_store(&leader, 0);
    atomic_store(&stop_round, 0);
    pli_futex_wake(&stop_round, INT_MAX, true);
}

void pli_thread_stop_wait(void)
{
    int round = atomic_load(&stop_round);
    int i = round != 0 ? atomic_fetch_add(&n_stopped, 1) : MAX_THREAD;
    if (i < MAX_THREAD) {
        struct pli_thread_copy me;
        pli_thread_copy_note(&me);
        me.is_in_call = atomic_load(&asks_for_calls) && pli_call_site_is_inside();
        threads[i] = &me;
        getcontext(&me.context); // a copy of this thread comes from here, too
        pli_thread_copy_arrived();
        atomic_store(&stopped[i], own_tid());
        while (atomic_load(&stop_round) == round) {
            pli_futex_wait(&stop_round, round, true, 0);
        }
    }
}

// Where no checkpoint needs the signal.
static void handler(int sig)
{
    (void)sig;
    int saved = errno;
    pli_thread_stop_wait();
    errno = saved;
}

static enum pli_err install(void)
{
    struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;
    sigfillset(&sa.sa_mask);
    if (sigaction(PLI_FREEZE_SIGNAL, NULL, &old) != 0 ||
        (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN)) {
        return PLI_OK; // of checkpoints, or of the program, whose threads will not stop
    }
    return sigaction(PLI_FREEZE_SIGNAL, &sa, NULL) == 0
               ? PLI_OK
               : pli_fail(PLI_ERR_OTHER, "cannot stop its threads: %s", strerror(errno));
}

enum pli_err pli_thread_stop_all(bool asks_calls)
{
    enum pli_err err = install();
    if (err != PLI_OK) {
        return err;
    }
    if (!pli_thread_stop_lead()) {
        return pli_fail(PLI_ERR_OTHER, "is about to be written to a checkpoint; try again");
    }
    atomic_store(&asks_for_calls, asks_calls);
    // Another number each time: a thread that was released may not have noticed that yet.
    static int round = INT_MAX / 2; // checkpoints count from 1
    round = round == INT_MAX ? INT_MAX / 2 : round + 1;
    pid_t tid = pli_thread_stop_others(round);
    if (tid != 0) {
        pli_thread_stop_release();
        return pli_fail(PLI_ERR_OTHER,
                        "has a thread (%d) that does not take signal %d: it blocks it, or the "
                        "program has a handler for it",
                        (int)tid, PLI_FREEZE_SIGNAL);
    }
    return PLI_OK;
}
