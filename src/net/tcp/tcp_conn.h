// SPDX-License-Identifier: BSD-3-Clause
// The way to a lane of a process that shares no memory with this one: a TCP connection, made when
// there is something to say, and what waits to be written to it. All of this is guarded by the
// lock of the lane it belongs to, and so are all functions, unless they say otherwise.
#ifndef PLI_NET_TCP_CONN_H
#define PLI_NET_TCP_CONN_H

#include "base/err.h"
#include "base/list.h"
#include "net/tcp/frame_wire.h"
#include "msg/lane.h"
#include "net/tcp/reqid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_caller;
struct pli_dial;
struct pli_epollset;
struct pli_ucxlane;
struct pli_ucxlink;

// Something with a descriptor that the lane watches.
struct pli_eye {
    int fd;       // -1: closed
    bool is_bare; // not in the epoll: looked at at every poll
    uint64_t key; // in net->set, 0: it is not there
    void (*see)(struct pli_eye *e, uint32_t events);
    struct pli_netlane *net;
};

// One connection, and the frame that is coming in over it.
struct pli_sock {
    struct pli_eye eye; // first
    struct pli_list at; // in net->socks, or in net->dead until nobody can look at it any more
    struct pli_link *link;
    bool is_armed;   // waits for room to write
    uint32_t n_head; // bytes of the head, while it is not complete
    struct pli_frame frame;
    uint64_t left;             // bytes behind the head still to come
    char *to;                  // where they go; NULL: through recv's cursor, or nowhere
    struct pli_request *recv;  // for which receive, if that is known
    struct pli_parcel *parcel; // or kept aside here
    char *worker;              // or the address of a worker
    char *rest;                // read, and to be looked at when the other connection has ended
    size_t n_rest;
    struct pli_secure *secure; // NULL: as they are
};

enum pli_link_state {
    PLI_LINK_IDLE,    // not connected: nothing was to be said
    PLI_LINK_DIALING, // being connected by us
    PLI_LINK_UP,
    PLI_LINK_LOST, // it broke; requests fail soon, unless the launcher ends the job first
    PLI_LINK_DEAD, // they did
    PLI_N_LINK_STATE
};

struct pli_link {
    struct pli_conn *conn;
    struct pli_netlane *net;
    enum pli_link_state state;
    bool is_full;            // the other side wants offers only
    bool has_left;           // the other side said good bye: no wonder when it hangs up
    bool is_gone;            // it has: nobody is there any more
    bool is_open_ended;      // lost between two frames: a connection that it made may still come
    bool is_deaf;            // it takes no more; what it said before is still to be read
    bool is_unsure;          // what was written may not have arrived at the other host yet
    struct pli_sock *out;    // written to; others of this link are only read
    struct pli_sock *old;    // made by the other side, which was asked to write to `out` instead
    struct pli_sock *next;   // made by the other side, which asked us to write to it
    struct pli_list at;      // in net->links
    uint32_t n_asked;        // receives whose data is to come
    struct pli_list busy;    // in net->busy while there is something to write
    struct pli_list notes;   // answers to be written, before all else
    struct pli_list streams; // sends whose receiver has asked for the data
    bool by_ucx;             // messages go by UCX, now or as soon as they can
    struct pli_ucxlink *ucx; // NULL: the lane does not use UCX
    struct pli_eye dial_eye;
    struct pli_dial *dial;
    uint64_t lost_ns;
    uint64_t died_ns;  // its process died, and what it had sent is waited for; 0: it lives
    enum pli_err fate; // why requests fail, once it is dead
    char why[160];     // it was lost
    // The frame that is being written. Pending sends are in conn->pending.
    struct pli_frame head;
    uint32_t head_left;
    const char *body;
    uint64_t body_left, body_len;
    char *bounce;            // packed data of a layout with holes
    struct pli_request *req; // the send it belongs to, NULL: a note
};

// The network side of a lane.
struct pli_netlane {
    struct pli_lane *lane;
    struct pli_epollset *set;
    struct pli_eye bell, door;
    struct pli_list links, busy, socks, dead;
    struct pli_sock *hot; // gave the last message
    uint32_t n_hot;       // messages it gave in a row
    uint32_t n_look;      // since the last look at all of them
    uint32_t every, skip; // look at sockets only every so many polls: shared memory is busy
    uint32_t n_sock, n_dial, n_lost;
    uint32_t n_dying;               // links whose process died, and which are not dead yet
    uint32_t n_quick;               // receives since the last look that did not look here
    uint64_t judged_ns, starved_ns; // links were; the door needs a free descriptor since then
    bool is_judged, is_crowded; // links are gone through: destroy none; too many are at the door
    _Atomic int must_look;      // any thread: do not rely on `hot`
    _Atomic int watcher;        // a thread sleeps on the descriptors
    _Atomic int stirs;       // the others sleep on this word, which changes when they should look
    char *room;              // to read into
    struct pli_ucxlane *ucx; // NULL: it does not use UCX
    struct pli_ticket_table tickets;
};

