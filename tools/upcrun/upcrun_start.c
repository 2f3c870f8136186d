// SPDX-License-Identifier: BSD-3-Clause
// Starts UPC programs. Alone, upcrun becomes mpiexec. Below mpiexec it starts one process for every
// rank of this task, and the other UPC threads as processes without a rank, for which mpiexec has
// reserved rows.
#include "upcrun_start.h"

#include "base/text_file.h"
#include "upcrun.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void set_number(const char *name, long n)
{
    char text[24];
    snprintf(text, sizeof text, "%ld", n);
    setenv(name, text, 1);
}

// What threads of one process must know; processes count themselves.
static void tell_threads(const struct pli_upcrun_shape *s)
{
    if (s->is_pthreads) {
        set_number("PLIANT_UPC_THREADS", s->n_thread);
        set_number("PLIANT_UPC_PROCS", s->n_proc);
        set_number("PLIANT_UPC_EACH", s->each);
    }
    if (s->is_quiet) {
        setenv("PLIANT_LOG", "error", 0);
    }
}

static void find_mpiexec(char *to, size_t cap)
{
    char me[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", me, sizeof me - 1);
    me[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(me, '/');
    snprintf(to, cap, "%.*s/mpiexec", slash != NULL ? (int)(slash - me) : 0, me);
    if (slash == NULL || access(to, X_OK) != 0) {
        pli_upcrun_bad("there is no mpiexec beside upcrun (%s); the installation is not complete",
                       to);
    }
}

// The hosts that HOSTS names, one on each line.
static char *read_hosts(const char *path)
{
    char why[128], *text = pli_text_file_read(path, why, sizeof why);
    if (text == NULL) {
        pli_upcrun_bad("HOSTS=%s: cannot read the list of hosts: %s", path, why);
    }
    return text;
}

// The next host that the text names; NULL at its end.
static const char *next_host(char **at)
{
    char *line;
    while ((line = pli_text_file_line(at)) != NULL) {
        char *name = line + strspn(line, " \t");
        name[strcspn(name, " \t\r\n#:")] = '\0';
        if (*name != '\0') {
            return name;
        }
    }
    return NULL;
}

// -N must not ask for more hosts than there are names.
static void count_hosts(const char *path, long wanted)
{
    char *text = read_hosts(path), *at = text;
    long n = 0;
    while (n < wanted && next_host(&at) != NULL) {
        n++;
    }
    free(text);
    if (n < wanted) {
        pli_upcrun_bad("-N %ld: HOSTS=%s names only %ld", wanted, path, n);
    }
}

int pli_upcrun_alone(const struct pli_upcrun_shape *s)
{
    char mpiexec[PATH_MAX], n[24], each[24];
    int n_arg = 0, n_word = 0;
    find_mpiexec(mpiexec, sizeof mpiexec);
    while (s->program[n_word] != NULL) {
        n_word++;
    }
    const char **argv = calloc((size_t)n_word + 20, sizeof *argv);
    if (argv == NULL) {
        pli_upcrun_bad("out of memory");
    }
    snprintf(n, sizeof n, "%ld", s->n_proc);
    argv[n_arg++] = mpiexec;
    argv[n_arg++] = "-n";
    argv[n_arg++] = n;
    if (s->is_verbose) {
        argv[n_arg++] = "-v";
    }
    if (s->timeout != NULL) {
        argv[n_arg++] = "--timeout";
        argv[n_arg++] = s->timeout;
    }
    if (s->hosts != NULL) {
        argv[n_arg++] = "--hostfile";
        argv[n_arg++] = s->hosts;
    }
    if (s->n_node > 0) {
        if (s->hosts != NULL) {
            count_hosts(s->hosts, s->n_node);
        }
        snprintf(each, sizeof each, "%ld", (s->n_proc + s->n_node - 1) / s->n_node);
        argv[n_arg++] = "--ppn";
        argv[n_arg++] = each;
    }
    argv[n_arg++] = "--"; // the program's name may look like an option
    for (int i = 0; i < n_word; i++) {
        argv[n_arg++] = s->program[i];
    }
    if (s->is_show) {
        for (int i = 0; i < n_arg; i++) {
            printf("%s%s", i > 0 ? " " : "", argv[i]);
        }
        putchar('\n');
        return 0;
    }
    tell_threads(s);
    execv(mpiexec, (char **)argv);
    fprintf(stderr, "upcrun: cannot run %s: %s\n", mpiexec, strerror(errno));
    return 127;
}

// "fd=5,row=3,n=1,ctl=6,...": the same with another row, alone, with sockets that are shared. What
// readers do not know comes last and ends what they read.
static void write_boot(const char *boot, long row, char *to, size_t cap)
{
    size_t n = (size_t)snprintf(to, cap, "row=%ld,n=1,own=1", row);
    for (const char *s = boot; *s != '\0';) {
        size_t len = strcspn(s, ",");
        if (strncmp(s, "row=", 4) != 0 && strncmp(s, "n=", 2) != 0 && strncmp(s, "own=", 4) != 0) {
            n += (size_t)snprintf(to + n, cap - n, ",%.*s", (int)len, s);
        }
        s += len + (s[len] == ',');
    }
}

static long field(const char *boot, const char *name, long otherwise)
{
    for (const char *s = boot; *s != '\0';) {
        size_t len = strcspn(s, ",");
        if (strncmp(s, name, strlen(name)) == 0) {
            return strtol(s + strlen(name), NULL, 10);
        }
        s += len + (s[len] == ',');
    }
    return otherwise;
}

static pid_t start_one(const struct pli_upcrun_shape *s, const char *boot, long row)
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0) {
        return pid;
    }
    char text[256];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(127);
    }
    write_boot(boot, row, text, sizeof text);
    setenv("PLIANT_BOOT", text, 1);
    execvp(s->program[0], s->program);
    fprintf(stderr, "upcrun: cannot run %s: %s\n", s->program[0], strerror(errno));
    _exit(127);
}

