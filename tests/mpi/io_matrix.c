// SPDX-License-Identifier: BSD-3-Clause
// Every kind of access beside every kind of fault, with ranks that are processes, endpoints or of a
// session: all ranks of a collective call have the same class, nothing else is written, an atomic
// write leaves all or nothing, and afterwards the file is as good as before. The argument is the
// kind of ranks. The program stands between the library and the system, as in io_fault.c.
#include "ep_t.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RECORD = 64, N_RECORD = 64, BYTES = RECORD * N_RECORD, MOST_RANKS = 16, MOST_FDS = 1024 };

// The disk of one rank: calls on descriptors that it has opened.
struct disk {
    _Atomic int error;    // calls fail with it,
    _Atomic int after;    // after so many that do not,
    _Atomic int times;    // and so often; 0: always
    _Atomic int is_short; // every second call is interrupted, others move little
    _Atomic int n_call;
    bool only_writes;
};
static struct disk disks[MOST_RANKS];
static _Atomic int owners[MOST_FDS]; // rank + 1 of who has opened it
static _Atomic int is_far;           // files are on a file system of the network
static _Thread_local int me = -1, n;
static _Thread_local MPI_Comm comm;
static _Thread_local char path[64];

static bool fails(struct disk *d, bool is_write)
{
    if (d->error == 0 || (d->only_writes && !is_write) || atomic_fetch_sub(&d->after, 1) > 0) {
        return false;
    }
    return d->times == 0 || atomic_fetch_sub(&d->times, 1) > 1 ||
           atomic_exchange(&d->error, 0) != 0;
}