// link.c: a link for a conn that was just made. False: no memory.
bool pli_link_create(struct pli_netlane *net, struct pli_conn *c);
// Its end, when the other side has left and nothing is under way; false: not yet.
bool pli_link_destroy(struct pli_link *l);
// pli_link_start and pli_link_unsend are in transfer.h.
void pli_link_note(struct pli_link *l, int kind, uint64_t w0, uint64_t w1, uint64_t w2);
// The same, in any case over the connection itself.
void pli_link_say(struct pli_link *l, int kind, uint64_t w0, uint64_t w1, uint64_t w2);
// The receiver asks for `want` bytes of an offered send, to be named by its own ticket.
void pli_link_stream(struct pli_link *l, struct pli_request *send, uint64_t ticket, uint64_t want,
                     bool in_pieces);
// The data of a stream is out.
void pli_link_end_stream(struct pli_link *l, struct pli_request *send);
// Fill the head of the first frame of a send; true: the data goes with it.
bool pli_link_address(struct pli_link *l, struct pli_request *r, struct pli_frame *head);
// The next n bytes of a send, from byte `from`: where they are, or packed into *bounce_out.
const char *pli_link_data(struct pli_request *r, uint64_t from, uint64_t n, char **bounce_out);
int pli_link_push(struct pli_link *l); // write what can be written; how much was done
bool pli_link_has_unsent(const struct pli_link *l);
// The other side has left in good order. What it would have kept and never read is done with, as in
// shared memory; false: something waits for an answer that will not come.
bool pli_link_forget(struct pli_link *l);

// link_life.c: connecting, and losing the connection.
void pli_link_dial(struct pli_link *l);
void pli_link_adopt(struct pli_netlane *net, const struct pli_caller *c); // takes the descriptor
void pli_link_lose(struct pli_link *l, const char *why);
// Its descriptor is no socket: a checkpoint was made. False: no other connection goes on for it.
bool pli_link_again(struct pli_sock *s);
void pli_link_left(struct pli_link *l);  // all it said before it left has come after all
void pli_link_moved(struct pli_sock *s); // it has carried its last frame
void pli_link_drain(struct pli_link *l); // its process died: read all that it had sent
void pli_link_hang_up(struct pli_sock *s, const char *why); // the other side closed, or it broke
// Dials that take too long, links lost long enough ago, hosts that do not answer. Now and then.
void pli_link_judge(struct pli_netlane *net);
// link_cull.c: withdraw what can never complete, after bad news; has_died: its process did.
void pli_link_cull(struct pli_link *l, bool has_died);

// ucxlane.c, of core/ucxlink.h: the connection of a link ended, look once more; is its way broken?
void pli_ucxlane_finish(struct pli_link *l);
void pli_ucxlane_judge(struct pli_link *l, uint64_t now);
bool pli_ucxlane_is_read(const struct pli_link *l); // nothing more can come by UCX
void pli_ucxcalm_retire(bool is_over);     // MPI is being left; UCX before, where images are made
void pli_ucxlink_bury(struct pli_link *l); // nothing is under way any more when it returns

// intake.c: read what is there. How many messages or pieces.
int pli_intake_read(struct pli_sock *s);
// However it came: a message of which all is here, or a note about one. False: the link is lost.
void pli_intake_arrive(struct pli_link *l, const struct pli_frame *f, const char *body);
bool pli_intake_note(struct pli_link *l, const struct pli_frame *f);
// The other side says what it must not. False.
bool pli_intake_refuse(struct pli_link *l, const char *what);
void pli_intake_resume(struct pli_sock *s); // the other connection has ended
void pli_intake_feed(struct pli_sock *s, const char *data, size_t n); // was read elsewhere
void pli_intake_drop(struct pli_sock *s); // the frame under way will not be complete
void pli_intake_see(struct pli_eye *e, uint32_t events);
enum { PLI_INTAKE_ROOM = 128 * 1024 };

// netlane.c: make the network side of a lane, if the job has one; drop it in a forked process.
enum pli_err pli_netlane_open(struct pli_lane *lane);
void pli_netlane_leave(struct pli_lane *lane);
// Shared memory is busy: look at the network less often.
void pli_netlane_defer(struct pli_netlane *net);
// Look at the connections. How much was done.
int pli_netlane_poll(struct pli_netlane *net);
bool pli_netlane_watch(struct pli_netlane *net, struct pli_eye *e, uint32_t events);
void pli_netlane_unwatch(struct pli_netlane *net, struct pli_eye *e); // before its fd is closed
void pli_netlane_heat(struct pli_netlane *net, struct pli_sock *s);   // look at it at every poll
void pli_netlane_hold(struct pli_netlane *net, bool is_full);         // tell all links
void pli_netlane_bye(struct pli_netlane *net);                        // say good bye
bool pli_netlane_has_unsent(struct pli_netlane *net); // something is still to go out
// The process is parked, or goes on. Context: pli_park_on_move.
void pli_netlane_park(struct pli_netlane *net, bool is_leaving);
// Going to sleep: have the bell, the door and all connections wake us. Context: no lock held.
void pli_netlane_arm(struct pli_netlane *net);
// Sleep at these lanes: one thread of a lane waits for its descriptors, others for that one to stir
// them; `stirs` was read from the first lane before the caller's last look. True: this thread
// waited for descriptors, and must stir the others before it goes its way.
bool pli_netlane_sleep(struct pli_netlane *const nets[], int n, int stirs, uint64_t timeout_ns);
// How long a sleep may last for the sake of the network, 0: for ever.
uint64_t pli_netlane_patience(struct pli_netlane *net);

#endif
