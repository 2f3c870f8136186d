// SPDX-License-Identifier: BSD-3-Clause
// Builds and runs command lines. Their strings live as long as the driver.
#include "cmd.h"

#include "base/text_file.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_DEPTH = 20 }; // of response files in each other

static void *need(void *p)
{
    if (p == NULL) {
        fputs("upcc: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

void pli_cmd_add(struct cmd *c, const char *arg)
{
    if (c->n + 2 > c->cap) {
        c->cap = c->cap * 2 + 16;
        c->argv = need(realloc(c->argv, c->cap * sizeof *c->argv));
    }
    c->argv[c->n++] = (char *)arg;
    c->argv[c->n] = NULL;
}

void pli_cmd_addf(struct cmd *c, const char *fmt, ...)
{
    char *s;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&s, fmt, ap);
    va_end(ap);
    pli_cmd_add(c, n < 0 ? need(NULL) : s);
}

void pli_cmd_words(struct cmd *c, const char *text)
{
    char *copy = need(strdup(text)), *save = NULL;
    for (char *w = strtok_r(copy, " \t\n", &save); w != NULL; w = strtok_r(NULL, " \t\n", &save)) {
        pli_cmd_add(c, w);
    }
}

// One word of a response file, copied to `to`; NULL: there is none. Returns what is behind it.
static const char *read_word(const char *s, char *to, bool *is_any)
{
    s += strspn(s, " \t\r\n\f\v");
    *is_any = *s != '\0';
    for (char quote = '\0'; *s != '\0'; s++) {
        if (*s == '\\' && s[1] != '\0') {
            *to++ = *++s;
        } else if (quote == '\0' && (*s == '"' || *s == '\'')) {
            quote = *s;
        } else if (quote != '\0' && *s == quote) {
            quote = '\0';
        } else if (quote == '\0' && strchr(" \t\r\n\f\v", *s) != NULL) {
            break;
        } else {
            *to++ = *s;
        }
    }
    *to = '\0';
    return s;
}

void pli_cmd_expand(struct cmd *c, const char *word, int depth)
{
    bool is_file = word[0] == '@' && depth < MAX_DEPTH && access(word + 1, R_OK) == 0;
    if (!is_file) {
        pli_cmd_add(c, word); // as it is, like gcc
        return;
    }
    char why[128], *text = pli_text_file_read(word + 1, why, sizeof why);
    if (text == NULL) {
        fprintf(stderr, "upcc: cannot read options from %s: %s\n", word + 1, why);
        exit(1);
    }
    bool is_any = true;
    char *one = need(malloc(strlen(text) + 1));
    for (const char *s = text; is_any;) {
        s = read_word(s, one, &is_any);
        if (is_any) {
            pli_cmd_expand(c, need(strdup(one)), depth + 1);
        }
    }
    free(one);
    free(text);
}

void pli_cmd_all(struct cmd *c, const struct cmd *from)
{
    for (size_t i = 0; i < from->n; i++) {
        pli_cmd_add(c, from->argv[i]);
    }
}

int pli_cmd_run(const struct cmd *c, bool echo)
{
    return pli_cmd_run_to(c, echo, STDERR_FILENO);
}

int pli_cmd_run_to(const struct cmd *c, bool echo, int err)
{
    if (echo) {
        for (size_t i = 0; i < c->n; i++) {
            fprintf(stderr, "%s%s", i > 0 ? " " : "+ ", c->argv[i]);
        }
        fputc('\n', stderr);
    }
    pid_t self = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM); // the child ends when upcc ends
        if (getppid() != self) {
            _exit(127);
        }
        if (err != STDERR_FILENO) {
            dup2(err, STDERR_FILENO);
        }
        execvp(c->argv[0], c->argv);
        fprintf(stderr, "upcc: cannot run %s: %s%s\n", c->argv[0], strerror(errno),
                errno == ENOENT ? "; install it, or name a C compiler with CC" : "");
        _exit(127);
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            break;
        }
    }
    if (pid < 0) {
        fprintf(stderr, "upcc: cannot start %s: %s\n", c->argv[0], strerror(errno));
        return 127;
    }
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "upcc: %s ended by signal %d\n", c->argv[0], WTERMSIG(status));
        return 1;
    }
    return WEXITSTATUS(status);
}
