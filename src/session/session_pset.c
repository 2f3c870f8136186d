// SPDX-License-Identifier: BSD-3-Clause
// Finds process sets by name or number and makes groups of them. All of it is read from the node's
// memory, without a message and without a copy of the job's table.
#include "session/session_pset.h"

#include "boot/boot.h"
#include "boot/pset.h"
#include "msg/lane.h"
#include "obj/group_build.h"
#include "obj/info.h"
#include "obj/session.h"
#include "session/session_live.h"

#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const origins[] = {
    [PLI_PSET_HOST] = "host", [PLI_PSET_HARDWARE] = "hardware", [PLI_PSET_APP] = "app",
    [PLI_PSET_USER] = "user", [PLI_PSET_MADE] = "made",
};

static struct pli_node *this_node(void)
{
    return &pli_proc.boot->node;
}

void pli_session_pset_world(uint32_t version, char *name_out)
{
    snprintf(name_out, PLI_PSET_NAME, PLI_PSET_WORLD "@%u", version + 1);
}

// A set that was found, and copies of what may be in use for another one since.
struct found {
    struct pli_pset set;
    struct pli_pset_run run;   // of a built-in set, which is in no table
    struct pli_pset_run *runs; // of others; freed by free_found, as is the name
    char *name;
};

static void free_found(struct found *f)
{
    free(f->runs);
    free(f->name);
}

// Copy what was found in the node memory. is_kept_out: it is what it was.
static enum pli_err copy_found(struct found *f, bool *is_kept_out)
{
    f->name = strdup(f->set.name);
    f->runs = malloc(f->set.n_run * sizeof *f->runs + 1);
    if (f->name == NULL || f->runs == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a set of %u processes", f->set.n);
    }
    memcpy(f->runs, f->set.runs, f->set.n_run * sizeof *f->runs);
    *is_kept_out = pli_pset_is_kept(this_node(), &f->set);
    f->set.runs = f->runs;
    f->set.name = f->name;
    return PLI_OK;
}

// The world with which the job began, or of the processes that were spawned together.
static void first_world(struct found *f)
{
    const struct pli_boot *b = pli_proc.boot;
    f->run = (struct pli_pset_run){ b->version == 0 ? b->world : b->node.header->base, 1,
                                    b->version == 0
                                        ? b->n_world
                                        : b->node.header->n_world - b->node.header->n_extra };
    f->set = (struct pli_pset){ .name = PLI_PSET_WORLD,
                                .runs = &f->run,
                                .n_run = 1,
                                .n = f->run.n,
                                .version = 1,
                                .maker = UINT32_MAX };
}

// A version of the world: what is read of it may be in use for another one since.
static enum pli_err copy_world(uint32_t number, struct found *f)
{
    bool is_there = pli_pset_get_world(this_node(), number, &f->set);
    enum pli_err err = is_there ? copy_found(f, &is_there) : PLI_OK;
    if (err == PLI_OK && !is_there) {
        uint32_t oldest, newest;
        pli_pset_worlds(this_node(), &oldest, &newest);
        return pli_fail(PLI_ERR_ARG,
                        number < oldest
                            ? "the process set '" PLI_PSET_WORLD "@%u' is of a version that was "
                              "replaced long ago: those from " PLI_PSET_WORLD "@%u on are known"
                            : "there is no process set '" PLI_PSET_WORLD
                              "@%u': the newest version is " PLI_PSET_WORLD "@%u",
                        number,
                        number < oldest ? oldest
                        : newest > 0    ? newest
                                        : 1);
    }
    return err;
}

// A set of the table; false: there is none.
static enum pli_err copy_set(const char *name, struct found *f, bool *is_there_out)
{
    for (;;) {
        bool is_kept = false;
        *is_there_out = pli_pset_find(this_node(), name, &f->set);
        enum pli_err err = *is_there_out ? copy_found(f, &is_kept) : PLI_OK;
        if (err != PLI_OK || !*is_there_out || is_kept) {
            return err;
        }
        free_found(f);
    }
}

// One of the built-in sets: mpi://WORLD, its first version, mpi://SELF.
static bool find_builtin(const char *name, struct found *f)
{
    if (pli_pset_is_name(PLI_PSET_WORLD, name) || pli_pset_is_name(PLI_PSET_WORLD "@1", name)) {
        first_world(f);
        return true;
    }
    if (!pli_pset_is_name(PLI_PSET_SELF, name)) {
        return false;
    }
    f->run = (struct pli_pset_run){ pli_proc.boot->index, 1, 1 };
    f->set = (struct pli_pset){ .name = PLI_PSET_SELF,
                                .runs = &f->run,
                                .n_run = 1,
                                .n = 1,
                                .version = 1,
                                .maker = UINT32_MAX };
    return true;
}

