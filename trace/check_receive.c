// SPDX-License-Identifier: BSD-3-Clause
// Accesses to the buffer of a receive that is under way. MPI receives into memory of the checker,
// and the data goes to the program's buffer when the program completes the request: so nothing of
// MPI, the kernel or another process touches that buffer meanwhile, and its whole pages can be
// closed to all. Who accesses them all the same is told, and the pages are opened.
#include "trace/check.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { N_GUARD = 64, N_FRAME = 48, SUM_MAX = 65536 };
enum { COPY_MAX = 256 << 20 }; // larger ones are received where they are

struct pli_check_receive {
    char *to; // the program's buffer
    size_t n;
    void *site;
    enum pli_check_fn function;
    bool is_summed, is_freed;
    char *begin, *end; // the pages that were closed
    uint64_t sum;      // of the rest
    char from[];
};

static struct {
    pthread_mutex_t mutex; // nothing that is closed is touched while it is held
    struct pli_check_receive *guards[N_GUARD];
    struct {
        char *begin, *end;
    } opened[N_GUARD]; // after a fault, for threads that came at the same time
    unsigned n_opened;
    struct sigaction before;
    _Atomic int n_guard;
} state = { .mutex = PTHREAD_MUTEX_INITIALIZER };

struct pli_check_receive *pli_check_receive_create(const struct pli_check_call *call)
{
    const char *begin;
    size_t n;
    // The checker would have to complete what the program frees: the record does not know of it.
    if (pli_check_is_recorded() ||
        !pli_check_range(call->recvbuf, call->recvcount, call->recvtype, &begin, &n) ||
        n > COPY_MAX) {
        return NULL;
    }
    struct pli_check_receive *r = malloc(sizeof *r + n);
    if (r != NULL) {
        *r = (struct pli_check_receive){
            .to = (char *)begin, .n = n, .site = call->site, .function = call->function
        };
    }
    return r;
}

void *pli_check_receive_address(struct pli_check_receive *r, void *buf)
{
    return r != NULL ? (char *)buf - r->to + r->from : buf;
}

static uintptr_t page(void)
{
    static uintptr_t size;
    size = size != 0 ? size : (uintptr_t)sysconf(_SC_PAGESIZE);
    return size;
}

// A thread whose stack is closed could not handle the fault.
static bool is_on_stack(const char *p)
{
    static __thread const char *low, *high __attribute__((tls_model("initial-exec")));
    pthread_attr_t attr;
    if (high == NULL && pthread_getattr_np(pthread_self(), &attr) == 0) {
        void *at;
        size_t n;
        pthread_attr_getstack(&attr, &at, &n);
        pthread_attr_destroy(&attr);
        low = at;
        high = low + n;
    }
    return p >= low && p < high;
}

// Opens the pages. Context: locked.
static void open_pages(struct pli_check_receive *r)
{
    for (int i = 0; i < N_GUARD; i++) {
        if (state.guards[i] == r) {
            state.guards[i] = NULL;
            state.n_guard--;
            mprotect(r->begin, (size_t)(r->end - r->begin), PROT_READ | PROT_WRITE);
        }
    }
}

// The call of the program that the fault is in, or under; libc's copies are not what is looked for.
static void *find_site(void *pc)
{
    static const char *const passed[] = { "libc.",     "libm.",   "ld-",     "libmpi",
                                          "libpliant", "libasan", "libubsan" };
    void *frames[N_FRAME];
    int n = backtrace(frames, N_FRAME), i = 0;
    while (i < n && frames[i] != pc) {
        i++;
    }
    for (int k = i; k < n; k++) {
        Dl_info it;
        bool is_passed = dladdr(frames[k], &it) == 0 || it.dli_fname == NULL;
        const char *slash = is_passed ? NULL : strrchr(it.dli_fname, '/');
        const char *name = is_passed ? "" : slash != NULL ? slash + 1 : it.dli_fname;
        for (size_t p = 0; p < sizeof passed / sizeof passed[0]; p++) {
            is_passed = is_passed || strncmp(name, passed[p], strlen(passed[p])) == 0;
        }
        if (!is_passed) {
            // Other frames have the address behind the call.
            return k == i ? (char *)frames[k] + 1 : frames[k];
        }
    }
    return (char *)pc + 1;
}

