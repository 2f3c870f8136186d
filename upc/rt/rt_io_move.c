// SPDX-License-Identifier: BSD-3-Clause
// upc_io.h: reading and writing. What is spread over threads goes through a buffer, so that small
// blocks cost no system call each; with a common file pointer every thread moves a part.
#include "rt_copy.h"
#include "rt_io.h"
#include "upc_calls.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { STAGE = 65536, IN_NOSYNC = 1 << 2, OUT_NOSYNC = 1 << 5 };

// A transfer as it was asked for.
struct io {
    struct rt_file *f;
    bool is_write, is_local;
    size_t n_mem, n_file; // lists
    const struct rt_io_local *local;
    const struct rt_io_spread *spread;
    const struct rt_io_range *file;
};

// Private memory and the file. The bytes moved, fewer at the end of the file; -1: errno tells.
static int64_t move_plain(const struct io *io, char *p, size_t len, int64_t at)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = io->is_write ? pwrite(io->f->fd, p + done, len - done, at + (int64_t)done)
                                 : pread(io->f->fd, p + done, len - done, at + (int64_t)done);
        if (n == 0) {
            break;
        }
        if (n < 0 && errno != EINTR) {
            return -1;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return (int64_t)done;
}

// Where byte x of spread memory is, and how many lie there side by side. The phase does not count.
static pli_upc_pts place(const struct rt_io_spread *v, size_t x, size_t *run)
{
    if (v->block == 0) {
        *run = v->len - x;
        return pli_upc_resetphase(v->base) + x;
    }
    uint64_t k = x / v->block + pli_upc_threadof(v->base), n = (uint64_t)pli_rt.n;
    *run = v->block - x % v->block;
    return pli_upc_make((int64_t)(k % n), 0,
                        (int64_t)(pli_upc_addrfield(v->base) + k / n * v->block + x % v->block));
}

// Between the buffer and len bytes of spread memory from byte x on.
static void stage(const struct rt_io_spread *v, size_t x, size_t len, char *buf, bool is_in)
{
    for (size_t done = 0, run; done < len; done += run) {
        pli_upc_pts p = place(v, x + done, &run);
        run = run < len - done ? run : len - done;
        if (is_in) {
            pli_rt_copy_get(buf + done, p, run);
        } else {
            pli_rt_copy_put(p, buf + done, run);
        }
    }
}

static int64_t move_spread(const struct io *io, const struct rt_io_spread *v, size_t x, size_t len,
                           int64_t at)
{
    char buf[STAGE];
    size_t done = 0;
    while (done < len) {
        size_t run, n = len - done;
        pli_upc_pts p = place(v, x + done, &run);
        char *near = rt_near(p);
        int64_t got;
        if (near != NULL && run >= STAGE) {
            n = n < run ? n : run;
            got = move_plain(io, near, n, at + (int64_t)done);
        } else {
            n = n < STAGE ? n : STAGE;
            if (io->is_write) {
                stage(v, x + done, n, buf, true);
            }
            got = move_plain(io, buf, n, at + (int64_t)done);
            if (!io->is_write && got > 0) {
                stage(v, x + done, (size_t)got, buf, false);
            }
        }
        if (got < 0) {
            return -1;
        }
        done += (size_t)got;
        if ((size_t)got < n) {
            break;
        }
    }
    return (int64_t)done;
}

// Both lists side by side: each step ends where an entry of either ends.
static int64_t move_lists(const struct io *io)
{
    size_t m = 0, in_m = 0, k = 0, in_k = 0;
    int64_t total = 0;
    while (m < io->n_mem && k < io->n_file) {
        size_t left_m = (io->is_local ? io->local[m].len : io->spread[m].len) - in_m;
        size_t left_k = io->file[k].len - in_k, n = left_m < left_k ? left_m : left_k;
        int64_t at = io->file[k].offset + (int64_t)in_k;
        int64_t got = n == 0         ? 0
                      : io->is_local ? move_plain(io, io->local[m].base + in_m, n, at)
                                     : move_spread(io, &io->spread[m], in_m, n, at);
        if (got < 0) {
            return -1;
        }
        total += got;
        if ((size_t)got < n) {
            break;
        }
        in_m = n == left_m ? 0 : in_m + n;
        m += n == left_m;
        in_k = n == left_k ? 0 : in_k + n;
        k += n == left_k;
    }
    return total;
}