static ssize_t move_data(long number, int fd, const struct iovec *iov, int n_iov, off_t at)
{
    int owner = fd < MOST_FDS ? owners[fd] : 0;
    struct disk *d = owner > 0 ? &disks[owner - 1] : NULL;
    struct iovec part = *iov;
    int error = d != NULL ? d->error : 0;
    if (d != NULL && fails(d, number == SYS_pwritev)) {
        errno = error;
        return -1;
    }
    if (d == NULL || !d->is_short) {
        return syscall(number, fd, iov, n_iov, at, 0);
    }
    if (atomic_fetch_add(&d->n_call, 1) % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    part.iov_len = part.iov_len < 1000 ? part.iov_len : 1000;
    return syscall(number, fd, &part, 1, at, 0);
}

#include "io_calls.h"

int fstatfs64(int fd, struct statfs64 *out);
int fstatfs64(int fd, struct statfs64 *out)
{
    int rc = (int)syscall(SYS_fstatfs, fd, out);
    out->f_type = is_far ? FUSE_SUPER_MAGIC : out->f_type;
    return rc;
}

int fstatfs(int fd, struct statfs *out)
{
    return fstatfs64(fd, (struct statfs64 *)out);
}

static int open_file(const char *name, int flags, int mode)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
    if (fd >= 0 && fd < MOST_FDS) {
        owners[fd] = path[0] != 0 && strstr(name, "io_matrix.") != NULL ? me + 1 : 0;
    }
    return fd;
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

enum way {
    AT,
    AT_ALL,
    ALL,
    I_AT,
    I_AT_ALL,
    I_ALL,
    SPLIT,
    SHARED,
    I_SHARED,
    ORDERED,
    SPLIT_ORDERED
};
enum { N_WAY = SPLIT_ORDERED + 1 };

static bool is_collective(int way)
{
    return way == AT_ALL || way == ALL || way == I_AT_ALL || way == I_ALL || way == SPLIT ||
           way >= ORDERED;
}

static int wait_for(int rc, MPI_Request *r, MPI_Status *s)
{
    return rc == MPI_SUCCESS ? MPI_Wait(r, s) : rc;
}

static int write_it(MPI_File f, int way, const char *buf)
{
    MPI_Status s;
    MPI_Request r = MPI_REQUEST_NULL;
    int rc;
    switch (way) {
    case AT:
        return MPI_File_write_at(f, 0, buf, BYTES, MPI_BYTE, &s);
    case AT_ALL:
        return MPI_File_write_at_all(f, 0, buf, BYTES, MPI_BYTE, &s);
    case ALL:
        return MPI_File_write_all(f, buf, BYTES, MPI_BYTE, &s);
    case I_AT:
        return wait_for(MPI_File_iwrite_at(f, 0, buf, BYTES, MPI_BYTE, &r), &r, &s);
    case I_AT_ALL:
        return wait_for(MPI_File_iwrite_at_all(f, 0, buf, BYTES, MPI_BYTE, &r), &r, &s);
    case I_ALL:
        return wait_for(MPI_File_iwrite_all(f, buf, BYTES, MPI_BYTE, &r), &r, &s);
    case SPLIT:
        rc = MPI_File_write_all_begin(f, buf, BYTES, MPI_BYTE);
        return rc == MPI_SUCCESS ? MPI_File_write_all_end(f, buf, &s) : rc;
    case SHARED:
        return MPI_File_write_shared(f, buf, BYTES, MPI_BYTE, &s);
    case I_SHARED:
        return wait_for(MPI_File_iwrite_shared(f, buf, BYTES, MPI_BYTE, &r), &r, &s);
    case ORDERED:
        return MPI_File_write_ordered(f, buf, BYTES, MPI_BYTE, &s);
    default:
        rc = MPI_File_write_ordered_begin(f, buf, BYTES, MPI_BYTE);
        return rc == MPI_SUCCESS ? MPI_File_write_ordered_end(f, buf, &s) : rc;
    }
}

static int read_it(MPI_File f, int way, char *buf)
{
    MPI_Status s;
    MPI_Request r = MPI_REQUEST_NULL;
    int rc;
    switch (way) {
    case AT:
        return MPI_File_read_at(f, 0, buf, BYTES, MPI_BYTE, &s);
    case AT_ALL:
        return MPI_File_read_at_all(f, 0, buf, BYTES, MPI_BYTE, &s);
    case ALL:
        return MPI_File_read_all(f, buf, BYTES, MPI_BYTE, &s);
    case I_AT:
        return wait_for(MPI_File_iread_at(f, 0, buf, BYTES, MPI_BYTE, &r), &r, &s);
    case I_AT_ALL:
        return wait_for(MPI_File_iread_at_all(f, 0, buf, BYTES, MPI_BYTE, &r), &r, &s);
    case I_ALL:
        return wait_for(MPI_File_iread_all(f, buf, BYTES, MPI_BYTE, &r), &r, &s);
    case SPLIT:
        rc = MPI_File_read_all_begin(f, buf, BYTES, MPI_BYTE);
        return rc == MPI_SUCCESS ? MPI_File_read_all_end(f, buf, &s) : rc;
    case SHARED:
        return MPI_File_read_shared(f, buf, BYTES, MPI_BYTE, &s);
    case I_SHARED:
        return wait_for(MPI_File_iread_shared(f, buf, BYTES, MPI_BYTE, &r), &r, &s);
    case ORDERED:
        return MPI_File_read_ordered(f, buf, BYTES, MPI_BYTE, &s);
    default:
        rc = MPI_File_read_ordered_begin(f, buf, BYTES, MPI_BYTE);
        return rc == MPI_SUCCESS ? MPI_File_read_ordered_end(f, buf, &s) : rc;
    }
}

// With the shared pointer ranks take turns, so that each has a place of its own.
static int move(MPI_File f, bool is_write, int way, char *buf)
{
    int rc = MPI_SUCCESS;
    bool by_turns = way == SHARED || way == I_SHARED;
    T_EQ(MPI_File_seek(f, 0, MPI_SEEK_SET), 0);
    T_EQ(MPI_File_seek_shared(f, 0, MPI_SEEK_SET), 0);
    for (int turn = 0; turn < (by_turns ? n : 1); turn++) {
        if (!by_turns || turn == me) {
            rc = is_write ? write_it(f, way, buf) : read_it(f, way, buf);
        }
        MPI_Barrier(comm);
    }
    return rc;
}

// Where a file is, and how it is used.
struct setting {
    bool is_far, is_atomic, is_mapped;
    int gap; // records that nobody writes, in every turn
};

static bool has_own_stream(int way)
{
    return way < SHARED;
}

// Where byte i of a rank is in the file.
static long place(const struct setting *s, int way, int rank, long i)
{
    long turn = n + s->gap, k = i / RECORD;
    if (has_own_stream(way)) {
        return (k * turn + rank) * RECORD + i % RECORD;
    }
    return (k + (long)rank * N_RECORD) * (s->gap + 1) * RECORD + i % RECORD;
}

static MPI_File open_it(const struct setting *s, int way)
{
    MPI_File f;
    MPI_Info info;
    MPI_Datatype record, view;
    char text[16];
    is_far = s->is_far;
    snprintf(text, sizeof text, "%d", n);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", text);
    MPI_Info_set(info, "cb_buffer_size", "4096");
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    MPI_Info_set(info, "pliant_shared_batch", "disable"); // an error of a block comes later
    MPI_Info_set(info, "pliant_map", s->is_mapped ? "automatic" : "disable");
    T_MUST(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f) == MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Aint turn = has_own_stream(way) ? n + s->gap : s->gap + 1;
    MPI_Type_contiguous(RECORD, MPI_BYTE, &record);
    MPI_Type_create_resized(record, 0, RECORD * turn, &view);
    MPI_Type_commit(&view);
    MPI_Offset disp = has_own_stream(way) ? (MPI_Offset)RECORD * me : 0;
    T_EQ(MPI_File_set_view(f, disp, MPI_BYTE, view, "native", MPI_INFO_NULL), 0);
    MPI_Type_free(&view);
    MPI_Type_free(&record);
    T_EQ(MPI_File_set_atomicity(f, s->is_atomic), 0);
    return f;
}

static long end_of(const struct setting *s, int way)
{
    return place(s, way, n - 1, BYTES - 1) + 1;
}

// The file before: old bytes, as far as `size`.
static void fill(long size)
{
    if (me == 0) {
        char block[4096];
        memset(block, 'o', sizeof block);
        int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT, 0600);
        T_MUST(fd >= 0 && ftruncate(fd, 0) == 0);
        for (long at = 0; at < size; at += (long)sizeof block) {
            struct iovec iov = { block, size - at < 4096 ? (size_t)(size - at) : sizeof block };
            T_MUST(syscall(SYS_pwritev, fd, &iov, 1, at, 0) == (long)iov.iov_len);
        }
        close(fd);
    }
    MPI_Barrier(comm);
}

