// SPDX-License-Identifier: BSD-3-Clause
// Finds the functions behind the wrappers of --check, tells calls of the program from those inside
// other calls, and leads each to what looks at its kind.
#include "trace/check.h"

#include "base/glibc.h"
#include "trace/preload.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void *pli_check_next[PLI_CHECK_N_SYM], *pli_check_next_std[PLI_CHECK_N_SYM];

#define PLI_CHECK_FN(name, text, kind) { text, PLI_CHECK_##kind },
static const struct {
    const char *name;
    enum pli_check_class kind;
} functions[PLI_CHECK_N_FN] = {
#include "trace/check_functions.def"
};
#undef PLI_CHECK_FN
#define PLI_CHECK_FN(name, text, kind)
#define PLI_CHECK_SYM(name, text) text,
static const char *const symbols[PLI_CHECK_N_SYM] = {
#include "trace/check_functions.def"
};
#undef PLI_CHECK_FN
#undef PLI_CHECK_SYM

static struct {
    pthread_once_t once;
    bool is_on, is_foreign, is_recorded;
    int level; // of threads that MPI_Init gave; MPI_THREAD_MULTIPLE where there are sessions
    pthread_t main_thread;
    _Atomic int n_inside;       // threads inside MPI
    _Atomic int n_session;      // not finalized yet
    _Atomic bool is_object_due; // MPI_Finalize was called; sessions may still free objects
} state = { .once = PTHREAD_ONCE_INIT, .level = MPI_THREAD_MULTIPLE };

static __thread int depth __attribute__((tls_model("initial-exec")));
static __thread void *outer_site __attribute__((tls_model("initial-exec")));
static __thread bool is_prepared __attribute__((tls_model("initial-exec")));

struct pli_check_library pli_check_lib;

static bool find_library(void *library)
{
    static const char *const names[] = {
        "pli_observe_get_process",
        "pli_observe_get_comm",
        "pli_observe_note_reaches",
        "pli_observe_note_send",
        "pli_observe_note_take",
        "pli_observe_note_wait",
        "pli_observe_note_is_here",
        "pli_observe_note_other",
        "pli_observe_note_left",
        "pli_observe_note_drop",
        "pli_observe_note_type",
        "pli_observe_note_form",
        "PMPI_Comm_rank",
        "PMPI_Comm_size",
        "PMPI_Comm_test_inter",
        "pli_observe_note_probe",
        "PMPI_Query_thread",
        "PMPI_Get_count_c",
        "PMPI_Test",
        "PMPI_Request_free",
        "PMPI_Test_cancelled",
        "pli_observe_get_peer",
        "PMPI_Comm_set_errhandler",
        "PMPI_Gather",
        "PMPI_Gatherv",
        "PMPI_Comm_split",
        "PMPI_Comm_free",
        "PMPI_Alltoall",
        "PMPI_Alltoallv",
        "PMPIX_Comm_world_version",
    };
    void *found[sizeof names / sizeof names[0]];
    bool is_complete = library != NULL;
    _Static_assert(sizeof found == sizeof pli_check_lib, "a name for each function");
    for (size_t i = 0; i < sizeof names / sizeof names[0] && is_complete; i++) {
        found[i] = dlsym(library, names[i]);
        is_complete = found[i] != NULL;
    }
    if (is_complete) {
        memcpy(&pli_check_lib, found, sizeof found);
    }
    return is_complete;
}

static void prepare(void)
{
    char text[128];
    pli_preload_open();
    void *library = dlopen("libmpi_abi.so.1", RTLD_LAZY | RTLD_NOLOAD);
    state.is_on = find_library(library);
    state.is_foreign = state.is_on && pli_preload_is_foreign();
    for (int i = 0; i < PLI_CHECK_N_SYM; i++) {
        snprintf(text, sizeof text, "P%s", symbols[i]);
        void *mpi = dlsym(library != NULL ? library : RTLD_NEXT, text);
        pli_check_next[i] = state.is_foreign ? pli_preload_next_foreign(symbols[i])
                                             : pli_preload_next(symbols[i], mpi);
        snprintf(text, sizeof text, "pli_std_%s", symbols[i]);
        pli_check_next_std[i] = pli_preload_next(text, mpi);
    }
    state.main_thread = pthread_self();
    state.is_recorded = getenv("PLI_RECORD") != NULL || getenv("PLI_REPLAY") != NULL;
}

bool pli_check_enter(void **site, void *frame, bool is_std)
{
    if (__builtin_expect(!is_prepared, 0)) {
        pthread_once(&state.once, prepare);
        is_prepared = true;
    }
    if (!state.is_on) {
        return false;
    }
    if (is_std && outer_site != NULL) {
        *site = outer_site;
        outer_site = NULL;
        return true;
    }
    *site = pli_preload_site(*site, frame);
    outer_site = state.is_foreign && !is_std ? *site : NULL;
    return outer_site == NULL;
}

