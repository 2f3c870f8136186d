// SPDX-License-Identifier: BSD-3-Clause
// OpenSSL's libcrypto, loaded when it is first needed: a job without encryption does not pay for
// it, and a machine without it can still run jobs. Only AES-256-GCM is used.
#ifndef PLI_BASE_CRYPTO_H
#define PLI_BASE_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>

enum { PLI_CRYPTO_KEY = 32, PLI_CRYPTO_IV = 12, PLI_CRYPTO_TAG = 16 };

// Whether there is a libcrypto of OpenSSL 3. Context: any thread; the first call loads it.
bool pli_crypto_is_there(void);

// A cipher with its key, for one direction. NULL: no memory, or no OpenSSL.
void *pli_crypto_create(const unsigned char key[PLI_CRYPTO_KEY], bool is_encrypt);
void pli_crypto_destroy(void *cipher);

// Encrypt or decrypt in place; `head` is authenticated and not encrypted. Decrypting is false where
// the tag does not fit, and the data is of no use then. Context: one thread for each cipher.
bool pli_crypto_encrypt(void *cipher, const unsigned char iv[PLI_CRYPTO_IV], const void *head,
                        size_t head_len, void *data, size_t len, unsigned char tag[PLI_CRYPTO_TAG]);
bool pli_crypto_decrypt(void *cipher, const unsigned char iv[PLI_CRYPTO_IV], const void *head,
                        size_t head_len, void *data, size_t len,
                        const unsigned char tag[PLI_CRYPTO_TAG]);

#endif
