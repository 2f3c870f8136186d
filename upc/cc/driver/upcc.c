// SPDX-License-Identifier: BSD-3-Clause
// upcc: preprocess, translate, compile, link.
#include "upcc_args.h"
#include "report.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct tools {
    char dir[PATH_MAX];     // of this program
    char include[PATH_MAX]; // of upc.h
    char mpi[PATH_MAX];     // of mpi.h
    char lib[PATH_MAX];     // of the runtime
    char translate[PATH_MAX];
    const char *cc;
    const char *runtime; // words for the linker
};

static bool exists(const char *path)
{
    return access(path, R_OK) == 0;
}

// Whether a file to compile can be read; "-" is standard input.
static bool is_readable(const char *path)
{
    struct stat st;
    if (strcmp(path, "-") == 0) {
        return true;
    }
    bool is_dir = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    if (is_dir || access(path, R_OK) != 0) {
        fprintf(stderr, "upcc: cannot read %s: %s\n", path, strerror(is_dir ? EISDIR : errno));
        return false;
    }
    return true;
}

// The C compiler that CC names. "make CC=upcc" puts upcc itself there.
static const char *underneath(const char *cc)
{
    for (const char *p = cc; p != NULL && *p != '\0';) {
        size_t len = strcspn(p, " \t");
        bool is_own = len >= 4 && strncmp(p + len - 4, "upcc", 4) == 0;
        if (is_own && (len == 4 || p[len - 5] == '/')) {
            return "cc";
        }
        p += len + strspn(p + len, " \t");
    }
    return cc == NULL || *cc == '\0' ? "cc" : cc;
}

// Beside bin/ there are include/upc and the libraries, also in a build tree.
static bool find_tools(struct tools *t)
{
    ssize_t n = readlink("/proc/self/exe", t->dir, sizeof t->dir - 1);
    if (n < 0) {
        perror("upcc: cannot find its own path");
        return false;
    }
    t->dir[n] = '\0';
    *strrchr(t->dir, '/') = '\0';
    snprintf(t->translate, sizeof t->translate, "%.3000s/upcc-translate", t->dir);
    snprintf(t->include, sizeof t->include, "%.3000s/../include/upc", t->dir);
    const char *over = getenv("UPCC_INCLUDE");
    if (over != NULL) {
        snprintf(t->include, sizeof t->include, "%s", over);
    }
    snprintf(t->mpi, sizeof t->mpi, "%.3000s/../include", t->dir);
    snprintf(t->lib, sizeof t->lib, "%.3000s/../" PLI_UPC_LIBDIR, t->dir);
    if (!exists(t->lib)) {
        snprintf(t->lib, sizeof t->lib, "%.3000s/../lib", t->dir);
    }
    t->cc = underneath(getenv("CC"));
    t->runtime = getenv("UPCC_RUNTIME");
    if (!exists(t->translate) || !exists(t->include)) {
        fprintf(stderr, "upcc: %s is missing; the installation is not complete\n",
                exists(t->translate) ? t->include : t->translate);
        return false;
    }
    return true;
}

// An intermediate file without a name in any folder: the commands inherit it, and it is gone with
// the last of them, however they end. Returns the descriptor.
static int temporary(const char *what, char *path, size_t cap)
{
    int fd = memfd_create(what, 0);
    if (fd < 0) {
        perror("upcc: cannot make a temporary file");
        exit(1);
    }
    snprintf(path, cap, "/proc/self/fd/%d", fd);
    return fd;
}

// The name of a source without folder and suffix.
static char *stem(const char *path)
{
    const char *base = strrchr(path, '/');
    char *s = strdup(base == NULL ? path : base + 1);
    char *dot = s == NULL ? NULL : strrchr(s, '.');
    if (dot != NULL) {
        *dot = '\0';
    }
    return s;
}

static void add_macros(struct cmd *c, const struct job *j)
{
    static const char *const always[] = { "-D__UPC__=1",
                                          "-D__UPC_VERSION__=201311L",
                                          "-DUPC_MAX_BLOCK_SIZE=1048575",
                                          "-D__UPC_COLLECTIVE__=1",
                                          "-D__UPC_TICK__=1",
                                          "-D__UPC_ATOMIC__=1",
                                          "-D__UPC_NB__=1",
                                          "-D__UPC_CASTABLE__=1",
                                          "-D__UPC_IO__=1",
                                          "-D__UPC_HYBRID__=1",
                                          "-D__UPC_PUPC__=1" };
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
        pli_cmd_add(c, always[i]);
    }
    if (j->inst) {
        pli_cmd_add(c, "-D__UPC_PUPC_INST__=1");
    }
    if (j->threads > 0) {
        pli_cmd_add(c, "-D__UPC_STATIC_THREADS__=1");
        pli_cmd_addf(c, "-DTHREADS=%d", j->threads);
    } else {
        pli_cmd_add(c, "-D__UPC_DYNAMIC_THREADS__=1");
    }
}

