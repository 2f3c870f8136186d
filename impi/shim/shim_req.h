// SPDX-License-Identifier: BSD-3-Clause
// Requests of libimpi, and waiting for them and for native ones.
#ifndef PLI_SHIM_REQ_H
#define PLI_SHIM_REQ_H

#include "shim/shim.h"
#include "shim/shim_packed.h"

enum shim_req_kind { SHIM_SEND, SHIM_RECV, SHIM_COLL }; // SHIM_COLL: see shim_task.h
enum shim_mode { SHIM_STANDARD, SHIM_SYNC, SHIM_BUFFERED };

struct shim_req {
    MPI_Request token; // what the program holds; MPI_REQUEST_NULL: ours alone
    enum shim_req_kind kind;
    bool is_persistent, is_active, is_done, is_free; // is_free: the program has freed it
    struct shim_span *span;
    void *buf;
    MPI_Count count;
    int peer, tag; // peer: rank or MPI_ANY_SOURCE
    MPI_Datatype type;
    bool has_type; // type is held
    uint64_t cid;
    MPI_Status status;
    int err;
    // a send
    enum shim_mode mode;
    uint64_t id, srqid;
    bool is_sent, is_matched, has_cancel;
    // a receive
    MPI_Request native; // it is the native library's now
    bool is_posted, may_local;
    struct shim_room room;
    unsigned char *data; // a message that is coming in, or its own memory for bytes
    uint64_t cap, msglen, handle;
    uint32_t src;
    // a collective
    int (*run)(struct shim_span *s, void *arg);
    void *arg;
    struct shim_req *next, *post_next; // by token; posted
};

struct shim_req *pli_shim_req_create(enum shim_req_kind kind, struct shim_span *span);
int pli_shim_req_show(struct shim_req *r, MPI_Request *out); // give it a token
struct shim_req *pli_shim_req_find(MPI_Request token);       // NULL: native
void pli_shim_req_destroy(struct shim_req *r);
void pli_shim_req_done(struct shim_req *r, int err);
void pli_shim_req_progress(struct shim_pace *pace); // of all that is under way; pace: NULL or of
                                                    // a waiting loop
bool pli_shim_req_test(struct shim_req *r);         // without looking at the agent
int pli_shim_req_wait(struct shim_req *r);          // until done; its error
int pli_shim_req_wait_native(MPI_Request *req, MPI_Status *status);
void pli_shim_req_empty(MPI_Status *status);
void pli_shim_req_copy(MPI_Status *to, const MPI_Status *from); // to may be MPI_STATUS_IGNORE
bool pli_shim_req_is_busy(void);                                // something of ours is under way

#endif
