// SPDX-License-Identifier: BSD-3-Clause
// Messages between endpoints of one lane, copied once from buffer to buffer.
#ifndef PLI_MSG_LOCAL_H
#define PLI_MSG_LOCAL_H

#include "base/err.h"

#include <stdbool.h>

struct pli_endpoint;
struct pli_request;
struct pli_unexpected;

// Begin a send. Context: no lock held.
enum pli_err pli_local_start(struct pli_request *send, struct pli_endpoint *to);
// Copy from buffer to buffer, as much as fits. Context: no other thread touches the two.
void pli_local_copy(const struct pli_request *send, struct pli_request *recv);
// A receive takes an offer. Context: the receiver's lane locked.
void pli_local_accept(struct pli_request *recv, struct pli_unexpected *p);
// Cancel a send. True: it was not matched and is forgotten. Context: no lock held.
bool pli_local_unsend(struct pli_request *send);

#endif
