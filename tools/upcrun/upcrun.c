// SPDX-License-Identifier: BSD-3-Clause
// upcrun: alone it hands over to mpiexec, which starts the processes; below mpiexec it starts them
// itself, as the ranks that mpiexec gave to it and as processes without one.
#include "upcrun.h"

#include "inspect.h"
#include "upcrun_start.h"
#include "upcrun_args.h"
#include "upcrun_options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Noreturn void pli_upcrun_bad(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("upcrun: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(2);
}

enum { MAX_THREADS = 1024 };

// "512MB", "2G"; a bare number is megabytes.
static void check_size(const char *text)
{
    char *end;
    strtoul(text, &end, 10);
    size_t n = strspn(end, "kKmMgG");
    if (!isdigit((unsigned char)*text) || n > 1 ||
        (end[n] != '\0' && strcasecmp(end + n, "b") != 0)) {
        pli_upcrun_bad("-shared-heap needs a size such as 512MB or 2GB, not '%s'", text);
    }
}

static void set_heap(const char *text)
{
    char size[64], *end;
    check_size(text);
    unsigned long n = strtoul(text, &end, 10);
    char unit = *end == '\0' ? 'M' : (char)toupper((unsigned char)*end);
    snprintf(size, sizeof size, "%lu%c", n, unit);
    setenv("PLIANT_UPC_SHARED_HEAP", size, 1);
}

static void take_heap(struct pli_option_use *use)
{
    struct pli_upcrun_args *args = use->reader->job;
    check_size(use->text);
    args->heap = use->text;
}

static void take_env(struct pli_option_use *use)
{
    if (strchr(use->text, '=') == NULL || use->text[0] == '=') {
        pli_upcrun_bad("-env needs NAME=VALUE, not '%s'", use->text);
    }
    if (strncmp(use->text, "HOSTS=", 6) == 0 && getenv("PLIANT_BOOT") != NULL) {
        pli_upcrun_bad("-env %s comes too late here: mpiexec -env %s upcrun ...", use->text,
                       use->text);
    }
    putenv(use->text);
}

static void take_localhost(struct pli_option_use *use)
{
    (void)use;
    unsetenv("HOSTS");
}

static void take_note(struct pli_option_use *use)
{
    fprintf(stderr, "upcrun: note: %s has no effect here; %s\n", use->name,
            pli_options_is_named(use->option, "freeze")
                ? "mpiexec -n N gdb --args PROGRAM starts all threads in a debugger"
                : "mpictl status shows what each thread waits for");
}

// Scripts for other runtimes pass it, and it has no meaning here.
static void take_nothing(struct pli_option_use *use)
{
    (void)use;
}

static void take_version(struct pli_option_use *use)
{
    printf("%s (Pliant MPI) %s\n", use->reader->tool, PLIANT_VERSION);
    exit(0);
}

static void take_help(struct pli_option_use *use)
{
    pli_options_help(use->reader, stdout);
    exit(0);
}

static const pli_option_take_fn take[PLI_UPCRUN_N_TAKE] = {
    [PLI_UPCRUN_ENV] = take_env,         [PLI_UPCRUN_HEAP] = take_heap,
    [PLI_UPCRUN_HELP] = take_help,       [PLI_UPCRUN_LOCALHOST] = take_localhost,
    [PLI_UPCRUN_NOTE] = take_note,       [PLI_UPCRUN_NOTHING] = take_nothing,
    [PLI_UPCRUN_VERSION] = take_version,
};

static void read_all(struct pli_upcrun_args *args, char **argv)
{
    struct pli_option_reader r = { .tool = "upcrun",
                                   .table = &pli_upcrun_options,
                                   .take = take,
                                   .job = args,
                                   .bad = pli_upcrun_bad };
    args->program = argv + pli_options_take_leading(&r, argv);
}

// How many threads a process has, by the variable UPC_PTHREADS_PER_PROC.
static long read_pthreads(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || n < 1 || n > MAX_THREADS) {
        pli_upcrun_bad("UPC_PTHREADS_PER_PROC needs a whole number from 1 to %d, not '%s'",
                       MAX_THREADS, text);
    }
    return n;
}

