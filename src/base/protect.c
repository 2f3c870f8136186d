// SPDX-License-Identifier: BSD-3-Clause
// Encrypts, or signs, the records of a connection.
// Counts records; the number is in the nonce of the cipher, or in what is hashed.
#include "base/protect.h"

#include "base/crypto.h"
#include "base/sha256.h"

#include <endian.h>
#include <string.h>

_Static_assert((int)PLI_PROTECT_KEY == (int)PLI_CRYPTO_KEY, "one key fits both");
_Static_assert((int)PLI_PROTECT_TAG == (int)PLI_CRYPTO_TAG, "one tag fits both");

uint32_t pli_protect_suites(void)
{
    return PLI_PROTECT_HMAC | (pli_crypto_is_there() ? (uint32_t)PLI_PROTECT_GCM : 0);
}

enum pli_protect_suite pli_protect_choose(uint32_t mine, uint32_t theirs)
{
    uint32_t both = mine & theirs;
    return (both & PLI_PROTECT_GCM) != 0    ? PLI_PROTECT_GCM
           : (both & PLI_PROTECT_HMAC) != 0 ? PLI_PROTECT_HMAC
                                            : PLI_PROTECT_NONE;
}

enum pli_err pli_protect_init(struct pli_protect *r, enum pli_protect_suite suite,
                              const unsigned char key[PLI_PROTECT_KEY], bool is_sealing)
{
    *r = (struct pli_protect){ .suite = suite };
    memcpy(r->key, key, PLI_PROTECT_KEY);
    if (suite == PLI_PROTECT_GCM) {
        r->cipher = pli_crypto_create(key, is_sealing);
        if (r->cipher == NULL) {
            pli_protect_fini(r);
            return pli_fail(PLI_ERR_NOMEM, "no memory to protect a connection");
        }
    }
    return PLI_OK;
}

void pli_protect_fini(struct pli_protect *r)
{
    pli_crypto_destroy(r->cipher);
    explicit_bzero(r, sizeof *r);
}

// The first bytes of the hash are the tag.
static void hash(const struct pli_protect *r, const void *head, size_t head_len, const void *data,
                 size_t len, unsigned char out[PLI_SHA256_SIZE])
{
    uint64_t numbers[2] = { htole64(r->n), htole64(head_len) };
    const struct pli_sha256_part parts[] = { { numbers, sizeof numbers },
                                             { head, head_len },
                                             { data, len } };
    pli_sha256_mac_parts(r->key, PLI_PROTECT_KEY, parts, 3, out);
    memset(out + PLI_PROTECT_TAG, 0, PLI_SHA256_SIZE - PLI_PROTECT_TAG);
}

static void number(const struct pli_protect *r, unsigned char iv[PLI_CRYPTO_IV])
{
    uint64_t n = htole64(r->n);
    memset(iv, 0, PLI_CRYPTO_IV);
    memcpy(iv + PLI_CRYPTO_IV - sizeof n, &n, sizeof n);
}

bool pli_protect_seal(struct pli_protect *r, const void *head, size_t head_len, void *data,
                      size_t len, unsigned char tag[PLI_PROTECT_TAG])
{
    bool is_good = true;
    if (r->suite == PLI_PROTECT_GCM) {
        unsigned char iv[PLI_CRYPTO_IV];
        number(r, iv);
        is_good = pli_crypto_encrypt(r->cipher, iv, head, head_len, data, len, tag);
    } else {
        unsigned char out[PLI_SHA256_SIZE];
        hash(r, head, head_len, data, len, out);
        memcpy(tag, out, PLI_PROTECT_TAG);
    }
    r->n++;
    return is_good;
}

bool pli_protect_open(struct pli_protect *r, const void *head, size_t head_len, void *data,
                      size_t len, const unsigned char tag[PLI_PROTECT_TAG])
{
    bool is_good;
    if (r->suite == PLI_PROTECT_GCM) {
        unsigned char iv[PLI_CRYPTO_IV];
        number(r, iv);
        is_good = pli_crypto_decrypt(r->cipher, iv, head, head_len, data, len, tag);
    } else {
        unsigned char want[PLI_SHA256_SIZE], got[PLI_SHA256_SIZE] = { 0 };
        hash(r, head, head_len, data, len, want);
        memcpy(got, tag, PLI_PROTECT_TAG);
        is_good = pli_sha256_is_equal(want, got);
    }
    r->n++;
    return is_good;
}
