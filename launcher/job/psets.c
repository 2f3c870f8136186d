// SPDX-License-Identifier: BSD-3-Clause
// Makes the process sets of a job: mpi://host/NAME, mpi://hw/KIND/N by the binding, mpi://app/N and
// mpi://app/PROGRAM, and those that --pset names.
#include "launcher/job/psets.h"

#include "boot/pset.h"
#include "launcher/job/job.h"
#include "launcher/job/binding.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pli_psets_take(struct pli_job *job, const char *option, const char *text)
{
    const char *eq = strrchr(text, '=');
    if (eq == NULL || eq == text || eq[1] == '\0') {
        pli_say_bad("%s needs a name and ranks, such as io=0-3,7, not '%s'", option, text);
    }
    size_t size = (job->n_set + 1) * sizeof *job->sets;
    job->sets = pli_say_need(realloc(job->sets, size));
    struct pli_set *s = &job->sets[job->n_set++];
    *s = (struct pli_set){ .name = pli_say_need(strndup(text, (size_t)(eq - text))),
                           .text = eq + 1 };
    if (pli_pset_check_name(s->name, false) != PLI_OK) {
        pli_say_bad("%s %s: %s", option, text, pli_fail_take(NULL));
    }
}

static uint32_t read_rank(const struct pli_job *job, const struct pli_set *s, const char **at)
{
    char *end;
    errno = 0;
    unsigned long v = strtoul(*at, &end, 10);
    if (end == *at || **at < '0' || **at > '9' || errno != 0) {
        pli_say_bad("--pset %s=%s: the ranks are written as numbers and ranges, such as 0-3,7",
                    s->name, s->text);
    }
    if (v >= job->n_rank) {
        pli_say_bad("--pset %s names rank %lu, but the ranks are 0 to %u", s->name, v,
                    job->n_rank - 1);
    }
    *at = end;
    return (uint32_t)v;
}

static void read_one(const struct pli_job *job, struct pli_set *s)
{
    bool *in = pli_say_need(calloc(job->n_rank, sizeof *in));
    const char *at = s->text;
    for (;;) {
        uint32_t first = read_rank(job, s, &at), last = first;
        if (*at == '-') {
            at++;
            last = read_rank(job, s, &at);
        }
        if (last < first) {
            pli_say_bad("--pset %s=%s: the range %u-%u runs backwards", s->name, s->text, first,
                        last);
        }
        memset(in + first, 1, last - first + 1);
        if (*at == '\0') {
            break;
        }
        if (*at++ != ',') {
            pli_say_bad("--pset %s=%s: there is a comma missing before '%s'", s->name, s->text,
                        at - 1);
        }
    }
    s->ranks = pli_say_need(malloc(job->n_rank * sizeof *s->ranks));
    for (uint32_t r = 0; r < job->n_rank; r++) {
        if (in[r]) {
            s->ranks[s->n++] = r;
        }
    }
    free(in);
}

void pli_psets_read(struct pli_job *job)
{
    for (uint32_t i = 0; i < job->n_set; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(job->sets[i].name, job->sets[k].name) == 0) {
                pli_say_bad("--pset %s is given twice", job->sets[i].name);
            }
        }
        read_one(job, &job->sets[i]);
    }
}

bool pli_psets_add(struct pli_job *job, const char *name, const uint32_t *ranks, uint32_t n,
                   enum pli_pset_origin origin)
{
    uint32_t *shifted = pli_say_need(malloc(n * sizeof *shifted + 1));
    for (uint32_t i = 0; i < n; i++) {
        shifted[i] = job->base + ranks[i];
    }
    bool is_good = pli_pset_add(&job->node, name, shifted, n, 1, origin, UINT32_MAX) == PLI_OK;
    if (!is_good) {
        pli_say("%s", pli_fail_take(NULL));
    }
    free(shifted);
    return is_good;
}

// The ranks of all parts that run a program of this name; parts are in order of rank.
static uint32_t of_program(const struct pli_job *job, const char *name, uint32_t *ranks)
{
    uint32_t n = 0;
    for (uint32_t a = 0; a < job->n_app; a++) {
        const char *slash = strrchr(job->apps[a].argv[0], '/');
        const char *program = slash != NULL ? slash + 1 : job->apps[a].argv[0];
        for (uint32_t r = 0; strcmp(program, name) == 0 && r < job->apps[a].n_rank; r++) {
            ranks[n++] = job->apps[a].first + r;
        }
    }
    return n;
}

