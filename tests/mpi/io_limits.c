// SPDX-License-Identifier: BSD-3-Clause
// What files cost: the memory of a collective write, which has a limit whatever the number of
// ranks, and threads, which none has that does not need it. And hints, which change that.
#include "t.h"

#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

enum { BUFFER = 4 << 20, PIECE = 512, SLACK_KB = 1024 };

static int me, n;

static long peak_kb(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kb = 0;
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "VmHWM: %ld", &kb) == 1) {
            break;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return kb;
}

// The peak is from now on.
static int forget_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY);
    int is = fd >= 0 && write(fd, "5", 1) == 1;
    if (fd >= 0) {
        close(fd);
    }
    return is;
}

static void interleave(MPI_File f, int count)
{
    MPI_Datatype t;
    MPI_Type_vector(count, PIECE, PIECE * n, MPI_BYTE, &t);
    MPI_Type_commit(&t);
    T_EQ(MPI_File_set_view(f, (MPI_Offset)me * PIECE, MPI_BYTE, t, "native", MPI_INFO_NULL),
         MPI_SUCCESS);
    MPI_Type_free(&t);
}

// All data passes one aggregator, which may have two buffers and no more.
static void memory(const char *path)
{
    char text[16];
    int len = 2 * BUFFER, is_told = 1;
    char *buf = malloc((size_t)len);
    MPI_Info info;
    MPI_File f;
    memset(buf, me, (size_t)len);
    snprintf(text, sizeof text, "%d", BUFFER);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", text);
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "pliant_map", "disable");
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f),
         MPI_SUCCESS);
    MPI_Info_free(&info);
    interleave(f, len / PIECE);
    // Before: the memory of queues between processes, which stays.
    char *one = me == 0 ? malloc((size_t)len / 2) : NULL;
    for (int i = 1; i < n && me == 0; i++) {
        MPI_Recv(one, len / 2, MPI_BYTE, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(one, len / 2, MPI_BYTE, i, 0, MPI_COMM_WORLD);
    }
    if (me != 0) {
        MPI_Sendrecv_replace(buf, len / 2, MPI_BYTE, 0, 0, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(one);
    T_EQ(MPI_File_write_at_all(f, 0, buf, PIECE, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (int is_read = 0; is_read < 2; is_read++) {
        is_told = forget_peak();
        long before = peak_kb();
        T_EQ(is_read ? MPI_File_read_at_all(f, 0, buf, len, MPI_BYTE, MPI_STATUS_IGNORE)
                     : MPI_File_write_at_all(f, 0, buf, len, MPI_BYTE, MPI_STATUS_IGNORE),
             MPI_SUCCESS);
        // Endpoints have a process in common, and a sanitizer has memory of its own.
        long used = T_IS_ENDPOINT || IS_SANITIZED ? 0 : peak_kb() - before;
        if (is_told && used > 2 * BUFFER / 1024 + SLACK_KB) {
            fprintf(stderr, "rank %d of %d needed %ld KiB to %s, with buffers of %d KiB\n", me, n,
                    used, is_read ? "read" : "write", BUFFER / 1024);
            t_failed++;
        }
    }
    int same = 0;
    while (same < len && buf[same] == (char)me) {
        same++;
    }
    T_EQ(same, len);
    T_EQ(MPI_File_close(&f), MPI_SUCCESS);
    free(buf);
}

static int count_threads(void)
{
    DIR *d = opendir("/proc/self/task");
    int found = 0;
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        found += e->d_name[0] != '.';
    }
    if (d != NULL) {
        closedir(d);
    }
    return found;
}

// The shared pointer is served by rank 0, and by none where all are on one host.
static void threads(const char *path)
{
    MPI_File f;
    int before = count_threads();
    int n_here;
    MPI_Comm here;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &n_here);
    MPI_Comm_free(&here);
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
         MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if ((me != 0 || n_here == n) && !T_IS_ENDPOINT) {
        T_EQ(count_threads(), before);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_write_shared(f, &me, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Offset at = 0;
    T_EQ(MPI_File_get_position_shared(f, &at), MPI_SUCCESS);
    T_EQ(at, (MPI_Offset)n * (MPI_Offset)sizeof me);
    T_EQ(MPI_File_close(&f), MPI_SUCCESS);
}

// Every hint of docs/io.md can be read back; a value that cannot be is left out.
static void hints(const char *path)
{
    static const char *const rows[][3] = {
        // what is passed, and what is read back
        { "cb_buffer_size", "1048576", "1048576" },     { "cb_nodes", "1", "1" },
        { "romio_cb_write", "ENABLE", "ENABLE" },       { "romio_cb_read", "disable", "disable" },
        { "collective_buffering", "true", "true" },     { "ind_rd_buffer_size", "65536", "65536" },
        { "ind_wr_buffer_size", "many", "524288" },     { "romio_ds_read", "enable", "enable" },
        { "romio_ds_write", "sometimes", "automatic" }, { "pliant_map", "disable", "disable" },
        { "striping_unit", "65536", "65536" },          { "striping_factor", "7", "7" },
        { "romio_lustre_co_ratio", "2", "2" }, // not known: kept
    };
    enum { N_ROW = sizeof rows / sizeof rows[0] };
    MPI_Info info, used;
    MPI_File f;
    MPI_Info_create(&info);
    for (int i = 0; i < N_ROW; i++) {
        MPI_Info_set(info, rows[i][0], rows[i][1]);
    }
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f),
         MPI_SUCCESS);
    T_EQ(MPI_File_get_info(f, &used), MPI_SUCCESS);
    for (int i = 0; i < N_ROW; i++) {
        char value[64] = "";
        int len = sizeof value, flag = 0;
        MPI_Info_get_string(used, rows[i][0], &len, value, &flag);
        T_EQ(flag, 1);
        T_STR(value, rows[i][2]);
    }
    MPI_Info_free(&used);
    // A buffer that is too small is as large as the smallest.
    char least[64] = "";
    int room = sizeof least, is_there = 0;
    MPI_Info_set(info, "ind_rd_buffer_size", "1107");
    T_EQ(MPI_File_set_info(f, info), MPI_SUCCESS);
    T_EQ(MPI_File_get_info(f, &used), MPI_SUCCESS);
    MPI_Info_get_string(used, "ind_rd_buffer_size", &room, least, &is_there);
    T_STR(least, "4096");
    MPI_Info_free(&used);
    MPI_Info_free(&info);
    T_EQ(MPI_File_close(&f), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    char path[128];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int id = (int)getpid();
    MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "/tmp/pliant-io-limits-%d", id);
    threads(path);
    memory(path);
    hints(path);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        unlink(path);
    }
    MPI_Finalize();
    return t_status();
}
