// SPDX-License-Identifier: BSD-3-Clause
// Layouts that the files of the socket layer share.
#ifndef PLI_IMPI_NET_PRIV_H
#define PLI_IMPI_NET_PRIV_H

#include "engine/impi_net.h"
#include "engine/impi_stream.h"

enum {
    MAX_PENDING = 256,  // connections that have not yet said who they are
    PENDING_MS = 10000, // and their time to do so
    MAX_IOV = 32,
    READS_PER_TURN = 16, // from one host, before the others have theirs
    RETRY_MS = 100,      // after accept failed for want of descriptors
    REDIAL_MS = 200,     // after the server did not listen
    BEAT_MS = 1000,      // the server asks as often for a sign of life
    SILENT_MS = 4000,    // after which the user is told that it does not
    OVER_MS = 700,       // for the server to say what has become of a host that was lost
    TRY_MS = 3000,       // to reach a host, where the server can relay
    MAX_ALSO = 4,        // descriptors of the embedding program
    MAX_CONN = PLI_IMPI_MAX_LINKS,
    STRIPE = 64 * 1024, // bytes at most that follow each other on one of several connections
    STRIPE_HEAD = 8,    // their number, from 0, and how many they are
    HELLO_LINK = 4,     // which of how many connections it is
    HELLO_MAX = PLI_IMPI_HELLO + PLI_IMPI_TOKEN + HELLO_LINK,
};

enum net_key {
    KEY_LISTEN,
    KEY_SERVER,
    KEY_HOST,
    KEY_PENDING,
    KEY_RELAY,
    KEY_ALSO
}; // epoll data: key << 32 | index

struct conn { // a connection to a host
    struct pli_impi_stream s;
    bool is_dialing; // connect has not come back
    bool has_ended;  // what it had was read, and it is not watched any more
    uint32_t events; // that are watched
    unsigned char hello[HELLO_MAX];
    uint32_t n_hello, len_hello; // bytes of it still to be sent, and in all
    // one of several:
    unsigned char head[STRIPE_HEAD]; // of the stripe that comes, as far as it has
    uint32_t n_head, seq;
    size_t in_left;      // bytes of that stripe that are still to come
    unsigned char *tail; // of a stripe that goes: what the socket has not taken
    size_t n_tail, len_tail;
    bool is_full;     // takes nothing now
    bool has_hung_up; // behind the stripe that it has, whose turn is to come
};

struct link { // to one host
    struct conn conn[MAX_CONN];
    uint32_t n_conn, n_up;    // its connections, 0: not known yet, and those that are established
    uint32_t in, out;         // the connection to look at first
    uint32_t seq_in, seq_out; // number of the next stripe
    bool is_open;             // all are established
    bool has_out;             // more to write than the connections take
    bool is_dirty;            // on the list of those to be flushed
    bool is_relayed;          // by the server
    uint64_t try_ms; // no longer than that is it tried to reach it; 0: as long as the system does
};

struct pending {              // a connection whose host is not known yet
    struct pli_impi_stream s; // without a socket: free
    unsigned char hello[HELLO_MAX];
    uint32_t n_hello;
    bool is_unknown; // whether it speaks TLS
    bool is_relayed;
    uint64_t deadline_ms;
};

struct pli_impi_net {
    struct pli_impi_net_conf conf;
    struct pli_impi_log outer; // where lines go that are not held back
    char held[700];            // the first line about a failure, until the server has said more
    char trouble[160];         // what was wrong with this client when it was looked at last
    enum pli_impi_net_state state;
    enum pli_impi_err err;
    int epoll_fd, listen_fd;
    struct pli_impi_tls *tls;        // NULL: plain, or not known yet
    struct pli_impi_tls *server_tls; // with the key, if the server can do it; NULL: without
    bool is_key_proved;              // the server has chosen that
    struct pli_impi_stream server;
    uint16_t port;
    uint64_t deadline_ms;     // until RUN; 0: none
    char *where;              // the server
    uint64_t server_ms;       // no longer than that is the server waited for
    uint64_t redial_ms;       // it did not listen: try again then; 0: it need not be tried
    bool has_said;            // that it is waited for
    uint64_t accept_ms;       // accept again from then on; 0: accepting
    uint64_t n_beat, beat_ms; // of the server: how many have come, and when the last one
    bool is_server_silent;    // the user was told
    uint64_t judge_ms;        // look which hosts have not answered; 0: none has to
    bool is_server_dialing, has_server_out;
    struct pli_impi_client *client;
    uint32_t host_of_client, host; // host: global
    const struct pli_impi_job *job;
    struct pli_impi_engine *engine;
    struct link *link;    // by host
    struct relay **relay; // by host: connections that the server is to relay; NULL: none yet
    uint32_t *dirty;      // hosts with something to write
    uint32_t n_dirty;
    struct pending pending[MAX_PENDING];
    uint64_t n_event;     // of other hosts
    bool *also[MAX_ALSO]; // set when the descriptor is readable
    uint32_t n_also;
};