// Replace the members of a set that follows the world by those that it has now.
static enum pli_err update_members(struct found *f)
{
    uint32_t *list, n;
    enum pli_err err = pli_session_live_list(&f->set, &list, &n);
    if (err != PLI_OK) {
        return err;
    }
    free(f->runs);
    f->runs = malloc(n * sizeof *f->runs + 1);
    for (uint32_t i = 0; i < n && f->runs != NULL; i++) {
        f->runs[i] = (struct pli_pset_run){ list[i], 1, 1 };
    }
    free(list);
    f->set.runs = f->runs;
    f->set.n = f->set.n_run = n;
    f->set.version = pli_session_live_version() + 1;
    return f->runs != NULL ? PLI_OK
                           : pli_fail(PLI_ERR_NOMEM, "no memory for a set of %u processes", n);
}

// The sets that this process has been shown, in that order: neither a number nor its name may
// change, also when the set itself is not kept any more. A set that is made again under the name of
// one that was freed has its number. [MPI-5.0 11.3.2]
struct shown {
    uint32_t world; // the number of a version of the world, 0: it is another set,
    char *name;     // of this name
};

static struct {
    pthread_mutex_t lock;
    struct shown *all;
    uint32_t n, cap;
    uint32_t next_world; // the first that was not looked at
    void *names;         // a tree of all names but those of versions of the world
    uint32_t *serials;   // of the sets of the table among them, ascending
    uint32_t n_serial;
} shown = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void keep(void *name)
{
    (void)name; // they are freed with the list
}

void pli_session_pset_clone(void)
{
    tdestroy(shown.names, keep);
    shown.names = NULL;
    for (uint32_t i = 0; i < shown.n; i++) {
        free(shown.all[i].name);
    }
    shown.n = shown.next_world = shown.n_serial = 0;
}

static bool was_shown(const char *name)
{
    pthread_mutex_lock(&shown.lock);
    bool was = tfind(name, &shown.names, compare_names) != NULL;
    pthread_mutex_unlock(&shown.lock);
    return was;
}

// Room for one more element; false: no memory.
static bool make_room(void **all, uint32_t n, uint32_t *cap, size_t each)
{
    if (n < *cap) {
        return true;
    }
    uint32_t more = *cap > 0 ? 2 * *cap : 16;
    void *larger = realloc(*all, more * each);
    if (larger != NULL) {
        *all = larger;
        *cap = more;
    }
    return larger != NULL;
}

static bool show_world(uint32_t number)
{
    if (!make_room((void **)&shown.all, shown.n, &shown.cap, sizeof *shown.all)) {
        return false;
    }
    shown.all[shown.n++] = (struct shown){ .world = number };
    return true;
}

static bool show_set(const char *name)
{
    if (tfind(name, &shown.names, compare_names) != NULL) {
        return true;
    }
    char *copy = make_room((void **)&shown.all, shown.n, &shown.cap, sizeof *shown.all)
                     ? strdup(name)
                     : NULL;
    if (copy == NULL || tsearch(copy, &shown.names, compare_names) == NULL) {
        free(copy);
        return false;
    }
    shown.all[shown.n++] = (struct shown){ .name = copy };
    return true;
}

// Show the sets of the table; those that were shown and are freed are left out of the serials.
// Context: locked.
static bool look_at_sets(void)
{
    struct pli_pset set;
    uint32_t was = 0, n_was = shown.n_serial, n = 0, cap = 0, *serials = NULL;
    bool is_good = true;
    pli_pset_lock(this_node());
    for (uint32_t at = 0; is_good && pli_pset_next(this_node(), &at, &set);) {
        while (was < n_was && shown.serials[was] < set.serial) {
            was++;
        }
        bool is_known = was < n_was && shown.serials[was] == set.serial;
        if (is_known || pli_session_live_has(&set, pli_proc.boot->index)) {
            is_good = make_room((void **)&serials, n, &cap, sizeof *serials) &&
                      (is_known || show_set(set.name));
            if (is_good) {
                serials[n++] = set.serial;
            }
        }
    }
    pli_pset_unlock(this_node());
    if (is_good) {
        free(shown.serials);
        shown.serials = serials;
        shown.n_serial = n;
    } else {
        free(serials);
    }
    return is_good;
}

