// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the file of a program, of which mpiexec reads the libraries it needs.
#include "fuzz.h"

#include "launcher/base/elf_needed.h"

const char *const fuzz_words[] = { "\x7f"
                                   "ELF",
                                   "libmpi.so.12", NULL };

static bool see(const char *name, void *arg)
{
    size_t *n = arg;
    *n += strlen(name);
    return *n < 100000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    size_t n = 0;
    pli_elf_needed_each(data, len, see, &n);
    return 0;
}
