// SPDX-License-Identifier: BSD-3-Clause
// The connection to the agent. Native process 0 starts the agent; the others are told where it is.
#include "agent/agent_link.h"
#include "agent/agent_memory.h"
#include "agent/agent_wire.h"
#include "engine/impi_poll.h"
#include "engine/impi_sock.h"
#include "shim/shim.h"
#include "shim/shim_packed.h"
#include "wire/impi_collated.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static struct pli_agent_where where;
static bool has_where;

static struct pli_agent_memory memory = { .fd = -1 }; // stays mapped until the process ends
static bool has_memory;                               // the agent has it too

static pthread_t watcher; // of the connection
static bool is_watched;
static int watched_fd;

static void on_start_frame(const struct pli_agent_frame *f, const unsigned char *data)
{
    struct pli_impi_collated c = { 0 };
    char why[200] = "out of memory";
    if (pli_impi_collated_get(&c, data, f->len) != PLI_IMPI_OK ||
        pli_impi_job_create(f->peer, &c, why, sizeof why, &pli_shim.job) != PLI_IMPI_OK) {
        pli_shim_die(why);
    }
    pli_shim.first = f->n;
    has_memory = (f->flags & PLI_AGENT_IS_SHARED) != 0;
    pli_impi_collated_fini(&c);
}

static void *in_room(void *arg, const struct pli_agent_frame *f)
{
    (void)arg;
    return f->type == PLI_AGENT_PART ? pli_shim_msg_room(f) : malloc(f->len + 1);
}

static void in_more(void *arg, const struct pli_agent_frame *f, void *room, uint64_t got)
{
    (void)arg;
    (void)f;
    (void)room;
    (void)got;
}

static void in_whole(void *arg, const struct pli_agent_frame *f, void *room)
{
    (void)arg;
    switch (f->type) {
    case PLI_AGENT_READY:
        if (f->len == sizeof where) {
            memcpy(&where, room, sizeof where);
            has_where = where.version == PLI_AGENT_VERSION;
        }
        free(room);
        break;
    case PLI_AGENT_JOB:
        on_start_frame(f, room);
        free(room);
        break;
    case PLI_AGENT_GIVE:
        pli_agent_memory_give(&memory, f->handle);
        break;
    case PLI_AGENT_OVER:
        ((char *)room)[f->len] = '\0';
        if (getenv("IMPI_TOKEN") != NULL) { // the agent has said it for all
            (void)PMPI_Abort(MPI_COMM_WORLD, 1);
            _exit(1);
        }
        pli_shim_die(room);
    default:
        pli_shim_msg_frame(f, room);
    }
}

static const struct pli_agent_link_ops ops = { in_room, in_more, in_whole };

// Where the agent program is: told, beside this library, or in the same prefix.
static bool find_agent(char *path, size_t cap)
{
    const char *told = getenv("IMPI_AGENT");
    static const char *const place[] = { "../libexec/pliant/impi-agent", "impi-agent",
                                         "../bin/impi-agent" };
    Dl_info info;
    if (told != NULL) {
        snprintf(path, cap, "%s", told);
        return true;
    }
    if (dladdr(&pli_shim, &info) == 0 || info.dli_fname == NULL) {
        return false;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    int len = slash == NULL ? 0 : (int)(slash - info.dli_fname);
    for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
        snprintf(path, cap, "%.*s/%s", len == 0 ? 1 : len, len == 0 ? "." : info.dli_fname,
                 place[i]);
        if (access(path, X_OK) == 0) {
            return true;
        }
    }
    return false;
}

// The environment for the agent: without what makes it load us.
static char **agent_environment(void)
{
    size_t n = 0, k = 0;
    while (environ[n] != NULL) {
        n++;
    }
    char **env = calloc(n + 1, sizeof *env);
    for (size_t i = 0; env != NULL && i < n; i++) {
        if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0) {
            env[k++] = environ[i];
        }
    }
    return env;
}

static int start_agent(int *fd_out)
{
    char path[4096], count[16], target[] = "3", tag_ub[16];
    int pair[2];
    pid_t pid;
    posix_spawn_file_actions_t act;
    posix_spawnattr_t attr;
    if (!find_agent(path, sizeof path)) {
        return pli_shim_fail(MPI_ERR_OTHER,
                             "there is no impi-agent near libimpi; IMPI_AGENT can name it");
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return pli_shim_fail(MPI_ERR_OTHER, "no socket for the agent");
    }
    snprintf(count, sizeof count, "%d", pli_shim.n_local);
    snprintf(tag_ub, sizeof tag_ub, "%d", pli_shim.tag_ub);
    char *argv[] = { path, count, target, tag_ub, NULL };
    char **env = agent_environment();
    posix_spawn_file_actions_init(&act);
    posix_spawn_file_actions_addopen(&act, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&act, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&act, pair[1], 3);
    // A launcher that loses a process kills the groups of the others: the agent still has to tell
    // the other clients which one it was, and ends with the connections of its processes.
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attr, 0);
    int rc = env == NULL ? ENOMEM : posix_spawn(&pid, path, &act, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&act);
    free(env);
    close(pair[1]);
    if (rc != 0) {
        close(pair[0]);
        fprintf(stderr, "libimpi: cannot start %s: %s\n", path, strerror(rc));
        return pli_shim_fail(MPI_ERR_OTHER, "the agent could not be started");
    }
    pli_shim.agent = pid;
    *fd_out = pair[0];
    return MPI_SUCCESS;
}

