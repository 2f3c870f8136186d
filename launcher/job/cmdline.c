// SPDX-License-Identifier: BSD-3-Clause
// Reads the command line of mpiexec: the options of mpiexec.opt, and the parts between colons.
#include "launcher/job/cmdline.h"

#include "base/text_file.h"
#include "launcher/job/ckpt_hooks.h"
#include "launcher/base/say.h"
#include "launcher/job/foreign_options.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/job/psets.h"
#include "launcher/job/upc_groups.h"
#include "mpiexec_options.h"
#include "wire/impi_token.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MAX_RANK = 1 << 20, MAX_CLIENT = 31 };

static struct pli_job *job_of(const struct pli_option_use *use)
{
    return use->reader->job;
}

static struct pli_app *part_of(const struct pli_option_use *use)
{
    return use->reader->part;
}

static void add_edit(const struct pli_option_use *use, struct pli_edits *e, const char *name,
                     const char *value)
{
    if (name[0] == '\0' || strchr(name, '=') != NULL) {
        pli_say_bad("%s needs the name of a variable, not '%s'", use->name, name);
    }
    e->edit = pli_say_need(realloc(e->edit, (size_t)(e->n_edit + 1) * sizeof *e->edit));
    e->edit[e->n_edit++] = (struct pli_edit){ name, value };
}

static void take_check(struct pli_option_use *use)
{
    if (use->text != NULL && strcmp(use->text, "timing") != 0) {
        pli_say_bad("--check=%s: there is --check, which looks for mistakes, and --check=timing, "
                    "which also tells of receives whose match depends on timing",
                    use->text);
    }
    job_of(use)->opt.check = use->text != NULL ? use->text : "";
}

static void take_gdb(struct pli_option_use *use)
{
    job_of(use)->opt.gdb = use->text != NULL ? use->text : "";
}

static void take_profile(struct pli_option_use *use)
{
    job_of(use)->opt.profile = use->text != NULL ? use->text : "";
}

static void take_hosts(struct pli_option_use *use)
{
    pli_hosts_take_list(job_of(use), use->name, use->text);
}

static void take_hostfile(struct pli_option_use *use)
{
    pli_hosts_take_file(job_of(use), use->name, use->text);
}

// --launcher=ssh --launcher-exec=PATH: the second says which ssh, in either order.
static void take_launcher(struct pli_option_use *use)
{
    struct pli_options *opt = &job_of(use)->opt;
    if (opt->launcher == NULL || strcmp(use->text, "ssh") != 0) {
        opt->launcher = use->text;
    }
}

static void take_launcher_exec(struct pli_option_use *use)
{
    job_of(use)->opt.launcher = use->text;
}

static void take_prefix(struct pli_option_use *use)
{
    char *path;
    pli_say_need(asprintf(&path, "%s/bin/mpiexec", use->text) >= 0 ? path : NULL);
    job_of(use)->opt.agent = path;
}

static void take_env(struct pli_option_use *use)
{
    add_edit(use, &part_of(use)->edits, use->text, use->second);
}

static void take_errhandler(struct pli_option_use *use)
{
    add_edit(use, &part_of(use)->edits, "PLIANT_INITIAL_ERRHANDLER", use->text);
}

static void take_genv(struct pli_option_use *use)
{
    add_edit(use, &job_of(use)->opt.edits, use->text, use->second);
}

static void take_x(struct pli_option_use *use)
{
    char *eq = strchr(use->text, '=');
    char *name =
        eq != NULL ? pli_say_need(strndup(use->text, (size_t)(eq - use->text))) : use->text;
    add_edit(use, &part_of(use)->edits, name, eq != NULL ? eq + 1 : NULL);
}

static void take_envlist(struct pli_option_use *use)
{
    part_of(use)->edits.pass = PLI_PASS_LIST;
    part_of(use)->edits.list = use->text;
}

