// SPDX-License-Identifier: BSD-3-Clause
// Makes the memory, and reads what ranks have left in it. A rank may have written anything
// there, so every number is checked before it is used.
#include "launcher/observe/trace_memory.h"

#include "base/clock.h"
#include "launcher/base/launcher.h"
#include "launcher/base/pack.h"
#include "launcher/base/say.h"
#include "launcher/job/environment.h"
#include "launcher/job/job.h"
#include "launcher/observe/trace_model.h"
#include "tools/lib/source_line.h"
#include "trace/trace_wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 65536 };

// Whether the kernel itself trusts the processor's counter.
static bool has_counter(void)
{
#if defined __aarch64__
    return true;
#elif defined __x86_64__
    char text[32] = "";
    FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    bool is_tsc = f != NULL && fgets(text, sizeof text, f) != NULL && strcmp(text, "tsc\n") == 0;
    if (f != NULL) {
        fclose(f);
    }
    return is_tsc;
#else
    return false;
#endif
}

static uint64_t ticks(uint32_t flags)
{
#if defined __aarch64__
    uint64_t v;
    (void)flags;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
    return v;
#elif defined __x86_64__
    return (flags & PLI_TRACE_COUNTER) != 0 ? __builtin_ia32_rdtsc() : pli_clock_ns();
#else
    (void)flags;
    return pli_clock_ns();
#endif
}

bool pli_trace_memory_open(struct pli_job *job)
{
    struct pli_trace_memory_state *self = pli_launcher.trace_memory;
    const char *text = pli_environment_get(&job->apps[0], "PLI_TRACE_MODE");
    unsigned flags = 0, n_event = 0;
    struct pli_trace_memory *m = &self->started;
    m->fd = -1;
    if (text == NULL || sscanf(text, "%u,%u", &flags, &n_event) != 2) {
        return true;
    }
    uint64_t bytes = pli_trace_slot_bytes(n_event);
    m->fd = memfd_create("pliant-trace", 0);
    void *p = MAP_FAILED;
    if (m->fd >= 0 && ftruncate(m->fd, (off_t)(PAGE + bytes * PLI_TRACE_N_SLOT)) == 0) {
        p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
    }
    if (p == MAP_FAILED) {
        pli_say("there is no memory to record what ranks do (%s): leave --profile and --timeline "
                "away, or raise the limits on memory and on the size of files (ulimit -v, -f)",
                strerror(errno));
        return false;
    }
    struct pli_trace_header *h = m->header = p;
    m->n_event = n_event;
    h->version = PLI_TRACE_VERSION;
    h->flags = flags | (has_counter() ? PLI_TRACE_COUNTER : 0);
    h->n_slot = PLI_TRACE_N_SLOT;
    h->n_event = n_event;
    h->slot_bytes = bytes;
    h->slots_at = PAGE;
    h->ticks = ticks(h->flags);
    h->ns = pli_clock_ns();
    h->magic = PLI_TRACE_MAGIC;
    job->trace_fd = m->fd;
    return true;
}

