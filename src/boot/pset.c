// SPDX-License-Identifier: BSD-3-Clause
// The table of process sets in the node memory.
#include "boot/pset.h"

#include "base/edit_distance.h"
#include "boot/node.h"
#include "boot/node_lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct pli_pset_table *table_of(const struct pli_node *node)
{
    return (struct pli_pset_table *)(node->base + node->header->psets);
}

static bool is_reserved_name(const char *name)
{
    return strncasecmp(name, "mpi://", 6) == 0;
}

bool pli_pset_is_name(const char *a, const char *b)
{
    return is_reserved_name(a) ? strcasecmp(a, b) == 0 : strcmp(a, b) == 0;
}

static uint64_t hash_of(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    bool is_folded = is_reserved_name(name);
    for (; *name != '\0'; name++) {
        unsigned char c = (unsigned char)*name;
        c = is_folded && c >= 'A' && c <= 'Z' ? (unsigned char)(c - 'A' + 'a') : c;
        h = (h ^ c) * 0x100000001b3u;
    }
    return h;
}

uint32_t pli_pset_count(const struct pli_node *node)
{
    uint32_t n = atomic_load_explicit(&table_of(node)->n_set, memory_order_acquire);
    return n < PLI_PSET_N_SET ? n : PLI_PSET_N_SET;
}

bool pli_pset_get(const struct pli_node *node, uint32_t i, struct pli_pset *out)
{
    const struct pli_pset_table *t = table_of(node);
    if (i >= pli_pset_count(node)) {
        return false;
    }
    const struct pli_pset_entry *e = &t->sets[i];
    if (e->name_at >= PLI_PSET_N_TEXT || e->name_len >= PLI_PSET_N_TEXT - e->name_at ||
        e->run_at > PLI_PSET_N_RUN || e->n_run > PLI_PSET_N_RUN - e->run_at ||
        t->text[e->name_at + e->name_len] != '\0') {
        return false;
    }
    *out = (struct pli_pset){
        .name = t->text + e->name_at,
        .runs = t->runs + e->run_at,
        .n_run = e->n_run,
        .n = e->n,
        .version = e->version,
        .origin = e->origin,
        .maker = e->maker,
    };
    return true;
}

uint32_t pli_pset_world_number(const char *name)
{
    static const char stem[] = PLI_PSET_WORLD "@";
    uint64_t number = 0;
    if (strncasecmp(name, stem, sizeof stem - 1) != 0) {
        return 0;
    }
    for (name += sizeof stem - 1; *name >= '0' && *name <= '9' && number <= UINT32_MAX; name++) {
        number = number * 10 + (uint64_t)(*name - '0');
    }
    return *name == '\0' && number > 1 && number <= UINT32_MAX ? (uint32_t)number : 0;
}

void pli_pset_worlds(const struct pli_node *node, uint32_t *oldest_out, uint32_t *newest_out)
{
    const struct pli_pset_ring *r = &table_of(node)->ring;
    *newest_out = atomic_load_explicit(&r->newest, memory_order_acquire);
    *oldest_out = atomic_load_explicit(&r->oldest, memory_order_acquire);
}

bool pli_pset_get_world(const struct pli_node *node, uint32_t number, struct pli_pset *out)
{
    const struct pli_pset_ring *r = &table_of(node)->ring;
    uint32_t oldest, newest;
    pli_pset_worlds(node, &oldest, &newest);
    if (number == 0 || number < oldest || number > newest) {
        return false;
    }
    const struct pli_pset_world *w = &r->worlds[number % PLI_PSET_N_WORLD];
    uint64_t at = w->run_at % PLI_PSET_N_RUN;
    *out = (struct pli_pset){ .name = w->name,
                              .runs = r->runs + at,
                              .n_run = w->n_run,
                              .n = w->n,
                              .version = number,
                              .origin = PLI_PSET_MADE,
                              .maker = UINT32_MAX };
    return out->n_run <= PLI_PSET_N_RUN - at && w->name[sizeof w->name - 1] == '\0' &&
           pli_pset_is_kept(node, out);
}

bool pli_pset_is_kept(const struct pli_node *node, const struct pli_pset *set)
{
    const struct pli_pset_ring *r = &table_of(node)->ring;
    bool is_world = set->runs >= r->runs && set->runs < r->runs + PLI_PSET_N_RUN;
    atomic_thread_fence(memory_order_acquire); // what was read was read before
    return !is_world || set->version >= atomic_load_explicit(&r->oldest, memory_order_relaxed);
}