static int dial_unix(void)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    size_t len = strlen(where.unix_name);
    memcpy(un.sun_path + 1, where.unix_name, len);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&un,
                           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int dial_tcp(void)
{
    char text[PLI_AGENT_ADDRESS + 8];
    int fd = -1;
    struct pli_impi_log quiet = { 0 };
    snprintf(text, sizeof text, "%s:%u", where.address, where.port);
    if (pli_impi_sock_dial_name(text, &quiet, &fd) != PLI_IMPI_OK) {
        return -1;
    }
    struct pollfd p = { .fd = fd, .events = POLLOUT };
    if (poll(&p, 1, 30000) != 1 || pli_impi_sock_error(fd) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int find_from_here(int *fd_out)
{
    char boot[PLI_AGENT_ADDRESS] = "";
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? 0 : read(file, boot, sizeof boot - 1);
    boot[n < 0 ? 0 : n] = '\0';
    if (file >= 0) {
        close(file);
    }
    *fd_out = boot[0] != '\0' && strcmp(boot, where.boot) == 0 ? dial_unix() : -1;
    if (*fd_out < 0) { // another machine, or another container on it
        *fd_out = dial_tcp();
    }
    return *fd_out >= 0 ? MPI_SUCCESS
                        : pli_shim_fail(MPI_ERR_OTHER, "the agent cannot be reached from here");
}

static int adopt(int fd)
{
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    return pli_agent_link_create(fd, &ops, NULL, &pli_shim.link) == PLI_IMPI_OK ? MPI_SUCCESS
                                                                                : MPI_ERR_NO_MEM;
}

// Say which process this is, with the memory if the agent is on this machine.
static int say_hello(int fd)
{
    struct pli_agent_frame f = { .type = PLI_AGENT_HELLO,
                                 .n = (uint32_t)pli_shim.me,
                                 .len = PLI_AGENT_TOKEN };
    struct iovec iov[2] = { { &f, sizeof f }, { where.token, PLI_AGENT_TOKEN } };
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control = { 0 };
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
    struct sockaddr_storage name;
    socklen_t len = sizeof name;
    if (getsockname(fd, (struct sockaddr *)&name, &len) == 0 && name.ss_family == AF_UNIX) {
        pli_agent_memory_create(&memory);
    }
    if (memory.fd >= 0) {
        msg.msg_control = &control;
        msg.msg_controllen = sizeof control;
        *CMSG_FIRSTHDR(&msg) = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
                                                 .cmsg_type = SCM_RIGHTS,
                                                 .cmsg_len = CMSG_LEN(sizeof(int)) };
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), &memory.fd, sizeof(int));
    }
    // the first bytes of a connection: there is room for all of them
    bool is_good = sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)(sizeof f + PLI_AGENT_TOKEN);
    return is_good ? MPI_SUCCESS : pli_shim_fail(MPI_ERR_OTHER, "the agent cannot be told of us");
}

static void wait_readable(void)
{
    struct pollfd p = { .fd = pli_agent_link_fd(pli_shim.link), .events = POLLIN };
    (void)poll(&p, 1, -1);
}

// The agent is gone. A process that waits in a call of the native library, or computes, would never
// look: this thread does, sleeping until then. One that looks says more, and is given the time to.
static void *watch(void *fd)
{
    const struct timespec grace = { .tv_nsec = 400000000 };
    struct pollfd p = { .fd = *(int *)fd, .events = POLLRDHUP };
    while (poll(&p, 1, -1) < 0) {
    }
    (void)nanosleep(&grace, NULL);
    fprintf(stderr, "libimpi: process %u: the agent has ended, and so the job\n",
            pli_shim.first + (unsigned)pli_shim.me);
    _exit(1); // the launcher then ends the others
}

static int start_watch(void)
{
    sigset_t all, old;
    watched_fd = pli_agent_link_fd(pli_shim.link);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); // signals are for the program's own threads
    is_watched = pthread_create(&watcher, NULL, watch, &watched_fd) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return is_watched ? MPI_SUCCESS : pli_shim_fail(MPI_ERR_OTHER, "no thread to watch the agent");
}

