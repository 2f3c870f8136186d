// SPDX-License-Identifier: BSD-3-Clause
// Handles that the program made and must free; and memory that is freed while a request uses it.
#include "trace/check.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { N_BUCKET = 256 };

struct object {
    struct object *next;
    enum pli_check_kind kind;
    enum pli_check_fn function;
    const void *handle, *site;
    int n; // how often it was handed out
};

static struct object *buckets[N_BUCKET];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct object **slot(enum pli_check_kind kind, const void *handle)
{
    uint64_t h = ((uintptr_t)handle ^ (uint64_t)kind << 56) * 0x9e3779b97f4a7c15u;
    struct object **at = &buckets[(h >> 40) % N_BUCKET];
    while (*at != NULL && ((*at)->handle != handle || (*at)->kind != kind)) {
        at = &(*at)->next;
    }
    return at;
}

void pli_check_object_made(enum pli_check_kind kind, const void *handle, const void *site,
                           enum pli_check_fn function)
{
    struct pli_observe_process me;
    bool may_stay = kind == PLI_CHECK_INFO || kind == PLI_CHECK_ERRHANDLER; // beyond MPI_Finalize
    if ((uintptr_t)handle < 0x1000 ||                                       // predefined, or null
        (may_stay && !pli_check_lib.get_process(&me))) {
        return;
    }
    pthread_mutex_lock(&mutex);
    struct object **at = slot(kind, handle);
    if (*at == NULL && (*at = calloc(1, sizeof **at)) != NULL) {
        (*at)->kind = kind;
        (*at)->handle = handle;
    }
    if (*at != NULL) {
        (*at)->site = site;
        (*at)->function = function;
        (*at)->n++;
    }
    pthread_mutex_unlock(&mutex);
}

void pli_check_object_freed(enum pli_check_kind kind, const void *handle)
{
    pthread_mutex_lock(&mutex);
    struct object **at = slot(kind, handle), *o = *at;
    if (o != NULL && --o->n == 0) {
        *at = o->next;
        free(o);
    }
    pthread_mutex_unlock(&mutex);
}

void pli_check_object_finalize(void)
{
    static const struct {
        const char *kind, *noun, *call;
    } words[PLI_CHECK_N_KIND] = {
        [PLI_CHECK_COMM] = { "comm-leak", "communicator", "MPI_Comm_free" },
        [PLI_CHECK_GROUP] = { "group-leak", "group", "MPI_Group_free" },
        [PLI_CHECK_DATATYPE] = { "datatype-leak", "datatype", "MPI_Type_free" },
        [PLI_CHECK_OP] = { "op-leak", "operation", "MPI_Op_free" },
        [PLI_CHECK_INFO] = { "info-leak", "info object", "MPI_Info_free" },
        [PLI_CHECK_ERRHANDLER] = { "errhandler-leak", "error handler", "MPI_Errhandler_free" },
        [PLI_CHECK_WIN] = { "window-leak", "window", "MPI_Win_free" },
        [PLI_CHECK_FILE] = { "file-leak", "file", "MPI_File_close" },
    };
    for (int i = 0; i < N_BUCKET; i++) {
        struct object *o = buckets[i];
        while (o != NULL) {
            struct object *next = o->next;
            pli_check_say(words[o->kind].kind, o->site, 0,
                          "the %s that %s at %s made was never freed; call %s", words[o->kind].noun,
                          pli_check_name(o->function), pli_line_of(o->site), words[o->kind].call);
            free(o);
            o = next;
        }
        buckets[i] = NULL;
    }
}

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ && defined __GLIBC__
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

static void look(const void *p, size_t n, const void *site, const char *kind)
{
    if (!is_inside) {
        is_inside = true;
        pli_check_request_freed(p, n, site, kind);
        is_inside = false;
    }
}

static bool has_active(void)
{
    return atomic_load_explicit(&pli_check_n_active, memory_order_relaxed) > 0;
}

typedef void (*free_fn)(void *p);
static _Atomic(free_fn) next_free; // of the C library, or what the program is linked with instead
static atomic_bool has_size;       // its memory can be asked for its size

static void find_free(void)
{
    Dl_info its, others;
    void *f = dlsym(RTLD_NEXT, "free"), *size = dlsym(RTLD_DEFAULT, "malloc_usable_size");
    bool is_known = f != NULL && size != NULL && dladdr(f, &its) != 0 && dladdr(size, &others) != 0;
    atomic_store_explicit(&has_size, is_known && its.dli_fbase == others.dli_fbase,
                          memory_order_relaxed);
    atomic_store_explicit(&next_free, (free_fn)(uintptr_t)f, memory_order_release);
}

void free(void *p)
{
    static __thread bool is_asking __attribute__((tls_model("initial-exec")));
    free_fn f = atomic_load_explicit(&next_free, memory_order_acquire);
    if (__builtin_expect(f == NULL, 0)) {
        if (is_asking) { // what dlsym itself frees stays
            return;
        }
        is_asking = true;
        find_free();
        is_asking = false;
        f = atomic_load_explicit(&next_free, memory_order_relaxed);
    }
    if (__builtin_expect(has_active() && p != NULL, 0)) {
        bool is_sized = atomic_load_explicit(&has_size, memory_order_relaxed);
        look(p, is_sized ? malloc_usable_size(p) : 1, __builtin_return_address(0), "freed");
    }
    f(p);
}

int munmap(void *p, size_t n)
{
    if (__builtin_expect(has_active() && n > 0, 0)) {
        look(p, n, __builtin_return_address(0), "unmapped");
    }
    return (int)syscall(SYS_munmap, p, n);
}
#endif
