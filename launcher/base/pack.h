// SPDX-License-Identifier: BSD-3-Clause
// Numbers and texts in a row, little-endian, for what goes from host to host.
#ifndef PLI_LAUNCHER_PACK_H
#define PLI_LAUNCHER_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_pack {
    unsigned char *data; // of the heap
    size_t len, cap;
};

// Append. Ends mpiexec when there is no memory.
void pli_pack_bytes(struct pli_pack *p, const void *data, size_t len);
void pli_pack_u32(struct pli_pack *p, uint32_t v);
void pli_pack_u64(struct pli_pack *p, uint64_t v);
void pli_pack_text(struct pli_pack *p, const char *text);    // NULL stays NULL
void pli_pack_texts(struct pli_pack *p, char *const *texts); // up to a NULL
void pli_pack_fini(struct pli_pack *p);

// Reads what was packed. After a length that cannot be, is_bad is set and all answers are empty.
struct pli_unpack {
    const unsigned char *at, *end;
    bool is_bad;
};

const void *pli_unpack_bytes(struct pli_unpack *u, size_t len); // NULL: there are not as many
uint32_t pli_unpack_u32(struct pli_unpack *u);
uint64_t pli_unpack_u64(struct pli_unpack *u);
char *pli_unpack_text(struct pli_unpack *u);   // of the heap, or NULL
char **pli_unpack_texts(struct pli_unpack *u); // ends with NULL; never NULL itself

// A number of things that take at least this many bytes each: 0 and is_bad when that cannot be.
uint32_t pli_unpack_count(struct pli_unpack *u, size_t least);

#endif
