// SPDX-License-Identifier: BSD-3-Clause
// Maps ranks to parts of the machine and turns these into masks, with hwloc.
#include "launcher/job/binding.h"

#include "launcher/base/launcher.h"
#include "boot/cores.h"
#include "launcher/job/job.h"
#include "launcher/base/say.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct pli_binding {
    size_t len;
    cpu_set_t *set;
    char text[120];
};

static const struct kind {
    const char *name;
    hwloc_obj_type_t type;
} kinds[] = {
    { "core", HWLOC_OBJ_CORE },       { "hwthread", HWLOC_OBJ_PU },
    { "pu", HWLOC_OBJ_PU },           { "socket", HWLOC_OBJ_PACKAGE },
    { "package", HWLOC_OBJ_PACKAGE }, { "numa", HWLOC_OBJ_NUMANODE },
    { "l1cache", HWLOC_OBJ_L1CACHE }, { "l2cache", HWLOC_OBJ_L2CACHE },
    { "l3cache", HWLOC_OBJ_L3CACHE }, { "node", HWLOC_OBJ_MACHINE },
    { "machine", HWLOC_OBJ_MACHINE }, { "slot", HWLOC_OBJ_CORE },
};

enum { N_KIND = sizeof kinds / sizeof kinds[0] };

struct plan {
    hwloc_topology_t topo;
    hwloc_obj_type_t map, bind;
    const char *map_name, *bind_name;
    unsigned per_rank; // things of `bind` for each rank
};

static hwloc_obj_type_t kind_of(const char *option, const char *name, size_t len)
{
    for (int i = 0; i < N_KIND; i++) {
        if (strlen(kinds[i].name) == len && strncasecmp(kinds[i].name, name, len) == 0) {
            return kinds[i].type;
        }
    }
    pli_say_bad(
        "%s needs one of core, hwthread, l1cache, l2cache, l3cache, numa, socket, node%s, not "
        "'%s'",
        option, option[2] == 'b' ? " or none" : " or slot", name);
}

static void read_words(const struct pli_options *o, struct plan *p)
{
    *p = (struct plan){ .map = HWLOC_OBJ_CORE, .bind = HWLOC_OBJ_CORE, .per_rank = 1 };
    p->map_name = o->map != NULL ? o->map : o->bind;
    p->bind_name = o->bind != NULL ? o->bind : o->map;
    size_t map_len = strcspn(p->map_name, ":");
    const char *rest = p->map_name + map_len;
    p->map = kind_of(o->map != NULL ? "--map-by" : "--bind-to", p->map_name, map_len);
    if (*rest != '\0') {
        char *end;
        unsigned long n = strncasecmp(rest, ":pe=", 4) == 0 ? strtoul(rest + 4, &end, 10) : 0;
        if (o->map == NULL || n < 1 || n > 65536 || *end != '\0') {
            pli_say_bad(
                "only :PE=N, the number of cores for each rank, can follow --map-by %.*s, not "
                "'%s'",
                (int)map_len, p->map_name, rest);
        }
        p->per_rank = (unsigned)n;
    }
    if (o->bind != NULL) {
        p->bind = kind_of("--bind-to", o->bind, strlen(o->bind));
    } else if (p->per_rank == 1) {
        p->bind = p->map;
    }
    if (p->per_rank > 1 && p->map == HWLOC_OBJ_CORE) {
        p->map = HWLOC_OBJ_MACHINE; // one after the other
    }
}

static void load(struct plan *p, bool is_dry)
{
    if (hwloc_topology_init(&p->topo) != 0 || hwloc_topology_load(p->topo) != 0) {
        pli_say_bad("the topology of this machine cannot be read%s",
                    getenv("HWLOC_SYNTHETIC") != NULL ? "; is HWLOC_SYNTHETIC right?" : "");
    }
    if (hwloc_topology_is_thissystem(p->topo)) {
        hwloc_bitmap_t mine = pli_say_need(hwloc_bitmap_alloc());
        if (hwloc_get_cpubind(p->topo, mine, HWLOC_CPUBIND_PROCESS) == 0) {
            hwloc_topology_restrict(p->topo, mine, 0); // taskset and the like bind us too
        }
        hwloc_bitmap_free(mine);
    } else if (!is_dry) {
        pli_say_bad(
            "ranks cannot be bound to the made-up machine of HWLOC_SYNTHETIC or HWLOC_XMLFILE; "
            "--dry-run shows where they would go");
    }
    const struct {
        hwloc_obj_type_t type;
        const char *name;
    } needed[] = { { p->map, p->map_name }, { p->bind, p->bind_name } };
    for (int i = 0; i < 2; i++) {
        if (hwloc_get_nbobjs_by_type(p->topo, needed[i].type) <= 0) {
            pli_say_bad("hwloc knows of no %s on this machine", needed[i].name);
        }
    }
}

// Add what the turn-th rank inside `where` gets.
static void add_inside(const struct plan *p, hwloc_obj_t where, unsigned turn, hwloc_bitmap_t set)
{
    unsigned n = (unsigned)hwloc_get_nbobjs_inside_cpuset_by_type(p->topo, where->cpuset, p->bind);
    if (n > 0) {
        for (unsigned i = 0; i < p->per_rank && i < n; i++) {
            unsigned at = (turn * p->per_rank + i) % n;
            hwloc_obj_t o =
                hwloc_get_obj_inside_cpuset_by_type(p->topo, where->cpuset, p->bind, at);
            hwloc_bitmap_or(set, set, o->cpuset);
        }
        return;
    }
    // `bind` is larger than `map`: take what covers it.
    hwloc_obj_t o = NULL;
    while ((o = hwloc_get_next_obj_by_type(p->topo, p->bind, o)) != NULL) {
        if (hwloc_bitmap_intersects(o->cpuset, where->cpuset)) {
            hwloc_bitmap_or(set, set, o->cpuset);
        }
    }
}

