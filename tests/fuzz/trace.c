// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: what other hosts send of the calls of their ranks, and the profile and the timeline
// that are made of it. An input is a row of such messages, each with its length before it.
#include "fuzz.h"

#include "launcher/base/launcher.h"
#include "launcher/base/pack.h"
#include "launcher/base/say.h"
#include "base/host_clock.h"
#include "launcher/observe/profile.h"
#include "launcher/observe/timeline.h"
#include "launcher/observe/trace_model.h"

const char *const fuzz_words[] = { "main.c:17", "</script>", "\"", "\\", "\x01", NULL };

static void say_nothing(const char *text, unsigned long len)
{
    FUZZ_MUST(text != NULL || len == 0);
}

static void read_all(struct pli_trace_model *m, const uint8_t *data, size_t len)
{
    for (size_t at = 0; at + 2 <= len;) {
        size_t n = (size_t)data[at] | (size_t)data[at + 1] << 8;
        at += 2;
        n = n < len - at ? n : len - at;
        void *copy = malloc(n + 1); // of its own, so that a sanitizer sees its end
        FUZZ_MUST(copy != NULL);
        memcpy(copy, data + at, n);
        struct pli_unpack u = { copy, (const unsigned char *)copy + n, false };
        uint32_t before = m->n_rank;
        struct pli_host_clock clock = { 0 };
        pli_host_clock_add(&clock, n, (int64_t)n - 300, 1);
        pli_host_clock_add(&clock, (uint64_t)at << 40, 300 - (int64_t)n, 1);
        bool is_good = pli_trace_model_add(m, (uint32_t)(at % 3), &clock, &u);
        FUZZ_MUST(m->n_rank == before + is_good);
        free(copy);
        at += n;
    }
}

// Text of others stays within its quotes.
static void check_lines(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        FUZZ_MUST((unsigned char)*c >= ' ' || *c == '\n');
    }
}

// All that is made of the calls; the page is long.
static void show(const struct pli_trace_model *m, bool has_page)
{
    static FILE *null;
    struct pli_profile p;
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    FUZZ_MUST(f != NULL && pli_timeline_write(m, f));
    FUZZ_MUST(fclose(f) == 0);
    check_lines(text);
    free(text);
    null = null != NULL ? null : fopen("/dev/null", "w");
    FUZZ_MUST(null != NULL);
    pli_profile_make(&p, m);
    pli_profile_print(&p, null);
    if (has_page) {
        pli_profile_html(&p, null);
    }
    pli_profile_fini(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct pli_say_state say = { .put = say_nothing };
    struct pli_trace_model m = { .program = "a.out" };
    pli_launcher.say = &say;
    for (uint32_t h = 0; h < 3; h++) {
        pli_trace_model_host(&m, h, "alpha");
    }
    pli_trace_model_note(&m, 17, "a \"note\"");
    read_all(&m, data, len);
    pli_trace_model_close(&m);
    if (m.n_rank > 0 || len % 16 == 0) { // what is made of nothing is always the same
        show(&m, len % 16 == 1);
    }
    pli_trace_model_fini(&m);
    return 0;
}
