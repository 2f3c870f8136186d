// SPDX-License-Identifier: BSD-3-Clause
// What the files of the agent share.
#ifndef PLI_IMPI_NATIVE_AGENT_PRIV_H
#define PLI_IMPI_NATIVE_AGENT_PRIV_H

#include "impi/agent_native/native_agent.h"
#include "engine/impi_heap.h"
#include "base/list.h"
#include "boot/gateway_wire.h"
#include "engine/impi_idmap.h"
#include "engine/impi_net.h"
#include "net/shm/shm.h"

// A mailbox of a rank, one for each of its lanes; cells that found no room wait in order.
struct pli_native_agent_box {
    struct pli_shm_peer peer;
    bool is_open;
    struct pli_list queue;   // struct queued
    struct pli_list stalled; // among the agent's while the queue is not empty
};

// A message of a rank on its way out.
struct pli_native_agent_out {
    struct pli_list link; // all of them
    uint64_t id;          // the rank's number for it, once the rank has been told
    uint64_t req;         // the engine's number for it
    uint64_t request;     // the rank's request
    uint32_t row, lane, src, dst;
    uint64_t size;
    void *data;     // a copy that the agent owns
    uint64_t slot;  // or offset in the heap, and if that is a ring
    uint64_t ready; // bytes that were written
    uint64_t ring;
    bool tells;  // the rank must be told when the message is matched
    bool awaits; // the engine will say when it is
    bool is_sent, is_matched, is_cancelling;
};

// An incoming message that is not finished yet.
struct pli_native_agent_in {
    uint64_t id;
    uint64_t handle; // the engine's, 0: it wants no answer
    uint64_t slot;   // offset in the heap, 0: the data went with the cell
    uint64_t request;
    uint32_t row, lane, dst;
    uint64_t size, here;
};

struct pli_native_agent {
    const struct pli_native_agent_conf *conf;
    struct pli_node *node;
    uint32_t client; // which client this job is; with a token known when it has joined
    struct pli_gateway *gateway;
    struct pli_shm shm; // the agent's own mailbox and blocks
    struct pli_impi_net *net;
    struct pli_impi_engine *engine;
    struct pli_impi_heap heap;
    struct pli_native_agent_box *boxes; // by row and lane
    struct pli_list stalled;
    struct pli_list outs;
    struct pli_impi_idmap out_by_req, out_by_id, in_by_id, in_by_handle;
    uint64_t next_id;
    uint64_t look_ms; // look then which processes are stopped
    uint64_t begin_ns, clock_due;
    uint32_t clock_rank; // whose host is asked for its clock; UINT32_MAX: none
    uint32_t n_clock;    // answers
    bool is_clock_near;  // it is on this machine
    uint64_t held;       // bytes of messages that wait to be sent
    uint32_t n_row, first;
    uint32_t n_bye;  // ranks that have finalized
    uint32_t n_idle; // looks in vain, one after the other
    bool is_control_ready, is_woken, has_ended, has_failed;
};

// native_agent.c. Whether the job was joined by a token: then lines about connections are the last
// word, since the server has been asked.
bool pli_native_agent_has_token(void);
// Note why the agent must end; the first reason is printed.
void pli_native_agent_fail(struct pli_native_agent *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

// native_agent_box.c
struct pli_shm_cell;
void pli_native_agent_box_post(struct pli_native_agent *a, uint32_t row, uint32_t lane,
                               const struct pli_shm_cell *cell);
int pli_native_agent_box_retry(struct pli_native_agent *a); // how many were posted
bool pli_native_agent_box_init(struct pli_native_agent *a);

// native_agent_out.c: events of outgoing messages, from the ranks and from the engine.
void pli_native_agent_out_send(struct pli_native_agent *a, const struct pli_shm_cell *cell);
void pli_native_agent_out_more(struct pli_native_agent *a, const struct pli_shm_cell *cell);
void pli_native_agent_out_cancel(struct pli_native_agent *a, const struct pli_shm_cell *cell);
void pli_native_agent_out_left(void *arg, uint64_t req, uint64_t upto);
void pli_native_agent_out_sent(void *arg, uint64_t req, enum pli_impi_err err);
void pli_native_agent_out_matched(void *arg, uint64_t req);
void pli_native_agent_out_cancelled(void *arg, uint64_t req, bool yes);

// native_agent_in.c: events of incoming messages.
void *pli_native_agent_in_room(void *arg, const struct pli_impi_arrival *m);
void pli_native_agent_in_dropped(void *arg, void *room);
void pli_native_agent_in_arrived(void *arg, const struct pli_impi_arrival *m, void *room);
void pli_native_agent_in_part(void *arg, uint64_t handle, uint64_t offset, uint32_t len);
void pli_native_agent_in_received(void *arg, uint64_t handle, enum pli_impi_err err);
void pli_native_agent_in_cancel_asked(void *arg, const struct pli_impi_cancel *c);
void pli_native_agent_in_accept(struct pli_native_agent *a, const struct pli_shm_cell *cell);
void pli_native_agent_in_done(struct pli_native_agent *a, const struct pli_shm_cell *cell);
void pli_native_agent_in_unsent(struct pli_native_agent *a, const struct pli_shm_cell *cell);

// native_agent_clock.c: clocks of other clients. The job is known; ask, if it is time, and say in
// how many ms it is again (-1: never); whether what has arrived is about clocks.
struct pli_impi_envelope;
void pli_native_agent_clock_open(struct pli_native_agent *a, const struct pli_impi_job *job);
int pli_native_agent_clock_ask(struct pli_native_agent *a);
bool pli_native_agent_clock_arrived(struct pli_native_agent *a, const struct pli_impi_envelope *e);

// native_agent_join.c: start-up. A failure has been reported on return.
bool pli_native_agent_join(struct pli_native_agent *a, const struct pli_impi_engine_ops *ops,
                           const struct pli_impi_log *log);

#endif
