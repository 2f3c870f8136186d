// SPDX-License-Identifier: BSD-3-Clause
// A rank that does what its arguments say, one after the other; see `actions` at the end. It speaks
// to mpiexec through the bootstrap alone, so that the launcher can be tested by itself.
#include "boot/boot.h"
#include "boot/boot_open.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct pli_boot *boot;

static void do_init(const char *arg)
{
    (void)arg;
    if (pli_boot_open(&boot) != PLI_OK) {
        fprintf(stderr, "cannot start: %s\n", pli_fail_take(NULL));
        exit(9);
    }
    boot->ops->tell(boot, PLI_NODE_RUNNING);
}

static void do_final(const char *arg)
{
    (void)arg;
    boot->ops->tell(boot, PLI_NODE_FINALIZED);
}

static void do_sleep(const char *arg)
{
    double s = atof(arg);
    struct timespec t = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };
    while (nanosleep(&t, &t) != 0) {
        // a signal handler ran
    }
}

// All ranks have come so far.
static void do_barrier(const char *arg)
{
    (void)arg;
    char pause[32]; // a thousand that look every millisecond would keep the others from starting
    snprintf(pause, sizeof pause, "%g", 0.0002 * boot->n_world);
    for (uint32_t r = 0; r < boot->n_world; r++) {
        while (atomic_load(&boot->node.rows[r].state) < PLI_NODE_RUNNING) {
            do_sleep(pause);
        }
    }
}

static void do_who(const char *arg)
{
    (void)arg;
    printf("%s %u of %u app %u cores %u\n", boot->ops->name, boot->index, boot->n_world,
           boot->node.rows[boot->row].app, boot->node.header->n_core);
}

static void do_beside(const char *arg)
{
    (void)arg;
    printf("%u beside\n", boot->node.header->n_beside);
}

static void do_print(const char *arg)
{
    printf("%s\n", arg);
}

static void do_partial(const char *arg)
{
    printf("%s", arg);
    fflush(stdout);
}

static void do_flush(const char *arg)
{
    (void)arg;
    fflush(stdout);
}

static void do_warn(const char *arg)
{
    fprintf(stderr, "%s\n", arg);
}

// Bytes of one letter, without a newline, straight to the descriptor.
static void do_flood(const char *arg)
{
    static char block[65536];
    memset(block, 'a' + (int)(boot != NULL ? boot->index % 26 : 0), sizeof block);
    for (long long left = atoll(arg); left > 0;) {
        ssize_t n = write(1, block, left < (long long)sizeof block ? (size_t)left : sizeof block);
        if (n <= 0) {
            exit(8);
        }
        left -= n;
    }
}

static void do_lines(const char *arg)
{
    int n = atoi(arg);
    for (int i = 0; i < n; i++) {
        printf("line %d of rank %u: the quick brown fox jumps over the lazy dog\n", i,
               boot != NULL ? boot->index : 0);
        if (i % 7 == 0) {
            fflush(stdout);
        }
    }
}

static void do_cat(const char *arg)
{
    (void)arg;
    char buf[4096];
    for (ssize_t n; (n = read(0, buf, sizeof buf)) > 0;) {
        fwrite(buf, 1, (size_t)n, stdout);
    }
    fflush(stdout);
}

static int number_of(const char *name)
{
    static const struct {
        const char *name;
        int sig;
    } table[] = {
        { "SEGV", SIGSEGV }, { "KILL", SIGKILL }, { "TERM", SIGTERM }, { "INT", SIGINT },
        { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "STOP", SIGSTOP }, { "HUP", SIGHUP }
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(name, table[i].name) == 0) {
            return table[i].sig;
        }
    }
    fprintf(stderr, "probe: no signal %s\n", name);
    exit(7);
}

static void do_kill(const char *arg)
{
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    int sig = number_of(arg);
    signal(sig, SIG_DFL); // a sanitizer may have its own idea
    raise(sig);
}

static void do_ignore(const char *arg)
{
    signal(number_of(arg), SIG_IGN);
}

static volatile sig_atomic_t caught;

static void catch (int sig)
{
    caught = sig;
}

