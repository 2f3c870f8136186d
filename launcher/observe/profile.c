// SPDX-License-Identifier: BSD-3-Clause
// Adds up what ranks recorded, and finds what is worth looking at first.
#include "launcher/observe/profile.h"

#include "launcher/base/say.h"
#include "launcher/observe/trace_model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int compare_sites(const void *a, const void *b)
{
    const struct pli_profile_site *x = a, *y = b;
    return (y->ns > x->ns) - (y->ns < x->ns);
}

static int compare_waits(const void *a, const void *b)
{
    const struct pli_profile_wait *x = a, *y = b;
    return (y->ns > x->ns) - (y->ns < x->ns);
}

static struct pli_profile_site *site(struct pli_profile *p, const struct pli_trace_model_site *s)
{
    for (uint32_t i = 0; i < p->n_site; i++) {
        if (p->sites[i].function == s->function && strcmp(p->sites[i].place, s->place) == 0) {
            return &p->sites[i];
        }
    }
    p->sites = pli_say_need(reallocarray(p->sites, p->n_site + 1, sizeof *p->sites));
    p->sites[p->n_site] = (struct pli_profile_site){ .function = s->function,
                                                     .place = s->place,
                                                     .least = UINT64_MAX };
    return &p->sites[p->n_site++];
}

static void add_rank(struct pli_profile *p, uint32_t i)
{
    const struct pli_trace_model_rank *r = &p->m->ranks[i];
    p->ns += r->end > r->begin ? r->end - r->begin : 0;
    p->ns_mpi += r->ns_mpi;
    p->ns_waited += r->ns_waited;
    for (uint32_t k = 0; k < PLI_TRACE_N_BIN; k++) {
        p->bins[k] += r->bins[k];
    }
    for (uint32_t k = 0; k < r->n_site; k++) {
        const struct pli_trace_model_site *from = &r->sites[k];
        struct pli_profile_site *to = site(p, from);
        to->n += from->n;
        to->ns += from->ns;
        to->bytes += from->bytes;
        to->longest = from->longest > to->longest ? from->longest : to->longest;
        to->n_rank++;
        if (from->ns >= to->most) {
            to->most = from->ns;
            to->first = i;
        }
        if (from->ns < to->least) {
            to->least = from->ns;
            to->last = i;
        }
    }
    for (uint32_t k = 0; k < r->n_peer; k++) {
        if (r->peers[k].ns_waited > 0) {
            p->waits = pli_say_need(reallocarray(p->waits, p->n_wait + 1, sizeof *p->waits));
            p->waits[p->n_wait++] = (struct pli_profile_wait){ i, r->peers[k].index, r->peers[k].ep,
                                                               r->peers[k].ns_waited };
        }
    }
}

static void blame(struct pli_profile *p, uint32_t index, uint32_t ep, uint64_t ns)
{
    uint32_t n = p->m->n_rank, found = n;
    for (uint32_t i = 0; i < n; i++) { // a thread of that endpoint that communicates
        const struct pli_trace_model_rank *r = &p->m->ranks[i];
        if (r->index == index && r->ep == ep && (found == n || p->m->ranks[found].is_silent)) {
            found = i;
        }
    }
    if (found < n) {
        p->late[found] += ns;
    }
}

static bool is_synchronous(const struct pli_profile_site *s)
{
    const char *name = pli_trace_model_function(s->function);
    return pli_trace_model_class(s->function) == PLI_TRACE_MODEL_COLL && s->n_rank > 1 &&
           name[4] != 'I' && strstr(name, "_init") == NULL;
}

// Time that others spent in a collective beyond the one that spent least there: it came last.
static uint64_t lost_in(const struct pli_profile_site *s)
{
    uint64_t floor = s->least * s->n_rank;
    return s->ns > floor ? s->ns - floor : 0;
}

// A sentence, kept if it is about more time than another one that is kept.
struct findings {
    struct {
        double ns;
        char text[PLI_PROFILE_FINDING];
    } best[PLI_PROFILE_N_FINDING];
};

