// SPDX-License-Identifier: BSD-3-Clause
// SHA-256 [FIPS 180-4] and the keyed hash over it [RFC 2104], for proving that one knows a secret.
#ifndef PLI_BASE_SHA256_H
#define PLI_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLI_SHA256_SIZE = 32 };

void pli_sha256_digest(const void *data, size_t len, unsigned char out[PLI_SHA256_SIZE]);

// The keyed hash of the data; the key has at most 64 bytes.
void pli_sha256_mac(const void *key, size_t key_len, const void *data, size_t len,
                    unsigned char out[PLI_SHA256_SIZE]);

// As pli_sha256_mac, of bytes that lie in several places.
struct pli_sha256_part {
    const void *data;
    size_t len;
};
void pli_sha256_mac_parts(const void *key, size_t key_len, const struct pli_sha256_part *parts,
                          int n, unsigned char out[PLI_SHA256_SIZE]);

// In the same time whatever the bytes are.
bool pli_sha256_is_equal(const unsigned char a[PLI_SHA256_SIZE],
                         const unsigned char b[PLI_SHA256_SIZE]);

#endif
