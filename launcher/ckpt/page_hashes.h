// SPDX-License-Identifier: BSD-3-Clause
// A hash of every page of a memory, written beside the pages, so that the next checkpoint can tell
// which pages have changed without reading them again.
#ifndef PLI_LAUNCHER_PAGE_HASHES_H
#define PLI_LAUNCHER_PAGE_HASHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pli_page_hash {
    uint64_t word[2];
};

// Pages that follow each other.
struct pli_page_hash_run {
    uint64_t at;    // address of the first
    uint64_t n;     // how many
    uint64_t first; // index of the first among all pages of the file
    const struct pli_page_hash *hashes;
};

// The hashes of an image; none: no page is known.
struct pli_page_hashes {
    void *data; // the mapped file
    size_t len;
    struct pli_page_hash_run *runs; // by address
    size_t n_run, last;
    uint64_t n_page;
    size_t page; // bytes
};

// Read a file of hashes of pages of this size. False: there is none, or it makes no sense; out is
// empty then.
bool pli_page_hashes_open(const char *path, size_t page, struct pli_page_hashes *out);
void pli_page_hashes_close(struct pli_page_hashes *h);

// Write a file: its head, then runs. Whether that went well is known when it is closed.
void pli_page_hashes_begin(FILE *to, size_t page);

// Stores pages: those that the base has as they are need not be written again.
struct pli_page_store {
    struct pli_page_hashes *base;
    FILE *hashes;               // gets the hashes of all pages
    struct pli_page_hash *hash; // room for those of one call
    void *arg;
    // A page; index says which of the base it is, NULL: the base has none at this address.
    void (*see)(void *arg, uint64_t at, const uint64_t *index, bool is_same);
    // Pages that follow each other and are not the same. False: they could not be written.
    bool (*write)(void *arg, uint64_t at, const void *data, size_t len);
};
// n pages, which are at an address of the memory.
bool pli_page_hashes_store(const struct pli_page_store *s, uint64_t at, const void *pages,
                           size_t n);

#endif
