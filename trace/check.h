// SPDX-License-Identifier: BSD-3-Clause
// The checker of mpiexec --check: what its wrappers call around each MPI call.
#ifndef PLI_TRACE_CHECK_H
#define PLI_TRACE_CHECK_H

#include "glue/observe.h"
#include "glue/observe_note.h"
#include "trace/line.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden) // calls within the library are short

#define PLI_CHECK_FN(name, text, kind) PLI_CHECK_FN_##name,
enum pli_check_fn {
#include "trace/check_functions.def"
    PLI_CHECK_N_FN
};
#undef PLI_CHECK_FN
#define PLI_CHECK_FN(name, text, kind)
#define PLI_CHECK_SYM(name, text) PLI_CHECK_SYM_##name,
enum pli_check_sym {
#include "trace/check_functions.def"
    PLI_CHECK_N_SYM
};
#undef PLI_CHECK_FN
#undef PLI_CHECK_SYM

enum pli_check_class {
    PLI_CHECK_SEND,
    PLI_CHECK_RECV,
    PLI_CHECK_BOTH,
    PLI_CHECK_PROBE,
    PLI_CHECK_COLL,
    PLI_CHECK_RMA,
    PLI_CHECK_IO,
    PLI_CHECK_IO_END, // of a split collective
    PLI_CHECK_PARTS,
    PLI_CHECK_LIFE,
    PLI_CHECK_OTHER
};

// The program's memory that MPI has until a request is complete, where messages have no part in it.
struct pli_check_memory {
    const char *begin;
    size_t n;
    bool is_into;       // MPI writes there
    MPI_Request marked; // MPI_Pready: these partitions of it, in a list or from the first on
    int part, n_part;   // of MPI_Psend_init all
    const int *parts;
};

// One call: what its arguments mean. A buffer without a datatype is not looked at.
struct pli_check_call {
    enum pli_check_fn function;
    void *site;
    MPI_Comm comm; // NULL: none
    MPI_Win win;
    const void *sendbuf;
    MPI_Count sendcount;
    MPI_Datatype sendtype;
    void *recvbuf;
    MPI_Count recvcount;
    MPI_Datatype recvtype;
    int dest, source, sendtag, recvtag, root;
    MPI_Op op;
    MPI_Request *request; // a split collective of a file has the handle of the file
    MPI_Status *status;
    const int *flag;
    MPI_Message *message;
    MPI_Message message_before; // what *message was
    int target_rank, unit, lock_type;
    MPI_Comm *comm_freed;
    MPI_Win *win_made; // of a call that makes or frees a window
    MPI_Aint target_disp;
    MPI_Count target_count;
    MPI_Datatype target_type;
    // What was found out before the call.
    bool is_outer;   // not made by the library or a callback inside another call
    bool is_counted; // among the threads inside MPI
    struct pli_check_posted *posted;
    struct pli_check_receive *receive; // NULL: into the program's buffer
    uint64_t sum;
    struct pli_check_memory *memory; // of files, nonblocking collectives and partitions
    struct pli_check_parts *parts;   // of a partitioned receive; NULL: not compared
    bool has_sent;                   // the note of a send
    bool is_self;                    // a send to the rank itself, which has no receive for it
    unsigned char sent[PLI_OBSERVE_NOTE];
};

enum { PLI_CHECK_SAY = 512 };

// What the library answers; the checker is not linked with it.
extern struct pli_check_library {
    bool (*get_process)(struct pli_observe_process *out);
    bool (*get_comm)(MPI_Comm comm, struct pli_observe_comm *out);
    bool (*reaches)(MPI_Comm comm, int rank);
    bool (*send)(MPI_Comm comm, int dest, int tag, enum pli_observe_about about, const void *note);
    enum pli_observe_taken (*take)(MPI_Comm comm, int source, int tag, enum pli_observe_about about,
                                   void *note);
    bool (*wait)(MPI_Comm comm, int source, int tag, void *note);
    bool (*is_here)(MPI_Comm comm, int source, int tag);
    int (*other)(MPI_Comm comm, int tag, int source);
    bool (*left)(MPI_Comm comm, bool may_fetch, int *source, int *tag, void *note);
    void (*drop)(MPI_Comm comm, bool may_fetch);
    bool (*type)(MPI_Datatype type, struct pli_observe_type *out, struct pli_observe_run *runs,
                 int cap);
    const char *(*form)(uint8_t form);
    int (*comm_rank)(MPI_Comm comm, int *rank);
    int (*comm_size)(MPI_Comm comm, int *size);
    int (*test_inter)(MPI_Comm comm, int *flag);
    bool (*probe)(MPI_Comm comm, int source);
    int (*query_thread)(int *level);
    int (*get_count)(const MPI_Status *status, MPI_Datatype type, MPI_Count *count);
    int (*test)(MPI_Request *request, int *flag, MPI_Status *status);
    int (*request_free)(MPI_Request *request);
    int (*test_cancelled)(const MPI_Status *status, int *flag);
    uint32_t (*get_peer)(MPI_Comm comm, int rank, uint32_t *ep);
    int (*set_errhandler)(MPI_Comm comm, MPI_Errhandler handler);
    int (*gather)(const void *out, int n, MPI_Datatype type, void *in, int m, MPI_Datatype t,
                  int root, MPI_Comm comm);
    int (*gatherv)(const void *out, int n, MPI_Datatype type, void *in, const int *counts,
                   const int *places, MPI_Datatype t, int root, MPI_Comm comm);
    int (*comm_split)(MPI_Comm comm, int color, int key, MPI_Comm *out);
    int (*comm_free)(MPI_Comm *comm);
    int (*alltoall)(const void *out, int n, MPI_Datatype type, void *in, int m, MPI_Datatype t,
                    MPI_Comm comm);
    int (*alltoallv)(const void *out, const int *n, const int *at, MPI_Datatype type, void *in,
                     const int *m, const int *to, MPI_Datatype t, MPI_Comm comm);
    int (*world_version)(MPI_Comm comm, int *version);
} pli_check_lib;
extern void *pli_check_next[PLI_CHECK_N_SYM], *pli_check_next_std[PLI_CHECK_N_SYM];

