// SPDX-License-Identifier: BSD-3-Clause
// The command line of upcc: one table, from which parsing and --help are made.
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum action {
    A_STAGE_C,
    A_STAGE_OBJ,
    A_STAGE_CPP,
    A_OUTPUT,
    A_THREADS,
    A_PTHREADS,
    A_NO_PTHREADS,
    A_CPP,
    A_BOTH,
    A_CC,
    A_LINK,
    A_INPUT,
    A_VERBOSE,
    A_KEEP,
    A_NO_LINES,
    A_NO_WARN,
    A_WERROR,
    A_EXTERN_MAIN,
    A_DEBUG,
    A_HELP,
    A_VERSION,
    A_IGNORE,
    A_NOTE,
    A_PEDANTIC,
    A_LINK_WITH,
    A_LANGUAGE,
    A_DEPEND,
    A_CHECK,
    A_ASK,
    A_STD,
};

enum form {
    F_EXACT,  // -x
    F_JOINED, // -xVALUE
    F_EITHER, // -xVALUE or -x VALUE
    F_VALUE,  // -x=VALUE or -x VALUE
    F_OPT,    // -x or -x=VALUE
    F_ANY,    // -xVALUE, -x=VALUE or -x VALUE
};

static const struct row {
    const char *text;
    enum form form;
    enum action action;
    const char *help; // NULL: like the one before it
} rows[] = {
    // The first match counts: whole words stand before shorter ones that take text behind them.
    { "-opt", F_EXACT, A_IGNORE, NULL },
    { "-lines", F_EXACT, A_IGNORE, NULL },
    { "-c", F_EXACT, A_STAGE_OBJ, "compile to object files, do not link" },
    { "-E", F_EXACT, A_STAGE_CPP, "preprocess only" },
    { "-S", F_EXACT, A_STAGE_C, "translate only: FILE.trans.c, or -o (- for standard output)" },
    { "-trans", F_EXACT, A_STAGE_C, NULL },
    { "-o", F_EITHER, A_OUTPUT, "name of the result" },
    { "-x", F_EITHER, A_LANGUAGE, "language of the files that follow: upc, c, none (by suffix)" },
    { "-T", F_ANY, A_THREADS, "static THREADS" },
    { "-fupc-threads-", F_JOINED, A_THREADS, NULL },
    { "-fupc-threads", F_VALUE, A_THREADS, NULL },
    { "-fthreads-", F_JOINED, A_THREADS, NULL },
    { "-pthreads", F_OPT, A_PTHREADS, "UPC threads are OS threads (N in each process)" },
    { "-nopthreads", F_EXACT, A_NO_PTHREADS, "UPC threads are processes (the default)" },
    { "-I", F_EITHER, A_CPP, "where to look for headers" },
    { "-D", F_EITHER, A_CPP, "define a macro" },
    { "-U", F_EITHER, A_CPP, "undefine a macro" },
    { "-include", F_EITHER, A_CPP, NULL },
    { "-isystem", F_EITHER, A_CPP, NULL },
    { "-iquote", F_EITHER, A_CPP, NULL },
    { "-idirafter", F_EITHER, A_CPP, NULL },
    { "-MF", F_EITHER, A_CPP, "write dependencies, as cc does with -MD -MF -MT -MP" },
    { "-MT", F_EITHER, A_CPP, NULL },
    { "-MQ", F_EITHER, A_CPP, NULL },
    { "-M", F_EXACT, A_DEPEND, NULL },
    { "-MM", F_EXACT, A_DEPEND, NULL },
    { "-MG", F_EXACT, A_CPP, NULL },
    { "-MD", F_EXACT, A_CPP, NULL },
    { "-MMD", F_EXACT, A_CPP, NULL },
    { "-MP", F_EXACT, A_CPP, NULL },
    { "-imacros", F_EITHER, A_CPP, NULL },
    { "-dumpversion", F_EXACT, A_ASK, NULL },
    { "-dumpmachine", F_EXACT, A_ASK, NULL },
    { "-print-", F_JOINED, A_ASK,
      "-print-include-dir, -print-mpicc, and what the C compiler answers" },
    { "-show-sizes", F_EXACT, A_ASK, "print the sizes and alignments of types" },
    { "-echo-var", F_VALUE, A_ASK, "print a setting: CC, MPI_CC, INCLUDE_DIR, LIB_DIR or VERSION" },
    { "-d", F_JOINED, A_CPP, NULL },
    { "-C", F_EXACT, A_CPP, NULL },
    { "-CC", F_EXACT, A_CPP, NULL },
    { "-P", F_EXACT, A_CPP, NULL },
    { "-undef", F_EXACT, A_CPP, NULL },
    { "-nostdinc", F_EXACT, A_CPP, NULL },
    { "-std=", F_JOINED, A_STD, "language standard of the C underneath, C99 or later" },
    { "-ansi", F_EXACT, A_STD, NULL },
    // The C that is compiled is GNU C in any case.
    { "-pedantic", F_EXACT, A_PEDANTIC, NULL },
    { "-pedantic-errors", F_EXACT, A_PEDANTIC, NULL },
    { "-pipe", F_EXACT, A_IGNORE, NULL },
    { "-fsyntax-only", F_EXACT, A_CHECK, NULL },
    { "-O", F_JOINED, A_BOTH, "optimise" },
    { "-fupc-debug", F_EXACT, A_DEBUG,
      "check every shared access: wild pointers name file and line" },
    { "-g", F_JOINED, A_BOTH, "debug information; lines are those of the UPC source" },
    { "-f", F_JOINED, A_BOTH, "-f... -m... -W...: handed to the C compiler" },
    { "-m", F_JOINED, A_BOTH, NULL },
    { "-pg", F_EXACT, A_BOTH, NULL },
    { "-Wu,", F_JOINED, A_NOTE, NULL },
    { "-Ww,", F_JOINED, A_NOTE, NULL },
    { "-Wp,", F_JOINED, A_CPP, "-Wp, -Wc, -Wl,: for one stage only" },
    { "-Wc,", F_JOINED, A_CC, NULL },
    { "-Wl,", F_JOINED, A_LINK, NULL },
    { "-Werror", F_EXACT, A_WERROR, "warnings are errors" },
    { "-W", F_JOINED, A_BOTH, NULL },
    { "-w", F_EXACT, A_NO_WARN, "no warnings" },
    { "-link-with", F_VALUE, A_LINK_WITH, "the command that links, instead of the C compiler" },
    { "-link-cache", F_EXACT, A_IGNORE, NULL },
    { "-l", F_EITHER, A_INPUT, "link with a library" },
    { "-L", F_EITHER, A_LINK, "where to look for libraries" },
    { "-s", F_EXACT, A_LINK, NULL },
    { "-pie", F_EXACT, A_LINK, NULL },
    { "-no-pie", F_EXACT, A_LINK, NULL },
    { "-nostartfiles", F_EXACT, A_LINK, NULL },
    { "-nodefaultlibs", F_EXACT, A_LINK, NULL },
    { "-nostdlib", F_EXACT, A_LINK, NULL },
    { "-static-libgcc", F_EXACT, A_LINK, NULL },
    { "-Xlinker", F_EITHER, A_LINK, NULL },
    { "-z", F_EITHER, A_LINK, NULL },
    { "-u", F_EITHER, A_LINK, NULL },
    { "-B", F_EITHER, A_BOTH, NULL },
    { "-static", F_EXACT, A_LINK, NULL },
    { "-shared", F_EXACT, A_LINK, NULL },
    { "-rdynamic", F_EXACT, A_LINK, NULL },
    { "-pthread", F_EXACT, A_BOTH, NULL },
    { "-extern-main", F_EXACT, A_EXTERN_MAIN,
      "main comes from a C object and calls pli_upc_run(argc, argv)" },
    { "-no-lines", F_EXACT, A_NO_LINES, "no line directives in the C text" },
    { "-nolines", F_EXACT, A_NO_LINES, NULL },
    { "-save-temps", F_EXACT, A_KEEP, "keep the intermediate files" },
    { "-save-all-temps", F_EXACT, A_KEEP, NULL },
    { "-nosave-temps", F_EXACT, A_IGNORE, NULL },
    { "-network", F_VALUE, A_IGNORE,
      "also -uses-mpi -opt -lines: accepted for other compilers' sake, no effect" },
    { "-nolink-cache", F_EXACT, A_IGNORE, NULL },
    { "-smart-output", F_EXACT, A_NOTE, NULL },
    { "-conf", F_VALUE, A_NOTE, NULL },
    { "-uses-mpi", F_EXACT, A_IGNORE, NULL },
    { "-shared-heap", F_VALUE, A_IGNORE, NULL },
    { "-shared-heap-max", F_VALUE, A_IGNORE, NULL },
    { "-heap-offset", F_VALUE, A_IGNORE, NULL },
    { "-norc", F_EXACT, A_IGNORE, NULL },
    { "-v", F_EXACT, A_VERBOSE, "show the commands" },
    { "-vv", F_EXACT, A_VERBOSE, NULL },
    { "-version", F_EXACT, A_VERSION, "what this is" },
    { "-V", F_EXACT, A_VERSION, NULL },
    { "-help", F_EXACT, A_HELP, "this text" },
    { "-h", F_EXACT, A_HELP, NULL },
};

