// SPDX-License-Identifier: BSD-3-Clause
// Windows on communicators that span clients, by messages: those that members of Pliant MPI's
// windows send each other when they share no memory (onesided/region_wire.h, rma/win_wire.h), on a
// communicator that the window has for itself. A process serves the others whenever it looks for
// progress, which it does in every call that waits.
//
// The program holds a window of the native library that has this process as its only member: names,
// error handlers, info and the program's attributes are there.
#ifndef PLI_SHIM_WIN_H
#define PLI_SHIM_WIN_H

#include "onesided/region_wire.h"
#include "rma/win_wire.h"
#include "shim/shim_layout.h"
#include "shim/shim_req.h"

enum shim_win_access {
    SHIM_ACCESS_NONE,
    SHIM_ACCESS_FENCE,
    SHIM_ACCESS_START,
    SHIM_ACCESS_LOCK,
    SHIM_ACCESS_LOCK_ALL
};

struct shim_win_peer {
    uint64_t size;
    int64_t unit;
    uint64_t sent, sure; // messages without an answer, and how many of them are dealt with
    uint32_t n_open;     // operations that use memory of this process
    int fault;           // MPI error code of one, not reported yet
    uint8_t hold;        // enum pli_hold, 0: no lock
    bool is_unchecked, is_started;
    bool is_refused; // here: something it asked for was wrong; the next answer says so
};

struct shim_win_waiter { // for the lock of this process
    int origin, hold;
    uint32_t tag;
    struct shim_win_waiter *next;
};

struct shim_win_attached {
    uintptr_t at;
    size_t len;
    struct shim_win_attached *next;
};

struct shim_part; // of shim_win_msg.c

struct shim_win {
    MPI_Win handle;
    struct shim_span *span;
    int flavor, model, unit; // attributes point here
    MPI_Aint size;
    void *base, *own; // own: from MPI_Win_allocate
    struct shim_win_peer *peer;
    enum shim_win_access access;
    bool is_fenced; // accesses may follow the last fence
    int n_hold;
    int n_post; // -1: no exposure
    struct shim_req **posts;
    struct shim_win_attached *attached;
    // as the owner of memory
    unsigned char *in;
    struct shim_req *recv;
    bool is_data;         // recv is for the data of a large put
    int n_shared, holder; // holder: -1
    struct shim_win_waiter *waiting;
    // messages under way
    struct shim_part *parts;
    uint32_t n_part, next_tag;
    struct shim_win *next;
};

// shim_win.c
struct shim_win *pli_shim_win_find(MPI_Win win);    // NULL: native
int pli_shim_win_end(struct shim_win *w, int code); // as pli_shim_end

// shim_win_msg.c
struct shim_access { // an operation that ends when all its answers have come
    struct shim_win *win;
    int rank, n_left, err;
    struct shim_req *user; // NULL: the program has no request for it
    unsigned char *packed; // answers go here, and then to the program's memory
    size_t len;
    void *buf;
    const struct shim_layout *layout; // of what is at buf
};
int pli_shim_win_msg_send(struct shim_win *w, int to, uint32_t tag, void *mem,
                          size_t len); // takes mem
int pli_shim_win_msg_recv(struct shim_win *w, int from, uint32_t tag, void *buf, size_t len,
                          struct shim_access *op);
int pli_shim_win_msg_await(struct shim_win *w, int from, uint32_t tag, void *buf, size_t len,
                           struct shim_req **out);
uint32_t pli_shim_win_msg_tag(struct shim_win *w);
struct pli_region_msg *pli_shim_win_msg_new(enum pli_region_kind kind,
                                            const struct pli_region_block *blocks, int n_block,
                                            size_t len); // NULL: no memory
int pli_shim_win_msg_begin(struct shim_win *w, int rank, bool has_request,
                           struct shim_access **out);
// No more answers are awaited; rc: whether all could be begun.
int pli_shim_win_msg_end(struct shim_access *op, int rc, MPI_Request *request);
void pli_shim_win_msg_throttle(struct shim_win *w, uint32_t most);
void pli_shim_win_msg_progress(struct shim_win *w);
// A question to the owner of memory, and its answer.
int pli_shim_win_msg_ask(struct shim_win *w, int to, struct pli_region_msg *m, size_t len,
                         void *answer, size_t room, struct shim_req **out);

// shim_win_serve.c
int pli_shim_win_serve_open(struct shim_win *w);
void pli_shim_win_serve_progress(struct shim_win *w);
bool pli_shim_win_serve_has(const struct shim_win *w, int64_t at, uint64_t len);

// shim_win_sync.c
int pli_shim_win_sync_flush(struct shim_win *w, int rank); // -1: all
int pli_shim_win_sync_may(struct shim_win *w, int rank);   // access it

#endif