static void take_genvlist(struct pli_option_use *use)
{
    job_of(use)->opt.edits.pass = PLI_PASS_LIST;
    job_of(use)->opt.edits.list = use->text;
}

static void take_envnone(struct pli_option_use *use)
{
    part_of(use)->edits.pass = PLI_PASS_NONE;
}

static void take_genvnone(struct pli_option_use *use)
{
    job_of(use)->opt.edits.pass = PLI_PASS_NONE;
}

static void take_envall(struct pli_option_use *use)
{
    part_of(use)->edits.pass = PLI_PASS_ALL;
}

static void take_genvall(struct pli_option_use *use)
{
    job_of(use)->opt.edits.pass = PLI_PASS_ALL;
}

static void take_endpoints(struct pli_option_use *use)
{
    part_of(use)->endpoints = (uint32_t)use->number;
    job_of(use)->opt.has_endpoints = true;
}

static void take_pset(struct pli_option_use *use)
{
    pli_psets_take(job_of(use), use->name, use->text);
}

static void take_map(struct pli_option_use *use)
{
    pli_hosts_take_map(job_of(use), use->name, use->text);
}

static void take_replay_rank(struct pli_option_use *use)
{
    struct pli_options *opt = &job_of(use)->opt;
    opt->has_replay_rank = true;
    opt->replay_rank = (uint32_t)use->number;
}

static void take_stdin(struct pli_option_use *use)
{
    struct pli_options *opt = &job_of(use)->opt;
    char *end;
    errno = 0;
    long v = strtol(use->text, &end, 10);
    if (strcmp(use->text, "all") == 0) {
        opt->stdin_rank = PLI_STDIN_ALL;
    } else if (strcmp(use->text, "none") == 0) {
        opt->stdin_rank = PLI_STDIN_NONE;
    } else if (end != use->text && *end == '\0' && errno == 0 && v >= 0) {
        opt->stdin_rank = v; // checked when the number of ranks is known
    } else {
        pli_say_bad("%s needs a rank, 'all' or 'none', not '%s'", use->name, use->text);
    }
}

static void take_on_failure(struct pli_option_use *use)
{
    bool is_end = use->choice > PLI_FAIL_RESPAWN; // another word for abort
    job_of(use)->opt.on_failure = is_end ? PLI_FAIL_END : (enum pli_on_failure)use->choice;
}

// As MPICH's mpiexec calls it.
static void take_shrink(struct pli_option_use *use)
{
    job_of(use)->opt.on_failure = PLI_FAIL_SHRINK;
}

// Written by mpiexec for itself; see auto_restart.c.
static void take_auto_restart(struct pli_option_use *use)
{
    pli_launcher.ckpt_hooks->read_auto_restart(&job_of(use)->opt.auto_restart, use->text);
}

static void set_impi(struct pli_job *job, const char *name, const char *text)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text || colon[1] == '\0' ||
        colon[1 + strspn(colon + 1, "0123456789")] != '\0') {
        pli_say_bad("%s needs the address that impi-server printed, HOST:PORT, not '%s'", name,
                    text);
    }
    job->opt.impi_server = text;
}

static void take_impi(struct pli_option_use *use)
{
    set_impi(job_of(use), use->name, use->text);
}

enum { UNSAID_WORLD = -1 }; // --host-world without a number

static void take_host_world(struct pli_option_use *use)
{
    bool has_number = use->text != NULL && use->text[0] != '\0';
    job_of(use)->opt.host_world = has_number ? (int)use->number : UNSAID_WORLD;
}

static void set_token(struct pli_job *job, const char *name, const char *text)
{
    static struct pli_impi_token token;
    static char where[PLI_IMPI_TOKEN_WHERE];
    if (pli_impi_token_is_elastic(text)) {
        job->opt.elastic_token = pli_say_need(strdup(text));
        job->opt.joins_world = true;
        return;
    }
    const char *why = pli_impi_token_get(text, &token);
    if (why != NULL) {
        pli_say_bad("%s: the token %s", name, why);
    }
    pli_impi_token_where(&token, where);
    setenv("IMPI_TOKEN", text, 1);
    job->opt.impi_server = where;
    job->opt.joins_world = true;
}

