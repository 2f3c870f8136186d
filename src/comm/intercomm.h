// SPDX-License-Identifier: BSD-3-Clause
// Communicators between two groups. [MPI-5.0 7.6]
#ifndef PLI_COMM_INTERCOMM_H
#define PLI_COMM_INTERCOMM_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_comm;
struct pli_group;

// MPI_Intercomm_create; peer and remote_leader are significant at the leader.
enum pli_err pli_intercomm_create(struct pli_comm *local, int local_leader, MPI_Comm peer,
                                  int remote_leader, int tag, struct pli_comm **out);
enum pli_err pli_intercomm_merge(struct pli_comm *inter, int high, struct pli_comm **out);

// MPI_Comm_create on an intercommunicator: between the groups that the members of its two groups
// give. *out is NULL outside them, and everywhere if one is empty.
enum pli_err pli_intercomm_of_groups(struct pli_comm *inter, struct pli_group *group,
                                     struct pli_comm **out);

// Checks that no process is in both groups; the error says how many are.
enum pli_err pli_intercomm_check_disjoint(struct pli_group *a, struct pli_group *b);

// The contexts of a copy: of the intercommunicator and of its local intracommunicator.
enum pli_err pli_intercomm_contexts(struct pli_comm *inter, uint64_t contexts_out[2]);

// Whether the local group is the one whose leader decides, when both propose.
bool pli_intercomm_is_low(const struct pli_comm *inter);

// The same where the leader has connected to the other one: rank `far` of `via`, significant at the
// leader. why: the error of a leader that could not connect; its group then fails with it.
// Collective over local.
enum pli_err pli_intercomm_join(struct pli_comm *local, int leader, struct pli_comm *via, int far,
                                enum pli_err why, struct pli_comm **out);

// Instead of that, at a leader that has connected, when its group cannot take part any more. The
// other group, which waits for this one, gets an error. Returns why, whose reason is kept.
enum pli_err pli_intercomm_refuse(struct pli_comm *via, int far, enum pli_err why);

#endif
