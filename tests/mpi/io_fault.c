// SPDX-License-Identifier: BSD-3-Clause
// Files on a disk that fails. The program stands between the library and the system: its own
// versions of the calls that move data fail, are interrupted or move less than they were asked to.
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// The system, as this process sees it.
static struct {
    int error;     // calls that move data fail with it,
    int after;     // after so many that do not
    size_t most;   // bytes that a call moves; 0: all
    int interrupt; // every second call is interrupted
    int sync_error, open_error, lock_error;
    int is_far; // files are on a file system of the network
} fault;
static int n_call, n_behind; // of these in another thread than that of main
static pthread_t main_thread;

static ssize_t move_data(long number, int fd, const struct iovec *iov, int n, off_t at)
{
    n_call++;
    n_behind += !pthread_equal(pthread_self(), main_thread);
    if (fault.interrupt && n_call % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    if (fault.error != 0 && fault.after-- <= 0) {
        errno = fault.error;
        return -1;
    }
    struct iovec part = *iov;
    if (fault.most > 0) {
        part.iov_len = part.iov_len < fault.most ? part.iov_len : fault.most;
        n = 1;
    }
    return syscall(number, fd, fault.most > 0 ? &part : iov, n, at, 0);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
    struct iovec iov = { (void *)(uintptr_t)buf, len };
    return move_data(SYS_pwritev, fd, &iov, 1, at);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off_t at);
ssize_t pwrite64(int fd, const void *buf, size_t len, off_t at)
{
    struct iovec iov = { (void *)(uintptr_t)buf, len };
    return move_data(SYS_pwritev, fd, &iov, 1, at);
}

ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
    struct iovec iov = { buf, len };
    return move_data(SYS_preadv, fd, &iov, 1, at);
}

ssize_t pread64(int fd, void *buf, size_t len, off_t at);
ssize_t pread64(int fd, void *buf, size_t len, off_t at)
{
    struct iovec iov = { buf, len };
    return move_data(SYS_preadv, fd, &iov, 1, at);
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t at)
{
    return move_data(SYS_pwritev, fd, iov, n, at);
}

ssize_t preadv(int fd, const struct iovec *iov, int n, off_t at)
{
    return move_data(SYS_preadv, fd, iov, n, at);
}

ssize_t pwritev64(int fd, const struct iovec *iov, int n, off_t at);
ssize_t pwritev64(int fd, const struct iovec *iov, int n, off_t at)
{
    return move_data(SYS_pwritev, fd, iov, n, at);
}

ssize_t preadv64(int fd, const struct iovec *iov, int n, off_t at);
ssize_t preadv64(int fd, const struct iovec *iov, int n, off_t at)
{
    return move_data(SYS_preadv, fd, iov, n, at);
}

int fstatfs64(int fd, struct statfs64 *out);
int fstatfs64(int fd, struct statfs64 *out)
{
    int rc = (int)syscall(SYS_fstatfs, fd, out);
    out->f_type = fault.is_far ? FUSE_SUPER_MAGIC : out->f_type;
    return rc;
}

int fstatfs(int fd, struct statfs *out)
{
    return fstatfs64(fd, (struct statfs64 *)out);
}

int fsync(int fd)
{
    errno = fault.sync_error;
    return fault.sync_error != 0 ? -1 : (int)syscall(SYS_fsync, fd);
}

