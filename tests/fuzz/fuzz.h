// SPDX-License-Identifier: BSD-3-Clause
// What a fuzz target is made of: one function that gets an input, as libFuzzer calls it, and words
// that mutations may put into an input.
#ifndef PLI_TESTS_FUZZ_H
#define PLI_TESTS_FUZZ_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The target: parse these bytes, whatever they are. A crash, a report of a sanitizer, a failed
// FUZZ_MUST or more than some seconds are findings.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

// Words of the format, up to a NULL.
extern const char *const fuzz_words[];

#define FUZZ_MUST(cond)                                                                            \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

// Run code that may end the process with exit(): FUZZ_TRY { ... } goes on after it. The program is
// linked with --wrap=exit and --wrap=_exit.
extern jmp_buf fuzz_end;
extern int fuzz_is_trying;
#define FUZZ_TRY for (fuzz_is_trying = setjmp(fuzz_end) == 0; fuzz_is_trying; fuzz_is_trying = 0)

// A descriptor from which these bytes can be read, and then the end of the file. It is the same
// one each time: do not close it.
int fuzz_file(const void *data, size_t len);

// A directory for files, which is removed at the end; and a file of this name in it that has these
// bytes.
const char *fuzz_dir(void);
const char *fuzz_path(const char *name, const void *data, size_t len);

// A file in memory, such as node memory, as it is now; and that again, whatever was written since.
struct fuzz_memory *fuzz_memory_keep(int fd);
void fuzz_memory_restore(const struct fuzz_memory *m);

// Close what was opened since the first call of this function, but for descriptors that support.c
// keeps: those are not below FUZZ_FD_KEPT.
enum { FUZZ_FD_KEPT = 60 };
void fuzz_close_new(void);

// The target sets it when this process can take no more inputs, because of what earlier ones have
// left in it; the driver starts another.
extern int fuzz_is_used_up;

// For a target in which an input changes what later ones meet: how many inputs a process takes, 0
// for any number. Set it in LLVMFuzzerInitialize, which runs once, in the process of which those
// that take inputs are copies. Under libFuzzer there is one process: fuzz_is_replaced is 0 then.
extern unsigned fuzz_n_input;
extern int fuzz_is_replaced;
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

#endif
