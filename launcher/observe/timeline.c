// SPDX-License-Identifier: BSD-3-Clause
// Writes the Trace Event Format: a process for each rank, a thread for each endpoint, a slice
// for each call, arrows from sends to receives and from a collective's last rank to the others.
#include "launcher/observe/timeline.h"

#include "launcher/base/say.h"
#include "launcher/observe/trace_model.h"
#include "launcher/observe/trace_world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// One side of a message, or one rank's part in a collective.
struct end {
    uint64_t context;
    uint32_t from, to; // processes with endpoints; of a collective its number
    uint16_t from_ep, to_ep;
    int32_t tag;
    uint64_t order, at; // when it was posted; where the arrow begins or ends
    const struct pli_trace_model_rank *rank;
    const struct pli_trace_event *event;
};

struct ends {
    struct end *list;
    size_t n, cap;
    uint64_t nth; // the message that was last looked at, among those between the same two
};

// An arrow. Of one to or from another IMPI client this file has one end: `to` or `from` is NULL.
struct flow {
    uint64_t id;
    const char *category;
    const struct pli_trace_model_rank *from, *to;
    uint64_t begin, end;
};

struct out {
    FILE *to;
    uint64_t zero; // ns at which the timeline begins
    struct flow *flows;
    size_t n_flow, cap_flow;
    bool has_any;
    const struct pli_trace_model *m;
    struct ends sends, receives, parts;
};

void pli_timeline_text(FILE *to, const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    for (int n; *c != '\0'; c += n > 0 ? n : 1) {
        n = pli_trace_model_utf8(c);
        if (*c == '"' || *c == '\\') {
            fputc('\\', to);
            fputc(*c, to);
        } else if (*c < 0x20 || *c == '<') { // "</script>" in a page would end the script
            fprintf(to, "\\u%04x", *c);
        } else if (n > 0) {
            fwrite(c, 1, (size_t)n, to);
        } else {
            fputs("\\ufffd", to); // no UTF-8: a parser would take nothing of the file
        }
    }
}

static double us(const struct out *o, uint64_t ns)
{
    const struct pli_trace_world *w = o->m->world;
    if (w != NULL) {
        int64_t since = (int64_t)(pli_host_clock_convert(&w->clock, ns) - w->begin);
        return since > 0 ? (double)since / 1000.0 : 0; // mpiexec may have said something before
    }
    return (double)(int64_t)(ns - o->zero) / 1000.0;
}

static void open_row(struct out *o)
{
    fputs(o->has_any ? ",\n" : "\n", o->to);
    o->has_any = true;
}

static struct end *add(struct ends *e)
{
    if (e->n == e->cap) {
        e->cap = e->cap > 0 ? e->cap * 2 : 1024;
        e->list = pli_say_need(reallocarray(e->list, e->cap, sizeof *e->list));
    }
    return &e->list[e->n++];
}

// Threads are told apart by endpoint; several threads without one by their own numbers.
static uint32_t thread_of(const struct pli_trace_model_rank *r)
{
    return r->is_second ? r->tid : r->ep;
}

static uint32_t process_of(const struct pli_trace_model_rank *r)
{
    return r->index == PLI_TRACE_NOBODY ? r->pid : r->index + 1;
}

static void write_name(struct out *o, const char *kind, uint32_t pid, uint32_t tid,
                       const char *name)
{
    open_row(o);
    fprintf(o->to, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":\"",
            kind, pid, tid);
    pli_timeline_text(o->to, name);
    fputs("\"}}", o->to);
}

static void write_names(struct out *o, const struct pli_trace_model_rank *r)
{
    char process[400], name[64], thread[64];
    const char *host =
        r->host < o->m->n_host && o->m->hosts[r->host] != NULL ? o->m->hosts[r->host] : "?";
    pli_trace_model_name(o->m, r->index, PLI_TRACE_NOBODY, name, sizeof name);
    snprintf(process, sizeof process, "%s on %.255s", r->index != PLI_TRACE_NOBODY ? name : r->name,
             host);
    snprintf(thread, sizeof thread, r->ep > 0 ? "endpoint %u" : "main", r->ep);
    const char *word = strstr(r->name, r->ep > 0 ? " thread " : " endpoint ");
    word = word == NULL ? strstr(r->name, " thread ") : word;
    if (r->is_second && word != NULL) {
        snprintf(thread, sizeof thread, "%.60s", word + 1);
    }
    write_name(o, "thread_name", process_of(r), thread_of(r), thread);
    open_row(o);
    fprintf(o->to,
            "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%u,\"tid\":%u,\"args\":{"
            "\"sort_index\":%u}}",
            process_of(r), thread_of(r), r->ep);
    if (r > o->m->ranks && process_of(r - 1) == process_of(r)) {
        return;
    }
    write_name(o, "process_name", process_of(r), thread_of(r), process);
    open_row(o);
    fprintf(
        o->to,
        "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,\"args\":{\"sort_index\":%u}}",
        process_of(r), r->index);
}

