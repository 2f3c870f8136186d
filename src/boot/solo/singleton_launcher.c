// SPDX-License-Identifier: BSD-3-Clause
// Starts mpiexec as a grandchild, so that the program never meets a child it does not know.
#include "boot/solo/singleton_launcher.h"

#include "base/conf.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// The mpiexec beside this library, or the one in PATH.
static void find_mpiexec(char *to, size_t cap)
{
    Dl_info us;
    char *slash = NULL;
    if (pli_conf.mpiexec[0] != '\0') {
        snprintf(to, cap, "%s", pli_conf.mpiexec);
        return;
    }
    if (dladdr((void *)(uintptr_t)pli_singleton_launcher_start, &us) != 0 && us.dli_fname != NULL) {
        snprintf(to, cap, "%s", us.dli_fname);
        slash = strrchr(to, '/');
    }
    for (int up = 0; slash != NULL && up < 5; up++) { // lib/<machine>/pliant/standard
        *slash = '\0';
        size_t len = strlen(to);
        snprintf(to + len, cap - len, "/bin/mpiexec");
        if (access(to, X_OK) == 0) {
            return;
        }
        to[len] = '\0';
        slash = strrchr(to, '/');
    }
    snprintf(to, cap, "mpiexec");
}

struct start {
    char file[PATH_MAX], spec[128], name[64];
    int keep[3]; // descriptors for mpiexec
};

static _Noreturn void run(struct start *s)
{
    char *argv[] = { "mpiexec", "--singleton", s->spec, s->name, NULL };
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3; i++) {
        fcntl(s->keep[i], F_SETFD, 0);
    }
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
    }
    if (fork() == 0) {
        execvp(s->file, argv);
    }
    _exit(errno == 0 ? 0 : 127);
}

static void close_all(const int *fds, int n)
{
    for (int i = 0; i < n; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

enum pli_err pli_singleton_launcher_start(int memory, int *control_out)
{
    int fds[4] = { -1, -1, -1, -1 }; // control, its other end; to read that it runs, to say so
    struct start s;
    char word = 0;
    if (memory < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0 ||
        pipe2(fds + 2, O_CLOEXEC) != 0) {
        close_all(fds, 4);
        return pli_fail(PLI_ERR_OTHER, "cannot make a socket for mpiexec: %s", strerror(errno));
    }
    find_mpiexec(s.file, sizeof s.file);
    snprintf(s.spec, sizeof s.spec, "memory=%d,ctl=%d,ready=%d,pid=%d", memory, fds[1], fds[3],
             (int)getpid());
    snprintf(s.name, sizeof s.name, "%s", program_invocation_name);
    memcpy(s.keep, (int[]){ memory, fds[1], fds[3] }, sizeof s.keep);
    errno = 0;
    pid_t pid = fork();
    if (pid == 0) {
        run(&s);
    }
    close(fds[1]);
    close(fds[3]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    ssize_t n;
    do {
        n = pid > 0 ? read(fds[2], &word, 1) : 0;
    } while (n < 0 && errno == EINTR);
    close(fds[2]);
    if (n != 1) {
        close(fds[0]);
        return pli_fail(PLI_ERR_OTHER,
                        "this program was started without mpiexec, and %s could not be started for "
                        "it; PLIANT_MPIEXEC can name another",
                        s.file);
    }
    *control_out = fds[0];
    return PLI_OK;
}
