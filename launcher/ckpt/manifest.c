// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads manifests. One fact a line: a word, a blank, values. In strings everything that
// could be taken for something else is %XX.
#include "launcher/ckpt/manifest.h"

#include "base/checksum.h"
#include "launcher/ckpt/ckpt_sum.h"
#include "launcher/base/say.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
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

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// In place; NULL: it is none that put_text has written.
static char *get_text(char *text)
{
    char *to = text;
    for (const char *s = text; *s != '\0'; s++) {
        if (*s != '%') {
            *to++ = *s;
            continue;
        }
        int high = hex_digit(s[1]), low = high >= 0 ? hex_digit(s[2]) : -1;
        if (low < 0 || high * 16 + low == 0) {
            return NULL;
        }
        *to++ = (char)(high * 16 + low);
        s += 2;
    }
    *to = '\0';
    return text;
}

// A whole number up to `most`, followed by a blank or the end; `at` points after it then.
static bool get_number(const char **at, int base, uint64_t most, uint64_t *out)
{
    char *end;
    bool is_digit = base == 16 ? isxdigit((unsigned char)**at) : isdigit((unsigned char)**at);
    errno = 0;
    *out = is_digit ? strtoull(*at, &end, base) : 0;
    if (!is_digit || errno != 0 || *out > most || (*end != '\0' && *end != ' ')) {
        return false;
    }
    *at = *end == ' ' ? end + 1 : end;
    return true;
}

static bool get_u32(const char *value, uint32_t *out)
{
    uint64_t n;
    bool is_good = get_number(&value, 10, UINT32_MAX - 1, &n) && *value == '\0';
    if (is_good) {
        *out = (uint32_t)n;
    }
    return is_good;
}

static bool get_u64(const char *value, int base, uint64_t *out)
{
    return get_number(&value, base, UINT64_MAX, out) && *value == '\0';
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
                t->pid, t->in, t->out, t->err, t->resume_pipe, t->host);
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
    if (m->base > 0) {
        fprintf(f, "base %u\ndepth %u\n", m->base, m->depth);
    }
    fprintf(f, "job %" PRIx64 "\nattempt %u\ngeneration %u\n", m->job, m->attempt, m->generation);
}

// Room for one more; false: there is none, and what is there stays.
static bool grow(void *list, uint32_t n, size_t size)
{
    void **at = list;
    void *more = n < UINT32_MAX - 1 ? realloc(*at, (n + (size_t)1) * size) : NULL;
    *at = more != NULL ? more : *at;
    return more != NULL;
}

// Whether a name stays below the checkpoint's own directory.
static bool is_inside(const char *name)
{
    for (const char *at = name; at != NULL; at = strchr(at, '/')) {
        at += at != name;
        if (*at == '/' || *at == '\0' || (at[0] == '.' && (at[1] == '/' || at[1] == '\0')) ||
            (at[0] == '.' && at[1] == '.' && (at[2] == '/' || at[2] == '\0'))) {
            return false;
        }
    }
    return true;
}

static bool compare(const char *path, uint64_t bytes, uint64_t sum, char *why)
{
    uint64_t is_sum, is_bytes;
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

static bool check_file(struct pli_manifest *m, char *value, bool is_deep, char *why)
{
    char path[PATH_MAX + 520], *blank = strchr(value, ' '), *name = NULL;
    const char *rest = blank != NULL ? blank + 1 : "";
    uint64_t bytes = 0, sum = 0;
    if (blank != NULL) {
        *blank = '\0';
        name = get_text(value);
    }
    if (name == NULL || strlen(name) >= 512 || !is_inside(name) ||
        !get_number(&rest, 10, INT64_MAX, &bytes) || !get_number(&rest, 16, UINT64_MAX, &sum) ||
        *rest != '\0') {
        snprintf(why, PLI_CKPT_WHY, "%.250s/%s has a line about a file that makes no sense", m->dir,
                 PLI_MANIFEST);
        return false;
    }
    m->bytes += bytes;
    snprintf(path, sizeof path, "%s/%s", m->dir, name);
    return !is_deep || compare(path, bytes, sum, why);
}

static bool add_task(struct pli_manifest *m, const char *value)
{
    enum { MOST_PID = 1 << 22 }; // the kernel has no higher ones
    uint64_t n[7];
    const uint64_t most[7] = { UINT32_MAX - 1, MOST_PID,   UINT64_MAX,    UINT64_MAX,
                               UINT64_MAX,     UINT64_MAX, UINT32_MAX - 1 };
    for (int i = 0; i < 7; i++) {
        if (!get_number(&value, 10, most[i], &n[i])) {
            return false;
        }
    }
    if (*value != '\0' || n[1] == 0 || !grow(&m->tasks, m->n_task, sizeof *m->tasks)) {
        return false;
    }
    m->tasks[m->n_task++] =
        (struct pli_manifest_task){ (uint32_t)n[0], (int32_t)n[1], n[2],          n[3],
                                    n[4],           n[5],          (uint32_t)n[6] };
    return true;
}

static bool add_word(char ***list, uint32_t *n, char *value)
{
    char *text = get_text(value);
    char *copy = text != NULL && grow(list, *n, sizeof **list) ? strdup(text) : NULL;
    if (copy != NULL) {
        (*list)[(*n)++] = copy;
    }
    return copy != NULL;
}

static bool add_number(uint32_t **list, uint32_t *n, const char *value)
{
    return grow(list, *n, sizeof **list) && get_u32(value, &(*list)[*n]) && ++*n > 0;
}

static bool add_host(struct pli_manifest *m, const char *value)
{
    return grow(&m->clocks, m->n_host, sizeof *m->clocks) &&
           get_u64(value, 10, &m->clocks[m->n_host]) && ++m->n_host > 0;
}

static bool take_cwd(struct pli_manifest *m, char *value)
{
    char *text = m->cwd == NULL ? get_text(value) : NULL;
    m->cwd = text != NULL ? strdup(text) : m->cwd;
    return text != NULL && m->cwd != NULL;
}

// One line about the job; false: there is no memory, or it is no such line.
static bool take_fact(struct pli_manifest *m, const char *word, char *value)
{
    const struct {
        const char *word;
        uint32_t *to;
    } numbers[] = { { "number", &m->number },   { "ranks", &m->n_rank },
                    { "program", &m->program }, { "spawned", &m->spawned },
                    { "attempt", &m->attempt }, { "generation", &m->generation },
                    { "base", &m->base },       { "depth", &m->depth } };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(word, numbers[i].word) == 0) {
            return get_u32(value, numbers[i].to);
        }
    }
    if (strcmp(word, "clock") == 0) {
        return get_u64(value, 10, &m->clock_ns);
    }
    if (strcmp(word, "mode") == 0) {
        m->is_state = strcmp(value, "state") == 0;
        return m->is_state || strcmp(value, "image") == 0;
    }
    if (strcmp(word, "cwd") == 0) {
        return take_cwd(m, value);
    }
    if (strcmp(word, "arg") == 0) {
        return add_word(&m->argv, &m->n_arg, value);
    }
    if (strcmp(word, "joined") == 0) {
        return add_word(&m->joined, &m->n_joined, value);
    }
    if (strcmp(word, "member") == 0) {
        return add_number(&m->members, &m->n_member, value);
    }
    if (strcmp(word, "spread") == 0) {
        return add_number(&m->spread, &m->n_spread, value);
    }
    if (strcmp(word, "host") == 0) {
        return add_host(m, value);
    }
    if (strcmp(word, "job") == 0) {
        return get_u64(value, 16, &m->job);
    }
    return strcmp(word, "task") == 0 && add_task(m, value);
}