// What is in the file: of each rank all is new (states[rank] 1), all as before (0), or either (-1).
static void check_file(const struct setting *s, int way, long before, const int *states)
{
    MPI_Barrier(comm);
    if (me != 0) {
        MPI_Barrier(comm);
        return;
    }
    long most = end_of(s, way) + before, size;
    char *real = calloc((size_t)most, 1), *seen = calloc((size_t)most, 1);
    T_MUST(real != NULL && seen != NULL);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0);
    struct iovec iov = { real, (size_t)most };
    size = syscall(SYS_preadv, fd, &iov, 1, 0, 0);
    close(fd);
    long wrong = 0, want = before, least = before;
    for (int rank = 0; rank < n; rank++) {
        for (long i = 0; i < BYTES; i++) {
            long at = place(s, way, rank, i);
            char old = at < before ? 'o' : 0, new = (char)(1 + rank);
            bool is_good = states[rank] == 1   ? real[at] == new
                           : states[rank] == 0 ? real[at] == old
                                               : real[at] == old || real[at] == new;
            wrong += !is_good;
            seen[at] = 1;
            want = states[rank] != 0 && at >= want ? at + 1 : want;
            least = states[rank] == 1 && at >= least ? at + 1 : least;
        }
    }
    T_EQ(wrong, 0);
    wrong = 0;
    for (long at = 0; at < size; at++) {
        wrong += !seen[at] && real[at] != (at < before ? 'o' : 0);
    }
    T_EQ(wrong, 0);
    T_OK(size >= least && size <= want);
    free(real);
    free(seen);
    MPI_Barrier(comm);
}

