// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target: the translator must survive any text, in all its modes.
#include "translate.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *sink;
    if (sink == NULL) {
        sink = fopen("/dev/null", "w");
    }
    struct options opt = { .input = "fuzz.i" };
    opt.static_threads = size % 3 == 1 ? 4 : 0;
    opt.pthreads = size % 2;
    opt.c_code = size % 7 == 0;
    struct text out = { 0 }, map = { 0 };
    opt.map = &map;
    pli_translate(&opt, (const char *)data, size, sink, &out);
    pli_arena_text_fini(&out);
    pli_arena_text_fini(&map);
    return 0;
}
