// SPDX-License-Identifier: BSD-3-Clause
// Files on communicators that span clients. Each process has the file open by itself, with the
// native library and MPI_COMM_SELF: so views, individual pointers, info, requests and the error
// handler are that library's. What members have in common is here: the shared pointer, which is a
// window of one word at rank 0, and the outcome of collective calls. What they say is in
// io/file_wire.h, as members in clients of Pliant MPI know it.
#ifndef PLI_SHIM_FILE_H
#define PLI_SHIM_FILE_H

#include "shim/shim.h"

struct shim_file {
    MPI_File handle;        // what the program holds
    struct shim_span *span; // the file's alone
    MPI_Win win;            // the shared pointer in etypes, a word of rank 0
    char *name;
    int amode;
    MPI_Count unit;    // bytes of an etype
    bool is_closed;    // but for its handle: something failed
    const char *begin; // a split collective waits for its end; NULL: none
    const void *buf;   // of that
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

#endif