// impi_net.c
uint64_t pli_impi_net_clock(void); // milliseconds
enum pli_impi_err pli_impi_net_fail(struct pli_impi_net *net, enum pli_impi_err err);
enum pli_impi_err pli_impi_net_watch(struct pli_impi_net *net, int fd, enum net_key key,
                                     uint32_t index, bool out);
enum pli_impi_err pli_impi_net_rewatch(struct pli_impi_net *net, int fd, enum net_key key,
                                       uint32_t index, bool out);
// Other events than before, of a connection to a host.
enum pli_impi_err pli_impi_net_watch_conn(struct pli_impi_net *net, int fd, uint32_t host,
                                          uint32_t conn, uint32_t events);
// Watch a connection no more, and close it.
void pli_impi_net_drop(struct pli_impi_net *net, struct pli_impi_stream *s);

// impi_net_relay.c
bool pli_impi_net_relay_may(const struct pli_impi_net *net); // there is a server that does it
enum pli_impi_err pli_impi_net_relay_begin(struct pli_impi_net *net, uint32_t host, bool is_called);
enum pli_impi_err pli_impi_net_relay_event(struct pli_impi_net *net, uint32_t host);
void pli_impi_net_relay_close(struct pli_impi_net *net);

// impi_net_mesh.c: the connections between hosts
enum pli_impi_err
pli_impi_net_mesh_begin(struct pli_impi_net *net); // dial, and take waiting pending connections
uint32_t pli_impi_net_mesh_missing(const struct pli_impi_net *net); // a host; UINT32_MAX: none
// The server relays between this host and another: goes on as if they were connected.
enum pli_impi_err pli_impi_net_mesh_relayed(struct pli_impi_net *net, uint32_t host,
                                            struct pli_impi_stream s, bool is_called);
void pli_impi_net_mesh_accept(struct pli_impi_net *net);
void pli_impi_net_mesh_pending(struct pli_impi_net *net, uint32_t i);
// A connection to a host that is not open yet.
enum pli_impi_err pli_impi_net_mesh_event(struct pli_impi_net *net, uint32_t host, uint32_t conn);
int pli_impi_net_mesh_tick(struct pli_impi_net *net,
                           uint64_t now_ms); // ms to the next deadline or -1
void pli_impi_net_mesh_dismiss(
    struct pli_impi_net *net); // pending connections that are no host of the job
void pli_impi_net_mesh_close(struct pli_impi_net *net);

// impi_net_link.c: the bytes that go over them
enum pli_impi_err pli_impi_net_link_open(struct pli_impi_net *net, uint32_t host); // all are there
bool pli_impi_net_link_is_there(const struct pli_impi_net *net, uint32_t host);    // or on its way
enum pli_impi_err pli_impi_net_link_watch(struct pli_impi_net *net, uint32_t host);
enum pli_impi_err pli_impi_net_link_event(struct pli_impi_net *net, uint32_t host, uint32_t conn,
                                          uint32_t events);
void pli_impi_net_link_mark(void *net, uint32_t host); // there is something to write
void pli_impi_net_link_flush(struct pli_impi_net *net);
void pli_impi_net_link_tick(struct pli_impi_net *net, uint64_t now_ms);
bool pli_impi_net_link_has_tail(const struct pli_impi_net *net, uint32_t host); // still to be sent
void pli_impi_net_link_drop(struct pli_impi_net *net, uint32_t host);

#endif
