// SPDX-License-Identifier: BSD-3-Clause
// Takes together what hosts packed: one list of ranks with their tables and events.
#include "launcher/observe/trace_model.h"

#include "base/host_clock.h"

#include "launcher/base/pack.h"
#include "launcher/base/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLI_TRACE_FN(name, text, kind) { text, PLI_TRACE_MODEL_##kind },
static const struct {
    const char *name;
    enum pli_trace_model_class kind;
} functions[] = {
#include "trace/functions.def"
};
#undef PLI_TRACE_FN

const uint32_t pli_trace_model_n_function = sizeof functions / sizeof functions[0];

const char *pli_trace_model_function(uint32_t number)
{
    return number < pli_trace_model_n_function ? functions[number].name : "MPI";
}

enum pli_trace_model_class pli_trace_model_class(uint32_t number)
{
    return number < pli_trace_model_n_function ? functions[number].kind : PLI_TRACE_MODEL_OTHER;
}

int pli_trace_model_utf8(const unsigned char *c)
{
    int n = c[0] < 0x80 ? 1 : (c[0] & 0xe0) == 0xc0 ? 2 : (c[0] & 0xf0) == 0xe0 ? 3 : 4;
    unsigned least = n == 2 ? 0x80 : n == 3 ? 0x800 : n == 4 ? 0x10000 : 0;
    unsigned code = n == 1 ? c[0] : c[0] & (0x7fu >> n);
    for (int i = 1; i < n; i++) {
        if ((c[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (c[i] & 0x3f);
    }
    bool is_one = code >= least && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return is_one && (c[0] < 0x80 || (c[0] >= 0xc0 && c[0] < 0xf8)) ? n : 0;
}

// A name that a program gave, as a terminal can show it.
static char *read_name(struct pli_unpack *u)
{
    char *text = pli_unpack_text(u);
    text = text != NULL ? text : pli_say_need(strdup("unknown"));
    for (unsigned char *c = (unsigned char *)text; *c != '\0';) {
        int n = *c >= 0x20 && *c != 0x7f ? pli_trace_model_utf8(c) : 0;
        *c = n > 0 ? *c : '?';
        c += n > 0 ? n : 1;
    }
    return text;
}

static void *list(uint32_t n, size_t size)
{
    return pli_say_need(calloc(n > 0 ? n : 1, size));
}

static void read_tables(struct pli_trace_model_rank *r, struct pli_unpack *u)
{
    r->n_site = pli_unpack_count(u, 40);
    r->sites = list(r->n_site, sizeof *r->sites);
    for (uint32_t i = 0; i < r->n_site; i++) {
        struct pli_trace_model_site *s = &r->sites[i];
        s->number = pli_unpack_u32(u);
        s->function = pli_unpack_u32(u);
        s->place = read_name(u);
        s->n = pli_unpack_u64(u);
        s->ns = pli_unpack_u64(u);
        s->longest = pli_unpack_u64(u);
        s->bytes = pli_unpack_u64(u);
    }
    r->n_peer = pli_unpack_count(u, 32);
    r->peers = list(r->n_peer, sizeof *r->peers);
    for (uint32_t i = 0; i < r->n_peer; i++) {
        struct pli_trace_model_peer *p = &r->peers[i];
        p->index = pli_unpack_u32(u);
        p->ep = pli_unpack_u32(u);
        p->n_sent = pli_unpack_u64(u);
        p->bytes_sent = pli_unpack_u64(u);
        p->ns_waited = pli_unpack_u64(u);
    }
    r->n_phase = pli_unpack_count(u, 24);
    r->phases = list(r->n_phase, sizeof *r->phases);
    for (uint32_t i = 0; i < r->n_phase; i++) {
        r->phases[i].name = read_name(u);
        r->phases[i].n = pli_unpack_u64(u);
        r->phases[i].ns = pli_unpack_u64(u);
        r->phases[i].ns_mpi = pli_unpack_u64(u);
    }
}

static void read_events(struct pli_trace_model_rank *r, const struct pli_host_clock *clock,
                        struct pli_unpack *u)
{
    r->n_recorded = pli_unpack_u64(u);
    uint32_t n = pli_unpack_count(u, sizeof *r->events);
    const void *data = pli_unpack_bytes(u, n * sizeof *r->events);
    r->events = list(n, sizeof *r->events);
    for (uint32_t i = 0; data != NULL && i < n; i++) {
        struct pli_trace_event e;
        memcpy(&e, (const char *)data + i * sizeof e, sizeof e);
        if (e.kind < PLI_TRACE_N_EVENT_KIND && e.end >= e.begin &&
            e.function < pli_trace_model_n_function) {
            e.begin = pli_host_clock_convert(clock, e.begin);
            e.end = pli_host_clock_convert(clock, e.end);
            r->events[r->n_event++] = e;
        }
    }
}

static void forget(struct pli_trace_model_rank *r)
{
    for (uint32_t k = 0; k < r->n_site; k++) {
        free(r->sites[k].place);
    }
    for (uint32_t k = 0; k < r->n_phase; k++) {
        free(r->phases[k].name);
    }
    free(r->sites);
    free(r->peers);
    free(r->phases);
    free(r->events);
}

bool pli_trace_model_add(struct pli_trace_model *m, uint32_t host,
                         const struct pli_host_clock *clock, struct pli_unpack *u)
{
    m->ranks = pli_say_need(reallocarray(m->ranks, m->n_rank + 1, sizeof *m->ranks));
    struct pli_trace_model_rank *r = &m->ranks[m->n_rank++];
    *r = (struct pli_trace_model_rank){ .host = host };
    uint32_t *const who[] = { &r->pid, &r->tid, &r->index, &r->ep, &r->world, &r->rank, &r->size };
    for (size_t i = 0; i < sizeof who / sizeof who[0]; i++) {
        *who[i] = pli_unpack_u32(u);
    }
    r->begin = pli_host_clock_convert(clock, pli_unpack_u64(u));
    r->end = pli_host_clock_convert(clock, pli_unpack_u64(u));
    r->is_cut = pli_unpack_u32(u) != 0;
    r->in_call = pli_unpack_u64(u);
    r->in_call = r->in_call != 0 ? pli_host_clock_convert(clock, r->in_call) : 0;
    r->in_function = pli_unpack_u32(u);
    r->ns_mpi = pli_unpack_u64(u);
    r->ns_waited = pli_unpack_u64(u);
    for (int i = 0; i < PLI_TRACE_N_BIN; i++) {
        r->bins[i] = pli_unpack_u64(u);
    }
    read_tables(r, u);
    read_events(r, clock, u);
    if (r->in_call != 0 && r->end > r->in_call) { // it ended inside a call
        r->ns_mpi += r->end - r->in_call;
    }
    if (u->is_bad) {
        forget(r);
        m->n_rank--;
    }
    return !u->is_bad;
}

void pli_trace_model_host(struct pli_trace_model *m, uint32_t host, const char *name)
{
    while (m->n_host <= host) {
        m->hosts = pli_say_need(reallocarray(m->hosts, m->n_host + 1, sizeof *m->hosts));
        m->hosts[m->n_host++] = NULL;
    }
    free(m->hosts[host]);
    m->hosts[host] = pli_say_need(strdup(name));
}

void pli_trace_model_note(struct pli_trace_model *m, uint64_t ns, const char *text)
{
    m->notes = pli_say_need(reallocarray(m->notes, m->n_note + 1, sizeof *m->notes));
    m->notes[m->n_note++] = (struct pli_trace_note){ ns, pli_say_need(strdup(text)) };
}

static int compare(const void *a, const void *b)
{
    const struct pli_trace_model_rank *x = a, *y = b;
    if (x->index != y->index) {
        return x->index < y->index ? -1 : 1;
    }
    if (x->ep != y->ep) {
        return x->ep < y->ep ? -1 : 1;
    }
    return (x->begin > y->begin) - (x->begin < y->begin);
}

// Whether the main thread, number i, only waits for those of its endpoints, and one of these is 0.
static bool is_first_apart(const struct pli_trace_model *m, uint32_t i)
{
    const struct pli_trace_model_rank *r = &m->ranks[i];
    uint32_t n = 1, n_zero = 1;
    for (; i + n < m->n_rank && r[n].index == r->index; n++) {
        n_zero += r[n].ep == 0;
    }
    return r->is_silent && n_zero == 2 && n > 2;
}

const char *pli_trace_model_name(const struct pli_trace_model *m, uint32_t index, uint32_t ep,
                                 char *to, size_t cap)
{
    uint32_t low = 0, high = index != PLI_TRACE_NOBODY ? m->n_rank : 0; // they are sorted by index
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (m->ranks[mid].index < index) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (low < m->n_rank && m->ranks[low].index == index) {
        const struct pli_trace_model_rank *r = &m->ranks[low];
        char of[32] = "", which[32] = "";
        if (r->world != 0) {
            snprintf(of, sizeof of, " (spawned)");
        }
        if (ep != PLI_TRACE_NOBODY && (ep != 0 || is_first_apart(m, low))) {
            snprintf(which, sizeof which, " endpoint %u", ep);
        }
        snprintf(to, cap, "rank %u%s%s", r->rank, which, of);
        return to;
    }
    snprintf(to, cap, "process %u", index);
    return to;
}

// Of a process that reached MPI_Finalize no thread is cut, unless in a call.
static void judge_ends(struct pli_trace_model_rank *r, uint32_t n)
{
    bool is_over = false;
    for (uint32_t i = 0; i < n; i++) {
        is_over |= !r[i].is_cut;
    }
    for (uint32_t i = 0; i < n && is_over; i++) {
        r[i].is_cut = r[i].in_call != 0;
    }
}

static void name_thread(struct pli_trace_model *m, uint32_t i)
{
    struct pli_trace_model_rank *r = &m->ranks[i], *before = i > 0 ? r - 1 : NULL;
    r->is_second = before != NULL && before->index == r->index && before->ep == r->ep;
    m->n_endpoint += !r->is_second || r->index == PLI_TRACE_NOBODY;
    pli_trace_model_name(m, r->index, r->is_silent ? PLI_TRACE_NOBODY : r->ep, r->name,
                         sizeof r->name);
    if (r->index == PLI_TRACE_NOBODY) { // it ended before it knew who it was
        snprintf(r->name, sizeof r->name, "process %u", r->pid);
    }
    if (r->is_second && (r->ep > 0 || strstr(r->name, " endpoint ") == NULL)) {
        size_t len = strlen(r->name);
        snprintf(r->name + len, sizeof r->name - len, " thread %u", r->tid);
    }
}

void pli_trace_model_close(struct pli_trace_model *m)
{
    for (uint32_t i = 0; i < m->n_rank; i++) { // a thread that used no communicator is its process
        struct pli_trace_model_rank *r = &m->ranks[i];
        r->is_silent = r->ep == PLI_TRACE_NOBODY;
        r->ep = r->is_silent ? 0 : r->ep;
    }
    if (m->n_rank > 0) {
        qsort(m->ranks, m->n_rank, sizeof *m->ranks, compare);
    }
    for (uint32_t i = 0, first = 0; i < m->n_rank; i++) {
        name_thread(m, i);
        if (i + 1 == m->n_rank || m->ranks[i + 1].index != m->ranks[first].index) {
            if (m->ranks[first].index != PLI_TRACE_NOBODY) {
                judge_ends(&m->ranks[first], i + 1 - first);
            }
            first = i + 1;
        }
    }
}

void pli_trace_model_fini(struct pli_trace_model *m)
{
    free(m->world);
    for (uint32_t i = 0; i < m->n_rank; i++) {
        forget(&m->ranks[i]);
    }
    for (uint32_t i = 0; i < m->n_host; i++) {
        free(m->hosts[i]);
    }
    for (uint32_t i = 0; i < m->n_note; i++) {
        free(m->notes[i].text);
    }
    free(m->ranks);
    free(m->hosts);
    free(m->notes);
    *m = (struct pli_trace_model){ 0 };
}

const struct pli_trace_model_site *pli_trace_model_site_of(const struct pli_trace_model_rank *r,
                                                           uint32_t number)
{
    for (uint32_t i = 0; i < r->n_site; i++) {
        if (r->sites[i].number == number) {
            return &r->sites[i];
        }
    }
    return NULL;
}
