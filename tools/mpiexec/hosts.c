// SPDX-License-Identifier: BSD-3-Clause
// Reads lists and files of hosts, in the spellings of MPICH and of Open MPI.
#include "hosts.h"

#include "allocation.h"
#include "job.h"
#include "say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_SLOT = 1 << 20 };

static bool is_slots(const char *text, size_t len, uint32_t *out)
{
    char *end;
    errno = 0;
    unsigned long v = strtoul(text, &end, 10);
    if (len == 0 || text[0] < '0' || text[0] > '9' || end != text + len || errno != 0 || v < 1 ||
        v > MAX_SLOT) {
        return false;
    }
    *out = (uint32_t)v;
    return true;
}

void pli_hosts_add(struct pli_job *job, const char *name, size_t len, uint32_t slots,
                   uint32_t max_slots)
{
    struct pli_host *h = NULL;
    for (uint32_t i = 0; i < job->n_host && h == NULL; i++) {
        bool is_same =
            strlen(job->hosts[i].name) == len && memcmp(job->hosts[i].name, name, len) == 0;
        h = is_same ? &job->hosts[i] : NULL;
    }
    if (h == NULL) {
        job->hosts = pli_say_need(realloc(job->hosts, (job->n_host + 1) * sizeof *job->hosts));
        h = &job->hosts[job->n_host++];
        *h = (struct pli_host){ .name = pli_say_need(strndup(name, len)) };
    }
    h->n_named++;
    h->slots += slots;
    h->max_slots = max_slots != 0 ? max_slots : h->max_slots;
}

// "name", "name:4" or "[fe80::1]:4"; slots stays as it is when none are said.
static void read_name(const char *option, const char *text, size_t len, const char **name_out,
                      size_t *len_out, uint32_t *slots)
{
    *name_out = text;
    *len_out = len;
    const char *colon = memrchr(text, ':', len);
    const char *bracket = len > 0 && text[0] == '[' ? memchr(text, ']', len) : NULL;
    if (bracket != NULL) {
        *name_out = text + 1;
        *len_out = (size_t)(bracket - text) - 1;
        colon = bracket + 1 < text + len ? bracket + 1 : NULL;
    } else if (colon != NULL && memchr(text, ':', (size_t)(colon - text)) != NULL) {
        colon = NULL; // an address of IPv6
    } else if (colon != NULL) {
        *len_out = (size_t)(colon - text);
    }
    if (*len_out == 0 || **name_out == '-' || memchr(*name_out, '\'', *len_out) != NULL) {
        pli_say_bad("%s: '%.*s' is not the name of a host", option, (int)len, text);
    }
    if (colon != NULL &&
        (*colon != ':' || !is_slots(colon + 1, len - (size_t)(colon + 1 - text), slots))) {
        pli_say_bad("%s: in '%.*s' a number of ranks must follow the colon", option, (int)len,
                    text);
    }
}

void pli_hosts_take_list(struct pli_job *job, const char *option, const char *text)
{
    if (text[strspn(text, ", ")] == '\0') {
        pli_say_bad("%s names no host", option);
    }
    for (const char *w = text; *w != '\0'; w += strspn(w, ", ")) {
        size_t len = strcspn(w, ", "), name_len;
        const char *name;
        uint32_t slots = 0;
        if (len > 0) {
            read_name(option, w, len, &name, &name_len, &slots);
            pli_hosts_add(job, name, name_len, slots, 0);
        }
        w += len;
    }
}

// The words after the name on a line of a file.
static void read_words(const char *where, char *words, uint32_t *slots, uint32_t *max_slots)
{
    static const struct {
        const char *name;
        bool is_max, is_said;
    } keys[] = { { "slots", false, true },    { "count", false, true },
                 { "max_slots", true, true }, { "max-slots", true, true },
                 { "ifname", false, false },  { "binding", false, false },
                 { "user", false, false },    { "port", false, false } };
    char *save = NULL;
    for (char *w = strtok_r(words, " \t\r\n", &save); w != NULL;
         w = strtok_r(NULL, " \t\r\n", &save)) {
        size_t len = strcspn(w, "="), k = 0;
        const size_t n_key = sizeof keys / sizeof keys[0];
        while (k < n_key &&
               (strlen(keys[k].name) != len || strncasecmp(keys[k].name, w, len) != 0)) {
            k++;
        }
        if (k == n_key || w[len] != '=') {
            pli_say_bad("%s: '%s' is not understood; a line is a host and slots=N or :N", where, w);
        }
        uint32_t v = 0;
        if (keys[k].is_said && !is_slots(w + len + 1, strlen(w + len + 1), &v)) {
            pli_say_bad("%s: %s needs a whole number", where, w);
        }
        *(keys[k].is_max ? max_slots : slots) += v;
    }
}

