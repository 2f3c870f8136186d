// SPDX-License-Identifier: BSD-3-Clause
// Reports the diagnostics of the C compiler with the places and lines of the UPC source.
#include "report.h"

#include "excerpt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// "file:line:column: text"
struct place {
    const char *path;
    size_t path_len;
    int line, column;
    const char *text; // what follows, up to the end of the line
};

static bool read_place(const char *line, struct place *p)
{
    for (const char *s = strchr(line, ':'); s != NULL && s < line + strcspn(line, "\n");
         s = strchr(s + 1, ':')) {
        int n = 0;
        if (sscanf(s, ":%d:%d:%n", &p->line, &p->column, &n) == 2 && n > 0) {
            p->path = line;
            p->path_len = (size_t)(s - line);
            p->text = s + n;
            return true;
        }
    }
    return false;
}

// Line n of a file; false: there is none.
static bool read_line(const char *path, size_t path_len, int n, char **line, size_t *len)
{
    char *name = strndup(path, path_len);
    FILE *f = name != NULL ? fopen(name, "re") : NULL;
    size_t cap = 0;
    ssize_t got = -1;
    free(name);
    *line = NULL;
    for (int i = 0; f != NULL && i < n; i++) {
        got = getline(line, &cap, f);
        if (got < 0) {
            break;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    *len = got > 0 ? strcspn(*line, "\r\n") : 0;
    return got > 0;
}

// The rows of the map for one file follow a line with its path: line and byte in the translated
// text, line, byte and length in the true one. The nearest one before the place counts.
static bool find(const char *map, const struct place *p, int byte, int to_out[3])
{
    bool is_file = false, is_found = false;
    int best = 0;
    for (const char *s = map; *s != '\0'; s += strcspn(s, "\n"), s += *s == '\n') {
        size_t len = strcspn(s, "\n");
        if (*s != '\t') {
            is_file = len == p->path_len && memcmp(s, p->path, len) == 0;
            continue;
        }
        int line, at, to[3];
        if (is_file && sscanf(s, "%d %d %d %d %d", &line, &at, &to[0], &to[1], &to[2]) == 5 &&
            line == p->line && at <= byte && at >= best) {
            best = at;
            is_found = true;
            memcpy(to_out, to, sizeof to);
        }
    }
    return is_found;
}

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

// "   12 | text" or "      | ^~~"
static bool is_excerpt(const char *line)
{
    const char *s = line + strspn(line, " 0123456789");
    return s > line && begins(s, "| ");
}

static const char *next(const char *s)
{
    s += strcspn(s, "\n");
    return s + (*s == '\n');
}

static char **told; // "file:line:column: text"
static size_t n_told;

// A loop that is translated several times is complained about as often.
static bool is_said(const char *text)
{
    for (size_t i = 0; i < n_told; i++) {
        if (strcmp(told[i], text) == 0) {
            return true;
        }
    }
    char **more = realloc(told, (n_told + 1) * sizeof *told);
    char *copy = strdup(text);
    if (more != NULL) {
        told = more;
    }
    if (more != NULL && copy != NULL) {
        told[n_told++] = copy;
    }
    return false;
}

// "file:line: text", of any column
static bool is_said_of_line(const char *text)
{
    struct place p;
    char own[8192];
    for (size_t i = 0; i < n_told; i++) {
        if (read_place(told[i], &p)) {
            snprintf(own, sizeof own, "%.*s:%d:%s", (int)p.path_len, p.path, p.line, p.text);
            if (strcmp(own, text) == 0) {
                return true;
            }
        }
    }
    return false;
}

// What is put into a shared object is the initial value of a variable where a macro of the runtime
// does it, and an assignment where the loop is plain C. Was it said as that, of the same line?
static bool is_said_as_assignment(const struct place *p, int line, const char *text)
{
    static const char *const words[][2] = {
        { " warning: initialization of ", " warning: assignment to " },
        { " error: initialization of ", " error: assignment to " },
        { " warning: initialization ", " warning: assignment " },
        { " error: initialization ", " error: assignment " },
        { " error: incompatible types when initializing type ",
          " error: incompatible types when assigning to type " },
    };
    char key[4096];
    size_t i = 0, n = sizeof words / sizeof words[0];
    while (i < n && !begins(text, words[i][0])) {
        i++;
    }
    if (i == n) {
        return false;
    }
    text += strlen(words[i][0]);
    const char *using = strstr(text, " using type ");
    snprintf(key, sizeof key, "%.*s:%d:%s%.*s%s%s", (int)p->path_len, p->path, line, words[i][1],
             using != NULL ? (int)(using - text) : (int)strlen(text), text,
             using != NULL ? " from type " : "",
             using != NULL ? using + strlen(" using type ") : "");
    return is_said_of_line(key);
}

// Behind what C takes the type before it for: " {aka 'long unsigned int'}", or in round brackets.
static const char *behind_aka(const char *s)
{
    const char *end = NULL;
    if (begins(s, " {aka ")) {
        end = strchr(s, '}');
        return end != NULL ? end + 1 : s;
    }
    if (begins(s, " (aka ")) {
        end = strstr(s, "')");
    }
    return end != NULL ? end + 2 : s;
}

// Names that the translator made up, as the user may know them: a record without a tag, the initial
// value of a shared object, and what a pointer-to-shared is in C.
static void write_own(const char *text, size_t len, char *to, size_t cap)
{
    static const char *const names[][2] = {
        { "__pli_anon_", "<anonymous>" },
        { "__pli_image", "" },
        { "pli_upc_pts", "pointer-to-shared" },
    };
    enum { N_NAME = sizeof names / sizeof names[0], IMAGE = 1, PTS = 2 };
    size_t n = 0;
    bool is_pts = false;
    for (const char *s = text; s < text + len && n + 32 < cap;) {
        int i = 0;
        while (i < N_NAME && !begins(s, names[i][0])) {
            i++;
        }
        const char *behind = is_pts ? behind_aka(s) : s;
        if (i == N_NAME && behind == s) {
            to[n++] = *s++;
            continue;
        }
        is_pts = i == PTS;
        if (i == N_NAME) {
            s = behind;
            continue;
        }
        s += strlen(names[i][0]);
        s += i != PTS ? strspn(s, "0123456789") : 0;
        s += i == IMAGE && *s == '_';
        n += (size_t)sprintf(to + n, "%s", names[i][1]);
    }
    to[n] = '\0';
}

// Report one diagnostic whose place is in the map. False: it is not.
static bool print_mapped(const struct place *p, const char *map, bool is_bare)
{
    char *line, own[4096], text[8192];
    size_t len;
    int to[3];
    bool is_known = read_line(p->path, p->path_len, p->line, &line, &len);
    int byte = is_known && !is_bare ? pli_excerpt_byte(line, len, p->column) : p->column;
    free(line);
    if (!find(map, p, byte, to)) {
        to[0] = p->line;
        to[1] = byte;
        to[2] = 1;
        if (!is_bare || !is_known) {
            return false;
        }
    }
    if (read_line(p->path, p->path_len, to[0], &line, &len)) {
        write_own(p->text, strcspn(p->text, "\n"), own, sizeof own);
        snprintf(text, sizeof text, "%.*s:%d:%d:%s", (int)p->path_len, p->path, to[0],
                 pli_excerpt_column(line, len, to[1]), own);
        if (!is_said_as_assignment(p, to[0], own) && !is_said(text)) {
            fprintf(stderr, "%s\n", text);
            pli_excerpt_print(stderr, to[0], line, len, to[1], (size_t)to[2]);
        }
    }
    free(line);
    return true;
}

// A diagnostic that is where it was in the source, and was said before.
static bool is_repeated(const char *line)
{
    char own[8192];
    size_t len = strcspn(line, "\n");
    if (len > sizeof own / 2) {
        return false;
    }
    write_own(line, len, own, sizeof own);
    return is_said(own);
}

// Whether the text is about the runtime: how its headers are included, and which of its macros
// were used.
static bool is_ours(const char *line)
{
    size_t len = strcspn(line, "\n");
    return begins(line, "In file included from ") || begins(line, "                 from ") ||
           memmem(line, len, "macro \xe2\x80\x98PLI_UPC_", 17) != NULL ||
           memmem(line, len, "macro 'PLI_UPC_", 15) != NULL;
}

void pli_report_print(const char *said, const char *map, bool is_bare)
{
    bool is_dropping = false; // excerpts that belong to what was not shown as it came
    for (const char *s = said; *s != '\0'; s = next(s)) {
        struct place p;
        if (is_dropping && is_excerpt(s)) {
            continue;
        }
        is_dropping = is_ours(s) || (!is_excerpt(s) && read_place(s, &p) &&
                                     (print_mapped(&p, map, is_bare) || is_repeated(s)));
        if (!is_dropping) {
            char own[8192];
            size_t len = (size_t)(next(s) - s);
            bool is_long = len > sizeof own / 2; // an excerpt of a very long line
            write_own(s, is_long ? 0 : len, own, sizeof own);
            fputs(own, stderr);
            fwrite(s, 1, is_long ? len : 0, stderr);
        }
    }
}
