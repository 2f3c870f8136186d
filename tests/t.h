// SPDX-License-Identifier: BSD-3-Clause
// What a test needs: checks that say where and what, and a status for main to return.
#ifndef PLI_TESTS_T_H
#define PLI_TESTS_T_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Whether ranks are endpoints of few processes (ep/rank.h).
#if !defined(T_IS_ENDPOINT)
#define T_IS_ENDPOINT 0
#endif

static int t_failed;

// The condition must hold; the test goes on so that one run shows every failure.
#define T_OK(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #cond);                     \
            t_failed++;                                                                            \
        }                                                                                          \
    } while (0)

// Two whole numbers must be equal.
#define T_EQ(got, want)                                                                            \
    do {                                                                                           \
        long long t_got = (long long)(got), t_want = (long long)(want);                            \
        if (t_got != t_want) {                                                                     \
            fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", __FILE__, __LINE__, #got, t_got, \
                    t_want);                                                                       \
            t_failed++;                                                                            \
        }                                                                                          \
    } while (0)

// Two strings must be equal.
#define T_STR(got, want)                                                                           \
    do {                                                                                           \
        const char *t_got = (got), *t_want = (want);                                               \
        if (strcmp(t_got, t_want) != 0) {                                                          \
            fprintf(stderr, "%s:%d: %s is \"%s\", expected \"%s\"\n", __FILE__, __LINE__, #got,    \
                    t_got, t_want);                                                                \
            t_failed++;                                                                            \
        }                                                                                          \
    } while (0)

// The string must contain the piece.
#define T_HAS(got, piece)                                                                          \
    do {                                                                                           \
        const char *t_got = (got);                                                                 \
        if (strstr(t_got, (piece)) == NULL) {                                                      \
            fprintf(stderr, "%s:%d: %s is \"%s\", which lacks \"%s\"\n", __FILE__, __LINE__, #got, \
                    t_got, (piece));                                                               \
            t_failed++;                                                                            \
        }                                                                                          \
    } while (0)

// Without this the rest of the test makes no sense.
#define T_MUST(cond)                                                                               \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: cannot go on: %s\n", __FILE__, __LINE__, #cond);               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

// Return this from main.
static inline int t_status(void)
{
    if (t_failed != 0) {
        fprintf(stderr, "%d check(s) failed\n", t_failed);
    }
    return t_failed == 0 ? 0 : 1;
}

#endif
