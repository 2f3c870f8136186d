// SPDX-License-Identifier: BSD-3-Clause
// Sessions as objects: what groups and communicators belong to. Opening and closing one is done
// in src/session. [MPI-5.0 11.3]
#ifndef PLI_OBJ_SESSION_H
#define PLI_OBJ_SESSION_H

#include "base/err.h"
#include "base/list.h"
#include "obj/handle.h"

#include <pthread.h>
#include <stdbool.h>

struct pli_bsend;
struct pli_errhandler;

struct pli_session {
    struct pli_obj obj;
    struct pli_errhandler *errhandler;
    struct pli_bsend *buffer; // attached buffer
    int level;                // MPI_THREAD_
    bool is_strict;           // refuse to be finalised while communicators are left
    _Atomic bool is_over;     // finalised; lives on in groups the user still has
    pthread_mutex_t guard;
    struct pli_list comms; // alive, see session_comms.h; guarded by guard
};

// With one reference and nothing in it. Context: any thread.
enum pli_err pli_session_create(struct pli_session **out);
// The references of groups are what keeps one session from being taken for another. NULL is fine.
struct pli_session *pli_session_retain(struct pli_session *s);
void pli_session_release(struct pli_session *s);

#endif
