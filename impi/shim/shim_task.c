// SPDX-License-Identifier: BSD-3-Clause
// Operations on stacks of their own.
#include "shim/shim_task.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

enum {
    STACK = 1 << 20, // bytes; pages are taken as they are used. Users' reductions run there too
    MAX_SPARE = 16,
    TAG_FIRST = 2048, // smaller ones are the protocol's
    TAG_MANY = 0x20000000,
    TAG_PERSISTENT = 0x40000000
};

struct shim_task {
    struct shim_req *req;
    ucontext_t here, back;
    void *stack;
    unsigned depth; // of the lock, as this operation has it
    int rc;
    bool is_over, has_yielded;
    struct shim_req *wait; // NULL: the native one
    MPI_Request *native;
    MPI_Status status;
    int native_rc;
    struct shim_task *next;
#ifdef __SANITIZE_THREAD__
    void *fiber, *fiber_back;
#endif
};

static struct shim_task *first, **last = &first; // that wait, in the order of their start
static struct shim_task *current;
static void *spare[MAX_SPARE];
static int n_spare;

bool pli_shim_task_is_inside(void)
{
    return current != NULL;
}

bool pli_shim_task_has_later(void)
{
    return (pli_shim.job->features & PLI_IMPI_HAS_LATER) != 0;
}

int pli_shim_task_tag(int tag)
{
    return current != NULL ? current->req->tag : tag;
}

int pli_shim_task_native_tag(int tag)
{
    if (current == NULL) {
        return tag;
    }
    int half = pli_shim.native_tag_ub / 2, own = current->req->tag;
    return own < TAG_PERSISTENT ? TAG_FIRST + own % (half - TAG_FIRST)
                                : half + (own - TAG_PERSISTENT) % half;
}

static void *take_stack(void)
{
    if (n_spare > 0) {
        return spare[--n_spare];
    }
    char *p =
        mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (p == MAP_FAILED) {
        return NULL;
    }
    (void)mprotect(p, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE); // one that overflows ends here
    return p;
}

static void give_stack(void *stack)
{
    if (n_spare < MAX_SPARE) {
        spare[n_spare++] = stack;
    } else {
        (void)munmap(stack, STACK);
    }
}

static void to_task(struct shim_task *t)
{
#ifdef __SANITIZE_THREAD__
    t->fiber_back = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(t->fiber, 0);
#endif
    (void)swapcontext(&t->back, &t->here);
}

static void from_task(struct shim_task *t)
{
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(t->fiber_back, 0);
#endif
    (void)swapcontext(&t->here, &t->back);
}

static void begin(void)
{
    struct shim_task *t = current;
    t->rc = t->req->run(t->req->span, t->req->arg);
    t->is_over = true;
    from_task(t); // it never comes back
}

// Runs a task until it waits or is over. The lock's depth is a matter of each stack.
static void resume(struct shim_task *t)
{
    unsigned depth = pli_shim_lock_swap(t->depth);
    current = t;
    to_task(t);
    current = NULL;
    t->depth = pli_shim_lock_swap(depth);
}

static void finish(struct shim_task *t)
{
    struct shim_req *r = t->req;
    int rc = t->rc;
#ifdef __SANITIZE_THREAD__
    __tsan_destroy_fiber(t->fiber);
#endif
    give_stack(t->stack);
    free(t);
    pli_shim_req_done(r, rc);
    if (r->is_free) {
        pli_shim_req_destroy(r);
    }
}

// Apart, since getcontext is one of the functions that may return twice.
__attribute__((noinline)) static void set_context(struct shim_task *t)
{
    (void)getcontext(&t->here); // it does not fail
    t->here.uc_stack.ss_sp = t->stack;
    t->here.uc_stack.ss_size = STACK;
    t->here.uc_link = NULL;
    makecontext(&t->here, begin, 0);
}

