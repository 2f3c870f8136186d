// SPDX-License-Identifier: BSD-3-Clause
// What the server was asked to do: its command line, environment and key.
#ifndef PLI_SRV_CONF_H
#define PLI_SRV_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/impi_err.h"
#include "wire/impi_token.h"

struct pli_impi_tls;

struct pli_srv_conf {
    int n_client;
    int port;        // 0: any free one
    int timeout_s;   // until all clients have said DONE; 0: for ever
    int handshake_s; // a connection's time to prove itself
    int limit_mib;   // startup data of one client
    bool is_verbose, is_fork, is_help;
    bool has_token;        // clients join by a token, which is printed in place of the address
    bool is_hosted;        // the process that started the server says what the user must know
    const char *stop_text; // for the clients, when a signal ends the server; NULL: none
    int silence_s;         // of a client that joined by the token, then the job ends
    struct pli_impi_token token;
    const char *bind;    // address to listen on; NULL: all
    const char *address; // address to print; NULL: found out
    const char *keyfile, *tls_file;
    struct pli_impi_tls *tls;     // NULL: plain
    struct pli_impi_tls *key_tls; // for clients that can prove the key by TLS; NULL: none may
    const char *auth;             // the list as it was given; NULL: not given
    int method[32];               // in order of preference
    int n_method;
    uint64_t key;
};

// Read the environment and the key file, and settle the methods; with a token, make its key and
// its secret. ERR_AUTH: none is enabled.
enum pli_impi_err pli_srv_conf_auth(struct pli_srv_conf *conf);

// Set TLS up if it is asked for, and for clients that can do it if nothing is said. ERR_AUTH: the
// secret is no good. ERR_SYS: there is no OpenSSL.
enum pli_impi_err pli_srv_conf_tls(struct pli_srv_conf *conf);

#endif
