// SPDX-License-Identifier: BSD-3-Clause
// Sentences of --check, each once.
#include "trace/check.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_SAID = 512 };

static struct {
    pthread_mutex_t mutex;
    uint64_t said[N_SAID];
    int n_said;
} state = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static uint64_t hash_text(const char *p)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *p != '\0'; p++) {
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    }
    return h ^ h >> 32;
}

bool pli_check_wants(const char *kind)
{
    const char *list = getenv("PLI_CHECK");
    const char *at = list != NULL ? strstr(list, kind) : NULL;
    size_t n = strlen(kind);
    return at != NULL && (at == list || at[-1] == ',') && (at[n] == '\0' || at[n] == ',');
}

// Whether this was not said before.
static bool is_new(uint64_t key)
{
    pthread_mutex_lock(&state.mutex);
    int i = 0;
    while (i < state.n_said && state.said[i] != key) {
        i++;
    }
    bool is = i == state.n_said && i < N_SAID;
    if (is) {
        state.said[state.n_said++] = key;
    }
    pthread_mutex_unlock(&state.mutex);
    return is;
}

void pli_check_say(const char *kind, const void *site, uint64_t other, const char *format, ...)
{
    char text[PLI_CHECK_SAY + 64], rank[32] = "";
    struct pli_observe_process me;
    uint64_t key = hash_text(kind) ^ pli_line_place(site) * 31 ^ other * 1000003;
    static __thread int said_depth __attribute__((tls_model("initial-exec")));
    if (said_depth > 0 || !is_new(key)) {
        return;
    }
    said_depth++;
    if (pli_check_lib.get_process != NULL && pli_check_lib.get_process(&me)) {
        snprintf(rank, sizeof rank, "rank %u: ", me.rank);
    }
    int n = snprintf(text, sizeof text, "check: %s", rank);
    va_list args;
    va_start(args, format);
    n += vsnprintf(text + n, sizeof text - (size_t)n - 32, format, args);
    va_end(args);
    n = n < (int)sizeof text - 32 ? n : (int)sizeof text - 33;
    n += snprintf(text + n, sizeof text - (size_t)n, " [%s]\n", kind);
    ssize_t done = write(STDERR_FILENO, text, (size_t)n);
    (void)done;
    said_depth--;
}
