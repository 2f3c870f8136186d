// SPDX-License-Identifier: BSD-3-Clause
// Starts the runtime: from the start of the process to UPC's main, and the end after it.
#include "rt.h"
#include "rt_barrier.h"
#include "rt_serve.h"
#include "rt_layout.h"
#include "start.h"
#include "upc_calls.h"

#include "base/conf.h"
#include "base/log.h"
#include "boot/boot.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "ft/failure.h"
#include "msg/process.h"
#include "msg/progress_thread.h"
#include "net/list/net_list.h"
#include "onesided/region.h"
#include "msg/segment.h"
#include "comm/implicit_init.h"
#include "comm/endpoints.h"
#include "net/shm/shm.h"
#include "obj/comm.h"
#include "obj/group_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPAN_MOST ((uint64_t)1 << PLI_UPC_ADDR_BITS)

static void need(enum pli_err err)
{
    if (err != PLI_OK) {
        pli_rt_die("%s", pli_fail_take(NULL));
    }
}

static void *need_memory(void *p)
{
    if (p == NULL) {
        pli_rt_die("no memory to start");
    }
    return p;
}

// The group's processes, and which of them this is.
struct shape {
    struct rt_places places;
    struct rt_proc *procs;
    uint32_t n_proc, me;
};

static struct shape find_places(void)
{
    const struct pli_node_row *row = &pli_proc.boot->node.rows[pli_proc.boot->row];
    struct shape s = { .places = { 1, pli_proc.boot->index, 1, 0 } };
    if (row->upc_n > 0) {
        s.places = (struct rt_places){ row->upc_n, row->upc_first, row->upc_ranks, row->upc_extra };
    }
    pli_rt.n_rank = row->upc_n > 0 ? (int)row->upc_ranks : 1;
    pli_rt.is_funneled = row->upc_n > row->upc_ranks;
    pli_rt.group = (int)row->upc_group;
    pli_rt.n_group = row->upc_n_group > 0 ? (int)row->upc_n_group : 1;
    return s;
}

// THREADS, from the launch; what the program was compiled for must agree.
static int count_threads(const struct pli_upc_program *p, int n_place)
{
    int fixed = 0, each = 0;
    for (struct pli_upc_unit *const *u = p->units; u < p->units_end; u++) {
        int n = (*u)->static_threads;
        if (n > 0 && fixed > 0 && n != fixed) {
            pli_rt_die("the program is linked from files compiled for %d threads and for %d", fixed,
                       n);
        }
        if (((*u)->pthreads > 0) != (p->is_pthreads != 0)) {
            pli_rt_die("the program is linked from files compiled with -pthreads and without");
        }
        fixed = n > 0 ? n : fixed;
        each = (*u)->pthreads > each ? (*u)->pthreads : each;
    }
    int n = n_place;
    if (p->is_pthreads) {
        n = pli_conf.upc_threads > 0 ? (int)pli_conf.upc_threads
            : each > 1               ? n * (each - 1)
            : fixed > 0              ? fixed
                                     : n;
    }
    if (fixed > 0 && n != fixed) {
        pli_rt_die("the program is compiled for %d threads (upcc -T=%d) and started with %d; start "
                   "it with upcrun -n %d",
                   fixed, fixed, n, fixed);
    }
    if (n > PLI_UPC_MAX_THREADS || n < n_place) {
        pli_rt_die("%d threads in %d processes cannot be; %d is the limit", n, n_place,
                   PLI_UPC_MAX_THREADS);
    }
    return n;
}

static void find_shape(const struct pli_upc_program *p, struct shape *s)
{
    uint32_t n_place = s->places.n;
    pli_rt.n = pli_rt_threads = count_threads(p, (int)n_place);
    // Below mpiexec upcrun starts one process for several places.
    bool is_joined = p->is_pthreads && pli_conf.upc_procs > 0 && pli_conf.upc_procs < n_place;
    pli_rt.each = is_joined && pli_conf.upc_each > 0 ? (uint32_t)pli_conf.upc_each : 0;
    s->n_proc = pli_rt_layout_find(&s->places, pli_rt.each, pli_rt.n, &s->procs);
    need_memory(s->procs);
    pli_rt.is_joined = pli_rt.each > 1 || pli_rt.n > (int)s->n_proc;
    uint64_t mine = pli_proc.boot->job | pli_proc.boot->index;
    while (s->me < s->n_proc && s->procs[s->me].id != mine) {
        s->me++;
    }
    if (s->me == s->n_proc) {
        pli_rt_die("process %u of the job has no place among those of its group",
                   pli_proc.boot->index);
    }
    pli_rt.n_here = s->procs[s->me].n;
    pli_rt.first = s->procs[s->me].first;
}