// Show those that this process is a member of now. Context: locked.
static enum pli_err look(void)
{
    struct pli_pset set;
    uint32_t oldest, newest;
    bool is_good = look_at_sets();
    pli_pset_worlds(this_node(), &oldest, &newest);
    shown.next_world = shown.next_world < oldest ? oldest : shown.next_world;
    for (; is_good && newest != 0 && shown.next_world <= newest; shown.next_world++) {
        uint32_t number = shown.next_world;
        is_good = !pli_pset_get_world(this_node(), number, &set) ||
                  !pli_pset_has(&set, pli_proc.boot->index) || show_world(number);
        if (!is_good) {
            break;
        }
    }
    return is_good ? PLI_OK : pli_fail(PLI_ERR_NOMEM, "no memory for a list of process sets");
}

static enum pli_err not_there(const char *name)
{
    char near[PLI_PSET_NAME];
    if (was_shown(name)) {
        return pli_fail(PLI_ERR_ARG, "the process set '%s' was freed", name);
    }
    bool has_near = pli_pset_nearest(this_node(), name, near);
    return pli_fail(PLI_ERR_ARG,
                    "there is no process set '%s'%s%s%s; MPI_Session_get_nth_pset "
                    "names those of this process",
                    name, has_near ? "; did you mean '" : "", has_near ? near : "",
                    has_near ? "'?" : "");
}

static enum pli_err find(const char *name, struct found *f)
{
    enum pli_err err = pli_pset_check_name(name, true);
    f->runs = NULL;
    f->name = NULL;
    if (err != PLI_OK) {
        return err;
    }
    const struct pli_boot *b = pli_proc.boot;
    bool is_world =
        pli_pset_is_name(PLI_PSET_WORLD, name) || pli_pset_is_name(PLI_PSET_WORLD "@1", name);
    if (is_world && b->row < b->node.header->n_row && b->index >= b->n_world) {
        return pli_fail(PLI_ERR_OTHER,
                        "this process has no MPI rank: only the first UPC thread of its group has "
                        "one; mpiexec --ranks-per-proc=N gives one to every thread");
    }
    uint32_t version = pli_pset_is_name(PLI_PSET_WORLD, name) ? pli_session_live_version() : 0;
    uint32_t number = version > 0 ? version + 1 : pli_pset_world_number(name);
    if (number != 0) {
        return copy_world(number, f);
    }
    if (find_builtin(name, f)) {
        return PLI_OK;
    }
    bool is_there;
    err = copy_set(name, f, &is_there);
    if (err != PLI_OK || !is_there) {
        return err != PLI_OK ? err : not_there(name);
    }
    return pli_session_live_follows(&f->set) ? update_members(f) : PLI_OK;
}

enum pli_err pli_session_pset_count(struct pli_session *s, struct pli_info *info, int *n_out)
{
    (void)s;
    (void)info; // the standard defines no hints
    pthread_mutex_lock(&shown.lock);
    enum pli_err err = look();
    if (err == PLI_OK) {
        *n_out = 2 + (int)shown.n;
    }
    pthread_mutex_unlock(&shown.lock);
    return err;
}

static enum pli_err copy_name(const char *name, int *len, char *name_out)
{
    int need = (int)strlen(name) + 1;
    if (*len > 0 && name_out == NULL) {
        return pli_fail(PLI_ERR_ARG, "argument pset_name is NULL, but pset_len is %d", *len);
    }
    if (*len > 0) {
        snprintf(name_out, (size_t)*len, "%s", name);
    }
    *len = need;
    return PLI_OK;
}

static void name_shown(uint32_t n, char *name_out)
{
    pthread_mutex_lock(&shown.lock);
    struct shown one = shown.all[n]; // names are never freed
    pthread_mutex_unlock(&shown.lock);
    if (one.world != 0) {
        pli_session_pset_world(one.world - 1, name_out);
    } else {
        snprintf(name_out, PLI_PSET_NAME, "%s", one.name);
    }
}

enum pli_err pli_session_pset_nth(struct pli_session *s, struct pli_info *info, int n, int *len,
                                  char *name_out)
{
    char name[PLI_PSET_NAME] = "";
    int n_set;
    if (len == NULL || *len < 0) {
        return len == NULL
                   ? pli_fail(PLI_ERR_ARG, "argument pset_len is NULL")
                   : pli_fail(PLI_ERR_ARG, "argument pset_len is %d, but must be 0 or more", *len);
    }
    if (n == 0 || n == 1) {
        return copy_name(n == 0 ? PLI_PSET_WORLD : PLI_PSET_SELF, len, name_out);
    }
    enum pli_err err = pli_session_pset_count(s, info, &n_set);
    if (err != PLI_OK) {
        return err;
    }
    if (n < 0 || n >= n_set) {
        return pli_fail(PLI_ERR_ARG, "argument n is %d, but there are %d process sets: 0 to %d", n,
                        n_set, n_set - 1);
    }
    name_shown((uint32_t)n - 2, name);
    return copy_name(name, len, name_out);
}

