// SPDX-License-Identifier: BSD-3-Clause
// Writes registered state to one file per rank and reads it back, piece by piece.
#include "elastic/registered.h"

#include "base/fault.h"
#include "boot/boot.h"
#include "boot/ckpt_wire.h"
#include "coll/coll.h"
#include "comm/comm_make.h"
#include "msg/lane.h"
#include "elastic/registered_wire.h"
#include "obj/comm.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_ENTRY = 64 };

static struct entry {
    char name[PLI_REGISTERED_NAME];
    MPIX_Checkpoint_size_function *size;
    MPIX_Checkpoint_pack_function *pack;
    MPIX_Checkpoint_unpack_function *unpack;
    void *arg;
} entries[MAX_ENTRY]; // guarded by lock
static uint32_t n_entry;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct entry *find(const char *name)
{
    for (uint32_t i = 0; i < n_entry; i++) {
        if (strncmp(entries[i].name, name, sizeof entries[i].name) == 0) {
            return &entries[i];
        }
    }
    return NULL;
}

enum pli_err pli_registered_register(const char *name, MPIX_Checkpoint_size_function *size_fn,
                                     MPIX_Checkpoint_pack_function *pack_fn,
                                     MPIX_Checkpoint_unpack_function *unpack_fn, void *arg)
{
    enum pli_err err = PLI_OK;
    if (name == NULL || name[0] == '\0' || strlen(name) >= PLI_REGISTERED_NAME) {
        return pli_fail(PLI_ERR_ARG, "argument name is not a name of 1 to %d characters",
                        PLI_REGISTERED_NAME - 1);
    }
    if (size_fn == NULL || pack_fn == NULL || unpack_fn == NULL) {
        return pli_fail(PLI_ERR_ARG, "a function for '%s' is missing", name);
    }
    pthread_mutex_lock(&lock);
    if (find(name) != NULL) {
        err = pli_fail(PLI_ERR_ARG, "'%s' is registered already", name);
    } else if (n_entry == MAX_ENTRY) {
        err = pli_fail(PLI_ERR_NO_SPACE, "no more than %d names can be registered", MAX_ENTRY);
    } else {
        struct entry *k = &entries[n_entry++];
        *k = (struct entry){ .size = size_fn, .pack = pack_fn, .unpack = unpack_fn, .arg = arg };
        snprintf(k->name, sizeof k->name, "%s", name);
    }
    pthread_mutex_unlock(&lock);
    return err;
}

static size_t padded(uint64_t n)
{
    return (size_t)((n + PLI_REGISTERED_ALIGN - 1) / PLI_REGISTERED_ALIGN * PLI_REGISTERED_ALIGN);
}

static enum pli_err write_one(FILE *f, const struct entry *k, const char *path)
{
    MPI_Count bytes = 0;
    struct pli_registered_row row = { .spare = 0 };
    int code = k->size(k->arg, &bytes);
    if (code != MPI_SUCCESS || bytes < 0) {
        return pli_fail(PLI_ERR_OTHER, "the size function of '%s' returned %d, with %lld bytes",
                        k->name, code, (long long)bytes);
    }
    char *buf = calloc(1, padded((uint64_t)bytes) + PLI_REGISTERED_ALIGN);
    if (buf == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for the %lld bytes of '%s'", (long long)bytes,
                        k->name);
    }
    memcpy(row.name, k->name, sizeof row.name);
    row.bytes = (uint64_t)bytes;
    code = k->pack(k->arg, buf, bytes);
    bool is_written = code == MPI_SUCCESS && fwrite(&row, sizeof row, 1, f) == 1 &&
                      (bytes == 0 || fwrite(buf, padded(row.bytes), 1, f) == 1);
    int error = errno;
    free(buf);
    return code != MPI_SUCCESS
               ? pli_fail(PLI_ERR_OTHER, "the pack function of '%s' returned %d", k->name, code)
           : !is_written ? pli_fail(error == ENOSPC ? PLI_ERR_NO_SPACE : PLI_ERR_IO,
                                    "%s cannot be written: %s", path, strerror(error))
                         : PLI_OK;
}

enum pli_err pli_registered_write(const char *dir, int rank)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/state.%d", dir, rank);
    pli_fault("state_write", pli_proc.boot->index);
    FILE *f = fopen(path, "wxe");
    if (f == NULL) {
        return pli_fail(PLI_ERR_IO, "%s cannot be written: %s", path, strerror(errno));
    }
    struct pli_registered_head head = { .magic = PLI_REGISTERED_MAGIC, .n_row = n_entry };
    enum pli_err err =
        fwrite(&head, sizeof head, 1, f) == 1
            ? PLI_OK
            : pli_fail(PLI_ERR_IO, "%s cannot be written: %s", path, strerror(errno));
    for (uint32_t i = 0; i < n_entry && err == PLI_OK; i++) {
        err = write_one(f, &entries[i], path);
    }
    if (fclose(f) != 0 && err == PLI_OK) {
        err = pli_fail(errno == ENOSPC ? PLI_ERR_NO_SPACE : PLI_ERR_IO, "%s cannot be written: %s",
                       path, strerror(errno));
    }
    pli_fault("state_written", pli_proc.boot->index);
    return err;
}