static void take_join(struct pli_option_use *use)
{
    char line[PLI_IMPI_TOKEN_TEXT] = "";
    char *word = (char *)(uintptr_t)use->text;
    if (strchr(word, '/') == NULL) {
        snprintf(line, sizeof line, "%s", word);
        memset(word, 'x', strlen(word)); // others can read the words of a process
    } else {
        char why[128];
        if (!pli_text_file_word(word, line, sizeof line, why, sizeof why)) {
            pli_say_bad("--join: cannot read a token from %s: %s", word, why);
        }
    }
    set_token(job_of(use), "--join", line);
}

static void take_impi_rank(struct pli_option_use *use)
{
    job_of(use)->opt.impi_rank = (uint32_t)use->number;
    job_of(use)->opt.has_impi_rank = true;
}

static void take_elastic(struct pli_option_use *use)
{
    char *end, *last;
    long min = strtol(use->text, &end, 10), max = *end == ':' ? strtol(end + 1, &last, 10) : 0;
    if (*end != ':' || *last != '\0' || min < 1 || max < min || max > MAX_RANK) {
        pli_say_bad("%s needs the fewest and most ranks, as 2:8, not '%s'", use->name, use->text);
    }
    job_of(use)->opt.elastic_min = (uint32_t)min;
    job_of(use)->opt.elastic_max = (uint32_t)max;
}

// Open MPI's: as many ranks. Slurm's -c means cores of each rank, and stands beside -n.
static void take_c(struct pli_option_use *use)
{
    part_of(use)->n_by_c = (uint32_t)use->number;
}

static void take_pernode(struct pli_option_use *use)
{
    job_of(use)->opt.per_host = 1;
}

static void take_map_node(struct pli_option_use *use)
{
    job_of(use)->opt.map = "node";
}

// As Open MPI spells it: --with-ft ulfm.
static void take_with_ft(struct pli_option_use *use)
{
    enum pli_on_failure what[] = { PLI_FAIL_SHRINK, PLI_FAIL_SHRINK, PLI_FAIL_END, PLI_FAIL_END };
    job_of(use)->opt.on_failure = what[use->choice];
}

static void take_arch(struct pli_option_use *use)
{
    struct utsname u;
    if (uname(&u) == 0 && strcmp(use->text, u.machine) != 0) {
        pli_say_bad("%s %s: the programs of a job run on hosts of one kind, and this one is %s; "
                    "name hosts of that kind with --hosts and start mpiexec on one of them",
                    use->name, use->text, u.machine);
    }
}

// -configfile was taken from the first part before this: here it is inside such a file, or after a
// colon.
static void take_configfile(struct pli_option_use *use)
{
    pli_say_bad("%s can stand once, in the first part of the command line, and not in such a file",
                use->name);
}

static const char *pattern_of(const struct pli_option_use *use)
{
    for (const char *p = strchr(use->text, '%'); p != NULL; p = strchr(p + 2, '%')) {
        if (p[1] == '\0' || strchr("rtRhgp%", p[1]) == NULL) {
            pli_say_bad("%s: '%.2s' has no meaning; %%r is the rank, %%h its host, %%%% a percent "
                        "sign",
                        use->name, p);
        }
    }
    if (use->text[0] == '\0') {
        pli_say_bad("%s needs the name of a file, such as out.%%r", use->name);
    }
    return use->text;
}

static void take_out_files(struct pli_option_use *use)
{
    job_of(use)->opt.out_files = pattern_of(use);
}

static void take_err_files(struct pli_option_use *use)
{
    job_of(use)->opt.err_files = pattern_of(use);
}

