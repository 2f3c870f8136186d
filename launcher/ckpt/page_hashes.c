// SPDX-License-Identifier: BSD-3-Clause
// Files of page hashes: a head, then runs of pages, each with its address and length before it.
// Hashes have 128 bits: two different pages have the same one so rarely that memory fails sooner.
#include "launcher/ckpt/page_hashes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_STREAM = 8 };
#define ODD1 0x9fb21c651e98df25u
#define ODD2 0xd6e8feb86659fd93u
#define MAGIC 0x31484150494c50u // "PLIPAH1"

struct head {
    uint64_t magic, page;
};
struct run {
    uint64_t at, n;
};

static uint64_t mix(uint64_t h, uint64_t by)
{
    h ^= h >> 32;
    h *= by;
    h ^= h >> 29;
    h *= ODD1;
    return h ^ h >> 32;
}

static void hash_page(const void *page, size_t len, struct pli_page_hash *out)
{
    const unsigned char *at = page;
    uint64_t s[N_STREAM];
    for (unsigned i = 0; i < N_STREAM; i++) {
        s[i] = (i + 1) * ODD2;
    }
    for (size_t left = len; left >= N_STREAM * 8; left -= N_STREAM * 8, at += N_STREAM * 8) {
        uint64_t w[N_STREAM];
        memcpy(w, at, sizeof w);
        for (int i = 0; i < N_STREAM; i++) {
            s[i] = (s[i] ^ w[i]) * ODD1;
            s[i] ^= s[i] >> 31;
        }
    }
    uint64_t a = len, b = ~(uint64_t)len;
    for (int i = 0; i < N_STREAM; i++) {
        a = mix(a ^ s[i], ODD2);
        b = mix(b + (s[i] << 32 | s[i] >> 32), ODD1);
    }
    *out = (struct pli_page_hash){ { a, b } };
}

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct pli_page_hash_run *)a)->at,
             y = ((const struct pli_page_hash_run *)b)->at;
    return x < y ? -1 : x > y;
}

// Find the runs of the mapped file. False: it is cut short.
static bool list_runs(struct pli_page_hashes *h)
{
    size_t at = sizeof(struct head);
    struct run r;
    while (h->len - at >= sizeof r) {
        memcpy(&r, (const char *)h->data + at, sizeof r);
        at += sizeof r;
        struct pli_page_hash_run *more =
            r.n > 0 && r.n <= (h->len - at) / sizeof(struct pli_page_hash)
                ? realloc(h->runs, (h->n_run + 1) * sizeof *more)
                : NULL;
        if (more == NULL) {
            return false;
        }
        h->runs = more;
        h->runs[h->n_run++] = (struct pli_page_hash_run){
            r.at, r.n, h->n_page, (const struct pli_page_hash *)((const char *)h->data + at)
        };
        h->n_page += r.n;
        at += r.n * sizeof(struct pli_page_hash);
    }
    if (h->n_run > 0) {
        qsort(h->runs, h->n_run, sizeof *h->runs, by_address);
    }
    return at == h->len;
}

bool pli_page_hashes_open(const char *path, size_t page, struct pli_page_hashes *out)
{
    struct stat st;
    struct head head = { 0, 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *out = (struct pli_page_hashes){ .page = page };
    bool is_good = fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof head;
    if (is_good) {
        out->data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        is_good = out->data != MAP_FAILED;
        out->data = is_good ? out->data : NULL;
        out->len = is_good ? (size_t)st.st_size : 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    if (is_good) {
        memcpy(&head, out->data, sizeof head);
    }
    is_good = is_good && head.magic == MAGIC && head.page == page && list_runs(out);
    if (!is_good) {
        pli_page_hashes_close(out);
    }
    return is_good;
}

void pli_page_hashes_close(struct pli_page_hashes *h)
{
    if (h->data != NULL) {
        munmap(h->data, h->len);
    }
    free(h->runs);
    *h = (struct pli_page_hashes){ .page = h->page };
}

// The hash of the page at an address, and which page of the file it is; NULL: it has none.
static const struct pli_page_hash *find_hash(struct pli_page_hashes *h, uint64_t at,
                                             uint64_t *index_out)
{
    size_t low = 0, high = h->n_run;
    if (h->last < h->n_run && at >= h->runs[h->last].at) { // most often the same run, or the next
        low = h->last;
    }
    while (low < high) { // the last run that begins at or below the address is before `low`
        size_t mid = low + (high - low) / 2;
        if (h->runs[mid].at <= at) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (low == 0) {
        return NULL;
    }
    const struct pli_page_hash_run *r = &h->runs[low - 1];
    uint64_t i = (at - r->at) / h->page;
    h->last = low - 1;
    if (i >= r->n || (at - r->at) % h->page != 0) {
        return NULL;
    }
    *index_out = r->first + i;
    return &r->hashes[i];
}

void pli_page_hashes_begin(FILE *to, size_t page)
{
    const struct head head = { MAGIC, page };
    fwrite(&head, sizeof head, 1, to);
}

static void put_hashes(FILE *to, uint64_t at, const struct pli_page_hash *hashes, size_t n)
{
    const struct run r = { at, n };
    fwrite(&r, sizeof r, 1, to);
    fwrite(hashes, sizeof *hashes, n, to);
}

bool pli_page_hashes_store(const struct pli_page_store *s, uint64_t at, const void *pages, size_t n)
{
    const size_t page = s->base->page;
    const unsigned char *data = pages;
    size_t begin = 0;
    bool is_good = true;
    for (size_t i = 0; i <= n; i++) {
        bool is_same = false;
        if (i < n) {
            uint64_t index;
            hash_page(data + i * page, page, &s->hash[i]);
            const struct pli_page_hash *old = find_hash(s->base, at + i * page, &index);
            is_same = old != NULL && memcmp(old, &s->hash[i], sizeof *old) == 0;
            s->see(s->arg, at + i * page, old != NULL ? &index : NULL, is_same);
        }
        if ((i == n || is_same) && i > begin) {
            is_good = is_good &&
                      s->write(s->arg, at + begin * page, data + begin * page, (i - begin) * page);
        }
        begin = i == n || is_same ? i + 1 : begin;
    }
    put_hashes(s->hashes, at, s->hash, n);
    return is_good;
}