static void describe(const struct plan *p, hwloc_bitmap_t set, char *to, size_t cap)
{
    char core_text[48], cpu_text[48];
    hwloc_bitmap_t cores = pli_say_need(hwloc_bitmap_alloc());
    hwloc_obj_t o = NULL;
    while ((o = hwloc_get_next_obj_by_type(p->topo, HWLOC_OBJ_CORE, o)) != NULL) {
        if (hwloc_bitmap_intersects(o->cpuset, set)) {
            hwloc_bitmap_set(cores, o->logical_index);
        }
    }
    hwloc_bitmap_list_snprintf(core_text, sizeof core_text, cores);
    hwloc_bitmap_list_snprintf(cpu_text, sizeof cpu_text, set);
    snprintf(to, cap, "core %s (cpu %s)", core_text, cpu_text);
    hwloc_bitmap_free(cores);
}

static struct pli_binding *make(const struct plan *p, hwloc_bitmap_t set)
{
    struct pli_binding_state *self = pli_launcher.binding;
    struct pli_binding *place = pli_say_need(calloc(1, sizeof *place));
    int n = hwloc_bitmap_last(set) + 1;
    place->set = pli_say_need(CPU_ALLOC((size_t)n));
    place->len = CPU_ALLOC_SIZE((size_t)n);
    CPU_ZERO_S(place->len, place->set);
    for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu)) {
        CPU_SET_S((size_t)cpu, place->len, place->set);
    }
    describe(p, set, place->text, sizeof place->text);
    hwloc_bitmap_or(self->used, self->used, set);
    return place;
}

// The ranks whose whole mask lies inside one thing of each kind.
static void note_domains(const struct plan *p, const struct pli_job *job,
                         const hwloc_bitmap_t *masks)
{
    struct pli_binding_state *self = pli_launcher.binding;
    static const struct kind wanted[] = { { "socket", HWLOC_OBJ_PACKAGE },
                                          { "numa", HWLOC_OBJ_NUMANODE },
                                          { "core", HWLOC_OBJ_CORE } };
    for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
        hwloc_obj_t o = NULL;
        while ((o = hwloc_get_next_obj_by_type(p->topo, wanted[k].type, o)) != NULL) {
            struct pli_domain d = { .kind = wanted[k].name, .number = o->logical_index };
            d.ranks = pli_say_need(malloc(job->n_rank * sizeof *d.ranks));
            for (uint32_t i = 0; i < job->n_task; i++) {
                for (uint32_t r = 0; r < job->tasks[i].n; r++) {
                    d.ranks[d.n] = job->tasks[i].rank + r;
                    d.n += hwloc_bitmap_isincluded(masks[i], o->cpuset) != 0;
                }
            }
            if (d.n == 0) {
                free(d.ranks);
                continue;
            }
            self->domains =
                pli_say_need(realloc(self->domains, (self->n_domain + 1) * sizeof *self->domains));
            self->domains[self->n_domain++] = d;
        }
    }
}

const struct pli_domain *pli_binding_domain(uint32_t i)
{
    struct pli_binding_state *self = pli_launcher.binding;
    return i < self->n_domain ? &self->domains[i] : NULL;
}

static bool is_wanted(const struct pli_options *o)
{
    bool is_none = o->bind != NULL && strcasecmp(o->bind, "none") == 0;
    return (o->bind != NULL || o->map != NULL) && !is_none;
}

void pli_binding_check(const struct pli_options *o)
{
    struct plan p;
    if (is_wanted(o)) {
        read_words(o, &p);
    }
}

void pli_binding_plan(struct pli_job *job)
{
    struct pli_binding_state *self = pli_launcher.binding;
    const struct pli_options *o = &job->opt;
    if (!is_wanted(o)) {
        return;
    }
    struct plan p;
    read_words(o, &p);
    load(&p, o->is_dry);
    self->used = pli_say_need(hwloc_bitmap_alloc());
    hwloc_bitmap_t *masks = pli_say_need(calloc((size_t)job->n_task + 1, sizeof *masks));
    unsigned n_map = (unsigned)hwloc_get_nbobjs_by_type(p.topo, p.map);
    for (uint32_t i = 0; i < job->n_task; i++) {
        struct pli_proc_task *t = &job->tasks[i];
        hwloc_bitmap_t set = masks[i] = pli_say_need(hwloc_bitmap_alloc());
        for (uint32_t k = 0; k < t->n + t->n_extra; k++) {
            uint32_t r = k < t->n ? t->first + k : t->extra + k - t->n;
            hwloc_obj_t where = hwloc_get_obj_by_type(p.topo, p.map, r % n_map);
            add_inside(&p, where, r / n_map, set);
        }
        t->place = make(&p, set);
    }
    note_domains(&p, job, masks);
    for (uint32_t i = 0; i < job->n_task; i++) {
        hwloc_bitmap_free(masks[i]);
    }
    free(masks);
    hwloc_topology_destroy(p.topo);
}

bool pli_binding_apply(const struct pli_binding *place)
{
    return sched_setaffinity(0, place->len, place->set) == 0;
}

const char *pli_binding_text(const struct pli_binding *place)
{
    return place != NULL ? place->text : "not bound";
}

uint32_t pli_binding_n_core(const struct pli_job *job)
{
    struct pli_binding_state *self = pli_launcher.binding;
    (void)job;
    uint32_t n = pli_cores_usable();
    if (self->used != NULL && (uint32_t)hwloc_bitmap_weight(self->used) < n) {
        n = (uint32_t)hwloc_bitmap_weight(self->used);
    }
    return n;
}