// Files as Open MPI names them: DIR/1/rank.N/stdout. :nocopy after the name: they are not shown.
static void take_output_folder(struct pli_option_use *use)
{
    struct pli_options *opt = &job_of(use)->opt;
    size_t len = strlen(use->text), n = 0;
    bool is_hidden = len > 7 && strcmp(use->text + len - 7, ":nocopy") == 0;
    char *dir = pli_say_need(malloc(2 * len + 1)), *out, *err;
    for (size_t i = 0; i < len - (is_hidden ? 7 : 0); i++) {
        dir[n++] = use->text[i];
        if (use->text[i] == '%') {
            dir[n++] = '%';
        }
    }
    dir[n] = '\0';
    if (n == 0) {
        pli_say_bad("%s needs the name of a folder", use->name);
    }
    pli_say_need(asprintf(&out, "%s/1/rank.%%R/stdout", dir) >= 0 ? out : NULL);
    pli_say_need(asprintf(&err, "%s/1/rank.%%R/stderr", dir) >= 0 ? err : NULL);
    free(dir);
    opt->out_files = out;
    opt->err_files = err;
    opt->is_output_copied = !is_hidden;
}

static void take_mca(struct pli_option_use *use)
{
    pli_foreign_options_mca(job_of(use), use->text, use->second);
}

static void take_ignore(struct pli_option_use *use)
{
    pli_foreign_options_ignore(job_of(use), use->name, use->option->advice);
}

static void take_refuse(struct pli_option_use *use)
{
    pli_say_bad("%s is not an option of Pliant MPI: %s", use->name, use->option->advice);
}

// Scripts for other MPIs pass it, and it has no meaning here.
static void take_nothing(struct pli_option_use *use)
{
    (void)use;
}

static void take_version(struct pli_option_use *use)
{
    printf("%s (Pliant MPI) %s\n", use->reader->tool, PLIANT_VERSION);
    // Scripts look for these words to choose between the options of one or the other.
    printf("Programs and options of Open MPI (OpenRTE) and of MPICH (HYDRA) are taken.\n");
    exit(fflush(stdout) == 0 ? 0 : 1);
}

static void take_help(struct pli_option_use *use)
{
    if (use->rest[0] != NULL && !pli_options_is_option(use->rest[0])) {
        pli_options_help_topic(use->reader, stdout, use->rest[0]);
    } else {
        pli_options_help(use->reader, stdout);
    }
    exit(fflush(stdout) == 0 ? 0 : 1);
}

static void take_help_all(struct pli_option_use *use)
{
    pli_options_help_all(use->reader, stdout);
    exit(fflush(stdout) == 0 ? 0 : 1);
}

