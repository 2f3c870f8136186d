// SPDX-License-Identifier: BSD-3-Clause
// What can be asked of a communicator without a message.
#ifndef PLI_OBJ_COMM_GET_H
#define PLI_OBJ_COMM_GET_H

#include "obj/comm.h"

enum pli_err pli_comm_get_rank(struct pli_comm *c, int *rank_out);
enum pli_err pli_comm_get_size(struct pli_comm *c, int *size_out);
enum pli_err pli_comm_get_remote_size(struct pli_comm *c, int *size_out);
enum pli_err pli_comm_get_is_inter(struct pli_comm *c, int *flag_out);
enum pli_err pli_comm_get_group(struct pli_comm *c, struct pli_group **out);
enum pli_err pli_comm_get_remote_group(struct pli_comm *c, struct pli_group **out);
enum pli_err pli_comm_get_relation(struct pli_comm *a, struct pli_comm *b, int *result_out);

#endif
