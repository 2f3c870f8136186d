// SPDX-License-Identifier: BSD-3-Clause
// What the groups of an intercommunicator that spans jobs tell each other through their ranks 0.
#include "coll/coll.h"
#include "impi/coll/impi_coll.h"
#include "comm/impi_cid.h"
#include "comm/comm_make.h"
#include "comm/intercomm_impi.h"
#include "msg/sendrecv.h"
#include "obj/comm.h"

#include <endian.h>

// On the wire: the largest context in use and a word, both big-endian.
struct word {
    uint64_t max;
    uint32_t word;
} __attribute__((packed));
_Static_assert(sizeof(struct word) == 12, "other MPIs send it too");

// The first of each side tell each other `len` bytes, which all of a side then know.
static enum pli_err swap(struct pli_comm *inter, int tag, const void *out, void *in, int len)
{
    struct pli_datatype *byte = pli_comm_make_byte();
    enum pli_err err = PLI_OK;
    if (inter->rank == 0) {
        err = pli_sendrecv_on(out, len, byte, 0, tag, in, len, byte, 0, tag, inter, PLI_CHAN_COLL,
                              MPI_STATUS_IGNORE, NULL);
    }
    return err == PLI_OK ? pli_coll_bcast(in, len, byte, 0, inter->local) : err;
}

static enum pli_err agree(struct pli_comm *inter, int tag, uint32_t *word, unsigned n,
                          uint64_t *cid_out)
{
    uint64_t max;
    struct word mine = { .word = htobe32(*word) }, theirs = { 0 };
    enum pli_err err = pli_impi_cid_max(inter->local, &max);
    if (err != PLI_OK) {
        return err;
    }
    mine.max = htobe64(max);
    err = swap(inter, tag, &mine, &theirs, sizeof mine);
    if (err != PLI_OK) {
        return err;
    }
    uint64_t other = be64toh(theirs.max);
    *word = be32toh(theirs.word);
    return pli_impi_cid_take(other > max ? other : max, n, cid_out);
}

enum pli_err pli_intercomm_impi_merge(struct pli_comm *inter, bool high, bool *their_high_out,
                                      uint64_t *context_out)
{
    uint64_t cid = 0;
    uint32_t word = high;
    enum pli_err err = agree(inter, PLI_IMPI_TAG_MERGE, &word, 2, &cid);
    *their_high_out = word != 0;
    *context_out = pli_impi_cid_context(cid);
    return err;
}

enum pli_err pli_intercomm_impi_dup(struct pli_comm *inter, uint64_t contexts_out[2])
{
    uint64_t cid = 0;
    uint32_t none = 0;
    enum pli_err err = agree(inter, PLI_IMPI_TAG_DUP, &none, PLI_INTERCOMM_TAKEN, &cid);
    contexts_out[0] = pli_impi_cid_context(cid);
    contexts_out[1] = pli_impi_cid_context(cid + 2);
    return err;
}

enum pli_err pli_intercomm_impi_leave(struct pli_comm *inter)
{
    enum pli_err err = pli_coll_barrier(inter->local);
    return err == PLI_OK ? swap(inter, PLI_IMPI_TAG_COMM_FREE, NULL, NULL, 0) : err;
}