int pli_shim_task_start(struct shim_req *r)
{
    struct shim_task *t = calloc(1, sizeof *t);
    void *stack = t == NULL ? NULL : take_stack();
    if (stack == NULL) {
        free(t);
        return MPI_ERR_NO_MEM;
    }
    t->req = r;
    t->stack = stack;
    t->depth = pli_shim.has_threads ? 1 : 0; // it never gives away the lock
    set_context(t);
#ifdef __SANITIZE_THREAD__
    t->fiber = __tsan_create_fiber(0);
#endif
    r->is_active = true;
    r->is_done = false;
    pli_shim_req_empty(&r->status);
    pli_shim.n_pending++;
    resume(t);
    if (t->is_over) {
        finish(t);
        return MPI_SUCCESS;
    }
    *last = t;
    last = &t->next;
    return MPI_SUCCESS;
}

static bool is_ready(struct shim_task *t)
{
    if (t->has_yielded) {
        t->has_yielded = false;
        return true;
    }
    if (t->wait != NULL) {
        return pli_shim_req_test(t->wait);
    }
    int flag = 0;
    t->native_rc = PMPI_Test(t->native, &flag, &t->status);
    return flag != 0 || t->native_rc != MPI_SUCCESS;
}

void pli_shim_task_progress(void)
{
    if (current != NULL) {
        return;
    }
    struct shim_task **at = &first;
    while (*at != NULL) {
        struct shim_task *t = *at;
        bool has_more = true;
        while (has_more && !t->is_over && is_ready(t)) {
            resume(t);
            has_more = !t->has_yielded;
        }
        if (!t->is_over) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        last = last == &t->next ? at : last;
        finish(t);
    }
}

void pli_shim_task_wait(struct shim_req *r)
{
    struct shim_task *t = current;
    if (!pli_shim_req_test(r)) {
        t->wait = r;
        from_task(t);
    }
}

void pli_shim_task_yield(void)
{
    current->has_yielded = true;
    from_task(current);
}

int pli_shim_task_wait_native(MPI_Request *request, MPI_Status *status)
{
    struct shim_task *t = current;
    t->wait = NULL;
    t->native = request;
    if (!is_ready(t)) {
        from_task(t);
    }
    pli_shim_req_copy(status, &t->status);
    return t->native_rc;
}

int pli_shim_task_create(struct shim_span *s, const char *refusal, pli_shim_task_fn fn, void *arg,
                         bool is_persistent, struct shim_req **out)
{
    if (!pli_shim_task_has_later()) {
        free(arg);
        return pli_shim_fail(MPI_ERR_UNSUPPORTED_OPERATION, refusal);
    }
    struct shim_req *r = pli_shim_req_create(SHIM_COLL, s);
    if (r == NULL) {
        free(arg);
        return MPI_ERR_NO_MEM;
    }
    r->is_persistent = is_persistent;
    r->is_done = true;
    r->run = fn;
    r->arg = arg;
    r->tag = is_persistent ? (int)(TAG_PERSISTENT + s->n_persistent++ % TAG_PERSISTENT)
                           : (int)(TAG_FIRST + s->n_later++ % (TAG_MANY - TAG_FIRST));
    pli_shim_free_begin();
    *out = r;
    return MPI_SUCCESS;
}

void pli_shim_task_end(struct shim_req *r)
{
    free(r->arg);
    pli_shim_free_end();
}

int pli_shim_task_run(struct shim_span *s, const char *refusal, pli_shim_task_fn fn, void *arg,
                      MPI_Request *request)
{
    struct shim_req *r;
    int rc = pli_shim_task_create(s, refusal, fn, arg, false, &r);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = pli_shim_task_start(r);
    if (rc == MPI_SUCCESS && request != NULL) {
        return pli_shim_req_show(r, request);
    }
    rc = rc == MPI_SUCCESS ? pli_shim_req_wait(r) : rc;
    pli_shim_req_destroy(r);
    return rc;
}