static const pli_option_take_fn take[PLI_MPIEXEC_N_TAKE] = {
    [PLI_MPIEXEC_ARCH] = take_arch,
    [PLI_MPIEXEC_AUTO_RESTART] = take_auto_restart,
    [PLI_MPIEXEC_C] = take_c,
    [PLI_MPIEXEC_CONFIGFILE] = take_configfile,
    [PLI_MPIEXEC_ELASTIC] = take_elastic,
    [PLI_MPIEXEC_ENDPOINTS] = take_endpoints,
    [PLI_MPIEXEC_ENV] = take_env,
    [PLI_MPIEXEC_ENVALL] = take_envall,
    [PLI_MPIEXEC_ENVLIST] = take_envlist,
    [PLI_MPIEXEC_ENVNONE] = take_envnone,
    [PLI_MPIEXEC_ERRHANDLER] = take_errhandler,
    [PLI_MPIEXEC_ERR_FILES] = take_err_files,
    [PLI_MPIEXEC_GENV] = take_genv,
    [PLI_MPIEXEC_GENVALL] = take_genvall,
    [PLI_MPIEXEC_GENVLIST] = take_genvlist,
    [PLI_MPIEXEC_GENVNONE] = take_genvnone,
    [PLI_MPIEXEC_HELP] = take_help,
    [PLI_MPIEXEC_HELP_ALL] = take_help_all,
    [PLI_MPIEXEC_HOSTFILE] = take_hostfile,
    [PLI_MPIEXEC_CHECK] = take_check,
    [PLI_MPIEXEC_PROFILE] = take_profile,
    [PLI_MPIEXEC_GDB] = take_gdb,
    [PLI_MPIEXEC_HOSTS] = take_hosts,
    [PLI_MPIEXEC_IGNORE] = take_ignore,
    [PLI_MPIEXEC_HOST_WORLD] = take_host_world,
    [PLI_MPIEXEC_IMPI] = take_impi,
    [PLI_MPIEXEC_IMPI_RANK] = take_impi_rank,
    [PLI_MPIEXEC_JOIN] = take_join,
    [PLI_MPIEXEC_LAUNCHER] = take_launcher,
    [PLI_MPIEXEC_LAUNCHER_EXEC] = take_launcher_exec,
    [PLI_MPIEXEC_MAP] = take_map,
    [PLI_MPIEXEC_MAP_NODE] = take_map_node,
    [PLI_MPIEXEC_MCA] = take_mca,
    [PLI_MPIEXEC_NOTHING] = take_nothing,
    [PLI_MPIEXEC_ON_FAILURE] = take_on_failure,
    [PLI_MPIEXEC_OUTPUT_FOLDER] = take_output_folder,
    [PLI_MPIEXEC_OUT_FILES] = take_out_files,
    [PLI_MPIEXEC_PERNODE] = take_pernode,
    [PLI_MPIEXEC_PREFIX] = take_prefix,
    [PLI_MPIEXEC_PSET] = take_pset,
    [PLI_MPIEXEC_REFUSE] = take_refuse,
    [PLI_MPIEXEC_REPLAY_RANK] = take_replay_rank,
    [PLI_MPIEXEC_SHRINK] = take_shrink,
    [PLI_MPIEXEC_STDIN] = take_stdin,
    [PLI_MPIEXEC_VERSION] = take_version,
    [PLI_MPIEXEC_WITH_FT] = take_with_ft,
    [PLI_MPIEXEC_X] = take_x,
};

// A program that -path has a folder for is started from there.
static void find_in_folders(struct pli_app *app)
{
    const char *dir = app->folders;
    for (size_t len; dir != NULL && *dir != '\0' && strchr(app->argv[0], '/') == NULL;
         dir += len + (dir[len] == ':')) {
        char *folder, *full, *path = NULL;
        len = strcspn(dir, ":");
        folder = pli_say_need(strndup(dir, len));
        full = realpath(folder, NULL);
        if (full != NULL && asprintf(&path, "%s/%s", full, app->argv[0]) >= 0 &&
            access(path, X_OK) == 0) {
            app->argv[0] = path;
        } else {
            free(path);
        }
        free(folder);
        free(full);
    }
}

// -c says how many ranks there are where nothing else does.
static void use_c(const struct pli_job *job, struct pli_app *app)
{
    bool is_begun = job->from == NULL; // a restart appends -n to the words of the checkpoint
    if (is_begun && app->n_by_c != 0 && app->n_rank != 0 && app->n_rank != app->n_by_c) {
        pli_say_bad("-c %u is the number of ranks, as in Open MPI, but -n says %u; for %u cores to "
                    "each rank, as in Slurm, use --map-by slot:PE=%u",
                    app->n_by_c, app->n_rank, app->n_by_c, app->n_by_c);
    }
    app->n_rank = app->n_rank != 0 ? app->n_rank : app->n_by_c;
}

