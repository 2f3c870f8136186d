// SPDX-License-Identifier: BSD-3-Clause
// Builds the ranks' environment from mpiexec's own, the options, and what a task is told.
#include "launcher/job/environment.h"

#include "base/conf.h"
#include "base/process_stat.h"
#include "launcher/base/launcher.h"
#include "launcher/job/abi_path.h"
#include "launcher/job/role.h"
#include "launcher/job/job.h"
#include "launcher/job/tune_file.h"
#include "launcher/job/tool_path.h"
#include "launcher/base/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

// Per task, in the slots at env_own: how it joins the job, then numbers.
enum { OWN_BOOT, OWN_JOB, OWN_NUMBERS };
enum number { RANK, SIZE, LOCAL_RANK, LOCAL_SIZE, N_NUMBER };

// After ours, names that scripts know from MPICH, Open MPI and Slurm. None of them makes another
// MPI, or our library, believe that its launcher has started it: for that PMI_FD is missing, and
// what PMIx and Slurm tell of a step.
static const struct {
    const char *name;
    enum number number;
} numbers[] = {
    { "PLIANT_RANK", RANK },
    { "PLIANT_SIZE", SIZE },
    { "PLIANT_LOCAL_RANK", LOCAL_RANK },
    { "PLIANT_LOCAL_SIZE", LOCAL_SIZE },
    { "PMI_RANK", RANK },
    { "PMI_SIZE", SIZE },
    { "MPI_LOCALRANKID", LOCAL_RANK },
    { "MPI_LOCALNRANKS", LOCAL_SIZE },
    { "OMPI_COMM_WORLD_RANK", RANK },
    { "OMPI_COMM_WORLD_SIZE", SIZE },
    { "OMPI_COMM_WORLD_LOCAL_RANK", LOCAL_RANK },
    { "OMPI_COMM_WORLD_LOCAL_SIZE", LOCAL_SIZE },
    { "SLURM_PROCID", RANK },
    { "SLURM_LOCALID", LOCAL_RANK },
};

enum {
    N_NAME = sizeof numbers / sizeof numbers[0],
    N_OWN = OWN_NUMBERS + N_NAME,
};

static const char *const own_names[OWN_NUMBERS] = {
    [OWN_BOOT] = "PLIANT_BOOT",
    [OWN_JOB] = "PLIANT_JOB",
};

static bool is_named(const char *var, const char *name, size_t len)
{
    return strncmp(var, name, len) == 0 && var[len] == '=';
}

static bool is_listed(const char *var, const char *list)
{
    for (const char *w = list; *w != '\0'; w += strspn(w, ",")) {
        size_t len = strcspn(w, ",");
        if (len > 0 && is_named(var, w, len)) {
            return true;
        }
        w += len;
    }
    return false;
}

// What another mpiexec told us is not for our ranks.
static bool is_own(const char *var)
{
    static const char *const others[] = { "IMPI_SERVER", "IMPI_CLIENT",    "IMPI_TOKEN",
                                          "PMI_FD",      "PMI_PORT",       "PMIX_NAMESPACE",
                                          "PMIX_RANK",   "PLI_TRACE_MODE", "PLI_TOOLS",
                                          "PLI_CHECK" };
    for (int i = 0; i < N_OWN; i++) {
        const char *name = i < OWN_NUMBERS ? own_names[i] : numbers[i - OWN_NUMBERS].name;
        if (is_named(var, name, strlen(name))) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (is_named(var, others[i], strlen(others[i]))) {
            return true;
        }
    }
    return false;
}

// A variable that was made here gets another text, NULL: none.
static void replace(struct pli_app *app, int i, char *var)
{
    if (app->env_said[i]) {
        free(app->env[i]);
    }
    app->env[i] = var;
    app->env_said[i] = var != NULL;
}

static void set(struct pli_app *app, int *n, const char *name, const char *value)
{
    char *var;
    pli_say_need(asprintf(&var, "%s=%s", name, value) >= 0 ? var : NULL);
    int i = 0;
    while (i < *n && !is_named(app->env[i], name, strlen(name))) {
        i++;
    }
    replace(app, i, var);
    *n += i == *n;
}

