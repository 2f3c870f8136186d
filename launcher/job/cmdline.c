// SPDX-License-Identifier: BSD-3-Clause
// The options, from one table: reading, --help, and the nearest name for a wrong one.
#include "launcher/job/cmdline.h"

#include "base/edit_distance.h"
#include "launcher/job/upc_groups.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/job/psets.h"
#include "launcher/ckpt/auto_restart.h"
#include "launcher/ckpt/restart.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct reader {
    struct pli_job *job;
    struct pli_app *app; // the part being read
    char name[64];       // the option being taken, as typed
};

#define PLI_OPTION(names, values, take, help) static void take(struct reader *r, char **value);
#include "launcher/job/options.def"
#undef PLI_OPTION

static const struct option {
    const char *names, *values;
    void (*take)(struct reader *r, char **value);
    const char *help;
} options[] = {
#define PLI_OPTION(names, values, take, help) { names, values, take, help },
#include "launcher/job/options.def"
#undef PLI_OPTION
};

enum { N_OPTION = sizeof options / sizeof options[0], MAX_RANK = 1 << 20 };

static uint32_t read_count(const struct reader *r, const char *text)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || v < 1 || v > MAX_RANK) {
        pli_say_bad("%s needs a whole number from 1 to %d, not '%s'", r->name, MAX_RANK, text);
    }
    return (uint32_t)v;
}

static double read_time(const struct reader *r, const char *text)
{
    char *end;
    double v = strtod(text, &end);
    bool is_number = end != text && v >= 0 && v <= 1e8;
    double unit = strcmp(end, "") == 0 || strcmp(end, "s") == 0 ? 1
                  : strcmp(end, "ms") == 0                      ? 0.001
                  : strcmp(end, "m") == 0                       ? 60
                  : strcmp(end, "h") == 0                       ? 3600
                                                                : 0;
    if (!is_number || unit == 0) {
        pli_say_bad("%s needs a time such as 30, 1.5, 5m or 2h, not '%s'", r->name, text);
    }
    return v * unit;
}

// The index of a word in a list separated by spaces, or the end.
static int read_word(const struct reader *r, const char *text, const char *words)
{
    int i = 0;
    for (const char *w = words; *w != '\0'; i++) {
        size_t len = strcspn(w, " ");
        if (strlen(text) == len && strncasecmp(text, w, len) == 0) {
            return i;
        }
        w += len;
        w += strspn(w, " ");
    }
    pli_say_bad("%s needs one of '%s', not '%s'", r->name, words, text);
}

static void add_edit(const struct reader *r, struct pli_edits *e, const char *name,
                     const char *value)
{
    if (name[0] == '\0' || strchr(name, '=') != NULL) {
        pli_say_bad("%s needs the name of a variable, not '%s'", r->name, name);
    }
    e->edit = pli_say_need(realloc(e->edit, (size_t)(e->n_edit + 1) * sizeof *e->edit));
    e->edit[e->n_edit++] = (struct pli_edit){ name, value };
}

static void take_n(struct reader *r, char **value)
{
    r->app->n_rank = read_count(r, value[0]);
}

static void take_hosts(struct reader *r, char **value)
{
    pli_hosts_take_list(r->job, r->name, value[0]);
}

static void take_hostfile(struct reader *r, char **value)
{
    pli_hosts_take_file(r->job, r->name, value[0]);
}

static void take_ppn(struct reader *r, char **value)
{
    r->job->opt.per_host = read_count(r, value[0]);
}

static void take_launcher(struct reader *r, char **value)
{
    // --launcher=ssh --launcher-exec=PATH: the second says which ssh.
    bool is_exec = strstr(r->name, "exec") != NULL;
    if (is_exec || r->job->opt.launcher == NULL || strcmp(value[0], "ssh") != 0) {
        r->job->opt.launcher = value[0];
    }
}

static void take_agent(struct reader *r, char **value)
{
    r->job->opt.agent = value[0];
}

