// SPDX-License-Identifier: BSD-3-Clause
// Big-endian integers in unaligned bytes. Every multi-byte field of IMPI passes through here.
#ifndef PLI_IMPI_BYTE_H
#define PLI_IMPI_BYTE_H

#include <stdint.h>

static inline uint32_t pli_impi_byte_get32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static inline uint64_t pli_impi_byte_get64(const unsigned char *p)
{
    return (uint64_t)pli_impi_byte_get32(p) << 32 | pli_impi_byte_get32(p + 4);
}

static inline void pli_impi_byte_put32(unsigned char *p, uint32_t v)
{
    p[0] = (unsigned char)(v >> 24);
    p[1] = (unsigned char)(v >> 16);
    p[2] = (unsigned char)(v >> 8);
    p[3] = (unsigned char)v;
}

static inline void pli_impi_byte_put64(unsigned char *p, uint64_t v)
{
    pli_impi_byte_put32(p, (uint32_t)(v >> 32));
    pli_impi_byte_put32(p + 4, (uint32_t)v);
}

#endif
