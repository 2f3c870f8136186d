// SPDX-License-Identifier: BSD-3-Clause
// Runs CRIU as a program.
#include "launcher/ckpt/criu_run.h"

#include "launcher/base/helper.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool run(const char *const argv[], int *status_out)
{
    struct pli_helper h = PLI_HELPER_NONE;
    if (!pli_helper_exec(&h, argv, NULL)) {
        return false;
    }
    waitpid(h.pid, status_out, 0);
    close(h.watch.fd);
    return true;
}

bool pli_criu_check(char *why)
{
    static const char *const check[] = { "criu", "check", NULL };
    int status = 0;
    const char *other = "--checkpoint-mode=state needs none of it: programs then register what is "
                        "to be saved";
    bool is_run = run(check, &status);
    bool is_absent = is_run && WIFEXITED(status) && WEXITSTATUS(status) == 127;
    if (is_absent && geteuid() != 0 && access("/usr/sbin/criu", X_OK) == 0) {
        is_absent = false; // users do not have that folder in PATH
    }
    if (!is_run) {
        snprintf(why, PLI_CKPT_WHY, "CRIU cannot be started: %s; %s", strerror(errno), other);
    } else if (is_absent) {
        snprintf(why, PLI_CKPT_WHY,
                 "CRIU is not there: install it (Debian: apt-get install criu)%s; %s",
                 geteuid() != 0 ? " and run mpiexec as root" : "", other);
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        snprintf(
            why, PLI_CKPT_WHY, "%s; %s",
            geteuid() != 0
                ? "CRIU works for root only: run mpiexec as root"
                : "CRIU is there but cannot work here (criu check says why): it is too old for "
                  "this kernel, or a container must be allowed CAP_SYS_ADMIN, CAP_SYS_PTRACE "
                  "and CAP_CHECKPOINT_RESTORE",
            other);
    } else {
        return true;
    }
    return false;
}

bool pli_criu_dump(struct pli_helper *h, const struct pli_criu_dump_plan *d)
{
    enum { N_WORD = 13, N_MORE = 5 };
    char pid[16], socket[16];
    int n = N_WORD;
    const int keep[] = { d->page_fd, -1 };
    snprintf(pid, sizeof pid, "%u", d->number);
    const char *argv[N_WORD + N_MORE] = { "criu",        "dump",         "--tree",
                                          pid,           "--images-dir", d->dir,
                                          "--log-file",  "dump.log",     "-v1",
                                          "--shell-job", "--file-locks", "--ghost-limit",
                                          "256M" };
    if (!d->is_last) {
        argv[n++] = "--leave-running";
    }
    if (d->page_fd >= 0) {
        snprintf(socket, sizeof socket, "%d", d->page_fd);
        argv[n++] = "--page-server";
        argv[n++] = "--ps-socket";
        argv[n++] = socket;
    }
    return pli_helper_exec_guarded(h, argv, d->page_fd >= 0 ? keep : NULL);
}

bool pli_criu_pipe(int ours, int *ours_out, int *theirs_out)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0 || fcntl(fds[ours], F_SETFL, O_NONBLOCK) != 0) {
        return false;
    }
    *ours_out = fds[ours];
    *theirs_out = fds[1 - ours];
    return true;
}

bool pli_criu_restore(struct pli_helper *h, const struct pli_criu_restore_plan *b)
{
    enum { N_WORD = 13, N_PIPE = 4 };
    char fd_text[N_PIPE][64];
    const char *argv[N_WORD + 2 * N_PIPE + 1] = { "criu",
                                                  "restore",
                                                  "--images-dir",
                                                  b->dir,
                                                  "--work-dir",
                                                  b->work,
                                                  "--log-file",
                                                  b->log,
                                                  "-v1",
                                                  "--restore-detached",
                                                  "--restore-sibling",
                                                  "--shell-job",
                                                  "--file-locks" };
    int n = N_WORD, keep[N_PIPE + 1], n_keep = 0;
    for (int i = 0; i < N_PIPE; i++) {
        if (b->inodes[i] != 0 && b->fds[i] >= 0) {
            snprintf(fd_text[i], sizeof fd_text[i], "fd[%d]:pipe:[%" PRIu64 "]", b->fds[i],
                     b->inodes[i]);
            argv[n++] = "--inherit-fd";
            argv[n++] = fd_text[i];
        }
        if (b->fds[i] >= 0) {
            keep[n_keep++] = b->fds[i];
        }
    }
    keep[n_keep] = -1;
    return pli_helper_exec(h, argv, keep);
}

// What CRIU says whether it succeeds or not, and what only says that it failed.
static bool is_of_interest(const char *text)
{
    static const char *const others[] = {
        "exited, status=", "rlimit: ",           " FAILED",
        "failed with -1",  "Unable to open fd=", "Unable to restore TCP_"
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strstr(text, others[i]) != NULL) {
            return false;
        }
    }
    return true;
}

// "(00.123456) Error (criu/files.c:123): what": only the last part is for people. The first of them
// is the cause; those that follow say what could not be done because of it.
void pli_criu_reason(const char *log, int killed_by, char *to, size_t cap)
{
    if (killed_by != 0) {
        snprintf(to, cap, "CRIU was killed by signal %d (%s)", killed_by, strsignal(killed_by));
        return;
    }
    FILE *f = fopen(log, "r");
    char line[512];
    bool is_found = false;
    snprintf(to, cap, "CRIU gave no reason");
    while (f != NULL && !is_found && fgets(line, sizeof line, f) != NULL) {
        const char *error = strstr(line, "Error (");
        const char *text = error != NULL ? strstr(error, "): ") : NULL;
        if (text != NULL) { // without a better one the last will do
            is_found = is_of_interest(text);
            snprintf(to, cap, "%.*s", (int)strcspn(text + 3, "\n"), text + 3);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
}