static void write_slice(struct out *o, const struct pli_trace_model_rank *r,
                        const struct pli_trace_event *e, const char *name, const char *category)
{
    double begin = us(o, e->begin);
    open_row(o);
    fprintf(
        o->to,
        "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"%s\",\"name\":\"",
        process_of(r), thread_of(r), begin, us(o, e->end) - begin, category);
    pli_timeline_text(o->to, name);
    fputs("\",\"args\":{", o->to);
}

static const char *category_of(uint32_t function)
{
    static const char *const names[] = {
        [PLI_TRACE_MODEL_SEND] = "send",   [PLI_TRACE_MODEL_RECV] = "receive",
        [PLI_TRACE_MODEL_BOTH] = "send",   [PLI_TRACE_MODEL_PROBE] = "wait",
        [PLI_TRACE_MODEL_WAIT] = "wait",   [PLI_TRACE_MODEL_COLL] = "collective",
        [PLI_TRACE_MODEL_RMA] = "rma",     [PLI_TRACE_MODEL_IO] = "io",
        [PLI_TRACE_MODEL_LIFE] = "life",   [PLI_TRACE_MODEL_WORLD] = "world",
        [PLI_TRACE_MODEL_OTHER] = "other",
    };
    return names[pli_trace_model_class(function)];
}

static void write_call(struct out *o, const struct pli_trace_model_rank *r,
                       const struct pli_trace_event *e, const char *cause)
{
    char name[64];
    const char *sep = "";
    const struct pli_trace_model_site *s = pli_trace_model_site_of(r, e->site);
    write_slice(o, r, e, pli_trace_model_function(e->function), category_of(e->function));
    if (s != NULL && s->place != NULL) {
        fputs("\"at\":\"", o->to);
        pli_timeline_text(o->to, s->place);
        fputs("\"", o->to);
        sep = ",";
    }
    if (e->peer != PLI_TRACE_NOBODY) {
        fprintf(o->to, "%s\"peer\":\"%s\",\"tag\":%d", sep,
                pli_trace_model_name(o->m, e->peer, e->peer_ep, name, sizeof name), e->tag);
        sep = ",";
    }
    if (e->context != 0) {
        fprintf(o->to, "%s\"bytes\":%" PRIu64 ",\"comm\":\"%" PRIx64 "\"", sep, e->bytes,
                e->context);
        sep = ",";
    }
    if (pli_trace_model_class(e->function) == PLI_TRACE_MODEL_COLL && e->number != 0) {
        fprintf(o->to, "%s\"collective\":%u", sep, e->number);
        sep = ",";
    }
    if (e->request != 0) {
        fprintf(o->to, "%s\"request\":%u", sep, e->request);
        sep = ",";
    }
    if (cause[0] != '\0') {
        fprintf(o->to, "%s\"cause\":\"%s\"", sep, cause);
    }
    fputs("}}", o->to);
}

static void add_message(struct ends *to, const struct pli_trace_model_rank *r,
                        const struct pli_trace_event *e, uint32_t ep, bool is_send, uint32_t peer,
                        uint32_t peer_ep, int32_t tag, uint64_t order, uint64_t at)
{
    if (peer != PLI_TRACE_NOBODY) {
        *add(to) = (struct end){
            .context = e->context,
            .from = is_send ? r->index : peer,
            .to = is_send ? peer : r->index,
            .from_ep = (uint16_t)(is_send ? ep : peer_ep),
            .to_ep = (uint16_t)(is_send ? peer_ep : ep),
            .tag = tag,
            .order = order,
            .at = at,
            .rank = r,
            .event = e,
        };
    }
}

