// SPDX-License-Identifier: BSD-3-Clause
// mpictl: shows running jobs of this host, read from the memory that their mpiexec shares with the
// ranks, and sends requests to their mpiexec.
#include "base/clock.h"
#include "base/err.h"
#include "boot/launcher_wire.h"
#include "boot/node.h"
#include "mpictl.h"
#include "mpictl_options.h"
#include "ctl_request.h"
#include "stack.h"
#include "top.h"
#include "watch.h"
#include "tools/lib/job_status.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USAGE = 2, WAIT_S = 60, COMMAND = 4096 };

static struct pli_mpictl_args args = { .wait_s = WAIT_S, .timeout_s = WAIT_S, .interval_s = 1 };

void pli_mpictl_bad(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("mpictl: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(USAGE);
}

static void __attribute__((format(printf, 1, 2))) print(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
}

// Open the memory of the job of mpiexec `pid`; -1 with errno: it has none, or another user owns it.
static int open_memory(long pid)
{
    char path[64], link[64];
    snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    DIR *d = opendir(path);
    int fd = -1;
    for (struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL && fd < 0; e = readdir(d)) {
        char one[384];
        snprintf(one, sizeof one, "%s/%s", path, e->d_name);
        ssize_t n = readlink(one, link, sizeof link - 1);
        link[n > 0 ? n : 0] = '\0';
        if (strncmp(link, "/memfd:pliant", 13) == 0 && link[13] != '-') { // not "pliant-trace"
            fd = pli_node_open(pid, strtol(e->d_name, NULL, 10));
        }
    }
    int error = d == NULL ? errno : ENOENT;
    if (d != NULL) {
        closedir(d);
    }
    errno = error;
    return fd;
}

static void command_of(long pid, char *to, size_t cap)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, to, cap - 1) : 0;
    for (ssize_t i = 0; i + 1 < n; i++) {
        to[i] = to[i] == '\0' || isspace((unsigned char)to[i]) ? ' ' : to[i];
    }
    to[n > 0 ? n : 0] = '\0';
    if (n == (ssize_t)cap - 1) {
        memcpy(to + n - 3, "...", 3); // there may be more
    }
    if (fd >= 0) {
        close(fd);
    }
}

// Map the job of this mpiexec, if it is one: the launcher named in the memory is the process.
bool pli_mpictl_map(long pid, struct pli_node *out)
{
    int fd = open_memory(pid);
    if (fd < 0) {
        return false;
    }
    enum pli_err err = pli_node_map_to_look(fd, out);
    close(fd);
    if (err != PLI_OK) {
        fprintf(stderr, "mpictl: %ld: %s\n", pid, pli_fail_take(NULL));
        return false;
    }
    if (out->header->launcher != (uint32_t)pid) {
        pli_node_unmap(out); // a rank that holds the memory too
        return false;
    }
    return true;
}

double pli_mpictl_seconds(const struct pli_node *node)
{
    return (double)(pli_clock_ns() - node->header->epoch_ns) * 1e-9;
}

