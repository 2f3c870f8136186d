// SPDX-License-Identifier: BSD-3-Clause
// libimpi: stands between a program and another MPI library, takes the program's MPI_ calls and
// does them with that library's PMPI_ ones; what concerns processes of other clients goes to the
// agent. Compiled with that library's mpicc. All state is the process's own, under one lock that is
// given away wherever a thread may have to wait.
//
// The native MPI_COMM_WORLD holds the client's own processes. A communicator that spans clients is,
// for the native library, one of its members here, in the same order; a table says what it is for
// us.
#ifndef PLI_SHIM_H
#define PLI_SHIM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "impi/coll/impi_map.h"
#include "wire/impi_job.h"

#define PLI_SHIM_API __attribute__((visibility("default")))

struct pli_agent_link;
struct pli_agent_frame;
struct shim_topo;
struct shim_inter;

struct shim_span {
    MPI_Comm handle; // what the program holds
    MPI_Comm local;  // the same members, for our own messages among them
    struct pli_impi_map *map;
    uint32_t *world; // by rank
    int rank, size;
    int *native;  // by rank: native rank or -1
    int *rank_of; // by native rank
    uint64_t cid;
    int client_size, client_colour, host_size, host_colour; // the IMPI_ attributes
    struct shim_topo *topo;                                 // NULL: none
    struct shim_inter *inter;       // NULL: an intracommunicator. Else `world` is the remote group
    int n_user;                     // requests that need it, and the handle
    uint32_t n_later, n_persistent; // operations that may overlap, for their tags
    uint32_t n_copy, n_copied;      // MPI_Comm_idup: begun, and over in the native library
    struct shim_span *next;
};

struct shim {
    bool is_on; // an IMPI job; else every call goes straight to the native library
    int me, n_local;
    uint32_t first; // WORLD rank of native rank 0
    struct pli_impi_job *job;
    struct pli_agent_link *link;
    int agent;                 // process id at native rank 0, else -1
    uint64_t max_cid;          // largest context id in use
    int tag_ub, native_tag_ub; // of the job, of the native library
    int misfit, other_length;  // codes: a number does not fit, a part has a wrong length
    int n_pending;             // requests that are not done
    bool has_threads;          // MPI_THREAD_MULTIPLE
    MPI_Comm self;             // this process alone, for our own messages only
    MPI_Comm setup;            // all of this client, for what makes communicators of some
};
extern struct shim pli_shim;

// shim_lock.c: at most one thread is between these; the same one may enter again. A call of the
// native library that may wait for others is made outside, or it would keep out the thread it waits
// for.
unsigned pli_shim_lock_take(void);
void pli_shim_lock_drop(unsigned *mark);
unsigned pli_shim_lock_leave(void); // all the way out
void pli_shim_lock_return(unsigned depth);
unsigned pli_shim_lock_swap(unsigned depth); // for another stack; the depth of this one
#define PLI_SHIM_ENTER                                                                             \
    __attribute__((cleanup(pli_shim_lock_drop), unused)) unsigned mark_ = pli_shim_lock_take()
#define PLI_SHIM_OUTSIDE(call)                                                                     \
    ({                                                                                             \
        unsigned depth_ = pli_shim_lock_leave();                                                   \
        int rc_ = (call);                                                                          \
        pli_shim_lock_return(depth_);                                                              \
        rc_;                                                                                       \
    })

// shim_init.c
// An error code of class `class` whose text is `text`, which must be a constant.
int pli_shim_fail(int class, const char *text);
// Give `code` to the error handler of `comm` unless it is MPI_SUCCESS; returns it.
int pli_shim_end(MPI_Comm comm, int code);
_Noreturn void pli_shim_die(const char *line);

// shim_link.c: what the agent says and hears
int pli_shim_link_open(void); // start or find the agent, and learn the job
void pli_shim_link_close(void);
bool pli_shim_link_poll(void); // whether anything happened
struct shim_pace {
    unsigned n_idle;
};
void pli_shim_link_pause(struct shim_pace *p, bool is_native); // nothing did; is_native: the native
                                                               // library must be looked at soon
