// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the record of a rank that mpiexec --replay reads, with a head that fits. What all of
// it says of nonblocking receives is compared with what its events say one by one.
#include "fuzz.h"

#include "trace/record_outcome.h"

#include <limits.h>

enum { HEAD = 4096, PREFIX = 2, MOST = 3000 };

const char *const fuzz_words[] = {
    "\x02\x01",         "\x03\x01\x02", "\x04\x01\x01", "\x05\x02\x01\x02", "\x0b\x01",
    "\x20\x02\x01\x02", "\x40\x05",     "\x40\xff\x7f", "\x80\x80\x80",     NULL
};

// The first bytes of an input: how often the last event comes again, and whether the record is
// complete.
static const char *write_file(const uint8_t *data, size_t len)
{
    static union {
        struct pli_record_file_head head;
        uint8_t bytes[HEAD + 65536];
    } all;
    struct pli_record_file_head head = { .magic = 0x64726f6365722d70u,
                                         .version = 1,
                                         .is_complete = data[0] & 1,
                                         .n_byte = len - PREFIX,
                                         .n_event = data[1],
                                         .n_more = data[0] >> 1 };
    head.n_more = head.n_more == 127 ? UINT64_MAX : head.n_more;
    all.head = head;
    memcpy(all.bytes + HEAD, data + PREFIX, len - PREFIX);
    return fuzz_path("rank.0", all.bytes, HEAD + len - PREFIX);
}

static int32_t sources[MOST];
static uint64_t pending[MOST];

// The i-th receive that is not complete becomes so. False: that is more than is looked at here.
static int take(size_t *n, uint64_t *next, uint64_t i, uint64_t source)
{
    while (*n <= i) {
        if (*next == MOST || *n == MOST) {
            return 0;
        }
        pending[(*n)++] = (*next)++;
    }
    sources[pending[i]] = (int32_t)source;
    memmove(pending + i, pending + i + 1, (*n - i - 1) * sizeof *pending);
    (*n)--;
    return 1;
}

static void compare(const struct pli_record_outcomes *o, const struct pli_record_file *f)
{
    struct pli_record_reader r;
    size_t n = 0;
    uint64_t next = 0, n_event = 0;
    int is_whole = 1;
    memset(sources, 0xff, sizeof sources);
    pli_record_file_begin(&r, f);
    while (is_whole && n_event++ < MOST && pli_record_file_next(&r)) {
        int is_first = r.kind == PLI_RECORD_FIRST || r.kind == PLI_RECORD_FIRST_TAG;
        int is_later = r.kind == PLI_RECORD_LATER || r.kind == PLI_RECORD_LATER_TAG;
        if (is_first || is_later) {
            is_whole = take(&n, &next, is_later ? r.numbers[0] : 0, r.numbers[is_later ? 1 : 0]);
        }
    }
    FUZZ_MUST(!r.is_damaged);
    pli_record_file_end(&r);
    for (uint64_t i = 0; i < next; i++) { // those that were seen here; later events may say more
        FUZZ_MUST(sources[i] < 0 || pli_record_outcomes_find(o, i) == sources[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct pli_record_file f;
    struct pli_record_outcomes o;
    char why[512] = "";
    if (len < PREFIX || len > 65536) {
        return 0;
    }
    if (!pli_record_file_load(&f, write_file(data, len), why, sizeof why)) {
        FUZZ_MUST(why[0] != '\0');
        return 0;
    }
    if (pli_record_outcomes_read(&o, &f)) {
        compare(&o, &f);
        FUZZ_MUST(o.n <= len * 2 + 2); // no more memory than the file has bytes for
        pli_record_outcomes_fini(&o);
    }
    pli_record_file_unload(&f);
    return 0;
}