static void apply(struct pli_app *app, int *n, const struct pli_edits *e)
{
    for (int i = 0; i < e->n_edit; i++) {
        const char *value = e->edit[i].value;
        if (value == NULL) {
            value = getenv(e->edit[i].name);
        }
        if (value == NULL) {
            pli_say_bad("-x %s: mpiexec's own environment has no such variable; give it a value "
                        "with -x %s=...",
                        e->edit[i].name, e->edit[i].name);
        }
        set(app, n, e->edit[i].name, value);
    }
}

// Libraries that the loader puts between the program and MPI, and what they are told.
static void set_tools(const struct pli_job *job, struct pli_app *app, int *n)
{
    char *tools = pli_tool_path_list(&job->opt);
    char *preload = pli_tool_path_preload(&job->opt, tools, pli_environment_get(app, "LD_PRELOAD"));
    char text[64];
    if (preload != NULL) {
        set(app, n, "LD_PRELOAD", preload);
    }
    if (tools != NULL) {
        set(app, n, "PLI_TOOLS", tools);
    }
    if (job->opt.check != NULL) {
        set(app, n, "PLI_CHECK", job->opt.check);
    }
    if (job->opt.record != NULL) {
        set(app, n, "PLI_RECORD", job->opt.record);
    }
    if (job->opt.replay != NULL) {
        set(app, n, "PLI_REPLAY", job->opt.replay);
    }
    if (pli_tool_path_trace(&job->opt, text, sizeof text)) {
        set(app, n, "PLI_TRACE_MODE", text);
    }
    free(preload);
    free(tools);
}

// Messages are written down, or come from where they were: over TCP, which is where that is done,
// and with the collective algorithms of ranks that share nothing.
static void set_messages(const struct pli_options *opt, struct pli_app *app, int *n)
{
    if (opt->log_messages == NULL && !opt->has_replay_rank) {
        return;
    }
    app->env_own = *n; // for the next
    const char *net = pli_environment_get(app, "PLIANT_NET");
    if (net != NULL && strcmp(net, "tcp") != 0 && strcmp(net, "auto") != 0) {
        pli_say_bad("%s needs PLIANT_NET=tcp, not %s: messages are written down by this transport",
                    opt->log_messages != NULL ? "--log-messages" : "--replay-rank", net);
    }
    set(app, n, "PLIANT_NET", "tcp");
    set(app, n, "PLIANT_COLL_HOST", "1");
    if (opt->log_messages != NULL) {
        set(app, n, "PLIANT_MESSAGE_LOG", opt->record);
    } else {
        set(app, n, "PLIANT_MESSAGE_REPLAY", opt->replay);
    }
}

// What is wrong with settings is said here, for all ranks.
static void check_settings(struct pli_app *app, int *n)
{
    pli_conf_load();
    for (int i = 0; i < *n; i++) {
        pli_conf_check(app->env[i]);
    }
    if (pli_conf_warned()[0] != '\0') {
        set(app, n, "PLIANT_WARNED", pli_conf_warned());
    }
}

void pli_environment_make(const struct pli_job *job, struct pli_app *app)
{
    struct pli_environment_state *self = pli_launcher.environment;
    const struct pli_edits *all = &job->opt.edits, *mine = &app->edits;
    const struct pli_edits *rule = mine->pass != PLI_PASS_UNSAID ? mine : all;
    int n_env = 0, n = 0;
    while (environ[n_env] != NULL) {
        n_env++;
    }
    // Further: PLIANT_ENDPOINTS, LD_LIBRARY_PATH, what pli_environment_set adds, and the end.
    size_t cap = (size_t)(n_env + all->n_edit + mine->n_edit + N_OWN + 15);
    app->env = pli_say_need(calloc(cap, sizeof *app->env));
    app->env_said = pli_say_need(calloc(cap, sizeof *app->env_said));
    for (int i = 0; i < n_env; i++) {
        if (!is_own(environ[i]) && rule->pass != PLI_PASS_NONE &&
            (rule->pass != PLI_PASS_LIST || is_listed(environ[i], rule->list))) {
            app->env[n++] = environ[i];
        }
    }
    const char *rules = pli_tune_file_read();
    if (rules != NULL) {
        set(app, &n, "PLIANT_COLL_RULES", rules);
    }
    apply(app, &n, all);
    apply(app, &n, mine);
    check_settings(app, &n);
    set_messages(&job->opt, app, &n);
    if (job->opt.has_endpoints) {
        char count[16];
        snprintf(count, sizeof count, "%" PRIu32, app->endpoints);
        set(app, &n, "PLIANT_ENDPOINTS", count);
    }
    app->env_own = n; // for pli_environment_get
    char *path = pli_abi_path_make(&job->opt, pli_environment_get(app, "LD_LIBRARY_PATH"));
    if (path != NULL) {
        set(app, &n, "LD_LIBRARY_PATH", path);
        free(path);
    }
    app->env_own = n;
    set_tools(job, app, &n);
    app->env_own = n;
    for (int i = 0; i < N_OWN; i++) {
        app->env[n + i] = self->own[i];
    }
}

