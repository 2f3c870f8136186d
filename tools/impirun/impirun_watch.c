// SPDX-License-Identifier: BSD-3-Clause
// Starts a launcher, passes signals on to it, and tells the others when it ends too early.
#include "impirun_watch.h"

#include "impirun.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_FOUND = 127 }; // as shells have it

static struct {
    int fd; // a byte for each process that has called MPI_Init
    volatile sig_atomic_t pid, is_asked;
} watch = { .fd = -1 };

void pli_impirun_watch_open(void)
{
    char path[64];
    watch.fd = memfd_create("impi-begun", MFD_CLOEXEC);
    if (watch.fd >= 0) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), watch.fd);
        setenv("IMPI_BEGUN", path, 1);
    }
}

static void pass_on(int sig, siginfo_t *info, void *context)
{
    (void)context;
    watch.is_asked = 1;
    if (watch.pid > 0 && info->si_code <= 0) { // ^C of the terminal is for the launcher too
        kill((pid_t)watch.pid, sig);
    }
}

// The others wait for this job. Whoever has started it here with them ends them; those that have
// met at the server of a world are told there.
static void tell_others(char **part)
{
    char what[160], host[64] = "";
    const char *agent = getenv("IMPI_AGENT"), *program = "?";
    for (char **at = part; *at != NULL; at++) {
        if ((*at)[0] != '-' && access(*at, X_OK) == 0) {
            program = *at;
            break;
        }
    }
    fprintf(stderr, "impirun: %s has ended before any of its processes has called MPI_Init\n",
            program);
    if (getenv("IMPI_TOKEN") == NULL || agent == NULL) {
        return;
    }
    (void)gethostname(host, sizeof host - 1);
    snprintf(what, sizeof what, "the job of %.64s on %s", program, host);
    pid_t pid = fork();
    if (pid == 0) {
        execl(agent, agent, "--ended", what, (char *)NULL);
        _exit(NOT_FOUND);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

int pli_impirun_watch(char **argv, char **part)
{
    struct stat st;
    pid_t parent = getpid();
    int status = 0;
    struct sigaction sa = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART };
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        struct sigaction normal = { .sa_handler = SIG_DFL };
        for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
            sigaction(signals[i], &normal, NULL);
        }
        sigprocmask(SIG_SETMASK, &before, NULL);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() == parent) {
            execvp(argv[0], argv);
            fprintf(stderr, "impirun: cannot run %s: %s\n", argv[0], strerror(errno));
        }
        _exit(NOT_FOUND);
    }
    if (pid < 0) {
        pli_impirun_bad("cannot start %s: %s", argv[0], strerror(errno));
    }
    watch.pid = pid;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        sigaction(signals[i], &sa, NULL);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    watch.pid = 0;
    bool has_begun = watch.fd < 0 || fstat(watch.fd, &st) != 0 || st.st_size > 0;
    bool is_missing = WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND; // no harm is done yet
    if (!has_begun && !watch.is_asked && !is_missing) {
        tell_others(part);
        return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
