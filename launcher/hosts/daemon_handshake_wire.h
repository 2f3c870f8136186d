// SPDX-License-Identifier: BSD-3-Clause
// The handshake by which a daemon that calls mpiexec (or another daemon) and the listener prove to
// each other that they know the secret of the job. Three messages of fixed size, little-endian:
//
//     caller    hello  a random number, the address it called, what it can do; keyed hash of that
//     listener  reply  a random number, what is used from here on; keyed hash of that and the hello
//     caller    join   keyed hash of all that
//
// The hashes also cover a number of the listener's own that does not travel here, so that none is
// of use with another listener. All that follows are records under keys made of the secret and of
// both random numbers: a process that passes on the messages of two others can change and add
// nothing.
#ifndef PLI_LAUNCHER_DAEMON_HANDSHAKE_WIRE_H
#define PLI_LAUNCHER_DAEMON_HANDSHAKE_WIRE_H

#include <stdint.h>

#define PLI_DAEMON_HANDSHAKE_MAGIC "PLIANT\0\2" // the last byte is the version

enum { PLI_DAEMON_HANDSHAKE_NONCE = 32, PLI_DAEMON_HANDSHAKE_MAC = 32 };
enum { PLI_DAEMON_HANDSHAKE_SECRET = 32, PLI_DAEMON_HANDSHAKE_ID = 16 }; // known before

struct pli_daemon_handshake_hello {
    char magic[8];
    uint32_t host;   // of the caller, in the job
    uint32_t suites; // bits of enum pli_protect_suite
    unsigned char address[16];
    uint16_t port;
    uint8_t family; // 4, 6
    uint8_t spare[5];
    unsigned char nonce[PLI_DAEMON_HANDSHAKE_NONCE];
    unsigned char mac[PLI_DAEMON_HANDSHAKE_MAC];
};
_Static_assert(sizeof(struct pli_daemon_handshake_hello) == 104, "goes from host to host");

struct pli_daemon_handshake_reply {
    char magic[8];
    uint32_t suite; // one of the caller's
    uint32_t spare;
    unsigned char nonce[PLI_DAEMON_HANDSHAKE_NONCE];
    unsigned char mac[PLI_DAEMON_HANDSHAKE_MAC];
};
_Static_assert(sizeof(struct pli_daemon_handshake_reply) == 80, "goes from host to host");

struct pli_daemon_handshake_join {
    unsigned char mac[PLI_DAEMON_HANDSHAKE_MAC];
};
_Static_assert(sizeof(struct pli_daemon_handshake_join) == 32, "goes from host to host");

#endif
