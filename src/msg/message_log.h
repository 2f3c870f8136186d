// SPDX-License-Identifier: BSD-3-Clause
// Writes down every message that comes from another process, in the order in which messages meet
// their receives, so that this process can be run again without the others (net/replay).
#ifndef PLI_MSG_MESSAGE_LOG_H
#define PLI_MSG_MESSAGE_LOG_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_conn;
struct pli_request;

// Set at start-up. Only transports over a network ask for it: a job that logs uses no other.
extern bool pli_message_log_is_on;

// Begin the file of this process in that directory. Context: at start-up.
enum pli_err pli_message_log_open(const char *dir, uint64_t job, uint32_t proc);

// Context of these: lane locked.

// The number of a message that meets its receive now, or is taken by a matched probe.
uint64_t pli_message_log_number(void);
// A receive and a message have met: it is written when the request is complete. number 0: now.
void pli_message_log_match(struct pli_request *recv, const struct pli_conn *from, uint8_t form,
                           uint64_t number);
// Such a receive is complete, with or without an error.
void pli_message_log_end(struct pli_request *recv, enum pli_err err);

#endif
