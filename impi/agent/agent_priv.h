// SPDX-License-Identifier: BSD-3-Clause
// Layouts that the agent's files share.
#ifndef PLI_AGENT_PRIV_H
#define PLI_AGENT_PRIV_H

#include "agent/agent.h"
#include "agent/agent_link.h"
#include "agent/agent_memory.h"
#include "engine/impi_idmap.h"

enum agent_state {
    A_GATHER, // processes are connecting
    A_MEET,   // the server and the mesh
    A_RUN,
    A_FINISH, // all have finalized
    A_OVER,
    A_FAILED,
    N_AGENT_STATE,
};

struct proc { // a process of this client
    struct agent *a;
    uint64_t key;                     // of its events
    struct pli_agent_link *link;      // NULL: not connected yet, or no more
    uint32_t index;                   // UINT32_MAX: it has not said
    bool is_final, wants_out, is_bad; // is_bad: refused, to be closed
    struct pli_impi_idmap sends;      // by its id, until SENT
    struct pli_agent_memory memory;   // for large data
    struct proc *next;                // of connections that have not said which process they are
};

struct sending {
    uint64_t id, req;
    struct proc *proc;
    unsigned char *data; // until sent
    bool is_shared;      // in the memory of its process
    bool is_sync, is_sent, is_matched, has_cancel;
};

struct agent {
    struct pli_agent_conf conf;
    enum agent_state state;
    struct pli_impi_net *net;
    int epoll_fd, tcp_fd, unix_fd;
    struct pli_agent_where *where;
    struct proc **proc; // by index
    struct proc *pending;
    uint64_t n_key;   // given out
    int64_t looked_s; // when it was looked for stopped processes
    unsigned n_idle;  // looks in vain, one after the other
    uint32_t n_pending, n_here, n_final, n_gone, first_rank;
    struct pli_impi_idmap sends; // by the engine's number
    struct pli_impi_idmap recvs; // by handle: the memory of a long message
};

// agent_relay.c: between frames and the engine
extern const struct pli_impi_engine_ops pli_agent_relay_ops;
extern const struct pli_agent_link_ops pli_agent_relay_link;
void pli_agent_relay_clear(struct agent *a);

// agent.c
// False: it is not a process of this client.
bool pli_agent_hello(struct proc *p, const struct pli_agent_frame *f, const unsigned char *token);
void pli_agent_final(struct proc *p);
void pli_agent_begin(struct agent *a); // once the job is known; more often is no harm
void pli_agent_put(struct proc *p, const struct pli_agent_frame *f, const void *data, void *own);
void pli_agent_fail(struct agent *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
