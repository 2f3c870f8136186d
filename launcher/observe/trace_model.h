// SPDX-License-Identifier: BSD-3-Clause
// What all ranks of all hosts recorded, as profile and timeline read it.
#ifndef PLI_LAUNCHER_TRACE_MODEL_H
#define PLI_LAUNCHER_TRACE_MODEL_H

#include "trace/trace_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_host_clock;
struct pli_trace_world;
struct pli_unpack;

enum pli_trace_model_class {
    PLI_TRACE_MODEL_SEND,
    PLI_TRACE_MODEL_RECV,
    PLI_TRACE_MODEL_BOTH,
    PLI_TRACE_MODEL_PROBE,
    PLI_TRACE_MODEL_WAIT,
    PLI_TRACE_MODEL_COLL,
    PLI_TRACE_MODEL_RMA,
    PLI_TRACE_MODEL_IO,
    PLI_TRACE_MODEL_LIFE,
    PLI_TRACE_MODEL_WORLD,
    PLI_TRACE_MODEL_OTHER
};

extern const uint32_t pli_trace_model_n_function;
const char *pli_trace_model_function(uint32_t number);
enum pli_trace_model_class pli_trace_model_class(uint32_t number);

struct pli_trace_model_site {
    uint32_t number, function;
    char *place; // file:line
    uint64_t n, ns, longest, bytes;
};

struct pli_trace_model_peer {
    uint32_t index, ep;
    uint64_t n_sent, bytes_sent, ns_waited;
};

struct pli_trace_model_phase {
    char *name;
    uint64_t n, ns, ns_mpi;
};

// One thread that called MPI.
struct pli_trace_model_rank {
    uint32_t host, pid, tid, index, ep, world, rank, size;
    bool is_cut;         // its process did not reach MPI_Finalize
    bool is_silent;      // it used no communicator
    bool is_second;      // of several threads with this endpoint not the first
    uint64_t begin, end; // ns of the head's clock, as all times
    uint64_t in_call, ns_mpi, ns_waited;
    uint32_t in_function;
    uint64_t bins[PLI_TRACE_N_BIN];
    struct pli_trace_model_site *sites;
    struct pli_trace_model_peer *peers;
    struct pli_trace_model_phase *phases;
    struct pli_trace_event *events;
    uint32_t n_site, n_peer, n_phase, n_event;
    uint64_t n_recorded; // events; more than n_event: the ring was too small
    char name[64];       // "rank 3", "rank 3 endpoint 1", "rank 0 of world 4"
};

struct pli_trace_note { // what mpiexec said or did
    uint64_t ns;
    char *text;
};

struct pli_trace_model {
    struct pli_trace_model_rank *ranks; // by index of the process, then by endpoint
    uint32_t n_rank, n_endpoint;        // threads; endpoints that they were
    char **hosts;
    uint32_t n_host;
    struct pli_trace_note *notes;
    uint32_t n_note;
    const char *program;
    struct pli_trace_world *world; // NULL: there is one job, or no other client has a clock
};

// The bytes of the character of UTF-8 that begins here; 0: none does.
int pli_trace_model_utf8(const unsigned char *c);

// Add what a host packed; clock: how its times are to be understood. False: it makes no sense.
bool pli_trace_model_add(struct pli_trace_model *m, uint32_t host,
                         const struct pli_host_clock *clock, struct pli_unpack *u);
void pli_trace_model_host(struct pli_trace_model *m, uint32_t host, const char *name);
void pli_trace_model_note(struct pli_trace_model *m, uint64_t ns, const char *text);
// After the last one: sort and name.
void pli_trace_model_close(struct pli_trace_model *m);
void pli_trace_model_fini(struct pli_trace_model *m);

// The name of an endpoint of the job, which need not have recorded anything; of the process where
// ep is PLI_TRACE_NOBODY.
const char *pli_trace_model_name(const struct pli_trace_model *m, uint32_t index, uint32_t ep,
                                 char *to, size_t cap);
const struct pli_trace_model_site *pli_trace_model_site_of(const struct pli_trace_model_rank *r,
                                                           uint32_t number);

#endif
