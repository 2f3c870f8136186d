// SPDX-License-Identifier: BSD-3-Clause
// What all operations on files share: agreeing on an outcome, buffers, and whether the file is
// idle.
#include "io/file.h"

#include "boot/boot.h"
#include "coll/coll.h"
#include "comm/agree.h"
#include "io/file_span.h"
#include "obj/comm.h"
#include "obj/datatype.h"

#include <stdio.h>
#include <stdlib.h>

static struct pli_datatype *type(MPI_Datatype t)
{
    return pli_handle_get(t, PLI_KIND_DATATYPE);
}

// The first member that failed tells all why.
enum pli_err pli_file_agree_most(struct pli_comm *comm, enum pli_err err, MPI_Offset *values, int n)
{
    char text[PLI_FILE_SENTENCE] = "";
    MPI_Offset mine[PLI_FILE_MOST + 1] = { 0 }, most[PLI_FILE_MOST + 1] = { 0 };
    if (err != PLI_OK) {
        snprintf(text, sizeof text, "%s", pli_fail_take(NULL));
        mine[0] = (MPI_Offset)(comm->size - comm->rank) << 32 |
                  (MPI_Offset)(comm->is_span ? pli_file_span_fault(err) : -(int)err);
    }
    for (int i = 0; i < n; i++) {
        mine[i + 1] = values[i];
    }
    enum pli_err coll = pli_coll_allreduce(mine, most, n + 1, type(MPI_OFFSET),
                                           pli_handle_get(MPI_MAX, PLI_KIND_OP), comm);
    MPI_Offset worst = most[0];
    if (coll != PLI_OK || worst == 0) {
        for (int i = 0; coll == PLI_OK && i < n; i++) {
            values[i] = most[i + 1];
        }
        return err != PLI_OK ? pli_fail(err, "%s", text) : coll;
    }
    int who = comm->size - (int)(worst >> 32);
    coll = pli_coll_bcast(text, PLI_FILE_SENTENCE, type(MPI_CHAR), who, comm);
    if (coll != PLI_OK) {
        return coll;
    }
    int number = (int)(worst & 0xffffffff);
    enum pli_err why = comm->is_span ? pli_file_span_err(number) : (enum pli_err) - number;
    text[PLI_FILE_SENTENCE - 1] = '\0';
    return who == comm->rank || comm->size == 1 ? pli_fail(why, "%s", text)
                                                : pli_fail(why, "%s (at rank %d)", text, who);
}

enum pli_err pli_file_agree_on(struct pli_comm *comm, enum pli_err err)
{
    return pli_file_agree_most(comm, err, NULL, 0);
}

enum pli_err pli_file_agree(struct pli_file *f, enum pli_err err)
{
    return pli_file_agree_on(f->comm, err);
}

enum pli_err pli_file_settle_on(struct pli_comm *comm, const char *name, enum pli_err err)
{
    if (comm->size == 1 || comm->is_span || (pli_boot.node.header->mode & PLI_NODE_SURVIVES) == 0) {
        return err;
    }
    char text[PLI_FILE_SENTENCE] = "";
    if (err != PLI_OK) {
        snprintf(text, sizeof text, "%s", pli_fail_take(NULL));
    }
    int is_well = err == PLI_OK;
    enum pli_err agreed = pli_agree_agree(comm, &is_well);
    if (agreed == PLI_ERR_PROC_FAILED) {
        snprintf(text, sizeof text, "%s", pli_fail_take(NULL));
        return pli_fail(agreed, "a collective call on file %s is not complete: %s", name, text);
    }
    if (err != PLI_OK) {
        return pli_fail(err, "%s", text);
    }
    // Deaths that the program knows of do not make an agreement fail.
    return agreed != PLI_OK || is_well
               ? agreed
               : pli_fail(PLI_ERR_PROC_FAILED,
                          "a collective call on file %s failed at another rank: a member died",
                          name);
}

enum pli_err pli_file_settle(struct pli_file *f, enum pli_err err)
{
    return pli_file_settle_on(f->comm, f->name, err);
}

enum pli_err pli_file_check_split(const struct pli_file *f, const char *call)
{
    return f->split.begin == NULL
               ? PLI_OK
               : pli_fail(PLI_ERR_OTHER, "%s was called while %s waits for its end on this file",
                          call, f->split.begin);
}

enum pli_err pli_file_check_idle(const struct pli_file *f, const char *call)
{
    enum pli_err err = pli_file_check_split(f, call);
    uint32_t n = atomic_load_explicit(&f->n_open, memory_order_acquire);
    return n == 0 || err != PLI_OK
               ? err
               : pli_fail(PLI_ERR_OTHER,
                          "%s was called while %u nonblocking operations on the file are not "
                          "complete",
                          call, n);
}

void *pli_file_buffer_take(struct pli_file *f)
{
    void *buf = atomic_exchange(&f->spare, NULL);
    buf = buf != NULL ? buf : malloc((size_t)f->hints.buffer);
    if (buf == NULL) {
        pli_fail(PLI_ERR_NOMEM, "no memory for a buffer of %lld bytes (hint cb_buffer_size)",
                 (long long)f->hints.buffer);
    }
    return buf;
}

void pli_file_buffer_give(struct pli_file *f, void *buf)
{
    free(atomic_exchange(&f->spare, buf));
}