static void take_prefix(struct reader *r, char **value)
{
    char *path;
    pli_say_need(asprintf(&path, "%s/bin/mpiexec", value[0]) >= 0 ? path : NULL);
    r->job->opt.agent = path;
}

static void take_env(struct reader *r, char **value)
{
    add_edit(r, &r->app->edits, value[0], value[1]);
}

static void take_genv(struct reader *r, char **value)
{
    add_edit(r, &r->job->opt.edits, value[0], value[1]);
}

static void take_x(struct reader *r, char **value)
{
    char *eq = strchr(value[0], '=');
    char *name = eq != NULL ? pli_say_need(strndup(value[0], (size_t)(eq - value[0]))) : value[0];
    add_edit(r, &r->app->edits, name, eq != NULL ? eq + 1 : NULL);
}

static void take_envlist(struct reader *r, char **value)
{
    r->app->edits.pass = PLI_PASS_LIST;
    r->app->edits.list = value[0];
}

static void take_genvlist(struct reader *r, char **value)
{
    r->job->opt.edits.pass = PLI_PASS_LIST;
    r->job->opt.edits.list = value[0];
}

// Switches that are either said or not.
#define SWITCH(take, field)                                                                        \
    static void take(struct reader *r, char **value)                                               \
    {                                                                                              \
        (void)value;                                                                               \
        r->job->opt.field = true;                                                                  \
    }

SWITCH(take_report, is_report)
SWITCH(take_label, is_label)
SWITCH(take_dry, is_dry)
SWITCH(take_verbose, is_verbose)
SWITCH(take_in_place, is_in_place)
SWITCH(take_movable, is_movable)
SWITCH(take_foreign, takes_foreign)

static void take_envnone(struct reader *r, char **value)
{
    (void)value;
    r->app->edits.pass = PLI_PASS_NONE;
}

static void take_genvnone(struct reader *r, char **value)
{
    (void)value;
    r->job->opt.edits.pass = PLI_PASS_NONE;
}

static void take_envall(struct reader *r, char **value)
{
    (void)value;
    r->app->edits.pass = PLI_PASS_ALL;
}

static void take_genvall(struct reader *r, char **value)
{
    (void)value;
    r->job->opt.edits.pass = PLI_PASS_ALL;
}

static void take_wdir(struct reader *r, char **value)
{
    r->app->wdir = value[0];
}

static void take_ranks_per_proc(struct reader *r, char **value)
{
    r->app->ranks_per_proc = read_count(r, value[0]);
}

static void take_upc_groups(struct reader *r, char **value)
{
    r->job->opt.upc_groups = read_count(r, value[0]);
}

static void take_endpoints(struct reader *r, char **value)
{
    r->app->endpoints = read_count(r, value[0]);
    r->job->opt.has_endpoints = true;
}

static void take_pset(struct reader *r, char **value)
{
    pli_psets_take(r->job, r->name, value[0]);
}

static void take_bind(struct reader *r, char **value)
{
    r->job->opt.bind = value[0];
}

static void take_map(struct reader *r, char **value)
{
    pli_hosts_take_map(r->job, r->name, value[0]);
}

static void take_stdin(struct reader *r, char **value)
{
    char *end;
    errno = 0;
    long v = strtol(value[0], &end, 10);
    if (strcmp(value[0], "all") == 0) {
        r->job->opt.feed = PLI_STDIN_ALL;
    } else if (strcmp(value[0], "none") == 0) {
        r->job->opt.feed = PLI_STDIN_NONE;
    } else if (end != value[0] && *end == '\0' && errno == 0 && v >= 0) {
        r->job->opt.feed = v; // checked when the number of ranks is known
    } else {
        pli_say_bad("%s needs a rank, 'all' or 'none', not '%s'", r->name, value[0]);
    }
}

static void take_color(struct reader *r, char **value)
{
    r->job->opt.color = (enum pli_when)read_word(r, value[0], "auto always never");
}

static void take_timeout(struct reader *r, char **value)
{
    r->job->opt.timeout = read_time(r, value[0]);
    if (r->job->opt.timeout <= 0) {
        pli_say_bad("%s needs a time above 0, not '%s'", r->name, value[0]);
    }
}