// Offsets do not go back and both lists are of the same length in all.
static bool is_good(const struct io *io)
{
    size_t mem = 0, file = 0;
    int64_t last = 0;
    bool good = true;
    for (size_t i = 0; i < io->n_mem; i++) {
        good &=
            !__builtin_add_overflow(mem, io->is_local ? io->local[i].len : io->spread[i].len, &mem);
    }
    for (size_t i = 0; i < io->n_file; i++) {
        if (io->file[i].len > 0) { // empty ones are nowhere
            good &=
                !__builtin_add_overflow(file, io->file[i].len, &file) && io->file[i].offset >= last;
            last = io->file[i].offset;
        }
    }
    return good && mem == file && mem <= INT64_MAX;
}

// One transfer of all threads from the common file pointer: a part each.
static int64_t move_common(const struct io *io)
{
    size_t len = io->spread->len, n = (size_t)pli_rt.n, me = (size_t)rt_me()->me;
    size_t each = (len / n + STAGE - 1) / STAGE * STAGE;
    size_t from = me * each < len ? me * each : len;
    size_t to = me + 1 == n || len - from < each ? len : from + each;
    enum rt_what what = io->is_write ? RT_FWRITE : RT_FREAD;
    int64_t sum, got = move_spread(io, io->spread, from, to - from, io->f->at + (int64_t)from);
    if (pli_rt_io_agree(io->f, got < 0 ? 0 : got, got < 0 ? errno : 0, what, &sum) < 0) {
        return -1;
    }
    io->f->at += sum;
    return sum;
}

static int64_t fail(int error)
{
    errno = error;
    return -1;
}

// What the calls have in common. is_list: the file pointer does not matter.
static int64_t transfer(const struct io *io, bool is_list)
{
    bool is_common = (io->f->flags & RT_IO_COMMON) != 0;
    if (!is_good(io)) {
        return fail(EINVAL);
    }
    if (is_list) {
        return move_lists(io);
    }
    if (is_common) {
        return io->is_local ? fail(EINVAL) : move_common(io);
    }
    int64_t n = move_lists(io);
    io->f->at += n > 0 ? n : 0;
    return n;
}

static void meet(const struct io *io, bool is_wanted)
{
    if (is_wanted) {
        pli_rt_barrier_sync(io->is_write ? RT_FWRITE : RT_FREAD);
    }
}

static int64_t run(pli_upc_pts fd, struct io *io, bool is_list, int flags)
{
    io->f = pli_rt_io_find(fd, false);
    if (io->f == NULL) {
        return -1;
    }
    meet(io, (flags & IN_NOSYNC) == 0);
    int64_t n = transfer(io, is_list);
    int error = errno;
    meet(io, (flags & OUT_NOSYNC) == 0);
    errno = error;
    return n;
}

// The data moves when the transfer begins; its result, and the barrier at its end, come later.
static void begin(pli_upc_pts fd, struct io *io, bool is_list, int flags)
{
    struct rt_file *f = pli_rt_io_find(fd, false);
    if (f == NULL) {
        pli_rt_die("an asynchronous transfer on a file that is not open, or has one under way");
    }
    f->result = run(fd, io, is_list, flags | OUT_NOSYNC);
    f->error = errno;
    f->is_async = true;
    f->async_flags = flags | (io->is_write ? INT_MIN : 0);
}

