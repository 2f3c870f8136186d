// SPDX-License-Identifier: BSD-3-Clause
// The streams of --record and --replay: one file for each thread that is a rank or an endpoint.
#include "trace/record.h"

#include "trace/preload.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 4096, WHY = PATH + 256, SENTENCE = 1024 };

struct pli_record_calls pli_record_mpi, pli_record_next;
__typeof__(&PMPIX_Fork_with_info) pli_record_fork_with_info;

#define NAME(name) "MPI_" #name,
static const char *const names[] = { PLI_RECORD_CALLS(NAME) };
_Static_assert(sizeof(struct pli_record_calls) == sizeof names, "a name for each call");

static struct {
    pthread_once_t once;
    pthread_mutex_t mutex;
    bool is_on, is_replay, is_foreign, is_begun, is_ended;
    char dir[PATH];
    bool (*get_process)(struct pli_observe_process *out);
    bool (*get_comm)(MPI_Comm comm, struct pli_observe_comm *out);
    struct pli_observe_process me;
    pthread_key_t key;
    struct pli_record_stream *streams;
    struct { // which stream the calls on an endpoint belong to
        uint32_t ep;
        struct pli_record_stream *stream;
    } * owners;
    size_t n_owner;
} state = { .once = PTHREAD_ONCE_INIT, .mutex = PTHREAD_MUTEX_INITIALIZER };

static __thread struct pli_record_stream *mine __attribute__((tls_model("initial-exec")));
static __thread void *outer_site __attribute__((tls_model("initial-exec")));

static void end_thread(void *arg)
{
    struct pli_record_stream *s = arg;
    pthread_mutex_lock(&state.mutex);
    s->is_taken = s->is_taken && !pthread_equal(s->thread, pthread_self());
    pthread_mutex_unlock(&state.mutex);
}

static void *symbol(void *library, const char *prefix, const char *name)
{
    char text[128];
    snprintf(text, sizeof text, "%s%s", prefix, name);
    return dlsym(library, text);
}

static void prepare(void)
{
    void *library = dlopen("libmpi_abi.so.1", RTLD_LAZY | RTLD_NOLOAD);
    const char *record = getenv("PLI_RECORD"), *replay = getenv("PLI_REPLAY");
    const char *dir = replay != NULL ? replay : record;
    void *found[sizeof names / sizeof names[0]], *next[sizeof names / sizeof names[0]];
    void *process = library != NULL ? dlsym(library, "pli_observe_get_process") : NULL;
    void *comm = library != NULL ? dlsym(library, "pli_observe_get_comm") : NULL;
    pli_preload_open();
    state.is_foreign = library != NULL && pli_preload_is_foreign();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        found[i] = library != NULL ? symbol(library, "P", names[i]) : NULL;
        next[i] = state.is_foreign  ? pli_preload_next_foreign(names[i])
                  : library != NULL ? found[i]
                                    : symbol(RTLD_NEXT, "P", names[i]);
    }
    memcpy(&pli_record_mpi, found, sizeof found);
    memcpy(&pli_record_next, next, sizeof next);
    void *fork_with_info = dlsym(library != NULL ? library : RTLD_NEXT, "PMPIX_Fork_with_info");
    memcpy(&pli_record_fork_with_info, &fork_with_info, sizeof fork_with_info);
    memcpy(&state.get_process, &process, sizeof process);
    memcpy(&state.get_comm, &comm, sizeof comm);
    state.is_on = process != NULL && comm != NULL && dir != NULL && strlen(dir) < PATH - 64;
    state.is_replay = replay != NULL;
    snprintf(state.dir, sizeof state.dir, "%s", dir != NULL ? dir : "");
    pthread_key_create(&state.key, end_thread);
}

bool pli_record_is_replay(void)
{
    return state.is_replay;
}

