// SPDX-License-Identifier: BSD-3-Clause
// The protocol between hosts, for one host of a job: packets, flow control, short, long and
// synchronous messages, cancellation, finalization. It knows no sockets and no MPI. Bytes are moved
// by the caller, one stream for each host of the other clients; matching is the caller's too, told
// through callbacks. Processes are named by their rank in MPI_COMM_WORLD.
//
// The functions are in impi_engine.c (life), impi_engine_chan.c (bytes), _send.c and _recv.c.
// Context: one thread. No function blocks. A callback may call any function here but create and
// destroy.
#ifndef PLI_IMPI_ENGINE_H
#define PLI_IMPI_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engine/impi_log.h"
#include "wire/impi_job.h"

struct iovec;
struct pli_impi_engine;

// What a message says of itself.
struct pli_impi_envelope {
    uint32_t src, dst; // WORLD ranks
    uint64_t cid;
    int32_t lsrank, tag;           // sender's rank in the communicator, tag
    uint64_t seqnum, count, dtype; // carried, no duty
};

struct pli_impi_arrival {
    struct pli_impi_envelope env;
    uint64_t msglen; // of the whole message
    uint32_t len;    // bytes of it in the first packet
    uint64_t srqid;  // the sender's request id: a cancellation names it
    uint64_t handle; // 0: nothing is awaited of us; else see pli_impi_engine_accept
};

struct pli_impi_cancel { // names a message that was sent
    uint32_t src, dst;
    uint64_t srqid;
};

// What the engine tells. Every slot must be filled; pli_impi_engine_quiet has do-nothing ones.
struct pli_impi_engine_ops {
    // Room for the `a->len` > 0 bytes of a first packet; it is the caller's again in `arrived`, or
    // in `dropped` if the connection fails before. NULL fails the connection.
    void *(*room)(void *arg, const struct pli_impi_arrival *a);
    void (*dropped)(void *arg, void *room);
    // A first packet is there: the message can be matched and probed. `room` is NULL if len is 0.
    void (*arrived)(void *arg, const struct pli_impi_arrival *a, void *room);
    // More of an accepted long message: bytes [offset, offset + len) of it are in place.
    void (*part)(void *arg, uint64_t handle, uint64_t offset, uint32_t len);
    // An accepted long message is complete, or will never be (err).
    void (*received)(void *arg, uint64_t handle, enum pli_impi_err err);
    // Of a send whose data is a ring the first `upto` bytes are no longer needed.
    void (*left)(void *arg, uint64_t req, uint64_t upto);
    // The data of a send is no longer needed; with an error, it was not all sent.
    void (*sent)(void *arg, uint64_t req, enum pli_impi_err err);
    // A synchronous or long send was matched by a receive.
    void (*matched)(void *arg, uint64_t req);
    // The answer to pli_impi_engine_cancel. If `yes`, nothing else is told of this send, and its
    // data is no longer needed.
    void (*cancelled)(void *arg, uint64_t req, bool yes);
    // A peer wants to cancel a message that has arrived. Answer once, now or later, with
    // pli_impi_engine_answer. Of several with this srqid the newest is meant.
    void (*cancel_asked)(void *arg, const struct pli_impi_cancel *c);
    // A host said FINI; or its connection is over, well (PLI_IMPI_OK) or not.
    void (*peer_fini)(void *arg, uint32_t host);
    void (*peer_down)(void *arg, uint32_t host, enum pli_impi_err err);
};
extern const struct pli_impi_engine_ops pli_impi_engine_quiet;

// `job` and `ops` must outlive the engine. `host` is our global host index.
enum pli_impi_err pli_impi_engine_create(const struct pli_impi_job *job, uint32_t host,
                                         const struct pli_impi_engine_ops *ops, void *arg,
                                         const struct pli_impi_log *log,
                                         struct pli_impi_engine **out);
// Nothing is told of what was under way.
void pli_impi_engine_destroy(struct pli_impi_engine *e);

// Have the owner of the sockets called when there are bytes for a host that had none. Start-up
// only.
typedef void (*pli_impi_engine_write_fn)(void *arg, uint32_t host);
void pli_impi_engine_on_write(struct pli_impi_engine *e, pli_impi_engine_write_fn fn, void *arg);

// Whether we talk to a host, that is, it belongs to another client.
bool pli_impi_engine_is_peer(const struct pli_impi_engine *e, uint32_t host);