void pli_job_help(void)
{
    printf("usage: upcc [options] file...\n"
           "Compile UPC (.upc, .c) and link it with the Pliant UPC runtime.\n"
           "Words of more than one letter take one dash or two.\n\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].help != NULL) {
            const char *arg = rows[i].form == F_EITHER                           ? " X"
                              : rows[i].form == F_VALUE || rows[i].form == F_ANY ? "=N"
                              : rows[i].form == F_OPT                            ? "[=N]"
                                                                                 : "";
            printf("  %s%-*s %s\n", rows[i].text, (int)(16 - strlen(rows[i].text)), arg,
                   rows[i].help);
        }
    }
    printf("\nEnvironment: CC the C compiler underneath (default cc), UPCC_FLAGS more options in\n"
           "front, UPCC_FIXED_THREADS as -T. Exit status: 0 done, 1 errors, 2 wrong use.\n");
}

static bool ends_with(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n > m && strcmp(path + n - m, suffix) == 0;
}

enum kind pli_job_kind(const struct job *j, size_t input)
{
    const char *path = j->inputs.argv[input], *lang = j->langs.argv[input];
    if (path[0] == '-' && path[1] != '\0') {
        return KIND_LINK;
    }
    if (strcmp(lang, "none") != 0) {
        return strcmp(lang, "c") == 0 ? KIND_C : KIND_UPC;
    }
    return ends_with(path, ".trans.c")                        ? KIND_TRANS
           : ends_with(path, ".c") || ends_with(path, ".upc") ? KIND_UPC
           : ends_with(path, ".s") || ends_with(path, ".S")   ? KIND_OTHER
           : ends_with(path, ".i")                            ? KIND_OTHER
                                                              : KIND_LINK;
}