// All have the same class in collective calls, else the victim alone fails.
static void check_codes(int rc, int way, int victim, int class)
{
    int got = MPI_SUCCESS, mine = is_collective(way) || me == victim;
    MPI_Error_class(rc, &got);
    T_EQ(got, mine ? class : MPI_SUCCESS);
}

static const struct {
    int error, class;
} kinds[] = { { EIO, MPI_ERR_IO }, { ENOSPC, MPI_ERR_NO_SPACE }, { EDQUOT, MPI_ERR_QUOTA } };

// The victim's disk fails once, in the middle of the writing; and then reads fail.
static void check_fault(const struct setting *s, int way, int turn)
{
    char buf[BYTES], back[BYTES];
    // The last ranks may have no part where others write for them.
    int most = is_collective(way) && !s->is_atomic && n > 2 ? 2 : n;
    int victim = turn % most, kind = turn % 3, states[MOST_RANKS];
    MPI_File f = open_it(s, way);
    long sizes[] = { 0, end_of(s, way) / 2, end_of(s, way) + 100 }, before = sizes[turn / 3 % 3];
    struct disk *d = &disks[me];
    fill(before);
    memset(buf, 1 + me, BYTES);
    for (int i = 0; i < n; i++) {
        bool is_known = s->is_atomic || (!is_collective(way) && i != victim);
        states[i] = !is_known ? -1 : i == victim ? 0 : 1;
    }
    d->only_writes = true;
    d->times = s->is_atomic;
    d->after = s->gap > 0 ? 2 : 0;
    d->error = me == victim ? kinds[kind].error : 0;
    MPI_Barrier(comm);
    int rc = move(f, true, way, buf);
    d->error = 0;
    check_codes(rc, way, victim, kinds[kind].class);
    check_file(s, way, before, states);
    // Interrupted calls that move little are not seen.
    for (int i = 0; i < n; i++) {
        states[i] = 1;
    }
    d->is_short = 1;
    T_EQ(move(f, true, way, buf), 0);
    memset(back, 0, BYTES);
    T_EQ(move(f, false, way, back), 0);
    T_EQ(memcmp(buf, back, BYTES), 0);
    d->is_short = 0;
    check_file(s, way, before, states);
    d->only_writes = false;
    d->times = 0;
    d->after = 0;
    d->error = me == victim ? EIO : 0;
    MPI_Barrier(comm);
    rc = move(f, false, way, back);
    d->error = 0;
    if (!s->is_mapped) {
        check_codes(rc, way, victim, MPI_ERR_IO);
    }
    T_EQ(MPI_File_close(&f), 0);
}

