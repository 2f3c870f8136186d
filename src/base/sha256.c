// SPDX-License-Identifier: BSD-3-Clause
// Computes SHA-256 and the keyed hash over it.
// Written for a few hundred bytes per connection, and for the frames of links where there is no
// OpenSSL: plain, not fast.
#include "base/sha256.h"

#include <string.h>

enum { BLOCK = 64, N_ROUND = 64 };

struct hash {
    uint32_t state[8];
    uint64_t n_byte;
    unsigned char rest[BLOCK]; // n_byte % BLOCK of them
};

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
static const uint32_t k[N_ROUND] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void mix(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[N_ROUND], v[8];
    for (int i = 0; i < 16; i++) {
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    }
    for (int i = 16; i < N_ROUND; i++) {
        uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    memcpy(v, state, sizeof v);
    for (int i = 0; i < N_ROUND; i++) {
        uint32_t s1 = turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + k[i] + w[i];
        uint32_t s0 = turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; i++) {
        state[i] += v[i];
    }
}

static void begin(struct hash *h)
{
    static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(h->state, first, sizeof first);
    h->n_byte = 0;
}

static void add(struct hash *h, const void *data, size_t len)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < len; i++) {
        if (h->n_byte % BLOCK == 0 && len - i >= BLOCK) {
            mix(h->state, at + i);
            h->n_byte += BLOCK;
            i += BLOCK - 1;
            continue;
        }
        h->rest[h->n_byte++ % BLOCK] = at[i];
        if (h->n_byte % BLOCK == 0) {
            mix(h->state, h->rest);
        }
    }
}

static void end(struct hash *h, unsigned char out[PLI_SHA256_SIZE])
{
    static const unsigned char zero[BLOCK] = { 0 };
    const unsigned char one = 0x80;
    unsigned char n_bit[8];
    for (int i = 0; i < 8; i++) {
        n_bit[i] = (unsigned char)(h->n_byte * 8 >> (56 - 8 * i));
    }
    add(h, &one, 1);
    add(h, zero, (BLOCK + 56 - h->n_byte % BLOCK) % BLOCK);
    add(h, n_bit, sizeof n_bit);
    for (int i = 0; i < PLI_SHA256_SIZE; i++) {
        out[i] = (unsigned char)(h->state[i / 4] >> (24 - 8 * (i % 4)));
    }
}

void pli_sha256_digest(const void *data, size_t len, unsigned char out[PLI_SHA256_SIZE])
{
    struct hash h;
    begin(&h);
    add(&h, data, len);
    end(&h, out);
}

void pli_sha256_mac(const void *key, size_t key_len, const void *data, size_t len,
                    unsigned char out[PLI_SHA256_SIZE])
{
    const struct pli_sha256_part part = { data, len };
    pli_sha256_mac_parts(key, key_len, &part, 1, out);
}

void pli_sha256_mac_parts(const void *key, size_t key_len, const struct pli_sha256_part *parts,
                          int n, unsigned char out[PLI_SHA256_SIZE])
{
    unsigned char pad[BLOCK], inner[PLI_SHA256_SIZE];
    struct hash h;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < BLOCK; i++) {
            unsigned char byte = i < key_len ? ((const unsigned char *)key)[i] : 0;
            pad[i] = byte ^ (round == 0 ? 0x36 : 0x5c);
        }
        begin(&h);
        add(&h, pad, sizeof pad);
        for (int i = 0; round == 0 && i < n; i++) {
            add(&h, parts[i].data, parts[i].len);
        }
        if (round == 1) {
            add(&h, inner, sizeof inner);
        }
        end(&h, round == 0 ? inner : out);
    }
}

bool pli_sha256_is_equal(const unsigned char a[PLI_SHA256_SIZE],
                         const unsigned char b[PLI_SHA256_SIZE])
{
    volatile unsigned char differ = 0;
    for (int i = 0; i < PLI_SHA256_SIZE; i++) {
        differ = (unsigned char)(differ | (a[i] ^ b[i]));
    }
    return differ == 0;
}
