// SPDX-License-Identifier: BSD-3-Clause
// The server's listening socket and the address it tells.
#ifndef PLI_SRV_LISTEN_H
#define PLI_SRV_LISTEN_H

#include <stddef.h>
#include "wire/impi_err.h"

struct pli_srv_conf;
struct sockaddr;

enum { PLI_SRV_ADDRESS = 512 }; // room for "[address]:port", or a token

// Listen as `conf` says, non-blocking. Logs what fails. `text_out` is what clients are to be given.
enum pli_impi_err pli_srv_listen_open(const struct pli_srv_conf *conf, int *fd_out,
                                      char text_out[PLI_SRV_ADDRESS]);

// "a.b.c.d:port", or "[address]:port" for IPv6; an IPv4 address mapped into IPv6 is shown as IPv4.
void pli_srv_listen_text(const struct sockaddr *addr, char text_out[PLI_SRV_ADDRESS]);

#endif