// What the processor says of the access.
static void describe(const ucontext_t *at, void **pc, bool *is_write)
{
#if defined __aarch64__
    enum { MAGIC = 0x45535201, WRITE = 1 << 6 };
    const unsigned char *p = (const unsigned char *)at->uc_mcontext.__reserved;
    uint32_t head[2];
    memcpy(head, p, sizeof head);
    *pc = (void *)at->uc_mcontext.pc;
    *is_write = false;
    for (size_t i = 0; head[0] != 0 && i + head[1] < 4096; memcpy(head, p + i, sizeof head)) {
        uint64_t esr;
        memcpy(&esr, p + i + sizeof head, sizeof esr);
        *is_write = *is_write || (head[0] == MAGIC && (esr & WRITE) != 0);
        i += head[1];
    }
#elif defined __x86_64__
    *pc = (void *)at->uc_mcontext.gregs[REG_RIP];
    *is_write = (at->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    (void)at;
    *pc = NULL;
    *is_write = false;
#endif
}

static void tell(const struct pli_check_receive *r, const ucontext_t *at)
{
    void *pc;
    bool is_write;
    describe(at, &pc, &is_write);
    void *site = find_site(pc);
    pli_check_say(is_write ? "early-write" : "early-read", site, pli_line_place(r->site),
                  "%s %s the buffer of %s at %s before the request is completed; wait first",
                  pli_line_of(site), is_write ? "writes to" : "reads", pli_check_name(r->function),
                  pli_line_of(r->site));
}

// Another thread met the same pages and has opened them since.
static bool was_opened(char *p)
{
    bool is = false;
    for (int i = 0; i < N_GUARD; i++) {
        is = is || (p >= state.opened[i].begin && p < state.opened[i].end);
    }
    uintptr_t base = (uintptr_t)p & ~(page() - 1);
    return is && mprotect((void *)base, page(), PROT_READ | PROT_WRITE) == 0;
}

static void hand_on(int sig, siginfo_t *info, void *context)
{
    if ((state.before.sa_flags & SA_SIGINFO) != 0) {
        state.before.sa_sigaction(sig, info, context);
    } else if (state.before.sa_handler != SIG_DFL && state.before.sa_handler != SIG_IGN) {
        state.before.sa_handler(sig);
    } else {
        signal(sig, SIG_DFL); // it comes again
    }
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    struct pli_check_receive found = { 0 };
    char *p = info->si_addr;
    pthread_mutex_lock(&state.mutex);
    for (int i = 0; i < N_GUARD && found.to == NULL; i++) {
        struct pli_check_receive *r = state.guards[i];
        if (r != NULL && p >= r->begin && p < r->end) {
            found = *r;
            state.opened[state.n_opened % N_GUARD].begin = r->begin;
            state.opened[state.n_opened++ % N_GUARD].end = r->end;
            open_pages(r);
        }
    }
    bool is_ours = found.to != NULL || was_opened(p);
    pthread_mutex_unlock(&state.mutex);
    if (found.to != NULL) {
        tell(&found, context);
    } else if (!is_ours) {
        hand_on(sig, info, context);
    }
}

// The program may have set a handler of its own since.
static void install(void)
{
    struct sigaction now;
    sigaction(SIGSEGV, NULL, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault) {
        return;
    }
    void *frames[2];
    backtrace(frames, 2); // the first one loads a library
    struct sigaction mine = { .sa_sigaction = on_fault,
                              .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    state.before = now;
    sigaction(SIGSEGV, &mine, NULL);
}

static void close_pages(struct pli_check_receive *r)
{
    char *begin = (char *)(((uintptr_t)r->to + page() - 1) & ~(page() - 1));
    char *end = (char *)(((uintptr_t)r->to + r->n) & ~(page() - 1));
    if (begin >= end || is_on_stack(r->to)) {
        return;
    }
    pthread_mutex_lock(&state.mutex);
    int i = 0;
    while (i < N_GUARD && state.guards[i] != NULL) {
        i++;
    }
    if (i < N_GUARD) {
        install();
        size_t n = (size_t)(end - begin);
        if (mprotect(begin, n, PROT_NONE) == 0) {
            r->begin = begin;
            r->end = end;
            state.guards[i] = r;
            state.n_guard++;
        } else { // a part may be closed now
            mprotect(begin, n, PROT_READ | PROT_WRITE);
        }
    }
    pthread_mutex_unlock(&state.mutex);
}

// Of what was not closed, as far as it is quick; writes are seen by it, reads are not.
static uint64_t sum_rest(const struct pli_check_receive *r)
{
    if (r->begin == NULL) {
        return pli_check_sum(r->to, r->n < SUM_MAX ? r->n : SUM_MAX);
    }
    uint64_t head = pli_check_sum(r->to, (size_t)(r->begin - r->to));
    return head * 31 + pli_check_sum(r->end, (size_t)(r->to + r->n - r->end));
}

void pli_check_receive_guard(struct pli_check_receive *r)
{
    if (r != NULL) {
        r->begin = r->end = NULL;
        r->is_freed = false;
        close_pages(r);
        r->is_summed = pli_check_is_mapped(r->to, r->n);
        r->sum = r->is_summed ? sum_rest(r) : 0;
    }
}

void pli_check_receive_open(struct pli_check_receive *r)
{
    r->is_summed = false;
    pthread_mutex_lock(&state.mutex);
    open_pages(r);
    pthread_mutex_unlock(&state.mutex);
}

void pli_check_receive_freed(struct pli_check_receive *r)
{
    if (r != NULL) {
        pli_check_receive_open(r);
        r->is_freed = true;
    }
}

void pli_check_receive_used(const void *buf, MPI_Count count, MPI_Datatype type)
{
    int n_guard = atomic_load_explicit(&state.n_guard, memory_order_relaxed);
    bool is_any = n_guard > 0 && type != NULL;
    const struct pli_check_type *t = is_any ? pli_check_type_of(type) : NULL;
    if (t == NULL || count <= 0 || buf == MPI_IN_PLACE) {
        return;
    }
    const char *begin = (const char *)buf + t->it.true_lb;
    const char *end = begin + (count - 1) * t->it.extent + t->it.true_extent;
    pthread_mutex_lock(&state.mutex);
    for (int i = 0; i < N_GUARD; i++) {
        struct pli_check_receive *r = state.guards[i];
        if (r != NULL && begin < r->end && end > r->begin) {
            open_pages(r);
            r->is_summed = false;
        }
    }
    pthread_mutex_unlock(&state.mutex);
}

void pli_check_receive_deliver(struct pli_check_receive *r, const MPI_Status *status, int err,
                               const void *site)
{
    if (r == NULL || r->is_freed) {
        return;
    }
    MPI_Count n = 0;
    bool is_summed = r->is_summed;
    pli_check_receive_open(r);
    if (!pli_check_is_mapped(r->to, r->n)) {
        return;
    }
    if (is_summed && sum_rest(r) != r->sum) {
        pli_check_say("early-write", r->site, pli_line_place(site),
                      "the buffer of %s at %s was written to before the request was completed at "
                      "%s; wait first",
                      pli_check_name(r->function), pli_line_of(r->site), pli_line_of(site));
    }
    if (err == MPI_ERR_TRUNCATE) {
        n = (MPI_Count)r->n;
    } else if (err == MPI_SUCCESS && status != NULL) {
        pli_check_lib.get_count(status, MPI_BYTE, &n);
    }
    if (n > 0 && (size_t)n <= r->n) {
        memcpy(r->to, r->from, (size_t)n);
    }
}

void pli_check_receive_destroy(struct pli_check_receive *r)
{
    if (r != NULL) {
        pli_check_receive_open(r);
        free(r);
    }
}