int pli_shim_link_open(void)
{
    int fd = -1, rc = MPI_SUCCESS;
    if (pli_shim.me == 0) {
        rc = start_agent(&fd);
        rc = rc == MPI_SUCCESS ? adopt(fd) : rc;
        while (rc == MPI_SUCCESS && !has_where) {
            wait_readable();
            (void)pli_shim_link_poll();
        }
    }
    int is_bad = rc != MPI_SUCCESS;
    (void)PMPI_Bcast(&is_bad, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (is_bad != 0) {
        return rc != MPI_SUCCESS ? rc : pli_shim_fail(MPI_ERR_OTHER, "there is no agent");
    }
    (void)PMPI_Bcast(&where, sizeof where, MPI_BYTE, 0, MPI_COMM_WORLD);
    pli_shim_packed_init(where.token);
    if (pli_shim.me != 0) {
        rc = find_from_here(&fd);
        rc = rc == MPI_SUCCESS ? adopt(fd) : rc;
    }
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = say_hello(pli_agent_link_fd(pli_shim.link));
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    while (pli_shim.job == NULL) {
        wait_readable();
        (void)pli_shim_link_poll();
    }
    return start_watch();
}

void pli_shim_link_close(void)
{
    if (is_watched) {
        pthread_cancel(watcher);
        pthread_join(watcher, NULL);
        is_watched = false;
    }
    pli_agent_link_destroy(pli_shim.link);
    pli_shim.link = NULL;
}

static bool check(enum pli_impi_err err)
{
    if (err < 0) {
        pli_shim_die("the connection to the agent is lost");
    }
    return err == PLI_IMPI_OK;
}

bool pli_shim_link_poll(void)
{
    bool wrote =
        pli_agent_link_has_output(pli_shim.link) && check(pli_agent_link_write(pli_shim.link));
    return check(pli_agent_link_read(pli_shim.link)) || wrote;
}

void pli_shim_link_pause(struct shim_pace *p, bool is_native)
{
    enum { SHORT_SLEEP_NS = 50000, LONG_SLEEP_NS = 2000000 };
    struct timespec t = { .tv_nsec = is_native ? SHORT_SLEEP_NS : LONG_SLEEP_NS };
    struct pollfd fd = {
        .fd = pli_agent_link_fd(pli_shim.link),
        .events = (short)(POLLIN | (pli_agent_link_has_output(pli_shim.link) ? POLLOUT : 0))
    };
    bool looks = p->n_idle++ < PLI_IMPI_POLL_LOOKS;
    if (!looks) {
        (void)pli_agent_memory_trim(&memory);
    }
    unsigned depth = pli_shim_lock_leave(); // the other threads' turn
    if (!looks || !pli_impi_poll_give_way()) {
        (void)ppoll(&fd, 1, &t, NULL);
    }
    pli_shim_lock_return(depth);
}

void *pli_shim_link_room(size_t len)
{
    void *p = has_memory ? pli_agent_memory_take(&memory, len) : NULL;
    return p != NULL ? p : malloc(len);
}

void *pli_shim_link_shared(uint64_t offset, uint64_t len)
{
    return pli_agent_memory_at(&memory, offset, len);
}

void pli_shim_link_release(void *p)
{
    if (p == NULL || !pli_agent_memory_has(&memory, p)) {
        free(p);
        return;
    }
    uint64_t offset = pli_agent_memory_offset(&memory, p);
    if (pli_agent_memory_at(&memory, offset, 0) == NULL) { // the own half
        pli_agent_memory_give(&memory, offset);
    } else if (pli_shim.link != NULL) {
        struct pli_agent_frame f = { .type = PLI_AGENT_GIVE, .handle = offset };
        pli_shim_link_put(&f, NULL, NULL);
    }
}

void pli_shim_link_put(const struct pli_agent_frame *f, const void *data, void *own)
{
    struct pli_agent_frame shared = *f;
    if (data != NULL && pli_agent_memory_has(&memory, data)) {
        shared.flags |= PLI_AGENT_IS_SHARED;
        shared.msglen = f->len;
        shared.handle = pli_agent_memory_offset(&memory, data);
        shared.len = 0;
        data = own = NULL;
    }
    if (pli_agent_link_put(pli_shim.link, &shared, data, own) != PLI_IMPI_OK) {
        pli_shim_die("out of memory");
    }
    (void)check(pli_agent_link_write(pli_shim.link));
}

void pli_shim_link_flush(void)
{
    while (pli_agent_link_has_output(pli_shim.link)) {
        if (!pli_shim_link_poll()) {
            struct pollfd p = { .fd = pli_agent_link_fd(pli_shim.link),
                                .events = POLLIN | POLLOUT };
            (void)poll(&p, 1, -1);
        }
    }
}