// The connection to a host is there. The host with the higher index has connected, and its four
// bytes of hello are exchanged by the owner of the sockets. ERR_ARG: no peer, or open already.
enum pli_impi_err pli_impi_engine_open(struct pli_impi_engine *e, uint32_t host);

// Bytes in: room for them in one or two pieces (iov has two), then that `len` of them came. Large
// data is read into its place.
// An error is final for this connection and was told by peer_down.
int pli_impi_engine_in_iov(struct pli_impi_engine *e, uint32_t host, struct iovec *iov);
enum pli_impi_err pli_impi_engine_in_done(struct pli_impi_engine *e, uint32_t host, size_t len);
// The same by copying from a buffer.
enum pli_impi_err pli_impi_engine_input(struct pli_impi_engine *e, uint32_t host, const void *p,
                                        size_t len);
// The stream has ended or failed.
void pli_impi_engine_eof(struct pli_impi_engine *e, uint32_t host, enum pli_impi_err why);

// Bytes out: up to `max` pieces, then that `len` bytes of them went. 0: there is nothing, and the
// function of on_write will say when there is again.
int pli_impi_engine_out_iov(struct pli_impi_engine *e, uint32_t host, struct iovec *iov, int max);
void pli_impi_engine_out_done(struct pli_impi_engine *e, uint32_t host, size_t len);

struct pli_impi_send {
    struct pli_impi_envelope env;
    const void *data; // external32; stays the engine's until `sent` or `cancelled`
    uint64_t len;
    uint64_t ready; // bytes of data that are already there; see pli_impi_engine_more
    uint64_t ring;  // not 0: `data` is used over and over, so many bytes of it, a multiple of the
                    // job's data length; `left` says how much of it may be written over
    bool is_sync;   // MPI_Ssend and its like
};

// Queue a message. Messages between two processes keep their order. `req_out` names it in
// callbacks, none of which comes before this returns. ERR_ARG: src is not here or dst is no peer's.
// ERR_CLOSED: that host has finalized, or we have. ERR_PEER. ERR_NOMEM.
enum pli_impi_err pli_impi_engine_send(struct pli_impi_engine *e, const struct pli_impi_send *s,
                                       uint64_t *req_out);
// Now `ready` bytes of the data are there.
enum pli_impi_err pli_impi_engine_more(struct pli_impi_engine *e, uint64_t req, uint64_t ready);

enum pli_impi_cancel_result {
    PLI_IMPI_CANCEL_DONE,  // it never left: cancelled, and nothing more is told of it
    PLI_IMPI_CANCEL_ASKED, // `cancelled` will tell
    PLI_IMPI_CANCEL_LATE,  // it was matched already: not cancelled
};

// Cancel a send of ours, also one that was `sent` already. ERR_ARG: never sent, or asked before.
enum pli_impi_err pli_impi_engine_cancel(struct pli_impi_engine *e, const struct pli_impi_cancel *c,
                                         enum pli_impi_cancel_result *out);

// A message with a handle was matched: tell the sender. The rest of a long one goes to `base`,
// which stands for the whole message and takes `cap` bytes of it; more is read and thrown away. The
// first packet is already the caller's. ERR_ARG: no such handle, or accepted before.
enum pli_impi_err pli_impi_engine_accept(struct pli_impi_engine *e, uint64_t handle, void *base,
                                         uint64_t cap);

// The answer to `cancel_asked`. With `yes` the message is gone, and so is its handle (0 if it had
// none). ERR_ARG: yes, but the handle was accepted.
enum pli_impi_err pli_impi_engine_answer(struct pli_impi_engine *e, const struct pli_impi_cancel *c,
                                         uint64_t handle, bool yes);

// All procs of this host have finalized: send what is queued, then FINI, to every host.
void pli_impi_engine_finish(struct pli_impi_engine *e);

enum pli_impi_link {
    PLI_IMPI_LINK_NONE,
    PLI_IMPI_LINK_OPEN,
    PLI_IMPI_LINK_OVER,
    PLI_IMPI_LINK_LOST
};

// How the connection to a host stands. OVER: both sides have said FINI and all was written.
enum pli_impi_link pli_impi_engine_link(const struct pli_impi_engine *e, uint32_t host);
bool pli_impi_engine_has_fini(const struct pli_impi_engine *e, uint32_t host); // ours was sent
bool pli_impi_engine_is_over(const struct pli_impi_engine *e);                 // with every peer

// For tests and for a look inside: packets the peer has not acknowledged, largest of all pairs.
uint32_t pli_impi_engine_max_unacked(const struct pli_impi_engine *e);

#endif