__attribute__((format(printf, 3, 4))) static void propose(struct findings *f, double ns,
                                                          const char *fmt, ...)
{
    int at = 0;
    while (at < PLI_PROFILE_N_FINDING && f->best[at].ns >= ns) {
        at++;
    }
    if (at == PLI_PROFILE_N_FINDING) {
        return;
    }
    memmove(&f->best[at + 1], &f->best[at],
            (size_t)(PLI_PROFILE_N_FINDING - 1 - at) * sizeof f->best[0]);
    f->best[at].ns = ns;
    va_list args;
    va_start(args, fmt);
    vsnprintf(f->best[at].text, sizeof f->best[at].text, fmt, args);
    va_end(args);
    if (f->best[at].text[0] == 'r') {
        f->best[at].text[0] = 'R'; // "rank 3 ..." begins a sentence
    }
}

static double s(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void judge_collectives(const struct pli_profile *p, struct findings *f)
{
    for (uint32_t i = 0; i < p->n_site; i++) {
        const struct pli_profile_site *c = &p->sites[i];
        uint64_t lost = is_synchronous(c) ? lost_in(c) : 0;
        if (lost > p->ns / 50 && lost > 1000000) {
            const char *who = p->m->ranks[c->last].name;
            propose(f, (double)lost,
                    "%s comes last to %s at %s: it spent %.3f s there, the others %.3f s each. "
                    "Together they lost %.3f s waiting; look at what %s does before that line.",
                    who, pli_trace_model_function(c->function), c->place, s(c->least),
                    s(c->ns - c->least) / (c->n_rank - 1), s(lost), who);
        }
    }
}

static void judge_messages(const struct pli_profile *p, struct findings *f)
{
    uint32_t worst = 0, n = 0;
    for (uint32_t i = 0; i < p->m->n_rank; i++) {
        worst = p->late[i] > p->late[worst] ? i : worst;
    }
    for (uint32_t i = 0; i < p->n_wait; i++) {
        n += p->m->n_rank > 0 && p->waits[i].index == p->m->ranks[worst].index &&
             p->waits[i].ep == p->m->ranks[worst].ep;
    }
    if (p->m->n_rank > 1 && p->late[worst] > p->ns / 50 && p->late[worst] > 1000000) {
        const struct pli_profile_site *at = NULL;
        for (uint32_t i = 0; i < p->n_site && at == NULL; i++) {
            enum pli_trace_model_class k = pli_trace_model_class(p->sites[i].function);
            at = k == PLI_TRACE_MODEL_RECV || k == PLI_TRACE_MODEL_WAIT ||
                         k == PLI_TRACE_MODEL_BOTH || k == PLI_TRACE_MODEL_PROBE
                     ? &p->sites[i]
                     : NULL;
        }
        propose(
            f, (double)p->late[worst],
            "%u rank%s waited %.3f s for messages of %s, longest in %s at %s. It sends too "
            "late, or they ask too early: let it send before it computes, or give it less to do.",
            n, n == 1 ? "" : "s", s(p->late[worst]), p->m->ranks[worst].name,
            at != NULL ? pli_trace_model_function(at->function) : "MPI",
            at != NULL ? at->place : "unknown");
    }
    uint64_t small = 0, all = 0, ns = 0;
    for (int i = 0; i < PLI_TRACE_N_BIN; i++) {
        small += i <= 8 ? p->bins[i] : 0;
        all += p->bins[i];
    }
    for (uint32_t i = 0; i < p->n_site; i++) {
        ns += pli_trace_model_class(p->sites[i].function) == PLI_TRACE_MODEL_SEND ? p->sites[i].ns
                                                                                  : 0;
    }
    if (small > 10000 && small > all / 2 && ns > p->ns / 20) {
        propose(f, (double)ns,
                "%" PRIu64 " of %" PRIu64 " messages have less than 256 bytes, and sending takes "
                "%.3f s. Fewer and larger messages would cost less.",
                small, all, s(ns));
    }
}

static bool is_one_of_several(const struct pli_trace_model *m, uint32_t i)
{
    uint32_t index = m->ranks[i].index;
    return (i > 0 && m->ranks[i - 1].index == index) ||
           (i + 1 < m->n_rank && m->ranks[i + 1].index == index);
}

static void judge_rest(const struct pli_profile *p, struct findings *f)
{
    uint64_t io = 0, most = 0, sum = 0;
    uint32_t who = 0, n = 0;
    const struct pli_profile_site *worst = NULL;
    for (uint32_t i = 0; i < p->n_site; i++) {
        const struct pli_profile_site *c = &p->sites[i];
        if (pli_trace_model_class(c->function) == PLI_TRACE_MODEL_IO) {
            worst = worst == NULL ? c : worst;
            io += c->ns;
        }
        const char *name = pli_trace_model_function(c->function);
        if (strncmp(name, "MPI_Test", 8) == 0 && c->n > 100000 && c->ns > p->ns / 20) {
            propose(f, (double)c->ns,
                    "%s at %s was called %" PRIu64 " times: the program asks again and again. "
                    "MPI_Wait would leave the processor to others.",
                    name, c->place, c->n);
        }
    }
    if (worst != NULL && io > p->ns / 20) {
        propose(f, (double)io,
                "Files take %.3f s (%.0f %% of all time), most of it in %s at %s. Collective calls "
                "with large blocks are the fastest.",
                s(io), 100.0 * (double)io / (double)p->ns,
                pli_trace_model_function(worst->function), worst->place);
    }
    for (uint32_t i = 0; i < p->m->n_rank; i++) {
        const struct pli_trace_model_rank *r = &p->m->ranks[i];
        uint64_t all = r->end > r->begin ? r->end - r->begin : 0;
        uint64_t own = all > r->ns_mpi ? all - r->ns_mpi : 0;
        if (r->is_silent && is_one_of_several(p->m, i)) { // it waits for the others
            continue;
        }
        n++;
        sum += own;
        who = own > most ? i : who;
        most = own > most ? own : most;
    }
    uint64_t mean = n > 0 ? sum / n : 0;
    if (n > 1 && most > mean + mean / 10 && (most - mean) > p->elapsed / 50) {
        propose(f, (double)(most - mean) * n / 2,
                "%s spends %.3f s outside of MPI, the mean is %.3f s. With evenly shared work the "
                "job could be up to %.3f s shorter.",
                p->m->ranks[who].name, s(most), s(mean), s(most - mean));
    }
}

void pli_profile_make(struct pli_profile *p, const struct pli_trace_model *m)
{
    struct findings f = { 0 };
    uint64_t begin = UINT64_MAX, end = 0;
    *p = (struct pli_profile){ .m = m };
    p->late = pli_say_need(calloc(m->n_rank + 1, sizeof *p->late));
    for (uint32_t i = 0; i < m->n_rank; i++) {
        begin = m->ranks[i].begin < begin ? m->ranks[i].begin : begin;
        end = m->ranks[i].end > end ? m->ranks[i].end : end;
        add_rank(p, i);
    }
    p->elapsed = end > begin ? end - begin : 0;
    if (p->n_site > 0) {
        qsort(p->sites, p->n_site, sizeof *p->sites, compare_sites);
    }
    if (p->n_wait > 0) {
        qsort(p->waits, p->n_wait, sizeof *p->waits, compare_waits);
    }
    for (uint32_t i = 0; i < p->n_wait; i++) {
        blame(p, p->waits[i].index, p->waits[i].ep, p->waits[i].ns);
    }
    judge_collectives(p, &f);
    judge_messages(p, &f);
    judge_rest(p, &f);
    for (uint32_t i = 0; i < PLI_PROFILE_N_FINDING && f.best[i].ns > 0; i++) {
        snprintf(p->findings[p->n_finding++], PLI_PROFILE_FINDING, "%s", f.best[i].text);
    }
    if (p->n_finding == 0 && m->n_rank > 0) {
        double part = p->ns > 0 ? 100.0 * (double)p->ns_mpi / (double)p->ns : 0.0;
        snprintf(p->findings[p->n_finding++], PLI_PROFILE_FINDING,
                 "Nothing in MPI stands out: it takes %.1f %% of the time. %s", part,
                 part < 50 ? "What remains is in the program's own code; perf record under mpiexec "
                             "shows where."
                           : "The tables below have it by rank and by call site.");
    }
}

void pli_profile_fini(struct pli_profile *p)
{
    free(p->sites);
    free(p->waits);
    free(p->late);
}
