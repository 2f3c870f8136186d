// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the hashes of pages that lie beside an image, and pages that are compared with them.
// The input is the file behind its head.
#include "fuzz.h"

#include "launcher/ckpt/page_hashes.h"

enum { PAGE = 256, N_PAGE = 4 };

const char *const fuzz_words[] = { "\x01\0\0\0\0\0\0\0", NULL };

static void see(void *arg, uint64_t at, const uint64_t *index, bool is_same)
{
    const struct pli_page_hashes *h = arg;
    FUZZ_MUST(at % PAGE == 0 && (index == NULL ? !is_same : *index < h->n_page));
}

static bool write_pages(void *arg, uint64_t at, const void *data, size_t len)
{
    (void)arg;
    FUZZ_MUST(at % PAGE == 0 && data != NULL && len % PAGE == 0);
    return true;
}

static void compare(struct pli_page_hashes *h, FILE *null)
{
    static const unsigned char pages[N_PAGE * PAGE];
    struct pli_page_hash room[N_PAGE];
    struct pli_page_store s = {
        .base = h, .hashes = null, .hash = room, .arg = h, .see = see, .write = write_pages
    };
    for (uint64_t at = 0; at < 16; at += N_PAGE) {
        FUZZ_MUST(pli_page_hashes_store(&s, at * PAGE, pages, N_PAGE));
    }
    FUZZ_MUST(pli_page_hashes_store(&s, UINT64_MAX / PAGE * PAGE - PAGE, pages, 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static FILE *null;
    struct pli_page_hashes h;
    char *all = NULL;
    size_t n = 0;
    null = null != NULL ? null : fopen("/dev/null", "w");
    FILE *f = open_memstream(&all, &n);
    FUZZ_MUST(f != NULL && null != NULL);
    pli_page_hashes_begin(f, PAGE);
    fwrite(data, 1, len, f);
    fclose(f);
    if (pli_page_hashes_open(fuzz_path("hashes", all, n), PAGE, &h)) {
        compare(&h, null);
        pli_page_hashes_close(&h);
    }
    free(all);
    return 0;
}
