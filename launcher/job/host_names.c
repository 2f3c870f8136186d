// SPDX-License-Identifier: BSD-3-Clause
// Reads lists of host names in requests, and compares them with the hosts of the job.
#include "launcher/job/host_names.h"

#include "boot/launcher_wire.h"
#include "launcher/base/refuse.h"
#include "launcher/base/say.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pli_host_names_next(const char **at, char *name, size_t cap, struct pli_host *as,
                         struct pli_answer *a)
{
    const char *w = *at + strspn(*at, ", "), *begin;
    size_t len = strcspn(w, ", "), name_len;
    *at = w + len;
    *as = (struct pli_host){ 0 };
    if (len == 0) {
        return false;
    }
    const char *why = pli_hosts_parse(w, len, &begin, &name_len, &as->slots, &as->max_slots);
    if (why == NULL && name_len >= cap) {
        why = "is too long for the name of a host";
    }
    if (why != NULL) {
        pli_refuse(a, EINVAL, "'%.*s' %s", (int)(len < 64 ? len : 64), w, why);
        return false;
    }
    snprintf(name, cap, "%.*s", (int)name_len, begin);
    return true;
}

bool pli_host_names_is(const struct pli_host *h, const char *name)
{
    return !h->is_lost &&
           (pli_hosts_is_same(name, h->name) || (h->is_local && pli_hosts_is_this(name)));
}

bool *pli_host_names_named(const struct pli_job *job, const char *list)
{
    char name[256];
    struct pli_host as;
    struct pli_answer a = { 0 };
    if (list[strspn(list, ", ")] == '\0') {
        return NULL;
    }
    bool *may = pli_say_need(calloc(job->n_host + 1, sizeof *may));
    while (pli_host_names_next(&list, name, sizeof name, &as, &a)) {
        for (uint32_t h = 0; h < job->n_host; h++) {
            may[h] = may[h] || pli_host_names_is(&job->hosts[h], name);
        }
    }
    return may;
}

uint32_t *pli_host_names_list(const struct pli_job *job, const char *list, uint32_t *n_out,
                              struct pli_answer *a)
{
    char name[256];
    struct pli_host as;
    uint32_t n = 0;
    uint32_t *hosts = pli_say_need(calloc(strlen(list) + 1, sizeof *hosts));
    while (a->error == 0 && pli_host_names_next(&list, name, sizeof name, &as, a)) {
        uint32_t h = 0;
        while (h < job->n_host && !pli_host_names_is(&job->hosts[h], name)) {
            h++;
        }
        if (h == job->n_host) {
            pli_refuse(a, ENOENT, "host %.64s is not of this job, or lost; clones go to its hosts",
                       name);
        }
        hosts[n++] = h;
    }
    *n_out = n;
    if (a->error != 0 || n == 0) {
        free(hosts);
        hosts = NULL;
    }
    return hosts;
}

bool pli_host_names_are_here(const char *list, struct pli_answer *a)
{
    char name[256];
    struct pli_host as;
    while (a->error == 0 && pli_host_names_next(&list, name, sizeof name, &as, a)) {
        if (!pli_hosts_is_this(name)) {
            pli_refuse(a, ENOTSUP,
                       "host %.64s is not of this job, which runs on one host; mpiexec --elastic "
                       "MIN:MAX, or --hosts with another one, lets hosts join",
                       name);
        }
    }
    return a->error == 0;
}
