// SPDX-License-Identifier: BSD-3-Clause
// What the user tells a client in the environment, whatever MPI it is of. Start-up only.
//
//   IMPI_TOKEN         in place of all that follows up to IMPI_AUTH_KEY: the token of the world
//   IMPI_SERVER        host:port where the server listens; without it there is no IMPI job
//   IMPI_CLIENT        rank of this client, 0 to 31
//   IMPI_AUTH_NONE, IMPI_AUTH_KEY   authentication at the server
//   IMPI_HOST_NAME     address or name, or name:port, others reach our host at, for one behind a
//                      translator
//   IMPI_HOST_PORT     port to listen on; default any
//   IMPI_HOST_BIND     address to listen on; default all
//                      of these three: one for all hosts of the client, or one for each with commas
//                      between them
//   IMPI_ANY_ADDRESS   set: a host of the job need not call from the address it has told
//   IMPI_TLS           file with a secret: all connections are TLS, and the others have it too;
//                      off: none is; unset: those to servers and clients that can do it, with the
//                      key as the secret
//   IMPI_TIMEOUT       seconds until the job must run; default 0, for ever
//   IMPI_LINKS         connections in parallel to a host; 0 or not set: as the distance is worth
//   IMPI_DATALEN, IMPI_ACKMARK, IMPI_HIWATER    what we offer in negotiation
//   IMPI_COLL_XSIZE, IMPI_COLL_MAXLINEAR        thresholds, -1 for the protocol's default
//   IMPI_VERBOSE       set: log every step
#ifndef PLI_IMPI_ENV_H
#define PLI_IMPI_ENV_H

#include <stdbool.h>
#include <stdint.h>
#include "engine/impi_log.h"
#include "wire/impi_err.h"
#include "wire/impi_packet_wire.h"
#include "wire/impi_token.h"

enum { PLI_IMPI_ENV_WORD = 256 };

struct pli_impi_env {
    const char *server; // NULL: no IMPI
    const char *tls_file;
    bool may_tls;        // IMPI_TLS says nothing, and there is OpenSSL: TLS where others can
    bool has_token;      // the job is joined by a token: server, key and TLS are as it says
    bool takes_any_rank; // no rank is given
    struct pli_impi_token token;
    char where[PLI_IMPI_TOKEN_WHERE];
    char what[160];                                        // this client in words, for the others
    uint32_t host, n_host;                                 // of the client: which one this is
    char name[PLI_IMPI_ENV_WORD], bind[PLI_IMPI_ENV_WORD]; // empty: not given
    uint32_t rank;
    bool has_none, has_key, is_verbose, takes_any_address;
    uint64_t key;
    uint16_t port;      // to listen on
    uint16_t told_port; // to tell the others; 0: the one we listen on
    int timeout_s, silence_s;
    int server_s; // to wait for a server that does not listen yet
    uint32_t datalen, ackmark, hiwater, n_links;
    int32_t coll_xsize, coll_maxlinear;
};

// Says on the log what is wrong. ERR_ARG, ERR_AUTH.
enum pli_impi_err pli_impi_env_read(const struct pli_impi_log *log, uint32_t host, uint32_t n_host,
                                    struct pli_impi_env *out);

// What is not of IMPI 0.0 and our clients can do: fill in features and token. ERR_SYS: no random
// numbers are to be had.
struct pli_impi_client_info;
enum pli_impi_err pli_impi_env_features(const struct pli_impi_log *log, bool may_tls,
                                        struct pli_impi_client_info *info);

// A number that clients on one machine, in one network namespace, have in common: what goes between
// them needs no TLS. 0: there is none, since the client has several hosts, or the user has told an
// address, behind which may be another machine, or has asked for TLS.
uint32_t pli_impi_env_machine(const struct pli_impi_env *env);

// The address to advertise: `env->name`, or the one from which the server is reached.
enum pli_impi_err pli_impi_env_address(const struct pli_impi_env *env,
                                       const struct pli_impi_log *log,
                                       unsigned char out[PLI_IMPI_HOSTID]);

#endif
