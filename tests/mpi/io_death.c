// SPDX-License-Identifier: BSD-3-Clause
// A rank dies while it has a file open with the others. They all get the same error, no byte is
// written that nobody wrote, and they close the file and go on. Needs mpiexec --on-failure=shrink,
// or respawn: then they open the file again with the process that was started instead.
// Arguments: where it dies, which rank, and "respawn".
#include "t.h"

#include <linux/magic.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RECORD = 64, N_RECORD = 512, MOST_RECORD = 24576 };

static int me, n, victim;
static bool is_respawn;
static char path[64];
static int dies_in; // the n-th call that moves data; 0: in none
// "behind": files are as on the network, where a window is written while the next one comes, and no
// record between those of the ranks is left out.
static bool is_far;
static int width; // records of a row: one of each rank, and one of nobody
// "ring": members put data into memory that they share, several MiB, and rank 0 writes it, in
// memory and where ranks share cores another one too. Rank 0 dies there, or kills another while
// that still has windows to fill.
static bool is_ring;
static int n_record = N_RECORD, bytes = RECORD * N_RECORD;
static int kills_in; // as dies_in
static pid_t victim_pid;

static void die(void)
{
    kill(getpid(), SIGKILL);
}

static ssize_t move_data(long number, int fd, const struct iovec *iov, int n_iov, off_t at)
{
    if (dies_in > 0 && --dies_in == 0) {
        die();
    }
    if (kills_in > 0 && --kills_in == 0) {
        kill(victim_pid, SIGKILL);
    }
    return syscall(number, fd, iov, n_iov, at, 0);
}

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

#include "io_calls.h"

static void expect_death(int code)
{
    char text[MPI_MAX_ERROR_STRING] = "", who[32];
    int len, class;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &len);
    if (class != MPIX_ERR_PROC_FAILED) {
        fprintf(stderr, "rank %d: class %d: %s\n", me, class, text);
        t_failed++;
    }
    snprintf(who, sizeof who, "rank %d (process ", victim);
    T_HAS(text, who);
    T_HAS(text, path);
}

static char new_byte(int rank)
{
    return (char)('A' + rank);
}

static MPI_File open_records(MPI_Comm comm, const char *map)
{
    MPI_File f;
    MPI_Info info;
    MPI_Datatype record, view;
    char text[16];
    snprintf(text, sizeof text, "%d", n);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", text); // every rank writes
    MPI_Info_set(info, "cb_buffer_size", is_ring ? "16777216" : "8192");
    MPI_Info_set(info, "pliant_map", map);
    T_EQ(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f), 0);
    MPI_Info_free(&info);
    MPI_Type_contiguous(RECORD, MPI_BYTE, &record);
    MPI_Type_create_resized(record, 0, (MPI_Aint)RECORD * width, &view);
    MPI_Type_commit(&view);
    T_EQ(MPI_File_set_view(f, (MPI_Offset)RECORD * me, MPI_BYTE, view, "native", MPI_INFO_NULL), 0);
    MPI_Type_free(&view);
    MPI_Type_free(&record);
    return f;
}

