// SPDX-License-Identifier: BSD-3-Clause
// Synchronisation in which the target takes no part. [MPI-5.0 12.5.3, 12.5.4]
#ifndef PLI_RMA_PASSIVE_H
#define PLI_RMA_PASSIVE_H

#include "base/err.h"

struct pli_win;

enum pli_err pli_passive_lock(int type, int rank, int assert, struct pli_win *w);
enum pli_err pli_passive_unlock(int rank, struct pli_win *w);
enum pli_err pli_passive_lock_all(int assert, struct pli_win *w);
enum pli_err pli_passive_unlock_all(struct pli_win *w);
enum pli_err pli_passive_flush(int rank, struct pli_win *w);
enum pli_err pli_passive_flush_all(struct pli_win *w);
enum pli_err pli_passive_flush_local(int rank, struct pli_win *w);
enum pli_err pli_passive_flush_local_all(struct pli_win *w);

#endif