// The event that posted a request, among those before the one that completed it.
static const struct pli_trace_event *find_post(const struct pli_trace_model_rank *r, uint32_t at,
                                               uint32_t request)
{
    for (uint32_t i = at; i-- > 0;) {
        const struct pli_trace_event *e = &r->events[i];
        if (e->kind == PLI_TRACE_EVENT_CALL && e->request == request) {
            return e;
        }
    }
    return NULL;
}

// Arrows need both sides from the beginning; a ring that has lost some has no order.
static void gather(struct out *o, const struct pli_trace_model_rank *r)
{
    for (uint32_t i = 0; i < r->n_event; i++) {
        const struct pli_trace_event *e = &r->events[i];
        bool is_call = e->kind == PLI_TRACE_EVENT_CALL;
        uint8_t f = e->flags;
        bool is_posted = (f & PLI_TRACE_POSTED) != 0;
        if (is_call && pli_trace_model_class(e->function) == PLI_TRACE_MODEL_COLL &&
            e->number != 0 && e->request == 0) {
            struct end *p = add(&o->parts);
            *p = (struct end){
                .context = e->context, .from = e->number, .order = e->begin, .rank = r, .event = e
            };
        }
        if (r->n_recorded > r->n_event) {
            continue;
        }
        if (is_call && (f & (PLI_TRACE_IS_SEND | PLI_TRACE_IS_BOTH)) != 0 &&
            (e->request == 0 || is_posted)) {
            add_message(&o->sends, r, e, e->ep, true, e->peer, e->peer_ep, e->tag, e->begin,
                        e->begin);
        }
        if (is_call && (f & PLI_TRACE_IS_BOTH) != 0 && e->request == 0) {
            add_message(&o->receives, r, e, e->ep, false, e->source, e->source_ep,
                        (int32_t)e->number, e->begin, e->end);
        }
        if (is_call && (f & PLI_TRACE_IS_RECV) != 0 && e->request == 0) {
            add_message(&o->receives, r, e, e->ep, false, e->peer, e->peer_ep, e->tag, e->begin,
                        e->end);
        }
        if (e->kind == PLI_TRACE_EVENT_COMPLETE && (f & PLI_TRACE_IS_RECV) != 0) {
            const struct pli_trace_event *post = find_post(r, i, e->request);
            if (post != NULL) {
                add_message(&o->receives, r, e, post->ep, false, e->peer, e->peer_ep, e->tag,
                            post->begin, e->end);
            }
        }
    }
}

static int compare_key(const struct end *x, const struct end *y)
{
#define BY(field)                                                                                  \
    if (x->field != y->field) {                                                                    \
        return x->field < y->field ? -1 : 1;                                                       \
    }
    BY(context)
    BY(from)
    BY(to)
    BY(from_ep)
    BY(to_ep)
    BY(tag)
#undef BY
    return 0;
}

static int compare_end(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    int c = compare_key(x, y);
    return c != 0 ? c : (x->order > y->order) - (x->order < y->order);
}

static void sort(struct ends *e)
{
    if (e->n > 0) {
        qsort(e->list, e->n, sizeof *e->list, compare_end);
    }
}

static struct flow *add_flow(struct out *o, const char *category)
{
    if (o->n_flow == o->cap_flow) {
        o->cap_flow = o->cap_flow > 0 ? o->cap_flow * 2 : 1024;
        o->flows = pli_say_need(reallocarray(o->flows, o->cap_flow, sizeof *o->flows));
    }
    struct flow *f = &o->flows[o->n_flow++];
    // Files of several clients may be put together: each has numbers of its own.
    uint64_t client = o->m->world != NULL ? o->m->world->client : 0;
    *f = (struct flow){ .id = client << 40 | o->n_flow, .category = category };
    return f;
}

static void write_end(struct out *o, const struct flow *f, const char *phase,
                      const struct pli_trace_model_rank *r, uint64_t at)
{
    open_row(o);
    fprintf(o->to,
            "{\"ph\":%s,\"id\":%" PRIu64
            ",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"cat\":\"%s\",\"name\":\"%s\"}",
            phase, f->id, process_of(r), thread_of(r), us(o, at), f->category, f->category);
}