static void take_on_failure(struct reader *r, char **value)
{
    int i = read_word(r, value[0], "abort continue restart shrink respawn end");
    r->job->opt.on_failure = i <= PLI_FAIL_RESPAWN ? (enum pli_on_failure)i : PLI_FAIL_END;
}

// As MPICH's mpiexec calls it.
static void take_shrink(struct reader *r, char **value)
{
    (void)value;
    r->job->opt.on_failure = PLI_FAIL_SHRINK;
}

static void take_max_restarts(struct reader *r, char **value)
{
    r->job->opt.max_restarts = read_count(r, value[0]);
}

// Written by mpiexec for itself; see auto_restart.c.
static void take_again(struct reader *r, char **value)
{
    pli_auto_restart_read(&r->job->opt.again, value[0]);
}

static void take_on_deadlock(struct reader *r, char **value)
{
    r->job->opt.on_deadlock = (enum pli_on_deadlock)read_word(r, value[0], "abort report ignore");
}

static void take_grace(struct reader *r, char **value)
{
    r->job->opt.grace = read_time(r, value[0]);
}

static void take_impi(struct reader *r, char **value)
{
    const char *colon = strrchr(value[0], ':');
    if (colon == NULL || colon == value[0] || colon[1] == '\0' ||
        colon[1 + strspn(colon + 1, "0123456789")] != '\0') {
        pli_say_bad("%s needs the address that impi-server printed, HOST:PORT, not '%s'", r->name,
                    value[0]);
    }
    r->job->opt.impi_server = value[0];
}

static void take_impi_rank(struct reader *r, char **value)
{
    char *end;
    errno = 0;
    long v = strtol(value[0], &end, 10);
    if (end == value[0] || *end != '\0' || errno != 0 || v < 0 || v > 31) {
        pli_say_bad("%s needs a number from 0 to 31, not '%s'", r->name, value[0]);
    }
    r->job->opt.impi_rank = (uint32_t)v;
    r->job->opt.has_impi_rank = true;
}

static void take_elastic(struct reader *r, char **value)
{
    char *end, *last;
    long min = strtol(value[0], &end, 10), max = *end == ':' ? strtol(end + 1, &last, 10) : 0;
    if (*end != ':' || *last != '\0' || min < 1 || max < min || max > MAX_RANK) {
        pli_say_bad("%s needs the fewest and most ranks, as 2:8, not '%s'", r->name, value[0]);
    }
    r->job->opt.elastic_min = (uint32_t)min;
    r->job->opt.elastic_max = (uint32_t)max;
}

static void take_on_resize(struct reader *r, char **value)
{
    r->job->opt.is_resize_error = read_word(r, value[0], "look error") == 1;
}

static void take_ckpt_dir(struct reader *r, char **value)
{
    r->job->opt.ckpt_dir = value[0];
}

static void take_ckpt_interval(struct reader *r, char **value)
{
    r->job->opt.ckpt_interval = read_time(r, value[0]);
}

static void take_ckpt_keep(struct reader *r, char **value)
{
    r->job->opt.ckpt_keep = read_count(r, value[0]);
}

static void take_ckpt_mode(struct reader *r, char **value)
{
    r->job->opt.is_state = read_word(r, value[0], "image state") == 1;
}

static void take_restart(struct reader *r, char **value)
{
    r->job->opt.restart = value[0];
}

// Written by a program that runs without mpiexec and spawns; see singleton.c.
static void take_behind(struct reader *r, char **value)
{
    r->job->opt.behind = value[0];
}

static void take_nothing(struct reader *r, char **value)
{
    (void)r;
    (void)value; // a habit from another MPI that has no meaning here
}

static void take_version(struct reader *r, char **value)
{
    (void)r;
    (void)value;
    printf("%s (Pliant MPI) %s\n", pli_say_name, PLIANT_VERSION);
    exit(fflush(stdout) == 0 ? 0 : 1);
}