void pli_shim_link_put(const struct pli_agent_frame *f, const void *data, void *own);
void pli_shim_link_flush(void); // wait until all is written
// Memory for data of a message: shared with the agent where it is large, so that it is not copied
// through the socket. Such a place is put as `data`; the agent gives it back. What came of the
// agent or was not put is released.
void *pli_shim_link_room(size_t len);
void pli_shim_link_release(void *p);
// What the agent has put there: `len` bytes at an offset.
void *pli_shim_link_shared(uint64_t offset, uint64_t len);

// shim_span.c
struct shim_span *pli_shim_span_find(MPI_Comm comm); // NULL: native
// `local` is a copy of the handle, for our own messages; MPI_COMM_NULL: it is made, which waits for
// all members in this client.
int pli_shim_span_create(MPI_Comm handle, MPI_Comm local, const uint32_t *world, int size,
                         uint64_t cid, struct shim_span **out);
// An inter-communicator to the group `world`; `handle` has those of both that are in this client,
// by WORLD rank. Takes `inter`.
int pli_shim_span_create_inter(MPI_Comm handle, MPI_Comm local, const uint32_t *world, int size,
                               uint64_t cid, int rank, struct shim_inter *inter,
                               struct shim_span **out);
void pli_shim_span_retain(struct shim_span *s);
void pli_shim_span_release(struct shim_span *s);
void pli_shim_span_forget(struct shim_span *s);                       // the handle is no more
int pli_shim_span_rank_of(const struct shim_span *s, uint32_t world); // -1: not in it

// shim_type.c: datatypes and external32
int pli_shim_type_size(MPI_Datatype type, size_t *ext_out);        // bytes of one, outside
bool pli_shim_type_is_flat(MPI_Datatype type, size_t *native_out); // bytes side by side
int pli_shim_type_pack(const void *buf, MPI_Count count, MPI_Datatype type, unsigned char *out);
int pli_shim_type_unpack(const unsigned char *in, size_t len, void *buf, MPI_Count count,
                         MPI_Datatype type);
// Elements of `size` bytes to and from `packed`, as the native library packs them.
int pli_shim_type_native(bool outward, void *buf, MPI_Count count, MPI_Datatype type, void *packed,
                         MPI_Count size);
// Scalars in `len` bytes of elements of `type`, or MPI_UNDEFINED if that is no whole number of
// them.
int pli_shim_type_elements(MPI_Datatype type, size_t len, MPI_Count *out);
// Memory for `count` elements of `type` laid out as in a user's buffer; *buf_out is the address
// that stands for it, and the result is to be freed.
void *pli_shim_type_buffer(MPI_Count count, MPI_Datatype type, void **buf_out);
int pli_shim_type_hold(MPI_Datatype *type); // keep it although the program may free it
void pli_shim_type_drop(MPI_Datatype *type);
void pli_shim_type_free_derived(MPI_Datatype *type); // one of MPI_Type_get_contents

struct shim_req; // shim_req.h

// shim_msg.c: matching of what comes from other clients, and with what is native
int pli_shim_msg_send(struct shim_req *r, unsigned char *ext, size_t len); // takes `ext`
void pli_shim_msg_post(struct shim_req *r);
bool pli_shim_msg_unpost(struct shim_req *r); // false: it was matched
bool pli_shim_msg_probe(struct shim_span *s, int source, int tag, MPI_Status *status);
struct shim_msg; // of another client, not received yet
struct shim_msg *pli_shim_msg_claim(struct shim_span *s, int source,
                                    int tag);                      // NULL: none is there
void pli_shim_msg_give(struct shim_req *r, struct shim_msg *m);    // r receives it
void pli_shim_msg_give_native(struct shim_req *r, MPI_Message *m); // counted as pending
void pli_shim_msg_match_local(void);
bool pli_shim_msg_has_local(const struct shim_span *s);
void pli_shim_msg_set_status(MPI_Status *st, int source, int tag, uint64_t len);
void pli_shim_msg_set_native(MPI_Status *st); // of a message of this client, not received yet
void pli_shim_msg_frame(const struct pli_agent_frame *f, void *room);
void *pli_shim_msg_room(const struct pli_agent_frame *f);

// shim_p2p.c
int pli_shim_p2p_isend(struct shim_req *r); // starts r as it stands
int pli_shim_p2p_irecv(struct shim_req *r);
int pli_shim_p2p_check_recv(const struct shim_span *s, int source, int tag, int count);
int pli_shim_p2p_make_recv(struct shim_span *s, void *buf, int count, MPI_Datatype type, int source,
                           int tag, struct shim_req **out);      // not started
