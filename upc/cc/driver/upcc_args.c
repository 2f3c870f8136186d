// SPDX-License-Identifier: BSD-3-Clause
// Reads the command line of upcc: the options of upcc.opt, and the files between them.
#include "upcc_args.h"

#include "upcc_options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool ends_with(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n > m && strcmp(path + n - m, suffix) == 0;
}

enum kind pli_upcc_args_kind(const struct job *j, size_t input)
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

static _Noreturn void __attribute__((format(printf, 1, 2))) bad(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("upcc: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(2);
}

static struct job *job_of(const struct pli_option_use *use)
{
    return use->reader->job;
}

// The word as cc knows it, with one dash.
static const char *one_dash(const struct pli_option_use *use)
{
    return use->word + (use->word[1] == '-' ? 1 : 0);
}

static void take_language(struct pli_option_use *use)
{
    static const char *const known[] = { "upc", "c", "none" };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(use->text, known[i]) == 0) {
            job_of(use)->language = known[i];
            return;
        }
    }
    bad("-x knows the languages upc, c and none (by suffix), not '%s'", use->text);
}

// UPC is C99 and more.
static void take_standard(struct pli_option_use *use)
{
    const char *word = one_dash(use);
    if (strcmp(word, "-ansi") == 0 || strstr(word, "90") != NULL || strstr(word, "89") != NULL) {
        bad("UPC needs C99 or later; %s is older", word);
    }
    pli_cmd_add(&job_of(use)->both, word);
}

static void take_pthreads(struct pli_option_use *use)
{
    const char *text = use->text;
    char *end;
    long n = text == NULL ? 0 : strtol(text, &end, 10);
    if (text != NULL && (*text == '\0' || *end != '\0' || n < 0 || n > 1024)) {
        bad("-pthreads needs a number from 1 to 1024, not '%s'", text);
    }
    job_of(use)->pthreads = text != NULL && n == 0 ? -1 : (int)n; // -pthreads=0: processes
}

static void take_nopthreads(struct pli_option_use *use)
{
    job_of(use)->pthreads = -1;
}

static void set_threads(struct job *j, const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || n < 1 || n > 1024) {
        bad("-T needs a number from 1 to 1024, not '%s'", text);
    }
    j->threads = (int)n;
}

static void take_threads(struct pli_option_use *use)
{
    set_threads(job_of(use), use->text != NULL ? use->text : "");
}

static void keep(struct cmd *c, const struct pli_option_use *use)
{
    pli_cmd_add(c, one_dash(use));
    if (use->is_next) {
        pli_cmd_add(c, use->text);
    }
}

static void take_cpp(struct pli_option_use *use)
{
    keep(&job_of(use)->cpp, use);
}

static void take_both(struct pli_option_use *use)
{
    keep(&job_of(use)->both, use);
}

static void take_link(struct pli_option_use *use)
{
    keep(&job_of(use)->link, use);
}

// -Wc,X: the text behind the comma goes to the compiler.
static void take_cc(struct pli_option_use *use)
{
    pli_cmd_add(&job_of(use)->cc, use->text != NULL ? use->text : "");
}

// Libraries keep their place among the objects.
static void take_library(struct pli_option_use *use)
{
    pli_cmd_addf(&job_of(use)->inputs, "-l%s", use->text);
    pli_cmd_add(&job_of(use)->langs, "none");
}

// Of what is not ISO C, arithmetic on void * is often a mistake.
static void take_pedantic(struct pli_option_use *use)
{
    bool is_error = strstr(use->word, "errors") != NULL;
    pli_cmd_add(&job_of(use)->cpp, one_dash(use));
    pli_cmd_add(&job_of(use)->cc, is_error ? "-Werror=pointer-arith" : "-Wpointer-arith");
}

static void take_object(struct pli_option_use *use)
{
    struct job *j = job_of(use);
    j->stage = j->stage > STAGE_OBJECT ? j->stage : STAGE_OBJECT;
}

static void take_translate(struct pli_option_use *use)
{
    job_of(use)->stage = STAGE_C;
}

static void take_preprocess(struct pli_option_use *use)
{
    job_of(use)->stage = STAGE_PREPROCESS;
}

static void take_depend(struct pli_option_use *use)
{
    job_of(use)->stage = STAGE_PREPROCESS;
    take_cpp(use);
}

static void take_check(struct pli_option_use *use)
{
    job_of(use)->is_check = true;
    take_object(use);
}

static void take_ask(struct pli_option_use *use)
{
    job_of(use)->ask = one_dash(use);
    job_of(use)->ask_value = use->text;
}

static void take_note(struct pli_option_use *use)
{
    fprintf(stderr, "upcc: note: %s is for another compiler and has no effect here\n",
            one_dash(use));
}

static void take_nothing(struct pli_option_use *use)
{
    (void)use;
}

static const pli_option_take_fn take[PLI_UPCC_N_TAKE] = {
    [PLI_UPCC_ASK] = take_ask,
    [PLI_UPCC_BOTH] = take_both,
    [PLI_UPCC_CC] = take_cc,
    [PLI_UPCC_CHECK] = take_check,
    [PLI_UPCC_CPP] = take_cpp,
    [PLI_UPCC_DEPEND] = take_depend,
    [PLI_UPCC_LANGUAGE] = take_language,
    [PLI_UPCC_LIBRARY] = take_library,
    [PLI_UPCC_LINK] = take_link,
    [PLI_UPCC_NOPTHREADS] = take_nopthreads,
    [PLI_UPCC_NOTE] = take_note,
    [PLI_UPCC_NOTHING] = take_nothing,
    [PLI_UPCC_OBJECT] = take_object,
    [PLI_UPCC_PEDANTIC] = take_pedantic,
    [PLI_UPCC_PREPROCESS] = take_preprocess,
    [PLI_UPCC_PTHREADS] = take_pthreads,
    [PLI_UPCC_STANDARD] = take_standard,
    [PLI_UPCC_THREADS] = take_threads,
    [PLI_UPCC_TRANSLATE] = take_translate,
};

static struct pli_option_reader reader = {
    .tool = "upcc", .table = &pli_upcc_options, .take = take, .bad = bad
};

void pli_upcc_args_help(void)
{
    pli_options_help(&reader, stdout);
}

void pli_upcc_args_read(struct job *j, char **argv)
{
    *j = (struct job){ .pthreads = -1, .language = "none" };
    const char *fixed = getenv("UPCC_FIXED_THREADS");
    if (fixed != NULL) {
        set_threads(j, fixed);
    }
    reader.job = j;
    while (*argv != NULL) {
        if (pli_options_is_option(*argv)) {
            argv += pli_options_take(&reader, argv);
        } else {
            pli_cmd_add(&j->inputs, *argv++);
            pli_cmd_add(&j->langs, j->language);
        }
    }
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

char *pli_upcc_args_folder(const struct job *j, const char *src)
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