static const char *dashes(const char *name, size_t len)
{
    // People write what MPICH and Open MPI taught them; this is only how we print.
    static const char *const one[] = { "n",  "np",   "x", "l", "v",   "V", "h",
                                       "wd", "wdir", "H", "f", "ppn", "N" };
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++) {
        if (strlen(one[i]) == len && memcmp(one[i], name, len) == 0) {
            return "-";
        }
    }
    return len >= 3 && (memcmp(name, "env", 3) == 0 || memcmp(name, "gen", 3) == 0) ? "-" : "--";
}

static void print_option(const struct option *o)
{
    char left[80] = "";
    int n = 0;
    const char *name = o->names;
    for (int shown = 0; *name != '\0' && shown < 2; shown++) {
        size_t len = strcspn(name, " ");
        n += snprintf(left + n, sizeof left - (size_t)n, "%s%s%.*s", shown > 0 ? ", " : "",
                      dashes(name, len), (int)len, name);
        name += len;
        name += strspn(name, " ");
    }
    snprintf(left + n, sizeof left - (size_t)n, "%s%s", o->values[0] != '\0' ? " " : "", o->values);
    printf("  %-20s %s\n", left, o->help);
}

static void take_help(struct reader *r, char **value)
{
    (void)r;
    (void)value;
    printf("usage: %s [OPTION...] PROGRAM [ARGUMENT...] [: [OPTION...] PROGRAM...]\n",
           pli_say_name);
    for (int i = 0; i < N_OPTION; i++) {
        if (options[i].help != NULL) {
            print_option(&options[i]);
        }
    }
    exit(fflush(stdout) == 0 ? 0 : 1);
}

static _Noreturn void unknown(const char *typed)
{
    const char *name = typed + strspn(typed, "-");
    const char *best = NULL;
    size_t best_len = 0;
    int least = 4;
    for (int i = 0; i < N_OPTION; i++) {
        for (const char *w = options[i].names; *w != '\0'; w += strspn(w, " ")) {
            size_t len = strcspn(w, " ");
            int d = pli_edit_distance_distance(name, w, len);
            if (d < least && d < (int)strlen(name)) {
                least = d;
                best = w;
                best_len = len;
            }
            w += len;
        }
    }
    if (best != NULL) {
        pli_say_bad("there is no option %s; did you mean %s%.*s? See %s --help", typed,
                    dashes(best, best_len), (int)best_len, best, pli_say_name);
    }
    pli_say_bad("there is no option %s; see %s --help", typed, pli_say_name);
}

static const struct option *find(const char *name, size_t len)
{
    for (int i = 0; i < N_OPTION; i++) {
        for (const char *w = options[i].names; *w != '\0'; w += strspn(w, " ")) {
            size_t n = strcspn(w, " ");
            if (n == len && memcmp(w, name, len) == 0) {
                return &options[i];
            }
            w += n;
        }
    }
    return NULL;
}

// Take the option at argv[0]; the number of words it used.
static int read_option(struct reader *r, char **argv)
{
    const char *name = argv[0] + (argv[0][1] == '-' ? 2 : 1);
    size_t len = strcspn(name, "=");
    const struct option *o = find(name, len);
    snprintf(r->name, sizeof r->name, "%.*s", (int)(name + len - argv[0]), argv[0]);
    if (o == NULL) {
        unknown(r->name);
    }
    int n_value = o->values[0] == '\0' ? 0 : strchr(o->values, ' ') != NULL ? 2 : 1;
    if (name[len] == '=') {
        char *value = argv[0] + (name + len + 1 - argv[0]);
        if (n_value != 1) {
            pli_say_bad(n_value == 0 ? "%s takes no value" : "%s takes two words and no '='",
                        r->name);
        }
        o->take(r, &value);
        return 1;
    }
    if (n_value == 2 && argv[1] != NULL && strchr(argv[1], '=') != NULL) {
        char *both[2] = { pli_say_need(strdup(argv[1])), NULL }; // -env NAME=VALUE, in one word
        both[1] = strchr(both[0], '=');
        *both[1]++ = '\0';
        o->take(r, both);
        return 2;
    }
    for (int i = 1; i <= n_value; i++) {
        if (argv[i] == NULL || (strcmp(argv[i], ":") == 0)) {
            pli_say_bad("%s needs %s after it", r->name, o->values);
        }
    }
    o->take(r, argv + 1);
    return 1 + n_value;
}

