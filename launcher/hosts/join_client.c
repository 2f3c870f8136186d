// SPDX-License-Identifier: BSD-3-Clause
// Asks to join, reads the specification that comes as the answer, puts its own program and
// environment in the place of the world's, and goes on as a daemon.
#include "launcher/hosts/join_client.h"

#include "base/clock.h"
#include "boot/launcher_wire.h"
#include "launcher/base/fd_io.h"
#include "launcher/base/launcher.h"
#include "launcher/base/loop.h"
#include "launcher/base/output.h"
#include "launcher/base/output_lines.h"
#include "launcher/base/say.h"
#include "launcher/hosts/daemon_auth.h"
#include "launcher/hosts/daemon_run.h"
#include "launcher/hosts/daemon_spec.h"
#include "launcher/hosts/daemon_state.h"
#include "launcher/hosts/dlink.h"
#include "launcher/hosts/join_call.h"
#include "launcher/hosts/join_token.h"
#include "launcher/job/environment.h"
#include "launcher/job/job.h"
#include "launcher/ranks/failure_text.h"
#include "launcher/ranks/launch.h"
#include "launcher/ranks/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { DRAIN_MS = 2000 };

struct pli_join_client {
    struct pli_dlink link;    // on which it asked
    struct pli_watch signals; // while it waits
    int spec_fd;              // what came as specification, -1: nothing yet
    uint32_t host;            // that this is to be
    bool is_refused;          // a sentence was said
    bool is_joined, is_over;
    int status; // exit status, of the first rank that failed
};

static struct pli_join_client *me(void)
{
    static struct pli_join_client client = { .spec_fd = -1, .link = { .watch = { .fd = -1 } } };
    return &client;
}

// What is the world's to say, or is not for ranks on a host of another user.
static void check(const struct pli_job *job)
{
    const struct pli_options *o = &job->opt;
    const struct {
        bool is_said;
        const char *name;
    } said[] = {
        { job->n_host > 0, "--hosts" },
        { job->n_app > 1, "a command line of several programs" },
        { o->check != NULL, "--check" },
        { o->profile != NULL, "--profile" },
        { o->timeline != NULL, "--timeline" },
        { o->tools != NULL, "--tool" },
        { o->record != NULL || o->replay != NULL, "--record or --replay" },
        { o->metrics != NULL, "--metrics" },
        { o->gdb != NULL, "--gdb" },
        { o->ckpt_dir != NULL || o->restart != NULL, "--checkpoint-dir or --restart" },
        { o->is_movable, "--movable" },
        { o->has_endpoints, "--endpoints" },
        { o->upc_groups != 0, "--upc-groups" },
        { job->apps[0].ranks_per_proc > 1, "--ranks-per-proc" },
    };
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        if (said[i].is_said) {
            pli_say_bad("%s is not for a job that joins an elastic world: its ranks run on this "
                        "host, and all else is said where the world is hosted",
                        said[i].name);
        }
    }
}

static void take_spec(struct pli_join_client *c, const struct pli_dframe *f)
{
    int fd = memfd_create("pliant-spec", MFD_CLOEXEC);
    if (fd < 0 || !pli_fd_io_write(fd, f->data, f->len) || lseek(fd, 0, SEEK_SET) != 0) {
        pli_say("cannot join: %s", strerror(errno));
        c->is_refused = true;
    }
    c->spec_fd = fd;
    c->host = f->a;
}

static void hear(struct pli_dlink *l, const struct pli_dframe *f)
{
    struct pli_join_client *c = (struct pli_join_client *)l; // its first member
    struct pli_answer a;
    if (f->kind == PLI_DLINK_SPEC && c->spec_fd < 0) {
        take_spec(c, f);
    }
    if (f->kind != PLI_DLINK_ANSWER || f->len != sizeof a || c->is_refused) {
        return;
    }
    memcpy(&a, f->data, sizeof a);
    a.text[sizeof a.text - 1] = '\0';
    if (a.error == EBUSY) {
        pli_output_progress("waiting to join: %s", a.text);
    } else if (a.error == 0) {
        c->is_joined = true;
        pli_output_progress("%s", "");
        if (pli_launcher.job->opt.is_verbose) {
            pli_say("joined: the world has %u ranks now, version %u", a.n, a.first);
        }
    } else if (a.error != EINPROGRESS) {
        c->is_refused = true;
        pli_say("this job cannot join the world: %s", a.text);
        pli_launcher.daemon->is_leaving = true;
    }
}

static void lost(struct pli_dlink *l, const char *why)
{
    struct pli_join_client *c = (struct pli_join_client *)l; // its first member
    if (c->spec_fd < 0 && !c->is_refused) {                  // else the daemon's own link tells
        c->is_refused = true;
        pli_say("this job cannot join the world: its mpiexec is gone (%s)", why);
    }
}

static void signal_fire(struct pli_watch *w, uint32_t events)
{
    struct signalfd_siginfo info;
    (void)events;
    if (read(w->fd, &info, sizeof info) == (ssize_t)sizeof info && info.ssi_signo != SIGCHLD &&
        info.ssi_signo != SIGCONT) {
        pli_output_flush();
        pli_launch_die((int)info.ssi_signo);
    }
}

