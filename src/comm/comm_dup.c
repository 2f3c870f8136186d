// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_dup and its variants. The first member broadcasts the context; the two leaders of an
// intercommunicator exchange theirs before.
#include "comm/comm_dup.h"
#include "base/cpu.h"

#include "coll/coll.h"
#include "coll/sched.h"
#include "coll/sched_run.h"
#include "comm/impi_cid.h"
#include "comm/comm_make.h"
#include "comm/intercomm.h"
#include "msg/process.h"
#include "msg/request.h"
#include "obj/attr.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/impi_span.h"
#include "obj/comm_hint.h"

static pli_comm_dup_topo_fn copy_topo;

PLI_START void pli_comm_dup_on_topo(pli_comm_dup_topo_fn fn)
{
    copy_topo = fn;
}

// The copy with its attributes and topology; its contexts may still be 0. A failing copy callback
// leaves nothing behind. Hints are not copied: a library that duplicates the communicator of its
// caller has not promised what the caller did. [MPI-5.0 7.4.4]
static enum pli_err copy(struct pli_comm *from, const uint64_t contexts[2], struct pli_comm **out)
{
    struct pli_comm *c;
    enum pli_err err =
        from->is_inter
            ? pli_comm_make_inter(from, from->group, from->remote, contexts[0], contexts[1], &c)
            : pli_comm_make_child(from, from->group, NULL, contexts[0], &c);
    if (err != PLI_OK) {
        return err;
    }
    if (from->topo != NULL && copy_topo != NULL) {
        copy_topo(from, c);
    }
    if (from->attrs != NULL) {
        err = pli_attr_copy_all(&from->obj, &c->obj);
    }
    if (err != PLI_OK) {
        pli_comm_release(c);
        return err;
    }
    *out = c;
    return PLI_OK;
}

// The exchange comes first: whatever fails here after it, no member is left waiting.
enum pli_err pli_comm_dup_dup(struct pli_comm *comm, struct pli_comm **out)
{
    uint64_t contexts[2] = { 0, 0 };
    enum pli_err err;
    if (comm->is_inter) {
        err = pli_intercomm_contexts(comm, contexts);
    } else if (comm->is_span) {
        err = pli_impi_cid_agree(comm, contexts);
    } else {
        contexts[0] = comm->rank == 0 ? pli_process_context() : 0;
        err = pli_coll_bcast(contexts, sizeof contexts[0], pli_comm_make_byte(), 0, comm);
    }
    return err == PLI_OK ? copy(comm, contexts, out) : err;
}

enum pli_err pli_comm_dup_with_info(struct pli_comm *comm, struct pli_info *info,
                                    struct pli_comm **out)
{
    enum pli_err err = pli_comm_dup_dup(comm, out);
    return err == PLI_OK ? pli_comm_hint_set(*out, info) : err;
}

// What follows talks on this communicator; between MPI jobs under the tag of the operation.
static void talk_on(struct pli_sched *s, struct pli_comm *comm)
{
    if (pli_sched_own(s) != 0 && comm->is_span) {
        pli_sched_return_to(s, comm, pli_sched_own(s));
        return;
    }
    pli_sched_on(s, comm);
    if (comm->is_span) {
        pli_sched_take_own(s, comm);
        pli_sched_return_to(s, comm, pli_sched_own(s));
    }
}

// Steps that bring `n` numbers from rank 0 of the communicator to all members.
static void plan_bcast(struct pli_sched *s, struct pli_comm *comm, uint64_t *buf, int n)
{
    struct pli_datatype *type = pli_datatype_basic(MPI_UINT64_T);
    int bit = 1, me = comm->rank;
    talk_on(s, comm);
    while (bit < comm->size && (me & bit) == 0) {
        bit <<= 1;
    }
    if (me != 0) {
        pli_sched_wait(s, pli_sched_recv(s, buf, n, type, me - bit));
    }
    for (bit >>= 1; bit > 0; bit >>= 1) {
        if (me + bit < comm->size) {
            pli_sched_send(s, buf, n, type, me + bit);
        }
    }
    pli_sched_fence(s);
}

// Steps after which contexts are agreed. The members that may lead propose.
static void plan_contexts(struct pli_sched *s, struct pli_comm *comm, uint64_t contexts[2])
{
    struct pli_datatype *type = pli_datatype_basic(MPI_UINT64_T);
    contexts[0] = contexts[1] = 0;
    if (comm->rank == 0) {
        contexts[0] = pli_process_context();
    }
    if (!comm->is_inter) {
        plan_bcast(s, comm, contexts, 1);
        return;
    }
    talk_on(s, comm);
    if (comm->rank == 0) {
        contexts[1] = pli_process_context();
        if (pli_intercomm_is_low(comm)) {
            pli_sched_send(s, contexts, 1, type, 0);
        } else {
            pli_sched_wait(s, pli_sched_recv(s, contexts, 1, type, 0));
        }
    }
    plan_bcast(s, comm->local, contexts, 2);
}

static void give_up(void *comm, enum pli_err err)
{
    pli_comm_abandon(comm, err);
}

// The attributes are copied now; the contexts come later and are written into the new communicator.
// If copying fails, the exchange goes on without a result, so that the other members do not wait.
enum pli_err pli_comm_dup_idup(struct pli_comm *comm, struct pli_comm **out,
                               struct pli_request **request_out)
{
    static const uint64_t later[2] = { 0, 0 };
    struct pli_datatype *byte = pli_comm_make_byte();
    struct pli_comm *c = NULL;
    struct pli_sched *s;
    enum pli_err err = comm->is_span ? pli_impi_span_check_later("MPI_Comm_idup", comm) : PLI_OK;
    if (err == PLI_OK) {
        err = pli_sched_create(PLI_COLL_BCAST, PLI_SCHED_ONCE, &s); // of the contexts
    }
    if (err != PLI_OK) {
        return err;
    }
    enum pli_err copied = copy(comm, later, &c);
    uint64_t *contexts = pli_sched_bytes(s, 2 * sizeof *contexts);
    plan_contexts(s, comm, contexts);
    if (copied == PLI_OK) {
        pli_sched_on_error(s, give_up, c);
        pli_sched_copy(s, &contexts[0], 8, byte, &c->context, 8, byte);
        if (comm->is_inter) {
            pli_sched_copy(s, &contexts[1], 8, byte, &c->local->context, 8, byte);
        }
    }
    struct pli_request *request;
    err = pli_sched_begin(s, comm, &request);
    if (err == PLI_OK && copied != PLI_OK) {
        pli_request_forget(request);
    }
    if (err != PLI_OK) {
        pli_sched_destroy(s);
        pli_comm_release(c);
    }
    if (err != PLI_OK || copied != PLI_OK) {
        return err != PLI_OK ? err : copied;
    }
    *out = c;
    *request_out = request;
    return PLI_OK;
}

enum pli_err pli_comm_dup_idup_with_info(struct pli_comm *comm, struct pli_info *info,
                                         struct pli_comm **out, struct pli_request **request_out)
{
    enum pli_err err = pli_comm_dup_idup(comm, out, request_out);
    return err == PLI_OK ? pli_comm_hint_set(*out, info) : err;
}
