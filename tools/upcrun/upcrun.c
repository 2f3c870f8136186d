// SPDX-License-Identifier: BSD-3-Clause
// upcrun: alone it hands over to mpiexec, which starts the processes; below mpiexec it starts them
// itself, as the ranks that mpiexec gave to it and as processes without one.
#include "inspect.h"
#include "start.h"
#include "upcrun_args.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wish {
    long n, pthreads, nodes;
    const char *heap, *timeout;
    bool is_quiet, is_verbose, is_show, is_info;
    char **program; // and its arguments
};

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

enum take {
    T_N,
    T_PTHREADS,
    T_NODES,
    T_HEAP,
    T_TIMEOUT,
    T_ENV,
    T_QUIET,
    T_VERBOSE,
    T_SHOW,
    T_INFO,
    T_HELP,
    T_VERSION,
    T_NOTHING,
    T_NOTHING_VALUE,
    T_LOCAL,
    T_NOTE
};

static const struct option {
    const char *names, *value;
    enum take take;
    const char *help; // NULL: understood, but not worth a line
} options[] = {
    { "n np", "N", T_N, "UPC threads; needed unless the program is compiled for a fixed number" },
    { "p pthreads", "N", T_PTHREADS,
      "OS threads per process, for programs compiled with -pthreads" },
    { "N nodes", "N", T_NODES, "hosts to use" },
    { "c cpus-per-node", "N", T_NOTHING_VALUE, NULL },
    { "shared-heap", "SIZE", T_HEAP,
      "shared memory per thread, as 512MB or 2GB; all of it otherwise" },
    { "shared-heap-max", "SIZE", T_NOTHING_VALUE, NULL },
    { "heap-offset", "SIZE", T_NOTHING_VALUE, NULL },
    { "network", "NAME", T_NOTHING_VALUE, NULL },
    { "conf", "FILE", T_NOTHING_VALUE, NULL },
    { "timeout", "TIME", T_TIMEOUT, "end the job after this many seconds" },
    { "env", "NAME=VALUE", T_ENV, "set a variable; all others are passed on anyway" },
    { "q quiet", NULL, T_QUIET, "say nothing but errors" },
    { "v verbose", NULL, T_VERBOSE, "say what happens" },
    { "t show", NULL, T_SHOW, "print the command instead of running it" },
    { "i info", NULL, T_INFO, "print what the program was compiled for" },
    { "polite-sync", NULL, T_NOTHING, NULL },
    { "bind-threads", NULL, T_NOTHING, NULL },
    { "backtrace", NULL, T_NOTHING, NULL },
    { "abort", NULL, T_NOTHING, NULL },
    { "no-backtrace", NULL, T_NOTHING, NULL },
    { "norc", NULL, T_NOTHING, NULL },
    { "localhost", NULL, T_LOCAL, "all threads on this host, whatever HOSTS says" },
    { "freeze freeze-on-error", NULL, T_NOTE,
      "also -trace: of other runtimes, said to have no effect (see upcrun(1))" },
    { "trace", NULL, T_NOTE, NULL },
    { "tracefile trace-file", "FILE", T_NOTE, NULL },
    { "version V", NULL, T_VERSION, "what this is" },
    { "help h", NULL, T_HELP, "this text" },
};

enum { N_OPTION = sizeof options / sizeof options[0], MAX_THREADS = 1024 };

static long count(const char *name, const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || n < 1 || n > MAX_THREADS) {
        pli_upcrun_bad("-%s needs a whole number from 1 to %d, not '%s'", name, MAX_THREADS, text);
    }
    return n;
}

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

static void help(void)
{
    printf("usage: upcrun [OPTION...] PROGRAM [ARGUMENT...]\n"
           "Run a UPC program. Options take one dash or two, and their value after '=' or a "
           "blank.\n\n");
    for (int i = 0; i < N_OPTION; i++) {
        const struct option *o = &options[i];
        if (o->help != NULL) {
            int len = (int)strcspn(o->names, " ");
            printf("  -%.*s%s%-*s %s\n", len, o->names, o->value != NULL ? " " : "",
                   20 - len - (o->value != NULL), o->value != NULL ? o->value : "", o->help);
        }
    }
    printf("\nHybrid programs: mpiexec --ranks-per-proc=N upcrun -n N PROGRAM (see upcrun(1)).\n"
           "Environment: UPC_SHARED_HEAP_SIZE, UPC_QUIET, UPC_PTHREADS_PER_PROC, UPCRUN_FLAGS, "
           "HOSTS.\n");
}

