// SPDX-License-Identifier: BSD-3-Clause
// Synchronisation in which the target takes part. [MPI-5.0 12.5.1, 12.5.2]
#ifndef PLI_RMA_EPOCH_H
#define PLI_RMA_EPOCH_H

#include "base/err.h"

struct pli_group;
struct pli_win;

enum pli_err pli_epoch_fence(int assert, struct pli_win *w);
enum pli_err pli_epoch_post(struct pli_group *group, int assert, struct pli_win *w);
enum pli_err pli_epoch_start(struct pli_group *group, int assert, struct pli_win *w);
enum pli_err pli_epoch_complete(struct pli_win *w);
enum pli_err pli_epoch_wait(struct pli_win *w);
enum pli_err pli_epoch_test(struct pli_win *w, int *flag_out);

#endif
