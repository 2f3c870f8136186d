// SPDX-License-Identifier: BSD-3-Clause
// Reads files with parts of the command line, one on each line.
#include "launcher/job/config_file.h"

#include "base/text_file.h"
#include "launcher/base/say.h"
#include "mpiexec_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct words {
    char **word;
    size_t n;
};

static void add(struct words *w, char *word)
{
    w->word = pli_say_need(realloc(w->word, (w->n + 2) * sizeof *w->word));
    w->word[w->n++] = word;
    w->word[w->n] = NULL;
}

// Cut a line into words as a shell does: blanks part them, quotes and backslashes keep blanks.
// False: a quote is not closed.
static bool cut(const char *line, struct words *to)
{
    for (const char *p = line + strspn(line, " \t\r\n"); *p != '\0' && *p != '#';
         p += strspn(p, " \t\r\n")) {
        char *word = pli_say_need(malloc(strlen(p) + 1)), quote = '\0';
        size_t n = 0;
        for (; *p != '\0' && (quote != '\0' || strchr(" \t\r\n", *p) == NULL); p++) {
            if (quote == '\0' && (*p == '\'' || *p == '"')) {
                quote = *p;
            } else if (quote != '\0' && *p == quote) {
                quote = '\0';
            } else {
                p += *p == '\\' && quote != '\'' && p[1] != '\0' ? 1 : 0;
                word[n++] = *p;
            }
        }
        word[n] = '\0';
        add(to, word);
        if (quote != '\0') {
            return false;
        }
    }
    return true;
}

// Add the lines of a file with a colon between them.
static void read_file(const char *option, const char *path, struct words *to)
{
    char why[128], *text = pli_text_file_read(path, why, sizeof why), *rest = text, *line;
    size_t first = to->n, n_part = 0;
    if (text == NULL) {
        pli_say_bad("%s: cannot read %s: %s", option, path, why);
    }
    for (int number = 1; (line = pli_text_file_line(&rest)) != NULL; number++) {
        line += strspn(line, " \t\r\n");
        if (*line == '\0' || *line == '#') {
            continue;
        }
        if (n_part++ > 0) {
            add(to, pli_say_need(strdup(":")));
        }
        if (!cut(line, to)) {
            pli_say_bad("%s: line %d of %s has a quote that is not closed", option, number, path);
        }
    }
    free(text);
    if (to->n == first) {
        pli_say_bad("%s: %s names no program; each of its lines is a part of the command line, as "
                    "-n 4 ./a.out",
                    option, path);
    }
}

char **pli_config_file_expand(int *argc, char **argv)
{
    struct pli_option_use use;
    for (int i = 1; i < *argc && pli_options_is_option(argv[i]) && strcmp(argv[i], "--") != 0;) {
        int n = pli_options_match(&pli_mpiexec_options, argv + i, &use);
        if (n <= 0) {
            break; // said when the options are read
        }
        if (use.option->take == PLI_MPIEXEC_CONFIGFILE) {
            struct words all = { NULL, 0 };
            if (argv[i + n] != NULL) {
                pli_say_bad("%s stands last: the lines of %s are the rest of the command line, but "
                            "'%s' follows it",
                            use.name, use.text, argv[i + n]);
            }
            for (int k = 0; k < i; k++) {
                add(&all, argv[k]);
            }
            read_file(use.name, use.text, &all);
            *argc = (int)all.n;
            return all.word;
        }
        i += n;
    }
    return argv;
}
