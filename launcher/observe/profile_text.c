// SPDX-License-Identifier: BSD-3-Clause
// The page of --profile as text of 80 columns.
#include "launcher/observe/profile.h"

#include "launcher/observe/trace_model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 79, N_RANK = 16, N_SITE = 12, N_WAIT = 8, N_COLL = 8 };

static double s(uint64_t ns)
{
    return (double)ns / 1e9;
}

static double percent(uint64_t part, uint64_t all)
{
    return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

// A number of bytes with three digits.
static const char *bytes(uint64_t n, char *to, size_t cap)
{
    static const char units[] = " KMGTP";
    double v = (double)n;
    int u = 0;
    while (v >= 1024 && u < 5) {
        v /= 1024;
        u++;
    }
    snprintf(to, cap, u == 0 ? "%.0f B" : v < 10 ? "%.1f %ciB" : "%.0f %ciB", v, units[u]);
    return to;
}

static void heading(FILE *to, const char *text)
{
    fprintf(to, "\n%s\n", text);
    for (size_t i = 0; i < strlen(text); i++) {
        fputc('-', to);
    }
    fputc('\n', to);
}

static void paragraph(FILE *to, const char *first, const char *text)
{
    size_t column = strlen(first), indent = column;
    fputs(first, to);
    for (const char *w = text; *w != '\0';) {
        size_t len = strcspn(w, " ");
        if (column + len > WIDTH && column > indent) {
            fprintf(to, "\n%*s", (int)indent, "");
            column = indent;
        }
        fwrite(w, 1, len, to);
        column += len;
        w += len;
        if (*w == ' ') {
            w++;
            if (column + 1 + strcspn(w, " ") <= WIDTH) {
                fputc(' ', to);
                column++;
            } else {
                fprintf(to, "\n%*s", (int)indent, "");
                column = indent;
            }
        }
    }
    fputc('\n', to);
}

static void print_rank(const struct pli_profile *p, uint32_t i, FILE *to)
{
    const struct pli_trace_model_rank *r = &p->m->ranks[i];
    uint64_t all = r->end > r->begin ? r->end - r->begin : 0;
    char name[40];
    snprintf(name, sizeof name, "%.*s%s", 26, r->name, r->is_cut ? " *" : "");
    fprintf(to, "%-28s %8.3f s %8.3f s %5.1f %% %8.3f s %8.3f s\n", name, s(all), s(r->ns_mpi),
            percent(r->ns_mpi, all), s(r->ns_waited), s(p->late[i]));
}

// Of many ranks those with the most time in MPI, and those with the least.
static int by_mpi(const void *a, const void *b, void *arg)
{
    const struct pli_trace_model *m = arg;
    uint64_t x = m->ranks[*(const uint32_t *)a].ns_mpi, y = m->ranks[*(const uint32_t *)b].ns_mpi;
    return (y > x) - (y < x);
}

static void print_ranks(const struct pli_profile *p, FILE *to)
{
    uint32_t n = p->m->n_rank;
    bool is_cut = false;
    heading(to, "Time in MPI by rank");
    fprintf(to, "%-28s %10s %10s %7s %10s %10s\n", "", "all", "in MPI", "", "waiting",
            "waited for");
    uint32_t *order = calloc(n + 1, sizeof *order);
    if (order == NULL) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
        is_cut |= p->m->ranks[i].is_cut;
    }
    if (n > N_RANK) {
        qsort_r(order, n, sizeof *order, by_mpi, (void *)p->m);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (n <= N_RANK || i < N_RANK / 2 || i >= n - N_RANK / 2) {
            print_rank(p, order[i], to);
        } else if (i == N_RANK / 2) {
            fprintf(to, "... %u others in between ...\n", n - N_RANK);
        }
    }
    free(order);
    fprintf(to, "%-28s %8.3f s %8.3f s %5.1f %% %8.3f s\n", "together", s(p->ns), s(p->ns_mpi),
            percent(p->ns_mpi, p->ns), s(p->ns_waited));
    if (is_cut) {
        fputs("* did not reach MPI_Finalize; what it did until then is counted.\n", to);
    }
}

static void print_sites(const struct pli_profile *p, FILE *to)
{
    heading(to, "Time in MPI by call site");
    fprintf(to, "%10s %6s %10s %10s %9s  %s\n", "time", "of MPI", "calls", "longest", "data",
            "call");
    char text[32];
    for (uint32_t i = 0; i < p->n_site && i < N_SITE; i++) {
        const struct pli_profile_site *c = &p->sites[i];
        fprintf(to, "%8.3f s %5.1f%% %10" PRIu64 " %7.3f ms %9s  %s %s\n", s(c->ns),
                percent(c->ns, p->ns_mpi), c->n, (double)c->longest / 1e6,
                c->bytes > 0 ? bytes(c->bytes, text, sizeof text) : "",
                pli_trace_model_function(c->function), c->place);
    }
    if (p->n_site > N_SITE) {
        fprintf(to, "... and %u call sites with less time\n", p->n_site - N_SITE);
    }
}

