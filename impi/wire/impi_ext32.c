// SPDX-License-Identifier: BSD-3-Clause
// Converts scalars to and from external32.
#include "wire/impi_ext32.h"
#include "wire/impi_byte.h"
#include <float.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>

_Static_assert(sizeof(float) == 4 && sizeof(double) == 8, "IEEE single and double");

static const bool is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

size_t pli_impi_ext32_size(enum pli_impi_ext32_kind kind)
{
    static const unsigned char size[PLI_IMPI_N_EXT32] = { 1, 2, 4, 8, 4, 4, 2, 16 };
    return size[kind];
}

size_t pli_impi_ext32_native(enum pli_impi_ext32_kind kind)
{
    static const unsigned char size[PLI_IMPI_N_EXT32] = {
        1, 2, 4, 8, sizeof(long), sizeof(unsigned long), sizeof(wchar_t), sizeof(long double),
    };
    return size[kind];
}

// Elements of one size: the same in both directions.
static void swap_copy(const unsigned char *in, size_t size, size_t n, unsigned char *out)
{
    if (!is_little || size == 1) {
        memcpy(out, in, n * size);
        return;
    }
    for (size_t i = 0; i < n; i++, in += size, out += size) {
        if (size == 2) {
            uint16_t v;
            memcpy(&v, in, 2);
            v = __builtin_bswap16(v);
            memcpy(out, &v, 2);
        } else if (size == 4) {
            uint32_t v;
            memcpy(&v, in, 4);
            v = __builtin_bswap32(v);
            memcpy(out, &v, 4);
        } else {
            uint64_t v;
            memcpy(&v, in, 8);
            v = __builtin_bswap64(v);
            memcpy(out, &v, 8);
        }
    }
}

static enum pli_impi_err pack_one(enum pli_impi_ext32_kind kind, const unsigned char *in,
                                  unsigned char *out)
{
    if (kind == PLI_IMPI_EXT32_LONG) {
        long v;
        memcpy(&v, in, sizeof v);
        if (v != (long)(int32_t)v) {
            return PLI_IMPI_ERR_RANGE;
        }
        pli_impi_byte_put32(out, (uint32_t)v);
    } else if (kind == PLI_IMPI_EXT32_ULONG) {
        unsigned long v;
        memcpy(&v, in, sizeof v);
        if (v != (unsigned long)(uint32_t)v) {
            return PLI_IMPI_ERR_RANGE;
        }
        pli_impi_byte_put32(out, (uint32_t)v);
    } else { // WCHAR
        wchar_t v;
        memcpy(&v, in, sizeof v);
        if ((unsigned long)v > 0xffff) {
            return PLI_IMPI_ERR_RANGE;
        }
        out[0] = (unsigned char)((unsigned long)v >> 8);
        out[1] = (unsigned char)v;
    }
    return PLI_IMPI_OK;
}

static void unpack_one(enum pli_impi_ext32_kind kind, const unsigned char *in, unsigned char *out)
{
    if (kind == PLI_IMPI_EXT32_LONG) {
        long v = (int32_t)pli_impi_byte_get32(in);
        memcpy(out, &v, sizeof v);
    } else if (kind == PLI_IMPI_EXT32_ULONG) {
        unsigned long v = pli_impi_byte_get32(in);
        memcpy(out, &v, sizeof v);
    } else { // WCHAR
        wchar_t v = (wchar_t)(in[0] << 8 | in[1]);
        memcpy(out, &v, sizeof v);
    }
}

void pli_impi_ext32_from_x87(uint16_t se, uint64_t mant, unsigned char out[16])
{
    uint32_t sign = se & 0x8000u;
    uint32_t exp = se & 0x7fffu;
    if (exp != 0x7fff && exp != 0 && (mant >> 63) == 0) {
        mant = 0; // an unnormal, which no x86 of this century makes
        exp = 0;
    }
    if (exp == 0 && mant != 0) {
        // a denormal of x87: both formats share the exponent range, so it is one here too, unless
        // its leading bit is set
        exp = (uint32_t)(mant >> 63);
    }
    uint64_t frac = mant << 1; // the leading one is implied outside
    uint64_t hi = (uint64_t)(sign | exp) << 48 | frac >> 16;
    pli_impi_byte_put64(out, hi);
    pli_impi_byte_put64(out + 8, frac << 48);
}