// Check the lines against each other, so that code that uses a number need not check it again.
static const char *contradiction(const struct pli_manifest *m)
{
    uint32_t n_host = m->n_host > 0 ? m->n_host : 1;
    if (m->number == 0 || m->n_rank == 0 || m->n_arg == 0 || m->cwd == NULL) {
        return "does not say which job it is of";
    }
    if (m->program == 0 || m->program > m->n_arg) {
        return "has no program in its command line";
    }
    if (m->is_state ? m->n_task > 0 : m->n_task == 0) {
        return m->is_state ? "has processes beside registered state" : "has no processes";
    }
    if (m->base >= m->number || (m->base == 0) != (m->depth == 0)) {
        return "is based on a checkpoint that is not older";
    }
    bool is_good = m->n_joined <= m->n_host;
    for (uint32_t i = 0; i < m->n_task; i++) {
        is_good = is_good && m->tasks[i].host < n_host;
    }
    for (uint32_t i = 0; i < m->n_spread; i++) {
        is_good = is_good && m->spread[i] < n_host;
    }
    if (!is_good) {
        return "has a process on a host that the job did not have";
    }
    for (uint32_t i = 0; i < m->n_member; i++) {
        is_good = is_good && m->members[i] < (uint64_t)m->n_rank + m->spawned;
    }
    return is_good ? NULL : "has a rank that the job did not have";
}

// The whole text, ended by a zero; NULL: it cannot be read.
static char *slurp(const char *path, size_t *len_out)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t cap = 0;
    ssize_t n = f != NULL ? getdelim(&text, &cap, '\0', f) : -1;
    if (f != NULL) {
        errno = n < 0 && feof(f) ? ENODATA : errno;
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
        sum != pli_checksum(0, text, (size_t)(end + 1 - text)) ||
        strchr(end + 1, '\n') != text + len - 1) {
        return false;
    }
    end[1] = '\0';
    return true;
}

void pli_manifest_fini(struct pli_manifest *m)
{
    for (uint32_t i = 0; i < m->n_arg; i++) {
        free(m->argv[i]);
    }
    for (uint32_t i = 0; i < m->n_joined; i++) {
        free(m->joined[i]);
    }
    free(m->argv);
    free(m->joined);
    free(m->cwd);
    free(m->members);
    free(m->tasks);
    free(m->spread);
    free(m->clocks);
    *m = (struct pli_manifest){ .number = 0 };
}

static bool read_lines(struct pli_manifest *m, char *text, const char *path, bool is_deep,
                       char *why)
{
    char *save, *line = strtok_r(text, "\n", &save);
    while ((line = strtok_r(NULL, "\n", &save)) != NULL) {
        char *value = strchr(line, ' ');
        if (value != NULL) {
            *value++ = '\0';
        }
        if (value != NULL && strcmp(line, "file") == 0) {
            if (!check_file(m, value, is_deep, why)) {
                return false;
            }
        } else if (value == NULL || !take_fact(m, line, value)) {
            snprintf(why, PLI_CKPT_WHY, "%.250s has a line '%.60s' that cannot be understood", path,
                     line);
            return false;
        }
    }
    const char *wrong = contradiction(m);
    if (wrong != NULL) {
        snprintf(why, PLI_CKPT_WHY, "%.250s %s", path, wrong);
    }
    return wrong == NULL;
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
    is_good = is_good && read_lines(&m, text, path, is_deep, why);
    free(text);
    if (is_good) {
        *out = m;
    } else {
        pli_manifest_fini(&m);
    }
    return is_good;
}
