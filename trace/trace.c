// SPDX-License-Identifier: BSD-3-Clause
// Records MPI calls into the memory that mpiexec made: counts by call site and by peer for
// --profile, a ring of events for --timeline. A thread writes its own slot alone: there is no lock.
#include "trace/trace.h"

#include "trace/preload.h"
#include "trace/trace_sample.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void *pli_trace_next[PLI_TRACE_N_SYM], *pli_trace_next_std[PLI_TRACE_N_SYM];
__thread struct pli_trace_thread *pli_trace_self __attribute__((tls_model("initial-exec")));
__thread struct pli_trace_std pli_trace_std __attribute__((tls_model("initial-exec")));
bool pli_trace_is_counter, pli_trace_is_foreign;
uintptr_t pli_trace_fortran, pli_trace_fortran_end;
_Atomic uint32_t pli_trace_generation;

#define PLI_TRACE_FN(name, text, kind) PLI_TRACE_##kind,
const uint8_t pli_trace_classes[PLI_TRACE_N_FN] = {
#include "trace/functions.def"
};
#undef PLI_TRACE_FN
#define PLI_TRACE_FN(name, text, kind)
#define PLI_TRACE_SYM(name, text) text,
static const char *const symbols[PLI_TRACE_N_SYM] = {
#include "trace/functions.def"
};
#undef PLI_TRACE_FN
#undef PLI_TRACE_SYM

static struct {
    struct pli_trace_header *header; // NULL: nothing is recorded
    int fd;
    ino_t inode; // of the memory: a program may have closed the descriptor and opened another file
    bool (*get_process)(struct pli_observe_process *out);
    bool (*get_comm)(MPI_Comm comm, struct pli_observe_comm *out);
    uint32_t (*get_peer)(MPI_Comm comm, int rank, uint32_t *ep_out);
    int (*type_size)(MPI_Datatype type, MPI_Count *size);
    pthread_once_t once;
    pthread_key_t key;
    pthread_mutex_t lock;             // of the list
    struct pli_trace_thread *threads; // that have slots
} state = { .fd = -1, .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

// PLIANT_BOOT is gone from the environment after MPI_Init, so it is read when the program starts.
__attribute__((constructor)) static void read_environment(void)
{
    const char *boot = getenv("PLIANT_BOOT");
    const char *at = boot != NULL ? strstr(boot, ",trace=") : NULL;
    struct stat st;
    state.fd = at != NULL ? atoi(at + 7) : -1;
    state.inode = state.fd >= 0 && fstat(state.fd, &st) == 0 ? st.st_ino : 0;
}

static bool is_open(void)
{
    struct stat st;
    return state.fd >= 0 && fstat(state.fd, &st) == 0 && st.st_ino == state.inode;
}

static void map_header(void)
{
    struct pli_trace_header *h = MAP_FAILED;
    if (is_open()) {
        h = mmap(NULL, sizeof *h, PROT_READ | PROT_WRITE, MAP_SHARED, state.fd, 0);
    }
    if (h == MAP_FAILED || h->magic != PLI_TRACE_MAGIC || h->version != PLI_TRACE_VERSION) {
        return;
    }
    pli_trace_is_counter = (h->flags & PLI_TRACE_COUNTER) != 0;
    state.header = h;
}

// The Fortran library, once it is loaded.
static int find_fortran(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    if (strstr(info->dlpi_name, "/libpliant_mpifort.so") == NULL) {
        return 0;
    }
    pli_trace_fortran = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t end = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && end > pli_trace_fortran_end) {
            pli_trace_fortran_end = end; // a distance from the start
        }
    }
    return 1;
}