static int64_t host_memory(void)
{
    int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), limit;
    FILE *f = fopen("/sys/fs/cgroup/memory.max", "r");
    if (f != NULL) {
        if (fscanf(f, "%ld", &limit) == 1 && limit < bytes) {
            bytes = limit;
        }
        fclose(f);
    }
    return bytes;
}

static void map_thread(const struct shape *s, char *segs, int t)
{
    const struct pli_node *node = &pli_proc.boot->node;
    uint32_t proc = 0, row;
    while (t >= s->procs[proc].first + s->procs[proc].n) {
        proc++;
    }
    int k = t - s->procs[proc].first;
    uint64_t id = s->procs[proc].id;
    const struct pli_node_proc *p = pli_node_find(node, (uint32_t)id);
    pli_rt.place[t].proc = proc;
    pli_rt.place[t].host = p != NULL ? p->host : pli_proc.boot->host;
    if (!pli_boot_is_here(pli_proc.boot, id, &row) || (pli_conf.upc_far && proc != s->me)) {
        pli_rt.has_far = true;
        return;
    }
    pli_rt.seg[t] = segs + row * node->header->seg_size + (uint64_t)k * pli_rt.span;
    pli_rt.page[t] = (struct rt_page *)(pli_rt.seg[t] + pli_rt.page_at);
    mprotect(pli_rt.seg[t], RT_FIRST, PROT_NONE); // where null pointers point
}

static void map_all(const struct shape *s)
{
    const struct pli_node_header *h = pli_proc.boot->node.header;
    uint64_t each = 1; // threads of the largest process
    for (uint32_t i = 0; i < s->n_proc; i++) {
        each = each > (uint64_t)s->procs[i].n ? each : (uint64_t)s->procs[i].n;
    }
    uint64_t span = h->seg_size / each / RT_PAGE * RT_PAGE;
    char *segs;
    need(pli_segment_claim(&segs));
    pli_rt.span = span < SPAN_MOST ? span : SPAN_MOST;
    pli_rt.page_at = pli_rt.span - RT_PAGE;
    pli_rt.own_base = pli_rt.span / 2 / RT_PAGE * RT_PAGE;
    pli_rt.limit = (uint64_t)pli_conf.upc_shared_heap;
    pli_rt.memory = host_memory();
    for (int t = 0; t < pli_rt.n; t++) {
        map_thread(s, segs, t);
    }
    pli_rt.is_flat = !pli_rt.has_far && pli_rt.n <= 16 && !pli_lane_is_oversubscribed() &&
                     (uint32_t)pli_rt.n <= h->n_core;
}

// Every process places the objects in the same order, so all agree without a message.
static void place_vars(const struct pli_upc_program *p)
{
    uint64_t at = RT_FIRST;
    for (struct pli_upc_var *const *v = p->vars; v < p->vars_end; v++) {
        if (*(*v)->where != 0) {
            continue;
        }
        uint64_t size = rt_round((*v)->local_bytes, 64);
        if (size > pli_rt.own_base - at) {
            pli_rt_die("no room for the shared object %s of %zu bytes per thread: segments have "
                       "%llu",
                       (*v)->name, (*v)->local_bytes, (unsigned long long)pli_rt.own_base);
        }
        *(*v)->where = at;
        at += size;
    }
    pli_rt.sym_base = rt_round(at, RT_PAGE);
}

// Process mode: every thread is its process's first endpoint.
static struct pli_comm *make_comm(const struct shape *s, uint64_t context)
{
    struct pli_endpoint *ep = pli_process_ep();
    struct pli_group_build b;
    struct pli_group *group;
    struct pli_comm *comm;
    pli_group_build_init(&b);
    for (uint32_t i = 0; i < s->n_proc; i++) {
        pli_group_build_add_id(&b, (struct pli_id){ s->procs[i].id, ep->id.ep });
    }
    need(pli_group_build_finish(&b, NULL, ep->id, &group));
    need(pli_comm_create(pli_endpoint_retain(ep), ep->id, group, NULL, context, &comm));
    pli_group_release(group);
    snprintf(comm->name, sizeof comm->name, "the UPC threads");
    return comm;
}

