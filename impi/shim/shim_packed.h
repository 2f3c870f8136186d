// SPDX-License-Identifier: BSD-3-Clause
// Packed data between processes of one client.
#ifndef PLI_SHIM_PACKED_H
#define PLI_SHIM_PACKED_H

#include "shim/shim.h"

struct shim_req;

enum { SHIM_PACKED_MARK = 16, SHIM_PACKED_NEAR = 4096 };

// Where the native library receives a message of this client, with room for the mark behind it.
struct shim_room {
    void *buf;
    int count;
    MPI_Datatype type;
    unsigned char *own; // buf, where bytes are put into the program's buffer afterwards
    bool is_made;       // the type
    size_t cap;         // bytes without the mark
    unsigned char behind[SHIM_PACKED_MARK]; // what comes behind a large buffer
};

void pli_shim_packed_init(const unsigned char *mark); // SHIM_PACKED_MARK bytes that nobody guesses

// A message of this type on `s` goes to a process of this client and is marked.
bool pli_shim_packed_goes(const struct shim_span *s, int dest, MPI_Datatype type);
int pli_shim_packed_isend(struct shim_req *r);
bool pli_shim_packed_leave(struct shim_req *r); // the program frees it; false: it is no such send
void pli_shim_packed_progress(void);            // of those whose request is no more

// `near`: NULL, or SHIM_PACKED_NEAR + SHIM_PACKED_MARK bytes that it may use.
int pli_shim_packed_room(struct shim_room *room, void *buf, MPI_Count count, MPI_Datatype type,
                         unsigned char *near);
// The native library has received it: put data in its place. Source and tag of the status stand.
int pli_shim_packed_take(struct shim_room *room, void *buf, MPI_Count count, MPI_Datatype type,
                         MPI_Status *status);
void pli_shim_packed_drop(struct shim_room *room, const unsigned char *near);

#endif