int64_t pli_upc_all_fwait_async(pli_upc_pts fd)
{
    struct rt_file *f = pli_rt_io_find(fd, true);
    if (f == NULL || !f->is_async) {
        return f == NULL ? -1 : fail(EINVAL);
    }
    struct io io = { .is_write = f->async_flags < 0 };
    meet(&io, (f->async_flags & OUT_NOSYNC) == 0);
    f->is_async = false;
    errno = f->result < 0 ? f->error : errno;
    return f->result;
}

int64_t pli_upc_all_ftest_async(pli_upc_pts fd, int *flag)
{
    *flag = 1;
    return pli_upc_all_fwait_async(fd);
}

#define LOCAL_IO(write)                                                                            \
    size_t len;                                                                                    \
    bool is_long = __builtin_mul_overflow(size, nmemb, &len);                                      \
    struct rt_io_local v = { buffer, is_long ? SIZE_MAX : len };                                   \
    struct rt_file *f = pli_rt_io_find(fd, true);                                                  \
    struct rt_io_range at = { f == NULL ? 0 : f->at, v.len };                                      \
    struct io io = {                                                                               \
        .is_write = (write), .is_local = true, .n_mem = 1, .n_file = 1, .local = &v, .file = &at   \
    }
#define SHARED_IO(write)                                                                           \
    size_t len, in_bytes;                                                                          \
    bool is_long = __builtin_mul_overflow(size, nmemb, &len);                                      \
    is_long |= __builtin_mul_overflow(size, block, &in_bytes);                                     \
    struct rt_io_spread v = { buffer, in_bytes, is_long ? SIZE_MAX : len };                        \
    struct rt_file *f = pli_rt_io_find(fd, true);                                                  \
    struct rt_io_range at = { f == NULL ? 0 : f->at, v.len };                                      \
    struct io io = { .is_write = (write), .n_mem = 1, .n_file = 1, .spread = &v, .file = &at }
#define LIST_IO(write, is_private, member)                                                         \
    struct io io = { .is_write = (write),                                                          \
                     .is_local = (is_private),                                                     \
                     .n_mem = n_mem,                                                               \
                     .n_file = n_file,                                                             \
                     .member = mem,                                                                \
                     .file = file }

// The four calls of a direction, at once or begun.
#define CALLS(verb, write, T, tail, act)                                                           \
    T pli_upc_all_f##verb##_local##tail(pli_upc_pts fd, void *buffer, size_t size, size_t nmemb,   \
                                        int flags)                                                 \
    {                                                                                              \
        LOCAL_IO(write);                                                                           \
        act(fd, &io, false, flags);                                                                \
    }                                                                                              \
    T pli_upc_all_f##verb##_shared##tail(pli_upc_pts fd, pli_upc_pts buffer, size_t block,         \
                                         size_t size, size_t nmemb, int flags)                     \
    {                                                                                              \
        SHARED_IO(write);                                                                          \
        act(fd, &io, false, flags);                                                                \
    }                                                                                              \
    T pli_upc_all_f##verb##_list_local##tail(pli_upc_pts fd, size_t n_mem,                         \
                                             const struct rt_io_local *mem, size_t n_file,         \
                                             const struct rt_io_range *file, int flags)            \
    {                                                                                              \
        LIST_IO(write, true, local);                                                               \
        act(fd, &io, true, flags);                                                                 \
    }                                                                                              \
    T pli_upc_all_f##verb##_list_shared##tail(pli_upc_pts fd, size_t n_mem,                        \
                                              const struct rt_io_spread *mem, size_t n_file,       \
                                              const struct rt_io_range *file, int flags)           \
    {                                                                                              \
        LIST_IO(write, false, spread);                                                             \
        act(fd, &io, true, flags);                                                                 \
    }

CALLS(read, false, int64_t, , return run)
CALLS(write, true, int64_t, , return run)
CALLS(read, false, void, _async, begin)
CALLS(write, true, void, _async, begin)
