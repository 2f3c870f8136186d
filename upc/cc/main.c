// SPDX-License-Identifier: BSD-3-Clause
// upcc-translate: preprocessed UPC in, C out.
#include "translate.h"

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: upcc-translate [options] input.i\n"
    "Translate preprocessed UPC to C. upcc runs this; see upcc --help.\n"
    "  -o FILE     write the C text to FILE instead of the standard output\n"
    "  -map FILE   write there which columns of the C text are which of the UPC text\n"
    "  -T=N        static THREADS\n"
    "  -pthreads   private static objects become thread-local\n"
    "  -c-code     plain C: the words of UPC are ordinary names\n"
    "  -beside DIR headers of that folder are the program's, though found like the system's\n"
    "  -no-lines   leave line directives out\n"
    "  -w          no warnings\n"
    "  -Werror     warnings are errors\n"
    "  --help      this text\n"
    "Exit status: 0 done, 1 errors in the program, 2 wrong use.\n";

static bool parse_args(int argc, char **argv, struct options *opt)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (strcmp(a, "-o") == 0 && i + 1 < argc) {
            opt->output = argv[++i];
        } else if (strncmp(a, "-T=", 3) == 0) {
            opt->static_threads = atoi(a + 3);
            if (opt->static_threads < 1 || opt->static_threads > UPC_MAX_THREADS) {
                fprintf(stderr, "upcc-translate: THREADS must be 1 to %d\n", UPC_MAX_THREADS);
                return false;
            }
        } else if (strcmp(a, "-pthreads") == 0) {
            opt->pthreads = true;
        } else if (strcmp(a, "-map") == 0 && i + 1 < argc) {
            opt->map_path = argv[++i];
        } else if (strcmp(a, "-beside") == 0 && i + 1 < argc) {
            opt->source_dir = argv[++i];
        } else if (strcmp(a, "-c-code") == 0) {
            opt->c_code = true;
        } else if (strcmp(a, "-no-lines") == 0) {
            opt->no_lines = true;
        } else if (strcmp(a, "-w") == 0) {
            opt->no_warn = true;
        } else if (strcmp(a, "-Werror") == 0) {
            opt->warn_error = true;
        } else if (a[0] != '-' && opt->input == NULL) {
            opt->input = a;
        } else {
            fputs(usage, stderr);
            return false;
        }
    }
    if (opt->input == NULL) {
        fputs(usage, stderr);
    }
    return opt->input != NULL;
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
    while ((n = fread(buf, 1, sizeof buf, f)) > 0) {
        pli_arena_text_add(t, buf, n);
    }
    fclose(f);
    return true;
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
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (!parse_args(argc, argv, &opt)) {
        return 2;
    }
    struct text in = { 0 }, out = { 0 }, map = { 0 };
    opt.map = opt.map_path != NULL ? &map : NULL;
    bool ok = read_all(opt.input, &in) && pli_translate(&opt, in.data, in.len, stderr, &out) &&
              write_all(opt.output, &out) && (opt.map == NULL || write_all(opt.map_path, &map));
    pli_arena_text_fini(&map);
    pli_arena_text_fini(&in);
    pli_arena_text_fini(&out);
    return ok ? 0 : 1;
}
