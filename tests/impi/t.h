// SPDX-License-Identifier: BSD-3-Clause
// The few words the IMPI unit programs test with. A failed check prints where and ends the program.
#ifndef PLI_TESTS_IMPI_T_H
#define PLI_TESTS_IMPI_T_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T_TRUE(cond) t_true((cond), #cond, __FILE__, __LINE__)
#define T_EQ(want, got) t_eq((long long)(want), (long long)(got), #got, __FILE__, __LINE__)
#define T_HEX(want, p, len) t_hex(want, p, len, #p, __FILE__, __LINE__)

static inline void t_true(bool ok, const char *what, const char *file, int line)
{
    if (!ok) {
        fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
        exit(1);
    }
}

static inline void t_eq(long long want, long long got, const char *what, const char *file, int line)
{
    if (want != got) {
        fprintf(stderr, "%s:%d: %s is %lld (0x%llx), want %lld (0x%llx)\n", file, line, what, got,
                (unsigned long long)got, want, (unsigned long long)want);
        exit(1);
    }
}

// Bytes from hex digits; blanks between them are skipped. Returns the bytes written.
static inline size_t t_bytes(const char *hex, unsigned char *out, size_t cap)
{
    size_t n = 0;
    while (*hex != '\0') {
        if (isspace((unsigned char)*hex)) {
            hex++;
            continue;
        }
        char two[3] = { hex[0], hex[1], 0 };
        T_TRUE(n < cap && isxdigit((unsigned char)two[0]) && isxdigit((unsigned char)two[1]));
        out[n++] = (unsigned char)strtoul(two, NULL, 16);
        hex += 2;
    }
    return n;
}

static inline void t_hex(const char *want, const void *p, size_t len, const char *what,
                         const char *file, int line)
{
    static unsigned char buf[65536];
    size_t n = t_bytes(want, buf, sizeof buf);
    if (n == len && memcmp(buf, p, n) == 0) {
        return;
    }
    fprintf(stderr, "%s:%d: %s is", file, line, what);
    for (size_t i = 0; i < len; i++) {
        fprintf(stderr, "%s%02x", i % 4 == 0 ? " " : "", ((const unsigned char *)p)[i]);
    }
    fprintf(stderr, "\n  want %s\n", want);
    exit(1);
}

#endif
