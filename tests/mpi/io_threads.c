// SPDX-License-Identifier: BSD-3-Clause
// Threads of each rank write lines of one log at a time: each line is there once, as a whole, and
// those of a thread are in their order. The argument is the folder of the file.
#include "io_t.h"
#include "t.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { N_THREAD = 3, N_LINE = 4000, LONGEST = 240, TURNS = 3 };

static int me, n;
static MPI_File file;

// "<thread of all> <number> xxxx\n", of different lengths, some of them across blocks of the log.
static int make_line(char *line, int who, int i)
{
    int len = 20 + (i * 31 + who * 7) % (LONGEST - 20);
    memset(line, 'a' + who % 26, (size_t)len);
    int used = snprintf(line, 20, "%d %d", who, i);
    line[used] = ' ';
    line[len - 1] = '\n';
    return len;
}

static void *write_lines(void *arg)
{
    int who = me * N_THREAD + *(const int *)arg;
    char line[LONGEST];
    for (int i = 0; i < N_LINE; i++) {
        int len = make_line(line, who, i), count;
        MPI_Status s;
        T_EQ(MPI_File_write_shared(file, line, len, MPI_CHAR, &s), 0);
        MPI_Get_count(&s, MPI_CHAR, &count);
        T_EQ(count, len);
    }
    return NULL;
}

static void read_lines(const char *path)
{
    char line[LONGEST + 1], want[LONGEST];
    int *counts = calloc((size_t)(n * N_THREAD), sizeof *counts);
    FILE *f = fopen(path, "r");
    T_MUST(f != NULL && counts != NULL);
    while (fgets(line, sizeof line, f) != NULL && t_failed == 0) {
        int who = -1, i = -1;
        T_EQ(sscanf(line, "%d %d", &who, &i), 2);
        T_MUST(who >= 0 && who < n * N_THREAD);
        T_EQ(i, counts[who]++);
        int len = make_line(want, who, i);
        T_EQ(strlen(line), (size_t)len);
        T_EQ(memcmp(line, want, (size_t)len), 0);
    }
    for (int i = 0; i < n * N_THREAD; i++) {
        T_EQ(counts[i], N_LINE);
    }
    fclose(f);
    free(counts);
}

int main(int argc, char **argv)
{
    char path[200];
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    T_MUST(argc == 2 && level == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    io_t_path(path, sizeof path, argv[1], "io_threads");
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                       &file),
         0);
    for (int turn = 0; turn < TURNS; turn++) {
        pthread_t threads[N_THREAD];
        int numbers[N_THREAD];
        MPI_Offset size;
        T_EQ(MPI_File_set_size(file, 0), 0);
        T_EQ(MPI_File_seek_shared(file, 0, MPI_SEEK_SET), 0);
        for (int i = 0; i < N_THREAD; i++) {
            numbers[i] = i;
            T_EQ(pthread_create(&threads[i], NULL, write_lines, &numbers[i]), 0);
        }
        for (int i = 0; i < N_THREAD; i++) {
            pthread_join(threads[i], NULL);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        T_EQ(MPI_File_get_size(file, &size), 0); // what was collected is in the file then
        read_lines(path);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    T_EQ(MPI_File_close(&file), 0);
    if (me == 0) {
        unlink(path);
    }
    MPI_Finalize();
    return t_status();
}