// -MD and its like, with the names cc would choose: out.d and out.o beside each other.
static void add_dependencies(struct cmd *c, const struct job *j, const char *src)
{
    bool is_wanted = false, has_target = false, has_file = false;
    for (size_t i = 0; i < j->cpp.n; i++) {
        const char *a = j->cpp.argv[i];
        is_wanted |= strcmp(a, "-MD") == 0 || strcmp(a, "-MMD") == 0;
        has_target |= strcmp(a, "-MT") == 0 || strcmp(a, "-MQ") == 0;
        has_file |= strncmp(a, "-MF", 3) == 0;
    }
    if (!is_wanted) {
        return;
    }
    bool is_named = j->stage == STAGE_OBJECT && j->output != NULL;
    char *base = is_named ? strdup(j->output) : stem(src);
    char *dot = strrchr(base, '.');
    if (is_named && dot != NULL && strchr(dot, '/') == NULL) {
        *dot = '\0';
    }
    if (!has_target) {
        pli_cmd_add(c, "-MT");
        pli_cmd_addf(c, "%s%s", is_named ? j->output : base, is_named ? "" : ".o");
    }
    if (!has_file) {
        pli_cmd_add(c, "-MF");
        pli_cmd_addf(c, "%s.d", base);
    }
    free(base);
}

static int preprocess(const struct job *j, const struct tools *t, bool is_c, const char *src,
                      const char *out)
{
    struct cmd c = { 0 };
    pli_cmd_words(&c, t->cc);
    pli_cmd_add(&c, "-E");
    if (j->stage != STAGE_PREPROCESS) {
        pli_cmd_add(&c, "-dD"); // the translator looks for definitions of MYTHREAD and the like
    }
    if (!is_c) {
        add_macros(&c, j);
    }
    pli_cmd_all(&c, &j->both);
    pli_cmd_all(&c, &j->cpp);
    add_dependencies(&c, j, src);
    pli_cmd_add(&c, "-isystem");
    pli_cmd_add(&c, t->include);
    if (j->pthreads >= 0) {
        pli_cmd_addf(&c, "-isystem");
        pli_cmd_addf(&c, "%s/pthreads", t->include); // mpi.h, where MPI_COMM_WORLD is the thread's
    }
    pli_cmd_add(&c, "-isystem");
    pli_cmd_add(&c, t->mpi);
    char *beside = pli_upcc_args_folder(j, src);
    if (beside != NULL) {
        pli_cmd_add(&c, "-idirafter");
        pli_cmd_addf(&c, "%s", beside);
        free(beside);
    }
    pli_cmd_add(&c, "-x");
    pli_cmd_add(&c, "c");
    pli_cmd_add(&c, src);
    if (out != NULL) {
        pli_cmd_add(&c, "-o");
        pli_cmd_add(&c, out);
    }
    return pli_cmd_run(&c, j->verbose);
}

static int translate(const struct job *j, const struct tools *t, bool is_c, const char *src,
                     const char *in, const char *out, const char *map)
{
    struct cmd c = { 0 };
    pli_cmd_add(&c, t->translate);
    if (map != NULL) {
        pli_cmd_add(&c, "-map");
        pli_cmd_add(&c, map);
    }
    if (is_c) {
        pli_cmd_add(&c, "-c-code");
    }
    if (j->threads > 0) {
        pli_cmd_addf(&c, "-T=%d", j->threads);
    }
    if (j->pthreads >= 0) {
        pli_cmd_add(&c, "-pthreads");
    }
    char *beside = pli_upcc_args_folder(j, src);
    if (beside != NULL) {
        pli_cmd_add(&c, "-beside");
        pli_cmd_addf(&c, "%s", beside);
        free(beside);
    }
    if (j->no_lines) {
        pli_cmd_add(&c, "-no-lines");
    }
    if (j->no_warn) {
        pli_cmd_add(&c, "-w");
    }
    if (j->warn_error) {
        pli_cmd_add(&c, "-Werror");
    }
    if (out != NULL) {
        pli_cmd_add(&c, "-o");
        pli_cmd_add(&c, out);
    }
    pli_cmd_add(&c, in);
    return pli_cmd_run(&c, j->verbose);
}