static void resolve(void)
{
    char text[128];
    void *library = dlopen("libmpi_abi.so.1", RTLD_LAZY | RTLD_NOLOAD);
    pli_preload_open();
    pli_trace_is_foreign = library != NULL && pli_preload_is_foreign();
    for (int i = 0; i < PLI_TRACE_N_SYM; i++) {
        snprintf(text, sizeof text, "P%s", symbols[i]);
        void *mpi = dlsym(library != NULL ? library : RTLD_NEXT, text);
        pli_trace_next[i] = pli_trace_is_foreign ? pli_preload_next_foreign(symbols[i])
                                                 : pli_preload_next(symbols[i], mpi);
        snprintf(text, sizeof text, "pli_std_%s", symbols[i]);
        pli_trace_next_std[i] = pli_preload_next(text, mpi);
    }
    if (library == NULL) { // another MPI: its calls pass
        return;
    }
    *(void **)&state.get_process = dlsym(library, "pli_observe_get_process");
    *(void **)&state.get_comm = dlsym(library, "pli_observe_get_comm");
    *(void **)&state.get_peer = dlsym(library, "pli_observe_get_peer");
    *(void **)&state.type_size = dlsym(library, "PMPI_Type_size_c");
    dl_iterate_phdr(find_fortran, NULL);
    if (state.get_process != NULL && state.get_comm != NULL && state.get_peer != NULL) {
        map_header();
    }
    void (*note_looks)(void (*)(uint32_t));
    *(void **)&note_looks = dlsym(library, "pli_observe_note_looks");
    // Calls that are not timed have no frame, which the libraries that come next need.
    if (state.header != NULL && state.header->n_event == 0 && note_looks != NULL &&
        !pli_preload_has_next()) {
        note_looks(pli_trace_sample_looked);
        pli_trace_sample_open(state.header);
    }
}

static void end_thread(void *arg)
{
    pthread_mutex_lock(&state.lock);
    struct pli_trace_thread **at = &state.threads;
    while (*at != NULL && *at != arg) {
        at = &(*at)->next;
    }
    *at = *at != NULL ? (*at)->next : NULL;
    pthread_mutex_unlock(&state.lock);
    free(arg);
}

static void prepare(void)
{
    pthread_key_create(&state.key, end_thread);
    resolve();
}

static void identify(struct pli_trace_slot *s)
{
    struct pli_observe_process p;
    if (state.get_process(&p)) {
        s->index = p.index;
        s->world = p.world;
        s->rank = p.rank;
        s->size = p.size;
    }
}

// Map the next slot, at this address if there is one.
static struct pli_trace_slot *map_slot(struct pli_trace_slot *at)
{
    struct pli_trace_header *h = state.header;
    uint32_t i = atomic_fetch_add(&h->n_used, 1);
    void *p = MAP_FAILED;
    if (i < h->n_slot && is_open()) {
        p = mmap(at, h->slot_bytes, PROT_READ | PROT_WRITE,
                 MAP_SHARED | (at != NULL ? MAP_FIXED : 0), state.fd,
                 (off_t)(h->slots_at + i * h->slot_bytes));
    }
    return p != MAP_FAILED ? p : NULL;
}

static void begin_slot(struct pli_trace_slot *s, uint32_t tid, uint64_t begin)
{
    s->pid = (uint32_t)getpid();
    s->tid = tid;
    s->index = s->ep = PLI_TRACE_NOBODY;
    for (int k = 0; k < PLI_TRACE_N_PEER; k++) {
        s->peers[k].index = PLI_TRACE_NOBODY;
    }
    identify(s);
    s->begin = begin;
    atomic_store(&s->is_used, 1);
}

static struct pli_trace_thread *open_slot(void)
{
    struct pli_trace_thread *t = calloc(1, sizeof *t);
    struct pli_trace_slot *s = t != NULL ? map_slot(NULL) : NULL;
    if (s == NULL) {
        free(t);
        return NULL;
    }
    t->slot = s;
    t->sampled = s->sampled;
    begin_slot(s, (uint32_t)syscall(SYS_gettid), pli_trace_ticks());
    if (state.header->n_event > 0) {
        t->ring = (struct pli_trace_event *)(s + 1);
        t->mask = state.header->n_event - 1;
    }
    pthread_setspecific(state.key, t);
    pthread_mutex_lock(&state.lock);
    t->next = state.threads;
    state.threads = t;
    pthread_mutex_unlock(&state.lock);
    return t;
}

