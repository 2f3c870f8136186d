// SPDX-License-Identifier: BSD-3-Clause
// Reads lists and files of hosts, in the spellings of MPICH and of Open MPI.
#include "launcher/job/hosts.h"

#include "base/text_file.h"
#include "launcher/job/allocation.h"
#include "launcher/job/job.h"
#include "launcher/base/say.h"

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

static uint32_t hash(const char *name, size_t len)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++) {
        h = (h ^ (unsigned char)name[i]) * 16777619u;
    }
    return h;
}

// The place in the table of a name, or the empty one where it belongs.
static uint32_t *place_of(const struct pli_job *job, const char *name, size_t len)
{
    uint32_t mask = job->host_index.n_table - 1, at = hash(name, len) & mask;
    for (;; at = (at + 1) & mask) {
        uint32_t *p = &job->host_index.table[at];
        const char *other = *p != 0 ? job->hosts[*p - 1].name : NULL;
        if (other == NULL || (strlen(other) == len && memcmp(other, name, len) == 0)) {
            return p;
        }
    }
}

// Make room for one more host, in the list and in the table, of which half stays empty.
static void make_room(struct pli_job *job)
{
    uint32_t n = job->n_host + 1, n_table = 64;
    bool is_ours = job->host_index.of == job->hosts && job->hosts != NULL;
    if (!is_ours || job->host_index.cap < n) {
        job->host_index.cap = 2 * n;
        job->hosts = pli_say_need(realloc(job->hosts, 2 * (size_t)n * sizeof *job->hosts));
        job->host_index.of = job->hosts;
    }
    if (!is_ours || job->host_index.n_table < 2 * n) {
        while (n_table < 4 * n) {
            n_table *= 2;
        }
        free(job->host_index.table);
        job->host_index.table = pli_say_need(calloc(n_table, sizeof *job->host_index.table));
        job->host_index.n_table = n_table;
        job->host_index.n_entered = 0;
    }
    for (uint32_t i = job->host_index.n_entered; i < job->n_host; i++) {
        uint32_t *p = place_of(job, job->hosts[i].name, strlen(job->hosts[i].name));
        *p = *p != 0 ? *p : i + 1;
    }
    job->host_index.n_entered = job->n_host;
}

void pli_hosts_add(struct pli_job *job, const char *name, size_t len, uint32_t slots,
                   uint32_t max_slots)
{
    make_room(job);
    uint32_t *place = place_of(job, name, len);
    if (*place == 0) {
        job->hosts[job->n_host++] = (struct pli_host){ .name = pli_say_need(strndup(name, len)) };
        *place = job->host_index.n_entered = job->n_host;
    }
    struct pli_host *h = &job->hosts[*place - 1];
    h->n_named++;
    h->slots += slots;
    h->max_slots = max_slots != 0 ? max_slots : h->max_slots;
}

bool pli_hosts_is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] <= ' ' || text[i] == 127) {
            return false;
        }
    }
    return len > 0 && strchr("-+^", text[0]) == NULL && memchr(text, '\'', len) == NULL;
}

const char *pli_hosts_parse(const char *text, size_t len, const char **name_out, size_t *len_out,
                            uint32_t *slots, uint32_t *max_slots)
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
    if (!pli_hosts_is_name(*name_out, *len_out)) {
        return "is not the name of a host";
    }
    if (colon == NULL) {
        return NULL;
    }
    size_t rest = len - (size_t)(colon + 1 - text);
    const char *slash = memchr(colon + 1, '/', rest);
    if (slash != NULL) {
        rest = (size_t)(slash - colon) - 1;
    }
    bool is_good =
        *colon == ':' && is_slots(colon + 1, rest, slots) &&
        (slash == NULL || is_slots(slash + 1, (size_t)(text + len - slash) - 1, max_slots));
    return is_good ? NULL : "needs a number of ranks behind the colon";
}

static void read_name(const char *option, const char *text, size_t len, const char **name_out,
                      size_t *len_out, uint32_t *slots, uint32_t *max_slots)
{
    const char *why = pli_hosts_parse(text, len, name_out, len_out, slots, max_slots);
    if (why != NULL) {
        pli_say_bad("%s: '%.*s' %s", option, (int)len, text, why);
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
        uint32_t slots = 0, max_slots = 0;
        if (len > 0) {
            read_name(option, w, len, &name, &name_len, &slots, &max_slots);
            pli_hosts_add(job, name, name_len, slots, max_slots);
        }
        w += len;
    }
}

// What a line of a file says of a host.
struct line {
    uint32_t slots, max_slots;
    const char *user;
};

// "slots = 4" is "slots=4".
static void close_up(char *words)
{
    char *to = words;
    for (const char *at = words; *at != '\0'; at++) {
        const char *next = at + strspn(at, " \t");
        if (*next == '=' || (to > words && to[-1] == '=')) {
            at = next;
        }
        *to++ = *at;
        if (*at == '\0') {
            return;
        }
    }
    *to = '\0';
}