static int open_file(const char *name, int flags, int mode)
{
    if (fault.open_error != 0 && strstr(name, "io_fault.") != NULL) {
        errno = fault.open_error;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
}

int open64(const char *name, int flags, ...);
int open64(const char *name, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = (flags & O_CREAT) != 0 ? va_arg(args, int) : 0;
    va_end(args);
    return open_file(name, flags, mode);
}

int open(const char *name, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = (flags & O_CREAT) != 0 ? va_arg(args, int) : 0;
    va_end(args);
    return open_file(name, flags, mode);
}

// WINDOW: half of the buffer of an aggregator, in which another half is under way.
enum { RECORD = 64, N_RECORD = 256, BYTES = RECORD * N_RECORD, WINDOW = 2048 };

static int me, n;
static char path[64], dir[80];
static char out[BYTES], in[BYTES];

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static int lock_file(int fd, int command, void *arg)
{
    if (fault.lock_error != 0 && command == F_OFD_SETLKW) {
        errno = fault.lock_error;
        return -1;
    }
    return (int)syscall(SYS_fcntl, fd, command, arg);
}

int fcntl64(int fd, int command, ...);
int fcntl64(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *arg = va_arg(args, void *);
    va_end(args);
    return lock_file(fd, command, arg);
}

int fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *arg = va_arg(args, void *);
    va_end(args);
    return lock_file(fd, command, arg);
}

// All ranks have this class, and a sentence with all the pieces.
static void expect(int code, int class, int error, bool has_offset)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;
    MPI_Error_string(code, text, &len);
    if (class_of(code) != class) {
        fprintf(stderr, "rank %d: class %d, not %d: %s\n", me, class_of(code), class, text);
        t_failed++;
    }
    if (class != MPI_SUCCESS) {
        T_HAS(text, path);
        T_HAS(text, strerror(error));
        if (has_offset) {
            T_HAS(text, "at offset ");
        }
    }
}

enum { AT, AT_ALL, I_AT, I_AT_ALL, SPLIT, SHARED, ORDERED, N_WAY };

static int move(MPI_File f, bool is_write, int way, MPI_Offset at)
{
    MPI_Status s;
    MPI_Request r = MPI_REQUEST_NULL;
    int rc = 0;
    void *buf = is_write ? out : in;
    switch (way) {
    case AT:
        return is_write ? MPI_File_write_at(f, at, buf, BYTES, MPI_BYTE, &s)
                        : MPI_File_read_at(f, at, buf, BYTES, MPI_BYTE, &s);
    case AT_ALL:
        return is_write ? MPI_File_write_at_all(f, at, buf, BYTES, MPI_BYTE, &s)
                        : MPI_File_read_at_all(f, at, buf, BYTES, MPI_BYTE, &s);
    case I_AT:
        rc = is_write ? MPI_File_iwrite_at(f, at, buf, BYTES, MPI_BYTE, &r)
                      : MPI_File_iread_at(f, at, buf, BYTES, MPI_BYTE, &r);
        return rc == 0 ? MPI_Wait(&r, &s) : rc;
    case I_AT_ALL:
        rc = is_write ? MPI_File_iwrite_at_all(f, at, buf, BYTES, MPI_BYTE, &r)
                      : MPI_File_iread_at_all(f, at, buf, BYTES, MPI_BYTE, &r);
        return rc == 0 ? MPI_Wait(&r, &s) : rc;
    case SPLIT:
        rc = is_write ? MPI_File_write_at_all_begin(f, at, buf, BYTES, MPI_BYTE)
                      : MPI_File_read_at_all_begin(f, at, buf, BYTES, MPI_BYTE);
        return rc != 0    ? rc
               : is_write ? MPI_File_write_at_all_end(f, buf, &s)
                          : MPI_File_read_at_all_end(f, buf, &s);
    case SHARED:
        return is_write ? MPI_File_write_shared(f, buf, BYTES, MPI_BYTE, &s)
                        : MPI_File_read_shared(f, buf, BYTES, MPI_BYTE, &s);
    default:
        return is_write ? MPI_File_write_ordered(f, buf, BYTES, MPI_BYTE, &s)
                        : MPI_File_read_ordered(f, buf, BYTES, MPI_BYTE, &s);
    }
}