// Wait until the signal comes.
static void do_await(const char *arg)
{
    int sig = number_of(arg);
    signal(sig, catch);
    printf("ready\n");
    fflush(stdout);
    while (caught != sig) {
        do_sleep("0.002");
    }
    printf("got %s\n", arg);
}

static void do_exit(const char *arg)
{
    exit(atoi(arg));
}

static void do_abort(const char *arg)
{
    boot->ops->abort(boot, atoi(arg), "told to");
}

static void do_fork(const char *arg)
{
    (void)arg;
    pid_t pid = fork();
    if (pid > 0) {
        int status;
        waitpid(pid, &status, 0);
        exit(WIFEXITED(status) ? WEXITSTATUS(status) : 100);
    }
}

static void do_env(const char *arg)
{
    const char *value = getenv(arg);
    printf("%s=%s\n", arg, value != NULL ? value : "(unset)");
}

static void do_cwd(const char *arg)
{
    (void)arg;
    char path[4096];
    printf("cwd %s\n", getcwd(path, sizeof path));
}

static int count(const char *dir)
{
    DIR *d = opendir(dir);
    int n = -3; // ., .. and d itself
    while (d != NULL && readdir(d) != NULL) {
        n++;
    }
    closedir(d);
    return n;
}

static void do_cost(const char *arg)
{
    (void)arg;
    printf("descriptors %d threads %d\n", count("/proc/self/fd"), count("/proc/self/task") + 1);
}

static void do_limit(const char *arg)
{
    (void)arg;
    struct rlimit l;
    getrlimit(RLIMIT_NOFILE, &l);
    printf("limit %llu\n", (unsigned long long)l.rlim_cur);
}

static void do_group(const char *arg)
{
    (void)arg;
    setsid(); // as a daemon: away from the task's process group
}

static void do_pid(const char *arg)
{
    (void)arg;
    printf("pid %d\n", (int)getpid());
}

// Note the time in a file.
static void do_stamp(const char *arg)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    FILE *f = fopen(arg, "w");
    fprintf(f, "%lld", (long long)t.tv_sec * 1000000000 + t.tv_nsec);
    fclose(f);
}

static const struct {
    const char *name;
    bool has_arg;
    void (*act)(const char *arg);
} actions[] = {
    { "init", false, do_init },       { "final", false, do_final },
    { "barrier", false, do_barrier }, { "who", false, do_who },
    { "beside", false, do_beside },   { "print", true, do_print },
    { "partial", true, do_partial },  { "warn", true, do_warn },
    { "flood", true, do_flood },      { "lines", true, do_lines },
    { "cat", false, do_cat },         { "sleep", true, do_sleep },
    { "kill", true, do_kill },        { "ignore", true, do_ignore },
    { "await", true, do_await },      { "exit", true, do_exit },
    { "abort", true, do_abort },      { "fork", false, do_fork },
    { "env", true, do_env },          { "cwd", false, do_cwd },
    { "cost", false, do_cost },       { "limit", false, do_limit },
    { "setsid", false, do_group },    { "pid", false, do_pid },
    { "flush", false, do_flush },     { "stamp", true, do_stamp },
};

// "only R": what follows, up to "end", is for rank R (by the environment before init).
static bool is_rank(const char *arg)
{
    const char *rank = getenv("PLIANT_RANK");
    uint32_t mine = boot != NULL ? boot->index : (uint32_t)atoi(rank != NULL ? rank : "0");
    return mine == (uint32_t)atoi(arg);
}

int main(int argc, char **argv)
{
    bool is_mine = true;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "only") == 0 && i + 1 < argc) {
            is_mine = is_rank(argv[++i]);
            continue;
        }
        if (strcmp(argv[i], "end") == 0) {
            is_mine = true;
            continue;
        }
        size_t a = 0;
        while (a < sizeof actions / sizeof actions[0] && strcmp(argv[i], actions[a].name) != 0) {
            a++;
        }
        if (a == sizeof actions / sizeof actions[0] || (actions[a].has_arg && i + 1 >= argc)) {
            fprintf(stderr, "probe: what is %s?\n", argv[i]);
            return 7;
        }
        const char *arg = actions[a].has_arg ? argv[++i] : "";
        if (is_mine) {
            actions[a].act(arg);
        }
    }
    return 0;
}
