// SPDX-License-Identifier: BSD-3-Clause
// Packs and unpacks, and knows which packed data has the form of the native library.
#include "shim/shim_pack.h"
#include "shim/shim.h"
#include <stdlib.h>
#include <string.h>

enum { SOME = 256 }; // bytes of either end by which data is known again

struct place {
    const unsigned char *at;
    size_t len;
    uint64_t mark; // of the bytes there
};

static struct place *places; // by address, none over another
static size_t n_place, room;

static uint64_t mix(uint64_t h, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        h = (h ^ p[i]) * 0x100000001b3;
    }
    return h;
}

static uint64_t mark_of(const unsigned char *p, size_t len)
{
    size_t n = len < SOME ? len : SOME;
    return mix(mix(0xcbf29ce484222325, p, n), p + len - n, n);
}

// The first place that does not end before `at`.
static size_t search(const unsigned char *at)
{
    size_t low = 0, high = n_place;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places[middle].at + places[middle].len <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void pli_shim_pack_forget(const void *at, size_t len)
{
    if (n_place == 0) {
        return;
    }
    const unsigned char *from = at;
    size_t first = search(from), last = first;
    while (last < n_place && places[last].at < from + len) {
        last++;
    }
    memmove(places + first, places + last, (n_place - last) * sizeof *places);
    n_place -= last - first;
}

void pli_shim_pack_note(const void *at, size_t len)
{
    if (len == 0) {
        return;
    }
    pli_shim_pack_forget(at, len);
    if (n_place == room) {
        size_t more = room * 2 + 16;
        struct place *p = realloc(places, more * sizeof *p);
        if (p == NULL) {
            pli_shim_die("out of memory for packed data");
        }
        places = p;
        room = more;
    }
    size_t k = search(at);
    memmove(places + k + 1, places + k, (n_place - k) * sizeof *places);
    places[k] = (struct place){ at, len, mark_of(at, len) };
    n_place++;
}

// The program may have put other data there by itself. Where it passes less than came, only the
// address can tell.
static bool is_at(const struct place *p, const unsigned char *at, size_t len)
{
    return p->at == at && (len < p->len || mark_of(at, p->len) == p->mark);
}

bool pli_shim_pack_is_native(const void *at, size_t len)
{
    if (n_place == 0) {
        return false;
    }
    size_t k = search(at);
    return k < n_place && is_at(&places[k], at, len);
}

// Whether the program may have copied such a message here, of `least` bytes or more.
static bool is_copy(const unsigned char *at, size_t len, size_t least)
{
    for (size_t k = 0; k < n_place; k++) {
        if (places[k].len >= least && places[k].len <= len &&
            mark_of(at, places[k].len) == places[k].mark) {
            return true;
        }
    }
    return false;
}

// The bytes that `n` elements have for the native library.
static int native_size(MPI_Count n, MPI_Datatype type, MPI_Count *each, size_t *out)
{
    int rc = n < 0 ? MPI_ERR_COUNT : PMPI_Type_size_x(type, each);
    *out = rc == MPI_SUCCESS ? (size_t)(*each * n) : 0;
    return rc;
}

static int pack(const void *inbuf, MPI_Count n, MPI_Datatype type, void *outbuf, MPI_Count len,
                MPI_Count *at)
{
    size_t size = 0;
    int rc = n < 0 ? MPI_ERR_COUNT : pli_shim_type_size(type, &size);
    if (rc == MPI_SUCCESS && size * (size_t)n > (size_t)(len - *at)) {
        rc = pli_shim_fail(MPI_ERR_ARG, "the buffer to pack into is too small");
    }
    if (rc == MPI_SUCCESS) {
        pli_shim_pack_forget((unsigned char *)outbuf + *at, size * (size_t)n);
        rc = pli_shim_type_pack(inbuf, n, type, (unsigned char *)outbuf + *at);
    }
    *at += rc == MPI_SUCCESS ? (MPI_Count)size * n : 0;
    return rc;
}

static int too_little(void)
{
    return pli_shim_fail(MPI_ERR_ARG, "there is less in the buffer than is to be unpacked");
}

static int unpack_native(const unsigned char *in, MPI_Count len, MPI_Count *at, void *outbuf,
                         MPI_Count n, MPI_Datatype type)
{
    MPI_Count each = 0;
    size_t size;
    int rc = native_size(n, type, &each, &size);
    rc = rc == MPI_SUCCESS && size > (size_t)(len - *at) ? too_little() : rc;
    if (rc == MPI_SUCCESS && size > 0) {
        rc = pli_shim_type_native(false, outbuf, n, type, (void *)(uintptr_t)(in + *at), each);
    }
    *at += rc == MPI_SUCCESS ? (MPI_Count)size : 0;
    return rc;
}

// What was unpacked from external32 must be what the native library would have made of the bytes,
// if these may be a copy in its form.
static int check_copy(const unsigned char *in, MPI_Count len, const void *outbuf, MPI_Count n,
                      MPI_Datatype type)
{
    MPI_Count each = 0;
    size_t size;
    int rc = native_size(n, type, &each, &size);
    unsigned char *as = malloc(size + 1);
    rc = rc == MPI_SUCCESS && as == NULL ? MPI_ERR_NO_MEM : rc;
    if (rc == MPI_SUCCESS && size > 0) {
        rc = pli_shim_type_native(true, (void *)(uintptr_t)outbuf, n, type, as, each);
    }
    bool is_same = rc == MPI_SUCCESS && size <= (size_t)len && memcmp(as, in, size) == 0;
    free(as);
    return rc != MPI_SUCCESS || is_same
               ? rc
               : pli_shim_fail(MPI_ERR_TYPE,
                               "a message of the same client that was not sent as MPI_PACKED, but "
                               "received so, is unpacked from a copy of it; it must be unpacked "
                               "where it was received");
}

static int unpack(const void *inbuf, MPI_Count len, MPI_Count *at, void *outbuf, MPI_Count n,
                  MPI_Datatype type)
{
    const unsigned char *in = inbuf;
    size_t size = 0;
    if (pli_shim_pack_is_native(in, (size_t)len)) {
        return unpack_native(in, len, at, outbuf, n, type);
    }
    int rc = n < 0 ? MPI_ERR_COUNT : pli_shim_type_size(type, &size);
    rc = rc == MPI_SUCCESS && size * (size_t)n > (size_t)(len - *at) ? too_little() : rc;
    rc = rc == MPI_SUCCESS ? pli_shim_type_unpack(in + *at, size * (size_t)n, outbuf, n, type) : rc;
    if (rc == MPI_SUCCESS && is_copy(in, (size_t)len, (size_t)*at + size * (size_t)n)) {
        rc = check_copy(in + *at, len - *at, outbuf, n, type);
    }
    *at += rc == MPI_SUCCESS ? (MPI_Count)size * n : 0;
    return rc;
}

// Enough for either form.
static int size_of(MPI_Count n, MPI_Datatype type, MPI_Count *out)
{
    MPI_Count each = 0;
    size_t size = 0, native = 0;
    int rc = n < 0 ? MPI_ERR_COUNT : pli_shim_type_size(type, &size);
    rc = rc == MPI_SUCCESS ? native_size(n, type, &each, &native) : rc;
    size *= rc == MPI_SUCCESS ? (size_t)n : 0;
    *out = (MPI_Count)(native > size ? native : size);
    return rc;
}

// In the form for int and in that for large counts.
#define PACKING(form, count_t)                                                                     \
    PLI_SHIM_API int MPI_Pack##form(const void *inbuf, count_t incount, MPI_Datatype type,         \
                                    void *outbuf, count_t outsize, count_t *position,              \
                                    MPI_Comm comm)                                                 \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        MPI_Count at = *position;                                                                  \
        if (pli_shim_span_find(comm) == NULL) {                                                    \
            return PMPI_Pack##form(inbuf, incount, type, outbuf, outsize, position, comm);         \
        }                                                                                          \
        int rc = pack(inbuf, incount, type, outbuf, outsize, &at);                                 \
        *position = (count_t)at;                                                                   \
        return pli_shim_end(comm, rc);                                                             \
    }                                                                                              \
    PLI_SHIM_API int MPI_Unpack##form(const void *inbuf, count_t insize, count_t *position,        \
                                      void *outbuf, count_t outcount, MPI_Datatype type,           \
                                      MPI_Comm comm)                                               \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        MPI_Count at = *position;                                                                  \
        if (pli_shim_span_find(comm) == NULL) {                                                    \
            return PMPI_Unpack##form(inbuf, insize, position, outbuf, outcount, type, comm);       \
        }                                                                                          \
        int rc = unpack(inbuf, insize, &at, outbuf, outcount, type);                               \
        *position = (count_t)at;                                                                   \
        return pli_shim_end(comm, rc);                                                             \
    }                                                                                              \
    PLI_SHIM_API int MPI_Pack_size##form(count_t incount, MPI_Datatype type, MPI_Comm comm,        \
                                         count_t *size_out)                                        \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        MPI_Count size = 0;                                                                        \
        if (pli_shim_span_find(comm) == NULL) {                                                    \
            return PMPI_Pack_size##form(incount, type, comm, size_out);                            \
        }                                                                                          \
        int rc = size_of(incount, type, &size);                                                    \
        *size_out = rc == MPI_SUCCESS ? (count_t)size : *size_out;                                 \
        return pli_shim_end(comm, rc);                                                             \
    }
PACKING(, int)
#if MPI_VERSION >= 4
PACKING(_c, MPI_Count)
#endif
