// SPDX-License-Identifier: BSD-3-Clause
// Makes threads anew by clone(2), with the thread-local storage, the stack and the registers that
// they had.
#include "ckpt/thread_copy.h"

#include "base/rseq.h"
#include "ckpt/freeze_wire.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

enum { STACK = 64 * 1024 };
static char stack[STACK] __attribute__((aligned(16))); // until the copy is at its own
static _Atomic int n_arrived;

static bool has_children(void)
{
    char byte;
    int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    bool has = fd < 0 || read(fd, &byte, 1) != 0;
    if (fd >= 0) {
        close(fd);
    }
    return has;
}

static bool has_pending(void)
{
    sigset_t pending;
    bool has = sigpending(&pending) != 0;
    for (int sig = 1; sig < NSIG && !has; sig++) {
        has = sig != PLI_FREEZE_SIGNAL && sigismember(&pending, sig) == 1;
    }
    return has;
}

static void *thread_pointer(void)
{
#if defined(__x86_64__) // compilers before GCC 11 have no builtin there
    void *at;
    __asm__("mov %%fs:0, %0" : "=r"(at));
    return at;
#else
    return __builtin_thread_pointer();
#endif
}

void pli_thread_copy_note(struct pli_thread_copy *t)
{
    t->tid = (pid_t)syscall(SYS_gettid);
    t->pointer = thread_pointer();
    t->is_noted = prctl(PR_GET_TID_ADDRESS, &t->tid_address, 0, 0, 0) == 0 &&
                  syscall(SYS_get_robust_list, 0, &t->robust_list, &t->robust_len) == 0 &&
                  prctl(PR_GET_NAME, t->name, 0, 0, 0) == 0 &&
                  sched_getaffinity(0, sizeof t->cores, &t->cores) == 0;
    t->is_complete = t->is_noted && !has_children() && !has_pending();
}

void pli_thread_copy_become(const struct pli_thread_copy *t)
{
    syscall(SYS_set_tid_address, t->tid_address);
    syscall(SYS_set_robust_list, t->robust_list, t->robust_len);
    *t->tid_address = (int)syscall(SYS_gettid);
}

void pli_thread_copy_arrived(void)
{
    atomic_fetch_add(&n_arrived, 1);
}

// The thread went on from getcontext into calls from which its copy never returns: the address
// sanitizer must not take their frames for alive.
static void forget_frames(const ucontext_t *context)
{
#ifdef __SANITIZE_ADDRESS__
#ifdef __x86_64__
    char *sp = (char *)context->uc_mcontext.gregs[REG_RSP];
#else
    char *sp = (char *)context->uc_mcontext.sp;
#endif
    __asan_unpoison_memory_region(sp - STACK / 2, STACK / 2);
#else
    (void)context;
#endif
}

static int go_on(void *arg)
{
    const struct pli_thread_copy *t = arg;
    forget_frames(&t->context);
    syscall(SYS_set_robust_list, t->robust_list, t->robust_len);
    // Not prctl(): the address sanitizer then looks for a thread that perhaps had only begun.
    syscall(SYS_prctl, PR_SET_NAME, t->name, 0, 0, 0);
    sched_setaffinity(0, sizeof t->cores, &t->cores);
    pli_rseq_register();
    setcontext(&t->context);
    return 1;
}

bool pli_thread_copy_make(struct pli_thread_copy *t, bool is_renumbered, pid_t *tid_out)
{
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                      CLONE_SYSVSEM | CLONE_SETTLS | CLONE_CHILD_CLEARTID |
                      (is_renumbered ? CLONE_CHILD_SETTID : 0);
    int before = atomic_load(&n_arrived);
    *tid_out = clone(go_on, stack + STACK, flags, t, NULL, t->pointer, t->tid_address);
    while (*tid_out > 0 && atomic_load(&n_arrived) == before) {
        sched_yield();
    }
    return *tid_out > 0;
}
