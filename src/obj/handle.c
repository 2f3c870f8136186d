// SPDX-License-Identifier: BSD-3-Clause
// The arena behind handles: reserved once, opened chunk by chunk, never given back.
#include "obj/handle.h"

#include "base/limits.h"
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>

// Memory that only an object of ours points to is in use: the leak checker must look here too.
static void show_to_checker(void *p, size_t len)
{
    __lsan_register_root_region(p, len);
}
#else
static void show_to_checker(void *p, size_t len)
{
    (void)p;
    (void)len;
}
#endif

enum { CHUNK = 16 * 1024, PIECE = 4096, N_CLASS = 64 };

uintptr_t pli_handle_base = UINTPTR_MAX;
_Atomic size_t pli_handle_used;

struct slot {
    struct pli_obj obj;
    struct slot *next; // while free
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static size_t reserved;
static struct slot *free_of[N_CLASS]; // guarded by guard; index: size in lines
static size_t n_free_of[N_CLASS];
static bool is_cut[N_CLASS];  // a size that has had slots before
static char *rest, *rest_end; // of a chunk that is given out in pieces
static _Atomic size_t n_live[PLI_N_KIND];

static const struct {
    const char *name, *null_name;
    uint16_t null;
} kinds[PLI_N_KIND] = {
    [PLI_KIND_NONE] = { "object", "NULL", 0 },
    [PLI_KIND_COMM] = { "communicator", "MPI_COMM_NULL", 0x100 },
    [PLI_KIND_GROUP] = { "group", "MPI_GROUP_NULL", 0x108 },
    [PLI_KIND_WIN] = { "window", "MPI_WIN_NULL", 0x110 },
    [PLI_KIND_FILE] = { "file", "MPI_FILE_NULL", 0x118 },
    [PLI_KIND_SESSION] = { "session", "MPI_SESSION_NULL", 0x120 },
    [PLI_KIND_MESSAGE] = { "message", "MPI_MESSAGE_NULL", 0x128 },
    [PLI_KIND_INFO] = { "info object", "MPI_INFO_NULL", 0x130 },
    [PLI_KIND_ERRHANDLER] = { "error handler", "MPI_ERRHANDLER_NULL", 0x140 },
    [PLI_KIND_REQUEST] = { "request", "MPI_REQUEST_NULL", 0x180 },
    [PLI_KIND_OP] = { "operation", "MPI_OP_NULL", 0x20 },
    [PLI_KIND_DATATYPE] = { "datatype", "MPI_DATATYPE_NULL", 0x200 },
    [PLI_KIND_LOST] = { "object of another process", "NULL", 0 },
    [PLI_KIND_BARRED] = { "communicator", "NULL", 0 },
};

const char *pli_handle_kind_name(enum pli_kind kind)
{
    return kinds[kind].name;
}

const char *pli_handle_null_name(const void *h)
{
    for (int k = 1; k < PLI_N_KIND; k++) {
        if (kinds[k].null == (uintptr_t)h && h != NULL) {
            return kinds[k].null_name;
        }
    }
    return NULL;
}

void *pli_handle_of(const void *obj, enum pli_kind kind)
{
    const struct pli_obj *o = obj;
    if (o == NULL) {
        return (void *)(uintptr_t)kinds[kind].null;
    }
    return o->value != 0 ? (void *)(uintptr_t)o->value : (void *)(uintptr_t)o;
}

// Reserve address space: no memory is used until a chunk is opened. Small limits get less.
static bool reserve(void)
{
    uint64_t share = pli_limits_share();
    for (size_t len = (size_t)64 << 30; len >= (size_t)64 << 20; len /= 4) {
        if (len > share && len / 4 >= (size_t)64 << 20) {
            continue;
        }
        void *p = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED) {
            reserved = len;
            pli_handle_base = (uintptr_t)p;
            return true;
        }
    }
    pli_log(PLI_ERROR, "cannot reserve address space for handles: %s", strerror(errno));
    return false;
}

// Open the next chunk; called with guard held.
static void *open_chunk(void)
{
    if (reserved == 0 && !reserve()) {
        return NULL;
    }
    size_t used = atomic_load_explicit(&pli_handle_used, memory_order_relaxed);
    if (used + CHUNK > reserved) {
        pli_log(PLI_ERROR, "more than %zu bytes of MPI objects are alive", used);
        return NULL;
    }
    void *p = (void *)(pli_handle_base + used);
    if (mprotect(p, CHUNK, PROT_READ | PROT_WRITE) != 0) {
        pli_log(PLI_ERROR, "cannot open memory for MPI objects: %s", strerror(errno));
        return NULL;
    }
    show_to_checker(p, CHUNK);
    atomic_store_explicit(&pli_handle_used, used + CHUNK, memory_order_release);
    return p;
}

void pli_handle_park(bool is_leaving)
{
    // A thread may be about to open one chunk more.
    size_t kept = atomic_load_explicit(&pli_handle_used, memory_order_relaxed) + 2 * CHUNK;
    void *tail = (void *)(pli_handle_base + kept);
    if (reserved <= kept) {
        return;
    }
    if (is_leaving) {
        munmap(tail, reserved - kept);
    } else if (mmap(tail, reserved - kept, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
                    0) != tail) {
        reserved = kept - 2 * CHUNK;
    }
}

