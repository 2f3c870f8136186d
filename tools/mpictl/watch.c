// SPDX-License-Identifier: BSD-3-Clause
// Prints one JSON object a line for every look at the job, or the table of mpictl top.
#include "watch.h"

#include "base/clock.h"
#include "job_view.h"
#include "mpictl.h"
#include "top.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

// Names of hosts and communicators may have any bytes.
static void put_text(const char *text)
{
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            printf("\\%c", *c);
        } else if (*c < ' ' || *c >= 127) {
            printf("\\u%04x", *c);
        } else {
            putchar(*c);
        }
    }
    putchar('"');
}

static void put_wait(const struct pli_rank_view *r)
{
    printf(",\"since_s\":%.3f,\"communicator\":", r->since_s);
    put_text(r->comm);
    if (r->call[0] != '\0') {
        printf(",\"call\":");
        put_text(r->call);
    }
    if (r->peer >= 0) {
        printf(",\"peer\":%d", r->peer);
    }
    if (r->peer_index != UINT32_MAX) {
        printf(",\"peer_process\":%u", r->peer_index);
    }
    if (r->tag >= 0) {
        printf(",\"tag\":%d", r->tag);
    }
}

static void put_rank(const struct pli_rank_view *r)
{
    printf("{\"rank\":%u,\"host\":", r->index);
    put_text(r->host);
    printf(",\"pid\":%u,\"state\":\"%s\",\"doing\":", r->pid, r->state);
    put_text(r->doing);
    if (r->ep_rank >= 0) {
        printf(",\"endpoint_rank\":%d", r->ep_rank);
    }
    if (r->tid != 0) {
        printf(",\"thread\":%u", r->tid);
    }
    if (r->is_waiting) {
        put_wait(r);
    }
    if (!r->is_more) {
        printf(",\"waited_for_by\":%u,\"messages_sent\":%llu,\"bytes_sent\":%llu,"
               "\"messages_received\":%llu,\"bytes_received\":%llu,\"messages_per_s\":%.1f,"
               "\"bytes_per_s\":%.1f,\"cpu_s\":%.2f,\"cpu_cores\":%.3f,\"memory\":%llu",
               r->n_behind, (unsigned long long)r->traffic.n_sent,
               (unsigned long long)r->traffic.sent_bytes, (unsigned long long)r->traffic.n_received,
               (unsigned long long)r->traffic.received_bytes, r->messages_s, r->bytes_s,
               (double)r->usage.cpu_ns * 1e-9, r->cpu, (unsigned long long)r->usage.memory);
    }
    putchar('}');
}

static void put_json(const struct pli_job_view *v)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    printf("{\"time\":%lld.%03ld,\"job\":%ld,\"running_s\":%.3f,\"ranks\":[", (long long)t.tv_sec,
           t.tv_nsec / 1000000, v->pid, pli_mpictl_seconds(&v->node));
    for (uint32_t i = 0; i < v->n_rank; i++) {
        if (i > 0) {
            putchar(',');
        }
        put_rank(&v->ranks[i]);
    }
    puts("]}");
}

int pli_watch_run(const struct pli_mpictl_args *args, long pid)
{
    struct pli_job_view v;
    uint64_t next = pli_clock_ns();
    pli_job_view_open(&v, pid);
    for (long i = 0; (args->n_look == 0 || i < args->n_look) && pli_job_view_look(&v); i++) {
        if (args->is_json) {
            put_json(&v);
        } else {
            pli_top_print(args, &v, stdout);
        }
        if (fflush(stdout) != 0) {
            break; // the reader has gone
        }
        next += (uint64_t)args->interval_s * NS_PER_S;
        uint64_t now = pli_clock_ns();
        if (now < next && i + 1 != args->n_look) {
            usleep((useconds_t)((next - now) / 1000));
        }
    }
    pli_job_view_close(&v);
    return 0;
}
