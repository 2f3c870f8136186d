// SPDX-License-Identifier: BSD-3-Clause
// Files on communicators that span clients. Each process has the file open by itself, with the
// native library and MPI_COMM_SELF: so views, individual pointers, info, requests and the error
// handler are that library's. What members have in common is here: the shared pointer, which is a
// window of one word at rank 0, and the outcome of collective calls. What they say is in
// io/file_wire.h, as members in clients of Pliant MPI know it.
#ifndef PLI_SHIM_FILE_H
#define PLI_SHIM_FILE_H

#include "shim/shim.h"
#include <pthread.h>

struct shim_file {
    MPI_File handle;        // what the program holds
    struct shim_span *span; // the file's alone
    MPI_Win win;            // the shared pointer in etypes, a word of rank 0
    char *name;
    int amode;
    MPI_Count unit; // bytes of an etype
    MPI_Aint reach; // and where the last of them ends
    bool is_atomic;
    int lock_fd;           // for locks of atomic mode; -1: not opened yet
    pthread_mutex_t range; // held with such a lock
    bool is_closed;        // but for its handle: something failed
    const char *begin;     // a split collective waits for its end; NULL: none
    const void *buf;       // of that
    int rc;
    bool is_told;
    MPI_Status status;
    struct shim_file *next;
};

struct shim_file *pli_shim_file_find(MPI_File file); // NULL: native
// The error handler of the file; is_told: it was called, by the native library. Returns the code.
int pli_shim_file_end(const struct shim_file *f, int code, bool is_told);
// Whether all members are well: where one is not, all have its error.
int pli_shim_file_agree(const struct shim_file *f, int rc);
// Move the shared pointer by n etypes; where it was.
int pli_shim_file_advance(struct shim_file *f, int64_t n, int64_t *before_out);
int pli_shim_file_check_split(const struct shim_file *f);

// shim_file_lock.c. Context: outside the library's lock, and nobody waits for others under a lock.
struct shim_range {
    MPI_Offset from, len; // len 0: nothing is locked
};
int pli_shim_file_lock_open(struct shim_file *f, const char *path); // for the locks of atomic mode
void pli_shim_file_lock_close(struct shim_file *f);
// In atomic mode, lock what an access has at etype `at` of the view; -1: at the individual pointer.
int pli_shim_file_lock_take(struct shim_file *f, bool is_write, MPI_Offset at, MPI_Count count,
                            MPI_Datatype type, struct shim_range *r);
void pli_shim_file_lock_drop(struct shim_file *f, const struct shim_range *r);
// The request of an access that is over.
int pli_shim_file_lock_show(const MPI_Status *status, MPI_Request *out);

#endif
