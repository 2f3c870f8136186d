// SPDX-License-Identifier: BSD-3-Clause
// The part of the runtime that is inside every UPC program: variables that its code reads directly,
// the start-up tables, and what main does. Built twice, for UPC threads that are processes and for
// those that are OS threads.
#include "start.h"
#include "upc_link.h"

#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

PLI_UPC_TLS int pli_upc_mythread;
int pli_upc_threads;
int64_t pli_upc_reciprocal;
char *pli_upc_seg[PLI_UPC_MAX_THREADS];
int pli_upc_has_far;
PLI_UPC_TLS int pli_upc_forall_depth;
PLI_UPC_TLS int pli_upc_poll_left = 64;

extern struct pli_upc_var *__start_pli_upc_vars[] __attribute__((weak));
extern struct pli_upc_var *__stop_pli_upc_vars[] __attribute__((weak));
extern pli_upc_init_fn __start_pli_upc_inits[] __attribute__((weak));
extern pli_upc_init_fn __stop_pli_upc_inits[] __attribute__((weak));
extern struct pli_upc_unit *__start_pli_upc_units[] __attribute__((weak));
extern struct pli_upc_unit *__stop_pli_upc_units[] __attribute__((weak));
extern char **environ;

void pli_upc_poll_slow(void); // of the library
#pragma weak pli_upc_main     // a library of UPC code has none

void pli_upc_poll(void)
{
    pli_upc_poll_left = 64;
    pli_upc_poll_slow();
}

static struct pli_upc_program program;
static struct pli_upc_module all; // with what shared libraries have
static int is_open;

static void *join(void *to, size_t n, const void *more, const void *end)
{
    size_t m = (size_t)((const char *)end - (const char *)more);
    char *p = realloc(to, n + m + 1);
    if (p == NULL) {
        fprintf(stderr, "no memory for the tables of a UPC library\n");
        _exit(1);
    }
    if (m > 0) { // a thread that has none may have no address either
        memcpy(p + n, more, m);
    }
    return p;
}

