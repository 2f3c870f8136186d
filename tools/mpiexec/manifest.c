// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads manifests. One fact a line: a word, a blank, values. In strings everything that
// could be taken for something else is %XX.
#include "manifest.h"

#include "ckpt_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void put_text(FILE *f, const char *word, const char *text)
{
    fprintf(f, "%s ", word);
    for (const unsigned char *s = (const unsigned char *)text; *s != '\0'; s++) {
        fprintf(f, *s <= ' ' || *s == '%' || *s == 127 ? "%%%02X" : "%c", *s);
    }
    fputc('\n', f);
}

// In place.
static char *get_text(char *text)
{
    char *to = text;
    for (const char *s = text; *s != '\0'; s++) {
        unsigned byte;
        if (*s == '%' && sscanf(s + 1, "%2X", &byte) == 1) {
            *to++ = (char)byte;
            s += 2;
        } else {
            *to++ = *s;
        }
    }
    *to = '\0';
    return text;
}

void pli_manifest_put(FILE *f, const struct pli_manifest *m)
{
    fprintf(f, "pliant-checkpoint 2\nnumber %u\nmode %s\nranks %u\nclock %" PRIu64 "\n", m->number,
            m->is_state ? "state" : "image", m->n_rank, m->clock_ns);
    put_text(f, "cwd", m->cwd);
    for (uint32_t i = 0; i < m->n_arg; i++) {
        put_text(f, "arg", m->argv[i]);
    }
    fprintf(f, "program %u\nspawned %u\n", m->program, m->spawned);
    for (uint32_t i = 0; i < m->n_member; i++) {
        fprintf(f, "member %u\n", m->members[i]);
    }
    for (uint32_t i = 0; i < m->n_task; i++) {
        const struct pli_manifest_task *t = &m->tasks[i];
        fprintf(f, "task %u %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u\n", t->row,
                t->pid, t->in, t->out, t->err, t->rope, t->host);
    }
    for (uint32_t i = 0; i < m->n_spread; i++) {
        fprintf(f, "spread %u\n", m->spread[i]);
    }
    for (uint32_t i = 0; i < m->n_host; i++) {
        fprintf(f, "host %" PRIu64 "\n", m->clocks[i]);
    }
    for (uint32_t i = 0; i < m->n_joined; i++) {
        put_text(f, "joined", m->joined[i]);
    }
    fprintf(f, "job %" PRIx64 "\nattempt %u\ngeneration %u\n", m->job, m->attempt, m->generation);
}

static void *more(void *list, uint32_t n, size_t size)
{
    return realloc(list, (n + 1) * size);
}

static bool check_file(struct pli_manifest *m, char *value, bool is_deep, char *why)
{
    char name[512], path[PATH_MAX + 520];
    uint64_t bytes, sum, is_sum, is_bytes;
    if (sscanf(value, "%511s %" SCNu64 " %" SCNx64, name, &bytes, &sum) != 3) {
        snprintf(why, PLI_CKPT_WHY, "%.250s/%s has a line that is cut short", m->dir, PLI_MANIFEST);
        return false;
    }
    m->bytes += bytes;
    snprintf(path, sizeof path, "%s/%s", m->dir, get_text(name));
    if (!is_deep) {
        return true;
    }
    if (!pli_ckpt_sum(path, &is_sum, &is_bytes)) {
        snprintf(why, PLI_CKPT_WHY, "%.250s cannot be read: %s", path, strerror(errno));
    } else if (is_bytes != bytes) {
        snprintf(why, PLI_CKPT_WHY,
                 "%.250s has %" PRIu64 " bytes and not the %" PRIu64 " that were written", path,
                 is_bytes, bytes);
    } else if (is_sum != sum) {
        snprintf(why, PLI_CKPT_WHY, "%.250s is damaged: its checksum is wrong", path);
    } else {
        return true;
    }
    return false;
}

static bool add_task(struct pli_manifest *m, const char *value)
{
    struct pli_manifest_task t;
    if (sscanf(value, "%u %d %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %u", &t.row, &t.pid,
               &t.in, &t.out, &t.err, &t.rope, &t.host) != 7 ||
        (m->tasks = more(m->tasks, m->n_task, sizeof *m->tasks)) == NULL) {
        return false;
    }
    m->tasks[m->n_task++] = t;
    return true;
}

static bool add_word(char ***list, uint32_t *n, char *value)
{
    *list = more(*list, *n, sizeof **list);
    char *copy = *list != NULL ? strdup(get_text(value)) : NULL;
    if (copy != NULL) {
        (*list)[(*n)++] = copy;
    }
    return copy != NULL;
}