// Read one part; the words used, without the colon after it.
static int read_app(const struct pli_option_reader *r, char **argv)
{
    const struct pli_job *job = r->job;
    struct pli_app *app = r->part;
    int i = pli_options_take_leading(r, argv);
    app->argv = argv + i;
    int first = i;
    use_c(job, app);
    while (argv[i] != NULL && strcmp(argv[i], ":") != 0) {
        i++;
    }
    if (i == first && job->opt.restart != NULL && job->n_app == 1) {
        return i; // the checkpoint knows the program
    }
    if (i == first || argv[first][0] == '\0') {
        pli_say_bad("%s; try %s -n 4 ./a.out, or %s --help",
                    job->n_app > 1 ? "a part of the command line names no program"
                                   : "no program is named",
                    pli_say_name, pli_say_name);
    }
    find_in_folders(app);
    return i;
}

// A world that begins at once, and that jobs join as it grows.
static void open_world(struct pli_options *o)
{
    const char *not = o->host_world != UNSAID_WORLD ? "--host-world=N"
                      : o->world_port != 0          ? "--world-port"
                      : o->world_address != NULL    ? "--world-address"
                      : o->ckpt_dir != NULL         ? "--checkpoint-dir"
                      : o->is_movable               ? "--movable"
                                                    : NULL;
    if (not != NULL) {
        pli_say_bad("%s is not for an elastic world, which begins at once, and whose ranks are on "
                    "machines that this mpiexec cannot start anything on; PLIANT_TCP_PORTS and "
                    "PLIANT_TCP_IF choose ports and networks",
                    not );
    }
    o->is_open_world = true;
    o->host_world = 0;
}

// What the command line does not say is read from the environment, where impirun puts it.
static void read_impi(struct pli_job *job)
{
    struct pli_options *o = &job->opt;
    const char *server = getenv("IMPI_SERVER"), *client = getenv("IMPI_CLIENT");
    const char *token = getenv("IMPI_TOKEN");
    if (o->host_world != 0 && (o->impi_server != NULL || o->has_impi_rank || o->joins_world)) {
        pli_say_bad("--host-world and %s exclude each other: a job has one world",
                    o->joins_world ? "--join" : "--impi");
    }
    if (o->host_world != 0 && o->elastic_max > 0) {
        open_world(o);
        return;
    }
    o->host_world = o->host_world == UNSAID_WORLD ? 2 : o->host_world;
    if (o->joins_world && o->has_impi_rank) {
        pli_say_bad("--join and --impi-rank exclude each other: jobs that join are numbered as "
                    "they arrive");
    }
    if (o->host_world > 0 && !o->is_dry) {
        o->impi_server = "the world that is hosted here";
    } else if (o->impi_server == NULL && !o->joins_world && token != NULL && token[0] != '\0') {
        set_token(job, "IMPI_TOKEN", token);
    }
    if (o->joins_world && o->elastic_max > 0) {
        pli_say_bad("--elastic and --join exclude each other: whether the world can grow is said "
                    "where it is hosted");
    }
    if (o->joins_world || o->host_world > 0) {
        return;
    }
    if (o->impi_server == NULL && !o->has_impi_rank && server != NULL && server[0] != '\0') {
        set_impi(job, "IMPI_SERVER", server);
    }
    if (o->impi_server != NULL && !o->has_impi_rank && client != NULL) {
        char *end;
        long v = strtol(client, &end, 10);
        if (end == client || *end != '\0' || v < 0 || v > MAX_CLIENT) {
            pli_say_bad("IMPI_CLIENT needs a whole number from 0 to %d, not '%s'", MAX_CLIENT,
                        client);
        }
        o->impi_rank = (uint32_t)v;
        o->has_impi_rank = true;
    }
    if ((o->impi_server != NULL) != o->has_impi_rank) {
        pli_say_bad("--impi and --impi-rank go together: --impi HOST:PORT --impi-rank K");
    }
    if (o->impi_server != NULL && o->elastic_max > 0) {
        pli_say_bad("--elastic and --impi exclude each other: a job that is part of an IMPI job "
                    "keeps its size");
    }
}

