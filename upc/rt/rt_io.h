// SPDX-License-Identifier: BSD-3-Clause
// Files of UPC: what the two halves of upc_io.h share. Every thread has the file open for itself;
// calls that give all the same answer agree on it through words in shared memory.
#ifndef PLI_RT_IO_H
#define PLI_RT_IO_H

#include "rt.h"
#include "rt_barrier.h"

enum {
    RT_IO_RDONLY = 1 << 0,
    RT_IO_WRONLY = 1 << 1,
    RT_IO_RDWR = 1 << 2,
    RT_IO_INDIVIDUAL = 1 << 3,
    RT_IO_COMMON = 1 << 4,
    RT_IO_APPEND = 1 << 5,
    RT_IO_CREATE = 1 << 6,
    RT_IO_EXCL = 1 << 7,
    RT_IO_STRONG = 1 << 8,
    RT_IO_TRUNC = 1 << 9,
    RT_IO_DELETE = 1 << 10,
    RT_IO_ALL = (1 << 11) - 1
};

struct rt_io_hint {
    char *key, *value;
};

// A thread's view of a file.
struct rt_file {
    struct rt_file *next;
    pli_upc_pts id; // the handle: words to agree on, one block for each thread
    int fd, flags;
    int64_t at;    // the file pointer; with a common one all threads have the same value
    unsigned turn; // of the words
    char *name;
    struct rt_io_hint *hints;
    size_t n_hint;
    bool is_async; // a transfer was begun and not waited for:
    int64_t result;
    int error, async_flags;
};

// The file behind a handle, or NULL with errno set; so also while a transfer is outstanding,
// unless that is the caller's business.
struct rt_file *pli_rt_io_find(pli_upc_pts fd, bool may_be_async);

// Every thread brings a value and an error number; *sum: all added up; returns thread 0's value, or
// -1 with errno set when any had an error. Collective.
int64_t pli_rt_io_agree(struct rt_file *f, int64_t mine, int error, enum rt_what what,
                        int64_t *sum);

// The structures of upc_io.h.
struct rt_io_local {
    char *base;
    size_t len;
};
struct rt_io_spread {
    pli_upc_pts base;
    size_t block, len; // block 0: all on one thread
};
struct rt_io_range {
    long long offset;
    size_t len;
};

pli_upc_pts pli_upc_all_fopen(const char *name, int flags, size_t n_hint,
                              const struct rt_io_hint *hints);
int pli_upc_all_fclose(pli_upc_pts fd);
int pli_upc_all_fsync(pli_upc_pts fd);
int64_t pli_upc_all_fseek(pli_upc_pts fd, int64_t offset, int origin);
int pli_upc_all_fset_size(pli_upc_pts fd, int64_t size);
int64_t pli_upc_all_fget_size(pli_upc_pts fd);
int pli_upc_all_fpreallocate(pli_upc_pts fd, int64_t size);
int pli_upc_all_fcntl(pli_upc_pts fd, int cmd, void *arg);
int64_t pli_upc_all_fwait_async(pli_upc_pts fd);
int64_t pli_upc_all_ftest_async(pli_upc_pts fd, int *flag);

#define RT_IO_CALLS(T, verb, tail)                                                                 \
    T pli_upc_all_f##verb##_local##tail(pli_upc_pts fd, void *buffer, size_t size, size_t nmemb,   \
                                        int flags);                                                \
    T pli_upc_all_f##verb##_shared##tail(pli_upc_pts fd, pli_upc_pts buffer, size_t block,         \
                                         size_t size, size_t nmemb, int flags);                    \
    T pli_upc_all_f##verb##_list_local##tail(pli_upc_pts fd, size_t n_mem,                         \
                                             const struct rt_io_local *mem, size_t n_file,         \
                                             const struct rt_io_range *file, int flags);           \
    T pli_upc_all_f##verb##_list_shared##tail(pli_upc_pts fd, size_t n_mem,                        \
                                              const struct rt_io_spread *mem, size_t n_file,       \
                                              const struct rt_io_range *file, int flags)
RT_IO_CALLS(int64_t, read, );
RT_IO_CALLS(int64_t, write, );
RT_IO_CALLS(void, read, _async);
RT_IO_CALLS(void, write, _async);

#endif
