// SPDX-License-Identifier: BSD-3-Clause
// Berkeley UPC's collectives on values. TYPE is the type of the value; all threads call them with
// the same root and operation. UPC_FUNC is none of the operations.
#ifndef PLI_UPC_BUPC_COLLECTIVEV_H
#define PLI_UPC_BUPC_COLLECTIVEV_H
#include <stddef.h>
#include <upc_types.h>

// kind: 0 unsigned, 1 signed, 2 floating.
void pli_upc_value_reduce(void *value, size_t size, int kind, upc_op_t op, int root);
void pli_upc_value_prefix(void *value, size_t size, int kind, upc_op_t op);
void pli_upc_value_broadcast(void *value, size_t size, int root);
void pli_upc_value_scatter(void *value, size_t size, const void *from, int root);
void pli_upc_value_gather(const void *value, size_t size, void *to, int root);
void pli_upc_value_permute(void *value, size_t size, int to);

#define PLI_UPC_VALUE_KIND(TYPE) ((TYPE)1 / (TYPE)2 != 0 ? 2 : (TYPE)-1 < (TYPE)1)
#define PLI_UPC_VALUE(TYPE, first, call)                                                           \
    (__extension__({                                                                               \
        TYPE pli_value = (first);                                                                  \
        call;                                                                                      \
        pli_value;                                                                                 \
    }))

// The result is the root's; the others get their own value back.
#define bupc_allv_reduce(TYPE, value, rootthread, reductionop)                                     \
    PLI_UPC_VALUE(TYPE, value,                                                                     \
                  pli_upc_value_reduce(&pli_value, sizeof(TYPE), PLI_UPC_VALUE_KIND(TYPE),         \
                                       reductionop, rootthread))
#define bupc_allv_reduce_all(TYPE, value, reductionop)                                             \
    PLI_UPC_VALUE(                                                                                 \
        TYPE, value,                                                                               \
        pli_upc_value_reduce(&pli_value, sizeof(TYPE), PLI_UPC_VALUE_KIND(TYPE), reductionop, -1))
// Over the values of threads 0 to MYTHREAD.
#define bupc_allv_prefix_reduce(TYPE, value, reductionop)                                          \
    PLI_UPC_VALUE(                                                                                 \
        TYPE, value,                                                                               \
        pli_upc_value_prefix(&pli_value, sizeof(TYPE), PLI_UPC_VALUE_KIND(TYPE), reductionop))
#define bupc_allv_broadcast(TYPE, value, rootthread)                                               \
    PLI_UPC_VALUE(TYPE, value, pli_upc_value_broadcast(&pli_value, sizeof(TYPE), rootthread))
// rootsrcarray and rootdestarray have THREADS elements and count at the root only.
#define bupc_allv_scatter(TYPE, rootthread, rootsrcarray)                                          \
    (__extension__({                                                                               \
        TYPE pli_value;                                                                            \
        pli_upc_value_scatter(&pli_value, sizeof(TYPE), rootsrcarray, rootthread);                 \
        pli_value;                                                                                 \
    }))
#define PLI_UPC_VALUE_GATHER(TYPE, value, root, dst)                                               \
    (__extension__({                                                                               \
        TYPE pli_value = (value), *pli_to = (dst);                                                 \
        pli_upc_value_gather(&pli_value, sizeof(TYPE), pli_to, root);                              \
        pli_to;                                                                                    \
    }))
#define bupc_allv_gather(TYPE, value, rootthread, rootdestarray)                                   \
    PLI_UPC_VALUE_GATHER(TYPE, value, rootthread, rootdestarray)
#define bupc_allv_gather_all(TYPE, value, destarray)                                               \
    PLI_UPC_VALUE_GATHER(TYPE, value, -1, destarray)
// The value of the thread that named this one; every thread is named once.
#define bupc_allv_permute(TYPE, value, tothreadid)                                                 \
    PLI_UPC_VALUE(TYPE, value, pli_upc_value_permute(&pli_value, sizeof(TYPE), tothreadid))

#endif
