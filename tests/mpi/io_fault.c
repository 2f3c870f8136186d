// SPDX-License-Identifier: BSD-3-Clause
// Files on a disk that fails. The program stands between the library and the system: its own
// versions of the calls that move data fail, are interrupted or move less than they were asked to.
#include "io_t.h"
#include "t.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// The system, as this process sees it.
static struct {
    int error;     // calls that move data fail with it,
    int after;     // after so many that do not
    size_t most;   // bytes that a call moves; 0: all
    int interrupt; // every second call is interrupted
    int slow;      // ms that a call of another thread takes
    int behind;    // of this file: the first call that fails has another rank write at BEHIND
    int sync_error, open_error, lock_error;
    int is_far;     // files are on a file system of the network
    int peer_error; // every third time that memory of another process is read
} fault;
static int n_call, n_behind; // of these in another thread than that of main
static pthread_t main_thread;

enum { BEHIND = 1 << 20 };

static ssize_t move_data(long number, int fd, const struct iovec *iov, int n, off_t at)
{
    n_call++;
    if (!pthread_equal(pthread_self(), main_thread)) {
        n_behind++;
        usleep((useconds_t)fault.slow * 1000);
    }
    if (fault.interrupt && n_call % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    if (fault.error != 0 && fault.after-- <= 0) {
        if (fault.behind > 0) {
            T_EQ(syscall(SYS_pwrite64, fault.behind, "b", 1, BEHIND), 1);
            fault.behind = 0;
        }
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

#include "io_calls.h"

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n_to,
                         const struct iovec *from, unsigned long n_from, unsigned long flags)
{
    static int n_peer;
    if (fault.peer_error != 0 && n_peer++ % 3 == 2) {
        errno = fault.peer_error;
        return -1;
    }
    return syscall(SYS_process_vm_readv, pid, to, n_to, from, n_from, flags);
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
    int mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(args, int) : 0;
    va_end(args);
    return open_file(name, flags, mode);
}

int open(const char *name, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(args, int) : 0;
    va_end(args);
    return open_file(name, flags, mode);
}

// Another program makes the file shorter when pages of a mapping of it are there and not yet used;
// cut_late: when the library gets ready for that, where it does not ask for pages before.
static int cut_fd = -1, n_cut;
static bool cut_late;
static off_t cut_to;

static void cut(void)
{
    n_cut += ftruncate(cut_fd, cut_to) == 0;
    cut_fd = -1;
}

int sigaction(int sig, const struct sigaction *now, struct sigaction *before)
{
    static int (*real)(int, const struct sigaction *, struct sigaction *);
    if (real == NULL) {
        real = dlsym(RTLD_NEXT, "sigaction");
    }
    if (cut_late && cut_fd >= 0 && sig == SIGBUS && now != NULL) {
        cut();
    }
    return real(sig, now, before);
}

int madvise(void *at, size_t len, int advice)
{
    enum { POPULATE_READ = 22, POPULATE_WRITE = 23 };
    int rc = (int)syscall(SYS_madvise, at, len, advice);
    if (rc == 0 && len > 0 && cut_fd >= 0 && !cut_late &&
        (advice == POPULATE_READ || advice == POPULATE_WRITE)) {
        cut();
    }
    return rc;
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

// Where the limit is within a page the system would write what is before it.
static void check_limit_in_page(void)
{
    enum { PAGE = 4096, PLACE = 3 * PAGE + 100, LEN = 200 };
    char new[LEN], seen[LEN];
    struct rlimit old, low;
    MPI_File f = open_with(0, true);
    T_EQ(MPI_File_write_at_all(f, (MPI_Offset)me * BYTES, out, BYTES, MPI_BYTE, MPI_STATUS_IGNORE),
         0);
    T_EQ(MPI_File_set_atomicity(f, 1), 0);
    memset(new, ~out[PLACE], LEN);
    getrlimit(RLIMIT_FSIZE, &old);
    low = old;
    low.rlim_cur = PLACE + LEN / 2;
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        T_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
        expect(MPI_File_write_at(f, PLACE, new, LEN, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE,
               EFBIG, true);
        T_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
        T_EQ(MPI_File_read_at(f, PLACE, seen, LEN, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        T_EQ(memcmp(seen, out + PLACE, LEN), 0);
        T_EQ(MPI_File_write_at(f, PLACE, new, LEN, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        T_EQ(MPI_File_read_at(f, PLACE, seen, LEN, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        T_EQ(memcmp(seen, new, LEN), 0);
    }
    T_EQ(MPI_File_close(&f), 0);
}

// An atomic write makes the file longer and finds no more space when another rank has written
// behind its range: the file stays as long as that, with nothing in the place of the write, as
// holes need no space.
static void check_no_space_behind(void)
{
    char *now = malloc(BEHIND + 1), text[MPI_MAX_ERROR_STRING];
    int fd = open(path, O_RDWR), len;
    T_MUST(now != NULL && fd >= 0);
    bool has_holes = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1) == 0;
    for (int records = 0; records < 2 && has_holes; records++) {
        MPI_File f = open_with(records, false);
        T_EQ(MPI_File_set_size(f, 0), 0);
        T_EQ(MPI_File_set_atomicity(f, 1), 0);
        if (me == 0) {
            long found = 0;
            T_EQ(MPI_File_write_at(f, 0, out, RECORD, MPI_BYTE, MPI_STATUS_IGNORE), 0);
            fault.most = 1000;
            fault.after = 4;
            fault.behind = fd;
            fault.error = ENOSPC;
            int rc = MPI_File_write_at(f, RECORD, out, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
            fault.error = 0;
            fault.most = 0;
            expect(rc, MPI_ERR_NO_SPACE, ENOSPC, true);
            MPI_Error_string(rc, text, &len);
            T_OK(strstr(text, "could not be written back") == NULL);
            T_EQ(syscall(SYS_pread64, fd, now, BEHIND + 1, 0), BEHIND + 1);
            T_EQ(memcmp(now, out, RECORD), 0);
            for (long i = RECORD; i < BEHIND; i++) {
                found += now[i] != 0;
            }
            T_EQ(found, 0);
            T_EQ(now[BEHIND], 'b');
        }
        T_EQ(MPI_File_close(&f), 0);
    }
    close(fd);
    free(now);
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

// A window that is still being written when the next one but one comes, as the one in between has a
// gap, or nothing: that must not be received into its half of the buffer.
static void check_halves(void)
{
    enum { IN_WINDOW = WINDOW / RECORD, ALL = 8 * IN_WINDOW };
    static char mine[ALL * RECORD], all[ALL * RECORD], want[ALL * RECORD];
    fault.is_far = 1;
    for (int is_empty = 0; is_empty < 2; is_empty++) {
        int at[ALL], n_mine = 0;
        MPI_Datatype view;
        memset(want, 0, sizeof want);
        for (int i = 0; i < ALL; i++) {
            bool is_left_out = i / IN_WINDOW % 2 == 1 && (is_empty || i % IN_WINDOW == 5);
            if (!is_left_out && i < ALL - IN_WINDOW) {
                memset(want + (size_t)i * RECORD, 1 + i % 100, RECORD);
            }
            if (!is_left_out && i < ALL - IN_WINDOW && i % n == me) {
                memset(mine + (size_t)n_mine * RECORD, 1 + i % 100, RECORD);
                at[n_mine++] = i * RECORD;
            }
        }
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "cb_nodes", "1");
        MPI_Info_set(info, "cb_buffer_size", "4096");
        MPI_Info_set(info, "romio_cb_write", "enable");
        MPI_File f;
        T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f), 0);
        MPI_Info_free(&info);
        T_EQ(MPI_File_set_size(f, 0), 0);
        MPI_Type_create_indexed_block(n_mine, RECORD, at, MPI_BYTE, &view);
        MPI_Type_commit(&view);
        T_EQ(MPI_File_set_view(f, 0, MPI_BYTE, view, "native", MPI_INFO_NULL), 0);
        MPI_Type_free(&view);
        fault.slow = 20;
        T_EQ(MPI_File_write_at_all(f, 0, mine, n_mine * RECORD, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        fault.slow = 0;
        T_EQ(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), 0);
        memset(all, 0, sizeof all);
        T_EQ(MPI_File_read_at_all(f, 0, all, sizeof all, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        T_EQ(memcmp(all, want, sizeof all), 0);
        T_EQ(MPI_File_close(&f), 0);
    }
    fault.is_far = 0;
}

// Data that ranks of one host collect in windows of shared memory, or in rounds: whichever window
// fails, all ranks are told, and calls that are interrupted or move little are not seen.
static void check_whole(void)
{
    enum { SIZE = 512, LEN = 768 << 10 };
    char *data = malloc(LEN), *back = malloc(LEN);
    MPI_Datatype view;
    MPI_File f;
    T_MUST(data != NULL && back != NULL);
    for (int i = 0; i < LEN; i++) {
        data[i] = (char)(i * 5 + i / 509 + me);
    }
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
         0);
    MPI_Type_vector(LEN / SIZE, SIZE, SIZE * n, MPI_BYTE, &view);
    MPI_Type_commit(&view);
    T_EQ(MPI_File_set_view(f, (MPI_Offset)SIZE * me, MPI_BYTE, view, "native", MPI_INFO_NULL), 0);
    MPI_Type_free(&view);
    static const struct {
        int error, class;
    } kinds[] = { { EIO, MPI_ERR_IO }, { ENOSPC, MPI_ERR_NO_SPACE }, { EDQUOT, MPI_ERR_QUOTA } };
    for (int i = 0; i < 6; i++) {
        MPI_Request r = MPI_REQUEST_NULL;
        int rc = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        fault.error = kinds[i % 3].error;
        fault.after = i / 3; // the first window, or the second
        if (i % 2 == 0) {
            rc = MPI_File_write_at_all(f, 0, data, LEN, MPI_BYTE, MPI_STATUS_IGNORE);
        } else {
            MPI_File_iwrite_at_all(f, 0, data, LEN, MPI_BYTE, &r);
            rc = MPI_Wait(&r, MPI_STATUS_IGNORE);
        }
        fault.error = 0;
        expect(rc, kinds[i % 3].class, kinds[i % 3].error, true);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) { // and where members cannot copy for the one that writes
        T_EQ(MPI_File_set_size(f, 0), 0);
        fault.interrupt = i == 0;
        fault.most = i == 0 ? 5000 : 0;
        fault.peer_error = i == 1 ? EFAULT : 0;
        T_EQ(MPI_File_write_at_all(f, 0, data, LEN, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        fault.interrupt = 0;
        fault.most = 0;
        fault.peer_error = 0;
        memset(back, 0, LEN);
        T_EQ(MPI_File_read_at_all(f, 0, back, LEN, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        T_EQ(memcmp(data, back, LEN), 0);
    }
    T_EQ(MPI_File_close(&f), 0);
    free(data);
    free(back);
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

static volatile sig_atomic_t n_own; // signals that the program's own handler got

static void on_bus(int sig)
{
    (void)sig;
    n_own++;
}

// Records with gaps, so that they are moved through a mapping; one rank aggregates for all. The
// last way is a line of a log in a mapping.
static MPI_File open_cut(const char *name, int way, bool has_gaps)
{
    MPI_File f;
    MPI_Info info;
    MPI_Datatype record, view;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    MPI_Info_set(info, "pliant_shared_map", "enable");
    int mode = MPI_MODE_CREATE | (way == SHARED ? MPI_MODE_WRONLY : MPI_MODE_RDWR);
    T_EQ(MPI_File_open(MPI_COMM_WORLD, name, mode, info, &f), 0);
    MPI_Info_free(&info);
    if (has_gaps) {
        MPI_Type_contiguous(RECORD, MPI_BYTE, &record);
        MPI_Type_create_resized(record, 0, (MPI_Aint)RECORD * (n + 1), &view);
        MPI_Type_commit(&view);
        MPI_Offset disp = (MPI_Offset)RECORD * me;
        T_EQ(MPI_File_set_view(f, disp, MPI_BYTE, view, "native", MPI_INFO_NULL), 0);
        MPI_Type_free(&view);
        MPI_Type_free(&record);
    }
    return f;
}

// Whether the library maps files there.
static bool is_mapped(int fd)
{
    struct statfs s;
    return fstatfs(fd, &s) == 0 && (s.f_type == EXT4_SUPER_MAGIC || s.f_type == TMPFS_MAGIC);
}

// Rank 0's access, or that of all, while another program cuts the file.
static void check_cut_way(const char *name, int way, bool is_write, bool has_gaps)
{
    MPI_File f = open_cut(name, way, has_gaps);
    bool has_part = me == 0 || is_collective(way);
    MPI_Offset at = way == SHARED ? 0 : has_gaps ? 0 : (MPI_Offset)BYTES * me;
    long step = has_gaps ? (long)RECORD * (n + 1) : RECORD, records = N_RECORD / 3;
    T_EQ(MPI_File_set_size(f, 0), 0);
    if (way != SHARED) {
        T_EQ(move(f, true, AT_ALL, at), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    memset(in, 0, BYTES);
    cut_to = is_write ? 0 : records * step + (has_gaps ? 0 : (off_t)BYTES * me);
    int fd = open(name, O_RDWR), old = n_cut;
    if (me == 0) {
        cut_fd = fd;
    }
    if (has_part) {
        T_EQ(move(f, is_write, way, at), 0);
    }
    int was_cut = n_cut > old, was_any = was_cut;
    cut_fd = -1;
    MPI_Bcast(&was_any, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_write && has_part) {
        T_EQ(way == SHARED ? (int)pread(fd, in, BYTES, 0) : 0, way == SHARED ? BYTES : 0);
        T_EQ(way == SHARED ? 0 : MPI_File_read_at(f, at, in, BYTES, MPI_BYTE, MPI_STATUS_IGNORE),
             0);
        T_EQ(memcmp(in, out, BYTES), 0);
    } else if (has_part && was_any && (me == 0 || has_gaps)) {
        T_EQ(memcmp(in, out, (size_t)records * RECORD), 0);
        T_EQ(in[records * RECORD + RECORD - 1], 0); // the file has no more
    }
    T_OK(me != 0 || was_cut || !is_mapped(fd));
    close(fd);
    T_EQ(MPI_File_close(&f), 0);
}

static bool is_one_host(void)
{
    MPI_Comm host;
    int size;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &size);
    MPI_Comm_free(&host);
    return size == n;
}

// Another program writes without the system's cache; who has read that page from a mapping before
// sees it.
static void check_direct(void)
{
    enum { PAGE = 4096 };
    MPI_File f = open_cut(path, AT, true);
    char *page = aligned_alloc(PAGE, PAGE);
    T_MUST(page != NULL);
    T_EQ(move(f, true, AT_ALL, 0), 0);
    T_EQ(move(f, false, AT, 0), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    int fd = open(path, O_RDWR | O_DIRECT), is_written = 0; // not every file system has that
    memset(page, 'd', PAGE);
    if (me == 0 && fd >= 0) {
        is_written = pwrite(fd, page, PAGE, PAGE) == PAGE;
    }
    MPI_Bcast(&is_written, 1, MPI_INT, 0, MPI_COMM_WORLD);
    T_EQ(move(f, false, AT, 0), 0);
    for (int i = 0; i < BYTES && is_written; i++) {
        long at = (long)(i / RECORD) * RECORD * (n + 1) + (long)RECORD * me + i % RECORD;
        if (in[i] != (at / PAGE == 1 ? 'd' : out[i])) {
            fprintf(stderr, "rank %d: byte %ld of the file is read as %d\n", me, at, in[i]);
            t_failed++;
            break;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    free(page);
    T_EQ(MPI_File_close(&f), 0);
}

// Whether all ranks see a file of this name; each machine has memory of its own.
static bool is_seen_by_all(const char *name)
{
    if (me == 0) {
        close(open(name, O_RDWR | O_CREAT, 0600));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int is_seen = access(name, F_OK) == 0;
    MPI_Allreduce(MPI_IN_PLACE, &is_seen, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return is_seen;
}

// Records of a page, which ranks store in a file of memory without asking for pages first, and read
// again in the same way; one page of each turn is in no view, and gets no space.
static void check_pages(const char *name)
{
    enum { PAGE = 4096, N_PAGE = 32, ALL = PAGE * N_PAGE };
    MPI_File f;
    MPI_Datatype record, view;
    struct stat s;
    unsigned char *data = malloc(ALL), *found = malloc(ALL);
    T_MUST(data != NULL && found != NULL);
    memset(data, me + 1, ALL);
    T_EQ(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
         0);
    MPI_Type_contiguous(PAGE, MPI_BYTE, &record);
    MPI_Type_create_resized(record, 0, (MPI_Aint)PAGE * (n + 1), &view);
    MPI_Type_commit(&view);
    T_EQ(MPI_File_set_view(f, (MPI_Offset)PAGE * me, MPI_BYTE, view, "native", MPI_INFO_NULL), 0);
    MPI_Type_free(&view);
    MPI_Type_free(&record);
    int fd = open(name, O_RDWR);
    cut_late = true;
    for (int round = 0; round < 3; round++) { // 1: while it is written, 2: while it is read again
        int old = n_cut, calls = n_call;
        T_EQ(MPI_File_set_size(f, 0), 0);
        cut_to = 0;
        cut_fd = round == 1 && me == n - 1 ? fd : -1;
        if (round != 1 || me == n - 1) {
            T_EQ(MPI_File_write_at(f, 0, data, ALL, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        }
        T_OK(round == 1 || n_call == calls); // no system call for each
        T_EQ(n_cut - old, round == 1 && me == n - 1);
        cut_fd = -1;
        MPI_Barrier(MPI_COMM_WORLD);
        T_MUST(fstat(fd, &s) == 0);
        T_EQ(s.st_size, (long)PAGE * ((n + 1) * N_PAGE - 1));
        T_EQ(s.st_blocks, (long)ALL / 512 * (round == 1 ? 1 : n));
        for (int again = 0; again < 2 && (round != 1 || me == n - 1); again++) {
            MPI_Status status;
            int bytes, want = ALL;
            MPI_Barrier(round == 1 ? MPI_COMM_SELF : MPI_COMM_WORLD);
            if (round == 2 && again && me == 0) { // half of it goes
                cut_fd = fd;
                cut_to = (off_t)PAGE * (n + 1) * N_PAGE / 2;
                want = ALL / 2;
            }
            memset(found, 0, ALL);
            if (round != 2 || !again || me == 0) {
                T_EQ(MPI_File_read_at(f, 0, found, ALL, MPI_BYTE, &status), 0);
                MPI_Get_count(&status, MPI_BYTE, &bytes);
                T_EQ(bytes, want);
                T_EQ(memcmp(found, data, (size_t)want), 0);
            }
            T_EQ(cut_fd, -1);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    cut_late = false;
    close(fd);
    free(data);
    free(found);
    T_EQ(MPI_File_close(&f), 0);
}

static void check_cut(void)
{
    char memory[80];
    sigset_t bus, was;
    struct sigaction now;
    io_t_path(memory, sizeof memory, "/dev/shm", "io_fault");
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    signal(SIGBUS, on_bus);
    bool has_memory = is_seen_by_all(memory);
    for (int i = 0; i < 4; i++) {
        const char *name = i % 2 == 0 || !has_memory ? path : memory;
        pthread_sigmask(i < 2 ? SIG_UNBLOCK : SIG_BLOCK, &bus, NULL);
        check_cut_way(name, AT, true, true);
        check_cut_way(name, AT, false, true);
        check_cut_way(name, AT_ALL, true, true);
        check_cut_way(name, AT_ALL, false, true);
        check_cut_way(name, I_AT, false, true);
        if (i < 2 && is_one_host()) { // the signal must not be blocked
            check_cut_way(name, SHARED, true, false);
        }
        pthread_sigmask(SIG_UNBLOCK, &bus, &was);
        T_EQ(sigismember(&was, SIGBUS), i >= 2);
    }
    // One rank alone has nobody to wait for.
    if (has_memory && n > 1 && sysconf(_SC_PAGESIZE) == 4096) {
        check_pages(memory);
    }
    T_EQ(n_own, 0);
    raise(SIGBUS); // the program's handler is back
    T_EQ(n_own, 1);
    T_EQ(sigaction(SIGBUS, NULL, &now), 0);
    T_OK(now.sa_handler == on_bus);
    signal(SIGBUS, SIG_DFL);
    T_OK(me != 0 || n_cut > 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        unlink(memory);
    }
}

int main(int argc, char **argv)
{
    main_thread = pthread_self();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    struct timespec now; // hosts of a test may have process numbers of their own, and one folder
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(path, sizeof path, "/tmp/io_fault.%d.%ld", (int)getpid(), now.tv_nsec);
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
    check_limit_in_page();
    check_no_space_behind();
    check_overlap();
    check_others();
    check_locks();
    if (n > 1) { // one rank alone does not exchange anything
        check_windows();
        check_halves();
    }
    if (n > 1 && is_one_host()) {
        check_whole();
    }
    if (is_one_host()) { // memory is no file of several
        check_cut();
        check_direct();
    }
    check_folder();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        unlink(path);
    }
    MPI_Finalize();
    return t_status();
}
