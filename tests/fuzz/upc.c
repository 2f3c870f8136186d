// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the UPC translator, which must survive any text, in all its modes.
#include "fuzz.h"

#include "translate.h"
#include "unit_arena.h"

const char *const fuzz_words[] = { "shared ",
                                   "strict ",
                                   "relaxed ",
                                   "upc_forall",
                                   "[*]",
                                   "[]",
                                   "({",
                                   "})",
                                   "THREADS",
                                   "MYTHREAD",
                                   "upc_barrier;",
                                   "upc_blocksizeof",
                                   "#define THREADS",
                                   "# 1 \"x.h\" 1 3\n",
                                   "&&",
                                   "...",
                                   "->",
                                   "int ",
                                   "struct ",
                                   "typedef ",
                                   "return ",
                                   "sizeof",
                                   NULL };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static FILE *sink;
    if (sink == NULL) {
        sink = fopen("/dev/null", "w");
    }
    struct options opt = { .input = "fuzz.i" };
    opt.static_threads = len % 3 == 1 ? 4 : 0;
    opt.pthreads = len % 2;
    opt.c_code = len % 7 == 0;
    struct text out = { 0 }, map = { 0 };
    opt.map = &map;
    pli_translate(&opt, (const char *)data, len, sink, &out);
    pli_unit_arena_text_fini(&out);
    pli_unit_arena_text_fini(&map);
    return 0;
}
