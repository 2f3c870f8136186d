// SPDX-License-Identifier: BSD-3-Clause
// What can be done with a request besides waiting for it.
#ifndef PLI_GLUE_REQUEST_CALLS_H
#define PLI_GLUE_REQUEST_CALLS_H

#include "base/err.h"

#include <mpi.h>

struct pli_request;
struct pli_message;
struct pli_datatype;
struct pli_obj;

int pli_request_calls_free(MPI_Request *request);
enum pli_err pli_request_calls_cancel(struct pli_request *r);
enum pli_err pli_request_calls_start(struct pli_request *r);
int pli_request_calls_startall(int n, MPI_Request reqs[]);
int pli_request_calls_get_status(MPI_Request request, int *flag, MPI_Status *status);
int pli_request_calls_get_status_all(int n, const MPI_Request reqs[], int *flag,
                                     MPI_Status *statuses);
int pli_request_calls_get_status_any(int n, const MPI_Request reqs[], int *index, int *flag,
                                     MPI_Status *status);
int pli_request_calls_get_status_some(int n, const MPI_Request reqs[], int *n_out, int indices[],
                                      MPI_Status *statuses);
enum pli_err pli_request_calls_mrecv(void *buf, MPI_Count count, struct pli_datatype *type,
                                     struct pli_message *message, MPI_Status *status);

enum pli_err pli_request_calls_status_source(const MPI_Status *status, int *source);
enum pli_err pli_request_calls_status_tag(const MPI_Status *status, int *tag);
enum pli_err pli_request_calls_status_error(const MPI_Status *status, int *error);
enum pli_err pli_request_calls_status_set_source(MPI_Status *status, int source);
enum pli_err pli_request_calls_status_set_tag(MPI_Status *status, int tag);
enum pli_err pli_request_calls_status_set_error(MPI_Status *status, int error);
enum pli_err pli_request_calls_status_set_cancelled(MPI_Status *status, int flag);
enum pli_err pli_request_calls_test_cancelled(const MPI_Status *status, int *flag);

// The communicator a request or message belongs to, or NULL: whose error handler is called.
struct pli_obj *pli_request_calls_request_owner(struct pli_request *r);
struct pli_obj *pli_request_calls_message_owner(struct pli_message *m);

#endif