// After the slices: a viewer binds an end to a slice that it has seen.
static void write_flows(struct out *o)
{
    for (size_t i = 0; i < o->n_flow; i++) {
        const struct flow *f = &o->flows[i];
        if (f->from != NULL) {
            write_end(o, f, "\"s\"", f->from, f->begin);
        }
        if (f->to != NULL) {
            write_end(o, f, "\"f\",\"bp\":\"e\"", f->to, f->end);
        }
    }
    free(o->flows);
}

// The end of an arrow lies inside the slice of the call that received.
static uint64_t inside(const struct pli_trace_event *e)
{
    return e->end > e->begin ? e->end - 1 : e->end;
}

// A call and what it waited for.
struct cause {
    const struct pli_trace_event *event;
    char text[96];
};

struct causes {
    struct cause *list;
    size_t n;
};

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

// The end of an arrow that another client has the other end of, under the number that both compute:
// the how-manieth message it is between these two.
static void add_half(struct out *o, struct ends *ends, size_t at, bool is_send)
{
    const struct pli_trace_world *w = o->m->world;
    const struct end *e = &ends->list[at];
    uint32_t peer = is_send ? e->to : e->from;
    if (w == NULL || peer >= w->n_rank || peer - w->first < w->n) {
        return;
    }
    bool is_next = at > 0 && compare_key(&ends->list[at - 1], e) == 0;
    ends->nth = is_next ? ends->nth + 1 : 0;
    uint64_t h = 0;
    const uint64_t words[] = { e->context, e->from,          e->to,    e->from_ep,
                               e->to_ep,   (uint32_t)e->tag, ends->nth };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        h = mix(h, words[i]);
    }
    struct flow *f = add_flow(o, "message");
    f->id = (h & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52; // JavaScript has 53 bits
    *(is_send ? &f->from : &f->to) = e->rank;
    *(is_send ? &f->begin : &f->end) = is_send ? e->at : inside(e->event);
}

static void match(struct out *o, struct causes *c)
{
    char name[64];
    size_t s = 0, r = 0;
    while (s < o->sends.n || r < o->receives.n) {
        const struct end *from = &o->sends.list[s], *to = &o->receives.list[r];
        int order = s == o->sends.n ? 1 : r == o->receives.n ? -1 : compare_key(from, to);
        if (order != 0) {
            order < 0 ? add_half(o, &o->sends, s++, true) : add_half(o, &o->receives, r++, false);
            continue;
        }
        struct flow *f = add_flow(o, "message");
        f->from = from->rank;
        f->begin = from->at;
        f->to = to->rank;
        f->end = inside(to->event);
        if (from->at > to->event->begin) {
            struct cause *it = &c->list[c->n++];
            it->event = to->event;
            snprintf(it->text, sizeof it->text, "%s sent %.1f us after this call began",
                     pli_trace_model_name(o->m, from->from, from->from_ep, name, sizeof name),
                     (double)(from->at - to->event->begin) / 1000.0);
        }
        s++;
        r++;
    }
}

static void join(struct out *o, struct causes *c)
{
    char name[64];
    for (size_t first = 0, next; first < o->parts.n; first = next) {
        const struct end *last = &o->parts.list[first];
        for (next = first;
             next < o->parts.n && compare_key(&o->parts.list[next], &o->parts.list[first]) == 0;
             next++) {
            last = &o->parts.list[next];
        }
        for (size_t i = first; i < next; i++) {
            const struct end *p = &o->parts.list[i];
            if (p == last || p->event->end <= last->event->begin) {
                continue;
            }
            struct flow *f = add_flow(o, "collective");
            f->from = last->rank;
            f->begin = last->event->begin;
            f->to = p->rank;
            f->end = inside(p->event);
            struct cause *it = &c->list[c->n++];
            it->event = p->event;
            snprintf(
                it->text, sizeof it->text, "%s came %.1f us later",
                pli_trace_model_name(o->m, last->rank->index, last->rank->ep, name, sizeof name),
                (double)(last->event->begin - p->event->begin) / 1000.0);
        }
    }
}

static int compare_cause(const void *a, const void *b)
{
    const struct cause *x = a, *y = b;
    return ((uintptr_t)x->event > (uintptr_t)y->event) -
           ((uintptr_t)x->event < (uintptr_t)y->event);
}

static const char *cause_of(const struct causes *c, const struct pli_trace_event *e)
{
    struct cause key = { .event = e };
    const struct cause *it =
        c->n > 0 ? bsearch(&key, c->list, c->n, sizeof key, compare_cause) : NULL;
    return it != NULL ? it->text : "";
}