void pli_environment_set(struct pli_app *app, const char *name, const char *value)
{
    int n = app->env_own;
    if (pli_environment_get(app, name) == NULL) { // the variables of the task come after it
        memmove(&app->env[n + 1], &app->env[n], N_OWN * sizeof *app->env);
        app->env[n] = NULL;
        app->env_said[n] = false;
    }
    set(app, &n, name, value);
    app->env_own = n;
}

void pli_environment_shorten(struct pli_app *app, const char *name, const char *begin)
{
    size_t len = strlen(name), n = strlen(begin);
    for (int i = 0; i < app->env_own; i++) {
        const char *value = app->env[i] + len + 1;
        if (!is_named(app->env[i], name, len) || strncmp(value, begin, n) != 0 ||
            (value[n] != ':' && value[n] != '\0')) {
            continue;
        }
        if (value[n] == ':') {
            char *shorter;
            pli_say_need(asprintf(&shorter, "%s=%s", name, value + n + 1) >= 0 ? shorter : NULL);
            replace(app, i, shorter);
            return;
        }
        // The last one takes its place; then come the variables of the task.
        replace(app, i, NULL);
        app->env[i] = app->env[--app->env_own];
        app->env_said[i] = app->env_said[app->env_own];
        memmove(&app->env[app->env_own], &app->env[app->env_own + 1],
                (N_OWN + 1) * sizeof *app->env);
        return;
    }
}

const char *pli_environment_get(const struct pli_app *app, const char *name)
{
    size_t len = strlen(name);
    for (int i = 0; i < app->env_own; i++) {
        if (is_named(app->env[i], name, len)) {
            return app->env[i] + len + 1;
        }
    }
    return NULL;
}

// What belongs to a login or a machine; a name that ends with _ stands for all that begin so.
static bool is_of_host(const char *var)
{
    static const char *const names[] = { "HOME",
                                         "USER",
                                         "LOGNAME",
                                         "SHELL",
                                         "MAIL",
                                         "HOSTNAME",
                                         "HOST",
                                         "SSH_",
                                         "XDG_",
                                         "DBUS_",
                                         "TMPDIR",
                                         "SLURM_NODEID",
                                         "SLURM_PROCID",
                                         "SLURM_LOCALID",
                                         "SLURMD_NODENAME",
                                         "SLURM_TASK_PID",
                                         "SLURM_GTIDS",
                                         "SLURM_STEP_",
                                         "SLURM_STEPID",
                                         "SLURM_LAUNCH_",
                                         "SLURM_SRUN_",
                                         "SLURM_CPU_BIND_",
                                         "PMI_",
                                         "PMIX_" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t len = strlen(names[i]);
        if (names[i][len - 1] == '_' ? strncmp(var, names[i], len) == 0
                                     : is_named(var, names[i], len)) {
            return true;
        }
    }
    return false;
}

void pli_environment_adopt(struct pli_app *app)
{
    struct pli_environment_state *self = pli_launcher.environment;
    int n_env = 0, n = 0;
    while (environ[n_env] != NULL) {
        n_env++;
    }
    char **env = pli_say_need(calloc((size_t)(n_env + app->env_own + N_OWN + 1), sizeof *env));
    for (int i = 0; i < app->env_own; i++) {
        size_t len = strcspn(app->env[i], "=");
        bool is_theirs = is_of_host(app->env[i]) && !app->env_said[i];
        const char *mine = NULL;
        for (int k = 0; is_theirs && k < n_env && mine == NULL; k++) {
            mine = strncmp(environ[k], app->env[i], len) == 0 && environ[k][len] == '=' ? environ[k]
                                                                                        : NULL;
        }
        if (!is_theirs || mine != NULL) {
            env[n++] = mine != NULL ? (char *)mine : app->env[i];
        }
    }
    app->env = env;
    app->env_own = n;
    for (int i = 0; i < N_OWN; i++) {
        app->env[n + i] = self->own[i];
    }
}

