// SPDX-License-Identifier: BSD-3-Clause
// Opens the files of --profile and --timeline, gathers what ranks recorded, and writes them.
#include "launcher/observe/recording.h"

#include "base/clock.h"
#include "launcher/base/launcher.h"
#include "launcher/base/output.h"
#include "launcher/base/pack.h"
#include "launcher/base/say.h"
#include "launcher/base/user_file.h"
#include "launcher/job/job.h"
#include "base/host_clock.h"
#include "launcher/observe/profile.h"
#include "launcher/observe/timeline.h"
#include "launcher/observe/trace_memory.h"
#include "launcher/observe/trace_world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static FILE *open_file(const char *option, const char *name)
{
    int fd = pli_user_file_open(name, O_WRONLY | O_TRUNC);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f == NULL) {
        pli_say_bad("%s: %s cannot be written: %s", option, name, pli_user_file_why());
    }
    return f;
}

static void note(const char *text)
{
    pli_trace_model_note(&pli_launcher.observe->model, pli_clock_ns(), text);
}

void pli_recording_begin(const struct pli_job *job)
{
    struct pli_observe_state *self = pli_launcher.observe;
    self->is_on = job->opt.profile != NULL || job->opt.timeline != NULL;
    const char *name = job->n_app > 0 ? job->apps[0].argv[0] : "", *slash = strrchr(name, '/');
    self->model.program = pli_say_need(strdup(slash != NULL ? slash + 1 : name));
    if (job->opt.timeline != NULL) {
        self->timeline = open_file("--timeline", job->opt.timeline);
        pli_say_record(note);
    }
    if (job->opt.profile != NULL && job->opt.profile[0] != '\0') {
        self->profile = open_file("--profile", job->opt.profile);
    }
}

int pli_recording_fds(int fds[3])
{
    const struct pli_observe_state *self = pli_launcher.observe;
    int n = 0;
    if (self->timeline != NULL) {
        fds[n++] = fileno(self->timeline);
    }
    if (self->profile != NULL) {
        fds[n++] = fileno(self->profile);
    }
    if (n > 0 && pli_launcher.trace_memory->started.header != NULL) {
        fds[n++] = pli_launcher.trace_memory->started.fd;
    }
    return n;
}

bool pli_recording_is_on(void)
{
    return pli_launcher.observe->is_on;
}

static void free_clocks(void)
{
    struct pli_observe_state *self = pli_launcher.observe;
    if (self->n_clock > 0) {
        munmap(self->clocks, self->n_clock * sizeof *self->clocks);
        self->n_clock = 0;
    }
}

struct pli_host_clock *pli_recording_clock(uint32_t host)
{
    struct pli_observe_state *self = pli_launcher.observe;
    if (self->n_clock <= host) {
        struct pli_host_clock *more = mmap(NULL, (host + 1) * sizeof *more, PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        pli_say_need(more != MAP_FAILED ? more : NULL);
        for (uint32_t h = 0; h < self->n_clock; h++) {
            more[h] = self->clocks[h];
        }
        free_clocks();
        self->clocks = more;
        self->n_clock = host + 1;
    }
    return &self->clocks[host];
}

void pli_recording_hear(uint32_t host, const char *name, const void *data, size_t len)
{
    struct pli_observe_state *self = pli_launcher.observe;
    struct pli_unpack u = { data, (const unsigned char *)data + len, false };
    pli_trace_model_host(&self->model, host, name);
    if (!pli_trace_model_add(&self->model, host, pli_recording_clock(host), &u)) {
        pli_say("host %s sent something that makes no sense about what its ranks did; profile and "
                "timeline lack a part",
                name);
    }
}

void pli_recording_read(uint32_t host, const char *name)
{
    char why[300];
    for (uint32_t i = 0; i < pli_trace_memory_count(); i++) {
        struct pli_pack p = { 0 };
        if (pli_trace_memory_pack(i, &p, why, sizeof why)) {
            pli_recording_hear(host, name, p.data, p.len);
        } else if (why[0] != '\0') {
            pli_say("%s", why);
        }
        pli_pack_fini(&p);
    }
}

// What is known is beside the clock of the host; times are in that of the head.
void pli_recording_world(const struct pli_trace_world *w, uint32_t host)
{
    struct pli_trace_model *m = &pli_launcher.observe->model;
    if (w->clock.n == 0 || w->clock.n > PLI_HOST_CLOCK_N || m->world != NULL) {
        return;
    }
    m->world = pli_say_need(malloc(sizeof *m->world));
    *m->world = *w;
    for (uint32_t i = 0; i < w->clock.n; i++) {
        struct pli_host_clock_point *p = &m->world->clock.points[i];
        uint64_t here = pli_host_clock_convert(pli_recording_clock(host), p->theirs);
        p->ahead -= (int64_t)(p->theirs - here);
        p->theirs = here;
    }
}

static void close_file(FILE *f, bool is_good, const char *option, const char *name)
{
    bool is_written = is_good && ferror(f) == 0;
    if (fclose(f) != 0 || !is_written) {
        pli_say("%s: %s could not be written as a whole: %s", option, name, strerror(errno));
    }
}

// Line by line: a message of mpiexec has a limit.
static void print_here(const struct pli_profile *p)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (f == NULL) {
        return;
    }
    pli_profile_print(p, f);
    fclose(f);
    pli_say_plain("\n");
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        pli_say_plain("%.*s\n", (int)(end - line), line);
    }
    free(text);
}

static void write_profile(const struct pli_job *job, const struct pli_trace_model *m)
{
    struct pli_observe_state *self = pli_launcher.observe;
    struct pli_profile p;
    const char *name = job->opt.profile, *dot = strrchr(name, '.');
    pli_profile_make(&p, m);
    if (self->profile == NULL) {
        print_here(&p);
    } else {
        bool is_html = dot != NULL && (strcmp(dot, ".html") == 0 || strcmp(dot, ".htm") == 0);
        (is_html ? pli_profile_html : pli_profile_print)(&p, self->profile);
        close_file(self->profile, true, "--profile", name);
        self->profile = NULL;
    }
    pli_profile_fini(&p);
}

void pli_recording_finish(const struct pli_job *job)
{
    struct pli_observe_state *self = pli_launcher.observe;
    if (!self->is_on) {
        return;
    }
    pli_say_record(NULL);
    self->is_on = false;
    pli_trace_model_close(&self->model);
    if (self->timeline != NULL) {
        bool is_good = pli_timeline_write(&self->model, self->timeline);
        close_file(self->timeline, is_good, "--timeline", job->opt.timeline);
        self->timeline = NULL;
    }
    if (job->opt.profile != NULL) {
        write_profile(job, &self->model);
    }
    pli_output_flush();
    pli_trace_model_fini(&self->model);
    free_clocks();
    pli_trace_memory_close();
}

void pli_recording_killed(void)
{
    note("mpiexec was killed, and the ranks with it");
}

void pli_recording_rescue(const struct pli_job *job)
{
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    pli_recording_killed();
    pli_recording_read(0, host);
    pli_recording_finish(job);
}
