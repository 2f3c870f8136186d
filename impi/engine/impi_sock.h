// SPDX-License-Identifier: BSD-3-Clause
// The system's side of the sockets: listening, connecting, addresses. All are non-blocking, closed
// on exec, and without delay for small packets.
#ifndef PLI_IMPI_SOCK_H
#define PLI_IMPI_SOCK_H

#include <stdbool.h>
#include <stdint.h>
#include "engine/impi_log.h"
#include "wire/impi_err.h"
#include "wire/impi_packet_wire.h"

struct iovec;

// Listen on `bind`, or on all addresses, IPv4 and IPv6 at once where the system has both. Logs.
enum pli_impi_err pli_impi_sock_listen(const char *bind, uint16_t port,
                                       const struct pli_impi_log *log, int *fd_out,
                                       uint16_t *port_out);

// PLI_IMPI_AGAIN from the reading and writing functions: nothing can be done now. ERR_PEER: the end
// of the stream. ERR_SYS: errno is kept.
enum pli_impi_err pli_impi_sock_accept(int listen_fd, int *fd_out);

// Begin to connect: to a host of the job, or to "name:port" (which may block for the name). The
// connection is there when the socket is writable and pli_impi_sock_error is 0.
enum pli_impi_err pli_impi_sock_dial(const unsigned char addr[PLI_IMPI_HOSTID], uint16_t port,
                                     int *fd_out);
enum pli_impi_err pli_impi_sock_dial_name(const char *where, const struct pli_impi_log *log,
                                          int *fd_out);
int pli_impi_sock_error(int fd);

// A connection on which nothing is said is lost when the other machine does not answer for so long;
// 0: as long as the system likes, which is hours.
void pli_impi_sock_expect(int fd, int silence_s);
// What was written is not all acknowledged; *ms_out: how long the other machine has not answered
// although it was asked again, else 0. One that merely does not read answers.
bool pli_impi_sock_awaits(int fd, uint32_t *ms_out);

uint32_t pli_impi_sock_rtt(int fd); // microseconds there and back, as far as known
// Takes no more to write while so many bytes wait to be sent for the first time.
void pli_impi_sock_limit(int fd, int bytes);

enum pli_impi_err pli_impi_sock_write(int fd, const struct iovec *iov, int n, size_t *len_out);
enum pli_impi_err pli_impi_sock_read(int fd, const struct iovec *iov, int n, size_t *len_out);
// The first byte that can be read, which stays there to be read.
enum pli_impi_err pli_impi_sock_peek(int fd, unsigned char *byte_out);

// The address of a name; and our own address on the way to "name:port". They may block. Log.
enum pli_impi_err pli_impi_sock_find(const char *name, const struct pli_impi_log *log,
                                     unsigned char out[PLI_IMPI_HOSTID]);
enum pli_impi_err pli_impi_sock_toward(const char *where, const struct pli_impi_log *log,
                                       unsigned char out[PLI_IMPI_HOSTID]);

// Where a connection comes from.
enum pli_impi_err pli_impi_sock_caller(int fd, unsigned char out[PLI_IMPI_HOSTID]);

// "address:port" of a host of the job, for the log.
void pli_impi_sock_text(const unsigned char addr[PLI_IMPI_HOSTID], uint16_t port, char text[64]);

#endif
