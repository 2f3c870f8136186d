// SPDX-License-Identifier: BSD-3-Clause
// Reads the environment that batch systems leave to a job.
#include "allocation.h"

#include "hosts.h"
#include "job.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 256, MAX_HOST = 1 << 20 };

bool pli_allocation_is_slurm(void)
{
    return getenv("SLURM_JOB_NODELIST") != NULL || getenv("SLURM_NODELIST") != NULL;
}

// Slots from "2(x3),1": the next number, repeated.
struct counts {
    const char *at;
    uint32_t value, left;
};

static uint32_t next_count(struct counts *c)
{
    if (c->left == 0 && c->at != NULL && *c->at != '\0') {
        char *end;
        c->value = (uint32_t)strtoul(c->at, &end, 10);
        c->left = 1;
        if (end[0] == '(' && end[1] == 'x') {
            c->left = (uint32_t)strtoul(end + 2, &end, 10);
            end += *end == ')';
        }
        c->at = *end == ',' ? end + 1 : "";
    }
    c->left -= c->left > 0;
    return c->value;
}

static _Noreturn void not_understood(const char *list)
{
    pli_say_bad("the list of hosts in SLURM_JOB_NODELIST, '%s', is not understood; name the hosts "
                "with --hosts",
                list);
}

static void add(struct pli_job *job, const char *name, struct counts *counts)
{
    pli_hosts_add(job, name, strlen(name), next_count(counts), 0);
}

static void expand(struct pli_job *job, const char *list, const char *text, size_t len,
                   const char *before, struct counts *counts);

// The inside of brackets, "01-03,07", between what stands before and after it.
static void expand_ranges(struct pli_job *job, const char *list, const char *in, const char *end,
                          const char *before, const char *after, size_t after_len,
                          struct counts *counts)
{
    while (in < end) {
        char *rest;
        unsigned long first = strtoul(in, &rest, 10), last = first;
        int width = (int)(rest - in);
        if (width == 0 || width > 10) {
            not_understood(list);
        }
        if (*rest == '-') {
            in = rest + 1;
            last = strtoul(in, &rest, 10);
        }
        if (rest == in || last < first || last - first > MAX_HOST || (rest < end && *rest != ',') ||
            rest > end) {
            not_understood(list);
        }
        for (unsigned long v = first; v <= last; v++) {
            char name[MAX_NAME];
            if (snprintf(name, sizeof name, "%s%0*lu", before, width, v) >= MAX_NAME) {
                not_understood(list);
            }
            expand(job, list, after, after_len, name, counts);
        }
        in = rest + 1;
    }
}

// One name with any number of brackets; `before` is what has been made of it so far.
static void expand(struct pli_job *job, const char *list, const char *text, size_t len,
                   const char *before, struct counts *counts)
{
    const char *open = memchr(text, '[', len), *close = memchr(text, ']', len);
    size_t plain = open != NULL ? (size_t)(open - text) : len;
    char name[MAX_NAME];
    if ((open == NULL) != (close == NULL) || close < open ||
        snprintf(name, sizeof name, "%s%.*s", before, (int)plain, text) >= MAX_NAME) {
        not_understood(list);
    }
    if (open == NULL) {
        add(job, name, counts);
        return;
    }
    expand_ranges(job, list, open + 1, close, name, close + 1, (size_t)(text + len - close - 1),
                  counts);
}

static void read_slurm(struct pli_job *job, const char *list)
{
    const char *per = getenv("SLURM_TASKS_PER_NODE");
    per = per != NULL ? per : getenv("SLURM_JOB_CPUS_PER_NODE");
    struct counts counts = { .at = per };
    for (const char *at = list; *at != '\0';) {
        size_t len = 0;
        for (int depth = 0; at[len] != '\0' && (depth > 0 || at[len] != ','); len++) {
            depth += (at[len] == '[') - (at[len] == ']');
        }
        if (len == 0) {
            not_understood(list);
        }
        expand(job, list, at, len, "", &counts);
        at += len;
        at += *at == ',';
    }
}

void pli_allocation_read(struct pli_job *job)
{
    const char *list = getenv("SLURM_JOB_NODELIST");
    list = list != NULL ? list : getenv("SLURM_NODELIST");
    const char *file = getenv("PBS_NODEFILE");
    if (list != NULL && list[0] != '\0') {
        read_slurm(job, list);
    } else if (file != NULL && file[0] != '\0') {
        pli_hosts_take_file(job, "PBS_NODEFILE", file);
    }
}