static bool add_apps(struct pli_job *job, uint32_t *ranks)
{
    char name[PLI_PSET_NAME];
    bool is_good = true;
    for (uint32_t a = 0; is_good && a < job->n_app; a++) {
        const struct pli_app *app = &job->apps[a];
        for (uint32_t r = 0; r < app->n_rank; r++) {
            ranks[r] = app->first + r;
        }
        snprintf(name, sizeof name, "mpi://app/%u", a);
        is_good = pli_psets_add(job, name, ranks, app->n_rank, PLI_PSET_APP);
    }
    for (uint32_t a = 0; is_good && a < job->n_app; a++) {
        const char *slash = strrchr(job->apps[a].argv[0], '/');
        const char *program = slash != NULL ? slash + 1 : job->apps[a].argv[0];
        uint32_t n = of_program(job, program, ranks);
        // A program called "0" would claim the name of a part.
        if (program[strspn(program, "0123456789")] != '\0' && strlen(program) < 256) {
            snprintf(name, sizeof name, "mpi://app/%s", program);
            is_good = pli_psets_add(job, name, ranks, n, PLI_PSET_APP);
        }
    }
    return is_good;
}

static bool add_hosts(struct pli_job *job, uint32_t *ranks)
{
    char name[PLI_PSET_NAME];
    bool is_good = true;
    for (uint32_t h = 0; is_good && h < job->node.header->n_host; h++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < job->n_rank; i++) {
            ranks[n] = i;
            n += job->node.procs[i].host == h;
        }
        snprintf(name, sizeof name, "mpi://host/%s", job->node.hosts[h].name);
        is_good = n == 0 || pli_psets_add(job, name, ranks, n, PLI_PSET_HOST);
        snprintf(name, sizeof name, "mpi://hw/node/%u", h);
        is_good = is_good && (n == 0 || pli_psets_add(job, name, ranks, n, PLI_PSET_HARDWARE));
    }
    return is_good;
}

bool pli_psets_add_common(struct pli_job *job, uint32_t *ranks)
{
    bool is_good = add_apps(job, ranks);
    for (uint32_t i = 0; is_good && i < job->n_set; i++) {
        is_good = pli_psets_add(job, job->sets[i].name, job->sets[i].ranks, job->sets[i].n,
                                PLI_PSET_USER);
    }
    return is_good;
}

bool pli_psets_write(struct pli_job *job)
{
    char name[PLI_PSET_NAME];
    uint32_t *ranks = pli_say_need(malloc((job->n_rank + 1) * sizeof *ranks));
    bool is_good = add_hosts(job, ranks);
    const struct pli_domain *d;
    for (uint32_t i = 0; is_good && (d = pli_binding_domain(i)) != NULL; i++) {
        snprintf(name, sizeof name, "mpi://hw/%s/%u", d->kind, d->number);
        is_good = pli_psets_add(job, name, d->ranks, d->n, PLI_PSET_HARDWARE);
    }
    is_good = is_good && pli_psets_add_common(job, ranks);
    free(ranks);
    return is_good;
}

static void show_one(const char *name, const uint32_t *ranks, uint32_t n)
{
    printf("set %s:", name);
    for (uint32_t i = 0; i < n;) {
        uint32_t first = i++;
        while (i < n && ranks[i] == ranks[i - 1] + 1) {
            i++;
        }
        printf("%s%u", first > 0 ? "," : " ", ranks[first]);
        if (i - first > 1) {
            printf("-%u", ranks[i - 1]);
        }
    }
    putchar('\n');
}

void pli_psets_show(const struct pli_job *job)
{
    const struct pli_domain *d;
    for (uint32_t i = 0; (d = pli_binding_domain(i)) != NULL; i++) {
        char name[64];
        snprintf(name, sizeof name, "mpi://hw/%s/%u", d->kind, d->number);
        show_one(name, d->ranks, d->n);
    }
    for (uint32_t i = 0; i < job->n_set; i++) {
        show_one(job->sets[i].name, job->sets[i].ranks, job->sets[i].n);
    }
}
