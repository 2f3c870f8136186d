// SPDX-License-Identifier: BSD-3-Clause
// Access to bit-fields in shared structures. Part of pli_upc_access.h.
#ifndef PLI_UPC_BITS_H
#define PLI_UPC_BITS_H
#pragma GCC system_header

// Bit-field m of the structure S at p.
#define PLI_UPC_GET_BITS(S, p, m)                                                                  \
    ({                                                                                             \
        __typeof__(S) __pli_bs = PLI_UPC_GET(S, p);                                                \
        __pli_bs.m;                                                                                \
    })
#define PLI_UPC_PUT_BITS(S, p, m, op, v)                                                           \
    ({                                                                                             \
        pli_upc_pts __pli_bp = (p);                                                                \
        __typeof__(S) *__pli_bn = pli_upc_near(__pli_bp), __pli_bs, __pli_bo;                      \
        if (__builtin_expect(__pli_bn != 0, 1)) {                                                  \
            __pli_bn->m op(v);                                                                     \
            __pli_bs = *__pli_bn;                                                                  \
        } else {                                                                                   \
            pli_upc_get(&__pli_bs, __pli_bp, sizeof __pli_bs);                                     \
            __pli_bo = __pli_bs;                                                                   \
            __pli_bs.m op(v);                                                                      \
            pli_upc_put_changed(__pli_bp, &__pli_bs, &__pli_bo, sizeof __pli_bs);                  \
        }                                                                                          \
        __pli_bs.m;                                                                                \
    })
#define PLI_UPC_POST_BITS(S, p, m, op, v)                                                          \
    ({                                                                                             \
        pli_upc_pts __pli_cp = (p);                                                                \
        __typeof__(S) __pli_cs = PLI_UPC_GET(S, __pli_cp);                                         \
        PLI_UPC_PUT_BITS(S, __pli_cp, m, op, v);                                                   \
        __pli_cs.m;                                                                                \
    })
#define PLI_UPC_GET_BITS_STRICT(S, p, m)                                                           \
    ({                                                                                             \
        pli_upc_fence();                                                                           \
        __typeof__(S) __pli_ds = PLI_UPC_GET_AS(S, volatile __typeof__(S), p);                     \
        pli_upc_order();                                                                           \
        __pli_ds.m;                                                                                \
    })
#define PLI_UPC_STRICTLY(e)                                                                        \
    ({                                                                                             \
        pli_upc_order();                                                                           \
        __auto_type __pli_e = (e);                                                                 \
        pli_upc_order();                                                                           \
        __pli_e;                                                                                   \
    })
#define PLI_UPC_PUT_BITS_STRICT(S, p, m, op, v)                                                    \
    PLI_UPC_STRICTLY(PLI_UPC_PUT_BITS(S, p, m, op, v) + 0)
#define PLI_UPC_POST_BITS_STRICT(S, p, m, op, v)                                                   \
    PLI_UPC_STRICTLY(PLI_UPC_POST_BITS(S, p, m, op, v) + 0)

#endif