static void take(struct wish *w, const struct option *o, const char *value)
{
    switch (o->take) {
    case T_N:
        w->n = count("n", value);
        break;
    case T_PTHREADS:
        w->pthreads = count("pthreads", value);
        break;
    case T_NODES:
        w->nodes = count("nodes", value);
        break;
    case T_HEAP:
        w->heap = value;
        check_size(value);
        break;
    case T_TIMEOUT:
        w->timeout = value;
        break;
    case T_ENV:
        if (strchr(value, '=') == NULL || value[0] == '=') {
            pli_upcrun_bad("-env needs NAME=VALUE, not '%s'", value);
        }
        if (strncmp(value, "HOSTS=", 6) == 0 && getenv("PLIANT_BOOT") != NULL) {
            pli_upcrun_bad("-env %s comes too late here: mpiexec -env %s upcrun ...", value, value);
        }
        putenv((char *)value);
        break;
    case T_QUIET:
        w->is_quiet = true;
        break;
    case T_VERBOSE:
        w->is_verbose = true;
        break;
    case T_SHOW:
        w->is_show = true;
        break;
    case T_INFO:
        w->is_info = true;
        break;
    case T_HELP:
        help();
        exit(0);
    case T_VERSION:
        printf("upcrun (Pliant MPI) %s\n", PLIANT_VERSION);
        exit(0);
    case T_LOCAL:
        unsetenv("HOSTS");
        break;
    case T_NOTE:
        fprintf(stderr, "upcrun: note: -%.*s has no effect here; %s\n", (int)strcspn(o->names, " "),
                o->names,
                o->names[0] == 'f'
                    ? "mpiexec -n N gdb --args PROGRAM starts all threads in a debugger"
                    : "mpictl status shows what each thread waits for");
        break;
    case T_NOTHING:
    case T_NOTHING_VALUE: // of other runtimes; nothing here has use for them
        break;
    }
}

static int read_option(struct wish *w, char **argv)
{
    for (int i = 0; i < N_OPTION; i++) {
        char names[64], *save = NULL;
        snprintf(names, sizeof names, "%s", options[i].names);
        for (char *name = strtok_r(names, " ", &save); name != NULL;
             name = strtok_r(NULL, " ", &save)) {
            const char *value;
            int used;
            if (!pli_upcrun_is(argv, name, &value, &used)) {
                continue;
            }
            if (options[i].value == NULL) {
                take(w, &options[i], NULL);
                return 1;
            }
            if (value == NULL) {
                pli_upcrun_bad("%s needs %s after it", argv[0], options[i].value);
            }
            take(w, &options[i], value);
            return used;
        }
    }
    pli_upcrun_bad("there is no option %s; see upcrun --help", argv[0]);
}

static void read_all(struct wish *w, char **argv)
{
    int i = 0;
    while (argv[i] != NULL && argv[i][0] == '-') {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        i += read_option(w, argv + i);
    }
    w->program = argv + i;
}

static void read_environment(struct wish *w)
{
    const char *heap = getenv("UPC_SHARED_HEAP_SIZE"), *quiet = getenv("UPC_QUIET");
    const char *each = getenv("UPC_PTHREADS_PER_PROC"), *flags = getenv("UPCRUN_FLAGS");
    w->heap = heap;
    w->is_quiet = quiet != NULL && strcmp(quiet, "0") != 0 && strcasecmp(quiet, "no") != 0;
    w->pthreads = each != NULL ? count("pthreads (UPC_PTHREADS_PER_PROC)", each) : 0;
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

// How many threads in how many processes.
static struct pli_upcrun_shape decide(const struct wish *w, const struct pli_upcrun_facts *facts)
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
    s.n_proc = facts->is_pthreads ? (s.n_thread + each - 1) / each : s.n_thread;
    return s;
}

int main(int argc, char **argv)
{
    struct wish w = { 0 };
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