bool pli_check_has_threads(void)
{
    return state.level == MPI_THREAD_MULTIPLE;
}

bool pli_check_is_recorded(void)
{
    return state.is_recorded;
}

// A thread may take it again: what is freed while it is held comes here, too. A mutex of the C
// library that may be taken again costs twice as much as all else that is done for a small message.
static struct {
    _Atomic uint32_t word; // 0 free, 1 held, 2 held and others sleep
    _Atomic(const void *) owner;
    int n_again; // guarded by the lock
} lock;

static bool lock_is_mine(void)
{
    return atomic_load_explicit(&lock.owner, memory_order_relaxed) == &depth;
}

// While the process has one thread plain stores do, at a tenth of the price; the word is the same,
// so it does not matter if there are more threads by the time it is given back.
static bool lock_enter(void)
{
    uint32_t unheld = 0;
    if (lock_is_mine()) {
        lock.n_again++;
        return true;
    }
    if (__libc_single_threaded) {
        atomic_store_explicit(&lock.word, 1, memory_order_relaxed);
    } else if (!atomic_compare_exchange_strong_explicit(
                   &lock.word, &unheld, 1, memory_order_acquire, memory_order_relaxed)) {
        return false;
    }
    atomic_store_explicit(&lock.owner, &depth, memory_order_relaxed);
    return true;
}

