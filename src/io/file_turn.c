// SPDX-License-Identifier: BSD-3-Clause
// A word of the memory that members share has the rank whose turn it is.
#include "io/file_turn.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "io/file.h"
#include "msg/progress.h"
#include "obj/comm.h"

enum {
    SHORTEST = 1 << 16,    // less is written before another would have noticed
    LONG_NS = 600 * 1000,  // a turn takes less, unless who has it was interrupted
    MOST_NS = 2000 * 1000, // who has it that long may be dead or stopped
    LOOKS = 64,            // between two at the clock
};

bool pli_file_turn_is_told(const struct pli_file *f, size_t len)
{
    return len >= SHORTEST && f->is_local && f->pointer.turn != NULL && f->comm->size > 1;
}

bool pli_file_turn_is_worth(const struct pli_file *f, size_t len)
{
    return pli_file_turn_is_told(f, len) && pli_progress_spins() > 1;
}

void pli_file_turn_take(const struct pli_file *f)
{
    uint32_t me = (uint32_t)f->comm->rank + 1;
    uint64_t begin = 0;
    for (int i = 0;; i++) {
        uint32_t none = 0;
        if (atomic_load_explicit(f->pointer.turn, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(f->pointer.turn, &none, me)) {
            return;
        }
        if (i % LOOKS == 0) {
            uint64_t now = pli_clock_ns();
            begin = begin == 0 ? now : begin;
            if (now - begin > MOST_NS) {
                atomic_store(f->pointer.turn, me);
                return;
            }
            if (now - begin > LONG_NS) { // who has it may wait for this core
                pli_cpu_give_way();
            }
        }
        pli_cpu_relax();
    }
}

bool pli_file_turn_try(const struct pli_file *f)
{
    uint32_t none = 0, me = (uint32_t)f->comm->rank + 1;
    return f->pointer.turn != NULL &&
           atomic_load_explicit(f->pointer.turn, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_strong(f->pointer.turn, &none, me);
}

void pli_file_turn_give(const struct pli_file *f)
{
    uint32_t me = (uint32_t)f->comm->rank + 1;
    atomic_compare_exchange_strong(f->pointer.turn, &me, 0); // not: another took it for dead
}
