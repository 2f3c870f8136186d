// SPDX-License-Identifier: BSD-3-Clause
// Checks whether a rank can be restored from what CRIU has written of it: the images are there and
// whole, as are the files they refer to by name, and the rank was not about to end. CRIU checks
// none of that itself, and an image that fails at the restart is useless. The rank and the other
// ones stand still meanwhile, so the files are as they were.
#include "launcher/ckpt/ckpt_verify.h"

#include "launcher/base/say.h"
#include "launcher/ckpt/criu_image.h"
#include "launcher/ckpt/restart_files.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TREE_PID = 1, TREE_THREADS = 5 };
enum { CORE_TASK = 3, CORE_THREAD = 5, TASK_STATE = 1, TASK_SIGNALS = 10, THREAD_SIGNALS = 9 };
enum { TASK_ACTIONS = 15, ACTION_HANDLER = 1, QUEUE_SIGNAL = 1, SIGNAL_INFO = 1 };
enum { STATE_ALIVE = 1, STATE_STOPPED = 3 }; // others have ended, and have no memory
enum { MAP_PAGES = 1, PAGES_N = 5, PAGES_N_SHORT = 2, PAGES_IN_PARENT = 3, PAGES_FLAGS = 4 };
enum { IS_PRESENT = 4 };

static bool __attribute__((format(printf, 2, 3))) refuse(char *why, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, PLI_CKPT_WHY, fmt, ap);
    va_end(ap);
    return false;
}

// An image that consists of records and nothing else.
static bool open_whole(const char *dir, const char *name, struct pli_criu_image *out, char *why)
{
    struct pli_criu_bytes record;
    if (!pli_criu_image_open(dir, name, out)) {
        return refuse(why, "CRIU's image %s cannot be read: %s", name, strerror(errno));
    }
    struct pli_criu_bytes left = out->records;
    while (pli_criu_image_record(&left, &record)) {
    }
    if (left.at != left.end || out->records.at == out->records.end) {
        pli_criu_image_close(out);
        return refuse(why, "CRIU's image %s is cut short", name);
    }
    return true;
}

// What a rank's process does with a signal: 0 as usual, 1 it ignores it, else a handler. The list
// has all signals in order but two that no process may change.
static uint64_t action_of(struct pli_criu_bytes task, int sig)
{
    struct pli_criu_field f, handler;
    int at = 1;
    while (pli_criu_image_field(&task, &f)) {
        if (f.number != TASK_ACTIONS) {
            continue;
        }
        at += at == SIGKILL || at == SIGSTOP;
        if (at++ == sig) {
            return pli_criu_image_find(f.inner, ACTION_HANDLER, &handler) ? handler.value : 0;
        }
    }
    return 0;
}

static bool is_end(int sig)
{
    return sig == SIGTERM || sig == SIGINT || sig == SIGHUP || sig == SIGQUIT;
}

// A rank that was told to end, and had no time to, would end as soon as it is restored.
static bool check_queue(struct pli_criu_bytes task, struct pli_criu_bytes queue, char *why)
{
    struct pli_criu_field one, info;
    const uint64_t ignored = 1;
    while (pli_criu_image_field(&queue, &one)) {
        int32_t sig = 0;
        if (one.number == QUEUE_SIGNAL && pli_criu_image_find(one.inner, SIGNAL_INFO, &info) &&
            info.inner.end - info.inner.at >= (ptrdiff_t)sizeof sig) {
            memcpy(&sig, info.inner.at, sizeof sig); // the first word of siginfo_t
        }
        if (is_end(sig) && action_of(task, sig) != ignored) {
            return refuse(why, "it was told to end (signal %d, %s) meanwhile", (int)sig,
                          strsignal(sig));
        }
    }
    return true;
}

static bool check_signals(struct pli_criu_bytes task, struct pli_criu_bytes from, uint32_t number,
                          char *why)
{
    struct pli_criu_field queue;
    return !pli_criu_image_find(from, number, &queue) || check_queue(task, queue.inner, why);
}

// How many pages an entry of the list is about: CRIU 4.2 has a field of its own for it, and leaves
// the one that was there before empty.
static uint64_t pages_of(struct pli_criu_bytes entry)
{
    struct pli_criu_field f;
    return pli_criu_image_find(entry, PAGES_N, &f) || pli_criu_image_find(entry, PAGES_N_SHORT, &f)
               ? f.value
               : 0;
}

// The memory of a process: as many pages as the list says.
static bool check_pages(const char *dir, uint32_t pid, char *why)
{
    char name[64], path[PATH_MAX + 64];
    struct pli_criu_image map;
    struct pli_criu_bytes record;
    struct pli_criu_field f;
    struct stat st;
    uint64_t n_page = 0, id = 0, size = (uint64_t)sysconf(_SC_PAGESIZE);
    snprintf(name, sizeof name, "pagemap-%u.img", pid);
    if (!open_whole(dir, name, &map, why)) {
        return false;
    }
    if (pli_criu_image_record(&map.records, &record) &&
        pli_criu_image_find(record, MAP_PAGES, &f)) {
        id = f.value;
    }
    while (pli_criu_image_record(&map.records, &record)) {
        bool is_elsewhere = pli_criu_image_find(record, PAGES_IN_PARENT, &f) && f.value != 0;
        bool is_here = pli_criu_image_find(record, PAGES_FLAGS, &f) ? (f.value & IS_PRESENT) != 0
                                                                    : !is_elsewhere;
        n_page += is_here ? pages_of(record) : 0;
    }
    pli_criu_image_close(&map);
    snprintf(name, sizeof name, "pages-%" PRIu64 ".img", id);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (n_page > 0 && (stat(path, &st) != 0 || (uint64_t)st.st_size / size < n_page)) {
        return refuse(why, "CRIU's image %s has not the %" PRIu64 " pages of its memory", name,
                      n_page);
    }
    return true;
}

