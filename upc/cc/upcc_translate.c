// SPDX-License-Identifier: BSD-3-Clause
// upcc-translate: preprocessed UPC in, C out.
#include "translate.h"
#include "upcc-translate_options.h"

#include <stdarg.h>
#include <stdlib.h>

enum { MAX_SOURCE = 256 << 20 };

static _Noreturn void __attribute__((format(printf, 1, 2))) bad(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("upcc-translate: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(2);
}

static void take_help(struct pli_option_use *use)
{
    pli_options_help(use->reader, stdout);
    exit(fflush(stdout) == 0 ? 0 : 1);
}

static const pli_option_take_fn take[PLI_UPCC_TRANSLATE_N_TAKE] = {
    [PLI_UPCC_TRANSLATE_HELP] = take_help,
};

static void read_options(char **argv, struct options *opt)
{
    struct pli_option_reader r = { .tool = "upcc-translate",
                                   .table = &pli_upcc_translate_options,
                                   .take = take,
                                   .job = opt,
                                   .bad = bad };
    while (*argv != NULL) {
        if (pli_options_is_option(*argv)) {
            argv += pli_options_take(&r, argv);
        } else if (opt->input == NULL) {
            opt->input = *argv++;
        } else {
            bad("there are two inputs, %s and %s; one is translated at a time", opt->input, *argv);
        }
    }
    if (opt->input == NULL) {
        bad("no input is named; see upcc-translate --help");
    }
}

static bool read_all(const char *path, struct text *t)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        fprintf(stderr, "upcc-translate: cannot read ");
        perror(path);
        return false;
    }
    char buf[65536];
    size_t n;
    while ((n = fread(buf, 1, sizeof buf, f)) > 0 && t->len <= MAX_SOURCE) {
        pli_unit_arena_text_add(t, buf, n);
    }
    if (n > 0) { // such as of a device
        fprintf(stderr, "upcc-translate: %s has more than 256 MiB\n", path);
    } else if (ferror(f)) {
        fprintf(stderr, "upcc-translate: cannot read ");
        perror(path);
    }
    bool is_good = n == 0 && !ferror(f);
    fclose(f);
    return is_good;
}

static bool write_all(const char *path, const struct text *t)
{
    FILE *f = path == NULL ? stdout : fopen(path, "wb");
    if (f == NULL) {
        fprintf(stderr, "upcc-translate: cannot write ");
        perror(path);
        return false;
    }
    bool ok = t->len == 0 || fwrite(t->data, 1, t->len, f) == t->len;
    ok = (f == stdout ? fflush(f) : fclose(f)) == 0 && ok;
    if (!ok) {
        perror("upcc-translate: write");
    }
    return ok;
}

int main(int argc, char **argv)
{
    struct options opt = { 0 };
    (void)argc;
    read_options(argv + 1, &opt);
    struct text in = { 0 }, out = { 0 }, map = { 0 };
    opt.map = opt.map_path != NULL ? &map : NULL;
    bool ok = read_all(opt.input, &in) && pli_translate(&opt, in.data, in.len, stderr, &out) &&
              write_all(opt.output, &out) && (opt.map == NULL || write_all(opt.map_path, &map));
    pli_unit_arena_text_fini(&map);
    pli_unit_arena_text_fini(&in);
    pli_unit_arena_text_fini(&out);
    return ok ? 0 : 1;
}
