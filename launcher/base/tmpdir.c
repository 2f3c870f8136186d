// SPDX-License-Identifier: BSD-3-Clause
// Makes the directory for images. A second process, the cleaner, waits for the end of this one and
// removes the directory. When the cleaner is killed too, the next process that makes such a
// directory there removes it: a directory whose lock is free has no owner.
#include "launcher/base/tmpdir.h"

#include "base/glibc.h"
#include "launcher/base/launcher.h"
#include "base/conf.h"
#include "launcher/base/remove_tree.h"
#include "launcher/base/pidns.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 200, TRY_MS = 20 };

static const char begin[] = "pliant-images-";

// Remove a directory if it belongs to this user and no process holds its lock.
static void tidy_one(const char *name)
{
    struct stat st;
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0) {
        pli_remove_tree(name);
    }
    if (fd >= 0) {
        close(fd);
    }
}

static void tidy(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        char name[PATH_MAX + 300];
        snprintf(name, sizeof name, "%.*s/%s", PATH_MAX - 1, dir, e->d_name);
        if (strncmp(e->d_name, begin, sizeof begin - 1) == 0) {
            tidy_one(name);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
}

// The processes that write there are being killed too, and may not be dead yet.
static void remove_all(void)
{
    struct pli_tmpdir_state *self = pli_launcher.tmpdir;
    for (int i = 0; i < TRIES && access(self->path, F_OK) == 0; i++) {
        if (i > 0) {
            nanosleep(&(struct timespec){ .tv_nsec = TRY_MS * 1000000 }, NULL);
        }
        pli_remove_tree(self->path);
    }
}

static _Noreturn void keep(int fd)
{
    struct pli_tmpdir_state *self = pli_launcher.tmpdir;
    sigset_t all;
    char word;
    ssize_t n;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    prctl(PR_SET_NAME, "pliant-cleaner");
    if (dup2(fd, 0) == 0 && dup2(self->lock_fd, 1) == 1 && chdir("/") == 0) {
        syscall(SYS_close_range, 2, ~0U, 0);
        do {
            n = read(0, &word, 1);
        } while (n < 0 && errno == EINTR);
        remove_all();
    }
    _exit(0);
}

// Make it and hold its lock, before another process can take it for a remnant.
static bool make(const char *dir)
{
    struct pli_tmpdir_state *self = pli_launcher.tmpdir;
    snprintf(self->path, sizeof self->path, "%.*s/%sXXXXXX", PATH_MAX - 64, dir, begin);
    if (mkdtemp(self->path) == NULL) {
        self->path[0] = '\0';
        return false;
    }
    self->lock_fd = open(self->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (self->lock_fd < 0 ||
        (flock(self->lock_fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)) {
        return false;
    }
    return access(self->path, W_OK) == 0; // else another process has removed it meanwhile
}

bool pli_tmpdir_open(void)
{
    struct pli_tmpdir_state *self = pli_launcher.tmpdir;
    int fds[2], error;
    char dir[PATH_MAX];
    if (self->path[0] != '\0') {
        return true;
    }
    if (realpath(pli_conf.image_dir, dir) == NULL) {
        return false;
    }
    tidy(dir);
    bool is_made = make(dir) || make(dir);
    if (!is_made || pipe2(fds, O_CLOEXEC) != 0) {
        error = errno;
        pli_tmpdir_close();
        errno = error;
        return false;
    }
    self->cleaner = pli_pidns_fork_outside();
    if (self->cleaner == 0) {
        close(fds[1]);
        keep(fds[0]);
    }
    error = errno;
    close(fds[0]);
    self->cleaner_fd = fds[1];
    if (self->cleaner < 0) {
        pli_tmpdir_close();
        errno = error;
    }
    return self->cleaner > 0;
}

const char *pli_tmpdir_path(void)
{
    struct pli_tmpdir_state *self = pli_launcher.tmpdir;
    return self->path;
}

void pli_tmpdir_close(void)
{
    struct pli_tmpdir_state *self = pli_launcher.tmpdir;
    if (self->path[0] == '\0') {
        return;
    }
    pli_remove_tree(self->path);
    self->path[0] = '\0';
    if (self->lock_fd >= 0) {
        close(self->lock_fd);
    }
    if (self->cleaner_fd >= 0) {
        close(self->cleaner_fd);
    }
    if (self->cleaner > 0) { // of no use now, and others may hold copies of its cleaner_fd
        kill(self->cleaner, SIGKILL);
        waitpid(self->cleaner, NULL, 0);
    }
    self->lock_fd = self->cleaner_fd = -1;
    self->cleaner = 0;
}

void pli_tmpdir_init(void)
{
    struct pli_tmpdir_state *self = pli_launcher.tmpdir;
    self->lock_fd = self->cleaner_fd = -1;
}