// The length of the name without the version: "io@3" is the third version of "io".
static size_t stem_of(const char *name)
{
    const char *at = strrchr(name, '@');
    return at != NULL && at[1] != '\0' && at[1 + strspn(at + 1, "0123456789")] == '\0'
               ? (size_t)(at - name)
               : strlen(name);
}

uint32_t pli_session_pset_newest(const char *name, char *name_out)
{
    uint32_t version = 0, oldest, newest;
    size_t len = stem_of(name);
    struct pli_pset set;
    if (len == strlen(PLI_PSET_WORLD) && strncasecmp(name, PLI_PSET_WORLD, len) == 0) {
        pli_pset_worlds(this_node(), &oldest, &newest);
        if (newest > 0) {
            pli_session_pset_world(newest - 1, name_out);
        }
        return newest;
    }
    pli_pset_lock(this_node());
    for (uint32_t at = 0; pli_pset_next(this_node(), &at, &set);) {
        if (set.version > version && strncmp(set.name, name, len) == 0 &&
            stem_of(set.name) == len) {
            version = set.version;
            snprintf(name_out, PLI_PSET_NAME, "%s", set.name);
        }
    }
    pli_pset_unlock(this_node());
    return version;
}

static enum pli_err describe(const struct found *f, struct pli_info *info)
{
    const struct pli_pset *set = &f->set;
    char size[16], version[16], latest[PLI_PSET_NAME];
    snprintf(size, sizeof size, "%u", set->n);
    snprintf(version, sizeof version, "%u", set->version);
    if (pli_session_pset_newest(set->name, latest) == 0) {
        snprintf(latest, sizeof latest, "%s", set->name);
    }
    const char *origin = set->runs == &f->run                             ? "mpi"
                         : set->origin < sizeof origins / sizeof *origins ? origins[set->origin]
                                                                          : "";
    const char *pairs[][2] = {
        { "mpi_size", size },
        { "pliant_version", version },
        { "pliant_latest", latest },
        { "pliant_origin", origin },
        { "pliant_member", pli_pset_has(set, pli_proc.boot->index) ? "true" : "false" },
    };
    enum pli_err err = PLI_OK;
    for (size_t i = 0; err == PLI_OK && i < sizeof pairs / sizeof *pairs; i++) {
        err = pli_info_set(info, pairs[i][0], pairs[i][1]);
    }
    return err;
}

enum pli_err pli_session_pset_info(struct pli_session *s, const char *name, struct pli_info **out)
{
    struct found f;
    struct pli_info *info = NULL;
    (void)s;
    enum pli_err err = find(name, &f);
    err = err == PLI_OK ? pli_info_create(&info) : err;
    err = err == PLI_OK ? describe(&f, info) : err;
    free_found(&f);
    if (err != PLI_OK) {
        pli_info_release(info);
        return err;
    }
    *out = info;
    return PLI_OK;
}

enum pli_err pli_session_pset_list(const char *name, uint32_t **list_out, uint32_t *n_out)
{
    struct found f;
    enum pli_err err = find(name, &f);
    uint32_t *list = err == PLI_OK ? malloc(f.set.n * sizeof *list + 1) : NULL;
    if (err == PLI_OK && list == NULL) {
        err = pli_fail(PLI_ERR_NOMEM, "no memory for a set of %u processes", f.set.n);
    }
    if (err == PLI_OK) {
        pli_pset_list(&f.set, list);
        *list_out = list;
        *n_out = f.set.n;
    }
    free_found(&f);
    return err;
}

enum pli_err pli_session_pset_group(struct pli_session *s, const char *name, struct pli_group **out)
{
    struct found f;
    struct pli_group_build b;
    enum pli_err err = find(name, &f);
    if (err == PLI_OK) {
        pli_group_build_init(&b);
        for (uint32_t k = 0; k < f.set.n_run; k++) {
            struct pli_group_run r = { .first = { pli_proc.boot->job | f.set.runs[k].first, 0 },
                                       .proc_step = (int32_t)f.set.runs[k].step,
                                       .n = (int32_t)f.set.runs[k].n };
            pli_group_build_add(&b, r);
        }
        err = pli_group_build_finish(&b, s, (struct pli_id){ pli_proc.id, 0 }, out);
    }
    free_found(&f);
    return err;
}
