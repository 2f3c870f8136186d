// SPDX-License-Identifier: BSD-3-Clause
// The lock keeps threads apart, whichever owns it: alone, taken away while its owner is inside, in
// the middle of entering, or gone, and after it had all the owners it can have. A program that
// forbids itself what the lock needs, once it is in use, ends with a sentence; one that the kernel
// has forgotten, as it was restored from an image, tells it again.
#include "base/lock.h"

#include "base/cpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"
#include "t_filter.h"

enum { THREADS = 4, ROUNDS = 300, ALONE = 400, TOGETHER = 300 };

// What the lock guards: a counter in two halves that agree whenever nobody is inside.
struct guarded {
    struct pli_lock lock;
    long a, b;
    long n_wrong;
};

static struct guarded *shared[ROUNDS];
static pthread_barrier_t gate;

static void inside(struct guarded *g)
{
    g->n_wrong += g->a != g->b;
    g->a++;
    if (g->a % 64 == 0) {
        sched_yield(); // be found inside
    }
    g->b++;
}

static void once(struct guarded *g, int i)
{
    if (i % 7 == 0) {
        while (!pli_lock_try(&g->lock)) {
            sched_yield();
        }
    } else if (i % 11 == 0) {
        while (!pli_lock_try_gently(&g->lock)) {
            if (pli_lock_try(&g->lock)) {
                break;
            }
            sched_yield();
        }
    } else {
        pli_lock_take(&g->lock);
    }
    inside(g);
    pli_lock_drop(&g->lock);
}

// In each round every thread in turn has the lock for itself for long enough to own it; others come
// while it is at it.
static void *run(void *arg)
{
    int me = (int)(intptr_t)arg;
    for (int r = 0; r < ROUNDS; r++) {
        struct guarded *g = shared[r];
        pthread_barrier_wait(&gate);
        if (r % THREADS == me) {
            for (int i = 0; i < ALONE; i++) {
                once(g, i);
            }
        } else if (r % 3 != 0) {
            sched_yield();
        }
        if (r % 5 == 4) {
            pthread_barrier_wait(&gate); // its owner is somewhere else
        }
        for (int i = 0; i < TOGETHER; i++) {
            once(g, i);
        }
    }
    return NULL;
}

// A thread that owned a lock is gone.
static void *own(void *arg)
{
    struct guarded *g = arg;
    for (int i = 0; i < ALONE; i++) {
        pli_lock_take(&g->lock);
        inside(g);
        pli_lock_drop(&g->lock);
    }
    return NULL;
}

static void gone(void)
{
    struct guarded g = { .a = 0 };
    pthread_t id;
    for (int i = 0; i < 2 * PLI_LOCK_OWNERS; i++) {
        T_MUST(pthread_create(&id, NULL, own, &g) == 0);
        pthread_join(id, NULL);
        own(&g);
    }
    T_EQ(g.a, 4 * PLI_LOCK_OWNERS * ALONE);
    T_EQ(g.n_wrong, 0);
}

// As the kernel is to a process that was restored from an image: it knows of no registration.
static _Atomic bool is_forgotten;
static _Atomic int n_syscall;

long syscall(long number, ...)
{
    static long (*real)(long, ...);
    va_list args;
    long a[6];
    atomic_fetch_add(&n_syscall, 1);
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    }
    va_start(args, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(args, long);
    }
    va_end(args);
    if (number == SYS_membarrier && a[0] == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) {
        atomic_store(&is_forgotten, false);
    } else if (number == SYS_membarrier && atomic_load(&is_forgotten)) {
        errno = EPERM;
        return -1;
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

// A process that was restored takes a lock away from a thread that owns it.
static void forgotten(void)
{
    struct guarded g = { .a = 0 };
    pthread_t id;
    syscall(SYS_getpid);
    if (atomic_load(&n_syscall) == 0) {
        printf("a module, which does not stand before the C library: not tried\n");
        return;
    }
    own(&g);
    bool is_owned = atomic_load(&g.lock.owner[atomic_load(&g.lock.turn)].who) != 0;
    atomic_store(&is_forgotten, is_owned);
    T_MUST(pthread_create(&id, NULL, own, &g) == 0);
    pthread_join(id, NULL);
    T_OK(!atomic_load(&is_forgotten)); // it was told again
    T_EQ(g.a, 2 * ALONE);
}

// In a child: own a lock, forbid membarrier, and have another thread want the lock.
static _Noreturn void lose_barrier(int said)
{
    static struct guarded g;
    pthread_t id;
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGABRT, SIG_DFL);
    dup2(said, STDERR_FILENO);
    own(&g);
    if (atomic_load(&g.lock.owner[atomic_load(&g.lock.turn)].who) == 0 || !t_filter_membarrier()) {
        _exit(77); // the kernel has no membarrier, or no filters
    }
    if (pthread_create(&id, NULL, own, &g) == 0) {
        pthread_join(id, NULL);
    }
    _exit(0);
}

static void refused(void)
{
    int fds[2], status = -1;
    char text[2000] = "";
    T_MUST(pipe(fds) == 0);
    pid_t pid = fork();
    T_MUST(pid >= 0);
    if (pid == 0) {
        lose_barrier(fds[1]);
    }
    close(fds[1]);
    size_t len = 0;
    for (ssize_t n; (n = read(fds[0], text + len, sizeof text - 1 - len)) > 0;) {
        len += (size_t)n;
    }
    close(fds[0]);
    T_MUST(waitpid(pid, &status, 0) == pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        printf("a lock without owners, or no filters: not tried\n");
        return;
    }
    T_OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    T_OK(strstr(text, "membarrier, which MPI was allowed when it began, is refused now") != NULL);
    T_OK(strstr(text, "install a filter of system calls before MPI_Init") != NULL);
}

int main(void)
{
    pthread_t id[THREADS];
    pli_lock_threads = true;
    pthread_barrier_init(&gate, NULL, THREADS);
    for (int r = 0; r < ROUNDS; r++) {
        shared[r] = calloc(1, sizeof *shared[r]);
    }
    for (int i = 0; i < THREADS; i++) {
        T_MUST(pthread_create(&id[i], NULL, run, (void *)(intptr_t)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(id[i], NULL);
    }
    for (int r = 0; r < ROUNDS; r++) {
        T_EQ(shared[r]->a, ALONE + THREADS * TOGETHER);
        T_EQ(shared[r]->b, shared[r]->a);
        T_EQ(shared[r]->n_wrong, 0);
        free(shared[r]);
    }
    gone();
    forgotten();
#if !PLI_IS_TSAN
    refused();
#endif
    return t_status();
}