static void add_input(struct job *j, const char *text)
{
    pli_cmd_add(&j->inputs, text);
    pli_cmd_add(&j->langs, j->language);
}

static bool set_language(struct job *j, const char *text)
{
    static const char *const known[] = { "upc", "c", "none" };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(text, known[i]) == 0) {
            j->language = known[i];
            return true;
        }
    }
    fprintf(stderr, "upcc: -x knows the languages upc, c and none (by suffix), not '%s'\n", text);
    return false;
}

// UPC is C99 and more.
static bool set_standard(struct job *j, const char *arg)
{
    if (strcmp(arg, "-ansi") == 0 || strstr(arg, "90") != NULL || strstr(arg, "89") != NULL) {
        fprintf(stderr, "upcc: UPC needs C99 or later; %s is older\n", arg);
        return false;
    }
    pli_cmd_add(&j->both, arg);
    return true;
}

static bool set_pthreads(struct job *j, const char *text)
{
    char *end;
    long n = text == NULL ? 0 : strtol(text, &end, 10);
    if (text != NULL && (*text == '\0' || *end != '\0' || n < 0 || n > 1024)) {
        fprintf(stderr, "upcc: -pthreads needs a number from 1 to 1024, not '%s'\n", text);
        return false;
    }
    j->pthreads = text != NULL && n == 0 ? -1 : (int)n; // -pthreads=0: processes
    return true;
}

