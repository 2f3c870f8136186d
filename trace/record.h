// SPDX-License-Identifier: BSD-3-Clause
// The layer of mpiexec --record and --replay. Recording writes down what MPI decided where the
// program could not know it: whom a wildcard receive received from, what a test returned, which
// request came first. Replaying makes it so again.
#ifndef PLI_TRACE_RECORD_H
#define PLI_TRACE_RECORD_H

#include "glue/observe.h"
#include "trace/line.h"
#include "trace/record_outcome.h"

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLI_RECORD_CALLS(X)                                                                        \
    X(Recv)                                                                                        \
    X(Recv_c)                                                                                      \
    X(Irecv)                                                                                       \
    X(Irecv_c)                                                                                     \
    X(Recv_init)                                                                                   \
    X(Recv_init_c)                                                                                 \
    X(Sendrecv)                                                                                    \
    X(Sendrecv_c)                                                                                  \
    X(Sendrecv_replace)                                                                            \
    X(Sendrecv_replace_c)                                                                          \
    X(Isendrecv)                                                                                   \
    X(Isendrecv_c)                                                                                 \
    X(Isendrecv_replace)                                                                           \
    X(Isendrecv_replace_c)                                                                         \
    X(Probe)                                                                                       \
    X(Iprobe)                                                                                      \
    X(Mprobe)                                                                                      \
    X(Improbe)                                                                                     \
    X(Wait)                                                                                        \
    X(Waitall)                                                                                     \
    X(Waitany)                                                                                     \
    X(Waitsome)                                                                                    \
    X(Test)                                                                                        \
    X(Testall)                                                                                     \
    X(Testany)                                                                                     \
    X(Testsome)                                                                                    \
    X(Request_get_status)                                                                          \
    X(Request_get_status_all)                                                                      \
    X(Request_get_status_any)                                                                      \
    X(Request_get_status_some)                                                                     \
    X(Request_free)                                                                                \
    X(Cancel)                                                                                      \
    X(Start)                                                                                       \
    X(Startall)                                                                                    \
    X(Parrived)                                                                                    \
    X(Win_test)                                                                                    \
    X(Win_wait)                                                                                    \
    X(Init)                                                                                        \
    X(Init_thread)                                                                                 \
    X(Session_init)                                                                                \
    X(Session_finalize)                                                                            \
    X(Finalize)                                                                                    \
    X(Abort)                                                                                       \
    X(Fork)                                                                                        \
    X(Comm_dup)                                                                                    \
    X(Test_cancelled)                                                                              \
    X(Init_endpoints)                                                                              \
    X(Comm_attach)                                                                                 \
    X(Comm_endpoint_attach)

#define PLI_RECORD_MEMBER(name) __typeof__(&PMPI_##name) name;
struct pli_record_calls {
    PLI_RECORD_CALLS(PLI_RECORD_MEMBER)
};
// What each call leads to: MPI itself, and for programs of other ABIs their own library first.
extern struct pli_record_calls pli_record_mpi, pli_record_next;
extern __typeof__(&PMPIX_Fork_with_info) pli_record_fork_with_info;

// A nonblocking receive with a wildcard, or a persistent one.
struct pli_record_request {
    struct pli_record_request *next; // of the same hash
    MPI_Request handle;              // as the program has it
    MPI_Request under_way;           // replay: what was posted instead, where has_other
    bool has_other, is_persistent, is_active, is_deferred;
    bool is_tag_any;
    uint64_t number; // among the receives of this kind
    void *buf;
    MPI_Count count;
    MPI_Datatype datatype;
    int tag;
    MPI_Comm comm;
};

// A nonblocking wildcard receive that is not complete, in the order in which they were posted.
struct pli_record_posted {
    uint64_t number;
    MPI_Request handle; // recording: of one that the program has freed
    bool is_freed, is_tag_any;
};

enum { PLI_RECORD_N_BUCKET = 256 };