// Every rank aggregates. mapped: gaps may be written through a mapping, which is no call here.
static MPI_File open_with(int records, bool is_mapped)
{
    MPI_File f;
    MPI_Info info;
    MPI_Datatype record, view;
    char text[16];
    snprintf(text, sizeof text, "%d", n);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", text);
    snprintf(text, sizeof text, "%d", 2 * WINDOW);
    MPI_Info_set(info, "cb_buffer_size", fault.is_far ? text : "65536");
    MPI_Info_set(info, "pliant_map", is_mapped ? "automatic" : "disable");
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f), 0);
    MPI_Info_free(&info);
    if (records) { // interleaved by rank
        MPI_Type_contiguous(RECORD, MPI_BYTE, &record);
        MPI_Type_create_resized(record, 0, (MPI_Aint)RECORD * n, &view);
        MPI_Type_commit(&view);
        T_EQ(MPI_File_set_view(f, (MPI_Offset)RECORD * me, MPI_BYTE, view, "native", MPI_INFO_NULL),
             0);
        MPI_Type_free(&view);
        MPI_Type_free(&record);
    }
    return f;
}

static bool is_collective(int way)
{
    return way == AT_ALL || way == I_AT_ALL || way == SPLIT || way == ORDERED;
}

// One rank's disk fails; in collective calls all are told, and afterwards all is as before.
static void check_errors(int error, int class)
{
    for (int records = 0; records < 2; records++) {
        MPI_File f = open_with(records, false);
        for (int i = 0; i < 2 * N_WAY; i++) {
            int way = i / 2, victim = (i + records) % n;
            bool is_write = i % 2 == 0;
            MPI_Offset at = records ? 0 : (MPI_Offset)BYTES * me;
            fault.error = me == victim ? error : 0;
            int rc = move(f, is_write, way, at);
            fault.error = 0;
            bool must = is_collective(way) || me == victim;
            expect(rc, must ? class : MPI_SUCCESS, error, true);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_File_set_size(f, 0);
        MPI_Offset at = records ? 0 : (MPI_Offset)BYTES * me;
        T_EQ(move(f, true, AT_ALL, at), 0);
        memset(in, 0, BYTES);
        T_EQ(move(f, false, AT_ALL, at), 0);
        T_EQ(memcmp(in, out, BYTES), 0);
        T_EQ(MPI_File_close(&f), 0);
    }
}

// Calls that are interrupted and move less than they were asked to are not seen at all.
static void check_short(void)
{
    for (int records = 0; records < 2; records++) {
        MPI_File f = open_with(records, false);
        for (int way = 0; way < SHARED; way++) {
            MPI_Offset at = records ? 0 : (MPI_Offset)BYTES * me;
            T_EQ(MPI_File_set_size(f, 0), 0);
            fault.interrupt = 1;
            fault.most = 1000;
            T_EQ(move(f, true, way, at), 0);
            MPI_Barrier(MPI_COMM_WORLD);
            memset(in, 0, BYTES);
            T_EQ(move(f, false, way, at), 0);
            fault.interrupt = 0;
            fault.most = 0;
            T_EQ(memcmp(in, out, BYTES), 0);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        T_EQ(MPI_File_close(&f), 0);
    }
}

// A file can get so large and no larger.
static void check_limit(void)
{
    struct rlimit old, low;
    getrlimit(RLIMIT_FSIZE, &old);
    low = old;
    low.rlim_cur = (rlim_t)BYTES * (rlim_t)n / 2;
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 4; i++) {
        MPI_File f = open_with(i % 2, i / 2 == 0);
        MPI_Offset at = i % 2 ? 0 : (MPI_Offset)BYTES * me;
        T_EQ(MPI_File_set_size(f, 0), 0);
        MPI_Barrier(MPI_COMM_WORLD);
        T_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
        expect(move(f, true, AT_ALL, at), MPI_ERR_NO_SPACE, EFBIG, true);
        expect(move(f, true, I_AT_ALL, at), MPI_ERR_NO_SPACE, EFBIG, true);
        expect(MPI_File_set_size(f, (MPI_Offset)BYTES * n), MPI_ERR_NO_SPACE, EFBIG, false);
        expect(MPI_File_preallocate(f, (MPI_Offset)BYTES * n), MPI_ERR_NO_SPACE, EFBIG, false);
        // An atomic write that does not fit leaves the file as it was.
        T_EQ(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), 0);
        T_EQ(MPI_File_set_size(f, 0), 0);
        T_EQ(MPI_File_set_atomicity(f, 1), 0);
        MPI_Offset size, edge = (MPI_Offset)low.rlim_cur - BYTES / 2;
        expect(MPI_File_write_at_all(f, edge, out, BYTES, MPI_BYTE, MPI_STATUS_IGNORE),
               MPI_ERR_NO_SPACE, EFBIG, true);
        T_EQ(MPI_File_get_size(f, &size), 0);
        T_EQ(size, 0);
        T_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
        T_EQ(MPI_File_write_at_all(f, edge, out, BYTES, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        T_EQ(MPI_File_close(&f), 0);
    }
}

// Space that is left out between what ranks write stays as it is, also where they write the same.
static void check_overlap(void)
{
    char all[100], want[100];
    for (int i = 0; i < 4; i++) {
        MPI_File f = open_with(0, i % 2 == 0);
        memset(all, 'o', sizeof all);
        memset(want, 'o', sizeof want);
        if (me == 0) {
            T_EQ(MPI_File_write_at(f, 0, all, 100, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        // Two write [0, 20), one of the others [40, 60): 60 bytes in a range of 60 with a gap.
        memset(all, 'n', sizeof all);
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "romio_cb_write", "enable");
        T_EQ(MPI_File_set_info(f, info), 0);
        MPI_Info_free(&info);
        MPI_Offset at = me == 2 ? 40 : 0;
        if (i >= 2) {
            T_EQ(MPI_File_set_atomicity(f, 1), 0);
        }
        T_EQ(MPI_File_write_at_all(f, at, all, me < 3 ? 20 : 0, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        T_EQ(MPI_File_read_at_all(f, 0, all, 100, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        memset(want, 'n', 20);
        memset(want + 40, n > 2 ? 'n' : 'o', 20);
        T_EQ(memcmp(all, want, 100), 0);
        T_EQ(MPI_File_close(&f), 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

// What is neither reading nor writing.
static void check_others(void)
{
    MPI_File f = open_with(0, true);
    fault.sync_error = me == n - 1 ? EIO : 0;
    expect(MPI_File_sync(f), MPI_ERR_IO, EIO, false);
    fault.sync_error = 0;
    T_EQ(MPI_File_sync(f), 0);
    T_EQ(MPI_File_close(&f), 0);
    static const struct {
        int error, class;
    } opens[] = { { EROFS, MPI_ERR_READ_ONLY },     { EDQUOT, MPI_ERR_QUOTA },
                  { EACCES, MPI_ERR_ACCESS },       { EIO, MPI_ERR_IO },
                  { ENOENT, MPI_ERR_NO_SUCH_FILE }, { ENOSPC, MPI_ERR_NO_SPACE } };
    for (int i = 0; i < 6; i++) {
        fault.open_error = me == i % n ? opens[i].error : 0;
        expect(
            MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
            opens[i].class, opens[i].error, false);
        fault.open_error = 0;
    }
}

// Every access locks, as on NFS, whose server may have no locks.
static void check_locks(void)
{
    MPI_File f;
    MPI_Info info;
    MPI_Offset size;
    MPI_Info_create(&info);
    MPI_Info_set(info, "pliant_lock", "enable");
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f), 0);
    MPI_Info_free(&info);
    MPI_Offset at = (MPI_Offset)BYTES * me;
    for (int i = 0; i < 2; i++) {
        fault.lock_error = i == 0 && me == n - 1 ? ENOLCK : 0;
        int want = i == 0 ? MPI_ERR_IO : 0;
        for (int way = 0; way < SHARED; way++) {
            bool must = is_collective(way) || me == n - 1;
            expect(move(f, true, way, at), must ? want : 0, ENOLCK, true);
            expect(move(f, false, way, at), must ? want : 0, ENOLCK, true);
        }
        expect(MPI_File_sync(f), want, ENOLCK, true);
        expect(MPI_File_get_size(f, &size), me == n - 1 ? want : 0, ENOLCK, true);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    fault.lock_error = 0;
    T_EQ(MPI_File_close(&f), 0);
}

// On a file system that answers late a window is written, or read, while the next one comes, by
// another thread. One that fails is the last that is written.
static void check_windows(void)
{
    fault.is_far = 1;
    for (int after = 0; after < 6; after++) {
        MPI_File f = open_with(1, false);
        fault.error = me == after % n ? EIO : 0;
        fault.after = after;
        n_call = n_behind = 0;
        expect(move(f, true, AT_ALL, 0), MPI_ERR_IO, EIO, true);
        T_EQ(n_call, me == after % n ? after + 1 : BYTES / WINDOW);
        T_EQ(n_behind, n_call);
        fault.after = after;
        expect(move(f, false, AT_ALL, 0), MPI_ERR_IO, EIO, true);
        fault.error = 0;
        T_EQ(move(f, true, AT_ALL, 0), 0);
        memset(in, 0, BYTES);
        fault.most = 1000;
        T_EQ(move(f, false, AT_ALL, 0), 0);
        fault.most = 0;
        T_EQ(memcmp(in, out, BYTES), 0);
        // The file ends within a window.
        MPI_Status s;
        int got, want = BYTES / 2 + (me == 0 ? 5 : 0);
        T_EQ(MPI_File_set_size(f, (MPI_Offset)n * BYTES / 2 + 5), 0);
        T_EQ(MPI_File_read_at_all(f, 0, in, BYTES, MPI_BYTE, &s), 0);
        MPI_Get_count(&s, MPI_BYTE, &got);
        T_EQ(got, want);
        T_EQ(MPI_File_close(&f), 0);
    }
    fault.is_far = 0;
}

// A folder that goes while a file in it is open.
static void check_folder(void)
{
    char name[128];
    MPI_File f;
    snprintf(name, sizeof name, "%s/file", dir);
    if (me == 0) {
        T_EQ(mkdir(dir, 0700), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_open(MPI_COMM_WORLD, name,
                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                       &f),
         0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        T_EQ(unlink(name), 0);
        T_EQ(rmdir(dir), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(move(f, true, AT_ALL, (MPI_Offset)BYTES * me), 0);
    T_EQ(move(f, false, AT_ALL, (MPI_Offset)BYTES * me), 0);
    expect(MPI_File_close(&f), MPI_ERR_NO_SUCH_FILE, ENOENT, false);
    T_OK(f != MPI_FILE_NULL);
    expect(move(f, true, AT_ALL, 0), MPI_ERR_IO, EBADF, true);
    T_EQ(MPI_File_close(&f), 0);
    T_OK(f == MPI_FILE_NULL);
    expect(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
           MPI_ERR_NO_SUCH_FILE, ENOENT, false);
}

int main(int argc, char **argv)
{
    main_thread = pthread_self();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    snprintf(path, sizeof path, "/tmp/io_fault.%d", (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    snprintf(dir, sizeof dir, "%s.d", path);
    for (int i = 0; i < BYTES; i++) {
        out[i] = (char)(i * 7 + i / 256 + me);
    }
    check_errors(EIO, MPI_ERR_IO);
    T_OK(n_call > 0); // the library does use these calls
    check_errors(EDQUOT, MPI_ERR_QUOTA);
    check_errors(ENOSPC, MPI_ERR_NO_SPACE);
    check_short();
    check_limit();
    check_overlap();
    check_others();
    check_locks();
    if (n > 1) { // one rank alone does not exchange anything
        check_windows();
    }
    check_folder();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        unlink(path);
    }
    MPI_Finalize();
    return t_status();
}
