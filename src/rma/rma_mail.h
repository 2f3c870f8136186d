// SPDX-License-Identifier: BSD-3-Clause
// Messages between members of a window, and the operations that they are parts of. Nothing waits
// here but for room.
#ifndef PLI_RMA_RMA_MAIL_H
#define PLI_RMA_RMA_MAIL_H

#include "msg/lane.h"
#include "msg/request.h"
#include "rma/win.h"

struct pli_datatype;

// Something that is over when all its messages are: a transfer from or to memory of the user.
struct pli_rma_op {
    struct pli_win *win;
    struct pli_win_peer *peer;
    uint32_t n_left; // messages, and one until all are begun; guarded by the lane's lock
    enum pli_err err;
    struct pli_request *user; // NULL: the user has no request for it
    struct pli_task task;
    // Answers that come packed go to the user's memory at the end.
    char *packed;
    size_t bytes;
    void *buf;
    MPI_Count count;
    struct pli_datatype *type; // with a reference; NULL: nothing to release
};

struct pli_rma_mail {
    struct pli_request_child child;
    struct pli_win *win;
    struct pli_win_peer *peer; // the other side
    struct pli_rma_op *op;
    struct pli_rma_msg msg;
};

// A new message of this kind with room for blocks and data; NULL: no memory, noted.
struct pli_rma_mail *pli_rma_mail_new(struct pli_win *w, enum pli_rma_kind kind, size_t len);
// Send it; it belongs to the library from now on, also after a failure.
enum pli_err pli_rma_mail_send(struct pli_rma_mail *m, int to, size_t len);
// Send bytes that stay where they are until the mail is over, or receive them.
enum pli_err pli_rma_mail_send_data(struct pli_rma_mail *m, int to, uint32_t tag, const void *buf,
                                    MPI_Count count, struct pli_datatype *type);
enum pli_err pli_rma_mail_take(struct pli_rma_mail *m, int from, uint32_t tag, void *buf,
                               MPI_Count count, struct pli_datatype *type);

struct pli_datatype *pli_rma_mail_byte(void); // MPI_BYTE
uint32_t pli_rma_mail_tag(struct pli_win *w);

// An operation on a member; want_request: the user gets one. NULL: no memory, noted.
struct pli_rma_op *pli_rma_mail_begin(struct pli_win *w, int member, bool want_request);
// The mail is a part of it. Context: no lock held.
void pli_rma_mail_add(struct pli_rma_op *op, struct pli_rma_mail *m);
// No more parts will come; err: whether they could all be begun. The request, if one is wanted.
enum pli_err pli_rma_mail_end(struct pli_rma_op *op, enum pli_err err, struct pli_request **out);

// Wait until no more than so many messages are on their way.
void pli_rma_mail_room(struct pli_win *w, uint32_t most);
// Wait until memory here that operations on a member use is free: local completion.
void pli_rma_mail_settle(struct pli_win *w, int member, const char *call);

// Ask a member and begin to receive its answer, of sizeof *reply bytes; wait for it.
struct pli_rma_question {
    struct pli_request *req;
    struct pli_rma_reply reply;
};
enum pli_err pli_rma_mail_ask(struct pli_win *w, int to, enum pli_rma_kind kind, int op,
                              struct pli_rma_question *q);
enum pli_err pli_rma_mail_hear(int from, struct pli_rma_question *q);
// The same at once.
enum pli_err pli_rma_mail_call(struct pli_win *w, int to, enum pli_rma_kind kind, int op);

#endif
