// SPDX-License-Identifier: BSD-3-Clause
// The operators of reductions and atomics, by the numbers of upc_op_t in upc_types.h.
#ifndef PLI_RT_OP_H
#define PLI_RT_OP_H

enum {
    OP_ADD = 1 << 0,
    OP_MULT = 1 << 1,
    OP_AND = 1 << 2,
    OP_OR = 1 << 3,
    OP_XOR = 1 << 4,
    OP_LOGAND = 1 << 5,
    OP_LOGOR = 1 << 6,
    OP_MIN = 1 << 7,
    OP_MAX = 1 << 8,
    OP_GET = 1 << 9, // from here on of atomics only
    OP_SET = 1 << 10,
    OP_CSWAP = 1 << 11,
    OP_SUB = 1 << 12,
    OP_INC = 1 << 13,
    OP_DEC = 1 << 14
};

#endif
