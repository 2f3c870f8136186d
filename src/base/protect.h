// SPDX-License-Identifier: BSD-3-Clause
// Protects the records of one direction of a connection: each bears a tag that depends on the key,
// on how many records went before, and on all of its bytes. So one that was altered, repeated, left
// out, or comes in another order is known. With AES-256-GCM (OpenSSL) they are encrypted too.
#ifndef PLI_BASE_PROTECT_H
#define PLI_BASE_PROTECT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLI_PROTECT_KEY = 32, PLI_PROTECT_TAG = 16 };

// As bits, for two ends that tell each other what they can do.
enum pli_protect_suite {
    PLI_PROTECT_NONE = 0, // nothing is protected
    PLI_PROTECT_HMAC = 1, // HMAC-SHA256: authenticated, not encrypted
    PLI_PROTECT_GCM = 2   // AES-256-GCM: both
};

struct pli_protect {
    enum pli_protect_suite suite;
    unsigned char key[PLI_PROTECT_KEY];
    void *cipher;
    uint64_t n; // records so far
};

// What can be done here; loads OpenSSL where it is.
uint32_t pli_protect_suites(void);
// The best of what both can do.
enum pli_protect_suite pli_protect_choose(uint32_t mine, uint32_t theirs);

// One direction. PLI_ERR_NOMEM. Context: one thread for each.
enum pli_err pli_protect_init(struct pli_protect *r, enum pli_protect_suite suite,
                              const unsigned char key[PLI_PROTECT_KEY], bool is_sealing);
void pli_protect_fini(struct pli_protect *r);

// The sender: protect the next record; `data` is changed in place, `head` is sent as it is. False:
// OpenSSL failed, and the connection cannot be used any more.
bool pli_protect_seal(struct pli_protect *r, const void *head, size_t head_len, void *data,
                      size_t len, unsigned char tag[PLI_PROTECT_TAG]);
// The receiver: whether it is the next record as it was sent; then `data` is what it was.
bool pli_protect_open(struct pli_protect *r, const void *head, size_t head_len, void *data,
                      size_t len, const unsigned char tag[PLI_PROTECT_TAG]);

#endif
