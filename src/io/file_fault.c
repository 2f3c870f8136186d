// SPDX-License-Identifier: BSD-3-Clause
// The handler puts empty pages in the place of the whole mapping, where the copy goes on: nothing
// is jumped out of, so a guard may be held around anything.
#include "io/file_fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int n_guard;             // guarded by lock
static struct sigaction before; // what the program had; changed by the first guard
// initial-exec: the handler must not allocate it.
static _Thread_local __attribute__((tls_model("initial-exec"))) struct pli_file_fault *innermost;

static void hand_on(int sig, siginfo_t *info, void *context)
{
    sigset_t old, mask = before.sa_mask;
    bool was_sent = info->si_code <= 0; // and does not come again by itself
    if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_IGN && was_sent) {
        return;
    }
    if ((before.sa_flags & SA_SIGINFO) == 0 &&
        (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)) {
        signal(sig, SIG_DFL);
        if (was_sent) {
            raise(sig);
        }
        return;
    }
    if ((before.sa_flags & SA_NODEFER) == 0) {
        sigaddset(&mask, sig);
    }
    pthread_sigmask(SIG_BLOCK, &mask, &old);
    if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(sig, info, context);
    } else {
        before.sa_handler(sig);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    int error = errno;
    char *at = info->si_addr;
    struct pli_file_fault *g = info->si_code > 0 ? innermost : NULL;
    while (g != NULL && !(at >= g->begin && at < g->end)) {
        g = g->outer;
    }
    if (g != NULL &&
        mmap(g->begin, (size_t)(g->end - g->begin), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED) {
        g->is_lost = 1;
    } else {
        hand_on(sig, info, context);
    }
    errno = error;
}

static bool is_mine(const struct sigaction *now)
{
    return (now->sa_flags & SA_SIGINFO) != 0 && now->sa_sigaction == on_fault;
}

static void take_signal(void)
{
    struct sigaction mine = { .sa_sigaction = on_fault,
                              .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    struct sigaction now;
    pthread_mutex_lock(&lock);
    if (n_guard++ == 0 && sigaction(SIGBUS, &mine, &now) == 0 && !is_mine(&now)) {
        before = now; // mostly what it was the last time
    }
    pthread_mutex_unlock(&lock);
}

// A handler that the program has set meanwhile stays.
static void give_signal(void)
{
    struct sigaction now;
    pthread_mutex_lock(&lock);
    if (--n_guard == 0) {
        sigaction(SIGBUS, &before, &now);
        if (!is_mine(&now)) {
            sigaction(SIGBUS, &now, NULL);
        }
    }
    pthread_mutex_unlock(&lock);
}

static sigset_t bus_signal(void)
{
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGBUS);
    return s;
}

void pli_file_fault_begin(struct pli_file_fault *g, void *start, size_t len)
{
    sigset_t old, bus = bus_signal();
    take_signal();
    pthread_sigmask(SIG_UNBLOCK, &bus, &old); // blocked, it would end the process
    *g = (struct pli_file_fault){ .begin = start,
                                  .end = (char *)start + len,
                                  .was_blocked = sigismember(&old, SIGBUS) == 1 };
    pli_file_fault_resume(g);
}

void pli_file_fault_keep(struct pli_file_fault *g)
{
    pli_file_fault_pause(g);
    if (g->was_blocked) {
        sigset_t bus = bus_signal();
        pthread_sigmask(SIG_BLOCK, &bus, NULL);
    }
    g->was_blocked = false;
}

bool pli_file_fault_end(struct pli_file_fault *g)
{
    pli_file_fault_keep(g);
    give_signal();
    return !g->is_lost;
}

void pli_file_fault_resume(struct pli_file_fault *g)
{
    g->outer = innermost;
    innermost = g;
    atomic_signal_fence(memory_order_seq_cst); // before the pages are used
}

bool pli_file_fault_pause(struct pli_file_fault *g)
{
    atomic_signal_fence(memory_order_seq_cst);
    innermost = g->outer;
    return !g->is_lost;
}