bool pli_pset_find(const struct pli_node *node, const char *name, struct pli_pset *out)
{
    const struct pli_pset_table *t = table_of(node);
    uint32_t number = pli_pset_world_number(name);
    if (number != 0) {
        return pli_pset_get_world(node, number, out);
    }
    uint64_t hash = hash_of(name);
    uint32_t at = atomic_load_explicit(&t->lists[hash % PLI_PSET_N_LIST], memory_order_acquire);
    uint32_t before = UINT32_MAX; // a list leads to older ones only
    while (at != 0 && at < before && at <= PLI_PSET_N_SET) {
        if (t->sets[at - 1].hash == hash && pli_pset_get(node, at - 1, out) &&
            pli_pset_is_name(name, out->name)) {
            return true;
        }
        before = at;
        at = t->sets[at - 1].next;
    }
    return false;
}

enum pli_err pli_pset_check_name(const char *name, bool is_reserved)
{
    if (name == NULL || name[0] == '\0') {
        return pli_fail(PLI_ERR_ARG, "the name of a process set is %s",
                        name == NULL ? "NULL" : "empty");
    }
    if (strlen(name) >= PLI_PSET_NAME) {
        return pli_fail(PLI_ERR_ARG,
                        "the name of a process set has %zu characters, but at most %d fit "
                        "(MPI_MAX_PSET_NAME_LEN)",
                        strlen(name), PLI_PSET_NAME - 1);
    }
    if (!is_reserved && is_reserved_name(name)) {
        return pli_fail(PLI_ERR_ARG,
                        "the process set '%s' cannot be made: names that begin with mpi:// belong "
                        "to MPI",
                        name);
    }
    return PLI_OK;
}

const char *pli_pset_nearest(const struct pli_node *node, const char *name)
{
    const char *best = NULL;
    int least = (int)strlen(name) / 2 + 1;
    uint32_t n = pli_pset_count(node);
    for (uint32_t i = 0; i < n + 2; i++) {
        struct pli_pset set = { .name = i == 0 ? PLI_PSET_WORLD : PLI_PSET_SELF };
        if (i >= 2 && !pli_pset_get(node, i - 2, &set)) {
            continue;
        }
        int d = pli_edit_distance_distance(name, set.name, strlen(set.name));
        if (d < least) {
            least = d;
            best = set.name;
        }
    }
    return best;
}

bool pli_pset_has(const struct pli_pset *set, uint32_t index)
{
    for (uint32_t k = 0; k < set->n_run; k++) {
        const struct pli_pset_run *r = &set->runs[k];
        uint32_t far = index - r->first, step = r->step > 0 ? r->step : 1;
        if (index >= r->first && far % step == 0 && far / step < r->n) {
            return true;
        }
    }
    return false;
}

void pli_pset_list(const struct pli_pset *set, uint32_t *out)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < set->n_run; k++) {
        for (uint32_t i = 0; i < set->runs[k].n && n < set->n; i++) {
            out[n++] = set->runs[k].first + i * set->runs[k].step;
        }
    }
}

// Whether the set consists of exactly these processes.
static bool is_same(const struct pli_pset *set, const uint32_t *indices, uint32_t n)
{
    uint32_t *mine = set->n == n ? malloc(n * sizeof *mine + 1) : NULL;
    if (mine == NULL) {
        return false;
    }
    pli_pset_list(set, mine);
    bool is = memcmp(mine, indices, n * sizeof *mine) == 0;
    free(mine);
    return is;
}

// Cut a set into runs; how many they are, UINT32_MAX: more than the room that there is. NULL: they
// are only counted.
static uint32_t write_runs(struct pli_pset_run *runs, uint32_t room, const uint32_t *indices,
                           uint32_t n)
{
    uint32_t at = 0, first = 0;
    while (first < n) {
        uint32_t step = first + 1 < n ? indices[first + 1] - indices[first] : 1, len = 1;
        while (first + len < n && indices[first + len] - indices[first + len - 1] == step) {
            len++;
        }
        if ((len == 2 && step > 1) || step > INT32_MAX) {
            len = step = 1; // two that are apart may each begin something longer; none runs down
        }
        if (at == room) {
            return UINT32_MAX;
        }
        if (runs != NULL) {
            runs[at] = (struct pli_pset_run){ indices[first], step, len };
        }
        at++;
        first += len;
    }
    return at;
}

// The newest set is the first in its list. A writer that died may have counted it but not put it
// there.
// Context: locked.
static void list_newest(struct pli_pset_table *t)
{
    uint32_t n = atomic_load_explicit(&t->n_set, memory_order_relaxed);
    if (n > 0) {
        _Atomic uint32_t *list = &t->lists[t->sets[n - 1].hash % PLI_PSET_N_LIST];
        atomic_store_explicit(list, n, memory_order_release);
    }
}