// Bytes of a file that were not read yet.
static uint64_t rest_of(FILE *f)
{
    struct stat st;
    off_t at = ftello(f);
    return at >= 0 && fstat(fileno(f), &st) == 0 && st.st_size > at ? (uint64_t)(st.st_size - at)
                                                                    : 0;
}

static enum pli_err read_one(FILE *f, int piece, int n_piece, const char *path)
{
    struct pli_registered_row row;
    if (fread(&row, sizeof row, 1, f) != 1 || row.bytes > rest_of(f)) {
        return pli_fail(PLI_ERR_IO, "%s is cut short", path);
    }
    row.name[sizeof row.name - 1] = '\0';
    const struct entry *k = find(row.name);
    if (k == NULL) {
        return pli_fail(PLI_ERR_NAME,
                        "the checkpoint has a state '%s' that the program has not registered",
                        row.name);
    }
    char *buf = malloc(padded(row.bytes) + PLI_REGISTERED_ALIGN);
    if (buf == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for the %llu bytes of '%s'",
                        (unsigned long long)row.bytes, row.name);
    }
    enum pli_err err = row.bytes > 0 && fread(buf, padded(row.bytes), 1, f) != 1
                           ? pli_fail(PLI_ERR_IO, "%s is cut short", path)
                           : PLI_OK;
    int code = err == PLI_OK ? k->unpack(k->arg, piece, n_piece, buf, (MPI_Count)row.bytes) : 0;
    free(buf);
    return err == PLI_OK && code != MPI_SUCCESS
               ? pli_fail(PLI_ERR_OTHER, "the unpack function of '%s' returned %d", row.name, code)
               : err;
}

static enum pli_err read_piece(const char *dir, int piece, int n_piece)
{
    char path[PATH_MAX];
    struct pli_registered_head head;
    snprintf(path, sizeof path, "%s/state.%d", dir, piece);
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return pli_fail(PLI_ERR_IO, "%s cannot be read: %s", path, strerror(errno));
    }
    enum pli_err err = PLI_OK;
    if (fread(&head, sizeof head, 1, f) != 1 || head.magic != PLI_REGISTERED_MAGIC) {
        err = pli_fail(PLI_ERR_IO, "%s holds no registered state of this kind of machine", path);
    }
    for (uint32_t i = 0; err == PLI_OK && i < head.n_row; i++) {
        err = read_one(f, piece, n_piece, path);
    }
    fclose(f);
    return err;
}

// All ranks exchange their result; the first that failed tells the others why.
enum pli_err pli_registered_agree(struct pli_comm *comm, enum pli_err mine)
{
    char text[200] = "";
    int bad = mine == PLI_OK ? comm->size : comm->rank, first;
    if (mine != PLI_OK) {
        snprintf(text, sizeof text, "%.190s", pli_fail_take(NULL));
    }
    enum pli_err err =
        pli_coll_allreduce(&bad, &first, 1, pli_handle_get(MPI_INT, PLI_KIND_DATATYPE),
                           pli_handle_get(MPI_MIN, PLI_KIND_OP), comm);
    if (err == PLI_OK && first < comm->size) {
        err = pli_coll_bcast(text, sizeof text, pli_comm_make_byte(), first, comm);
        err = err != PLI_OK ? err : pli_fail(mine != PLI_OK ? mine : PLI_ERR_OTHER, "%s", text);
    }
    return err;
}

enum pli_err pli_registered_restore(struct pli_comm *comm, int *n_piece_out)
{
    struct pli_node_header *h = pli_proc.boot->node.header;
    enum pli_err err = PLI_OK;
    if (comm->is_inter) {
        return pli_fail(PLI_ERR_COMM, "argument comm is an intercommunicator");
    }
    int n = pli_node_save(h)->from[0] != '\0' ? (int)pli_node_save(h)->n_piece : 0;
    for (int i = 0; i < n && err == PLI_OK; i++) {
        if ((int64_t)i * comm->size / n == comm->rank) {
            err = read_piece(pli_node_save(h)->from, i, n);
        }
    }
    if (n > 0) {
        err = pli_registered_agree(comm, err);
    }
    if (err == PLI_OK) {
        *n_piece_out = n;
    }
    return err;
}
