// SPDX-License-Identifier: BSD-3-Clause
// The page of --profile for a browser: the numbers as JSON, then the script that draws them.
#include "launcher/observe/profile.h"

#include "launcher/observe/timeline.h"
#include "launcher/observe/trace_model.h"

#include <inttypes.h>

// profile.html, cut where the numbers go.
static const char before[] = {
#include "observe/profile_before.inc"
    , 0
};
static const char behind[] = {
#include "observe/profile_behind.inc"
    , 0
};

static void text(FILE *to, const char *t)
{
    fputc('"', to);
    pli_timeline_text(to, t);
    fputc('"', to);
}

static void write_ranks(const struct pli_profile *p, FILE *to)
{
    fputs("\"ranks\":[", to);
    for (uint32_t i = 0; i < p->m->n_rank; i++) {
        const struct pli_trace_model_rank *r = &p->m->ranks[i];
        fputs(i > 0 ? ",{\"name\":" : "{\"name\":", to);
        text(to, r->name);
        fprintf(to, ",\"all\":%.6f,\"mpi\":%.6f,\"waited\":%.6f,\"late\":%.6f,\"cut\":%s}",
                (double)(r->end > r->begin ? r->end - r->begin : 0) / 1e9, (double)r->ns_mpi / 1e9,
                (double)r->ns_waited / 1e9, (double)p->late[i] / 1e9, r->is_cut ? "true" : "false");
    }
    fputs("],", to);
}

static void write_sites(const struct pli_profile *p, FILE *to)
{
    static const char *const kinds[] = { "send", "receive", "send",  "wait",  "wait", "collective",
                                         "rma",  "file",    "start", "world", "other" };
    fputs("\"sites\":[", to);
    for (uint32_t i = 0; i < p->n_site; i++) {
        const struct pli_profile_site *c = &p->sites[i];
        fprintf(to, "%s{\"call\":\"%s\",\"kind\":\"%s\",\"place\":", i > 0 ? "," : "",
                pli_trace_model_function(c->function), kinds[pli_trace_model_class(c->function)]);
        text(to, c->place);
        fprintf(to,
                ",\"n\":%" PRIu64 ",\"s\":%.6f,\"longest\":%.6f,\"bytes\":%" PRIu64
                ",\"ranks\":%u,\"least\":%.6f,\"last\":",
                c->n, (double)c->ns / 1e9, (double)c->longest / 1e9, c->bytes, c->n_rank,
                (double)c->least / 1e9);
        text(to, p->m->ranks[c->last].name);
        fputs("}", to);
    }
    fputs("],", to);
}

static void write_waits(const struct pli_profile *p, FILE *to)
{
    char name[64];
    fputs("\"waits\":[", to);
    for (uint32_t i = 0; i < p->n_wait; i++) {
        fputs(i > 0 ? ",[" : "[", to);
        text(to, p->m->ranks[p->waits[i].waiter].name);
        fputc(',', to);
        text(to, pli_trace_model_name(p->m, p->waits[i].index, p->waits[i].ep, name, sizeof name));
        fprintf(to, ",%.6f]", (double)p->waits[i].ns / 1e9);
    }
    fputs("],\"bins\":[", to);
    for (int i = 0; i < PLI_TRACE_N_BIN; i++) {
        fprintf(to, "%s%" PRIu64, i > 0 ? "," : "", p->bins[i]);
    }
    fputs("],", to);
}

static void write_phases(const struct pli_profile *p, FILE *to)
{
    bool has_any = false;
    fputs("\"phases\":[", to);
    for (uint32_t i = 0; i < p->m->n_rank; i++) {
        const struct pli_trace_model_rank *r = &p->m->ranks[i];
        for (uint32_t k = 0; k < r->n_phase; k++) {
            fputs(has_any ? ",[" : "[", to);
            has_any = true;
            text(to, r->name);
            fputc(',', to);
            text(to, r->phases[k].name != NULL ? r->phases[k].name : "");
            fprintf(to, ",%" PRIu64 ",%.6f,%.6f]", r->phases[k].n, (double)r->phases[k].ns / 1e9,
                    (double)r->phases[k].ns_mpi / 1e9);
        }
    }
    fputs("],", to);
}

void pli_profile_html(const struct pli_profile *p, FILE *to)
{
    fputs(before, to);
    fputs("{\"program\":", to);
    text(to, p->m->program);
    fprintf(to, ",\"elapsed\":%.6f,\"hosts\":%u,\"n\":%u,", (double)p->elapsed / 1e9, p->m->n_host,
            p->m->n_endpoint);
    fputs("\"findings\":[", to);
    for (uint32_t i = 0; i < p->n_finding; i++) {
        fputs(i > 0 ? "," : "", to);
        text(to, p->findings[i]);
    }
    fputs("],", to);
    write_ranks(p, to);
    write_sites(p, to);
    write_waits(p, to);
    write_phases(p, to);
    fputs("\"version\":\"" PLIANT_VERSION "\"}", to);
    fputs(behind, to);
}