static _Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static _Noreturn void fail(const char *format, ...)
{
    char text[SENTENCE];
    int n = snprintf(text, sizeof text, "%s: rank %u: ", state.is_replay ? "replay" : "record",
                     state.me.rank);
    va_list args;
    va_start(args, format);
    int more = vsnprintf(text + n, sizeof text - (size_t)n - 1, format, args);
    va_end(args);
    n += more;
    n = n < (int)sizeof text - 2 ? n : (int)sizeof text - 2;
    text[n++] = '\n';
    ssize_t done = write(STDERR_FILENO, text, (size_t)n);
    (void)done;
    pli_record_mpi.Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

// What an event says, in words.
static void describe(const struct pli_record_stream *s, char *to, size_t cap)
{
    static const char *const calls[PLI_RECORD_N_KIND] = {
        [PLI_RECORD_RECV] = "a receive with MPI_ANY_SOURCE",
        [PLI_RECORD_FIRST] = "the completion of a receive with MPI_ANY_SOURCE",
        [PLI_RECORD_PROBE] = "MPI_Probe or MPI_Mprobe with MPI_ANY_SOURCE",
        [PLI_RECORD_IPROBE] = "MPI_Iprobe or MPI_Improbe",
        [PLI_RECORD_TEST] = "MPI_Test",
        [PLI_RECORD_TESTALL] = "MPI_Testall",
        [PLI_RECORD_TESTANY] = "MPI_Testany",
        [PLI_RECORD_WAITANY] = "MPI_Waitany",
        [PLI_RECORD_STATUS] = "MPI_Request_get_status",
        [PLI_RECORD_STATUS_ALL] = "MPI_Request_get_status_all",
        [PLI_RECORD_STATUS_ANY] = "MPI_Request_get_status_any",
        [PLI_RECORD_PARRIVED] = "MPI_Parrived",
        [PLI_RECORD_WIN_TEST] = "MPI_Win_test",
        [PLI_RECORD_WAITSOME] = "MPI_Waitsome",
        [PLI_RECORD_TESTSOME] = "MPI_Testsome",
        [PLI_RECORD_STATUS_SOME] = "MPI_Request_get_status_some",
    };
    const struct pli_record_reader *r = &s->reader;
    uint64_t v = r->n_number > 0 ? r->numbers[0] : 0;
    switch (r->kind) {
    case PLI_RECORD_RECV:
    case PLI_RECORD_RECV_TAG:
        snprintf(to, cap, "%s, which received from rank %d", calls[PLI_RECORD_RECV], (int)(v - 1));
        return;
    case PLI_RECORD_LATER:
    case PLI_RECORD_LATER_TAG:
        v = r->numbers[1]; // fall through
    case PLI_RECORD_FIRST:
    case PLI_RECORD_FIRST_TAG:
        if (v == 0) {
            snprintf(to, cap, "%s, which was cancelled", calls[PLI_RECORD_FIRST]);
        } else {
            snprintf(to, cap, "%s, which received from rank %d", calls[PLI_RECORD_FIRST],
                     (int)(v - 1));
        }
        return;
    case PLI_RECORD_PROBE:
    case PLI_RECORD_PROBE_TAG:
        snprintf(to, cap, "%s, which found a message of rank %d", calls[PLI_RECORD_PROBE],
                 (int)(v - 1));
        return;
    case PLI_RECORD_IPROBE_FROM:
    case PLI_RECORD_IPROBE_FROM_TAG:
        snprintf(to, cap, "%s, which found a message of rank %d", calls[PLI_RECORD_IPROBE],
                 (int)(v - 1));
        return;
    case PLI_RECORD_WAITANY:
        snprintf(to, cap, "%s, which gave index %d", calls[r->kind], (int)(v - 1));
        return;
    case PLI_RECORD_WAITSOME:
    case PLI_RECORD_TESTSOME:
    case PLI_RECORD_STATUS_SOME:
        snprintf(to, cap, "%s, which gave %d requests", calls[r->kind], (int)r->n_number);
        return;
    default:
        snprintf(to, cap, "%s, which returned %s",
                 r->kind < PLI_RECORD_N_KIND && calls[r->kind] != NULL ? calls[r->kind] : "a call",
                 v != 0 ? "true" : "false");
    }
}

void pli_record_no_memory(void)
{
    fail("there is no memory left for what is recorded");
}

bool pli_record_is_forced(const struct pli_record_call *call)
{
    return state.is_replay && !call->stream->is_over;
}

void pli_record_differ(const struct pli_record_call *call, const char *format, ...)
{
    char text[SENTENCE / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fail("%s at %s is not what was recorded: %s (outcome %llu of %llu); the program, its input or "
         "its "
         "surroundings are not the same, or it depends on more than the order of messages",
         call->name, pli_line_of(call->site), text, (unsigned long long)call->stream->reader.n_read,
         (unsigned long long)call->stream->file.n_event);
}

static void path_of(uint32_t ep, char *to)
{
    int n = snprintf(to, PATH, "%s/rank.%u", state.dir, state.me.index);
    if (ep != 0) {
        snprintf(to + n, (size_t)(PATH - n), ".%u", ep);
    }
}

static void open_file(struct pli_record_stream *s)
{
    char path[PATH], why[WHY];
    path_of(s->ep, path);
    bool is_ok = state.is_replay ? pli_record_file_load(&s->file, path, why, sizeof why)
                                 : pli_record_file_create(&s->writer, path, why, sizeof why);
    if (!is_ok) {
        fail("%s", why);
    }
    if (state.is_replay) {
        if (!pli_record_outcomes_read(&s->outcomes, &s->file)) {
            fail("%s is damaged, or there is no memory left for it; make a new record by --record",
                 path);
        }
        pli_record_file_begin(&s->reader, &s->file);
    }
}

static struct pli_record_stream *open_stream(uint32_t ep)
{
    struct pli_record_stream *s = calloc(1, sizeof *s);
    if (s == NULL) {
        pli_record_no_memory();
    }
    s->ep = ep;
    open_file(s);
    s->next = state.streams;
    state.streams = s;
    return s;
}

static struct pli_record_stream *owner_of(uint32_t ep)
{
    for (size_t i = 0; i < state.n_owner; i++) {
        if (state.owners[i].ep == ep) {
            return state.owners[i].stream;
        }
    }
    return NULL;
}

static void set_owner(uint32_t ep, struct pli_record_stream *s)
{
    void *more = realloc(state.owners, (state.n_owner + 1) * sizeof *state.owners);
    if (more == NULL) {
        pli_record_no_memory();
    }
    state.owners = more;
    state.owners[state.n_owner].ep = ep;
    state.owners[state.n_owner++].stream = s;
}

static _Noreturn void refuse_thread(const char *name, const void *site)
{
    fail("%s at %s is called by a second thread: the order between threads is not recorded. One "
         "thread of a rank, or of each endpoint, may receive, wait and test",
         name, pli_line_of(site));
}

// The stream of this thread, by the endpoint that it uses.
static void bind_thread(const char *name, const void *site, uint32_t ep)
{
    pthread_mutex_lock(&state.mutex);
    struct pli_record_stream *s = owner_of(ep);
    // The thread that called MPI_Init alone may leave the first endpoint to another.
    bool is_free =
        s == NULL || !s->is_taken || !s->is_used || pthread_equal(s->thread, pthread_self());
    if (!is_free || (s != NULL && s != mine && mine != NULL)) {
        refuse_thread(name, site);
    }
    if (s == NULL) {
        s = mine != NULL ? mine : open_stream(ep);
        set_owner(ep, s);
    }
    s->is_taken = true;
    s->thread = pthread_self();
    mine = s;
    pthread_setspecific(state.key, s);
    pthread_mutex_unlock(&state.mutex);
}

void pli_record_initialized(const char *name, void *site)
{
    if (!state.is_on || state.is_begun || !state.get_process(&state.me)) {
        return;
    }
    state.is_begun = true;
    bind_thread(name, site, 0);
}

const struct pli_record_calls *pli_record_pass(bool is_std)
{
    pthread_once(&state.once, prepare);
    return is_std ? &pli_record_mpi : &pli_record_next;
}

static _Thread_local bool is_attached;
static _Thread_local uint32_t attached_ep;

void pli_record_attached(bool is_std, MPI_Comm comm)
{
    struct pli_observe_comm it;
    bool is_seen = state.is_begun && (is_std || !state.is_foreign);
    if (is_seen && state.get_comm(comm, &it)) {
        is_attached = true;
        attached_ep = it.my_ep;
    }
}

bool pli_record_enter(struct pli_record_call *call, const char *name, void *site, void *frame,
                      bool is_std, MPI_Comm comm)
{
    pthread_once(&state.once, prepare);
    if (!state.is_on) {
        return false;
    }
    bool has_outer = is_std && outer_site != NULL;
    site = has_outer ? outer_site : pli_preload_site(site, frame);
    outer_site = state.is_foreign && !is_std ? site : NULL;
    if (outer_site != NULL) {
        return false;
    }
    *call = (struct pli_record_call){ NULL, name, site };
    if (!state.is_begun || state.is_ended) {
        return false;
    }
    struct pli_observe_comm it;
    if (comm != NULL && (mine == NULL || comm != mine->last_comm) && comm != MPI_COMM_NULL &&
        state.get_comm(comm, &it)) {
        bind_thread(name, site, it.my_ep);
        mine->last_comm = comm;
    }
    if (mine == NULL && is_attached) { // it completes what it has sent, or written to a file
        bind_thread(name, site, attached_ep);
    }
    if (mine == NULL) {
        refuse_thread(name, site);
    }
    if (!pthread_equal(mine->thread, pthread_self())) { // another thread has it, or had it
        bind_thread(name, site, mine->ep);
    }
    mine->is_used = true;
    call->stream = mine;
    if (mine->n_freed > 0 && !state.is_replay) {
        pli_record_look_freed(call);
    }
    return true;
}

void pli_record_put(const struct pli_record_call *call, enum pli_record_kind kind, size_t n,
                    const uint64_t *numbers)
{
    char why[WHY];
    if (!pli_record_file_write(&call->stream->writer, kind, numbers, n, why, sizeof why)) {
        fail("%s at %s: %s", call->name, pli_line_of(call->site), why);
    }
}

// Outcomes of receives that the program has freed stand where they happened to be seen.
static bool skip_freed(struct pli_record_stream *s)
{
    unsigned kind = s->reader.kind;
    bool is_later = kind == PLI_RECORD_LATER || kind == PLI_RECORD_LATER_TAG;
    bool is_one = is_later || kind == PLI_RECORD_FIRST || kind == PLI_RECORD_FIRST_TAG;
    uint64_t i = is_later ? s->reader.numbers[0] : 0;
    if (!is_one || i >= s->n_posted || !s->posted[i].is_freed) {
        return false;
    }
    if (kind == PLI_RECORD_FIRST_TAG || kind == PLI_RECORD_LATER_TAG) {
        pli_record_number_tag(s, s->reader.numbers[is_later ? 2 : 1]);
    }
    pli_record_drop_posted(s, (size_t)i);
    return true;
}

static bool look_ahead(struct pli_record_stream *s)
{
    while (!s->is_ahead) {
        if (!pli_record_file_next(&s->reader)) {
            return false;
        }
        s->is_ahead = s->n_freed == 0 || !skip_freed(s);
    }
    return true;
}

void pli_record_pass_freed(struct pli_record_stream *s)
{
    look_ahead(s);
}

bool pli_record_take(const struct pli_record_call *call, enum pli_record_kind kind,
                     enum pli_record_kind or_kind, const uint64_t **numbers_out,
                     enum pli_record_kind *kind_out)
{
    struct pli_record_stream *s = call->stream;
    if (s->is_over) {
        return false;
    }
    if (!look_ahead(s)) {
        if (s->file.is_complete) {
            pli_record_differ(call, "nothing comes any more before MPI_Finalize");
        }
        s->is_over = true; // the recorded job was killed here
        pli_record_deferred(call);
        return false;
    }
    enum pli_record_kind has = (enum pli_record_kind)s->reader.kind;
    if (has != kind && has != or_kind) {
        char text[256];
        describe(s, text, sizeof text);
        pli_record_differ(call, "%s", text);
    }
    s->is_ahead = false;
    *numbers_out = s->reader.numbers;
    *kind_out = has;
    return true;
}

// The program waits for a receive whose outcome the record does not have.
void pli_record_await(const struct pli_record_call *call, struct pli_record_request *r)
{
    struct pli_record_stream *s = call->stream;
    if (r->is_deferred && !s->is_over) {
        const uint64_t *numbers;
        enum pli_record_kind kind;
        pli_record_take(call, PLI_RECORD_N_PLAIN, PLI_RECORD_N_PLAIN, &numbers, &kind);
    }
}

int pli_record_flag(const struct pli_record_call *call, enum pli_record_kind kind, int flag)
{
    uint64_t number = flag != 0;
    pli_record_put(call, kind, 1, &number);
    return flag;
}

// A clone has what its parent had; its outcomes from here on are in files of its own.
void pli_record_forked(void)
{
    uint32_t before = state.me.index;
    if (!state.is_begun || state.is_ended || !state.get_process(&state.me) ||
        state.me.index == before) {
        return;
    }
    pthread_mutex_lock(&state.mutex);
    for (struct pli_record_stream *s = state.streams; s != NULL; s = s->next) {
        if (state.is_replay) {
            pli_record_file_end(&s->reader);
            free(s->file.bytes);
            pli_record_outcomes_fini(&s->outcomes);
        } else {
            pli_record_file_leave(&s->writer);
        }
        s->is_over = s->is_ahead = false;
        s->last_tag = 0;
        s->n_post = s->n_posted = s->n_freed = 0; // a rank with requests is not cloned
        open_file(s);
    }
    pthread_mutex_unlock(&state.mutex);
}

void pli_record_finalize(const char *name, void *site, bool is_last)
{
    struct pli_record_call call = { mine, name, site };
    if (!state.is_begun || state.is_ended) {
        return;
    }
    pthread_mutex_lock(&state.mutex);
    for (struct pli_record_stream *s = state.streams; s != NULL; s = s->next) {
        call.stream = s;
        if (!state.is_replay) {
            pli_record_look_freed(&call);
            if (is_last) {
                pli_record_end_freed(s);
            }
            s->writer.head->is_complete = 1;
        } else if (!s->is_over && is_last && look_ahead(s)) {
            char text[256];
            describe(s, text, sizeof text);
            pli_record_differ(&call, "%s", text);
        }
        if (is_last && !state.is_replay) {
            pli_record_file_close(&s->writer);
        }
    }
    state.is_ended = is_last;
    pthread_mutex_unlock(&state.mutex);
}
