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

static struct pli_pset_half *half_at(struct pli_pset_table *t, uint32_t turn)
{
    return &t->halves[turn / 2 % 2];
}

static uint32_t turn_of(const struct pli_pset_table *t)
{
    return atomic_load_explicit(&t->turn, memory_order_acquire);
}

// Whether the half that was the table at this turn has not been written to for a later one.
static bool is_half_kept(const struct pli_pset_table *t, uint32_t turn)
{
    atomic_thread_fence(memory_order_acquire); // what was read was read before
    return atomic_load_explicit(&t->turn, memory_order_relaxed) - turn / 2 * 2 < 3;
}

static uint32_t n_set_of(const struct pli_pset_half *h)
{
    uint32_t n = atomic_load_explicit(&h->n_set, memory_order_acquire);
    return n < PLI_PSET_N_SET ? n : PLI_PSET_N_SET;
}

static uint32_t n_maker_of(const struct pli_pset_entry *e)
{
    return atomic_load_explicit(&e->n_maker, memory_order_relaxed);
}

static bool is_marked(const struct pli_pset_entry *e, enum pli_pset_mark mark)
{
    return (atomic_load_explicit(&e->marks, memory_order_relaxed) & (uint32_t)mark) != 0;
}

static bool is_freed(const struct pli_pset_entry *e)
{
    return e->origin == PLI_PSET_MADE && n_maker_of(e) == 0 && !is_marked(e, PLI_PSET_ELSEWHERE);
}

// The i-th entry of a half, false when there is none (or the table is damaged).
static bool view(const struct pli_pset_half *h, uint32_t turn, uint32_t i, struct pli_pset *out)
{
    if (i >= n_set_of(h)) {
        return false;
    }
    const struct pli_pset_entry *e = &h->sets[i];
    uint32_t name_at = e->name_at, name_len = e->name_len, run_at = e->run_at, n_run = e->n_run;
    if (name_at >= PLI_PSET_N_TEXT || name_len >= PLI_PSET_N_TEXT - name_at ||
        run_at > PLI_PSET_N_RUN || n_run > PLI_PSET_N_RUN - run_at ||
        h->text[name_at + name_len] != '\0') {
        return false;
    }
    *out = (struct pli_pset){
        .name = h->text + name_at,
        .runs = h->runs + run_at,
        .n_run = n_run,
        .n = e->n,
        .version = e->version,
        .origin = e->origin,
        .maker = e->maker,
        .serial = e->serial,
        .turn = turn,
    };
    return true;
}

void pli_pset_lock(struct pli_node *node)
{
    pli_node_lock_take(table_of(node)->owner);
}

void pli_pset_unlock(struct pli_node *node)
{
    pli_node_lock_drop(table_of(node)->owner);
}

bool pli_pset_next(const struct pli_node *node, uint32_t *at, struct pli_pset *out)
{
    struct pli_pset_table *t = table_of(node);
    uint32_t turn = turn_of(t);
    const struct pli_pset_half *h = half_at(t, turn);
    while (*at < n_set_of(h) && is_freed(&h->sets[*at])) {
        ++*at;
    }
    return view(h, turn, (*at)++, out);
}

uint32_t pli_pset_count(struct pli_node *node)
{
    struct pli_pset set;
    uint32_t n = 0;
    pli_pset_lock(node);
    for (uint32_t at = 0; pli_pset_next(node, &at, &set);) {
        n++;
    }
    pli_pset_unlock(node);
    return n;
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
    const struct pli_pset_table *t = table_of(node);
    if (set->serial != 0) {
        return is_half_kept(t, set->turn);
    }
    atomic_thread_fence(memory_order_acquire); // what was read was read before
    return set->version >= atomic_load_explicit(&t->ring.oldest, memory_order_relaxed);
}

// The place of a set in a half, UINT32_MAX: there is none of this name.
static uint32_t find_in(const struct pli_pset_half *h, uint32_t turn, const char *name,
                        struct pli_pset *out)
{
    uint64_t hash = hash_of(name);
    uint32_t at = atomic_load_explicit(&h->lists[hash % PLI_PSET_N_LIST], memory_order_acquire);
    uint32_t before = UINT32_MAX; // a list leads to older ones only
    while (at != 0 && at < before && at <= PLI_PSET_N_SET) {
        const struct pli_pset_entry *e = &h->sets[at - 1];
        if (e->hash == hash && !is_freed(e) && view(h, turn, at - 1, out) &&
            pli_pset_is_name(name, out->name)) {
            return at - 1;
        }
        before = at;
        at = e->next;
    }
    return UINT32_MAX;
}