// What was completed comes right before the call that completed it and gives it its cause.
static void write_rank(struct out *o, const struct pli_trace_model_rank *r, const struct causes *c)
{
    const char *cause = "";
    write_names(o, r);
    for (uint32_t i = 0; i < r->n_event; i++) {
        const struct pli_trace_event *e = &r->events[i];
        switch (e->kind) {
        case PLI_TRACE_EVENT_COMPLETE:
            cause = cause[0] != '\0' ? cause : cause_of(c, e);
            break;
        case PLI_TRACE_EVENT_CALL: {
            const char *own = cause_of(c, e);
            write_call(o, r, e, own[0] != '\0' ? own : cause);
            cause = "";
            break;
        }
        case PLI_TRACE_EVENT_PHASE:
            write_slice(o, r, e, e->site < r->n_phase ? r->phases[e->site].name : "phase", "phase");
            fputs("}}", o->to);
            break;
        default:
            open_row(o);
            fprintf(o->to,
                    "{\"ph\":\"i\",\"s\":\"t\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"name\":\"MPI_"
                    "Pcontrol "
                    "%d\"}",
                    process_of(r), thread_of(r), us(o, e->begin), e->tag);
        }
    }
    if (r->in_call != 0 && r->end > r->in_call) { // it never came back
        struct pli_trace_event e = { .begin = r->in_call,
                                     .end = r->end,
                                     .function = (uint16_t)r->in_function };
        write_slice(o, r, &e, pli_trace_model_function(r->in_function),
                    category_of(r->in_function));
        fputs("\"unfinished\":true}}", o->to);
    }
}

static void write_notes(struct out *o)
{
    char name[64] = "mpiexec";
    uint32_t pid = 0;
    if (o->m->world != NULL) {
        snprintf(name, sizeof name, "mpiexec of client %u", o->m->world->client);
        pid = 2000000000 + o->m->world->client;
    }
    write_name(o, "process_name", pid, 0, name);
    for (uint32_t i = 0; i < o->m->n_note; i++) {
        open_row(o);
        fprintf(o->to, "{\"ph\":\"i\",\"s\":\"g\",\"pid\":%u,\"tid\":0,\"ts\":%.3f,\"name\":\"",
                pid, us(o, o->m->notes[i].ns));
        pli_timeline_text(o->to, o->m->notes[i].text);
        fputs("\"}", o->to);
    }
}

bool pli_timeline_write(const struct pli_trace_model *m, FILE *to)
{
    struct out o = { .to = to, .m = m, .zero = UINT64_MAX };
    uint64_t n_lost = 0;
    for (uint32_t i = 0; i < m->n_rank; i++) {
        o.zero = m->ranks[i].begin < o.zero ? m->ranks[i].begin : o.zero;
        n_lost += m->ranks[i].n_recorded - m->ranks[i].n_event;
        gather(&o, &m->ranks[i]);
    }
    for (uint32_t i = 0; i < m->n_note; i++) {
        o.zero = m->notes[i].ns < o.zero ? m->notes[i].ns : o.zero;
    }
    sort(&o.sends);
    sort(&o.receives);
    sort(&o.parts);
    struct causes c = { 0 };
    c.list = pli_say_need(calloc(o.receives.n + o.parts.n + 1, sizeof *c.list));
    fprintf(to,
            "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"made by\":\"Pliant MPI " PLIANT_VERSION
            "\",\"program\":\"");
    pli_timeline_text(to, m->program);
    fprintf(to,
            "\",\"events that rings had no room for\":%" PRIu64
            ",\"zero\":\"%s\"},\"traceEvents\":[",
            n_lost, m->world != NULL ? "of the world of all IMPI clients" : "of this job");
    write_notes(&o);
    match(&o, &c);
    join(&o, &c);
    if (c.n > 0) {
        qsort(c.list, c.n, sizeof *c.list, compare_cause);
    }
    for (uint32_t i = 0; i < m->n_rank; i++) {
        write_rank(&o, &m->ranks[i], &c);
    }
    write_flows(&o);
    fputs("\n]}\n", to);
    free(c.list);
    free(o.sends.list);
    free(o.receives.list);
    free(o.parts.list);
    return fflush(to) == 0 && ferror(to) == 0;
}