static char *read_fd(int fd)
{
    off_t len = lseek(fd, 0, SEEK_END);
    char *text = calloc(1, (size_t)len + 1);
    if (text == NULL || pread(fd, text, (size_t)len, 0) != len) {
        perror("upcc: cannot read the messages of the C compiler");
        exit(1);
    }
    return text;
}

// Run the C compiler on translated text; its messages are reported in terms of the UPC text.
static int run_and_report(const struct cmd *c, const struct job *j, int map, bool is_bare)
{
    char path[64];
    int err = temporary("upcc.err", path, sizeof path);
    int rc = pli_cmd_run_to(c, j->verbose, err);
    char *said = read_fd(err), *places = read_fd(map);
    pli_report_print(said, places, is_bare);
    free(said);
    free(places);
    close(err);
    return rc;
}

// src is the name of the unit in debug information. is_c: whatever the suffix. map: -1, there is
// none.
static int compile(const struct job *j, const struct tools *t, bool is_c, const char *src,
                   const char *in, const char *out, int map)
{
    struct cmd c = { 0 };
    pli_cmd_words(&c, t->cc);
    pli_cmd_add(&c, "-c");
    pli_cmd_add(&c, "-pipe"); // no files between the compiler and the assembler either
    pli_cmd_add(&c,
                "-fcommon"); // int x; in several files is one object, unless -fno-common follows
    pli_cmd_all(&c, &j->both);
    pli_cmd_all(&c, &j->cc);
    if (j->no_warn) {
        pli_cmd_add(&c, "-w");
    }
    if (j->warn_error) {
        pli_cmd_add(&c, "-Werror");
    }
    pli_cmd_addf(&c, "-DPLI_UPC_STATIC_THREADS=%d", j->threads);
    pli_cmd_addf(&c, "-DPLI_UPC_PTHREADS=%d", j->pthreads >= 0);
    pli_cmd_addf(&c, "-DPLI_UPC_PTHREADS_EACH=%d", j->pthreads > 0 ? j->pthreads : 0);
    if (j->debug) {
        pli_cmd_add(&c, "-DPLI_UPC_CHECK=1");
    }
    if (j->is_check) {
        pli_cmd_add(&c, "-fsyntax-only");
    }
    pli_cmd_add(&c, "-isystem"); // no warnings about the headers of the runtime
    pli_cmd_add(&c, t->include);
    if (in != src) {
        pli_cmd_addf(&c, "-fdebug-prefix-map=%s=%s", in, src);
    }
    if (is_c) {
        pli_cmd_add(&c, "-x");
        pli_cmd_add(&c, "c");
    }
    pli_cmd_add(&c, in);
    if (!j->is_check) {
        pli_cmd_add(&c, "-o");
        pli_cmd_add(&c, out);
    }
    bool is_bare = strstr(t->cc, "clang") != NULL;
    if (map >= 0 && is_bare) {
        pli_cmd_add(&c, "-fno-caret-diagnostics");
    }
    return map >= 0 ? run_and_report(&c, j, map, is_bare) : pli_cmd_run(&c, j->verbose);
}

// One source down to the stage asked for. object is where the result goes.
static int build(const struct job *j, const struct tools *t, size_t input, const char *object)
{
    const char *src = j->inputs.argv[input];
    enum kind kind = pli_upcc_args_kind(j, input);
    if (!is_readable(src)) {
        return 1;
    }
    if (kind == KIND_TRANS || kind == KIND_OTHER) {
        return compile(j, t, kind == KIND_TRANS, src, src, object, -1);
    }
    char pre[PATH_MAX], c[PATH_MAX];
    char *base = stem(src);
    int fds[2] = { -1, -1 };
    if (j->keep) {
        snprintf(pre, sizeof pre, "%.200s.i", base);
        snprintf(c, sizeof c, "%.200s.trans.c", base);
    } else {
        fds[0] = temporary("upcc.i", pre, sizeof pre);
        fds[1] = temporary("upcc.c", c, sizeof c);
    }
    int rc;
    if (j->stage == STAGE_PREPROCESS) {
        rc = preprocess(j, t, kind == KIND_C, src, j->output);
    } else {
        rc = preprocess(j, t, kind == KIND_C, src, pre);
        if (rc == 0 && j->stage == STAGE_C) {
            char trans[PATH_MAX];
            snprintf(trans, sizeof trans, "%.200s.trans.c", base);
            bool to_stdout = j->output != NULL && strcmp(j->output, "-") == 0;
            rc = translate(j, t, kind == KIND_C, src, pre,
                           to_stdout           ? NULL
                           : j->output != NULL ? j->output
                                               : trans,
                           NULL);
        } else if (rc == 0) {
            char map[64];
            int fd = temporary("upcc.map", map, sizeof map);
            rc = translate(j, t, kind == KIND_C, src, pre, c, map);
            rc = rc == 0 ? compile(j, t, true, src, c, object, fd) : rc;
            close(fd);
        }
    }
    for (int i = 0; i < 2 && !j->keep; i++) {
        close(fds[i]);
    }
    free(base);
    return rc;
}

