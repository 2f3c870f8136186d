// SPDX-License-Identifier: BSD-3-Clause
// The two sides of a handshake; the caller moves the bytes. Context: any thread.
#ifndef PLI_BOOT_HANDSHAKE_H
#define PLI_BOOT_HANDSHAKE_H

#include "base/err.h"
#include "boot/handshake_wire.h"

#include <stdbool.h>

enum { PLI_HANDSHAKE_SECRET = 32 };

// Where the listener is, as each end sees it: the caller by the address that it called, the
// listener by the one that the connection came to. Where these differ a third process passes all
// on.
struct pli_handshake_place {
    unsigned char address[16]; // of IPv4 in the form that IPv6 has for it; zero: no network
    uint16_t port;
};
void pli_handshake_place_called(int fd, struct pli_handshake_place *out);
void pli_handshake_place_here(int fd, struct pli_handshake_place *out);

// The caller: begin; fails when the system has no random numbers.
enum pli_err pli_handshake_open(struct pli_handshake_open *out);
// The caller: is this the listener of our job? Says why not.
enum pli_err pli_handshake_check_reply(const unsigned char secret[PLI_HANDSHAKE_SECRET],
                                       const struct pli_handshake_place *place,
                                       const struct pli_handshake_open *open,
                                       const struct pli_handshake_reply *reply);
// The calling side: both indices are filled in, the hash is added.
void pli_handshake_join(const unsigned char secret[PLI_HANDSHAKE_SECRET],
                        const struct pli_handshake_place *place,
                        const struct pli_handshake_open *open,
                        const struct pli_handshake_reply *reply, struct pli_handshake_join *join);

// What protects the rest of the conversation, as seen from one of the two ends.
struct pli_handshake_keys {
    unsigned char send[PLI_HANDSHAKE_MAC], receive[PLI_HANDSHAKE_MAC];
};
void pli_handshake_make_keys(const unsigned char secret[PLI_HANDSHAKE_SECRET],
                             const struct pli_handshake_open *open,
                             const struct pli_handshake_reply *reply,
                             const struct pli_handshake_join *join, bool is_caller,
                             struct pli_handshake_keys *out);

// The listener: answer. Says what is wrong with the opening.
enum pli_err pli_handshake_reply(const unsigned char secret[PLI_HANDSHAKE_SECRET],
                                 const struct pli_handshake_place *place,
                                 const struct pli_handshake_open *open,
                                 struct pli_handshake_reply *out);
// The listener: does the caller know the secret?
bool pli_handshake_check_join(const unsigned char secret[PLI_HANDSHAKE_SECRET],
                              const struct pli_handshake_place *place,
                              const struct pli_handshake_open *open,
                              const struct pli_handshake_reply *reply,
                              const struct pli_handshake_join *join);

#endif