// Outcomes of one thread, which is that of a rank or of an endpoint.
struct pli_record_stream {
    struct pli_record_stream *next;
    uint32_t ep;
    bool is_taken; // a thread has it: this one
    pthread_t thread;
    bool is_used; // it has called more than MPI_Init
    bool is_over; // replay: the record has ended, and the program goes on as it likes
    struct pli_record_writer writer;
    struct pli_record_file file;
    struct pli_record_reader reader;
    bool is_ahead; // the reader has an event that was not used yet
    int last_tag;
    uint64_t n_post;
    struct pli_record_posted *posted;
    size_t n_posted, cap_posted, n_freed;
    struct pli_record_outcomes outcomes;
    struct pli_record_request *buckets[PLI_RECORD_N_BUCKET];
    MPI_Comm last_comm; // that was found to be of an endpoint of this thread
};

// One call of the program.
struct pli_record_call {
    struct pli_record_stream *stream;
    const char *name;
    const void *site;
};

// What a call leads to, which nothing is recorded of.
const struct pli_record_calls *pli_record_pass(bool is_std);
// The calling thread uses this endpoint, unless a call that is recorded names another.
void pli_record_attached(bool is_std, MPI_Comm comm);
// False: the call is passed on as it is. comm NULL: the call has none.
bool pli_record_enter(struct pli_record_call *call, const char *name, void *site, void *frame,
                      bool is_std, MPI_Comm comm);
bool pli_record_is_replay(void);
bool pli_record_is_forced(const struct pli_record_call *call); // replay, and the record goes on
void pli_record_initialized(const char *name, void *site);
void pli_record_finalize(const char *name, void *site, bool is_last);
// After MPI_Fork, in all ranks.
void pli_record_forked(void);

// Recording.
void pli_record_put(const struct pli_record_call *call, enum pli_record_kind kind, size_t n,
                    const uint64_t *numbers);
// Replay: the event of this call; false: the record is over and the call is free. Ends the job with
// a sentence where the record has another one.
bool pli_record_take(const struct pli_record_call *call, enum pli_record_kind kind,
                     enum pli_record_kind or_kind, const uint64_t **numbers_out,
                     enum pli_record_kind *kind_out);
_Noreturn void pli_record_differ(const struct pli_record_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void pli_record_no_memory(void);
int pli_record_flag(const struct pli_record_call *call, enum pli_record_kind kind, int flag);

// Blocking wildcard receives and probes: from whom the call must receive, and what came.
int pli_record_pin(const struct pli_record_call *call, bool is_probe, int source, int tag,
                   int *expected_tag);
void pli_record_received(const struct pli_record_call *call, bool is_probe, int source, int tag,
                         int expected_tag, const MPI_Status *status, int err);
uint64_t pli_record_tag_number(struct pli_record_stream *s, int tag);
int pli_record_number_tag(struct pli_record_stream *s, uint64_t number);

// MPI is initialized: make what a replay would make later, where contexts must stay the same.
void pli_record_make_quiet(void);

// Nonblocking receives. post: whom to receive from, and on which communicator, when it is posted
// now. False: it must wait until the record is over.
bool pli_record_post(const struct pli_record_call *call, int *source, int tag, MPI_Comm *comm,
                     uint64_t *number_out);
void pli_record_unpost(const struct pli_record_call *call); // it failed
void pli_record_keep(const struct pli_record_call *call, const struct pli_record_request *as);
struct pli_record_request *pli_record_find(struct pli_record_stream *s, MPI_Request handle);
void pli_record_forget(struct pli_record_stream *s, struct pli_record_request *r);
void pli_record_complete(const struct pli_record_call *call, struct pli_record_request *r,
                         const MPI_Status *status);
void pli_record_start(const struct pli_record_call *call, struct pli_record_request *r);
void pli_record_free_request(const struct pli_record_call *call, MPI_Request *request);
void pli_record_deferred(const struct pli_record_call *call); // the record is over: post them
void pli_record_look_freed(const struct pli_record_call *call);
void pli_record_drop_posted(struct pli_record_stream *s, size_t i);
void pli_record_pass_freed(struct pli_record_stream *s); // replay: up to what comes next
void pli_record_end_freed(struct pli_record_stream *s);
void pli_record_await(const struct pli_record_call *call, struct pli_record_request *r);

#endif
