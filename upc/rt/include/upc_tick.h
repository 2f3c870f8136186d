// SPDX-License-Identifier: BSD-3-Clause
// <upc_tick.h> [UPC 1.3 required library]
#ifndef PLI_UPC_TICK_H
#define PLI_UPC_TICK_H
#include <stdint.h>

typedef uint64_t upc_tick_t;
#define UPC_TICK_MIN ((upc_tick_t)0)
#define UPC_TICK_MAX UINT64_MAX

upc_tick_t upc_ticks_now(void) __asm__("pli_upc_ticks_now");
uint64_t upc_ticks_to_ns(upc_tick_t ticks) __asm__("pli_upc_ticks_to_ns");

#endif