// Call fn for every job; returns how many.
static int each_job(void (*fn)(long pid, struct pli_node *node, void *arg), void *arg)
{
    DIR *d = opendir("/proc");
    int n = 0;
    for (struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d)) {
        char *end;
        long pid = strtol(e->d_name, &end, 10);
        struct pli_node node;
        if (pid > 0 && *end == '\0' && pli_mpictl_map(pid, &node)) {
            fn(pid, &node, arg);
            pli_node_unmap(&node);
            n++;
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

// The plural ending for n things.
static const char *plural(uint32_t n)
{
    return n == 1 ? "" : "s";
}

// How many ranks the world has now.
static uint32_t n_rank(const struct pli_node *node)
{
    const struct pli_node_header *h = node->header;
    return atomic_load(&h->world) > 0 ? h->world_size : h->n_world - h->n_extra;
}

static long parent_of(long pid)
{
    char path[64];
    long parent = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    if (f != NULL) {
        parent = fscanf(f, "%*d (%*[^)]) %*c %ld", &parent) == 1 ? parent : 0;
        fclose(f);
    }
    return parent;
}

// Whether this is a daemon whose mpiexec is here too and has no other: the job is on one host.
static bool is_whole(const struct pli_node *node)
{
    const struct pli_node_header *h = node->header;
    return (h->net & PLI_NODE_PART) != 0 && atomic_load(&h->n_host) == 1;
}

static void show_job(long pid, struct pli_node *node, void *arg)
{
    char command[COMMAND];
    (void)arg;
    if (is_whole(node)) {
        return;
    }
    command_of(pid, command, sizeof command);
    bool is_part = (node->header->net & PLI_NODE_PART) != 0;
    uint32_t n = is_part ? node->header->n_row : n_rank(node);
    printf("%-8ld %4u rank%-1s %8.1f s  %s%s\n", pid, n, plural(n), pli_mpictl_seconds(node),
           command, is_part ? " (this host's part of a job on several)" : "");
}

// The jobs that choose() has found.
struct choice {
    int n_job, n_part;
    long job, part;
};

static void note_job(long pid, struct pli_node *node, void *arg)
{
    struct choice *c = arg;
    if ((node->header->net & PLI_NODE_PART) != 0) {
        c->part = pid;
        c->n_part++;
    } else {
        c->job = pid;
        c->n_job++;
    }
}

bool pli_mpictl_is_over(void *arg, uint32_t row)
{
    const struct pli_node *node = arg;
    uint32_t pid = atomic_load(&node->rows[row].pid);
    if (node->header->is_nested != 0 || (node->header->net & PLI_NODE_HEAD) != 0) {
        // the process numbers are those of another namespace or host
        return atomic_load(&node->rows[row].has_ended) != 0;
    }
    return pid != 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

// The job that is meant: by its number, or the only one there is.
static long choose(const char *which)
{
    long pid = 0;
    char *end;
    if (which != NULL) {
        pid = strtol(which, &end, 10);
        if (pid <= 0 || *end != '\0') {
            pli_mpictl_bad("'%s' is not the process number of an mpiexec; `mpictl list` shows them",
                           which);
        }
        return pid;
    }
    struct choice c = { 0 };
    each_job(note_job, &c);
    if (c.n_job > 1 || (c.n_job == 0 && c.n_part != 1)) {
        pli_mpictl_bad(c.n_job + c.n_part == 0
                           ? "no job of yours is running on this host"
                           : "several jobs are running; say which (`mpictl list` shows them)");
    }
    return c.n_job == 1 ? c.job : c.part; // on a host without the mpiexec the part is shown
}

// Print how many processes of all hosts run; the mpiexec of the job knows no more.
static void show_states(struct pli_node *node)
{
    uint32_t n_run = 0, n_over = 0, n_row = pli_node_n_used(node);
    for (uint32_t row = 0; row < n_row; row++) {
        bool is_gone = pli_mpictl_is_over(node, row);
        n_over += is_gone;
        n_run += !is_gone && atomic_load(&node->rows[row].state) == PLI_NODE_RUNNING;
    }
    uint32_t n_else = n_row - n_run - n_over;
    printf("on all hosts: %u process%s between MPI_Init and MPI_Finalize, %u ha%s ended, %u %s "
           "before or after\n",
           n_run, n_run == 1 ? " is" : "es are", n_over, n_over == 1 ? "s" : "ve", n_else,
           n_else == 1 ? "is" : "are");
    fflush(stdout);
}

// Places in programs of other hosts are not known here.
static const char *no_site(uint32_t row)
{
    (void)row;
    return "";
}

// Print what all ranks of several hosts do; their mpiexec collects it.
static void show_all(long pid, struct pli_node *node)
{
    struct pli_answer answer;
    pli_ctl_request_send(pid, PLI_ASK_LOOK, NULL, 0,
                         &answer); // has the mpiexec collect the state of all hosts
    show_states(node);
    if (answer.error != 0) {
        printf("what they wait for cannot be shown: %s\n", answer.text);
        return;
    }
    pli_job_status_sites(no_site);
    pli_job_status_print(node, pli_mpictl_is_over, node, print);
}

static void note_whole(long pid, struct pli_node *node, void *arg)
{
    struct choice *c = arg;
    if (is_whole(node) && parent_of(pid) == c->job) {
        c->part = pid;
    }
}

bool pli_mpictl_map_part(long pid, struct pli_node *out)
{
    struct choice c = { .job = pid };
    each_job(note_whole, &c);
    return c.part != 0 && pli_mpictl_map(c.part, out);
}

// Print a job on one host with a daemon from the memory of the daemon, which has the programs too.
static void show_head(long pid, struct pli_node *node)
{
    struct pli_node part;
    if (!pli_mpictl_map_part(pid, &part)) {
        show_all(pid, node);
        return;
    }
    pli_job_status_print(&part, pli_mpictl_is_over, &part, print);
    pli_job_status_ways(&part, print);
    pli_node_unmap(&part);
}

static int status(const char *which)
{
    long pid = choose(which);
    struct pli_node node;
    if (!pli_mpictl_map(pid, &node)) {
        pli_mpictl_bad("process %ld is no mpiexec of yours on this host; `mpictl list` shows them",
                       pid);
    }
    char command[COMMAND];
    command_of(pid, command, sizeof command);
    uint32_t n = n_rank(&node);
    printf("job %ld, %u rank%s, running %.1f s: %s\n", pid, n, plural(n), pli_mpictl_seconds(&node),
           command);
    int version = atomic_load(&node.header->world);
    if (version > 0) {
        printf("the world is version %d, of %u rank%s\n", version, n, plural(n));
    }
    if ((node.header->net & PLI_NODE_HEAD) != 0) {
        show_head(pid, &node);
    } else {
        pli_job_status_print(&node, pli_mpictl_is_over, &node, print);
        pli_job_status_ways(&node, print);
    }
    pli_node_unmap(&node);
    return 0;
}

static int checkpoint(const char *which)
{
    long pid = choose(which);
    struct pli_answer answer;
    pli_ctl_request_send(pid, PLI_ASK_CHECKPOINT, NULL, 0, &answer);
    if (answer.error != 0) {
        fprintf(stderr, "mpictl: %s\n", answer.text);
        return 1;
    }
    printf("checkpoint %u of job %ld is complete, with %u rank%s\n", answer.first, pid, answer.n,
           plural(answer.n));
    return 0;
}

// Wait until the ranks that leave have ended.
static int wait_for_leavers(long pid, bool is_said)
{
    struct pli_ask_left left = { (uint32_t)(args.wait_s * 1000), 0 };
    struct pli_answer answer;
    int fd = pli_ctl_request_connect(pid);
    if (fd < 0 || !pli_ctl_request_exchange(fd, PLI_ASK_LEFT, &left, sizeof left, &answer)) {
        puts("the ranks that left are gone, with the whole job");
        return 0;
    }
    if (answer.n > 0) {
        printf("still there: %s\n", answer.text);
        return 1;
    }
    if (is_said) {
        puts("the ranks that left are gone");
    }
    return 0;
}

static long number(const char *text, const char *what)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (*end != '\0' || end == text || n < 0 || n > 1000000) {
        pli_mpictl_bad("'%s' is not a %s", text, what);
    }
    return n;
}

// Ask the mpiexec for another size and wait until the ranks have it.
static int resize(enum pli_ask_resize_how how, const char *count, const char *which)
{
    long n = number(count, "number of ranks");
    if (n < 1) {
        pli_mpictl_bad("'%s' is not a number of ranks", count);
    }
    if (args.hosts != NULL && how == PLI_ASK_SHRINK) {
        pli_mpictl_bad("--hosts says where new ranks go, and shrink makes none");
    }
    long pid = choose(which);
    struct pli_ask_resize want = { how, (uint32_t)n };
    struct pli_answer answer;
    size_t len = sizeof want + (args.hosts != NULL ? strlen(args.hosts) + 2 : 0);
    char *body = calloc(1, len);
    if (body == NULL) {
        pli_mpictl_bad("no memory for %zu bytes", len);
    }
    memcpy(body, &want, sizeof want);
    memcpy(body + sizeof want, args.hosts != NULL ? args.hosts : "",
           args.hosts != NULL ? strlen(args.hosts) : 0);
    pli_ctl_request_send(pid, PLI_ASK_RESIZE, body, (uint32_t)len, &answer);
    free(body);
    if (answer.error != 0) {
        fprintf(stderr, "mpictl: %s\n", answer.text);
        return 1;
    }
    printf("the world of job %ld is version %u, of %u rank%s\n", pid, answer.first, answer.n,
           plural(answer.n));
    fflush(stdout);
    return how == PLI_ASK_GROW || args.wait_s == 0 ? 0
                                                   : wait_for_leavers(pid, how == PLI_ASK_SHRINK);
}

// Have a rank moved to another host, and wait until it runs there.
static int migrate(const char *rank, const char *host, const char *which)
{
    struct pli_ask_migrate want = { .rank = (uint32_t)number(rank, "rank"),
                                    .together = args.is_together ? PLI_MIGRATE_TOGETHER : 0 };
    struct pli_answer answer;
    if (strlen(host) >= sizeof want.host || host[0] == '\0') {
        pli_mpictl_bad("'%s' is not the name of a host", host);
    }
    snprintf(want.host, sizeof want.host, "%s", host);
    pli_ctl_request_send(choose(which), PLI_ASK_MIGRATE, &want, sizeof want, &answer);
    fprintf(answer.error != 0 ? stderr : stdout, "%s%s\n", answer.error != 0 ? "mpictl: " : "",
            answer.text);
    return answer.error != 0;
}

static int stop(const char *which)
{
    long pid = choose(which);
    struct pli_node node;
    if (!pli_mpictl_map(pid, &node)) {
        pli_mpictl_bad("process %ld is no mpiexec of yours on this host; `mpictl list` shows them",
                       pid);
    }
    pli_node_unmap(&node);
    if (kill((pid_t)pid, SIGTERM) != 0) {
        pli_mpictl_bad("mpiexec %ld cannot be stopped: %s", pid, strerror(errno));
    }
    return 0;
}

// A process number in front of the command goes after its operands.
static void put_job_last(int n, char **words)
{
    char *job = words[0];
    if (n > 1 && strspn(job, "0123456789") == strlen(job)) {
        memmove(words, words + 1, (size_t)(n - 1) * sizeof *words);
        words[n - 1] = job;
    }
}

static int run_top(char **operand)
{
    return pli_top_run(&args, choose(operand[0]));
}

static int run_watch(char **operand)
{
    return pli_watch_run(&args, choose(operand[0]));
}

// A number alone may be that of the job, all of whose ranks are wanted.
static bool is_job(const char *text)
{
    struct pli_node node;
    if (!pli_mpictl_map(number(text, "rank"), &node)) {
        return false;
    }
    pli_node_unmap(&node);
    return true;
}

static int run_stack(char **operand)
{
    bool is_all = operand[0] == NULL || (operand[1] == NULL && is_job(operand[0]));
    uint32_t rank = is_all ? UINT32_MAX : (uint32_t)number(operand[0], "rank");
    return pli_stack_run(choose(is_all ? operand[0] : operand[1]), rank);
}

static int run_list(char **operand)
{
    (void)operand;
    if (each_job(show_job, NULL) == 0) {
        puts("no job of yours is running on this host");
    }
    return 0;
}

static int run_status(char **operand)
{
    return status(operand[0]);
}

static int run_stop(char **operand)
{
    return stop(operand[0]);
}

static int run_checkpoint(char **operand)
{
    return checkpoint(operand[0]);
}

static int run_migrate(char **operand)
{
    return migrate(operand[0], operand[1], operand[2]);
}

static int run_grow(char **operand)
{
    return resize(PLI_ASK_GROW, operand[0], operand[1]);
}

static int run_shrink(char **operand)
{
    return resize(PLI_ASK_SHRINK, operand[0], operand[1]);
}

static int run_resize(char **operand)
{
    return resize(PLI_ASK_TO, operand[0], operand[1]);
}

static const struct {
    const char *name;
    int (*run)(char **operand); // missing operands are NULL
} runs[] = {
    { "list", run_list },       { "status", run_status },         { "stop", run_stop },
    { "grow", run_grow },       { "shrink", run_shrink },         { "resize", run_resize },
    { "migrate", run_migrate }, { "checkpoint", run_checkpoint }, { "top", run_top },
    { "watch", run_watch },     { "stack", run_stack },
};

static int run_command(const struct pli_option_command *c, char **operand)
{
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        if (strcmp(runs[i].name, c->name) == 0) {
            return runs[i].run(operand);
        }
    }
    abort(); // the table of options has a command that is not there
}

static void take_help(struct pli_option_use *use)
{
    pli_options_help(use->reader, stdout);
    exit(fflush(stdout) == 0 ? 0 : 1);
}

static void take_version(struct pli_option_use *use)
{
    printf("%s (Pliant MPI) %s\n", use->reader->tool, PLIANT_VERSION);
    exit(fflush(stdout) == 0 ? 0 : 1);
}

static const pli_option_take_fn take[PLI_MPICTL_N_TAKE] = {
    [PLI_MPICTL_HELP] = take_help,
    [PLI_MPICTL_VERSION] = take_version,
};

int main(int argc, char **argv)
{
    struct pli_option_reader r = { .tool = "mpictl",
                                   .table = &pli_mpictl_options,
                                   .take = take,
                                   .job = &args,
                                   .bad = pli_mpictl_bad };
    int n = 0; // words that are no options are moved to the front of argv
    for (int i = 1; i < argc;) {
        if (pli_options_is_option(argv[i]) && !isdigit((unsigned char)argv[i][1])) {
            i += pli_options_take(&r, argv + i);
        } else {
            argv[n++] = argv[i++];
        }
    }
    argv[n] = NULL;
    pli_ctl_request_timeout = args.timeout_s;
    if (n == 0) {
        pli_options_help(&r, stdout);
        return fflush(stdout) == 0 ? 0 : 1;
    }
    put_job_last(n, argv);
    const struct pli_option_command *c = pli_options_command(r.table, argv[0]);
    if (c == NULL) {
        pli_options_no_command(&r, argv[0]);
    }
    if (n - 1 < c->min || n - 1 > c->max) {
        pli_mpictl_bad("'%s' does not take %d argument%s; see mpictl --help", c->name, n - 1,
                       plural((uint32_t)(n - 1)));
    }
    int result = run_command(c, argv + 1);
    return fflush(stdout) == 0 ? result : 1;
}