#define JOIN(what)                                                                                 \
    do {                                                                                           \
        size_t n = (size_t)((char *)all.what##_end - (char *)all.what);                            \
        all.what = join(all.what, n, m->what, m->what##_end);                                      \
        all.what##_end = all.what + n / sizeof *all.what + (m->what##_end - m->what);              \
    } while (0)

// Every unit of a module calls this: the first one counts.
void pli_upc_add_module(const struct pli_upc_module *m)
{
    for (struct pli_upc_unit **u = all.units; u < all.units_end; u++) {
        if (*u == *m->units) {
            return;
        }
    }
    if (is_open) {
        fprintf(stderr, "a UPC library was loaded after the program has begun; link with it\n");
        pli_upc_global_exit(1);
    }
    JOIN(units);
    JOIN(vars);
    JOIN(inits);
}

static int open_program(void)
{
    int flag;
    MPI_Initialized(&flag); // prepares the library
    if (__start_pli_upc_units != NULL) {
        pli_upc_add_module(&(const struct pli_upc_module){
            __start_pli_upc_units, __stop_pli_upc_units, __start_pli_upc_vars, __stop_pli_upc_vars,
            __start_pli_upc_inits, __stop_pli_upc_inits });
    }
    is_open = 1;
    program = (struct pli_upc_program){ .units = all.units,
                                        .units_end = all.units_end,
                                        .vars = all.vars,
                                        .vars_end = all.vars_end,
                                        .is_pthreads = PLI_UPC_PTHREADS,
                                        .threads = &pli_upc_threads,
                                        .seg = pli_upc_seg,
                                        .has_far = &pli_upc_has_far };
    int n = pli_upc_open(&program);
    pli_upc_reciprocal = ((int64_t)1 << 62) / pli_upc_threads;
    return n;
}

static int no_main(int argc, char **argv, char **envp)
{
    (void)argc, (void)argv, (void)envp;
    fprintf(stderr, "this program has no main in UPC; its own calls bupc_init (bupc_extern.h)\n");
    return 1;
}

static pli_upc_main_fn main_of_program(void)
{
    return pli_upc_main != NULL ? pli_upc_main : no_main;
}

static void begin_thread(int i, int argc, char **argv)
{
    pli_upc_mythread = pli_upc_enter(i);
    pli_upc_gasp_begin(&argc, &argv);
    pli_upc_fill(&program);
    for (pli_upc_init_fn *f = all.inits; f < all.inits_end; f++) {
        (*f)();
    }
    pli_upc_begin();
}

#if !PLI_UPC_PTHREADS

// exit ends here, from wherever it is called.
static void at_exit(int status, void *arg)
{
    (void)arg;
    fflush(stdout);
    pli_upc_gasp_end(status);
    pli_upc_leave();
    int is_over = 1;
    MPI_Finalized(&is_over);
    if (pli_upc_mpi_has_begun() && !is_over) {
        MPI_Finalize(); // a thread that never initialised MPI needs not do it either
    }
    pli_upc_close();
}

void pli_upc_extern_begin(int argc, char **argv)
{
    open_program();
    begin_thread(0, argc, argv);
    on_exit(at_exit, NULL);
}

int pli_upc_run_main(int argc, char **argv, pli_upc_main_fn main_fn)
{
    pli_upc_extern_begin(argc, argv);
    return main_fn(argc, argv, environ);
}

#else

static struct start {
    pthread_t id;
    int argc, status, has_ended;
    char **argv;
} * starts;
static int n_start;
static __thread int my_start = -1;
static pli_upc_main_fn thread_main;

_Noreturn void __real_exit(int status);
_Noreturn void __wrap_exit(int status);

// argv may be changed by its thread.
static char **copy_args(int argc, char **argv)
{
    char **copy = calloc((size_t)argc + 1, sizeof *copy);
    for (int i = 0; copy != NULL && i < argc; i++) {
        copy[i] = strdup(argv[i]);
    }
    if (copy == NULL) {
        fprintf(stderr, "no memory to start a UPC thread\n");
        _exit(1);
    }
    return copy;
}

static int worst(void)
{
    int status = 0;
    for (int i = 0; i < n_start; i++) {
        status = status == 0 ? starts[i].status : status;
    }
    return status;
}

// A UPC thread ends: the process goes on until all have, and then main's thread ends it.
static _Noreturn void end_thread(int status)
{
    struct start *s = &starts[my_start];
    s->status = status;
    s->has_ended = 1;
    fflush(stdout);
    pli_upc_gasp_end(status);
    pli_upc_leave();
    pli_upc_mpi_end();
    if (my_start != 0) {
        pthread_exit(NULL);
    }
    for (int i = 1; i < n_start; i++) {
        pthread_join(starts[i].id, NULL);
    }
    pli_upc_mpi_close();
    pli_upc_close();
    __real_exit(worst());
}

void __wrap_exit(int status)
{
    if (my_start < 0 || starts[my_start].has_ended) {
        __real_exit(status); // no UPC thread, or its last steps
    }
    end_thread(status);
}

// exit from a library that is not linked through us, or by a thread that is not UPC's.
static void at_exit(int status, void *arg)
{
    (void)arg;
    if (my_start < 0 || !starts[my_start].has_ended) {
        pli_upc_global_exit(status);
    }
}

int pli_upc_my_start(void)
{
    return my_start;
}

static _Noreturn void run_thread(struct start *s)
{
    my_start = (int)(s - starts);
    begin_thread(my_start, s->argc, s->argv);
    end_thread(thread_main(s->argc, s->argv, environ));
}

static void *thread_body(void *arg)
{
    run_thread(arg);
}

static void create(struct start *s)
{
    pthread_attr_t attr;
    size_t size = 0;
    pthread_attr_init(&attr);
    pthread_attr_getstacksize(&attr, &size);
    const char *text = getenv("UPC_STACK_SIZE");
    size_t asked = text != NULL ? (size_t)strtoul(text, NULL, 10) << 20 : 0;
    if (asked > size) {
        pthread_attr_setstacksize(&attr, asked);
    }
    int rc = pthread_create(&s->id, &attr, thread_body, s);
    if (rc != 0) {
        fprintf(stderr, "cannot start UPC thread %d of this process: %s\n", (int)(s - starts),
                strerror(rc));
        pli_upc_global_exit(1);
    }
    pthread_attr_destroy(&attr);
}

static void prepare(int argc, char **argv)
{
    n_start = open_program();
    starts = calloc((size_t)n_start, sizeof *starts);
    if (starts == NULL) {
        fprintf(stderr, "no memory to start %d UPC threads\n", n_start);
        _exit(1);
    }
    on_exit(at_exit, NULL);
    for (int i = 0; i < n_start; i++) {
        starts[i] = (struct start){ .argc = argc, .argv = copy_args(argc, argv) };
    }
}

void pli_upc_extern_begin(int argc, char **argv)
{
    prepare(argc, argv);
    if (n_start > 1) {
        fprintf(stderr,
                "bupc_init: this process has %d UPC threads; bupc_init_reentrant starts each, or "
                "upcrun -p makes them processes\n",
                n_start);
        pli_upc_global_exit(1);
    }
    my_start = 0;
    begin_thread(0, argc, argv);
}

int pli_upc_run_main(int argc, char **argv, pli_upc_main_fn main_fn)
{
    prepare(argc, argv);
    thread_main = main_fn;
    for (int i = 1; i < n_start; i++) {
        create(&starts[i]);
    }
    run_thread(&starts[0]);
}

#endif

int pli_upc_run(int argc, char **argv);

int pli_upc_run(int argc, char **argv)
{
    return pli_upc_run_main(argc, argv, main_of_program());
}
