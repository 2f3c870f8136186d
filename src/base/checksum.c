// SPDX-License-Identifier: BSD-3-Clause
// Eight independent streams of multiplications, as fast as memory, so that the checksum costs
// little beside the writing of what it guards.
#include "base/checksum.h"

#include <string.h>

enum { N_STREAM = 8 };
#define ODD1 0x9fb21c651e98df25u
#define ODD2 0xd6e8feb86659fd93u

static uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= ODD2;
    h ^= h >> 29;
    h *= ODD1;
    return h ^ h >> 32;
}

uint64_t pli_checksum(uint64_t seed, const void *data, size_t len)
{
    const unsigned char *at = data;
    uint64_t s[N_STREAM];
    for (unsigned i = 0; i < N_STREAM; i++) {
        s[i] = seed + i * ODD2;
    }
    size_t left = len;
    for (; left >= N_STREAM * 8; left -= N_STREAM * 8, at += N_STREAM * 8) {
        uint64_t w[N_STREAM];
        memcpy(w, at, sizeof w);
        for (int i = 0; i < N_STREAM; i++) {
            s[i] = (s[i] ^ w[i]) * ODD1;
            s[i] ^= s[i] >> 31;
        }
    }
    uint64_t h = len;
    for (int i = 0; i < N_STREAM; i++) {
        h = mix(h ^ s[i]);
    }
    for (; left > 0; left--, at++) {
        h = mix(h ^ *at);
    }
    return h;
}
