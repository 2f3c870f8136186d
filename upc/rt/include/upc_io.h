// SPDX-License-Identifier: BSD-3-Clause
// <upc_io.h>: files that all threads use together. [UPC 1.3 optional library]
#include <stddef.h>
#include <upc_types.h>
#ifndef PLI_UPC_IO_H
#define PLI_UPC_IO_H

#define UPC_RDONLY (1 << 0)
#define UPC_WRONLY (1 << 1)
#define UPC_RDWR (1 << 2)
#define UPC_INDIVIDUAL_FP (1 << 3)
#define UPC_COMMON_FP (1 << 4)
#define UPC_APPEND (1 << 5)
#define UPC_CREATE (1 << 6)
#define UPC_EXCL (1 << 7)
#define UPC_STRONG_CA (1 << 8)
#define UPC_TRUNC (1 << 9)
#define UPC_DELETE_ON_CLOSE (1 << 10)

#define UPC_SEEK_SET 0
#define UPC_SEEK_CUR 1
#define UPC_SEEK_END 2

#define UPC_GET_CA_SEMANTICS 1
#define UPC_SET_WEAK_CA_SEMANTICS 2
#define UPC_SET_STRONG_CA_SEMANTICS 3
#define UPC_GET_FP 4
#define UPC_SET_COMMON_FP 5
#define UPC_SET_INDIVIDUAL_FP 6
#define UPC_GET_FL 7
#define UPC_GET_FN 8
#define UPC_GET_HINTS 9
#define UPC_SET_HINT 10
#define UPC_ASYNC_OUTSTANDING 11

typedef long long upc_off_t;
typedef shared struct pli_upc_file upc_file_t;

struct upc_hint {
    const char *key;
    const char *value;
};
struct upc_local_memvec {
    void *baseaddr;
    size_t len;
};
struct upc_shared_memvec {
    shared void *baseaddr;
    size_t blocksize; // bytes; 0: indefinite
    size_t len;
};
struct upc_filevec {
    upc_off_t offset;
    size_t len;
};
// The names of before 1.3.
typedef struct upc_hint upc_hint_t;
typedef struct upc_local_memvec upc_local_memvec_t;
typedef struct upc_shared_memvec upc_shared_memvec_t;
typedef struct upc_filevec upc_filevec_t;

#define PLI_UPC_IO_NAME(name) __asm__("pli_" #name)

upc_file_t *upc_all_fopen(const char *fname, int flags, size_t numhints,
                          struct upc_hint const *hints) PLI_UPC_IO_NAME(upc_all_fopen);
int upc_all_fclose(upc_file_t *fd) PLI_UPC_IO_NAME(upc_all_fclose);
int upc_all_fsync(upc_file_t *fd) PLI_UPC_IO_NAME(upc_all_fsync);
upc_off_t upc_all_fseek(upc_file_t *fd, upc_off_t offset, int origin)
    PLI_UPC_IO_NAME(upc_all_fseek);
int upc_all_fset_size(upc_file_t *fd, upc_off_t size) PLI_UPC_IO_NAME(upc_all_fset_size);
upc_off_t upc_all_fget_size(upc_file_t *fd) PLI_UPC_IO_NAME(upc_all_fget_size);
int upc_all_fpreallocate(upc_file_t *fd, upc_off_t size) PLI_UPC_IO_NAME(upc_all_fpreallocate);
int upc_all_fcntl(upc_file_t *fd, int cmd, void *arg) PLI_UPC_IO_NAME(upc_all_fcntl);
upc_off_t upc_all_fwait_async(upc_file_t *fd) PLI_UPC_IO_NAME(upc_all_fwait_async);
upc_off_t upc_all_ftest_async(upc_file_t *fd, int *flag) PLI_UPC_IO_NAME(upc_all_ftest_async);

// read and write, and each of them at once (upc_off_t) or begun only (void, _async).
#define PLI_UPC_IO_BOTH(T, verb, tail)                                                             \
    T upc_all_f##verb##_local##tail(upc_file_t *fd, void *buffer, size_t size, size_t nmemb,       \
                                    upc_flag_t flags) __asm__("pli_upc_all_f" #verb                \
                                                              "_local" #tail);                     \
    T upc_all_f##verb##_shared##tail(                                                              \
        upc_file_t *fd, shared void *buffer, size_t blocksize, size_t size, size_t nmemb,          \
        upc_flag_t flags) __asm__("pli_upc_all_f" #verb "_shared" #tail);                          \
    T upc_all_f##verb##_list_local##tail(                                                          \
        upc_file_t *fd, size_t memvec_entries, struct upc_local_memvec const *memvec,              \
        size_t filevec_entries, struct upc_filevec const *filevec,                                 \
        upc_flag_t flags) __asm__("pli_upc_all_f" #verb "_list_local" #tail);                      \
    T upc_all_f##verb##_list_shared##tail(                                                         \
        upc_file_t *fd, size_t memvec_entries, struct upc_shared_memvec const *memvec,             \
        size_t filevec_entries, struct upc_filevec const *filevec,                                 \
        upc_flag_t flags) __asm__("pli_upc_all_f" #verb "_list_shared" #tail)

PLI_UPC_IO_BOTH(upc_off_t, read, );
PLI_UPC_IO_BOTH(upc_off_t, write, );
PLI_UPC_IO_BOTH(void, read, _async);
PLI_UPC_IO_BOTH(void, write, _async);

#endif