bool pli_pset_find(const struct pli_node *node, const char *name, struct pli_pset *out)
{
    struct pli_pset_table *t = table_of(node);
    uint32_t turn, number = pli_pset_world_number(name);
    bool is_found;
    if (number != 0) {
        return pli_pset_get_world(node, number, out);
    }
    do {
        turn = turn_of(t);
        is_found = find_in(half_at(t, turn), turn, name, out) != UINT32_MAX;
    } while (!is_half_kept(t, turn));
    return is_found;
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

bool pli_pset_nearest(struct pli_node *node, const char *name, char *out)
{
    static const char *const builtin[] = { PLI_PSET_WORLD, PLI_PSET_SELF };
    int least = (int)strlen(name) / 2 + 1, most = least;
    uint32_t at = 0, n_builtin = 0;
    struct pli_pset set;
    pli_pset_lock(node);
    while (n_builtin < 2 || pli_pset_next(node, &at, &set)) {
        const char *other = n_builtin < 2 ? builtin[n_builtin++] : set.name;
        int d = pli_edit_distance_distance(name, other, strlen(other));
        if (d < least) {
            least = d;
            snprintf(out, PLI_PSET_NAME, "%s", other);
        }
    }
    pli_pset_unlock(node);
    return least < most;
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
static void list_newest(struct pli_pset_half *h)
{
    uint32_t n = atomic_load_explicit(&h->n_set, memory_order_relaxed);
    if (n > 0 && !is_freed(&h->sets[n - 1])) {
        _Atomic uint32_t *list = &h->lists[h->sets[n - 1].hash % PLI_PSET_N_LIST];
        atomic_store_explicit(list, n, memory_order_release);
    }
}

// An entry with its name and its runs, which are in use already. Context: locked.
static void put(struct pli_pset_half *h, const char *name, struct pli_pset_entry *e)
{
    uint32_t at = atomic_load_explicit(&h->n_set, memory_order_relaxed);
    e->name_at = h->n_text;
    e->run_at = h->n_run;
    e->next = atomic_load_explicit(&h->lists[e->hash % PLI_PSET_N_LIST], memory_order_relaxed);
    memcpy(h->text + e->name_at, name, e->name_len + 1);
    h->n_text += e->name_len + 1;
    h->n_run += e->n_run;
    h->sets[at] = *e;
    atomic_store_explicit(&h->n_set, at + 1, memory_order_release);
    list_newest(h);
}

// Whether nobody needs an entry any more, also not the launcher, to tell other hosts.
static bool is_over(const struct pli_pset_entry *e)
{
    return is_freed(e) && !is_marked(e, PLI_PSET_TOLD);
}

// Copy what is still needed into the other half, and use that: false when all of it is needed. A
// writer that died meanwhile has changed nothing; the next one begins again. Context: locked.
static bool turn_over(struct pli_pset_table *t)
{
    uint32_t turn = turn_of(t), n_over = 0;
    struct pli_pset_half *from = half_at(t, turn), *to = half_at(t, turn / 2 * 2 + 2);
    for (uint32_t i = 0; i < n_set_of(from); i++) {
        n_over += is_over(&from->sets[i]);
    }
    if (n_over == 0) {
        return false;
    }
    atomic_store_explicit(&t->turn, turn | 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&to->n_set, 0, memory_order_relaxed);
    memset(to->lists, 0, sizeof to->lists);
    to->n_run = to->n_text = 0;
    struct pli_pset set;
    for (uint32_t i = 0; view(from, turn, i, &set); i++) {
        struct pli_pset_entry e = from->sets[i];
        if (!is_over(&e)) {
            memcpy(to->runs + to->n_run, set.runs, set.n_run * sizeof *set.runs);
            put(to, set.name, &e);
        }
    }
    atomic_store_explicit(&t->turn, turn / 2 * 2 + 2, memory_order_release);
    return true;
}

// Context: locked.
static enum pli_err append(struct pli_pset_table *t, const char *name, const uint32_t *indices,
                           uint32_t n, struct pli_pset_entry e)
{
    struct pli_pset_half *h;
    size_t len = strlen(name);
    do {
        h = half_at(t, turn_of(t));
        bool has_room = n_set_of(h) < PLI_PSET_N_SET && len + 1 <= PLI_PSET_N_TEXT - h->n_text;
        e.n_run = has_room ? write_runs(h->runs + h->n_run, PLI_PSET_N_RUN - h->n_run, indices, n)
                           : UINT32_MAX;
    } while (e.n_run == UINT32_MAX && turn_over(t));
    if (e.n_run == UINT32_MAX) {
        return pli_fail(PLI_ERR_NO_SPACE,
                        "there is no room for the process set '%s': the job has %u already", name,
                        n_set_of(h));
    }
    e.hash = hash_of(name);
    e.name_len = (uint32_t)len;
    e.n = n;
    e.serial = ++t->n_made;
    put(h, name, &e);
    return PLI_OK;
}

// A set that is freed leaves its list, so that it makes no search longer. One who reads there goes
// on to the next as before. Context: locked.
static void unlist_freed(struct pli_pset_table *t, struct pli_pset_entry *e)
{
    struct pli_pset_half *h = half_at(t, turn_of(t));
    uint32_t place = (uint32_t)(e - h->sets) + 1;
    if (!is_freed(e)) {
        return;
    }
    _Atomic uint32_t *list = &h->lists[e->hash % PLI_PSET_N_LIST];
    uint32_t at = atomic_load_explicit(list, memory_order_relaxed);
    if (at == place) {
        atomic_store_explicit(list, e->next, memory_order_release);
        return;
    }
    while (at > place && at <= PLI_PSET_N_SET && h->sets[at - 1].next != place) {
        at = h->sets[at - 1].next;
    }
    if (at > place && at <= PLI_PSET_N_SET) {
        h->sets[at - 1].next = e->next;
    }
}

static void tell_change(struct pli_pset_table *t)
{
    atomic_fetch_add_explicit(&t->n_change, 1, memory_order_relaxed);
}

uint32_t pli_pset_n_change(const struct pli_node *node)
{
    return atomic_load_explicit(&table_of(node)->n_change, memory_order_relaxed);
}

// The set of this name, NULL: there is none. Context: locked.
static struct pli_pset_entry *find_entry(struct pli_pset_table *t, const char *name,
                                         struct pli_pset *out)
{
    uint32_t turn = turn_of(t);
    struct pli_pset_half *h = half_at(t, turn);
    list_newest(h);
    uint32_t at = find_in(h, turn, name, out);
    return at != UINT32_MAX ? &h->sets[at] : NULL;
}

// Add a set, or take what is there for it, with these makers and marks besides. Context: locked.
static enum pli_err join(struct pli_pset_table *t, const char *name, const uint32_t *indices,
                         uint32_t n, struct pli_pset_entry e)
{
    struct pli_pset old;
    struct pli_pset_entry *there = find_entry(t, name, &old);
    if (there == NULL) {
        return append(t, name, indices, n, e);
    }
    if (!is_same(&old, indices, n)) {
        return pli_fail(PLI_ERR_NAME,
                        "the process set '%s' exists already, with %s%u process%s, and sets "
                        "never change",
                        name, old.n == n ? "other members: " : "", old.n, old.n == 1 ? "" : "es");
    }
    atomic_fetch_add_explicit(&there->n_maker, e.n_maker, memory_order_relaxed);
    atomic_fetch_or_explicit(&there->marks, e.marks, memory_order_relaxed);
    return PLI_OK;
}

enum pli_err pli_pset_add(struct pli_node *node, const char *name, const uint32_t *indices,
                          uint32_t n, uint32_t version, enum pli_pset_origin origin, uint32_t maker)
{
    struct pli_pset_table *t = table_of(node);
    struct pli_pset_entry e = {
        .origin = origin, .version = version, .maker = maker, .n_maker = 1
    };
    pli_pset_lock(node);
    enum pli_err err = join(t, name, indices, n, e);
    tell_change(t);
    pli_pset_unlock(node);
    return err;
}

enum pli_err pli_pset_hear(struct pli_node *node, const char *name, const uint32_t *indices,
                           uint32_t n, uint32_t version, uint32_t maker)
{
    struct pli_pset_entry e = {
        .origin = PLI_PSET_MADE, .version = version, .maker = maker, .marks = PLI_PSET_ELSEWHERE
    };
    pli_pset_lock(node);
    enum pli_err err = join(table_of(node), name, indices, n, e);
    pli_pset_unlock(node);
    return err;
}

enum pli_err pli_pset_release(struct pli_node *node, const char *name, const uint32_t *indices,
                              uint32_t n)
{
    struct pli_pset_table *t = table_of(node);
    struct pli_pset set;
    enum pli_err err = PLI_OK;
    pli_pset_lock(node);
    struct pli_pset_entry *e = find_entry(t, name, &set);
    if (e == NULL || (indices != NULL && !is_same(&set, indices, n))) {
        err = pli_fail(PLI_ERR_ARG, "there is no process set '%s' to free", name);
    } else if (e->origin != PLI_PSET_MADE) {
        err = pli_fail(PLI_ERR_ARG, "the process set '%s' cannot be freed: no program has made it",
                       name);
    } else if (n_maker_of(e) == 0) {
        err = pli_fail(PLI_ERR_ARG,
                       "the process set '%s' cannot be freed here: processes of this host have "
                       "freed it as often as they have made it",
                       name);
    } else {
        atomic_fetch_sub_explicit(&e->n_maker, 1, memory_order_relaxed);
        unlist_freed(t, e);
        tell_change(t);
    }
    pli_pset_unlock(node);
    return err;
}

void pli_pset_forget(struct pli_node *node, const char *name, const uint32_t *indices, uint32_t n)
{
    struct pli_pset_table *t = table_of(node);
    struct pli_pset set;
    pli_pset_lock(node);
    struct pli_pset_entry *e = find_entry(t, name, &set);
    if (e != NULL && is_same(&set, indices, n)) {
        atomic_fetch_and_explicit(&e->marks, ~(uint32_t)PLI_PSET_ELSEWHERE, memory_order_relaxed);
        unlist_freed(t, e);
    }
    pli_pset_unlock(node);
}

// Clear these marks of all sets, and, if so wished, their makers.
static void unmark_all(struct pli_node *node, uint32_t marks, bool has_makers)
{
    struct pli_pset_table *t = table_of(node);
    pli_pset_lock(node);
    struct pli_pset_half *h = half_at(t, turn_of(t));
    for (uint32_t i = 0; i < n_set_of(h); i++) {
        atomic_fetch_and_explicit(&h->sets[i].marks, ~marks, memory_order_relaxed);
        if (!has_makers) {
            atomic_store_explicit(&h->sets[i].n_maker, 0, memory_order_relaxed);
        }
    }
    tell_change(t);
    pli_pset_unlock(node);
}

void pli_pset_forget_all(struct pli_node *node)
{
    unmark_all(node, PLI_PSET_ELSEWHERE, true);
}

void pli_pset_retell(struct pli_node *node)
{
    unmark_all(node, PLI_PSET_TOLD, true);
}

void pli_pset_disown(struct pli_node *node)
{
    unmark_all(node, PLI_PSET_ELSEWHERE | PLI_PSET_TOLD, false);
}

bool pli_pset_next_news(struct pli_node *node, uint32_t *at, struct pli_pset *out,
                        bool *is_made_out)
{
    struct pli_pset_table *t = table_of(node);
    uint32_t turn = turn_of(t);
    struct pli_pset_half *h = half_at(t, turn);
    for (; view(h, turn, *at, out); ++*at) {
        struct pli_pset_entry *e = &h->sets[*at];
        *is_made_out = n_maker_of(e) > 0;
        if (e->origin == PLI_PSET_MADE && *is_made_out != is_marked(e, PLI_PSET_TOLD)) {
            atomic_fetch_xor_explicit(&e->marks, PLI_PSET_TOLD, memory_order_relaxed);
            ++*at;
            return true;
        }
    }
    return false;
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