static void read_environment(struct pli_upcrun_args *w)
{
    const char *heap = getenv("UPC_SHARED_HEAP_SIZE"), *quiet = getenv("UPC_QUIET");
    const char *each = getenv("UPC_PTHREADS_PER_PROC"), *flags = getenv("UPCRUN_FLAGS");
    w->heap = heap;
    w->is_quiet = quiet != NULL && strcmp(quiet, "0") != 0 && strcasecmp(quiet, "no") != 0;
    w->pthreads = each != NULL ? read_pthreads(each) : 0;
    if (flags != NULL) {
        static char *words[64];
        char *copy = strdup(flags), *save = NULL;
        int n = 0;
        for (char *s = strtok_r(copy, " \t", &save); s != NULL && n < 63;
             s = strtok_r(NULL, " \t", &save)) {
            words[n++] = s;
        }
        read_all(w, words);
    }
}

// Decide how many threads there are in how many processes.
static struct pli_upcrun_shape decide(const struct pli_upcrun_args *w,
                                      const struct pli_upcrun_facts *facts)
{
    struct pli_upcrun_shape s = { .n_thread = w->n > 0 ? w->n : facts->static_threads };
    if (s.n_thread == 0) {
        pli_upcrun_bad("say how many UPC threads: upcrun -n N %s", w->program[0]);
    }
    if (facts->static_threads > 0 && s.n_thread != facts->static_threads) {
        pli_upcrun_bad("%s is compiled for %ld threads (upcc -T=%ld), not for %ld", w->program[0],
                       facts->static_threads, facts->static_threads, s.n_thread);
    }
    if (w->pthreads > 0 && facts->is_upc && !facts->is_pthreads) {
        pli_upcrun_bad("-pthreads: %s was not compiled with upcc -pthreads", w->program[0]);
    }
    long each = w->pthreads > 0 ? w->pthreads : facts->each > 0 ? facts->each : s.n_thread;
    s.is_pthreads = facts->is_pthreads;
    s.each = s.is_pthreads ? each : 1;
    s.n_proc = facts->is_pthreads ? (s.n_thread + each - 1) / each : s.n_thread;
    return s;
}

int main(int argc, char **argv)
{
    struct pli_upcrun_args w = { 0 };
    (void)argc;
    read_environment(&w);
    read_all(&w, argv + 1);
    if (w.program[0] == NULL) {
        pli_upcrun_bad("no program is named; try upcrun -n 4 ./a.out, or upcrun --help");
    }
    struct pli_upcrun_facts facts;
    pli_upcrun_inspect(w.program[0], &facts);
    if (w.is_info) {
        printf("%s: %s, %s%ld threads, threads are %s\n", w.program[0],
               facts.is_upc ? "UPC" : "not compiled by upcc",
               facts.static_threads > 0 ? "static " : "dynamic ", facts.static_threads,
               facts.is_pthreads ? "OS threads" : "processes");
        return 0;
    }
    if (w.nodes > 1 && getenv("HOSTS") == NULL) {
        pli_upcrun_bad("-N %ld: name the hosts in a file, and the file in the variable HOSTS",
                       w.nodes);
    }
    if (w.heap != NULL) {
        set_heap(w.heap);
    }
    struct pli_upcrun_shape shape = decide(&w, &facts);
    shape.is_quiet = w.is_quiet;
    shape.is_verbose = w.is_verbose;
    shape.is_show = w.is_show;
    shape.timeout = w.timeout;
    shape.hosts = getenv("HOSTS");
    shape.n_node = w.nodes;
    if (shape.hosts != NULL && *shape.hosts == '\0') {
        shape.hosts = NULL;
    }
    const char *boot = getenv("PLIANT_BOOT");
    bool is_below = boot != NULL && *boot != '\0';
    if (shape.hosts != NULL && !is_below && access(shape.hosts, R_OK) != 0) {
        pli_upcrun_bad("HOSTS=%s names a file of hosts that cannot be read: %s", shape.hosts,
                       strerror(errno));
    }
    shape.program = w.program;
    return is_below ? pli_upcrun_below(&shape, boot) : pli_upcrun_alone(&shape);
}