static bool is_given(const struct cmd *c, const char *word)
{
    for (size_t i = 0; i < c->n; i++) {
        if (strcmp(c->argv[i], word) == 0) {
            return true;
        }
    }
    return false;
}

// The calls of UPC code that a GASP tool is told of (upc/rt/link/upc_gasp_calls.c). A tool in an
// archive is linked though nothing else needs it.
static void add_tool_words(struct cmd *c)
{
    static const char *const calls[] = {
        "notify",         "wait",           "barrier",       "free",
        "all_free",       "lock_free",      "all_lock_free", "lock",
        "unlock",         "lock_attempt",   "memget",        "memput",
        "memcpy",         "memset",         "all_broadcast", "all_scatter",
        "all_gather",     "all_gather_all", "all_exchange",  "all_permute",
        "global_alloc",   "all_alloc",      "alloc",         "global_lock_alloc",
        "all_lock_alloc", "global_exit",
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        pli_cmd_addf(c, "-Wl,--wrap=pli_upc_%s", calls[i]);
    }
    pli_cmd_words(c, "-Wl,-u,gasp_init,-u,gasp_event_notify,-u,gasp_event_notifyVA");
    pli_cmd_words(c, "-Wl,-u,gasp_control,-u,gasp_create_event");
}

static int link_all(const struct job *j, const struct tools *t, const struct cmd *objects)
{
    struct cmd c = { 0 };
    pli_cmd_words(&c, j->linker != NULL ? j->linker : t->cc);
    pli_cmd_all(&c, &j->both);
    pli_cmd_all(&c, &j->link);
    pli_cmd_add(&c, "-o");
    pli_cmd_add(&c, j->output == NULL ? "a.out" : j->output);
    pli_cmd_all(&c, objects);
    const char *kind = j->pthreads >= 0 ? "_pt" : "";
    if (t->runtime != NULL) {
        pli_cmd_words(&c, t->runtime);
    } else {
        pli_cmd_addf(&c, "-L%s", t->lib);
        pli_cmd_addf(&c, "-Wl,-rpath,%s", t->lib);
        if (!is_given(&j->link, "-shared")) { // a library uses what the program has
            pli_cmd_addf(&c, "-lupc%s", kind);
        }
        pli_cmd_add(&c, "-lmpi_abi");
        pli_cmd_add(&c, "-lm"); // as programs for other UPC compilers count on
    }
    if (j->pthreads >= 0) {
        pli_cmd_add(&c, "-pthread");
        pli_cmd_add(&c, "-Wl,--wrap=exit"); // ends one UPC thread, not the process
        pli_cmd_words(&c, "-Wl,--wrap=rand,--wrap=srand,--wrap=random,--wrap=srandom"); // of each
        pli_cmd_words(&c, "-Wl,--wrap=drand48,--wrap=lrand48,--wrap=mrand48,--wrap=srand48");
    }
    if (j->inst) {
        add_tool_words(&c);
    }
    if (is_given(&j->link, "-static")) {
        pli_cmd_words(&c, "-lpthread -ldl -lm"); // behind what needs them
    }
    return pli_cmd_run(&c, j->verbose);
}

// A file for the linker, which is not called. False: the file does not exist.
static bool not_linked(const char *in)
{
    if (in[0] != '-' && !is_readable(in)) {
        return false;
    }
    if (in[0] != '-') {
        fprintf(stderr,
                "upcc: warning: %s is not used: nothing is linked, and its suffix names no "
                "language; see -x\n",
                in);
    }
    return true;
}