// Of a process or, beside it, a thread.
static bool check_core(const char *dir, uint32_t pid, bool is_process, char *why)
{
    char name[64];
    struct pli_criu_image core;
    struct pli_criu_bytes record;
    struct pli_criu_field task = { 0 }, thread, state = { 0 };
    snprintf(name, sizeof name, "core-%u.img", pid);
    if (!open_whole(dir, name, &core, why)) {
        return false;
    }
    bool is_good = pli_criu_image_record(&core.records, &record);
    if (is_good && pli_criu_image_find(record, CORE_TASK, &task)) {
        pli_criu_image_find(task.inner, TASK_STATE, &state);
        is_good = check_signals(task.inner, task.inner, TASK_SIGNALS, why);
    }
    if (is_good && pli_criu_image_find(record, CORE_THREAD, &thread)) {
        is_good = check_signals(task.inner, thread.inner, THREAD_SIGNALS, why);
    }
    pli_criu_image_close(&core);
    bool has_memory = state.value == STATE_ALIVE || state.value == STATE_STOPPED;
    if (!is_good || !is_process || !has_memory) {
        return is_good;
    }
    snprintf(name, sizeof name, "mm-%u.img", pid);
    is_good = open_whole(dir, name, &core, why);
    if (is_good) {
        pli_criu_image_close(&core);
    }
    return is_good && check_pages(dir, pid, why);
}

// A process with its threads, whose numbers are one after the other, or packed.
static bool check_process(const char *dir, struct pli_criu_bytes record, char *why)
{
    struct pli_criu_field f;
    bool is_good = pli_criu_image_find(record, TREE_PID, &f);
    uint32_t pid = is_good ? (uint32_t)f.value : 0;
    is_good = is_good ? check_core(dir, pid, true, why)
                      : refuse(why, "CRIU's image pstree.img makes no sense");
    while (is_good && pli_criu_image_field(&record, &f)) {
        if (f.number == TREE_THREADS && f.inner.at == NULL && f.value != pid) {
            is_good = check_core(dir, (uint32_t)f.value, false, why);
        }
    }
    return is_good;
}

static bool check_tree(const char *dir, char *why)
{
    struct pli_criu_image tree;
    struct pli_criu_bytes record;
    if (!open_whole(dir, "pstree.img", &tree, why)) {
        return false;
    }
    bool is_good = true;
    while (is_good && pli_criu_image_record(&tree.records, &record)) {
        is_good = check_process(dir, record, why);
    }
    pli_criu_image_close(&tree);
    return is_good;
}

// A file that had no name: its contents are here.
static bool check_ghosts(const char *dir, struct pli_criu_bytes remaps, char *why)
{
    struct pli_criu_bytes record;
    struct pli_criu_remap r;
    while (pli_criu_image_record(&remaps, &record)) {
        char path[PATH_MAX + 64];
        pli_criu_image_remap(record, &r);
        snprintf(path, sizeof path, "%s/ghost-file-%x.img", dir, r.ghost);
        if (r.is_ghost && access(path, R_OK) != 0) {
            return refuse(why, "CRIU's image ghost-file-%x.img cannot be read: %s", r.ghost,
                          strerror(errno));
        }
    }
    return true;
}

static bool check_files(const char *dir, char *why)
{
    struct pli_criu_image files, remaps = { 0 };
    struct pli_criu_bytes record;
    struct pli_criu_file *f = malloc(sizeof *f);
    struct stat st;
    bool is_good = f != NULL && open_whole(dir, "files.img", &files, why);
    if (!is_good) {
        free(f);
        return f != NULL ? false : refuse(why, "mpiexec has no memory for it");
    }
    if (pli_criu_image_open(dir, "remap-fpath.img", &remaps)) { // where a file had no name
        is_good = check_ghosts(dir, remaps.records, why);
    }
    while (is_good && pli_criu_image_record(&files.records, &record)) {
        if (pli_criu_image_file(record, f) && pli_restart_files_is_named(f) &&
            !pli_criu_image_is_remapped(remaps.records, f->id) && stat(f->name, &st) != 0) {
            is_good = refuse(why, "it has %.200s open, which cannot be found by its name: %s",
                             f->name, strerror(errno));
        }
    }
    free(f);
    pli_criu_image_close(&files);
    pli_criu_image_close(&remaps);
    return is_good;
}

bool pli_ckpt_verify(const char *dir, char *why)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/inventory.img", dir);
    if (access(path, R_OK) != 0) {
        return refuse(why, "CRIU's image inventory.img cannot be read: %s", strerror(errno));
    }
    return check_tree(dir, why) && check_files(dir, why);
}