static bool set_threads(struct job *j, const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || n < 1 || n > 1024) {
        fprintf(stderr, "upcc: -T needs a number from 1 to 1024, not '%s'\n", text);
        return false;
    }
    j->threads = (int)n;
    return true;
}

static void keep_option(struct cmd *c, const struct row *r, const char *arg, const char *value)
{
    pli_cmd_add(c, arg);
    if (value != NULL && r->form == F_EITHER && strcmp(arg, r->text) == 0) {
        pli_cmd_add(c, value);
    }
}

// -Wc,X: the text behind the comma goes to the compiler.
static void stage_option(struct job *j, const struct row *r, const char *arg, const char *value)
{
    switch (r->action) {
    case A_CPP:
        keep_option(&j->cpp, r, arg, value);
        break;
    case A_BOTH:
        keep_option(&j->both, r, arg, value);
        break;
    case A_CC:
        pli_cmd_add(&j->cc, strncmp(arg, "-Wc,", 4) == 0 ? arg + 4 : arg);
        break;
    case A_LINK:
        keep_option(&j->link, r, arg, value);
        break;
    default:
        pli_cmd_addf(&j->inputs, "%s%s", arg, strcmp(arg, r->text) == 0 ? value : "");
        pli_cmd_add(&j->langs, "none");
    }
}

// Of what is not ISO C, arithmetic on void * is often a mistake.
static void be_pedantic(struct job *j, const char *arg)
{
    bool is_error = strcmp(arg, "-pedantic-errors") == 0;
    pli_cmd_add(&j->cpp, arg);
    pli_cmd_add(&j->cc, is_error ? "-Werror=pointer-arith" : "-Wpointer-arith");
}

static bool act(struct job *j, const struct row *r, const char *arg, const char *value)
{
    switch (r->action) {
    case A_STAGE_C:
        j->stage = STAGE_C;
        break;
    case A_STAGE_OBJ:
        j->stage = j->stage > STAGE_OBJECT ? j->stage : STAGE_OBJECT;
        break;
    case A_STAGE_CPP:
        j->stage = STAGE_PREPROCESS;
        break;
    case A_OUTPUT:
        j->output = value;
        break;
    case A_THREADS:
        return set_threads(j, value);
    case A_PTHREADS:
        return set_pthreads(j, value);
    case A_NO_PTHREADS:
        j->pthreads = -1;
        break;
    case A_VERBOSE:
        j->verbose = true;
        break;
    case A_KEEP:
        j->keep = true;
        break;
    case A_NO_LINES:
        j->no_lines = true;
        break;
    case A_NO_WARN:
        j->no_warn = true;
        break;
    case A_WERROR:
        j->warn_error = true;
        break;
    case A_EXTERN_MAIN:
        j->extern_main = true;
        break;
    case A_DEBUG:
        j->debug = true;
        break;
    case A_HELP:
        j->help = true;
        break;
    case A_VERSION:
        j->version = true;
        break;
    case A_IGNORE:
        break;
    case A_NOTE:
        fprintf(stderr, "upcc: note: %s is for another compiler and has no effect here\n", arg);
        break;
    case A_PEDANTIC:
        be_pedantic(j, arg);
        break;
    case A_LINK_WITH:
        j->linker = value;
        break;
    case A_LANGUAGE:
        return set_language(j, value);
    case A_STD:
        return set_standard(j, arg);
    case A_DEPEND:
        j->stage = STAGE_PREPROCESS;
        pli_cmd_add(&j->cpp, arg);
        break;
    case A_CHECK:
        j->is_check = true;
        j->stage = j->stage > STAGE_OBJECT ? j->stage : STAGE_OBJECT;
        break;
    case A_ASK:
        j->ask = arg;
        j->ask_value = value;
        break;
    default:
        stage_option(j, r, arg, value);
    }
    return true;
}