static void __attribute__((cold)) lock_wait(void)
{
    while (atomic_exchange_explicit(&lock.word, 2, memory_order_acquire) != 0) {
        syscall(SYS_futex, &lock.word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    }
    atomic_store_explicit(&lock.owner, &depth, memory_order_relaxed);
}

void pli_check_lock(void)
{
    if (state.level == MPI_THREAD_MULTIPLE && !lock_enter()) {
        lock_wait();
    }
}

bool pli_check_try_lock(void)
{
    return state.level != MPI_THREAD_MULTIPLE || lock_enter();
}

void pli_check_unlock(void)
{
    if (state.level != MPI_THREAD_MULTIPLE) {
        return;
    }
    if (lock.n_again > 0) {
        lock.n_again--;
        return;
    }
    atomic_store_explicit(&lock.owner, NULL, memory_order_relaxed);
    if (__libc_single_threaded) {
        atomic_store_explicit(&lock.word, 0, memory_order_relaxed);
    } else if (atomic_exchange_explicit(&lock.word, 0, memory_order_release) == 2) {
        syscall(SYS_futex, &lock.word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

const char *pli_check_name(enum pli_check_fn function)
{
    return function < PLI_CHECK_N_FN ? functions[function].name : "an MPI function";
}

// Threads may call MPI as far as MPI_Init_thread has said.
static void check_threads(const struct pli_check_call *call, int n)
{
    if (state.level < MPI_THREAD_SERIALIZED && !pthread_equal(pthread_self(), state.main_thread)) {
        pli_check_say("thread", call->site, 0,
                      "%s at %s is called by a thread that did not initialize MPI, but the program "
                      "has %s; ask for MPI_THREAD_MULTIPLE in MPI_Init_thread",
                      pli_check_name(call->function), pli_line_of(call->site),
                      state.level == MPI_THREAD_SINGLE ? "MPI_THREAD_SINGLE"
                                                       : "MPI_THREAD_FUNNELED");
    } else if (state.level == MPI_THREAD_SERIALIZED && n > 1) {
        pli_check_say("threads-at-once", call->site, 0,
                      "%s at %s is called while another thread is inside MPI, but the program has "
                      "MPI_THREAD_SERIALIZED; ask for MPI_THREAD_MULTIPLE, or let one thread in at "
                      "a time",
                      pli_check_name(call->function), pli_line_of(call->site));
    }
}

static bool has_data(const struct pli_check_call *call)
{
    return call->comm != NULL && call->comm != MPI_COMM_NULL;
}

void pli_check_begin(struct pli_check_call *call)
{
    call->is_outer = depth++ == 0;
    call->message_before = call->message != NULL ? *call->message : MPI_MESSAGE_NULL;
    enum pli_check_class kind = functions[call->function].kind;
    bool is_message = kind == PLI_CHECK_SEND || kind == PLI_CHECK_RECV || kind == PLI_CHECK_BOTH;
    if (!call->is_outer && !is_message) {
        return;
    }
    call->is_counted = state.level == MPI_THREAD_SERIALIZED;
    int n = call->is_counted ? atomic_fetch_add(&state.n_inside, 1) + 1 : 1;
    if (state.level != MPI_THREAD_MULTIPLE && kind != PLI_CHECK_LIFE) {
        check_threads(call, n);
    }
    pli_check_receive_used(call->sendbuf, call->sendcount, call->sendtype);
    pli_check_receive_used(call->recvbuf, call->recvcount, call->recvtype);
    if (is_message) {
        if (has_data(call)) {
            pli_check_p2p_begin(call, kind != PLI_CHECK_RECV, kind != PLI_CHECK_SEND);
        }
    } else if (kind == PLI_CHECK_COLL && has_data(call)) {
        pli_check_coll_begin(call);
    } else if (kind == PLI_CHECK_RMA) {
        pli_check_rma_begin(call);
    } else if (kind == PLI_CHECK_IO) {
        bool is_into = call->recvtype != NULL;
        pli_check_request_watch(call, is_into ? call->recvbuf : call->sendbuf,
                                is_into ? call->recvcount : call->sendcount,
                                is_into ? call->recvtype : call->sendtype, is_into);
    } else if (call->memory != NULL && call->memory->marked != NULL) {
        pli_check_request_marked(call);
    } else if (call->comm_freed != NULL) {
        pli_check_lock();
        pli_check_p2p_comm_end(*call->comm_freed, call->function == PLI_CHECK_FN_Comm_disconnect);
        pli_check_unlock();
    } else if (call->function == PLI_CHECK_FN_Finalize) {
        pli_check_request_poll();
        pli_check_comm_each(NULL);
        pli_check_p2p_finalize();
        pli_check_request_finalize();
        pli_check_cycle_finalize();
    }
}

static void look_for_objects(void)
{
    if (atomic_load(&state.n_session) == 0 && atomic_exchange(&state.is_object_due, false)) {
        pli_check_object_finalize();
    }
}

static void after_life(const struct pli_check_call *call, int err)
{
    if (call->function == PLI_CHECK_FN_Finalize) {
        atomic_store(&state.is_object_due, true);
        look_for_objects();
    } else if (err == MPI_SUCCESS) {
        state.main_thread = pthread_self();
        pli_check_lib.query_thread(&state.level);
    }
}

int pli_check_end(struct pli_check_call *call, int err)
{
    enum pli_check_class kind = functions[call->function].kind;
    bool is_message = kind == PLI_CHECK_SEND || kind == PLI_CHECK_RECV || kind == PLI_CHECK_BOTH;
    if (!call->is_outer && !is_message) {
        depth--;
        return err;
    }
    if (is_message) {
        if (has_data(call)) {
            pli_check_p2p_end(call, err, kind != PLI_CHECK_RECV, kind != PLI_CHECK_SEND);
        }
    } else if (kind == PLI_CHECK_PROBE) {
        pli_check_p2p_probe(call, err);
    } else if (kind == PLI_CHECK_RMA) {
        pli_check_rma(call, err);
    } else if (kind == PLI_CHECK_LIFE) {
        after_life(call, err);
    } else if ((kind == PLI_CHECK_COLL || kind == PLI_CHECK_IO) && call->request != NULL &&
               err == MPI_SUCCESS) {
        pli_check_lock();
        pli_check_request_keep(call, false, false, false);
        pli_check_unlock();
    } else if (kind == PLI_CHECK_IO_END) {
        pli_check_request_end(call, err);
    } else if (kind == PLI_CHECK_PARTS && err == MPI_SUCCESS) {
        bool is_into = call->recvtype != NULL;
        struct pli_check_memory *m = call->memory;
        pli_check_parts_made(call);
        pli_check_lock();
        bool has = pli_check_range(is_into ? call->recvbuf : call->sendbuf,
                                   (is_into ? call->recvcount : call->sendcount) * m->n_part,
                                   is_into ? call->recvtype : call->sendtype, &m->begin, &m->n);
        m->n = has ? m->n : 0;
        m->is_into = is_into;
        pli_check_request_keep(call, false, false, true);
        pli_check_unlock();
    } else if (call->function == PLI_CHECK_FN_Session_init) {
        state.level = MPI_THREAD_MULTIPLE;
        atomic_fetch_add(&state.n_session, err == MPI_SUCCESS);
    } else if (call->function == PLI_CHECK_FN_Session_finalize) {
        atomic_fetch_sub(&state.n_session, err == MPI_SUCCESS);
        look_for_objects();
    } else if (call->function == PLI_CHECK_FN_Type_free) {
        pli_check_type_forget();
    }
    if (call->is_outer) {
        pli_check_request_poll();
        pli_check_cycle_poll();
    }
    depth--;
    if (call->is_counted) {
        atomic_fetch_sub(&state.n_inside, 1);
    }
    return err;
}