static void fill(void)
{
    MPI_File f;
    static char line[RECORD];
    memset(line, 'o', sizeof line);
    T_EQ(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f),
         0);
    for (int i = 0; me == 0 && i < n_record * width; i++) {
        T_EQ(MPI_File_write(f, line, RECORD, MPI_BYTE, MPI_STATUS_IGNORE), 0);
    }
    T_EQ(MPI_File_close(&f), 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Every byte is the old one, or what its rank wrote there.
static void check_bytes(MPI_Comm comm)
{
    static char line[RECORD];
    MPI_File f;
    T_EQ(MPI_File_open(comm, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &f), 0);
    for (int i = 0; i < n_record * width && t_failed == 0; i++) {
        T_EQ(MPI_File_read(f, line, RECORD, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        int rank = i % width;
        for (int k = 0; k < RECORD && t_failed == 0; k++) {
            T_OK(line[k] == 'o' || (rank < n && line[k] == new_byte(rank)));
        }
    }
    T_EQ(MPI_File_close(&f), 0);
}

static int act(MPI_File f, const char *where, char *buf)
{
    MPI_Status s;
    MPI_Request r;
    int rc;
    if (strcmp(where, "read") == 0) {
        return MPI_File_read_all(f, buf, bytes, MPI_BYTE, &s);
    }
    if (strcmp(where, "later") == 0) {
        rc = MPI_File_iwrite_all(f, buf, bytes, MPI_BYTE, &r);
        return rc == 0 ? MPI_Wait(&r, &s) : rc;
    }
    if (strcmp(where, "ordered") == 0) {
        return MPI_File_write_ordered(f, buf, bytes, MPI_BYTE, &s);
    }
    return MPI_File_write_all(f, buf, bytes, MPI_BYTE, &s);
}

static void arm_ring(void)
{
    victim_pid = getpid();
    MPI_Bcast(&victim_pid, sizeof victim_pid, MPI_BYTE, victim, MPI_COMM_WORLD);
    dies_in = me == 0 && victim == 0 ? 2 : 0;
    kills_in = me == 0 && victim != 0 ? 1 : 0;
}

// Dies at once, or in a call that moves data.
static void arm(const char *where)
{
    if (is_ring) {
        arm_ring();
        return;
    }
    if (me == victim) {
        dies_in = strcmp(where, "absent") == 0 || strcmp(where, "mapped") == 0 ||
                          strcmp(where, "ordered") == 0
                      ? 0
                      : 2;
        if (dies_in == 0) {
            die();
        }
    }
}

static void use_again(MPI_Comm c, char *buf)
{
    memset(buf, new_byte(me), bytes);
    check_bytes(c);
    MPI_File again = open_records(c, "automatic");
    T_EQ(MPI_File_write_at_all(again, 0, buf, bytes, MPI_BYTE, MPI_STATUS_IGNORE), 0);
    T_EQ(MPI_File_close(&again), 0);
    check_bytes(c);
}

// The version of the world in which a new process is the rank that died.
static void use_next(MPI_Comm next, char *buf)
{
    MPI_Bcast(path, sizeof path, MPI_CHAR, victim == 0 ? 1 : 0, next);
    use_again(next, buf);
}

static void go_on(MPI_File *f, char *buf)
{
    // What one rank does alone still works, and closing.
    MPI_Comm rest;
    memset(buf, new_byte(me), bytes);
    T_EQ(MPI_File_write_at(*f, 0, buf, bytes, MPI_BYTE, MPI_STATUS_IGNORE), 0);
    T_EQ(MPI_File_close(f), 0);
    T_OK(*f == MPI_FILE_NULL);
    if (is_respawn) {
        int newest = 0;
        while (newest == 0) {
            MPIX_World_version(&newest);
        }
        T_EQ(MPIX_Comm_world_at(1, &rest), 0);
        use_next(rest, buf);
        return;
    }
    T_EQ(MPIX_Comm_shrink(MPI_COMM_WORLD, &rest), 0);
    use_again(rest, buf);
    MPI_Comm_free(&rest);
}

static void die_in_open(void)
{
    MPI_File f;
    MPI_Comm rest;
    if (me == victim) {
        die();
    }
    int rc =
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    expect_death(rc);
    T_EQ(MPIX_Comm_shrink(MPI_COMM_WORLD, &rest), 0);
    check_bytes(rest);
    MPI_Comm_free(&rest);
}

// While it writes in atomic mode: the range that it held is free, and nothing was written.
static void die_in_atomic(char *buf)
{
    MPI_File f = open_records(MPI_COMM_WORLD, "disable");
    MPI_Comm rest;
    T_EQ(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), 0);
    T_EQ(MPI_File_set_atomicity(f, 1), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    dies_in = me == victim ? 2 : 0; // it reads what was there before
    for (int i = 0; i < 50; i++) {
        memset(buf, new_byte(me), (size_t)bytes);
        T_EQ(MPI_File_write_at(f, 0, buf, bytes, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        T_EQ(MPI_File_read_at(f, 0, buf, bytes, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        for (int k = 1; k < bytes && t_failed == 0; k++) {
            T_EQ(buf[k], buf[0]);
        }
        T_OK(buf[0] != new_byte(victim));
    }
    T_EQ(MPI_File_close(&f), 0);
    T_EQ(MPIX_Comm_shrink(MPI_COMM_WORLD, &rest), 0);
    f = open_records(rest, "disable");
    T_EQ(MPI_File_set_atomicity(f, 1), 0);
    T_EQ(MPI_File_write_at_all(f, 0, buf, bytes, MPI_BYTE, MPI_STATUS_IGNORE), 0);
    T_EQ(MPI_File_close(&f), 0);
    MPI_Comm_free(&rest);
}

int main(int argc, char **argv)
{
    static char buf[RECORD * MOST_RECORD];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    T_MUST(argc > 2);
    victim = atoi(argv[2]);
    is_respawn = argc > 3 && strcmp(argv[3], "respawn") == 0;
    is_far = strcmp(argv[1], "behind") == 0;
    is_ring = strcmp(argv[1], "ring") == 0;
    width = is_far || is_ring ? n : n + 1;
    n_record = is_ring ? MOST_RECORD : N_RECORD;
    bytes = RECORD * n_record;
    int version;
    MPIX_Comm_world_version(MPI_COMM_WORLD, &version);
    if (version > 0) { // this process was started instead of the one that died
        use_next(MPI_COMM_WORLD, buf);
        MPI_Finalize();
        return t_status();
    }
    const char *folder = argc > 3 && argv[3][0] == '/' ? argv[3] : "/tmp";
    snprintf(path, sizeof path, "%s/io_death.%d", folder, (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    fill();
    if (strcmp(argv[1], "open") == 0) {
        die_in_open();
    } else if (strcmp(argv[1], "atomic") == 0) {
        die_in_atomic(buf);
    } else if (strcmp(argv[1], "close") == 0) {
        MPI_File f = open_records(MPI_COMM_WORLD, "automatic");
        MPI_Barrier(MPI_COMM_WORLD); // nobody dies while others set their view
        arm("absent");
        go_on(&f, buf);
    } else {
        bool is_mapped = strcmp(argv[1], "mapped") == 0;
        MPI_File f = open_records(MPI_COMM_WORLD, is_mapped ? "automatic" : "disable");
        MPI_Barrier(MPI_COMM_WORLD);
        arm(argv[1]);
        memset(buf, new_byte(me), bytes);
        expect_death(act(f, argv[1], buf));
        expect_death(act(f, argv[1], buf)); // and again
        go_on(&f, buf);
    }
    if (me == (victim == 0 ? 1 : 0)) {
        unlink(path);
    }
    MPI_Finalize();
    return t_status();
}
