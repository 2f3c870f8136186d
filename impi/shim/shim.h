// SPDX-License-Identifier: BSD-3-Clause
// libimpi: stands between a program and another MPI library, takes the program's MPI_ calls and
// does them with that library's PMPI_ ones; what concerns processes of other clients goes to the
// agent. Compiled with that library's mpicc. All state is the process's own; the library allows one
// thread at a time (MPI_THREAD_SERIALIZED).
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
#include "coll/impi_coll.h"
#include "coll/impi_map.h"
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
    struct shim_inter *inter; // NULL: an intracommunicator. Else `world` is the remote group
    int n_user;               // requests that need it, and the handle
    struct shim_span *next;
};

struct shim {
    bool is_on; // an IMPI job; else every call goes straight to the native library
    int me, n_local;
    uint32_t first; // WORLD rank of native rank 0
    struct pli_impi_job *job;
    struct pli_agent_link *link;
    int agent;        // process id at native rank 0, else -1
    uint64_t max_cid; // largest context id in use
    int tag_ub;
    int n_pending; // requests that are not done
};
extern struct shim pli_shim;

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

// shim_span.c
struct shim_span *pli_shim_span_find(MPI_Comm comm); // NULL: native
int pli_shim_span_create(MPI_Comm handle, const uint32_t *world, int size, uint64_t cid,
                         struct shim_span **out);
// An inter-communicator to the group `world`; `handle` has those of both that are in this client,
// by WORLD rank. Takes `inter`.
int pli_shim_span_create_inter(MPI_Comm handle, const uint32_t *world, int size, uint64_t cid,
                               int rank, struct shim_inter *inter, struct shim_span **out);
void pli_shim_span_retain(struct shim_span *s);
void pli_shim_span_release(struct shim_span *s);
void pli_shim_span_forget(struct shim_span *s);                       // the handle is no more
int pli_shim_span_rank_of(const struct shim_span *s, uint32_t world); // -1: not in it

// shim_type.c: datatypes and external32
int pli_shim_type_size(MPI_Datatype type, size_t *ext_out); // bytes of one, outside
int pli_shim_type_pack(const void *buf, int count, MPI_Datatype type, unsigned char *out);
int pli_shim_type_unpack(const unsigned char *in, size_t len, void *buf, int count,
                         MPI_Datatype type);
// Scalars in `len` bytes of elements of `type`, or MPI_UNDEFINED if that is no whole number of
// them.
int pli_shim_type_elements(MPI_Datatype type, size_t len, MPI_Count *out);
// Memory for `count` elements of `type` laid out as in a user's buffer; *buf_out is the address
// that stands for it, and the result is to be freed.
void *pli_shim_type_buffer(int count, MPI_Datatype type, void **buf_out);
int pli_shim_type_hold(MPI_Datatype *type); // keep it although the program may free it
void pli_shim_type_drop(MPI_Datatype *type);

struct shim_req; // shim_req.h

// shim_msg.c: matching of what comes from other clients, and with what is native
int pli_shim_msg_send(struct shim_req *r, unsigned char *ext, size_t len); // takes `ext`
void pli_shim_msg_post(struct shim_req *r);
bool pli_shim_msg_unpost(struct shim_req *r); // false: it was matched
bool pli_shim_msg_probe(struct shim_span *s, int source, int tag, MPI_Status *status);
void pli_shim_msg_match_local(void);
bool pli_shim_msg_has_local(const struct shim_span *s);
void pli_shim_msg_set_status(MPI_Status *st, int source, int tag, uint64_t len);
void pli_shim_msg_frame(const struct pli_agent_frame *f, void *room);
void *pli_shim_msg_room(const struct pli_agent_frame *f);

// shim_p2p.c
int pli_shim_p2p_isend(struct shim_req *r); // starts r as it stands
int pli_shim_p2p_irecv(struct shim_req *r);

// shim_play.c: collectives on bytes of external32
int pli_shim_play_barrier(struct shim_span *s);
int pli_shim_play_bcast(struct shim_span *s, int root, void *buf, size_t len);
int pli_shim_play_gather(struct shim_span *s, int root, const void *mine, size_t len, void *all);
int pli_shim_play_gatherv(struct shim_span *s, int root, const void *mine, size_t len,
                          unsigned char *const *part, const size_t *lens);
int pli_shim_play_scatter(struct shim_span *s, int root, const void *all, size_t len, void *mine);
int pli_shim_play_scatterv(struct shim_span *s, int root, unsigned char *const *part,
                           const size_t *lens, void *mine, size_t len);
int pli_shim_play_alltoall(struct shim_span *s, bool is_v, unsigned char *const *out,
                           const size_t *out_len, unsigned char *const *in, const size_t *in_len);
typedef int (*pli_shim_fold_fn)(void *arg, const unsigned char *in, size_t len, bool is_first);
typedef int (*pli_shim_show_fn)(void *arg, unsigned char *out); // the result so far
int pli_shim_play_fold(struct shim_span *s, enum pli_impi_coll_op op, int root, size_t len,
                       pli_shim_fold_fn fold, pli_shim_show_fn show, void *arg);
int pli_shim_play_max(struct shim_span *s, uint64_t *max); // the largest of all members
int pli_shim_play_cid(struct shim_span *s, unsigned n, uint64_t *cid_out);
// Bytes to and from ranks outside any plan, on the context of collectives: all are sent, then all
// received, in the order of the lists.
struct shim_piece {
    int rank;
    void *data;
    size_t len;
};
int pli_shim_play_pieces(struct shim_span *s, int tag, const struct shim_piece *out, int n_out,
                         const struct shim_piece *in, int n_in);
int pli_shim_play_trade(struct shim_span *s, int rank, int tag, const void *out, size_t out_len,
                        void *in, size_t in_len);
struct shim_parts; // one part of each for every rank of the other group
int pli_shim_play_across(struct shim_span *s, bool is_v, const struct shim_parts *out,
                         const struct shim_parts *in);

// shim_comm.c
int pli_shim_comm_create(struct shim_span *s, const uint32_t *world, int n, MPI_Comm *out);

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
int pli_shim_inter_group(const struct shim_span *s, MPI_Group *out); // the local one
int pli_shim_inter_dup(struct shim_span *s, MPI_Comm *out);
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
