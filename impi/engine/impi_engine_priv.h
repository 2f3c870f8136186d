// SPDX-License-Identifier: BSD-3-Clause
// Layouts that the engine's files share.
#ifndef PLI_IMPI_ENGINE_PRIV_H
#define PLI_IMPI_ENGINE_PRIV_H

#include "engine/impi_engine.h"
#include "engine/impi_idmap.h"
#include "wire/impi_packet_wire.h"

enum {
    STAGE = 16384,           // bytes read ahead of the parser
    RING = 64,               // packets handed to the wire
    RING_BYTES = 512 * 1024, // and their data, about
    MAX_CTL = 1 << 20,       // control packets that may wait for one pair's credit
};

enum send_state {
    S_FIRST,  // queued, nothing has left
    S_WIRE,   // its first packet is being written
    S_WAIT,   // written; SYNCACK is awaited
    S_REST,   // matched; the rest is queued or waits for its data
    S_TAIL,   // the last packet is being written
    S_CANCEL, // only an answer to CANCEL is awaited
    S_DEAD,   // cancelled in the queue; freed when it comes up
    N_SEND_STATE,
};

struct send {
    enum send_state state;
    struct pli_impi_send s;
    uint64_t id, drqid;
    uint64_t off, gone; // bytes given to the wire, and written
    struct pair *pair;
    uint32_t n_wire; // its packets on the wire
    bool is_long, has_cancel, is_matched, is_queued;
    struct send *next;
};

struct ctl { // a control packet that waits for credit
    uint32_t type;
    uint64_t srqid, drqid;
    struct pli_impi_envelope env;
    struct ctl *next;
};

struct recv { // a message whose sender awaits SYNCACK, or whose rest is coming
    uint64_t id, srqid, msglen, off, cap;
    struct pair *pair;
    struct pli_impi_envelope env;
    unsigned char *base;
    bool is_long, is_accepted;
    struct recv *next; // while it is being dropped
};

struct queue {
    struct send *head, *tail;
};

// One of our processes and one of theirs: both directions.
struct pair {
    uint32_t local, remote; // WORLD ranks
    struct chan *chan;
    uint32_t sent;    // counted packets they have not acknowledged
    uint32_t got;     // counted packets of theirs since the last credit
    uint64_t unacked; // counted packets of theirs for which no credit was written
    uint32_t n_ack;   // credits owed
    struct ctl *ctl, *ctl_tail;
    uint32_t n_ctl;
    struct queue first, rest;
    bool is_rest_next;       // first and rest take turns
    bool is_ready, is_owing; // on the channel's lists
    struct pair *next_ready, *next_owing;
};

struct item { // a packet handed to the wire
    unsigned char head[PLI_IMPI_PACKET_HEAD];
    const unsigned char *data;
    uint32_t len;
    uint32_t type;
    struct send *send; // for its data packets
};

enum chan_state {
    C_NONE, // not connected yet
    C_OPEN,
    C_SENT, // our FINI is written
    C_GOT,  // theirs is read
    C_OVER, // both
    C_LOST,
    N_CHAN_STATE,
};

struct chan {
    struct pli_impi_engine *e;
    uint32_t host;
    enum chan_state state;
    // in
    unsigned char *stage;
    size_t at_stage, n_stage;
    struct pli_impi_packet pk; // the one whose data is being read
    struct pair *pair;         // that it belongs to
    bool in_data;
    uint32_t left;      // of its data
    unsigned char *dst; // where it goes
    uint32_t dst_left;  // as far as there is room; the rest is thrown away
    void *room;         // from the caller, for a first packet
    struct pli_impi_arrival arrival;
    bool is_ignored; // data that is not wanted any more
    // out
    struct item *ring;
    uint32_t first, n_item;
    size_t at_item; // bytes of the first item that went
    size_t n_byte;  // data bytes in the ring
    struct pair *ready, *ready_tail, *owing, *owing_tail;
    uint64_t n_queued;         // sends and control packets not yet on the wire
    bool wants_fini, has_fini; // to be sent, handed to the wire
    bool is_told;              // the owner of the sockets knows
};

struct pli_impi_engine {
    const struct pli_impi_job *job;
    uint32_t host;
    const struct pli_impi_engine_ops *ops;
    void *arg;
    struct pli_impi_log log;
    pli_impi_engine_write_fn on_write;
    void *write_arg;
    struct chan *chan; // by host
    struct pli_impi_idmap sends, recvs, pairs;
    uint64_t next_id;
    bool is_finishing;
};

// impi_engine.c
void pli_impi_engine_go(struct chan *c, enum chan_state to);
__attribute__((format(printf, 3, 4))) enum pli_impi_err
pli_impi_engine_lose(struct chan *c, enum pli_impi_err err, const char *fmt, ...);
void pli_impi_engine_drop_sends(struct chan *c, enum pli_impi_err err);

// impi_engine_flow.c: credit, and what goes next
void pli_impi_engine_flow_tell(struct chan *c); // there is something to write
enum pli_impi_err pli_impi_engine_flow_pair(struct pli_impi_engine *e, uint32_t local,
                                            uint32_t remote, struct pair **out);
enum pli_impi_err pli_impi_engine_flow_ctl(struct pair *p, uint32_t type,
                                           const struct pli_impi_envelope *env, uint64_t srqid,
                                           uint64_t drqid);
void pli_impi_engine_flow_push(struct pair *p, struct queue *q, struct send *s);
void pli_impi_engine_flow_wake(struct pair *p);                // it may have something to send
enum pli_impi_err pli_impi_engine_flow_got(struct pair *p);    // a counted packet came
enum pli_impi_err pli_impi_engine_flow_credit(struct pair *p); // PROTOACK came
void pli_impi_engine_flow_fill(struct chan *c);                // hand packets to the wire
void pli_impi_engine_flow_clear(struct pair *p);               // drop control packets and lists

// impi_engine_send.c
void pli_impi_engine_send_written(struct send *s, uint32_t len); // a packet with so much data
enum pli_impi_err pli_impi_engine_send_syncack(struct pair *p, const struct pli_impi_packet *pk);
enum pli_impi_err pli_impi_engine_send_cancel_answer(struct pair *p,
                                                     const struct pli_impi_packet *pk);
void pli_impi_engine_send_go(struct send *s, enum send_state to);

// impi_engine_recv.c
enum pli_impi_err pli_impi_engine_recv_begin(struct chan *c); // c->pk was read
enum pli_impi_err pli_impi_engine_recv_end(struct chan *c);   // and its data too
void pli_impi_engine_recv_drop(struct chan *c, enum pli_impi_err err);

#endif