void pli_environment_cookie(const struct pli_job *job, char *to, unsigned long cap)
{
    struct pli_environment_state *self = pli_launcher.environment;
    if (self->me != (uint32_t)getpid()) {
        self->me = (uint32_t)getpid();
        self->start = (uint64_t)pli_process_stat(self->me, PLI_PROCESS_STAT_START);
    }
    snprintf(to, cap, "%s=%016" PRIx64 ".%" PRIx32 ".%" PRIx64, own_names[OWN_JOB],
             job->node.header->job, self->me, self->start);
}

void pli_environment_local_rank(const struct pli_job *job, const struct pli_node_row *row,
                                uint32_t *rank_out, uint32_t *size_out)
{
    *rank_out = *size_out = 0;
    for (uint32_t i = 0; i < row->n_world; i++) {
        const struct pli_node_proc *p = pli_node_find(&job->node, row->world + i);
        bool is_here = p != NULL && p->host == job->node.header->host_index;
        *size_out += is_here;
        *rank_out += is_here && row->world + i < row->index;
    }
}

void pli_environment_fill(const struct pli_job *job, const struct pli_proc_task *task, int ctl,
                          int accept_fd)
{
    struct pli_environment_state *self = pli_launcher.environment;
    const struct pli_node_header *h = job->node.header;
    const struct pli_node_row *row = &job->node.rows[task->first];
    uint32_t n_world = h->n_joint != 0 ? h->n_joint : job->n_rank;
    uint32_t local_rank = task->first, local_size = h->n_row;
    if (task->is_spawned) {
        pli_launcher.role->local_rank(job, row, &local_rank, &local_size);
    }
    const uint32_t values[N_NUMBER] = {
        [RANK] = task->is_spawned ? row->index - row->world : job->base + pli_task_rank(task),
        [SIZE] = task->is_spawned ? row->n_world : n_world,
        [LOCAL_RANK] = local_rank,
        [LOCAL_SIZE] = local_size,
    };
    char listen_text[24] = "";
    if (accept_fd >= 0) {
        snprintf(listen_text, sizeof listen_text, ",accept=%d", accept_fd);
    }
    snprintf(self->own[OWN_BOOT], sizeof self->own[0], "%s=fd=%d,row=%u,n=%u,ctl=%d%s%s",
             own_names[OWN_BOOT], job->node_fd, task->first, task->n, ctl, listen_text,
             job->opt.is_line ? ",line=1" : "");
    if (job->wake_fd > 0) {
        size_t n = strlen(self->own[OWN_BOOT]);
        snprintf(self->own[OWN_BOOT] + n, sizeof self->own[0] - n, ",gateway=%d", job->wake_fd);
    }
    if (task->app->n_upc > 0) {
        size_t n = strlen(self->own[OWN_BOOT]);
        snprintf(self->own[OWN_BOOT] + n, sizeof self->own[0] - n, ",extra=%u,nextra=%u,upc=%u",
                 task->extra, task->n_extra, task->app->n_upc);
    }
    if (job->trace_fd > 0) { // the last: a rank of an older version reads up to it
        size_t n = strlen(self->own[OWN_BOOT]);
        snprintf(self->own[OWN_BOOT] + n, sizeof self->own[0] - n, ",trace=%d", job->trace_fd);
    }
    pli_environment_cookie(job, self->own[OWN_JOB], sizeof self->own[0]);
    for (size_t i = 0; i < N_NAME; i++) {
        snprintf(self->own[OWN_NUMBERS + i], sizeof self->own[0], "%s=%u", numbers[i].name,
                 values[numbers[i].number]);
    }
}

void pli_environment_init(void)
{
    pli_launcher.environment->own = pli_say_need(calloc(N_OWN, PLI_ENVIRONMENT_LEN));
}
