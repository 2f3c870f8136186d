// SPDX-License-Identifier: BSD-3-Clause
// Scalars in the "external32" representation in which IMPI carries user data: big-endian, IEEE, no
// gaps, long in 4 bytes [MPI-5.0 14.5.2]. Pure. Context: any thread.
#ifndef PLI_IMPI_EXT32_H
#define PLI_IMPI_EXT32_H

#include <stddef.h>
#include <stdint.h>
#include "wire/impi_err.h"

// What the native element is. Types whose two forms have the same size differ in byte order only
// and share a kind: SAME2 does for short and INTEGER2, SAME4 for int, float, LOGICAL and half a
// COMPLEX, SAME8 for long long, double and half a DOUBLE_COMPLEX.
enum pli_impi_ext32_kind {
    PLI_IMPI_EXT32_SAME1,
    PLI_IMPI_EXT32_SAME2,
    PLI_IMPI_EXT32_SAME4,
    PLI_IMPI_EXT32_SAME8,
    PLI_IMPI_EXT32_LONG,    // long, 4 bytes outside
    PLI_IMPI_EXT32_ULONG,   // unsigned long, 4 bytes outside
    PLI_IMPI_EXT32_WCHAR,   // wchar_t, 2 bytes outside
    PLI_IMPI_EXT32_LDOUBLE, // long double, 16 bytes outside
    PLI_IMPI_N_EXT32,
};

size_t pli_impi_ext32_size(enum pli_impi_ext32_kind kind);   // bytes outside
size_t pli_impi_ext32_native(enum pli_impi_ext32_kind kind); // bytes in this process

// Convert n elements. The buffers do not overlap and need no alignment. ERR_RANGE: a value does not
// fit the other form, and `out` then holds the elements before it.
enum pli_impi_err pli_impi_ext32_pack(enum pli_impi_ext32_kind kind, const void *in, size_t n,
                                      unsigned char *out);
enum pli_impi_err pli_impi_ext32_unpack(enum pli_impi_ext32_kind kind, const unsigned char *in,
                                        size_t n, void *out);

// The 80-bit extended format of x86 and IEEE binary128, in bits: sign and exponent in the low 16
// bits of `se`, the 64-bit significand with its explicit leading one in `mant`. Exact outwards;
// inwards rounds to nearest even.
void pli_impi_ext32_from_x87(uint16_t se, uint64_t mant, unsigned char out[16]);
void pli_impi_ext32_to_x87(const unsigned char in[16], uint16_t *se_out, uint64_t *mant_out);

#endif