static void print_waits(const struct pli_profile *p, FILE *to)
{
    char name[64];
    if (p->n_wait == 0) {
        return;
    }
    heading(to, "Who waited for whose messages");
    for (uint32_t i = 0; i < p->n_wait && i < N_WAIT; i++) {
        const struct pli_profile_wait *w = &p->waits[i];
        fprintf(to, "%8.3f s  %s waited for %s\n", s(w->ns), p->m->ranks[w->waiter].name,
                pli_trace_model_name(p->m, w->index, w->ep, name, sizeof name));
    }
}

static void print_collectives(const struct pli_profile *p, FILE *to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_site && n < N_COLL; i++) {
        const struct pli_profile_site *c = &p->sites[i];
        if (pli_trace_model_class(c->function) != PLI_TRACE_MODEL_COLL) {
            continue;
        }
        if (n++ == 0) {
            heading(to, "Collectives: who came last, as it waited least");
            fprintf(to, "%10s %12s %12s  %s\n", "calls", "last", "others", "call");
        }
        double others = c->n_rank > 1 ? s(c->ns - c->least) / (c->n_rank - 1) : 0;
        fprintf(to, "%10" PRIu64 " %10.3f s %10.3f s  %s %s: %s\n",
                c->n / (c->n_rank > 0 ? c->n_rank : 1), s(c->least), others,
                pli_trace_model_function(c->function), c->place, p->m->ranks[c->last].name);
    }
}

static void print_sizes(const struct pli_profile *p, FILE *to)
{
    uint64_t most = 0;
    char low[32], high[32];
    for (int i = 0; i < PLI_TRACE_N_BIN; i++) {
        most = p->bins[i] > most ? p->bins[i] : most;
    }
    if (most == 0) {
        return;
    }
    heading(to, "Sizes of the messages that were sent");
    for (int i = 0; i < PLI_TRACE_N_BIN; i++) {
        if (p->bins[i] == 0) {
            continue;
        }
        int n = (int)((p->bins[i] * 40 + most - 1) / most);
        bytes(i == 0 ? 0 : (uint64_t)1 << (i - 1), low, sizeof low);
        bytes(i == 0 ? 0 : ((uint64_t)1 << i) - 1, high, sizeof high);
        fprintf(to, "%9s .. %-9s %10" PRIu64 " %.*s\n", low, high, p->bins[i], n,
                "########################################");
    }
}

static void print_files(const struct pli_profile *p, FILE *to)
{
    char text[32];
    bool has_any = false;
    for (uint32_t i = 0; i < p->n_site; i++) {
        const struct pli_profile_site *c = &p->sites[i];
        if (pli_trace_model_class(c->function) != PLI_TRACE_MODEL_IO) {
            continue;
        }
        if (!has_any) {
            heading(to, "Files");
        }
        has_any = true;
        fprintf(to, "%8.3f s %10" PRIu64 " calls %9s", s(c->ns), c->n,
                c->bytes > 0 ? bytes(c->bytes, text, sizeof text) : "");
        bool has_rate = c->bytes > 0 && c->ns > 0;
        fprintf(to, " %9s%s  %s %s\n",
                has_rate ? bytes((uint64_t)((double)c->bytes / s(c->ns)), text, sizeof text) : "",
                has_rate ? "/s" : "  ", pli_trace_model_function(c->function), c->place);
    }
}

static void print_phases(const struct pli_profile *p, FILE *to)
{
    bool has_any = false;
    for (uint32_t i = 0; i < p->m->n_rank; i++) {
        const struct pli_trace_model_rank *r = &p->m->ranks[i];
        for (uint32_t k = 0; k < r->n_phase && i < N_RANK; k++) {
            if (!has_any) {
                heading(to, "Phases");
            }
            has_any = true;
            fprintf(to, "%-20s %-28s %6" PRIu64 " x %8.3f s, %.3f s of it in MPI\n", r->name,
                    r->phases[k].name, r->phases[k].n, s(r->phases[k].ns), s(r->phases[k].ns_mpi));
        }
    }
}

void pli_profile_print(const struct pli_profile *p, FILE *to)
{
    char number[16];
    fprintf(to, "Profile of %s: %u rank%s%s, %.3f s from the first MPI_Init on\n", p->m->program,
            p->m->n_endpoint, p->m->n_endpoint == 1 ? "" : "s",
            p->m->n_host > 1 ? " on several hosts" : "", s(p->elapsed));
    if (p->m->n_rank == 0) {
        paragraph(
            to, "",
            "No rank called MPI through a shared library, so there is nothing to show. A "
            "program that has the library built in (-static, libmpi_abi.a) cannot be observed, nor "
            "can ranks that go on from an image (--restart) of a job without --profile. Of UPC "
            "only calls of MPI and the phases of <pupc.h> are recorded.");
        return;
    }
    heading(to, "Look at this first");
    for (uint32_t i = 0; i < p->n_finding; i++) {
        snprintf(number, sizeof number, "%u. ", i + 1);
        paragraph(to, number, p->findings[i]);
    }
    print_ranks(p, to);
    print_sites(p, to);
    print_waits(p, to);
    print_collectives(p, to);
    print_sizes(p, to);
    print_files(p, to);
    print_phases(p, to);
}