static bool add_number(uint32_t **list, uint32_t *n, const char *value)
{
    *list = more(*list, *n, sizeof **list);
    if (*list != NULL) {
        (*list)[(*n)++] = (uint32_t)strtoul(value, NULL, 10);
    }
    return *list != NULL;
}

static bool add_host(struct pli_manifest *m, const char *value)
{
    m->clocks = more(m->clocks, m->n_host, sizeof *m->clocks);
    if (m->clocks != NULL) {
        m->clocks[m->n_host++] = strtoull(value, NULL, 10);
    }
    return m->clocks != NULL;
}

// One line about the job; false: there is no memory, or it is no such line.
static bool take_fact(struct pli_manifest *m, const char *word, char *value)
{
    const struct {
        const char *word;
        uint32_t *to;
    } numbers[] = { { "number", &m->number },   { "ranks", &m->n_rank },
                    { "program", &m->program }, { "spawned", &m->spawned },
                    { "attempt", &m->attempt }, { "generation", &m->generation } };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(word, numbers[i].word) == 0) {
            *numbers[i].to = (uint32_t)strtoul(value, NULL, 10);
            return true;
        }
    }
    if (strcmp(word, "clock") == 0) {
        m->clock_ns = strtoull(value, NULL, 10);
    } else if (strcmp(word, "mode") == 0) {
        m->is_state = strcmp(value, "state") == 0;
    } else if (strcmp(word, "cwd") == 0) {
        m->cwd = strdup(get_text(value));
        return m->cwd != NULL;
    } else if (strcmp(word, "arg") == 0) {
        return add_word(&m->argv, &m->n_arg, value);
    } else if (strcmp(word, "joined") == 0) {
        return add_word(&m->joined, &m->n_joined, value);
    } else if (strcmp(word, "member") == 0) {
        return add_number(&m->members, &m->n_member, value);
    } else if (strcmp(word, "spread") == 0) {
        return add_number(&m->spread, &m->n_spread, value);
    } else if (strcmp(word, "host") == 0) {
        return add_host(m, value);
    } else if (strcmp(word, "job") == 0) {
        m->job = strtoull(value, NULL, 16);
    } else {
        return strcmp(word, "task") == 0 && add_task(m, value);
    }
    return true;
}

// The whole text, ended by a zero; NULL: it cannot be read.
static char *slurp(const char *path, size_t *len_out)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t cap = 0;
    ssize_t n = f != NULL ? getdelim(&text, &cap, '\0', f) : -1;
    if (f != NULL) {
        fclose(f);
    }
    if (n < 0) {
        free(text);
        return NULL;
    }
    *len_out = (size_t)n;
    return text;
}

// Cut the last line off when it is the checksum of all before it.
static bool check_end(char *text, size_t len)
{
    char *end = len > 5 && text[len - 1] == '\n' ? strstr(text, "\nend ") : NULL;
    uint64_t sum;
    if (end == NULL || sscanf(end + 5, "%" SCNx64, &sum) != 1 ||
        sum != pli_ckpt_hash(0, text, (size_t)(end + 1 - text)) ||
        strchr(end + 1, '\n') != text + len - 1) {
        return false;
    }
    end[1] = '\0';
    return true;
}

bool pli_manifest_read(const char *dir, bool is_deep, struct pli_manifest *out, char *why)
{
    struct pli_manifest m = { .number = 0 };
    char path[PATH_MAX + 16];
    size_t len;
    snprintf(m.dir, sizeof m.dir, "%s", dir);
    snprintf(path, sizeof path, "%s/%s", dir, PLI_MANIFEST);
    char *text = slurp(path, &len);
    if (text == NULL) {
        snprintf(why, PLI_CKPT_WHY, "%.250s cannot be read: %s", path, strerror(errno));
        return false;
    }
    bool is_good = check_end(text, len) && strncmp(text, "pliant-checkpoint 2\n", 20) == 0;
    if (!is_good) {
        snprintf(why, PLI_CKPT_WHY, "%.250s is damaged, or of another version of Pliant MPI", path);
    }
    char *save, *line = is_good ? strtok_r(text, "\n", &save) : NULL;
    while (is_good && (line = strtok_r(NULL, "\n", &save)) != NULL) {
        char *value = strchr(line, ' ');
        if (value == NULL) {
            is_good = false;
        } else if (*value++ = '\0', strcmp(line, "file") == 0) {
            is_good = check_file(&m, value, is_deep, why);
            continue;
        } else {
            is_good = take_fact(&m, line, value);
        }
        if (!is_good) {
            snprintf(why, PLI_CKPT_WHY, "%.250s has a line '%.60s' that cannot be understood", path,
                     line);
        }
    }
    free(text);
    *out = m;
    return is_good;
}
