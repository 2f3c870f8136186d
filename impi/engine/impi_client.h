// SPDX-License-Identifier: BSD-3-Clause
// The client's side of startup: a conversation with the server as a state machine over bytes. It
// authenticates, gives its rank, sends its labels, gathers those of all clients, and builds the
// job; when the job is over it says FINI. No sockets, never blocks. Context: one thread.
#ifndef PLI_IMPI_CLIENT_H
#define PLI_IMPI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engine/impi_log.h"
#include "wire/impi_collated.h"
#include "wire/impi_job.h"

struct pli_impi_client;

struct pli_impi_client_conf {
    uint32_t rank;          // of this client, given by the user
    const char *joins;      // join a world by a token; what this client is in words. NULL: not so
    bool takes_any_rank;    // where it joins: the server chooses the rank
    bool has_ended;         // it does not join: the server is to know that it never will
    bool has_none, has_key; // authentication methods that are enabled
    bool may_tls;           // the key may be proved by TLS in place of being sent
    uint64_t key;
    const struct pli_impi_client_info *info; // what to tell; read during create only
    size_t limit;                            // bytes of one collated label; 0: 256 MiB
    struct pli_impi_log log;
};

enum pli_impi_client_state {
    PLI_IMPI_CLIENT_METHOD,   // AUTH is sent, the server's choice is awaited
    PLI_IMPI_CLIENT_SIZE,     // the rank is sent, the number of clients is awaited
    PLI_IMPI_CLIENT_LABELS,   // labels are sent, collated ones are awaited
    PLI_IMPI_CLIENT_RUN,      // startup is over
    PLI_IMPI_CLIENT_FINISHED, // FINI is queued or sent
    PLI_IMPI_CLIENT_FAILED,
    PLI_IMPI_N_CLIENT_STATE,
};

// Checks `conf`. ERR_ARG, ERR_RANGE: the log says what is wrong.
enum pli_impi_err pli_impi_client_create(const struct pli_impi_client_conf *conf,
                                         struct pli_impi_client **out);
void pli_impi_client_destroy(struct pli_impi_client *c);

// Bytes from the server. Any error is final; the log has said why.
enum pli_impi_err pli_impi_client_input(struct pli_impi_client *c, const unsigned char *p,
                                        size_t len);
// The server has chosen TLS, and all that follows in both directions goes through it. True once:
// the caller sees to it before it writes or reads more.
bool pli_impi_client_turns_to_tls(struct pli_impi_client *c);
// The server's stream has ended. An error unless startup is over.
enum pli_impi_err pli_impi_client_eof(struct pli_impi_client *c);

// The rank of this client: before LABELS it may not be known where it joins by a token.
uint32_t pli_impi_client_rank(const struct pli_impi_client *c);
// Whether it joined by a token: no client goes on without the server and the others.
bool pli_impi_client_has_joined(const struct pli_impi_client *c);
// Why the server says that the job is over; NULL: it does not.
const char *pli_impi_client_over(const struct pli_impi_client *c);
// How many signs of life the server has asked for.
// A host of this client is to meet another at the server, see struct pli_impi_relay. False: none.
struct pli_impi_relay;
bool pli_impi_client_take_relay(struct pli_impi_client *c, struct pli_impi_relay *out);
uint64_t pli_impi_client_n_beat(const struct pli_impi_client *c);
// What is wrong with this client, for the others; "": nothing. Sent with the next sign of life.
void pli_impi_client_trouble(struct pli_impi_client *c, const char *text);
// This client ends the job: tell the others why. Nothing where it did not join by a token.
void pli_impi_client_give_up(struct pli_impi_client *c, const char *why);

// Bytes for the server, and that `len` of them were sent.
size_t pli_impi_client_output(const struct pli_impi_client *c, const unsigned char **out);
void pli_impi_client_wrote(struct pli_impi_client *c, size_t len);

enum pli_impi_client_state pli_impi_client_state(const struct pli_impi_client *c);

// From RUN on: the job, which belongs to the client, and the labels it was built from, for the
// other hosts of this client.
const struct pli_impi_job *pli_impi_client_job(const struct pli_impi_client *c);
const struct pli_impi_collated *pli_impi_client_collated(const struct pli_impi_client *c);

// All procs of this client have exited: say FINI. ERR_ARG before RUN. ERR_NOMEM.
enum pli_impi_err pli_impi_client_finish(struct pli_impi_client *c);

#endif