// False: the call is passed on as it is. Otherwise pli_check_begin and pli_check_end follow.
bool pli_check_enter(void **site, void *frame, bool is_std);
void pli_check_begin(struct pli_check_call *call);
int pli_check_end(struct pli_check_call *call, int err);

// One lock for all that the checker keeps; taken only where the program may have several threads.
void pli_check_lock(void);
bool pli_check_try_lock(void); // false: another thread has it
bool pli_check_has_threads(void);
bool pli_check_is_recorded(void); // --record or --replay must find the same calls each time
void pli_check_unlock(void);

// Ends with: 0 for this process alone. Prints the sentence once for each kind and pair of lines.
void pli_check_say(const char *kind, const void *site, uint64_t other, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
const char *pli_check_name(enum pli_check_fn function); // "MPI_Send"
bool pli_check_wants(const char *kind);                 // kinds that are looked for only when asked

// What a message is made of.
struct pli_check_signature {
    int64_t n;     // numbers
    uint32_t hash; // 0: it has bytes, which fit anything, or is not known
    uint8_t form;
};
struct pli_check_type {
    MPI_Datatype handle;
    bool is_found, is_known, has_bytes;
    uint64_t mul, add; // what one element does to a hash
    struct pli_observe_type it;
    int n_run;
    struct pli_observe_run runs[64];
};
const struct pli_check_type *pli_check_type_of(MPI_Datatype handle); // NULL: not known
void pli_check_type_forget(void);                                    // a datatype was freed
struct pli_check_signature pli_check_sign(MPI_Count count, MPI_Datatype type);
// The hash of the first n numbers.
uint32_t pli_check_sign_first(const struct pli_check_type *t, int64_t n);
// The bytes that `count` elements lie in, where they have no holes; false: they have, or are none.
bool pli_check_range(const void *buf, MPI_Count count, MPI_Datatype type, const char **begin,
                     size_t *n);
uint64_t pli_check_sum(const char *p, size_t n);
const char *pli_check_say_data(int64_t n, uint8_t form, char *to, size_t cap);

// A communicator of one endpoint.
struct pli_check_peer {
    uint32_t n_sent, n_free_sent, n_received; // n_free_sent: those that did not wait
    bool has_notes;                           // one came: it is checked too
};
struct pli_check_comm {
    struct pli_check_comm *next;
    struct pli_observe_comm it;
    MPI_Comm handle;
    int rank, size;
    bool is_inter, is_lost; // is_lost: notes and messages no longer belong together
    uint32_t n_coll;
    struct pli_check_peer *peers;
    struct pli_check_posted *first, *last;
    struct pli_check_parts *parts;     // partitioned receives that were not compared yet
    struct pli_check_waiting *waiting; // collectives whose other side is not known yet
    struct pli_check_void *voids;      // notes to come whose messages never will
};
struct pli_check_comm *pli_check_comm_of(MPI_Comm comm); // NULL: not known. Context: locked
void pli_check_comm_each(void (*fn)(struct pli_check_comm *c));

// A receive, in the order in which they were posted.
struct pli_check_posted {
    struct pli_check_posted *next;
    void *site;
    enum pli_check_fn function;
    int source, tag;
    MPI_Count count;
    MPI_Datatype type;
    uint32_t n_sent; // to the source, when it was posted
    uint32_t order;  // of the last blocking send before it was posted
    uint64_t order_place;
    bool is_done, is_blocking, was_here, is_truncated;
    bool has_note; // it was received before the message
    unsigned char note[PLI_OBSERVE_NOTE];
    int from, with_tag;
};
void pli_check_p2p_begin(struct pli_check_call *call, bool has_send, bool has_recv);
void pli_check_p2p_end(struct pli_check_call *call, int err, bool has_send, bool has_recv);
void pli_check_p2p_probe(struct pli_check_call *call, int err);
// A message was refused or cancelled, and its note has gone out. Context: locked.
void pli_check_p2p_unsent(struct pli_check_call *call);
void pli_check_p2p_received(MPI_Comm comm, struct pli_check_posted *p, const MPI_Status *status,
                            int err);
// The receive at `site` is of other types than the message.
void pli_check_p2p_say_type(const void *site, enum pli_check_fn function,
                            const struct pli_check_signature *wanted, int source,
                            const struct pli_check_signature *sent, enum pli_check_fn sender,
                            uint64_t place);
// may_fetch: other members wait until this one has taken their notes.
void pli_check_p2p_comm_end(MPI_Comm comm, bool may_fetch);
void pli_check_p2p_finalize(void);

// Partitioned communication (trace/check_parts.c). A request was made.
void pli_check_parts_made(struct pli_check_call *call);
// A round of a receive is complete, its request is gone, its communicator goes. Context: locked.
void pli_check_parts_received(MPI_Comm comm, struct pli_check_parts *p, int err);
void pli_check_parts_forget(struct pli_check_parts *p);
void pli_check_parts_comm_end(struct pli_check_comm *c);

// Cycles of blocking sends (trace/check_cycle.c). The number of a send that begins, of at most
// `max`; 0: those of this process are not numbered.
uint32_t pli_check_cycle_send(const void *site, uint32_t max);
uint32_t pli_check_cycle_last(uint64_t *place); // of the last send; 0: none
// The receive of a blocking send was posted after such a send of this process.
void pli_check_cycle_edge(const struct pli_check_comm *c, const struct pli_check_posted *p,
                          uint32_t order, uint64_t place);
void pli_check_cycle_poll(void);     // a rank that is told of the edges of all judges them
void pli_check_cycle_finalize(void); // collective over MPI_COMM_WORLD

// Requests.
struct pli_check_request {
    struct pli_check_request *next;          // of the same hash
    struct pli_check_request *older, *newer; // among those under way
    MPI_Request handle;
    enum pli_check_fn function;
    void *site;
    MPI_Comm comm;
    bool is_persistent, is_active, is_recv, is_send;
    int n_call;        // calls under way that may complete it
    bool is_replaced;  // another request has the handle: such a call is about to complete this one
    bool is_forgotten; // it goes with the last such call
    const char *begin;
    size_t n;
    uint64_t sum;
    uint64_t *part_sums; // of a partitioned send: of partitions that were marked, 0: not yet
    int n_part;
    struct pli_check_posted *posted;
    struct pli_check_parts *parts; // until its first round is complete
    struct pli_check_receive *receive;
    struct pli_check_call call; // persistent: what is begun each time
};
void pli_check_request_keep(struct pli_check_call *call, bool is_send, bool is_recv,
                            bool is_persistent);
// Of a file or a collective: what it has of the program's memory.
void pli_check_request_watch(struct pli_check_call *call, const void *buf, MPI_Count count,
                             MPI_Datatype type, bool is_into);
void pli_check_request_overlap(const struct pli_check_call *call, const char *begin, size_t n,
                               bool is_recv);
void pli_check_request_marked(const struct pli_check_call *call);       // MPI_Pready and its kin
void pli_check_request_end(const struct pli_check_call *call, int err); // of a split collective
// kind: "freed" by free, "unmapped" by munmap.
void pli_check_request_freed(const void *begin, size_t n, const void *site, const char *kind);
void pli_check_request_finalize(void);
void pli_check_request_poll(void); // those that the program has freed
extern _Atomic int pli_check_n_active;
bool pli_check_is_mapped(const char *p, size_t n);

// Where MPI receives to until the program completes the request (trace/check_receive.c).
struct pli_check_receive *pli_check_receive_create(const struct pli_check_call *call);
void *pli_check_receive_address(struct pli_check_receive *r, void *buf);
void pli_check_receive_guard(struct pli_check_receive *r); // under way: accesses are told
void pli_check_receive_open(struct pli_check_receive *r);  // no more
void pli_check_receive_freed(struct pli_check_receive *r); // the buffer is not MPI's any more
// Another operation has this buffer: MPI, the kernel and other processes may access it.
void pli_check_receive_used(const void *buf, MPI_Count count, MPI_Datatype type);
void pli_check_receive_deliver(struct pli_check_receive *r, const MPI_Status *status, int err,
                               const void *site);
void pli_check_receive_destroy(struct pli_check_receive *r);

void pli_check_coll_begin(struct pli_check_call *call);
void pli_check_coll_drain(struct pli_check_comm *c, bool is_last, bool may_fetch);
void pli_check_rma_begin(struct pli_check_call *call);
void pli_check_rma(struct pli_check_call *call, int err);

// Handles that the program must free.
enum pli_check_kind {
    PLI_CHECK_COMM,
    PLI_CHECK_GROUP,
    PLI_CHECK_DATATYPE,
    PLI_CHECK_OP,
    PLI_CHECK_INFO,
    PLI_CHECK_ERRHANDLER,
    PLI_CHECK_WIN,
    PLI_CHECK_FILE,
    PLI_CHECK_N_KIND
};
void pli_check_object_made(enum pli_check_kind kind, const void *handle, const void *site,
                           enum pli_check_fn function);
void pli_check_object_freed(enum pli_check_kind kind, const void *handle);
void pli_check_object_finalize(void);

#pragma GCC visibility pop

#endif