static int run_job(const struct job *j, const struct tools *t)
{
    struct cmd objects = { 0 };
    int rc = 0, n_source = 0;
    for (size_t i = 0; i < j->inputs.n; i++) {
        n_source += pli_upcc_args_kind(j, i) != KIND_LINK;
    }
    if (n_source > 1 && j->stage != STAGE_LINK && j->output != NULL) {
        fprintf(stderr, "upcc: -o with several files needs linking\n");
        return 2;
    }
    for (size_t i = 0; i < j->inputs.n; i++) {
        const char *in = j->inputs.argv[i];
        if (strcmp(in, "-") == 0 && strcmp(j->langs.argv[i], "none") == 0) {
            fprintf(stderr, "upcc: -x upc or -x c must say what comes from standard input\n");
            return 2;
        }
        if (pli_upcc_args_kind(j, i) == KIND_LINK) {
            rc = j->stage == STAGE_LINK || not_linked(in) ? rc : 1;
            pli_cmd_add(&objects, in);
            continue;
        }
        char *base = stem(in);
        if (j->stage == STAGE_LINK) {
            char path[64];
            temporary("upcc.o", path, sizeof path); // open until the linker has seen it
            pli_cmd_addf(&objects, "%s", path);
        } else if (j->output != NULL) {
            pli_cmd_add(&objects, j->output);
        } else {
            pli_cmd_addf(&objects, "%s.o", base);
        }
        int one = build(j, t, i, objects.argv[objects.n - 1]);
        rc = rc == 0 ? one : rc;
        free(base);
    }
    if (rc == 0 && j->stage == STAGE_LINK) {
        rc = link_all(j, t, &objects);
    }
    return rc > 2 ? 1 : rc;
}

#define SIZE(type)                                                                                 \
    {                                                                                              \
#type, sizeof(type), _Alignof(type)                                                        \
    }

static int show_sizes(void)
{
    static const struct {
        const char *name;
        size_t size, align;
    } all[] = { SIZE(char),      SIZE(short),  SIZE(int),      SIZE(long),
                SIZE(long long), SIZE(float),  SIZE(double),   SIZE(long double),
                SIZE(void *),    SIZE(size_t), SIZE(ptrdiff_t) };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        printf("%-12s %2zu %2zu\n", all[i].name, all[i].size, all[i].align);
    }
    printf("%-12s %2zu %2zu\n", "shared void *", sizeof(uint64_t), _Alignof(uint64_t));
    return 0;
}

static int echo_variable(const struct tools *t, const char *name)
{
    char mpicc[PATH_MAX + 8];
    snprintf(mpicc, sizeof mpicc, "%s/mpicc", t->dir);
    const char *const all[][2] = { { "CC", t->cc },
                                   { "MPI_CC", mpicc },
                                   { "INCLUDE_DIR", t->include },
                                   { "LIB_DIR", t->lib },
                                   { "VERSION", PLIANT_VERSION } };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(name, all[i][0]) == 0) {
            puts(all[i][1]);
            return 0;
        }
    }
    fprintf(stderr, "upcc: note: there is no setting %s; see upcc --help\n", name);
    puts("");
    return 0;
}

// Some questions are about us, all others about the C compiler.
static int answer(const struct job *j, const struct tools *t)
{
    struct cmd c = { 0 };
    if (strcmp(j->ask, "-print-include-dir") == 0) {
        return echo_variable(t, "INCLUDE_DIR");
    }
    if (strcmp(j->ask, "-print-mpicc") == 0) {
        return echo_variable(t, "MPI_CC");
    }
    if (strcmp(j->ask, "-show-sizes") == 0) {
        return show_sizes();
    }
    if (strncmp(j->ask, "-echo-var", 9) == 0) {
        return echo_variable(t, j->ask_value);
    }
    pli_cmd_words(&c, t->cc);
    pli_cmd_add(&c, j->ask);
    return pli_cmd_run(&c, j->verbose);
}

int main(int argc, char **argv)
{
    struct cmd args = { 0 };
    pli_cmd_add(&args, argv[0]);
    pli_cmd_words(&args, PLI_UPC_FLAGS);
    const char *flags = getenv("UPCC_FLAGS");
    if (flags != NULL) {
        pli_cmd_words(&args, flags);
    }
    for (int i = 1; i < argc; i++) {
        pli_cmd_expand(&args, argv[i], 0);
    }
    struct job job;
    pli_upcc_args_read(&job, args.argv + 1);
    if (job.help) {
        pli_upcc_args_help();
        return 0;
    }
    if (job.version) {
        puts("upcc (Pliant MPI), UPC 1.3");
        return 0;
    }
    if (job.inputs.n == 0 && job.ask == NULL) {
        fprintf(stderr, "upcc: no input files; see upcc --help\n");
        return 2;
    }
    struct tools tools = { 0 };
    if (!find_tools(&tools)) {
        return 1;
    }
    if (job.ask != NULL) {
        return answer(&job, &tools);
    }
    return run_job(&job, &tools);
}
