// SPDX-License-Identifier: BSD-3-Clause
// The calls of --record and --replay whose outcome MPI decides, behind their wrappers.
#ifndef PLI_TRACE_RECORD_COMPLETE_H
#define PLI_TRACE_RECORD_COMPLETE_H

#include "trace/record.h"

int pli_record_do_wait(const struct pli_record_call *call, MPI_Request *q, MPI_Status *s);
int pli_record_do_waitall(const struct pli_record_call *call, int n, MPI_Request *q, MPI_Status *s);
int pli_record_do_waitany(const struct pli_record_call *call, int n, MPI_Request *q, int *index,
                          MPI_Status *s);
int pli_record_do_test(const struct pli_record_call *call, MPI_Request *q, int *flag,
                       MPI_Status *s);
int pli_record_do_testall(const struct pli_record_call *call, int n, MPI_Request *q, int *flag,
                          MPI_Status *s);
int pli_record_do_testany(const struct pli_record_call *call, int n, MPI_Request *q, int *index,
                          int *flag, MPI_Status *s);
int pli_record_do_some(const struct pli_record_call *call, bool is_test, int n, MPI_Request *q,
                       int *count, int *indices, MPI_Status *s);
int pli_record_do_get_status(const struct pli_record_call *call, MPI_Request q, int *flag,
                             MPI_Status *s);
int pli_record_do_get_status_all(const struct pli_record_call *call, int n, const MPI_Request *q,
                                 int *flag, MPI_Status *s);
int pli_record_do_get_status_any(const struct pli_record_call *call, int n, const MPI_Request *q,
                                 int *index, int *flag, MPI_Status *s);
int pli_record_do_get_status_some(const struct pli_record_call *call, int n, const MPI_Request *q,
                                  int *count, int *indices, MPI_Status *s);
// With a message they are MPI_Mprobe and MPI_Improbe.
int pli_record_do_probe(const struct pli_record_call *call, int source, int tag, MPI_Comm comm,
                        MPI_Message *message, MPI_Status *s);
int pli_record_do_iprobe(const struct pli_record_call *call, int source, int tag, MPI_Comm comm,
                         int *flag, MPI_Message *message, MPI_Status *s);
int pli_record_do_parrived(const struct pli_record_call *call, MPI_Request q, int partition,
                           int *flag);
int pli_record_do_win_test(const struct pli_record_call *call, MPI_Win win, int *flag);

#endif