int pli_shim_p2p_finish(struct shim_req *r, MPI_Status *status); // wait for it and end it

// shim_win.c
void pli_shim_win_progress(void);                         // of all windows that span clients
const void *pli_shim_win_attribute(MPI_Win win, int key); // where it is; NULL: a native one

// shim_free.c: while one of these is under way no datatype and operation is freed
void pli_shim_free_begin(void);
void pli_shim_free_end(void);

// shim_setup.c: a number for a communicator that this process makes up
uint64_t pli_shim_setup_number(void);
// What this process says in an agreement on a number: the largest of all is taken. Numbers that are
// made are taken as they are, and threads may agree on several at once; for those that are counted
// up it is the largest in use.
uint64_t pli_shim_setup_proposal(void);
bool pli_shim_setup_is_made(uint64_t cid);
uint64_t
pli_shim_setup_local(uint64_t cid); // for the group of an inter-communicator of this number
void pli_shim_setup_settle(const struct shim_span *s); // wait until no MPI_Comm_idup is under way
// Wait until all n processes of this client are here, by their native ranks; one of them is this
// one. Where a program has threads it must be done before the native library makes a communicator
// of processes that may still be making others, see docs/design/impi.md.
int pli_shim_setup_meet(const int *rank, int n, int tag);
int pli_shim_setup_meet_all(const struct shim_span *s); // the same for those of a communicator

// shim_comm.c
int pli_shim_comm_place(const uint32_t *world, int n); // of this process; -1: it is not in the list
int *pli_shim_comm_attribute(MPI_Comm comm, int key); // of the job; NULL: one of the native library
int pli_shim_comm_create(struct shim_span *s, const uint32_t *world, int n, MPI_Comm *out);
// The communicator of `world` out of `s`, by a native split over the parent, in which all take
// part. `colour` tells apart the several that may be made at once.
int pli_shim_comm_build(struct shim_span *s, const uint32_t *world, int n, int colour, uint64_t cid,
                        MPI_Comm *out);

// shim_refuse.c: what the protocol cannot carry
int pli_shim_refuse(MPI_Comm comm, const char *text); // calls the error handler
#define PLI_SHIM_CANNOT(call)                                                                      \
    call " cannot be done between different MPIs; split off a communicator of one client "         \
         "(IMPI_CLIENT_COLOR) for it"

// shim_topo.c
struct shim_topo *pli_shim_topo_copy(const struct shim_topo *t); // NULL: no memory

// shim_inter.c
int pli_shim_inter_size(const struct shim_span *s);
MPI_Comm pli_shim_inter_local(const struct shim_span *s); // the local group's communicator
int pli_shim_inter_group(const struct shim_span *s, MPI_Group *out);   // the local one
int pli_shim_inter_rank_of(const struct shim_span *s, uint32_t world); // in the local one, or -1
int pli_shim_inter_dup(struct shim_span *s, MPI_Comm *out);
// MPI_Comm_create, `world` being the new local group, and MPI_Comm_split.
int pli_shim_inter_of_group(struct shim_span *s, const uint32_t *world, int n, MPI_Comm *out);
int pli_shim_inter_split(struct shim_span *s, int colour, int key, MPI_Comm *out);
// An inter-communicator of the same groups, of native copies: `local` of the local group,
// `handle` and `own` of those of both that are in this client.
int pli_shim_inter_copy(struct shim_span *s, MPI_Comm local, MPI_Comm local_own, MPI_Comm handle,
                        MPI_Comm own, uint64_t cid, uint64_t local_cid);
bool pli_shim_inter_is_low(
    const struct shim_span *s);                // the local group's first process comes first
int pli_shim_inter_leave(struct shim_span *s); // all of both sides let go of it
void pli_shim_inter_destroy(struct shim_inter *i);
// MPI_SUCCESS, or an error if `s` is an inter-communicator: for what is not done on those.
int pli_shim_inter_refuse(const struct shim_span *s);

// shim_group.c
struct shim_group {
    int n;
    uint32_t *world;
};
int pli_shim_group_show(uint32_t *world, int n, MPI_Group *out);     // takes `world`
int pli_shim_group_list(MPI_Group group, struct shim_group *out);    // a copy, to be freed
int pli_shim_group_native(MPI_Comm comm, MPI_Group g, MPI_Group *o); // for a native communicator

#endif