// Ranks that share a process have no place in the world of an IMPI job.
static void check_impi(const struct pli_job *job)
{
    const char *what = job->opt.has_endpoints ? "--endpoints" : NULL;
    for (uint32_t a = 0; a < job->n_app; a++) {
        what = job->apps[a].n_upc > 0            ? "a program of UPC threads"
               : job->apps[a].ranks_per_proc > 1 ? "--ranks-per-proc"
                                                 : what;
    }
    if (job->opt.impi_server != NULL && what != NULL) {
        pli_say_bad("%s is not for a job that is part of an IMPI job", what);
    }
}

// MPICH and Open MPI know this variable too; with them a time that is not above 0 is none.
static void read_timeout(struct pli_options *o)
{
    const char *text = getenv("MPIEXEC_TIMEOUT");
    if (o->timeout > 0 || text == NULL || text[0] == '\0') {
        return;
    }
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds <= 1e8)) {
        pli_say_bad("MPIEXEC_TIMEOUT needs a number of seconds, not '%s'", text);
    }
    o->timeout = seconds > 0 ? seconds : 0;
    o->is_timeout_env = seconds > 0;
}

// Beginners put -n behind the program, which then gets it as its own argument and runs alone. Some
// programs have such an option themselves, so only people at a terminal are told.
static void say_late_count(char **argv)
{
    const char *option = argv[1], *count = option != NULL ? argv[2] : NULL;
    bool is_count = count != NULL && (strcmp(option, "-n") == 0 || strcmp(option, "-np") == 0) &&
                    count[0] != '\0' && count[strspn(count, "0123456789")] == '\0';
    if (is_count && isatty(STDERR_FILENO)) {
        pli_say("%s gets '%s %s' as its own arguments and runs as one rank: options of %s stand "
                "before the program. For %s ranks: %s %s %s %s",
                argv[0], option, count, pli_say_name, count, pli_say_name, option, count, argv[0]);
    }
}

void pli_cmdline_read(struct pli_job *job, int argc, char **argv)
{
    job->opt.grace = -1;
    job->opt.max_restarts = 3;
    job->opt.stdin_rank = 0;
    struct pli_option_reader r = { .tool = pli_say_name,
                                   .table = &pli_mpiexec_options,
                                   .take = take,
                                   .job = job,
                                   .bad = pli_say_bad };
    for (int i = 1; i == 1 || i < argc + 1;) {
        size_t size = (job->n_app + 1) * sizeof *job->apps;
        job->apps = pli_say_need(realloc(job->apps, size));
        job->apps[job->n_app] = (struct pli_app){ .endpoints = 1 };
        r.part = &job->apps[job->n_app++];
        i += read_app(&r, argv + i);
        if (argv[i] == NULL) {
            break;
        }
        argv[i++] = NULL; // the colon ends the arguments of this part
    }
    if (job->opt.restart != NULL && job->from == NULL) {
        return; // to be read once more, with the words of the checkpoint
    }
    pli_foreign_options_say(job);
    pli_upc_groups_read(job);
    pli_hosts_find(job);
    if (job->n_app == 1 && job->apps[0].n_rank == 0) {
        say_late_count(job->apps[0].argv);
    }
    for (uint32_t a = 0; a < job->n_app; a++) {
        job->apps[a].n_rank = job->apps[a].n_rank != 0 ? job->apps[a].n_rank : 1;
        job->apps[a].first = job->n_rank;
        job->n_rank += job->apps[a].n_rank;
        if (job->n_rank > MAX_RANK) {
            pli_say_bad("the parts add up to more than %d ranks", MAX_RANK);
        }
    }
    read_impi(job);
    check_impi(job);
    read_timeout(&job->opt);
    pli_launcher.ckpt_hooks->check_options(job);
    pli_psets_read(job);
    if (job->opt.stdin_rank >= (int64_t)job->n_rank) {
        pli_say_bad("--stdin names rank %lld, but the ranks are 0 to %u",
                    (long long)job->opt.stdin_rank, job->n_rank - 1);
    }
}