// Records in places that fall from one repetition of the view to the next, written atomically: a
// failure in the middle leaves the file as it was. Where the disk fails on, the error says what is
// left.
static void check_falling(void)
{
    enum { TURNS = 8, LEN = 2 * TURNS * RECORD, END = (TURNS + 10) * RECORD };
    static const long sizes[] = { 0, 5 * RECORD + 7, END + 50 };
    char buf[LEN], real[2 * END], text[MPI_MAX_ERROR_STRING];
    int places[] = { 0, 10 * RECORD }, len;
    struct disk *d = &disks[me];
    MPI_Datatype two, view;
    MPI_Type_create_indexed_block(2, RECORD, places, MPI_BYTE, &two);
    MPI_Type_create_resized(two, 0, RECORD, &view);
    MPI_Type_commit(&view);
    memset(buf, 'n', LEN);
    for (int i = 0; i < 4; i++) {
        const struct setting how = { .is_far = i % 2 };
        long before = sizes[i % 3], wrong = 0;
        MPI_File f = open_it(&how, AT);
        T_EQ(MPI_File_set_view(f, 0, MPI_BYTE, view, "native", MPI_INFO_NULL), 0);
        T_EQ(MPI_File_set_atomicity(f, 1), 0);
        fill(before);
        d->only_writes = true;
        d->after = 5;
        d->times = i < 3;
        d->error = me == 0 ? EIO : 0;
        int rc = me == 0 ? MPI_File_write_at(f, 0, buf, LEN, MPI_BYTE, MPI_STATUS_IGNORE) : 0;
        d->error = 0;
        check_codes(rc, AT, 0, MPI_ERR_IO);
        if (me == 0) {
            struct iovec iov = { real, sizeof real };
            int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0);
            long size = syscall(SYS_preadv, fd, &iov, 1, 0, 0);
            close(fd);
            for (long at = 0; at < size; at++) {
                wrong += real[at] != (at < before ? 'o' : 0);
            }
            T_EQ(wrong > 0 || size != before, i == 3);
            MPI_Error_string(rc, text, &len);
            T_EQ(strstr(text, "could not be written back") != NULL, i == 3);
            T_EQ(MPI_File_write_at(f, 0, buf, LEN, MPI_BYTE, MPI_STATUS_IGNORE), 0);
            memset(real, 0, sizeof real);
            T_EQ(MPI_File_read_at(f, 0, real, LEN, MPI_BYTE, MPI_STATUS_IGNORE), 0);
            T_EQ(memcmp(real, buf, LEN), 0);
        }
        T_EQ(MPI_File_close(&f), 0);
    }
    MPI_Type_free(&view);
    MPI_Type_free(&two);
}

static void body(MPI_Comm c)
{
    static const struct setting settings[] = {
        { .gap = 0 },
        { .gap = 1 },
        { .gap = 1, .is_far = true },
        { .gap = 0, .is_far = true },
        { .gap = 1, .is_atomic = true },
        { .gap = 200, .is_atomic = true },
        { .gap = 1, .is_atomic = true, .is_far = true },
    };
    comm = c;
    MPI_Comm_rank(c, &me);
    MPI_Comm_size(c, &n);
    T_MUST(n <= MOST_RANKS);
    snprintf(path, sizeof path, "/tmp/io_matrix.%d", (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, c);
    for (int i = 0, turn = 0; i < (int)(sizeof settings / sizeof settings[0]); i++) {
        for (int way = 0; way < N_WAY; way++, turn++) {
            int failed = t_failed;
            check_fault(&settings[i], way, turn);
            if (t_failed != failed) {
                fprintf(stderr, "rank %d: setting %d, way %d, turn %d\n", me, i, way, turn);
            }
        }
    }
    check_falling();
    MPI_Barrier(c);
    if (me == 0) {
        unlink(path);
    }
}

static void of_session(void)
{
    MPI_Session s;
    MPI_Group g;
    MPI_Comm c;
    T_EQ(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s), 0);
    T_EQ(MPI_Group_from_session_pset(s, "mpi://WORLD", &g), 0);
    T_EQ(MPI_Comm_create_from_group(g, "io_matrix", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c), 0);
    body(c);
    MPI_Comm_free(&c);
    MPI_Group_free(&g);
    T_EQ(MPI_Session_finalize(&s), 0);
}

int main(int argc, char **argv)
{
    int level;
    T_MUST(argc > 1);
    if (strcmp(argv[1], "session") == 0) {
        of_session();
        return t_status();
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (strcmp(argv[1], "endpoints") == 0) {
        ep_run(MPI_COMM_WORLD, 2, body);
    } else {
        body(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return t_status();
}
