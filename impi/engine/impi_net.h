// SPDX-License-Identifier: BSD-3-Clause
// The sockets of an IMPI host: its listening port, the connection to the server, and one to each
// host of the other clients. Drives the client's startup and the engine from one epoll descriptor,
// which the embedding program may watch in its own loop. Nothing blocks but the look-up of the
// server's name. Context: one thread.
//
// The life of it:   create  ->  start or join  ->  poll until RUN  ->  engine calls and poll
//                   ->  finish  ->  poll until QUIET  ->  bye  ->  poll until DONE  ->  destroy
#ifndef PLI_IMPI_NET_H
#define PLI_IMPI_NET_H

#include <stdbool.h>
#include <stdint.h>
#include "engine/impi_client.h"
#include "engine/impi_engine.h"

enum { PLI_IMPI_MAX_LINKS = 8 }; // connections in parallel to one host

struct pli_impi_net;

struct pli_impi_net_conf {
    const char *bind; // address to listen on; NULL: all
    uint16_t port;    // 0: any free one
    int timeout_s;    // until RUN; 0: for ever
    int server_s;     // to wait for a server that does not listen yet; 0: not at all
    uint32_t n_links; // connections to a host in parallel; 0: as many as the distance is worth
    int silence_s;    // of another host's machine or the way to it, then it is lost; 0: for ever
    const struct pli_impi_engine_ops *ops;
    void *arg;
    bool takes_any_address;      // a caller need not come from the address that its host has told
    const char *tls_file;        // secret for TLS on all connections; NULL: plain
    bool may_tls;                // or, without one, TLS where the others can do it too
    const unsigned char *secret; // or the secret itself, n_secret bytes; read by create only
    size_t n_secret;
    const char *relay; // the server that relays to hosts that cannot be reached; NULL: none
    uint64_t relay_key;
    struct pli_impi_log log;
};

enum pli_impi_net_state {
    PLI_IMPI_NET_IDLE,   // listening
    PLI_IMPI_NET_SERVER, // startup with the server
    PLI_IMPI_NET_MESH,   // connections between hosts are made
    PLI_IMPI_NET_RUN,    // messages may be sent
    PLI_IMPI_NET_FINISH, // FINI is exchanged with the other hosts
    PLI_IMPI_NET_QUIET,  // it was; the server is still to be told
    PLI_IMPI_NET_BYE,    // it is being told
    PLI_IMPI_NET_DONE,
    PLI_IMPI_NET_FAILED,
    PLI_IMPI_N_NET_STATE,
};

// Open the listening socket. ERR_SYS: the log says why.
enum pli_impi_err pli_impi_net_create(const struct pli_impi_net_conf *conf,
                                      struct pli_impi_net **out);
void pli_impi_net_destroy(struct pli_impi_net *net); // closes everything at once

uint16_t pli_impi_net_port(const struct pli_impi_net *net); // for IMPI_H_PORT
int pli_impi_net_fd(const struct pli_impi_net *net);        // readable: call poll

// Have poll wake for a descriptor of the caller's too: *is_ready becomes true whenever something
// new can be read from it. A few are enough for all: ERR_ARG.
enum pli_impi_err pli_impi_net_also(struct pli_impi_net *net, int fd, bool *is_ready);

// Be the client: meet the others at `server`, "host:port" or "[address]:port". `host` is our place
// among this client's hosts in `client->info`.
enum pli_impi_err pli_impi_net_start(struct pli_impi_net *net, const char *server,
                                     const struct pli_impi_client_conf *client, uint32_t host);
// Be another host of the client: the job is known. `job` must outlive the net; `host` is global.
enum pli_impi_err pli_impi_net_join(struct pli_impi_net *net, const struct pli_impi_job *job,
                                    uint32_t host);

// The first line about a failure in a world that was joined by a token. A host with a connection to
// the server has asked that and has said what it knows; on another host nothing was said. NULL:
// none.
const char *pli_impi_net_held(const struct pli_impi_net *net);

// Which way goes to another host.
enum pli_impi_net_way {
    PLI_IMPI_WAY_NONE,    // there is no connection
    PLI_IMPI_WAY_LOCAL,   // this machine
    PLI_IMPI_WAY_PLAIN,   // directly, as everybody on the way can read it
    PLI_IMPI_WAY_TLS,     // directly
    PLI_IMPI_WAY_RELAYED, // through the server
};
enum pli_impi_net_way pli_impi_net_way(const struct pli_impi_net *net, uint32_t host);
uint32_t pli_impi_net_links(const struct pli_impi_net *net, uint32_t host); // connections to it

// How many events of other hosts poll has seen: what changes is worth looking again.
uint64_t pli_impi_net_n_event(const struct pli_impi_net *net);

// Do what can be done, waiting up to `timeout_ms` (-1: for ever) for something to do. An error
// means FAILED: a host or the server was lost, broke the protocol, or time ran out.
enum pli_impi_err pli_impi_net_poll(struct pli_impi_net *net, int timeout_ms);

enum pli_impi_net_state pli_impi_net_state(const struct pli_impi_net *net);
struct pli_impi_engine *pli_impi_net_engine(const struct pli_impi_net *net);       // from MESH on
const struct pli_impi_job *pli_impi_net_job(const struct pli_impi_net *net);       // from MESH on
const struct pli_impi_client *pli_impi_net_client(const struct pli_impi_net *net); // NULL: joined

// Something of this client has failed, and the job ends: tell the other clients why, if they joined
// by a token. Waits for a moment. What is wrong with the client but does not end it is told too, if
// it is said twice: a process stops for a moment when somebody looks at its stack.
void pli_impi_net_give_up(struct pli_impi_net *net, const char *why);
void pli_impi_net_trouble(struct pli_impi_net *net, const char *text);

// All procs of this host have finalized: exchange FINI. ERR_ARG unless RUN.
enum pli_impi_err pli_impi_net_finish(struct pli_impi_net *net);
// All hosts of this client are quiet and its procs have exited: tell the server. ERR_ARG unless
// QUIET. A net that joined is done at once.
enum pli_impi_err pli_impi_net_bye(struct pli_impi_net *net);

#endif