// Say what this is, and wait for a specification. False: why not was said.
static bool ask(struct pli_join_client *c, const struct pli_job *job)
{
    struct pli_join_token token = { 0 };
    struct pli_daemon_handshake_keys keys;
    struct pli_pack p = { 0 };
    char why[1024] = "", name[256] = "";
    const char *wrong = pli_join_token_get(job->opt.elastic_token, &token);
    if (wrong != NULL) {
        pli_say_bad("--join: the token %s", wrong);
    }
    int fd =
        pli_daemon_auth_call(&token.place, token.secret, PLI_JOIN_CALL_ID, &keys, why, sizeof why);
    explicit_bzero(&token, sizeof token);
    if (fd < 0) {
        pli_say("the world of this token cannot be reached, or has ended: %s", why);
        return false;
    }
    gethostname(name, sizeof name - 1);
    c->link = (struct pli_dlink){ .hear = hear, .lost = lost, .watch = { .fd = -1 } };
    pli_dlink_open(&c->link, fd, &keys);
    pli_pack_text(&p, PLIANT_VERSION);
    pli_pack_text(&p, name);
    struct pli_dframe f = { PLI_DLINK_JOIN, 0, 0, job->n_rank, p.data, p.len };
    pli_dlink_send(&c->link, &f);
    pli_pack_fini(&p);
    c->signals = (struct pli_watch){ .fd = pli_launcher.daemon->signals, .fire = signal_fire };
    pli_loop_watch(&c->signals, EPOLLIN);
    while (c->spec_fd < 0 && !c->is_refused) {
        pli_loop_once(true);
        pli_output_flush();
    }
    pli_launcher.daemon->signals = pli_loop_release(&c->signals);
    return !c->is_refused;
}

// The world's job with our own program, directory and options of output.
static bool become_host(const struct pli_join_client *c, struct pli_job *job)
{
    struct pli_job mine = *job;
    struct pli_app *own = &mine.apps[0];
    char *theirs = NULL;
    *job = (struct pli_job){ .start_ns = mine.start_ns };
    if (pli_daemon_spec_read(&pli_launcher.daemon->spec, c->spec_fd, c->host, "", job, &theirs) !=
        PLI_DAEMON_SPEC_GOOD) {
        pli_say("this job cannot join the world: its mpiexec sent something that makes no sense");
        return false;
    }
    close(c->spec_fd);
    pli_daemon_run_settings();
    pli_environment_make(&mine, own);
    struct pli_options *o = &job->opt;
    o->is_verbose = mine.opt.is_verbose;
    o->is_report = mine.opt.is_report;
    o->is_line = isatty(STDOUT_FILENO);
    o->bind = mine.opt.bind;
    o->map = mine.opt.map;
    o->color = mine.opt.color;
    o->out_files = mine.opt.out_files;
    o->err_files = mine.opt.err_files;
    o->is_output_copied = mine.opt.is_output_copied;
    o->is_merged = mine.opt.is_merged;
    o->abi = mine.opt.abi;
    o->takes_foreign = mine.opt.takes_foreign;
    job->wdir = pli_say_need(getcwd(NULL, 0));
    struct pli_app *app = &job->apps[0];
    app->argv = own->argv;
    app->wdir = own->wdir;
    app->env = own->env;
    app->env_own = own->env_own;
    app->env_said = own->env_said;
    return true;
}

static void failed(const struct pli_rank_failure *c)
{
    struct pli_join_client *self = me();
    if (pli_launcher.daemon->is_leaving || pli_supervisor_is_ending()) {
        return; // it ends because the world does
    }
    if (self->status == 0) {
        pli_failure_text_say(pli_launcher.job, c, false);
        self->status = pli_failure_text_status(c);
    } else {
        pli_failure_text_say_short(pli_launcher.job, c);
    }
}

// The signal by which the user has ended this job, 0: none.
static int die_of(void)
{
    return pli_launcher.supervisor->die_of;
}

// The world has ended; why: the connection to its mpiexec was lost, NULL: it said so.
static void world_over(const char *why)
{
    struct pli_join_client *c = me();
    if (c->is_over || c->is_refused) {
        return;
    }
    c->is_over = true;
    if (why != NULL) {
        pli_say("the mpiexec that hosts the world is lost: %s. The ranks here are ended.", why);
    } else if (pli_launcher.daemon->is_bad_end && c->status == 0 && die_of() == 0) {
        pli_say("the world has ended with an error; the mpiexec that hosts it says which");
    }
    bool is_bad = why != NULL || pli_launcher.daemon->is_bad_end;
    c->status = c->status != 0 ? c->status : is_bad;
}

static void step(void)
{
    struct pli_daemon *daemon = pli_launcher.daemon;
    const struct pli_job *job = pli_launcher.job;
    pli_output_flush();
    if (pli_supervisor_is_ending() && job->n_over == job->n_started && !daemon->is_leaving) {
        daemon->is_leaving = daemon->is_bad_end = true; // the user, or the world, has ended it
    }
    if (daemon->is_leaving) {
        world_over(NULL);
    }
}

// The reader of our output may be slow, but not for ever.
static void drain(void)
{
    uint64_t until = pli_clock_ns() + (uint64_t)DRAIN_MS * PLI_MS;
    while (!pli_output_is_empty() && pli_clock_ns() < until) {
        pli_output_flush();
        usleep(1000);
    }
}

int pli_join_client_run(struct pli_job *job, char **argv)
{
    static const struct pli_daemon_client hooks = {
        .failed = failed, .lost = world_over, .step = step, .drain = drain
    };
    struct pli_join_client *client = me();
    struct pli_daemon *daemon = pli_launcher.daemon;
    check(job);
    daemon->signals = pli_launch_init();
    if (daemon->signals < 0 || !pli_loop_init()) {
        return 1;
    }
    daemon->client = &hooks;
    pli_output_open();
    if (!ask(client, job) || !become_host(client, job)) {
        drain();
        return 1;
    }
    int status = pli_daemon_run_serve(job, argv);
    pli_dlink_close(&client->link);
    drain();
    if (die_of() != 0) {
        pli_launch_die(die_of());
    }
    return client->is_refused ? 1 : client->status != 0 ? client->status : status;
}
