// SPDX-License-Identifier: BSD-3-Clause
// Probes: find the message that a receive would get, and with a matched probe take it.
#include "msg/probe.h"
#include "base/cpu.h"

#include "msg/failure_hooks.h"
#include "msg/request.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/message_log.h"
#include "msg/unexpected.h"
#include "msg/poll_record.h"
#include "msg/progress.h"
#include "msg/msg_wire.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/handle_predefined.h"
#include "obj/status.h"

struct pli_message pli_probe_no_proc;

PLI_START void pli_probe_init(void)
{
    pli_handle_predefine(&pli_probe_no_proc.obj, PLI_KIND_MESSAGE,
                         (int)(intptr_t)MPI_MESSAGE_NO_PROC);
}

// Look once; with `take` the message leaves the queue.
static struct pli_unexpected *look(int source, int tag, struct pli_comm *comm, bool take,
                                   MPI_Status *status)
{
    struct pli_match *m = &comm->ep->match;
    struct pli_lane *lane = comm->ep->lane;
    pli_lock_take(&lane->lock);
    struct pli_match_item *i = pli_match_has_unexpected(m)
                                   ? pli_match_find(m, comm->context | PLI_CHAN_P2P, source, tag)
                                   : NULL;
    struct pli_unexpected *p = i != NULL ? PLI_CONTAINER(i, struct pli_unexpected, item) : NULL;
    if (p != NULL) {
        bool is_external = p->is_external || (comm->is_span && p->form == PLI_FORM_PACKED);
        uint64_t mark = is_external ? PLI_STATUS_EXTERNAL : 0;
        pli_status_set_one(status, p->item.source, p->item.tag, p->size | mark);
        if (take) {
            pli_match_take(m, i);
            p->log_number = pli_message_log_is_on ? pli_message_log_number() : 0;
        }
    }
    pli_lock_drop(&lane->lock);
    return p;
}

static void no_proc(MPI_Status *status)
{
    if (status != MPI_STATUS_IGNORE) {
        int error = status->MPI_ERROR;
        pli_status_set_proc_null(status);
        status->MPI_ERROR = error;
    }
}

static enum pli_err wrap(struct pli_unexpected *p, struct pli_comm *comm, struct pli_message **out)
{
    struct pli_message *m = pli_handle_create(PLI_KIND_MESSAGE, sizeof *m);
    if (m == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a message handle");
    }
    m->unexpected = p;
    m->comm = pli_comm_retain(comm);
    *out = m;
    return PLI_OK;
}

// Why no message can come from this source, PLI_OK: one may.
static enum pli_err lost(int source, struct pli_comm *comm)
{
    struct pli_lane *lane = comm->ep->lane;
    struct pli_request as = { .comm = comm, .flags = PLI_REQ_BLOCKING };
    as.item.context = comm->context | PLI_CHAN_P2P;
    pli_lock_take(&lane->lock);
    enum pli_err err = lane->n_dead != 0 ? pli_failure_hooks->judge(lane, &as, source) : PLI_OK;
    pli_lock_drop(&lane->lock);
    if (err == PLI_ERR_PROC_ABORTED) {
        return pli_fail(err, "no message can come from rank %d, which is lost", source);
    }
    return err == PLI_OK ? PLI_OK : pli_failure_hooks->explain(err, "probe", comm);
}

__attribute__((cold)) static void record(int source, int tag, const struct pli_comm *comm,
                                         const char *call)
{
    struct pli_waiter w = { .lane = comm->ep->lane, .comm = comm, .peer = source, .tag = tag };
    pli_poll_record_look(&w, call);
}

enum pli_err pli_probe_iprobe(int source, int tag, struct pli_comm *comm, int *flag,
                              MPI_Status *status)
{
    if (source == MPI_PROC_NULL) {
        no_proc(status);
        *flag = 1;
        return PLI_OK;
    }
    *flag = look(source, tag, comm, false, status) != NULL;
    if (!*flag && pli_progress_test(comm->ep->lane) > 0) {
        *flag = look(source, tag, comm, false, status) != NULL;
    }
    if (!*flag && pli_poll_record_is_due()) {
        record(source, tag, comm, "MPI_Iprobe");
    }
    return *flag ? PLI_OK : lost(source, comm);
}

enum pli_err pli_probe_improbe(int source, int tag, struct pli_comm *comm, int *flag,
                               struct pli_message **out, MPI_Status *status)
{
    if (source == MPI_PROC_NULL) {
        no_proc(status);
        *flag = 1;
        *out = &pli_probe_no_proc;
        return PLI_OK;
    }
    struct pli_unexpected *p = look(source, tag, comm, true, status);
    if (p == NULL && pli_progress_test(comm->ep->lane) > 0) {
        p = look(source, tag, comm, true, status);
    }
    *flag = p != NULL;
    if (!*flag && pli_poll_record_is_due()) {
        record(source, tag, comm, "MPI_Improbe");
    }
    return p != NULL ? wrap(p, comm, out) : lost(source, comm);
}

// Fails where to wait for a message of this source is to wait for ever.
static enum pli_err wait_for(int source, int tag, struct pli_comm *comm, bool take,
                             MPI_Status *status, struct pli_unexpected **out)
{
    struct pli_waiter w = {
        .lane = comm->ep->lane, .comm = comm, .peer = source, .tag = tag, .n_request = 1
    };
    enum pli_err err = PLI_OK;
    while ((*out = look(source, tag, comm, take, status)) == NULL &&
           (err = lost(source, comm)) == PLI_OK) {
        pli_progress_step(&w);
    }
    pli_progress_end(&w);
    return err;
}

enum pli_err pli_probe_probe(int source, int tag, struct pli_comm *comm, MPI_Status *status)
{
    if (source == MPI_PROC_NULL) {
        no_proc(status);
        return PLI_OK;
    }
    struct pli_unexpected *p;
    return wait_for(source, tag, comm, false, status, &p);
}

enum pli_err pli_probe_mprobe(int source, int tag, struct pli_comm *comm, struct pli_message **out,
                              MPI_Status *status)
{
    if (source == MPI_PROC_NULL) {
        no_proc(status);
        *out = &pli_probe_no_proc;
        return PLI_OK;
    }
    struct pli_unexpected *p;
    enum pli_err err = wait_for(source, tag, comm, true, status, &p);
    return err == PLI_OK ? wrap(p, comm, out) : err;
}