// Context: locked.
static enum pli_err append(struct pli_pset_table *t, const char *name, const uint32_t *indices,
                           uint32_t n, struct pli_pset_entry e)
{
    uint32_t at = atomic_load_explicit(&t->n_set, memory_order_relaxed);
    size_t len = strlen(name);
    e.n_run = at < PLI_PSET_N_SET && len + 1 <= PLI_PSET_N_TEXT - t->n_text
                  ? write_runs(t->runs + t->n_run, PLI_PSET_N_RUN - t->n_run, indices, n)
                  : UINT32_MAX;
    if (e.n_run == UINT32_MAX) {
        return pli_fail(PLI_ERR_NO_SPACE,
                        "there is no room for the process set '%s': the job has %u already", name,
                        at);
    }
    e.hash = hash_of(name);
    e.name_at = t->n_text;
    e.name_len = (uint32_t)len;
    e.run_at = t->n_run;
    e.n = n;
    e.next = atomic_load_explicit(&t->lists[e.hash % PLI_PSET_N_LIST], memory_order_relaxed);
    memcpy(t->text + t->n_text, name, len + 1);
    t->n_text += (uint32_t)len + 1;
    t->n_run += e.n_run;
    t->sets[at] = e;
    atomic_store_explicit(&t->n_set, at + 1, memory_order_release);
    list_newest(t);
    return PLI_OK;
}

enum pli_err pli_pset_add(struct pli_node *node, const char *name, const uint32_t *indices,
                          uint32_t n, uint32_t version, enum pli_pset_origin origin, uint32_t maker)
{
    struct pli_pset_table *t = table_of(node);
    struct pli_pset old;
    enum pli_err err = PLI_OK;
    pli_node_lock_take(t->owner);
    list_newest(t);
    if (pli_pset_find(node, name, &old)) {
        if (!is_same(&old, indices, n)) {
            err =
                pli_fail(PLI_ERR_NAME,
                         "the process set '%s' exists already, with %s%u process%s, and sets "
                         "never change",
                         name, old.n == n ? "other members: " : "", old.n, old.n == 1 ? "" : "es");
        }
    } else {
        struct pli_pset_entry e = { .origin = origin, .version = version, .maker = maker };
        err = append(t, name, indices, n, e);
    }
    pli_node_lock_drop(t->owner);
    return err;
}

// Drop the versions whose place is needed, before it is written to. Context: locked.
static void drop_worlds(struct pli_pset_ring *r, uint32_t number, uint64_t end)
{
    uint32_t oldest = atomic_load_explicit(&r->oldest, memory_order_relaxed);
    while (oldest != 0 && oldest < number &&
           (number - oldest >= PLI_PSET_N_WORLD ||
            r->worlds[oldest % PLI_PSET_N_WORLD].run_at + PLI_PSET_N_RUN < end)) {
        oldest++;
    }
    atomic_store_explicit(&r->oldest, oldest, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
}

// Context: locked.
static enum pli_err append_world(struct pli_pset_ring *r, uint32_t number, const uint32_t *indices,
                                 uint32_t n)
{
    uint32_t n_run = write_runs(NULL, PLI_PSET_N_RUN, indices, n);
    if (n_run == UINT32_MAX) {
        return pli_fail(PLI_ERR_NO_SPACE, "there is no room for a world of %u processes", n);
    }
    uint64_t at = r->n_run, left = PLI_PSET_N_RUN - at % PLI_PSET_N_RUN;
    at += n_run > left ? left : 0; // the runs of a set are in one piece
    drop_worlds(r, number, at + n_run);
    struct pli_pset_world *w = &r->worlds[number % PLI_PSET_N_WORLD];
    *w = (struct pli_pset_world){ .run_at = at, .n_run = n_run, .n = n, .number = number };
    snprintf(w->name, sizeof w->name, PLI_PSET_WORLD "@%u", number);
    write_runs(r->runs + at % PLI_PSET_N_RUN, n_run, indices, n);
    r->n_run = at + n_run;
    if (atomic_load_explicit(&r->oldest, memory_order_relaxed) == 0) {
        atomic_store_explicit(&r->oldest, number, memory_order_relaxed);
    }
    atomic_store_explicit(&r->newest, number, memory_order_release);
    return PLI_OK;
}

enum pli_err pli_pset_add_world(struct pli_node *node, uint32_t number, const uint32_t *indices,
                                uint32_t n)
{
    struct pli_pset_table *t = table_of(node);
    struct pli_pset old;
    enum pli_err err = PLI_OK;
    pli_node_lock_take(t->owner);
    if (pli_pset_get_world(node, number, &old)) {
        if (!is_same(&old, indices, n)) {
            err = pli_fail(PLI_ERR_NAME, "the process set '%s' exists already, with others in it",
                           old.name);
        }
    } else {
        err = append_world(&t->ring, number, indices, n);
    }
    pli_node_lock_drop(t->owner);
    return err;
}
