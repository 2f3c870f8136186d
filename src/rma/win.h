// SPDX-License-Identifier: BSD-3-Clause
// Windows: memory that the members of a communicator let each other reach. [MPI-5.0 12]
#ifndef PLI_RMA_WIN_H
#define PLI_RMA_WIN_H

#include "base/err.h"
#include "base/list.h"
#include "base/lock.h"
#include "obj/handle.h"
#include "onesided/region_wire.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct pli_attr_list;
struct pli_comm;
struct pli_errhandler;
struct pli_group;
struct pli_info;
struct pli_region;
struct pli_request;
struct pli_shm_mailbox;
struct pli_win_attach_wire;
struct pli_win_awaited;
struct pli_win_epoch_wire;
struct pli_win_lock_server;
struct pli_win_ring;

// What a member is to this one. Guarded by the window's lock but for what is atomic.
struct pli_win_peer {
    uintptr_t base;          // of a near one: where its memory is here; 0 where addresses count
    struct pli_guard *guard; // of a near one, or of another one on this host
    struct pli_win *same;    // its window, when it is of this process
    uint64_t size;
    int64_t unit;
    // Of another process on this host, whose memory may be read and written by the kernel; NULL: it
    // may not. See rma_cma.c.
    _Atomic(struct pli_shm_mailbox *) box;
    _Atomic uint64_t box_ns;                    // when that was last tried, 0: never
    uint64_t address;                           // of a far one: where its memory is in its process
    const struct pli_win_attach_wire *attached; // what may be, in a dynamic window
    // Of another process on this host: small accesses to a far one, and long ones that both copy,
    // see win_ring.c; NULL: there were none.
    _Atomic(struct pli_win_ring *) ring;
    uint64_t window;   // what it knows its window by
    bool may_ring;     // they may go by a ring
    bool is_near;      // load and store
    uint8_t hold;      // enum pli_hold, 0: no lock
    bool is_unchecked; // the lock was not asked for: MPI_MODE_NOCHECK
    bool is_started;   // by MPI_Win_start
    uint32_t n_lost;   // deaths of holders of its lock that this member was told of
    // Of one on this host: words for exposures, see win_epoch.c. NULL: messages tell of them.
    struct pli_win_epoch_wire *theirs; // of its memory, for this member
    struct pli_win_epoch_wire *mine;   // of this member's memory, for it
    bool may_complete;                 // the end of accesses to its memory is told so too,
    bool is_completed;                 // and that of its accesses to this member's
    uint32_t n_posted, n_completed;    // what this member has waited for
    struct pli_shm_mailbox *sleeps_at;
};

// How this member accesses others at the moment.
enum pli_win_access {
    PLI_ACCESS_NONE,
    PLI_ACCESS_FENCE, // from the first access after a fence on
    PLI_ACCESS_START,
    PLI_ACCESS_LOCK,
    PLI_ACCESS_LOCK_ALL
};

// Memory that MPI_Win_allocate got.
struct pli_win_memory {
    enum {
        PLI_MEMORY_NONE,
        PLI_MEMORY_SEGMENT,
        PLI_MEMORY_ARENA,
        PLI_MEMORY_PRIVATE,
        PLI_MEMORY_COPY // pages of its own, where its parent has shared ones: of a clone
    } where;
    void *at; // what was taken; NULL: another member has taken it for all
    // Pages with the memory of the window and nothing else, which are mapped here for it alone, so
    // that a clone can replace them by a copy; NULL: there are none.
    void *pages, *home; // home: where these are in the node memory
    size_t len;
    bool is_lent; // the pages are those of another window of this process, an endpoint's
};

// Members that an epoch waits for, or has waited for.
struct pli_win_members {
    struct pli_win_awaited *at; // see win_epoch.h
    int n, cap;
};

struct pli_win_attached {
    struct pli_win_attached *next;
    uintptr_t at;
    size_t len;
};

struct pli_win {
    struct pli_obj obj;
    struct pli_list all;   // windows of this process
    struct pli_comm *comm; // the window's alone
    atomic_bool is_open;   // its region is, so messages about rings are served
    int flavor, model;
    void *base;
    MPI_Aint size, unit;
    int unit_int; // what MPI_Win_get_attr points to
    struct pli_errhandler *errhandler;
    struct pli_attr_list *attrs;
    bool is_first_only; // rank 0 alone is a target, so others need no thread to serve
    struct pli_info *info;
    struct pli_win_memory memory;
    struct pli_guard *guard; // of this member's memory
    bool is_guard_own;       // it is not in the memory, and freed with the window
    bool is_guard_arena;     // the same, and it is in the arena
    struct pli_win_peer *peers;
    bool is_all_near;       // all of them are
    struct pli_lock lock;   // of what follows
    _Atomic int access;     // enum pli_win_access
    _Atomic bool is_fenced; // accesses may follow the last fence
    int n_hold;             // locks
    bool is_posted;
    struct pli_win_members posted;     // by MPI_Win_post
    struct pli_win_members started;    // by MPI_Win_start
    struct pli_win_epoch_wire *epochs; // of this member's memory, one for each member
    struct pli_win_attached *attached; // attached memory
    struct pli_region *region;         // how far members are reached, and how they reach this one
    struct pli_win_lock_server *locks; // the members that wait for this one's lock
    _Atomic uint32_t n_near_flush;     // flushes; a lost count does no harm
    char name[MPI_MAX_OBJECT_NAME];
};

// Threads that read them are told of the change by the program.
static inline void pli_win_set_access(struct pli_win *w, enum pli_win_access access)
{
    atomic_store_explicit(&w->access, (int)access, memory_order_relaxed);
}

static inline void pli_win_set_fenced(struct pli_win *w, bool is_fenced)
{
    atomic_store_explicit(&w->is_fenced, is_fenced, memory_order_relaxed);
}

// Zeroed, with what all windows have; NULL: no memory, noted.
struct pli_win *pli_win_new(int flavor);

// All windows of this process, the oldest first. Context: no other thread makes or frees one.
void pli_win_each(void (*fn)(struct pli_win *w, void *arg), void *arg);
// It is to be freed, or was lost: it is not among them any more.
void pli_win_forget(struct pli_win *w);

// "window NAME" or "the window", for messages.
const char *pli_win_say(const struct pli_win *w);

// Whether a size and unit are possible.
enum pli_err pli_win_check(MPI_Aint size, MPI_Aint unit);
// Whether a communicator can have windows.
enum pli_err pli_win_check_comm(const struct pli_comm *comm);

// Whether a rank is one of the window's.
enum pli_err pli_win_check_rank(const struct pli_win *w, int rank);

// As the API table calls them.
enum pli_err pli_win_get_group(struct pli_win *w, struct pli_group **out);
enum pli_err pli_win_set_name(struct pli_win *w, const char *name);
enum pli_err pli_win_set_errhandler(struct pli_win *w, struct pli_errhandler *e);
enum pli_err pli_win_get_errhandler(struct pli_win *w, struct pli_errhandler **out);

#endif
