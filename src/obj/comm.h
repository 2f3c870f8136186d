// SPDX-License-Identifier: BSD-3-Clause
// Communicators: a group, a context, and the endpoint of this process that is a member.
#ifndef PLI_OBJ_COMM_H
#define PLI_OBJ_COMM_H

#include "base/err.h"
#include "base/list.h"
#include "obj/group.h"
#include "obj/handle.h"

#include <mpi.h>
#include <stdbool.h>

struct pli_attr_list;
struct pli_bsend;
struct pli_coll;
struct pli_endpoint;
struct pli_errhandler;
struct pli_info;
struct pli_session;
struct pli_impi_span;
struct pli_topo;

// Traffic of one communicator that must never match each other: the low bits of a context.
enum pli_chan { PLI_CHAN_P2P, PLI_CHAN_COLL, PLI_CHAN_PART, PLI_CHAN_SETUP };

enum { PLI_TAG_UB = 0x7fffffff };

// The next version of the world is there: collectives must be counted; blocking calls return an
// error.
enum pli_comm_left { PLI_COMM_LEAVING = 1, PLI_COMM_LEFT };

struct pli_comm {
    struct pli_obj obj;
    int rank, size; // mine and how many, in the local group
    int n_peer;     // ranks that can be named: size, or of the remote group
    bool is_inter;
    bool is_freed;    // the user freed it; it lives until its operations end
    bool is_span;     // some of its ranks belong to another MPI job, see obj/impi_span.h
    uint64_t context; // low two bits are the channel and zero here
    struct pli_endpoint *ep;
    struct pli_group *group;
    struct pli_group *remote; // == group unless is_inter
    struct pli_comm *local;   // intercommunicators: an intracommunicator of the local group
    struct pli_comm *outer;   // of that one: the intercommunicator, until it is freed
    struct pli_errhandler *errhandler;
    struct pli_attr_list *attrs;
    struct pli_info *info;
    struct pli_session *session; // NULL: world model; the group holds it
    struct pli_list in_session;  // among the session's communicators
    struct pli_topo *topo;
    struct pli_coll *coll;      // made at the first collective
    struct pli_impi_span *span; // made on first use: its members by MPI job
    struct pli_bsend *buffer;   // attached buffer
    _Atomic uint32_t n_left;    // requests on it that the user freed and that are under way
    int32_t n_spare;      // references kept for requests to come; guarded by the endpoint's lane
    uint32_t n_coll;      // collectives begun, for their tags
    uint32_t n_coll_init; // persistent collectives made, for theirs
    uint32_t n_later;     // those that may overlap others, on one that spans MPI jobs
    uint32_t n_context;   // contexts made with this communicator as parent's leader
    uint32_t hints;       // mpi_assert_* bits
    bool is_holding;      // counted at spawned processes of other worlds, see comm_hold.h
    struct pli_list all;  // among all communicators of the process
    // See ft/failure.h.
    _Atomic int stop_err;     // enum pli_err for which operations on it fail, PLI_OK: none
    _Atomic int n_failed;     // members that died
    _Atomic int n_acked;      // of those, how many the user has acknowledged
    uint32_t n_agreement;     // agreements of the members begun here
    uint32_t n_agreed;        // and those whose results are known; guarded by the lane's lock
    _Atomic uint32_t n_begun; // collectives, where an error reports a resize
    _Atomic int is_left;      // enum pli_comm_left, in the same case
    // Messages of the program, while a tool asks; guarded by the endpoint's lane.
    struct {
        uint64_t sent, sent_bytes, received, received_bytes;
        _Atomic uint64_t collectives;
    } traffic;
    char name[MPI_MAX_OBJECT_NAME];
};

// All communicators of the process, by their links. For debuggers, which look at it while the
// process stands still.
extern const struct pli_list *const pli_comm_all;

// Whether its collectives cannot complete any more.
static inline bool pli_comm_is_stopped(const struct pli_comm *c)
{
    return __builtin_expect(atomic_load_explicit(&c->n_failed, memory_order_relaxed) != 0 ||
                                atomic_load_explicit(&c->stop_err, memory_order_relaxed) != 0,
                            0);
}

// Say where communicators keep their error handler and attributes. Context: start-up only.
void pli_comm_init(void);

// A communicator in which endpoint `ep`, whose identity is `me`, is a member: its rank is that of
// `me` in the group. Keeps copies of the groups; starts with the initial error handler and no name.
// remote: NULL for an intracommunicator. One reference. The caller's reference to the endpoint goes
// to the communicator on success. Context: any thread.
enum pli_err pli_comm_create(struct pli_endpoint *ep, struct pli_id me, struct pli_group *group,
                             struct pli_group *remote, uint64_t context, struct pli_comm **out);
struct pli_comm *pli_comm_retain(struct pli_comm *c);
// Make `local`, of which no user has a handle, the intracommunicator of the local group; the
// caller's reference goes to `inter`.
void pli_comm_adopt(struct pli_comm *inter, struct pli_comm *local);

// The last one destroys, and takes a predefined communicator out of the handle table. Attributes
// must be gone by then: MPI_Comm_free calls pli_attr_delete_all while the handle still works.
void pli_comm_release(struct pli_comm *c);

// Have fn called for every communicator about to be destroyed, so that rooms above can drop what
// they keep in it (topo, coll, buffer, ep). Context: start-up only.
typedef void (*pli_comm_end_fn)(struct pli_comm *c);
void pli_comm_on_end(pli_comm_end_fn fn);

// Have fn called for every communicator that was made. Context: start-up only.
void pli_comm_on_begin(pli_comm_end_fn fn);
// Call fn for every communicator there is, which it must not destroy. Context: any thread.
void pli_comm_visit(void (*fn)(struct pli_comm *c, void *arg), void *arg);
// Its handle names no communicator any more for calls that communicate; what other calls find is
// pli_comm_any. Context: any thread.
void pli_comm_bar(struct pli_comm *c);
void pli_comm_unbar(struct pli_comm *c);
struct pli_comm *pli_comm_any(MPI_Comm h);
// Its context, which was to come later, never comes: calls on it return err. Context: any thread.
void pli_comm_abandon(struct pli_comm *c, enum pli_err err);

// Call fn for every communicator there is; it may destroy that one. Context: no other thread is in
// MPI.
void pli_comm_each(void (*fn)(struct pli_comm *c, void *arg), void *arg);
// It belongs to the process that this one was forked from: its handle can be freed and nothing
// else, and nothing of it that other processes see is touched. Context: as above.
void pli_comm_lose(struct pli_comm *c);

// MPI_Comm_set_errhandler and MPI_Comm_get_errhandler.
enum pli_err pli_comm_set_errhandler(struct pli_comm *c, struct pli_errhandler *e);
enum pli_err pli_comm_get_errhandler(struct pli_comm *c, struct pli_errhandler **out);

// Names are cut to MPI_MAX_OBJECT_NAME - 1 characters.
enum pli_err pli_comm_set_name(struct pli_comm *c, const char *name);

// "communicator MPI_COMM_WORLD", "the communicator" or "the communicator (endpoint rank 4)", for
// messages.
const char *pli_comm_say(const struct pli_comm *c);

// What cannot be done with processes of another MPI is refused: PLI_ERR_COMM with a sentence.
enum pli_err pli_comm_refuse_span(const struct pli_comm *c, const char *what);

#endif