void pli_impi_ext32_to_x87(const unsigned char in[16], uint16_t *se_out, uint64_t *mant_out)
{
    uint64_t hi = pli_impi_byte_get64(in), lo = pli_impi_byte_get64(in + 8);
    uint32_t se = (uint32_t)(hi >> 48);
    uint32_t exp = se & 0x7fffu;
    uint64_t frac = (hi & 0xffffffffffffu) << 16 | lo >> 48; // the upper 64 of 112 bits
    uint64_t rest = lo << 16;                                // the lower 48, at the top
    bool leading = exp != 0;
    if (exp == 0x7fff) {
        uint64_t is_nan = (frac | rest) != 0;
        *mant_out = (uint64_t)1 << 63 | frac >> 1 | is_nan << 62;
        *se_out = (uint16_t)se;
        return;
    }
    uint64_t mant = (uint64_t)leading << 63 | frac >> 1;
    bool half = frac & 1, sticky = rest != 0;
    if (half && (sticky || (mant & 1))) {
        mant++;
        if (mant == 0) { // carried out of the significand
            mant = (uint64_t)1 << 63;
            se++;
        } else if (!leading && (mant >> 63) != 0) {
            se++; // the largest denormal became the smallest normal
        }
    }
    *se_out = (uint16_t)se;
    *mant_out = mant;
}

#if LDBL_MANT_DIG == 113
static void pack_ldouble(const unsigned char *in, unsigned char *out)
{
    for (int i = 0; i < 16; i++) {
        out[i] = is_little ? in[15 - i] : in[i];
    }
}

static void unpack_ldouble(const unsigned char *in, unsigned char *out)
{
    pack_ldouble(in, out);
}
#elif LDBL_MANT_DIG == 64
static void pack_ldouble(const unsigned char *in, unsigned char *out)
{
    uint64_t mant;
    uint16_t se;
    memcpy(&mant, in, 8);
    memcpy(&se, in + 8, 2);
    pli_impi_ext32_from_x87(se, mant, out);
}

static void unpack_ldouble(const unsigned char *in, unsigned char *out)
{
    uint64_t mant;
    uint16_t se;
    pli_impi_ext32_to_x87(in, &se, &mant);
    memset(out, 0, sizeof(long double));
    memcpy(out, &mant, 8);
    memcpy(out + 8, &se, 2);
}
#else
#error "long double is neither IEEE binary128 nor the 80-bit extended format"
#endif

enum pli_impi_err pli_impi_ext32_pack(enum pli_impi_ext32_kind kind, const void *in, size_t n,
                                      unsigned char *out)
{
    const unsigned char *p = in;
    size_t native = pli_impi_ext32_native(kind), size = pli_impi_ext32_size(kind);
    if (kind <= PLI_IMPI_EXT32_SAME8) {
        swap_copy(p, size, n, out);
        return PLI_IMPI_OK;
    }
    for (size_t i = 0; i < n; i++) {
        if (kind == PLI_IMPI_EXT32_LDOUBLE) {
            pack_ldouble(p + i * native, out + i * size);
            continue;
        }
        enum pli_impi_err err = pack_one(kind, p + i * native, out + i * size);
        if (err != PLI_IMPI_OK) {
            return err;
        }
    }
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_ext32_unpack(enum pli_impi_ext32_kind kind, const unsigned char *in,
                                        size_t n, void *out)
{
    unsigned char *p = out;
    size_t native = pli_impi_ext32_native(kind), size = pli_impi_ext32_size(kind);
    if (kind <= PLI_IMPI_EXT32_SAME8) {
        swap_copy(in, size, n, p);
        return PLI_IMPI_OK;
    }
    for (size_t i = 0; i < n; i++) {
        if (kind == PLI_IMPI_EXT32_LDOUBLE) {
            unpack_ldouble(in + i * size, p + i * native);
        } else {
            unpack_one(kind, in + i * size, p + i * native);
        }
    }
    return PLI_IMPI_OK;
}
