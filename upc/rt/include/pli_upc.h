// SPDX-License-Identifier: BSD-3-Clause
// What translated UPC programs need: the contract between upcc and the runtime library.
// Every translated file includes it after preprocessing, so it includes no header but its parts.
// Context of all functions: any UPC thread, after start-up, unless said otherwise.
#ifndef PLI_UPC_H
#define PLI_UPC_H
#pragma GCC system_header

#include "pli_upc_access.h"
#include "pli_upc_ptr.h"

// has_value is 0 for the form without an operand.
void pli_upc_notify(int has_value, int value);
void pli_upc_wait(int has_value, int value);
void pli_upc_barrier(int has_value, int value);

// The translator has compared the types.
#define pli_upc_assert_type(...) ((void)0)

// Affinity of upc_forall: pointer, signed and unsigned.
static inline int pli_upc_is_mine(pli_upc_pts p)
{
    return pli_upc_threadof(p) == (__SIZE_TYPE__)pli_upc_mythread;
}

static inline int pli_upc_is_mine_i(__INT64_TYPE__ i)
{
    __INT64_TYPE__ r = i % pli_upc_threads;
    return (r < 0 ? r + pli_upc_threads : r) == pli_upc_mythread;
}

static inline int pli_upc_is_mine_u(__UINT64_TYPE__ i)
{
    return i % (__UINT64_TYPE__)pli_upc_threads == (__UINT64_TYPE__)pli_upc_mythread;
}

// The first number from lo (not negative) on that belongs to this thread in cyclic order.
static inline long pli_upc_first(long lo)
{
    long d = pli_upc_mythread - lo % pli_upc_threads;
    return lo + (d < 0 ? d + pli_upc_threads : d);
}

// Start-up tables.

// One entry per definition of a shared object. The runtime walks the table in order, skips those
// whose *where is set already (further tentative definitions), reserves local_bytes at the same
// offset on every thread, stores the pointer to element 0, and copies the initial value to the
// owners: an object of block_bytes 0 lies on thread 0, an array in blocks of block_bytes.
struct pli_upc_var {
    pli_upc_pts *where;
    const char *name;
    __SIZE_TYPE__ local_bytes;
    __SIZE_TYPE__ block_bytes;
    __SIZE_TYPE__ elem_bytes;
    const void *image; // initial value, or null
    __SIZE_TYPE__ image_bytes;
    // Writes the initial value when it has shared addresses in it; returns its size, also for null.
    __SIZE_TYPE__ (*fill)(void *to);
};

// Private objects whose initialisers need code: every thread runs these once, after all shared
// objects have their places and before the first barrier.
typedef void (*pli_upc_init_fn)(void);

// One per translation unit: the mode it was compiled in. static_threads 0 is dynamic; pthreads 0:
// threads are processes, n + 1: OS threads, n in each process unless the launch says otherwise.
// upcrun reads the text from the program's file.
struct pli_upc_unit {
    int static_threads, pthreads;
    const char *text;
};
#ifndef PLI_UPC_PTHREADS_EACH
#define PLI_UPC_PTHREADS_EACH 0
#endif

#define PLI_UPC_JOIN_(a, b) a##b
#define PLI_UPC_JOIN(a, b) PLI_UPC_JOIN_(a, b)
#define PLI_UPC_TEXT_(a) #a
#define PLI_UPC_TEXT(a) PLI_UPC_TEXT_(a)
#define PLI_UPC_ENTRY(section_name, T, object)                                                     \
    static T *PLI_UPC_JOIN(object, _entry) __attribute__((section(#section_name), used)) = &object
#define PLI_UPC_INIT(function)                                                                     \
    static pli_upc_init_fn PLI_UPC_JOIN(function, _entry)                                          \
        __attribute__((section("pli_upc_inits"), used)) = function
#define PLI_UPC_UNIT(n_threads, is_pthreads)                                                       \
    static struct pli_upc_unit pli_upc_this_unit = {                                               \
        n_threads, (is_pthreads) ? 1 + PLI_UPC_PTHREADS_EACH : 0,                                  \
        "$PliantUPC: " #n_threads " " #is_pthreads " " PLI_UPC_TEXT(PLI_UPC_PTHREADS_EACH) " $"    \
    };                                                                                             \
    PLI_UPC_ENTRY(pli_upc_units, struct pli_upc_unit, pli_upc_this_unit);                          \
    PLI_UPC_LOADED

// The start-up tables of a program or a shared library.
struct pli_upc_module {
    struct pli_upc_unit **units, **units_end;
    struct pli_upc_var **vars, **vars_end;
    pli_upc_init_fn *inits, *inits_end;
};
// The program finds its own. Those of a shared library are told to it when that is loaded.
#if defined __PIC__ && !defined __PIE__
void pli_upc_add_module(const struct pli_upc_module *m);
#define PLI_UPC_TABLE(T, name)                                                                     \
    extern T __start_pli_upc_##name[] __attribute__((weak, visibility("hidden")));                 \
    extern T __stop_pli_upc_##name[] __attribute__((weak, visibility("hidden")));
PLI_UPC_TABLE(struct pli_upc_unit *, units)
PLI_UPC_TABLE(struct pli_upc_var *, vars)
PLI_UPC_TABLE(pli_upc_init_fn, inits)
#define PLI_UPC_LOADED                                                                             \
    __attribute__((constructor)) static void pli_upc_this_loaded(void)                             \
    {                                                                                              \
        pli_upc_add_module(&(const struct pli_upc_module){                                         \
            __start_pli_upc_units, __stop_pli_upc_units, __start_pli_upc_vars,                     \
            __stop_pli_upc_vars, __start_pli_upc_inits, __stop_pli_upc_inits });                   \
    }
#else
#define PLI_UPC_LOADED
#endif

// The C compiler knows the user's main as main, but its symbol is another: the runtime owns main
// and calls pli_upc_main, which calls the user's, on every thread.
#define PLI_UPC_MAIN(...) __VA_ARGS__ __asm__("pli_upc_user_main");
int pli_upc_main(int argc, char **argv, char **envp) __attribute__((no_instrument_function));

#endif
