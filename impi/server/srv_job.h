// SPDX-License-Identifier: BSD-3-Clause
// The server without its sockets: connections come in as bytes and go out as bytes, time is told
// from outside. One job, up to 32 clients. Context: one thread.
#ifndef PLI_SRV_JOB_H
#define PLI_SRV_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/impi_err.h"

struct pli_srv_conf;
struct pli_srv_job;
struct pli_srv_peer; // one connection

enum pli_srv_exit {           // exit codes of the program; frozen
    PLI_SRV_EXIT_OK = 0,      // every client said FINI
    PLI_SRV_EXIT_START = 1,   // bad usage, or the server could not start
    PLI_SRV_EXIT_TIMEOUT = 2, // startup was not over in time
    PLI_SRV_EXIT_STARTUP = 3, // a client was lost during startup: no job
    PLI_SRV_EXIT_LOST = 4,    // a client was lost after startup; the others were served on
};

enum { PLI_SRV_MAX_PENDING = 64 }; // connections that have not yet joined

// `conf` must outlive the job.
enum pli_impi_err pli_srv_job_create(const struct pli_srv_conf *conf, uint64_t now_ms,
                                     struct pli_srv_job **out);
void pli_srv_job_destroy(struct pli_srv_job *job);

// A new connection; `name` (copied) is for the log. If too many are pending the oldest of them is
// dropped. The peer belongs to the job and stays until pli_srv_job_reap. ERR_NOMEM.
enum pli_impi_err pli_srv_job_admit(struct pli_srv_job *job, const char *name, uint64_t now_ms,
                                    struct pli_srv_peer **out);

// Bytes that arrived, or the end of the stream (`why` is NULL at end of file). Nothing happens on a
// peer that is closing.
void pli_srv_job_input(struct pli_srv_job *job, struct pli_srv_peer *peer, const unsigned char *p,
                       size_t len);
void pli_srv_job_lost(struct pli_srv_job *job, struct pli_srv_peer *peer, const char *why);

// Bytes to be written to the peer, and that `len` of them were.
size_t pli_srv_job_output(const struct pli_srv_job *job, struct pli_srv_peer *peer,
                          const unsigned char **out);
void pli_srv_job_wrote(struct pli_srv_peer *peer, size_t len);

// Whether the stream goes on with TLS under the key, once all output is written; and that it does.
bool pli_srv_job_turns_to_tls(const struct pli_srv_peer *peer);
void pli_srv_job_is_tls(struct pli_srv_peer *peer);

// Apply deadlines. Returns the milliseconds until the next one, or -1.
int pli_srv_job_tick(struct pli_srv_job *job, uint64_t now_ms);

// How a connection stands: whether its bytes still matter, or only what is to be written.
// The connection to which the bytes of this one go; NULL: none, or it is not there yet.
struct pli_srv_peer *pli_srv_job_mate(const struct pli_srv_peer *peer);
bool pli_srv_job_is_open(const struct pli_srv_peer *peer);
void pli_srv_job_reap(struct pli_srv_job *job, struct pli_srv_peer *peer);

// The server was asked to end: the clients are told why.
void pli_srv_job_stop(struct pli_srv_job *job, const char *why);

bool pli_srv_job_wants_more(const struct pli_srv_job *job); // new connections
bool pli_srv_job_is_over(const struct pli_srv_job *job, enum pli_srv_exit *exit_out);

#endif