// The words after the name on a line of a file.
static void read_words(const char *where, char *words, struct line *l)
{
    enum { SLOTS, MAX, USER, BINDING };
    static const struct {
        const char *name;
        int means;
    } keys[] = { { "slots", SLOTS },   { "count", SLOTS },    { "cpu", SLOTS },
                 { "max-slots", MAX }, { "slots-max", MAX },  { "user", USER },
                 { "username", USER }, { "user-name", USER }, { "binding", BINDING } };
    const size_t n_key = sizeof keys / sizeof keys[0];
    char *save = NULL;
    close_up(words);
    for (char *w = strtok_r(words, " \t", &save); w != NULL; w = strtok_r(NULL, " \t", &save)) {
        size_t len = strcspn(w, "="), k = 0;
        const char *value = w[len] == '=' ? w + len + 1 : "";
        for (char *c = w; c < w + len; c++) {
            *c = *c == '_' ? '-' : *c;
        }
        while (k < n_key &&
               (strlen(keys[k].name) != len || strncasecmp(keys[k].name, w, len) != 0)) {
            k++;
        }
        if (k == n_key || value[0] == '\0') {
            pli_say_bad("%s: '%s' is not understood; a line is a host and :N, or slots=N, "
                        "max_slots=N and user=NAME",
                        where, w);
        }
        uint32_t v = 0;
        if (keys[k].means <= MAX && !is_slots(value, strlen(value), &v)) {
            pli_say_bad("%s: %s needs a whole number", where, w);
        }
        if (keys[k].means == USER && !pli_hosts_is_name(value, strlen(value))) {
            pli_say_bad("%s: '%s' is not the name of a user", where, value);
        }
        l->slots += keys[k].means == SLOTS ? v : 0;
        l->max_slots += keys[k].means == MAX ? v : 0;
        l->user = keys[k].means == USER ? value : l->user;
        if (keys[k].means == BINDING) {
            pli_say("%s: '%s' changes nothing; --bind-to and --map-by bind ranks", where, w);
        }
    }
}

static void take_line(struct pli_job *job, const char *where, char *at)
{
    size_t len = strcspn(at, " \t"), name_len;
    const char *name;
    struct line l = { 0 };
    if (len == 0) {
        return;
    }
    read_name(where, at, len, &name, &name_len, &l.slots, &l.max_slots);
    if (at[len] != '\0') {
        at[len] = '\0';
        read_words(where, at + len + 1, &l);
    }
    char *full;
    int n = l.user != NULL ? asprintf(&full, "%s@%.*s", l.user, (int)name_len, name)
                           : asprintf(&full, "%.*s", (int)name_len, name);
    pli_say_need(n >= 0 ? full : NULL);
    pli_hosts_add(job, full, (size_t)n, l.slots, l.max_slots);
    free(full);
}

void pli_hosts_take_file(struct pli_job *job, const char *option, const char *path)
{
    char why[128], *text = pli_text_file_read(path, why, sizeof why), *rest = text, *line;
    if (text == NULL) {
        pli_say_bad("%s: cannot read the list of hosts %s: %s", option, path, why);
    }
    uint32_t before = job->n_host;
    for (int number = 1; (line = pli_text_file_line(&rest)) != NULL; number++) {
        char where[512];
        snprintf(where, sizeof where, "%s, line %d", path, number);
        line[strcspn(line, "#\r\n")] = '\0';
        // Some editors begin a text in UTF-8 with an invisible mark.
        char *at = line + (number == 1 && strncmp(line, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
        take_line(job, where, at + strspn(at, " \t"));
    }
    free(text);
    if (job->n_host == before && before == 0) {
        pli_say_bad("%s: %s names no host", option, path);
    }
}

void pli_hosts_take_map(struct pli_job *job, const char *option, const char *text)
{
    size_t len = strncasecmp(text, "ppr:", 4) == 0 ? strcspn(text + 4, ":") : 0;
    const char *what = text + 4 + len;
    if (strncasecmp(text, "ppr:", 4) != 0) {
        job->opt.map = text;
    } else if (!is_slots(text + 4, len, &job->opt.per_host) ||
               (strcasecmp(what, ":node") != 0 && strcasecmp(what, ":machine") != 0)) {
        pli_say_bad("%s ppr:N:node puts N ranks on each host, as -ppn does; '%s' is not understood",
                    option, text);
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
    free(list->host_index.table);
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
    total = job->n_host > 0 ? total : job->opt.per_host; // this host is the only one
    if (job->n_app == 1 && job->apps[0].n_rank == 0 && total > 0) {
        job->apps[0].n_rank = total;
    }
}

const char *pli_hosts_name(const struct pli_job *job, const struct pli_proc_task *task)
{
    return job->hosts[task->host].name;
}

uint32_t pli_hosts_n_left(const struct pli_job *job)
{
    uint32_t n = 0;
    for (uint32_t h = 0; h < job->n_host; h++) {
        n += !job->hosts[h].is_lost;
    }
    return n;
}

void pli_hosts_where(const struct pli_job *job, const struct pli_proc_task *task, char *to,
                     size_t cap)
{
    snprintf(to, cap, " on host %s", pli_hosts_name(job, task));
}
