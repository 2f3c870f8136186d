// SPDX-License-Identifier: BSD-3-Clause
// Layouts that srv_job.c and srv_job_peer.c share.
#ifndef PLI_SRV_JOB_PRIV_H
#define PLI_SRV_JOB_PRIV_H

#include "server/srv_collate.h"
#include "server/srv_job.h"
#include "wire/impi_body.h"
#include "wire/impi_cmd_wire.h"

enum peer_state {
    P_AUTH,   // AUTH is awaited
    P_KEY,    // the key is awaited
    P_TLS,    // its stream is to turn to TLS, which proves the key; nothing may come before
    P_RANK,   // IMPI is awaited
    P_LABELS, // joined; COLL and DONE
    P_RUN,    // DONE was said; FINI is awaited
    P_RELAY,  // its bytes go to another host
    P_CLOSED, // nothing it says counts any more
    N_PEER_STATE,
};

struct pli_srv_peer {
    enum peer_state state;
    int rank; // -1 before it has joined
    char name[80];
    uint64_t deadline_ms;    // to have joined
    unsigned char small[16]; // a head and a word, or a key
    size_t n_small;
    struct pli_impi_body body; // a payload of COLL, JOIN, BEAT or OVER
    uint32_t body_cmd;
    bool has_body;      // the payload is being read into body
    unsigned n_odd;     // unknown but harmless commands so far
    uint32_t skip;      // bytes of an unknown command still to come
    unsigned char *out; // what only this peer is sent: method and size, later sentences
    size_t n_out, at_out, cap_out;
    enum { W_NONE, W_OUT, W_STREAM } writes; // what was begun is finished before the other
    bool has_joined;                         // by JOIN
    bool is_silent;                          // the others were told that it does not answer
    uint64_t heard_ms;
    char what[160];    // what it is, in its own words
    char trouble[160]; // what is wrong with it, in its own words
    size_t at_stream;  // its place in the common stream
    bool has_stream;   // joined: the common stream follows `out`
    struct pli_impi_relay relay;
    struct pli_srv_peer *mate; // the other side of the relay, once it is there
    struct pli_srv_peer *next;
};

enum job_state { J_JOIN, J_COLLATE, J_RUN, J_OVER, N_JOB_STATE };

struct pli_srv_job {
    const struct pli_srv_conf *conf;
    enum job_state state;
    enum pli_srv_exit exit;
    struct pli_srv_peer *peer;                      // all connections, newest first
    struct pli_srv_peer *slot[PLI_IMPI_MAX_CLIENT]; // joined, by rank
    int n_joined, n_finished, n_lost;
    uint64_t deadline_ms; // for startup; 0 is none
    uint64_t now_ms, beat_ms;
    char why[PLI_IMPI_CMD_TEXT]; // why there will be no job: whoever still comes is told
    uint64_t why_ms;             // no longer than that
    struct pli_srv_collate collate;
};

// srv_job_peer.c: the bytes of one connection, turned into the calls below.
void pli_srv_job_peer_go(struct pli_srv_peer *peer, enum peer_state to);
void pli_srv_job_peer_input(struct pli_srv_job *job, struct pli_srv_peer *peer,
                            const unsigned char *p, size_t len);
void pli_srv_job_peer_drop(struct pli_srv_peer *peer);       // closed, and its memory given back
bool pli_srv_job_peer_is_unknown(struct pli_srv_peer *peer); // count one; false: do not log it
const char *pli_srv_job_peer_name(const struct pli_srv_peer *peer);

// srv_job.c: what a connection says. Each may close the peer or end the job.
void pli_srv_job_on_auth(struct pli_srv_job *job, struct pli_srv_peer *peer, uint32_t mask);
void pli_srv_job_on_key(struct pli_srv_job *job, struct pli_srv_peer *peer, uint64_t key);
void pli_srv_job_on_rank(struct pli_srv_job *job, struct pli_srv_peer *peer, int32_t rank);
void pli_srv_job_on_join(struct pli_srv_job *job, struct pli_srv_peer *peer,
                         const struct pli_impi_cmd *cmd);
void pli_srv_job_on_beat(struct pli_srv_job *job, struct pli_srv_peer *peer, const char *trouble);
void pli_srv_job_on_relay(struct pli_srv_job *job, struct pli_srv_peer *peer,
                          const struct pli_impi_relay *relay);
void pli_srv_job_on_over(struct pli_srv_job *job, struct pli_srv_peer *peer, const char *why);
void pli_srv_job_on_label(struct pli_srv_job *job, struct pli_srv_peer *peer, uint32_t label,
                          unsigned char *data, size_t len); // takes data over
void pli_srv_job_on_done(struct pli_srv_job *job, struct pli_srv_peer *peer);
void pli_srv_job_on_fini(struct pli_srv_job *job, struct pli_srv_peer *peer);
void pli_srv_job_on_violation(struct pli_srv_job *job, struct pli_srv_peer *peer, const char *what);

#endif
