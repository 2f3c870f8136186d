// SPDX-License-Identifier: BSD-3-Clause
// Requests of ours. The program holds an inactive persistent request of the native library in their
// place, so that the handle is unlike any other; a call that we do not know finds nothing to do.
#include "shim/shim.h"
#include "shim/shim_req.h"
#include "shim/shim_task.h"
#include "agent/agent_link.h"
#include "agent/agent_wire.h"
#include <stdlib.h>
#include <string.h>

enum { N_BUCKET = 1024, MAX_SPARE = 256 };

static struct shim_req *bucket[N_BUCKET];
static MPI_Request spare[MAX_SPARE];
static int n_spare, n_shown;

static unsigned hash(MPI_Request token)
{
    uintptr_t v = (uintptr_t)token;
    return (unsigned)((v ^ v >> 12) >> (sizeof token > 4 ? 4 : 0)) % N_BUCKET;
}

struct shim_req *pli_shim_req_find(MPI_Request token)
{
    if (n_shown == 0) {
        return NULL;
    }
    struct shim_req *r = bucket[hash(token)];
    while (r != NULL && r->token != token) {
        r = r->next;
    }
    return r;
}

struct shim_req *pli_shim_req_create(enum shim_req_kind kind, struct shim_span *span)
{
    struct shim_req *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    r->token = r->native = MPI_REQUEST_NULL;
    r->kind = kind;
    r->span = span;
    r->cid = span->cid;
    pli_shim_req_empty(&r->status);
    pli_shim_span_retain(span);
    return r;
}

int pli_shim_req_show(struct shim_req *r, MPI_Request *out)
{
    if (n_spare > 0) {
        r->token = spare[--n_spare];
    } else {
        int rc = PMPI_Recv_init(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &r->token);
        if (rc != MPI_SUCCESS) {
            r->token = MPI_REQUEST_NULL;
            return rc;
        }
    }
    struct shim_req **at = &bucket[hash(r->token)];
    r->next = *at;
    *at = r;
    n_shown++;
    *out = r->token;
    return MPI_SUCCESS;
}

void pli_shim_req_destroy(struct shim_req *r)
{
    if (r->token != MPI_REQUEST_NULL) {
        struct shim_req **at = &bucket[hash(r->token)];
        while (*at != r) {
            at = &(*at)->next;
        }
        *at = r->next;
        n_shown--;
        if (n_spare < MAX_SPARE) {
            spare[n_spare++] = r->token;
        } else {
            (void)PMPI_Request_free(&r->token);
        }
    }
    if (r->kind == SHIM_COLL) {
        pli_shim_task_end(r);
    }
    if (r->has_type) {
        pli_shim_type_drop(&r->type);
    }
    pli_shim_packed_drop(&r->room, NULL);
    pli_shim_link_release(r->data);
    pli_shim_span_release(r->span);
    free(r);
}

void pli_shim_req_done(struct shim_req *r, int err)
{
    if (r->is_done) {
        return;
    }
    r->is_done = true;
    r->err = err;
    r->status.MPI_ERROR = err;
    pli_shim.n_pending--;
}

static void took_native(struct shim_req *r, MPI_Status *st, int rc)
{
    if (r->kind == SHIM_RECV) {
        rc = rc == MPI_SUCCESS ? pli_shim_packed_take(&r->room, r->buf, r->count, r->type, st) : rc;
        pli_shim_packed_drop(&r->room, NULL);
    }
    r->status = *st;
    if (st->MPI_SOURCE >= 0 && st->MPI_SOURCE < r->span->size) {
        r->status.MPI_SOURCE = r->span->rank_of[st->MPI_SOURCE];
    }
    pli_shim_req_done(r, rc);
}

bool pli_shim_req_test(struct shim_req *r)
{
    if (!r->is_done && r->native != MPI_REQUEST_NULL) {
        int flag = 0;
        MPI_Status st;
        int rc = PMPI_Test(&r->native, &flag, &st);
        if (rc != MPI_SUCCESS || flag != 0) {
            r->native = MPI_REQUEST_NULL;
            took_native(r, &st, rc);
        }
    }
    return r->is_done && !r->has_cancel;
}

static bool is_native(const struct shim_req *r)
{
    return r->kind == SHIM_COLL || r->native != MPI_REQUEST_NULL || r->may_local;
}

void pli_shim_req_progress(struct shim_pace *pace)
{
    if (pli_shim_link_poll() && pace != NULL) {
        pace->n_idle = 0;
    }
    pli_shim_msg_match_local();
    pli_shim_packed_progress();
    pli_shim_win_progress();
    pli_shim_task_progress();
}

int pli_shim_req_wait(struct shim_req *r)
{
    struct shim_pace pace = { 0 };
    if (pli_shim_task_is_inside()) {
        pli_shim_task_wait(r);
        return r->err;
    }
    while (!pli_shim_req_test(r)) {
        pli_shim_req_progress(&pace);
        if (!pli_shim_req_test(r)) {
            pli_shim_link_pause(&pace, is_native(r));
        }
    }
    return r->err;
}

int pli_shim_req_wait_native(MPI_Request *req, MPI_Status *status)
{
    struct shim_pace pace = { 0 };
    int flag = 0;
    if (pli_shim_task_is_inside()) {
        return pli_shim_task_wait_native(req, status);
    }
    for (;;) {
        int rc = PMPI_Test(req, &flag, status);
        if (rc != MPI_SUCCESS || flag != 0) {
            return rc;
        }
        pli_shim_req_progress(&pace);
        pli_shim_link_pause(&pace, true);
    }
}

void pli_shim_req_empty(MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE) {
        return;
    }
    memset(status, 0, sizeof *status);
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    status->MPI_ERROR = MPI_SUCCESS;
    (void)PMPI_Status_set_elements(status, MPI_BYTE, 0);
    (void)PMPI_Status_set_cancelled(status, 0);
}

void pli_shim_req_copy(MPI_Status *to, const MPI_Status *from)
{
    if (to != MPI_STATUS_IGNORE) {
        int err = to->MPI_ERROR; // only the functions of several requests set it
        *to = *from;
        to->MPI_ERROR = err;
    }
}

bool pli_shim_req_is_busy(void)
{
    return pli_shim.n_pending > 0 || pli_agent_link_has_output(pli_shim.link);
}
