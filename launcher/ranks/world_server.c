// SPDX-License-Identifier: BSD-3-Clause
// Starts the server of a world that this job hosts, and ends it.
#include "launcher/ranks/world_server.h"

#include "launcher/base/launcher.h"
#include "launcher/base/say.h"
#include "launcher/job/job.h"
#include "server/srv_conf.h"
#include "server/srv_listen.h"
#include "server/srv_log.h"
#include "server/srv_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HANDSHAKE_S = 30, LIMIT_MIB = 64, LEAVE_MS = 1500 };

static _Noreturn void serve(const struct pli_srv_conf *conf, int listen_fd, pid_t parent)
{
    struct sigaction sa = { .sa_handler = pli_srv_loop_stop };
    sigaction(SIGTERM, &sa, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL); // mpiexec reads its signals from a descriptor
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(1); // mpiexec died before the line above
    }
    setpgid(0, 0); // ^C is mpiexec's business
    prctl(PR_SET_NAME, "pliant-world");
    signal(SIGPIPE, SIG_IGN);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) { // who reads the output of mpiexec does not wait for the server
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    pli_srv_log_set(PLI_SRV_ERROR);
    _exit((int)pli_srv_loop_run(conf, listen_fd));
}

// The file is for the owner alone, and is there with all of its content or not at all.
static bool write_token(const char *path, const char *token)
{
    char *temp;
    if (asprintf(&temp, "%s.%d", path, (int)getpid()) < 0) {
        return false;
    }
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_good = fd >= 0 && dprintf(fd, "%s\n", token) > 0;
    is_good = fd >= 0 && close(fd) == 0 && is_good && rename(temp, path) == 0;
    if (!is_good) {
        pli_say("cannot write the token to %s: %s", path, strerror(errno));
        unlink(temp);
    }
    free(temp);
    return is_good;
}

bool pli_world_server_tell(const struct pli_job *job, const char *token)
{
    if (job->opt.token_file != NULL) {
        return write_token(job->opt.token_file, token);
    }
    if (job->opt.is_open_world) {
        pli_say_plain("mpiexec: other jobs can join this one while it runs, from any machine, "
                      "with\n    mpiexec --join %s -n 2 ./program\n",
                      token);
        return true;
    }
    int n = job->opt.host_world - 1;
    pli_say_plain("mpiexec: waiting for %d more job%s to join this one; start %s, on any "
                  "machine, with\n    mpiexec --join %s -n 2 ./program\n",
                  n, n == 1 ? "" : "s", n == 1 ? "it" : "each", token);
    return true;
}

bool pli_world_server_start(struct pli_job *job)
{
    static struct pli_srv_conf conf;
    static char token[PLI_SRV_ADDRESS], stop[256];
    char host[64] = "?";
    int fd;
    if (job->opt.host_world == 0) {
        return true;
    }
    (void)gethostname(host, sizeof host - 1);
    snprintf(stop, sizeof stop, "mpiexec on %s (process %d), which hosts the world, has ended",
             host, (int)getpid());
    conf = (struct pli_srv_conf){ .n_client = job->opt.host_world,
                                  .handshake_s = HANDSHAKE_S,
                                  .limit_mib = LIMIT_MIB,
                                  .has_token = true,
                                  .is_hosted = true,
                                  .stop_text = stop,
                                  .port = job->opt.world_port,
                                  .address = job->opt.world_address };
    if (pli_srv_conf_auth(&conf) != PLI_IMPI_OK || pli_srv_conf_tls(&conf) != PLI_IMPI_OK ||
        pli_srv_listen_open(&conf, &fd, token) != PLI_IMPI_OK) {
        return false; // it has said why
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        serve(&conf, fd, parent);
    }
    close(fd);
    if (pid < 0) {
        pli_say("cannot start the server of the world: %s", strerror(errno));
        return false;
    }
    pli_launcher.world_server->pid = pid;
    setenv("IMPI_TOKEN", token, 1);
    setenv("IMPI_CLIENT", "0", 1);
    return pli_world_server_tell(job, token);
}

// Wait for the server to end for so long; -1: as long as it takes.
static bool wait_for(pid_t pid, int timeout_ms, int *status)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p = { .fd = fd, .events = POLLIN };
    bool is_over = fd < 0 || poll(&p, 1, timeout_ms) == 1;
    if (fd >= 0) {
        close(fd);
    }
    return is_over && waitpid(pid, status, 0) == pid;
}

int pli_world_server_finish(int status)
{
    pid_t pid = pli_launcher.world_server->pid;
    int end = 0;
    if (pid <= 0) {
        return status;
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL); // ^C ends mpiexec, and with it the server
    if (!wait_for(pid, status == 0 ? -1 : LEAVE_MS, &end)) {
        kill(pid, SIGTERM);
        if (!wait_for(pid, LEAVE_MS, &end)) {
            kill(pid, SIGKILL);
            waitpid(pid, &end, 0);
        }
    }
    pli_launcher.world_server->pid = 0;
    return status;
}