// The exit status of the process that failed worst; a signal counts as in a shell.
static int wait_all(long n)
{
    int worst = 0;
    while (n > 0) {
        int status;
        if (wait(&status) < 0) {
            if (errno == EINTR) {
                continue;
            }
            break;
        }
        n--;
        int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        worst = worst == 0 ? code : worst;
    }
    return worst;
}

// A mpiexec that has not seen upcrun on its command line knows nothing of the hosts in the file:
// all of them must be this host.
static void check_hosts(const char *path)
{
    char own[256] = "", *text = read_hosts(path), *at = text;
    const char *name;
    gethostname(own, sizeof own - 1);
    own[strcspn(own, ".")] = '\0';
    while ((name = next_host(&at)) != NULL) {
        size_t len = strcspn(name, ".");
        bool is_here = strcasecmp(name, "localhost") == 0 || strcmp(name, "127.0.0.1") == 0 ||
                       (strlen(own) == len && strncasecmp(name, own, len) == 0);
        if (!is_here) {
            pli_upcrun_bad("HOSTS=%s names host %s, but mpiexec has started this group on %s; it "
                           "must see upcrun -n N on its own command line",
                           path, name, own);
        }
    }
    free(text);
}

int pli_upcrun_below(const struct pli_upcrun_shape *s, const char *boot)
{
    long row = field(boot, "row=", 0), n_rank = field(boot, "n=", 1);
    long extra = field(boot, "extra=", 0), n_extra = field(boot, "nextra=", 0);
    long n_upc = field(boot, "upc=", 0), n_proc = s->n_proc;
    if (s->hosts != NULL && n_upc == 0) {
        check_hosts(s->hosts);
    }
    if (n_upc > n_rank + n_extra) { // the others are on other hosts
        n_proc = (n_rank + n_extra + s->each - 1) / s->each;
    }
    if (n_proc > n_rank + n_extra) {
        fprintf(stderr,
                "upcrun: mpiexec has room for %ld processes and not for %ld; mpiexec must see "
                "upcrun -n %ld on its own command line\n",
                n_rank + n_extra, n_proc, s->n_thread);
        return 2;
    }
    tell_threads(s);
    long n = 0;
    for (; n < n_proc; n++) {
        if (start_one(s, boot, n < n_rank ? row + n : extra + n - n_rank) < 0) {
            fprintf(stderr, "upcrun: cannot start process %ld: %s\n", n, strerror(errno));
            break;
        }
    }
    int worst = wait_all(n);
    return n < n_proc ? 1 : worst;
}
