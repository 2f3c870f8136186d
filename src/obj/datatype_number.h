// SPDX-License-Identifier: BSD-3-Clause
// The machine's numbers that elements of predefined types are made of.
#ifndef PLI_OBJ_DATATYPE_NUMBER_H
#define PLI_OBJ_DATATYPE_NUMBER_H

#include <float.h>
#include <stdint.h>

// Numbers C may not have a portable word for. The two-byte float is arithmetic only where the
// compiler knows it; elsewhere it can be sent and not reduced.
#if defined(__FLT16_MANT_DIG__)
#define PLI_HAS_F16 1
typedef _Float16 pli_f16;
#else
#define PLI_HAS_F16 0
typedef uint16_t pli_f16;
#endif
#if LDBL_MANT_DIG == 113
typedef long double pli_f128;
#else
typedef __float128 pli_f128;
#endif
typedef __int128 pli_i128;

// Order matters: signed and unsigned alternate, sizes double. PLI_NUM_INT computes with it.
enum pli_number {
    PLI_NUM_NONE,
    PLI_NUM_I8,
    PLI_NUM_U8,
    PLI_NUM_I16,
    PLI_NUM_U16,
    PLI_NUM_I32,
    PLI_NUM_U32,
    PLI_NUM_I64,
    PLI_NUM_U64,
    PLI_NUM_I128,
    PLI_NUM_U128,
    PLI_NUM_F16,
    PLI_NUM_F32,
    PLI_NUM_F64,
    PLI_NUM_LD, // long double, whatever it is here
    PLI_NUM_F128,
    PLI_NUM_CF16,
    PLI_NUM_CF32,
    PLI_NUM_CF64,
    PLI_NUM_CLD,
    PLI_NUM_CF128,
    PLI_N_NUM
};

// The number behind an integer type of C.
#define PLI_NUM_INT(T)                                                                             \
    ((sizeof(T) == 1    ? PLI_NUM_I8                                                               \
      : sizeof(T) == 2  ? PLI_NUM_I16                                                              \
      : sizeof(T) == 4  ? PLI_NUM_I32                                                              \
      : sizeof(T) == 8  ? PLI_NUM_I64                                                              \
      : sizeof(T) == 16 ? PLI_NUM_I128                                                             \
                        : PLI_NUM_NONE) +                                                          \
     ((T)-1 > (T)0))

static inline int pli_number_size(enum pli_number n)
{
    static const uint8_t sizes[PLI_N_NUM] = {
        [PLI_NUM_I8] = 1,
        [PLI_NUM_U8] = 1,
        [PLI_NUM_I16] = 2,
        [PLI_NUM_U16] = 2,
        [PLI_NUM_I32] = 4,
        [PLI_NUM_U32] = 4,
        [PLI_NUM_I64] = 8,
        [PLI_NUM_U64] = 8,
        [PLI_NUM_I128] = 16,
        [PLI_NUM_U128] = 16,
        [PLI_NUM_F16] = 2,
        [PLI_NUM_F32] = 4,
        [PLI_NUM_F64] = 8,
        [PLI_NUM_LD] = sizeof(long double),
        [PLI_NUM_F128] = 16,
        [PLI_NUM_CF16] = 4,
        [PLI_NUM_CF32] = 8,
        [PLI_NUM_CF64] = 16,
        [PLI_NUM_CLD] = 2 * sizeof(long double),
        [PLI_NUM_CF128] = 32,
    };
    return sizes[n];
}

// What the standard groups types by when it says which operations they take. [MPI-5.0 6.9.2]
enum pli_family {
    PLI_FAMILY_NONE, // derived from several
    PLI_FAMILY_TEXT, // characters and packed data: no operation
    PLI_FAMILY_C_INTEGER,
    PLI_FAMILY_F_INTEGER,
    PLI_FAMILY_FLOAT,
    PLI_FAMILY_COMPLEX,
    PLI_FAMILY_LOGICAL,
    PLI_FAMILY_BYTE,
    PLI_FAMILY_MULTI, // MPI_AINT, MPI_COUNT, MPI_OFFSET
    PLI_FAMILY_PAIR,  // value and index
    PLI_N_FAMILY
};

#endif