// Does the row match? *value is what follows in the same word, *next whether the next word counts.
static bool matches(const struct row *r, const char *arg, const char **value, bool *next)
{
    size_t n = strlen(r->text);
    *value = NULL;
    *next = false;
    if (strncmp(arg, r->text, n) != 0) {
        return false;
    }
    const char *rest = arg + n;
    switch (r->form) {
    case F_EXACT:
        return *rest == '\0';
    case F_JOINED:
        *value = rest;
        return true;
    case F_EITHER:
        *value = rest;
        *next = *rest == '\0';
        return true;
    case F_VALUE:
        *value = *rest == '=' ? rest + 1 : NULL;
        *next = *rest == '\0';
        return *rest == '=' || *rest == '\0';
    case F_OPT:
        *value = *rest == '=' ? rest + 1 : NULL;
        return *rest == '=' || *rest == '\0';
    case F_ANY:
        *value = rest + (*rest == '=');
        *next = *rest == '\0';
        return true;
    }
    return false;
}

static bool one_option(struct job *j, int argc, char **argv, int *i)
{
    const char *arg = argv[*i];
    if (arg[0] == '-' && arg[1] == '-' && arg[2] != '\0') {
        arg++;
    }
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        const char *value;
        bool next;
        if (!matches(&rows[k], arg, &value, &next)) {
            continue;
        }
        if (next) {
            if (*i + 1 >= argc) {
                fprintf(stderr, "upcc: %s needs an argument\n", argv[*i]);
                return false;
            }
            value = argv[++*i];
        }
        return act(j, &rows[k], arg, value);
    }
    fprintf(stderr, "upcc: unknown option %s; see upcc --help\n", argv[*i]);
    return false;
}

bool pli_job_parse(struct job *j, int argc, char **argv)
{
    *j = (struct job){ .pthreads = -1, .language = "none" };
    const char *fixed = getenv("UPCC_FIXED_THREADS");
    if (fixed != NULL && !set_threads(j, fixed)) {
        return false;
    }
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-' || argv[i][1] == '\0') {
            add_input(j, argv[i]);
        } else if (!one_option(j, argc, argv, &i)) {
            return false;
        }
    }
    return true;
}

// The folder of a source; NULL: standard input has none.
static char *folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (strcmp(path, "-") == 0) {
        return NULL;
    }
    return slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static bool is_same(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

char *pli_job_folder(const struct job *j, const char *src)
{
    char *dir = folder(src);
    for (size_t i = 0; dir != NULL && i < j->cpp.n; i++) {
        const char *a = j->cpp.argv[i], *next = i + 1 < j->cpp.n ? j->cpp.argv[i + 1] : "";
        bool is_apart = strcmp(a, "-I") == 0 || strcmp(a, "-isystem") == 0;
        if (is_same(dir, is_apart ? next : strncmp(a, "-I", 2) == 0 ? a + 2 : "")) {
            free(dir);
            dir = NULL;
        }
    }
    return dir;
}
