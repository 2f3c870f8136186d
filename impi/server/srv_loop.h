// SPDX-License-Identifier: BSD-3-Clause
// The server's event loop: sockets on one side, the job on the other.
#ifndef PLI_SRV_LOOP_H
#define PLI_SRV_LOOP_H

#include "server/srv_job.h"

struct pli_srv_conf;

// Serve one job on the listening socket, which is closed once all clients have joined. Returns the
// program's exit code. Context: one thread; blocks until the job is over.
enum pli_srv_exit pli_srv_loop_run(const struct pli_srv_conf *conf, int listen_fd);

// The handler of a signal that ends the server. The clients of a world that was joined by a token
// are told conf->stop_text.
void pli_srv_loop_stop(int sig);

#endif