// The recorder's memory among the descriptors of a process; -1: it has none.
static int find_memory(int pid)
{
    char dir[64], path[sizeof dir + 300], to[64];
    snprintf(dir, sizeof dir, "/proc/%d/fd", pid);
    DIR *d = opendir(dir);
    int fd = -1;
    for (struct dirent *e; fd < 0 && d != NULL && (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        ssize_t n = readlink(path, to, sizeof to - 1);
        to[n > 0 ? n : 0] = '\0';
        if (strcmp(to, "/memfd:pliant-trace (deleted)") == 0) {
            fd = open(path, O_RDWR | O_CLOEXEC);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return fd;
}

// A rank that is restored may be inside a call, and its counter another one: what counts begins
// now. Names of call sites, peers and phases stay, because the rank has their numbers.
static void begin_anew(struct pli_trace_slot *s, uint64_t now)
{
    s->begin = now;
    s->in_call = s->in_call != 0 ? now : 0;
    s->end = s->last = s->ticks_mpi = s->ticks_waited = 0;
    atomic_store(&s->n_event, 0);
    memset(s->bins, 0, sizeof s->bins);
    for (uint32_t i = 0; i < PLI_TRACE_N_PHASE; i++) {
        s->phases[i].n = s->phases[i].ticks = s->phases[i].ticks_mpi = 0;
    }
    for (uint32_t i = 0; i < PLI_TRACE_N_SITE; i++) {
        s->sites[i].n = s->sites[i].ticks = s->sites[i].longest = s->sites[i].bytes = 0;
    }
    for (uint32_t i = 0; i < PLI_TRACE_N_PEER; i++) {
        s->peers[i].n_sent = s->peers[i].bytes_sent = s->peers[i].ticks_waited = 0;
    }
    for (uint32_t i = 0; i < PLI_TRACE_N_SAMPLED; i++) {
        s->sampled[i].n_added = s->sampled[i].n_left;
        s->sampled[i].timed = now;
    }
}

static uint32_t n_used(const struct pli_trace_memory *m)
{
    uint32_t n = m->header != NULL ? atomic_load(&m->header->n_used) : 0;
    return n < PLI_TRACE_N_SLOT ? n : PLI_TRACE_N_SLOT;
}

static struct pli_trace_slot *map_slot(const struct pli_trace_memory *m, uint32_t i, int flags)
{
    uint64_t bytes = pli_trace_slot_bytes(m->n_event);
    struct pli_trace_slot *s =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, m->fd, (off_t)(PAGE + i * bytes));
    return s != MAP_FAILED ? s : NULL;
}

static void unmap_slot(const struct pli_trace_memory *m, struct pli_trace_slot *s)
{
    munmap(s, pli_trace_slot_bytes(m->n_event));
}

static void close_memory(struct pli_trace_memory *m)
{
    if (m->header != NULL) {
        munmap(m->header, PAGE);
        close(m->fd);
        m->header = NULL;
        m->fd = -1;
    }
}

// Whether it is one, of this version and as large as it says.
static bool is_memory(const struct pli_trace_memory *m)
{
    const struct pli_trace_header *h = m->header;
    struct stat st;
    uint64_t bytes = pli_trace_slot_bytes(h->n_event);
    return h->magic == PLI_TRACE_MAGIC && h->version == PLI_TRACE_VERSION &&
           (h->n_event & (h->n_event - 1)) == 0 && h->n_slot == PLI_TRACE_N_SLOT &&
           h->slot_bytes == bytes && h->slots_at == PAGE && fstat(m->fd, &st) == 0 &&
           (uint64_t)st.st_size >= PAGE + bytes * PLI_TRACE_N_SLOT;
}

bool pli_trace_memory_adopt(int pid, int own)
{
    struct pli_trace_memory_state *self = pli_launcher.trace_memory;
    struct pli_trace_memory m = { .fd = find_memory(pid), .pid = (uint32_t)own };
    void *p =
        m.fd >= 0 ? mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, 0) : MAP_FAILED;
    if (p == MAP_FAILED) {
        m.fd >= 0 ? close(m.fd) : 0;
        return false;
    }
    m.header = p;
    if (!is_memory(&m)) {
        close_memory(&m);
        return false;
    }
    m.n_event = m.header->n_event;
    m.header->ticks = ticks(m.header->flags);
    m.header->ns = pli_clock_ns();
    for (uint32_t i = 0; i < n_used(&m); i++) {
        struct pli_trace_slot *s = map_slot(&m, i, MAP_SHARED);
        if (s != NULL && s->pid == m.pid) {
            begin_anew(s, m.header->ticks);
        }
        if (s != NULL) {
            unmap_slot(&m, s);
        }
    }
    self->restored =
        pli_say_need(reallocarray(self->restored, self->n_restored + 1, sizeof *self->restored));
    self->restored[self->n_restored++] = m;
    return m.n_event > 0 || self->started.n_event == 0;
}

void pli_trace_memory_close(void)
{
    struct pli_trace_memory_state *self = pli_launcher.trace_memory;
    close_memory(&self->started);
    for (uint32_t i = 0; i < self->n_restored; i++) {
        close_memory(&self->restored[i]);
    }
    free(self->restored);
    self->restored = NULL;
    self->n_restored = 0;
}

uint32_t pli_trace_memory_count(void)
{
    const struct pli_trace_memory_state *self = pli_launcher.trace_memory;
    uint32_t n = n_used(&self->started);
    for (uint32_t i = 0; i < self->n_restored; i++) {
        n += n_used(&self->restored[i]);
    }
    return n;
}

// The memory that has slot i of all, and its number there.
static const struct pli_trace_memory *memory_of(uint32_t *i)
{
    const struct pli_trace_memory_state *self = pli_launcher.trace_memory;
    const struct pli_trace_memory *m = &self->started;
    for (uint32_t k = 0; k < self->n_restored && *i >= n_used(m); k++) {
        *i -= n_used(m);
        m = &self->restored[k];
    }
    return m;
}

// From the counter to ns of the host's clock.
struct rate {
    uint64_t ticks, ns;
    double ns_per_tick;
};

static struct rate find_rate(const struct pli_trace_header *h)
{
    struct rate r = { h->ticks, h->ns, 1 };
#if defined __aarch64__
    uint64_t frequency;
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
    r.ns_per_tick = 1e9 / (double)frequency;
#else
    uint64_t now = ticks(h->flags), ns = pli_clock_ns();
    if (now > h->ticks) {
        r.ns_per_tick = (double)(ns - h->ns) / (double)(now - h->ticks);
    }
#endif
    return r;
}

static uint64_t to_ns(const struct rate *r, uint64_t at)
{
    return at == 0 ? 0
                   : r->ns + (uint64_t)(int64_t)((double)(int64_t)(at - r->ticks) * r->ns_per_tick);
}

static uint64_t span_ns(const struct rate *r, uint64_t n)
{
    return (uint64_t)((double)n * r->ns_per_tick);
}

static bool is_site(const struct pli_trace_slot *s, const struct pli_trace_site *e)
{
    return e->function < pli_trace_model_n_function &&
           (e->module < s->n_module || e->module == PLI_TRACE_NOBODY);
}

// What is in the slot must be what the library writes; "" or what is wrong.
static const char *judge(const struct pli_trace_slot *s)
{
    if (s->n_module > PLI_TRACE_N_MODULE || s->n_phase > PLI_TRACE_N_PHASE) {
        return "its tables are longer than they can be";
    }
    for (uint32_t i = 0; i < s->n_module; i++) {
        if (memchr(s->modules[i].path, '\0', PLI_TRACE_PATH) == NULL) {
            return "the name of a file in it has no end";
        }
    }
    for (uint32_t i = 0; i < s->n_phase; i++) {
        if (memchr(s->phases[i].name, '\0', PLI_TRACE_NAME) == NULL) {
            return "the name of a phase in it has no end";
        }
    }
    for (uint32_t i = 0; i < PLI_TRACE_N_SITE; i++) {
        if (s->sites[i].n > 0 && !is_site(s, &s->sites[i])) {
            return "a call site in it names no MPI function or no file";
        }
    }
    for (uint32_t i = 0; i < PLI_TRACE_N_SAMPLED; i++) {
        const struct pli_trace_sampled *q = &s->sampled[i];
        bool has = q->n_added != q->n_left;
        if (has && (q->site >= PLI_TRACE_N_SITE || s->sites[q->site].address == 0 ||
                    !is_site(s, &s->sites[q->site]))) {
            return "calls that were sampled in it have no call site";
        }
        if (q->n_added < q->n_left) {
            return "it has less than no calls that were sampled";
        }
    }
    return "";
}

// The places of one module's sites, all asked for at once.
static void find_lines(const struct pli_trace_slot *s, char (*texts)[PLI_SOURCE_LINE_LEN])
{
    static uint64_t places[PLI_TRACE_N_SITE];
    static char found[PLI_TRACE_N_SITE][PLI_SOURCE_LINE_LEN];
    for (uint32_t m = 0; m < s->n_module; m++) {
        uint32_t n = 0, at[PLI_TRACE_N_SITE];
        for (uint32_t i = 0; i < PLI_TRACE_N_SITE; i++) {
            if (s->sites[i].n > 0 && s->sites[i].address != 0 && s->sites[i].module == m) {
                places[n] = s->sites[i].place;
                at[n++] = i;
            }
        }
        pli_source_line_list(s->modules[m].path, places, n, found);
        for (uint32_t k = 0; k < n; k++) {
            memcpy(texts[at[k]], found[k], sizeof found[k]);
        }
    }
}

// Ranks of one program ask for the same lines: what one was told is kept for the next.
static struct {
    struct pli_trace_module module;
    uint64_t places[PLI_TRACE_N_SITE];
    char texts[PLI_TRACE_N_SITE][PLI_SOURCE_LINE_LEN];
} known;

static bool is_known(const struct pli_trace_slot *s)
{
    for (uint32_t i = 0; i < PLI_TRACE_N_SITE; i++) {
        const struct pli_trace_site *e = &s->sites[i];
        if (e->n > 0 && e->address != 0 &&
            (e->module != 0 || e->place != known.places[i] || known.texts[i][0] == '\0')) {
            return false;
        }
    }
    return s->n_module > 0 && strcmp(known.module.path, s->modules[0].path) == 0;
}

static void lines_of(const struct pli_trace_slot *s)
{
    if (is_known(s)) {
        return;
    }
    memset(known.texts, 0, sizeof known.texts);
    find_lines(s, known.texts);
    known.module = s->modules[0];
    for (uint32_t i = 0; i < PLI_TRACE_N_SITE; i++) {
        known.places[i] = s->sites[i].place;
    }
}

static void pack_tables(const struct pli_trace_slot *s, const struct rate *r, struct pli_pack *p)
{
    uint32_t n = 0;
    lines_of(s);
    for (uint32_t i = 0; i < PLI_TRACE_N_SITE; i++) {
        n += s->sites[i].n > 0;
    }
    pli_pack_u32(p, n);
    for (uint32_t i = 0; i < PLI_TRACE_N_SITE; i++) {
        const struct pli_trace_site *e = &s->sites[i];
        if (e->n > 0) {
            pli_pack_u32(p, i);
            pli_pack_u32(p, e->function);
            pli_pack_text(p, known.texts[i][0] != '\0' ? known.texts[i] : "unknown");
            pli_pack_u64(p, e->n);
            pli_pack_u64(p, span_ns(r, e->ticks));
            pli_pack_u64(p, span_ns(r, e->longest));
            pli_pack_u64(p, e->bytes);
        }
    }
    for (uint32_t i = n = 0; i < PLI_TRACE_N_PEER; i++) {
        n += s->peers[i].index != PLI_TRACE_NOBODY;
    }
    pli_pack_u32(p, n);
    for (uint32_t i = 0; i < PLI_TRACE_N_PEER; i++) {
        const struct pli_trace_peer *e = &s->peers[i];
        if (e->index != PLI_TRACE_NOBODY) {
            pli_pack_u32(p, e->index);
            pli_pack_u32(p, e->ep);
            pli_pack_u64(p, e->n_sent);
            pli_pack_u64(p, e->bytes_sent);
            pli_pack_u64(p, span_ns(r, e->ticks_waited));
        }
    }
    pli_pack_u32(p, s->n_phase);
    for (uint32_t i = 0; i < s->n_phase; i++) {
        pli_pack_text(p, s->phases[i].name);
        pli_pack_u64(p, s->phases[i].n);
        pli_pack_u64(p, span_ns(r, s->phases[i].ticks));
        pli_pack_u64(p, span_ns(r, s->phases[i].ticks_mpi));
    }
}

static void pack_events(const struct pli_trace_slot *s, uint32_t cap, const struct rate *r,
                        struct pli_pack *p)
{
    const struct pli_trace_event *ring = (const struct pli_trace_event *)(s + 1);
    uint64_t all = atomic_load(&s->n_event);
    uint32_t n = all < cap ? (uint32_t)all : cap;
    pli_pack_u64(p, all);
    pli_pack_u32(p, n);
    for (uint64_t i = all - n; i < all; i++) {
        struct pli_trace_event e = ring[i & (cap - 1)];
        e.begin = to_ns(r, e.begin);
        e.end = to_ns(r, e.end);
        pli_pack_bytes(p, &e, sizeof e);
    }
}

static void pack_slot(const struct pli_trace_slot *s, const struct pli_trace_header *h,
                      struct pli_pack *p)
{
    struct rate r = find_rate(h);
    const uint32_t who[] = { s->pid, s->tid, s->index, s->ep, s->world, s->rank, s->size };
    for (size_t i = 0; i < sizeof who / sizeof who[0]; i++) {
        pli_pack_u32(p, who[i]);
    }
    // One that was killed is taken to have lived until its last call ended.
    uint64_t end = s->end != 0       ? to_ns(&r, s->end)
                   : s->in_call != 0 ? pli_clock_ns()
                   : s->last != 0    ? to_ns(&r, s->last)
                                     : to_ns(&r, s->begin);
    pli_pack_u64(p, to_ns(&r, s->begin));
    pli_pack_u64(p, end);
    pli_pack_u32(p, s->end == 0);
    pli_pack_u64(p, to_ns(&r, s->in_call));
    pli_pack_u32(p, s->in_function);
    pli_pack_u64(p, span_ns(&r, s->ticks_mpi));
    pli_pack_u64(p, span_ns(&r, s->ticks_waited));
    for (int i = 0; i < PLI_TRACE_N_BIN; i++) {
        pli_pack_u64(p, s->bins[i]);
    }
    pack_tables(s, &r, p);
    pack_events(s, h->n_event, &r, p);
}

bool pli_trace_memory_pack(uint32_t i, struct pli_pack *p, char *why, unsigned long cap)
{
    const struct pli_trace_memory *m = memory_of(&i);
    const struct pli_trace_header *h = m->header;
    why[0] = '\0';
    // The sizes are not those in the memory, which a rank may have overwritten.
    if (h->magic != PLI_TRACE_MAGIC || h->n_event != m->n_event) {
        snprintf(why, cap, "a rank has overwritten the memory in which calls are recorded");
        return false;
    }
    struct pli_trace_slot *s = map_slot(m, i, MAP_PRIVATE);
    if (s == NULL) {
        snprintf(why, cap, "what a rank recorded cannot be read: %s", strerror(errno));
        return false;
    }
    bool is_good = atomic_load(&s->is_used) == 1 && (m->pid == 0 || s->pid == m->pid);
    const char *wrong = is_good ? judge(s) : "";
    if (wrong[0] != '\0') {
        snprintf(why, cap, "what process %u recorded makes no sense (%s), and is left out", s->pid,
                 wrong);
        is_good = false;
    }
    for (uint32_t k = 0; is_good && k < PLI_TRACE_N_SAMPLED; k++) {
        pli_trace_add_sampled(s, &s->sampled[k]);
    }
    if (is_good) {
        pack_slot(s, h, p);
    }
    unmap_slot(m, s);
    return is_good;
}