void pli_hosts_take_file(struct pli_job *job, const char *option, const char *path)
{
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        pli_say_bad("%s: cannot read the list of hosts %s: %s", option, path, strerror(errno));
    }
    char *line = NULL;
    size_t cap = 0;
    uint32_t before = job->n_host;
    for (int number = 1; getline(&line, &cap, f) >= 0; number++) {
        char where[512];
        snprintf(where, sizeof where, "%s, line %d", path, number);
        line[strcspn(line, "#\r\n")] = '\0';
        char *at = line + strspn(line, " \t");
        size_t len = strcspn(at, " \t"), name_len;
        const char *name;
        uint32_t slots = 0, max_slots = 0;
        if (len == 0) {
            continue;
        }
        read_name(where, at, len, &name, &name_len, &slots);
        read_words(where, at + len, &slots, &max_slots);
        pli_hosts_add(job, name, name_len, slots, max_slots);
    }
    if (ferror(f)) {
        pli_say_bad("%s: cannot read the list of hosts %s: %s", option, path, strerror(errno));
    }
    free(line);
    fclose(f);
    if (job->n_host == before && before == 0) {
        pli_say_bad("%s: %s names no host", option, path);
    }
}

// Names are compared, not looked up: a name service that does not answer must not keep us, and a
// host taken for another one is only reached the long way.
bool pli_hosts_is_same(const char *a, const char *b)
{
    size_t a_len = strcspn(a, "."), b_len = strcspn(b, ".");
    bool is_number = a[strspn(a, "0123456789.")] == '\0';
    bool is_short =
        a_len == b_len && strncasecmp(a, b, a_len) == 0 && (a[a_len] == '\0' || b[b_len] == '\0');
    return strcasecmp(a, b) == 0 || (is_short && !is_number);
}

bool pli_hosts_is_this(const char *name)
{
    static const char *const always[] = { "localhost", "127.0.0.1", "::1" };
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
        if (strcasecmp(name, always[i]) == 0) {
            return true;
        }
    }
    char own[256] = "";
    gethostname(own, sizeof own - 1);
    return pli_hosts_is_same(name, own);
}

// See which are this one, and how many ranks the names stand for.
static void settle(struct pli_host *hosts, uint32_t n)
{
    bool is_repeated = false;
    for (uint32_t i = 0; i < n; i++) {
        is_repeated |= hosts[i].slots == 0 && hosts[i].n_named > 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        hosts[i].is_local = pli_hosts_is_this(hosts[i].name);
        if (hosts[i].slots == 0 && is_repeated) {
            hosts[i].slots = hosts[i].n_named; // a line for every rank
        }
    }
}

struct pli_host *pli_hosts_read(const char *option, const char *path, uint32_t *n_out)
{
    struct pli_job *list = pli_say_need(calloc(1, sizeof *list)); // for its hosts alone
    pli_hosts_take_file(list, option, path);
    struct pli_host *hosts = list->hosts;
    *n_out = list->n_host;
    free(list);
    settle(hosts, *n_out);
    return hosts;
}

// What a host counts as before its share is known.
static uint32_t slots_of(const struct pli_job *job, const struct pli_host *h)
{
    return job->opt.per_host != 0 ? job->opt.per_host : h->slots != 0 ? h->slots : 1;
}

void pli_hosts_find(struct pli_job *job)
{
    if (job->n_host == 0) {
        pli_allocation_read(job);
    }
    settle(job->hosts, job->n_host);
    uint32_t total = 0;
    for (uint32_t i = 0; i < job->n_host; i++) {
        total += slots_of(job, &job->hosts[i]);
    }
    if (job->n_app == 1 && job->apps[0].n_rank == 0 && total > 0) {
        job->apps[0].n_rank = total;
    }
}

const char *pli_hosts_name(const struct pli_job *job, const struct pli_task *task)
{
    return job->n_host > 0 ? job->hosts[task->host].name : job->node.header->host;
}