// What a clone of MPI_Fork has mapped are the slots of its parent. Each of its threads, of which
// only the caller is in MPI, gets one of its own in that place. Phases that are open begin anew.
static void leave_parent(struct pli_trace_thread *self, uint64_t begin)
{
    pthread_mutex_lock(&state.lock);
    for (struct pli_trace_thread *t = state.threads; t != NULL; t = t->next) {
        uint32_t n_phase = t->slot->n_phase;
        uint32_t tid = t == self ? (uint32_t)syscall(SYS_gettid) : t->slot->tid;
        struct pli_trace_phase phases[PLI_TRACE_N_PHASE];
        memcpy(phases, t->slot->phases, sizeof phases);
        if (map_slot(t->slot) == NULL) { // what it does is not recorded
            mmap(t->slot, state.header->slot_bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        }
        for (uint32_t i = 0; i < n_phase && i < PLI_TRACE_N_PHASE; i++) {
            memcpy(t->slot->phases[i].name, phases[i].name, sizeof phases[i].name);
        }
        t->slot->n_phase = n_phase;
        for (uint32_t i = 0; i < t->n_phase && i < PLI_TRACE_DEPTH; i++) {
            t->phases[i].begin = begin;
            t->phases[i].ticks_mpi = 0;
        }
        begin_slot(t->slot, tid, begin);
    }
    pthread_mutex_unlock(&state.lock);
}

struct pli_trace_thread *pli_trace_attach(void *site, bool is_std)
{
    static __thread bool is_tried __attribute__((tls_model("initial-exec")));
    pthread_once(&state.once, prepare);
    if (pli_trace_is_foreign != is_std) {
        pli_trace_std.outer = is_std ? NULL : site;
        return NULL;
    }
    if (state.header == NULL || is_tried) {
        return NULL;
    }
    is_tried = true;
    struct pli_trace_thread *self = open_slot();
    if (is_std) {
        pli_trace_std.self = self;
    } else {
        pli_trace_self = self;
    }
    return self;
}

static uint32_t find_module(struct pli_trace_slot *s, const char *path)
{
    uint32_t i = 0;
    while (i < s->n_module && strcmp(s->modules[i].path, path) != 0) {
        i++;
    }
    if (i == s->n_module && i < PLI_TRACE_N_MODULE && strlen(path) < PLI_TRACE_PATH) {
        strcpy(s->modules[i].path, path);
        s->n_module = i + 1;
    }
    return i < s->n_module ? i : PLI_TRACE_NOBODY;
}

// The name of a program as its loader has it may be relative to a directory that it has left.
static void name_site(struct pli_trace_slot *s, struct pli_trace_site *to)
{
    Dl_info it;
    struct link_map *map = NULL;
    to->module = PLI_TRACE_NOBODY;
    if (dladdr1((void *)(uintptr_t)to->address, &it, (void **)&map, RTLD_DL_LINKMAP) == 0) {
        return;
    }
    char path[PLI_TRACE_PATH] = "";
    if (map == NULL || map->l_name == NULL || map->l_name[0] == '\0') {
        ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
        path[n > 0 ? n : 0] = '\0';
    } else if (strlen(it.dli_fname) < sizeof path) {
        strcpy(path, it.dli_fname);
    }
    to->module = find_module(s, path);
    to->place = to->address - (map != NULL ? map->l_addr : 0);
}

static struct pli_trace_site *new_site(struct pli_trace_slot *s, enum pli_trace_fn function,
                                       uint64_t address)
{
    uint32_t at = pli_trace_hash(address), i = 0;
    for (; i < PLI_TRACE_N_SITE - 1; i++) {
        struct pli_trace_site *e = &s->sites[(at + i) % (PLI_TRACE_N_SITE - 1)];
        if (e->address == address && e->function == function) {
            return e;
        }
        if (e->address == 0) {
            e->function = (uint16_t)function;
            e->address = address;
            name_site(s, e);
            return e;
        }
    }
    return &s->sites[PLI_TRACE_N_SITE - 1];
}

static inline struct pli_trace_site *find_site(struct pli_trace_slot *s, enum pli_trace_fn function,
                                               const void *site)
{
    uint64_t address = (uintptr_t)site;
    struct pli_trace_site *e = &s->sites[pli_trace_hash(address) % (PLI_TRACE_N_SITE - 1)];
    return __builtin_expect(e->address == address && e->function == function, 1)
               ? e
               : new_site(s, function, address);
}

struct pli_trace_site *pli_trace_count(struct pli_trace_thread *self, enum pli_trace_fn function,
                                       const void *site, uint64_t begin, uint64_t end)
{
    struct pli_trace_site *e = find_site(self->slot, function, site);
    uint64_t ticks = end - begin;
    e->n++;
    e->ticks += ticks;
    e->longest = ticks > e->longest ? ticks : e->longest;
    self->slot->ticks_mpi += ticks;
    self->slot->in_call = 0;
    self->slot->last = end;
    self->closed &= ~(uintptr_t)PLI_TRACE_INSIDE;
    return e;
}

static struct pli_trace_comm *find_comm(struct pli_trace_thread *self, MPI_Comm handle)
{
    struct pli_trace_comm *c = &self->comms[pli_trace_hash((uintptr_t)handle) % PLI_TRACE_N_COMM];
    uint32_t now = atomic_load_explicit(&pli_trace_generation, memory_order_relaxed);
    if (__builtin_expect(c->handle == handle && c->generation == now, 1)) {
        return c;
    }
    struct pli_observe_comm it;
    if (!state.get_comm(handle, &it)) {
        return NULL;
    }
    uint32_t n = c->handle == handle && c->it.context == it.context ? c->n_coll : 0;
    *c = (struct pli_trace_comm){ handle, now, n, it };
    // Who calls MPI_Comm_create_endpoints has handles of several, and is the first of them.
    bool is_main = self->slot->tid == self->slot->pid;
    if (self->slot->ep == PLI_TRACE_NOBODY || (self->slot->ep == 0 && it.my_ep != 0 && !is_main)) {
        self->slot->ep = it.my_ep;
    }
    return c;
}

static uint64_t size_of(struct pli_trace_thread *self, MPI_Datatype handle)
{
    struct pli_trace_type *t = &self->types[pli_trace_hash((uintptr_t)handle) % PLI_TRACE_N_TYPE];
    uint32_t now = atomic_load_explicit(&pli_trace_generation, memory_order_relaxed);
    if (__builtin_expect(t->handle != handle || t->generation != now, 0)) {
        MPI_Count size = 0;
        bool is_known = handle != MPI_DATATYPE_NULL && state.type_size != NULL &&
                        state.type_size(handle, &size) == MPI_SUCCESS;
        *t = (struct pli_trace_type){ handle, now, is_known ? (uint32_t)size : 0 };
    }
    return t->size;
}

static uint32_t find_peer(const struct pli_trace_comm *c, int rank, uint32_t *ep_out)
{
    *ep_out = 0;
    if (rank < 0 || rank >= c->it.n_peer) {
        return PLI_TRACE_NOBODY;
    }
    if (__builtin_expect(!c->it.is_run, 0)) {
        return state.get_peer(c->handle, rank, ep_out);
    }
    *ep_out = c->it.first_ep + (uint32_t)(rank * c->it.ep_step);
    return c->it.first + (uint32_t)(rank * c->it.step);
}

static struct pli_trace_peer *peer_entry(struct pli_trace_slot *s, uint32_t index, uint32_t ep)
{
    uint32_t at = pli_trace_hash((uint64_t)index << 16 | ep);
    for (uint32_t i = 0; i < PLI_TRACE_N_PEER; i++) {
        struct pli_trace_peer *p = &s->peers[(at + i) % PLI_TRACE_N_PEER];
        if (p->index == PLI_TRACE_NOBODY) {
            p->ep = ep;
            p->index = index;
        }
        if (p->index == index && p->ep == ep) {
            return p;
        }
    }
    return NULL;
}

uint16_t pli_trace_peer_number(struct pli_trace_thread *self, uint32_t index, uint32_t ep)
{
    struct pli_trace_slot *s = self->slot;
    struct pli_trace_peer *p = index != PLI_TRACE_NOBODY ? peer_entry(s, index, ep) : NULL;
    return p != NULL ? (uint16_t)(p - s->peers) : PLI_TRACE_N_PEER;
}

static void count_sent(struct pli_trace_slot *s, uint32_t index, uint32_t ep, uint64_t bytes)
{
    s->bins[pli_trace_bin(bytes)]++;
    struct pli_trace_peer *p = index != PLI_TRACE_NOBODY ? peer_entry(s, index, ep) : NULL;
    if (p != NULL) {
        p->n_sent++;
        p->bytes_sent += bytes;
    }
}

static void count_waited(struct pli_trace_slot *s, uint32_t index, uint32_t ep, uint64_t ticks)
{
    s->ticks_waited += ticks;
    struct pli_trace_peer *p = index != PLI_TRACE_NOBODY ? peer_entry(s, index, ep) : NULL;
    if (p != NULL) {
        p->ticks_waited += ticks;
    }
}

void pli_trace_put(struct pli_trace_thread *self, const struct pli_trace_event *e)
{
    if (self->ring != NULL) {
        uint64_t n = atomic_load_explicit(&self->slot->n_event, memory_order_relaxed);
        self->ring[n & self->mask] = *e;
        atomic_store_explicit(&self->slot->n_event, n + 1, memory_order_release);
    }
}

struct pli_trace_request *pli_trace_find(struct pli_trace_thread *self, MPI_Request handle)
{
    uint32_t at = pli_trace_hash((uintptr_t)handle);
    for (uint32_t i = 0; i < 8; i++) {
        struct pli_trace_request *r = &self->requests[(at + i) % PLI_TRACE_N_REQUEST];
        if (r->handle == handle) {
            return r;
        }
    }
    return NULL;
}

void pli_trace_forget(struct pli_trace_thread *self, struct pli_trace_request *r)
{
    (void)self;
    if (!r->is_persistent) {
        r->handle = NULL;
    }
}

static struct pli_trace_request *keep_request(struct pli_trace_thread *self, MPI_Request handle)
{
    uint32_t at = pli_trace_hash((uintptr_t)handle);
    struct pli_trace_request *r = pli_trace_find(self, handle);
    for (uint32_t i = 0; i < 8 && r == NULL; i++) {
        struct pli_trace_request *e = &self->requests[(at + i) % PLI_TRACE_N_REQUEST];
        r = e->handle == NULL ? e : NULL;
    }
    if (r == NULL) { // one that was completed by another thread, or in a way that is not seen here
        r = &self->requests[at % PLI_TRACE_N_REQUEST];
    }
    r->handle = handle;
    r->serial = ++self->n_serial;
    return r;
}

void pli_trace_blame(struct pli_trace_thread *self, struct pli_trace_request *r,
                     const MPI_Status *status, uint64_t ticks)
{
    if ((r->flags & PLI_TRACE_IS_RECV) != 0 && status != NULL && r->comm != NULL) {
        const struct pli_trace_comm *c = find_comm(self, r->comm);
        uint32_t ep = 0;
        r->peer = c != NULL ? find_peer(c, status->MPI_SOURCE, &ep) : PLI_TRACE_NOBODY;
        r->peer_ep = (uint16_t)ep;
        r->tag = status->MPI_TAG;
    }
    if (ticks > 0) {
        count_waited(self->slot, r->peer, r->peer_ep, ticks);
    }
}

static uint8_t flags_of(enum pli_trace_class kind, enum pli_trace_fn function)
{
    switch (function) { // the persistent ones are sent when they are started
    case PLI_TRACE_FN_Send_init:
    case PLI_TRACE_FN_Bsend_init:
    case PLI_TRACE_FN_Ssend_init:
    case PLI_TRACE_FN_Rsend_init:
        return PLI_TRACE_IS_SEND;
    case PLI_TRACE_FN_Recv_init:
        return PLI_TRACE_IS_RECV;
    default:
        return kind == PLI_TRACE_SEND   ? PLI_TRACE_IS_SEND
               : kind == PLI_TRACE_RECV ? PLI_TRACE_IS_RECV
               : kind == PLI_TRACE_BOTH ? PLI_TRACE_IS_BOTH
                                        : 0;
    }
}

// Who is at the other side: the rank that the call named, or the one the status has.
static void fill_peer(struct pli_trace_thread *self, const struct pli_trace_args *a,
                      enum pli_trace_class kind, struct pli_trace_event *e)
{
    const struct pli_trace_comm *c = find_comm(self, a->comm);
    if (c == NULL) {
        return;
    }
    uint32_t ep = 0;
    bool is_known =
        a->status != NULL && (kind == PLI_TRACE_RECV || kind == PLI_TRACE_PROBE) && !a->is_idle;
    e->context = c->it.context;
    e->ep = (uint16_t)c->it.my_ep;
    if (is_known) {
        e->peer = find_peer(c, a->status->MPI_SOURCE, &ep);
        e->tag = a->status->MPI_TAG;
    } else if (a->has_peer) {
        e->peer = find_peer(c, a->peer, &ep);
    }
    e->peer_ep = (uint16_t)ep;
    if (kind == PLI_TRACE_BOTH && a->status != NULL) {
        e->source = find_peer(c, a->status->MPI_SOURCE, &ep);
        e->source_ep = (uint16_t)ep;
        e->number = (uint32_t)a->status->MPI_TAG;
    }
}

static void keep_posted(struct pli_trace_thread *self, const struct pli_trace_args *a,
                        struct pli_trace_event *e, uint32_t sampled)
{
    struct pli_trace_request *r = keep_request(self, a->request);
    uint32_t serial = r->serial;
    *r = (struct pli_trace_request){
        .handle = a->request,
        .comm = a->comm,
        .serial = serial,
        .peer = e->peer,
        .peer_ep = e->peer_ep,
        .function = e->function,
        .flags = e->flags,
        .is_persistent = a->is_persistent,
        .tag = e->tag,
        .number = e->number,
        .bytes = e->bytes,
        .context = e->context,
        .sampled = sampled,
    };
    e->request = serial;
    e->flags |= a->is_persistent ? 0 : PLI_TRACE_POSTED;
}

void pli_trace_keep(struct pli_trace_thread *self, const struct pli_trace_args *a, uint32_t sampled)
{
    enum pli_trace_class kind = (enum pli_trace_class)pli_trace_classes[a->function];
    struct pli_trace_event e = {
        .function = (uint16_t)a->function,
        .flags = flags_of(kind, a->function),
        .peer = PLI_TRACE_NOBODY,
        .source = PLI_TRACE_NOBODY,
    };
    fill_peer(self, a, kind, &e);
    e.bytes = (uint64_t)a->count * size_of(self, a->datatype);
    keep_posted(self, a, &e, sampled);
}

static void note_life(struct pli_trace_thread *self, enum pli_trace_fn function, uint64_t begin,
                      uint64_t end)
{
    struct pli_trace_slot *s = self->slot;
    if (function == PLI_TRACE_FN_Init || function == PLI_TRACE_FN_Init_thread ||
        function == PLI_TRACE_FN_Session_init) {
        identify(s);
        s->begin = s->begin > begin ? begin : s->begin;
    } else if (function == PLI_TRACE_FN_Finalize || function == PLI_TRACE_FN_Session_finalize) {
        s->end = end;
    }
}

// Calls find no entry that they had before, so that one that is sampled need not ask whether
// something has changed.
void pli_trace_change(const struct pli_trace_thread *self, MPI_Datatype freed)
{
    atomic_fetch_add(&pli_trace_generation, 1);
    pthread_mutex_lock(&state.lock);
    for (struct pli_trace_thread *t = state.threads; t != NULL; t = t->next) {
        for (uint32_t i = 0; i < PLI_TRACE_N_SAMPLED; i++) {
            struct pli_trace_sampled *q = &t->sampled[i];
            if (t != self || freed == NULL || q->datatype == (uintptr_t)freed) {
                atomic_store_explicit(&q->key, 0, memory_order_relaxed);
            }
        }
    }
    pthread_mutex_unlock(&state.lock);
}

void pli_trace_end(struct pli_trace_thread *self, uint64_t begin, const struct pli_trace_args *a,
                   int err)
{
    uint64_t end = pli_trace_ticks();
    if (a->is_change &&
        (a->function == PLI_TRACE_FN_Fork || a->function == PLI_TRACE_FN_MPIX_Fork_with_info)) {
        err = err >= 0 ? MPI_SUCCESS : -err; // it returns a number of ranks
        if (self->slot->pid != (uint32_t)getpid()) {
            leave_parent(self, begin);
        }
    }
    begin = pli_trace_since(self, begin, end);
    enum pli_trace_class kind = (enum pli_trace_class)pli_trace_classes[a->function];
    struct pli_trace_site *site = pli_trace_count(self, a->function, a->site, begin, end);
    struct pli_trace_event e = {
        .begin = begin,
        .end = end,
        .function = (uint16_t)a->function,
        .flags = flags_of(kind, a->function),
        .site = (uint16_t)(site - self->slot->sites),
        .peer = PLI_TRACE_NOBODY,
        .source = PLI_TRACE_NOBODY,
        .tag = a->tag,
    };
    if (__builtin_expect(a->is_change, 0)) {
        pli_trace_change(self, NULL);
        note_life(self, a->function, begin, end);
    }
    if (a->comm != NULL && !a->is_change) {
        fill_peer(self, a, kind, &e);
    }
    if (a->datatype != NULL) {
        e.bytes = (uint64_t)a->count * size_of(self, a->datatype);
        site->bytes += e.bytes;
    }
    if (kind == PLI_TRACE_SEND || kind == PLI_TRACE_BOTH) {
        count_sent(self->slot, e.peer, e.peer_ep, e.bytes);
    }
    if (kind == PLI_TRACE_COLL && a->comm != NULL) {
        struct pli_trace_comm *c = find_comm(self, a->comm);
        e.number = c != NULL ? ++c->n_coll : 0;
    }
    uint32_t sampled = a->kind != PLI_TRACE_KIND_NONE ? pli_trace_sample_timed(self, a, &e) : 0;
    if (a->request != NULL && a->request != MPI_REQUEST_NULL) {
        keep_posted(self, a, &e, sampled);
    } else if (kind == PLI_TRACE_RECV || kind == PLI_TRACE_PROBE) {
        count_waited(self->slot, e.peer, e.peer_ep, end - begin);
    } else if (kind == PLI_TRACE_BOTH) {
        count_waited(self->slot, e.source, e.source_ep, end - begin);
    }
    if (self->ring != NULL && !a->is_idle && err == MPI_SUCCESS) {
        pli_trace_put(self, &e);
    }
}
