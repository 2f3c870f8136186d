// SPDX-License-Identifier: BSD-3-Clause
// The token of an elastic world: the secret of its job, and where its mpiexec listens. Who has it
// can be a daemon of the job.
#ifndef PLI_LAUNCHER_JOIN_TOKEN_H
#define PLI_LAUNCHER_JOIN_TOKEN_H

#include "wire/impi_token.h"
#include "launcher/hosts/daemon_addr.h"

struct pli_join_token {
    unsigned char secret[PLI_DAEMON_HANDSHAKE_SECRET];
    struct pli_daemon_addr place;
};

void pli_join_token_put(const struct pli_join_token *token, char text_out[PLI_IMPI_TOKEN_TEXT]);

// NULL: it is good; else what is wrong with it, to follow "the token ".
const char *pli_join_token_get(const char *text, struct pli_join_token *out);

#endif