static size_t lines_of(size_t size)
{
    return (size + PLI_HANDLE_ALIGN - 1) / PLI_HANDLE_ALIGN;
}

// Memory for slots: a page for a size that is new, since most programs need few objects of it and
// every page touched is time at start-up and memory in every rank; then whole chunks.
static char *more(size_t lines, size_t *len_out)
{
    bool is_first = !is_cut[lines] && lines * PLI_HANDLE_ALIGN <= PIECE / 4;
    is_cut[lines] = true;
    *len_out = is_first ? PIECE : CHUNK;
    if (!is_first) {
        return open_chunk();
    }
    if (rest == rest_end) {
        rest = open_chunk();
        rest_end = rest != NULL ? rest + CHUNK : NULL;
    }
    char *piece = rest;
    rest = piece != NULL ? piece + PIECE : NULL;
    return piece;
}

// Cut new memory into slots; called with guard held.
static struct slot *cut(size_t lines, struct slot *list)
{
    size_t len;
    char *chunk = more(lines, &len);
    size_t step = lines * PLI_HANDLE_ALIGN;
    for (size_t at = 0; chunk != NULL && at + step <= len; at += step) {
        struct slot *s = (struct slot *)(chunk + (len / step - 1) * step - at);
        s->next = list;
        list = s;
    }
    return list;
}

// Get more free slots of a size; called with guard held. False: no memory.
static bool add_free(size_t lines)
{
    struct slot *before = free_of[lines], *s = cut(lines, before);
    free_of[lines] = s;
    for (; s != before; s = s->next) {
        n_free_of[lines]++;
    }
    return free_of[lines] != before;
}

bool pli_handle_reserve(size_t size, size_t n)
{
    size_t lines = lines_of(size);
    bool has = lines < N_CLASS;
    pthread_mutex_lock(&guard);
    while (has && n_free_of[lines] < n) {
        has = add_free(lines);
    }
    pthread_mutex_unlock(&guard);
    return has;
}

void *pli_handle_create(enum pli_kind kind, size_t size)
{
    size_t lines = lines_of(size);
    if (lines >= N_CLASS) {
        return NULL;
    }
    pthread_mutex_lock(&guard);
    if (free_of[lines] == NULL) {
        add_free(lines);
    }
    struct slot *s = free_of[lines];
    if (s != NULL) {
        free_of[lines] = s->next;
        n_free_of[lines]--;
    }
    pthread_mutex_unlock(&guard);
    if (s == NULL) {
        return NULL;
    }
    memset(&s->obj + 1, 0, lines * PLI_HANDLE_ALIGN - sizeof s->obj);
    s->obj.value = 0;
    atomic_store_explicit(&s->obj.refs, 1, memory_order_relaxed);
    atomic_store_explicit(&s->obj.kind, (uint16_t)kind, memory_order_relaxed);
    atomic_fetch_add_explicit(&n_live[kind], 1, memory_order_relaxed);
    return s;
}

void pli_handle_destroy(void *obj, size_t size)
{
    struct slot *s = obj;
    if (s == NULL || s->obj.value != 0) {
        return;
    }
    atomic_fetch_sub_explicit(&n_live[s->obj.kind], 1, memory_order_relaxed);
    atomic_store_explicit(&s->obj.kind, PLI_KIND_NONE, memory_order_relaxed);
    pthread_mutex_lock(&guard);
    s->next = free_of[lines_of(size)];
    free_of[lines_of(size)] = s;
    n_free_of[lines_of(size)]++;
    pthread_mutex_unlock(&guard);
}

bool pli_handle_pool_grow(struct pli_handle_pool *p)
{
    pthread_mutex_lock(&guard);
    struct slot *list = cut(lines_of(p->size), (struct slot *)p->free);
    pthread_mutex_unlock(&guard);
    bool has_more = list != (struct slot *)p->free;
    for (struct slot *s = list; s != NULL && s != (struct slot *)p->free; s = s->next) {
        p->n_slot++;
    }
    p->free = (struct pli_obj *)list;
    return has_more;
}

size_t pli_handle_pool_live(const struct pli_handle_pool *p)
{
    size_t n = p->n_slot;
    for (const struct slot *s = (const struct slot *)p->free; s != NULL; s = s->next) {
        n--;
    }
    return n;
}

size_t pli_handle_live(enum pli_kind kind)
{
    return atomic_load_explicit(&n_live[kind], memory_order_relaxed);
}

int pli_handle_to_int(const void *h)
{
    uintptr_t v = (uintptr_t)h;
    if (v < PLI_N_PREDEFINED) {
        return (int)v;
    }
    return pli_handle_is_inside(v)
               ? (int)((v - pli_handle_base) / PLI_HANDLE_ALIGN) + PLI_N_PREDEFINED
               : -1;
}

void *pli_handle_from_int(int i, enum pli_kind kind)
{
    if (i >= 0 && i < PLI_N_PREDEFINED) {
        return (void *)(uintptr_t)i;
    }
    uintptr_t v = pli_handle_base + (uintptr_t)(i - PLI_N_PREDEFINED) * PLI_HANDLE_ALIGN;
    return i >= 0 && pli_handle_is_inside(v) ? (void *)v : (void *)(uintptr_t)kinds[kind].null;
}