static void make_threads(const struct shape *s)
{
    int n = pli_rt.n_here;
    struct pli_comm *procs = make_comm(s, PLI_CONTEXT_UPC);
    struct pli_comm **comms = need_memory(calloc((size_t)n, sizeof *comms));
    comms[0] = procs;
    if (pli_rt.is_pthreads) {
        need(pli_endpoints_create(procs, n, NULL, PLI_OK, comms));
        pli_comm_release(procs);
    }
    pli_rt.threads = need_memory(calloc((size_t)n, sizeof *pli_rt.threads));
    for (int i = 0; i < n; i++) {
        struct rt_thread *t = &pli_rt.threads[i];
        t->me = pli_rt.first + i;
        t->comm = comms[i];
        t->lane = comms[i]->ep->lane;
        snprintf(t->comm->name, sizeof t->comm->name, "the UPC threads");
        if (pli_rt.has_far && t->me == 0) {
            t->far_slot = need_memory(calloc((size_t)pli_rt.n, sizeof *t->far_slot));
        }
    }
    free(comms);
    for (int t = 0; t < pli_rt.n; t++) {
        struct pli_id id = pli_group_at(pli_rt.threads[0].comm->group, t);
        struct pli_shm_peer peer;
        uint32_t row;
        if (pli_boot_is_here(pli_proc.boot, id.proc, &row)) {
            pli_shm_peer_init(&peer, &pli_proc.boot->node, row, (int)(id.ep % PLI_NODE_N_LANE));
            pli_rt.box[t] = peer.box;
        }
    }
}

int pli_upc_open(const struct pli_upc_program *p)
{
    need(pli_process_open(p->is_pthreads, pli_net_list, &pli_failure_handlers));
    if (pli_proc.boot->gateway != NULL) {
        pli_rt_die("a UPC program cannot be part of an IMPI job");
    }
    pli_rt.is_pthreads = p->is_pthreads;
    struct shape s = find_places();
    find_shape(p, &s);
    if (p->is_pthreads) {
        atomic_store(&pli_proc.boot->node.rows[pli_proc.boot->row].is_shared, 1);
    }
    map_all(&s);
    place_vars(p);
    make_threads(&s);
    free(s.procs);
    *p->threads = pli_rt.n;
    *p->has_far = pli_rt.has_far;
    memcpy(p->seg, pli_rt.seg, sizeof pli_rt.seg);
    return pli_rt.n_here;
}

int pli_upc_enter(int i)
{
    struct rt_thread *me = &pli_rt.threads[i];
    pli_rt_self = me;
    if (pli_rt.is_pthreads) {
        need(pli_endpoint_attach(me->comm->ep));
    } else if (pli_upc_mpi_has_rank()) {
        pli_implicit_init_allow(); // of threads of one process each asks for itself: link/upc_mpi.c
    }
    if (pli_rt.has_far) {
        struct pli_region_plan plan = { .comm = me->comm,
                                        .base = pli_rt.seg[me->me],
                                        .size = pli_rt.span,
                                        .gap = RT_FIRST,
                                        .near = pli_rt.seg,
                                        .has_far = true,
                                        .has_thread = pli_progress_thread_serves(false),
                                        .may_register = true,
                                        .refused = pli_rt_serve_refused,
                                        .on_message = pli_rt_serve,
                                        .arg = me };
        need(pli_region_create(&plan, &me->region));
    }
    return me->me;
}

// The bytes of an initial value that this thread owns.
static void fill_one(const struct pli_upc_var *v, const char *image, size_t len)
{
    struct rt_thread *me = rt_me();
    size_t block = v->block_bytes, n = (size_t)pli_rt.n;
    char *to = pli_rt.seg[me->me] + pli_upc_addrfield(*v->where);
    if (block == 0) {
        if (me->me == 0) {
            memcpy(to, image, len);
        }
        return;
    }
    for (size_t b = (size_t)me->me; b * block < len; b += n, to += block) {
        size_t left = len - b * block;
        memcpy(to, image + b * block, left < block ? left : block);
    }
}

void pli_upc_fill(const struct pli_upc_program *p)
{
    for (struct pli_upc_var *const *v = p->vars; v < p->vars_end; v++) {
        if ((*v)->image != NULL) {
            fill_one(*v, (*v)->image, (*v)->image_bytes);
        } else if ((*v)->fill != NULL) {
            size_t len = (*v)->fill(NULL);
            char *image = need_memory(malloc(len));
            (*v)->fill(image);
            fill_one(*v, image, len);
            free(image);
        }
    }
}

void pli_upc_begin(void)
{
    pli_rt_barrier_sync(RT_START);
}

void pli_upc_leave(void)
{
    struct rt_thread *me = rt_me();
    if (!me->is_left) {
        me->is_left = true;
        pli_upc_synci();
        me->is_notified = false; // a program may end between upc_notify and upc_wait
        pli_rt_barrier_sync(RT_FINAL);
    }
}

void pli_upc_close(void)
{
    pli_process_close();
}

void pli_upc_global_exit(int status)
{
    fflush(NULL);
    if (pli_proc.boot == NULL || strcmp(pli_proc.boot->ops->name, "solo") == 0) {
        _exit(status & 255); // there is no other process to end
    }
    pli_proc.boot->node.rows[pli_proc.boot->row].is_quiet = 1;
    pli_proc.boot->ops->abort(pli_proc.boot, status, "upc_global_exit");
    __builtin_unreachable();
}