// Read one part; the words used, without the colon after it.
static int read_app(struct reader *r, char **argv)
{
    int i = 0;
    while (argv[i] != NULL && argv[i][0] == '-' && argv[i][1] != '\0') {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        i += read_option(r, argv + i);
    }
    r->app->argv = argv + i;
    int first = i;
    while (argv[i] != NULL && strcmp(argv[i], ":") != 0) {
        i++;
    }
    if (i == first && r->job->opt.restart != NULL && r->job->n_app == 1) {
        return i; // the checkpoint knows the program
    }
    if (i == first || argv[first][0] == '\0') {
        pli_say_bad("%s; try %s -n 4 ./a.out, or %s --help",
                    r->job->n_app > 1 ? "a part of the command line names no program"
                                      : "no program is named",
                    pli_say_name, pli_say_name);
    }
    return i;
}

// What was not said is in the environment, where a script that starts jobs of several MPIs puts it.
static void read_impi(struct reader *r)
{
    struct pli_options *o = &r->job->opt;
    char *server = getenv("IMPI_SERVER"), *client = getenv("IMPI_CLIENT");
    if (o->impi_server == NULL && !o->has_impi_rank && server != NULL && server[0] != '\0') {
        snprintf(r->name, sizeof r->name, "IMPI_SERVER");
        take_impi(r, &server);
    }
    if (o->impi_server != NULL && !o->has_impi_rank && client != NULL) {
        snprintf(r->name, sizeof r->name, "IMPI_CLIENT");
        take_impi_rank(r, &client);
    }
    if ((o->impi_server != NULL) != o->has_impi_rank) {
        pli_say_bad("--impi and --impi-rank go together: --impi HOST:PORT --impi-rank K");
    }
    if (o->impi_server != NULL && o->elastic_max > 0) {
        pli_say_bad("--elastic and --impi exclude each other: a job that is part of an IMPI job "
                    "keeps its size");
    }
}

void pli_cmdline_read(struct pli_job *job, int argc, char **argv)
{
    job->opt.grace = -1;
    job->opt.ckpt_keep = 2;
    job->opt.max_restarts = 3;
    job->opt.feed = 0;
    struct reader r = { .job = job };
    for (int i = 1; i == 1 || i < argc + 1;) {
        size_t size = (job->n_app + 1) * sizeof *job->apps;
        job->apps = pli_say_need(realloc(job->apps, size));
        r.app = &job->apps[job->n_app++];
        *r.app = (struct pli_app){ .endpoints = 1 };
        i += read_app(&r, argv + i);
        if (argv[i] == NULL) {
            break;
        }
        argv[i++] = NULL; // the colon ends the arguments of this part
    }
    if (job->opt.restart != NULL && job->from == NULL) {
        return; // to be read once more, with the words of the checkpoint
    }
    pli_upc_groups_read(job);
    pli_hosts_find(job);
    for (uint32_t a = 0; a < job->n_app; a++) {
        job->apps[a].n_rank = job->apps[a].n_rank != 0 ? job->apps[a].n_rank : 1;
        job->apps[a].first = job->n_rank;
        job->n_rank += job->apps[a].n_rank;
        if (job->n_rank > MAX_RANK) {
            pli_say_bad("the parts add up to more than %d ranks", MAX_RANK);
        }
    }
    read_impi(&r);
    pli_restart_check(job);
    pli_psets_read(job);
    if (job->opt.feed >= (int64_t)job->n_rank) {
        pli_say_bad("--stdin names rank %lld, but the ranks are 0 to %u", (long long)job->opt.feed,
                    job->n_rank - 1);
    }
}
