// SPDX-License-Identifier: BSD-3-Clause
// Ranks that go on while copies of them are written. Every step changes a page, reads a number from
// a file, and looks whether the page that is to be changed next is as old as it should be: an image
// that has memory of two moments, or a place in a file of another one, is found out.
//
//     ckpt_copy_probe NUMBERS GATE [WHAT]     ends when the file GATE is there
//
// NUMBERS has the numbers from 0 to 511, eight bytes each. WHAT a rank has besides: pipe, timer,
// file (open for writing: NUMBERS.RANK, a line in each step, in turn by two descriptors that share
// their place; and NUMBERS.records, of which MPI keeps a mapping), lockedfile (the lines, with a
// lock), shared (memory), locked (memory), onefile (NUMBERS.all, to which all ranks add lines, rank
// 1 many before it lets itself be stopped), scratch (NUMBERS.RANK, which loses its name when
// GATE.scratch is there and gets no more lines: a length that changes while CRIU reads the file is
// another failure). Or how ranks end that do so when the file GATE.early is there: apart (rank 0),
// clones (of all ranks, made by MPI_Fork). Or threads: three others, which count, each in its own
// thread-local memory, and are joined.
#include "counting_threads.h"

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { N_PAGE = 512, PAGE_WORDS = 8192 };

static const char *what = "";
static int rank;

static void check(int is_good, const char *text)
{
    if (!is_good) {
        fprintf(stderr, "ckpt_copy_probe: rank %d: %s is wrong\n", rank, text);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static int lines[2] = { -1, -1 };
static uint64_t n_step_line; // steps that have added a line
enum { LINE = 8 };           // bytes

static void add_line(void)
{
    char line[LINE + 1];
    n_step_line++;
    snprintf(line, sizeof line, "%07d\n", (int)n_step_line);
    check(write(lines[n_step_line % 2], line, LINE) == LINE, "a line");
}

// Every line is there once.
static void check_lines(void)
{
    char line[LINE + 1] = "";
    check(lseek(lines[0], 0, SEEK_END) == (off_t)(n_step_line * LINE), "the length of the file");
    for (uint64_t i = 0; i < n_step_line; i++) {
        check(pread(lines[0], line, LINE, (off_t)(i * LINE)) == LINE, "a line");
        check(atoi(line) == (int)i + 1, "the number of a line");
    }
}

enum { STOP_SIGNAL = 60, N_LATE = 50 }; // the signal of checkpoints

static int all_lines = -1, n_line; // what all ranks add to, and how many lines are of this one

static void add_to_all(void)
{
    char line[3 * LINE + 1];
    snprintf(line, sizeof line, "%d%06d\n", rank, ++n_line);
    check(write(all_lines, line, LINE) == LINE, "a line of all");
}

// Let the others be stopped first, and write meanwhile.
static void add_late(void)
{
    sigset_t stop, pending;
    sigemptyset(&stop);
    sigaddset(&stop, STOP_SIGNAL);
    check(sigprocmask(SIG_BLOCK, &stop, NULL) == 0, "a mask");
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    check(sigpending(&pending) == 0, "what is pending");
    for (int i = 0; sigismember(&pending, STOP_SIGNAL) == 1 && i < N_LATE; i++) {
        add_to_all();
        nanosleep(&(struct timespec){ .tv_nsec = 4000000 }, NULL);
    }
    sigprocmask(SIG_UNBLOCK, &stop, NULL);
}

// Every line of every rank is there once.
static void check_all_lines(void)
{
    char line[LINE + 1] = "";
    int n_all, next = 1;
    MPI_Allreduce(&n_line, &n_all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check(lseek(all_lines, 0, SEEK_END) == (off_t)n_all * LINE, "the length of the file of all");
    for (int i = 0; i < n_all; i++) {
        check(pread(all_lines, line, LINE, (off_t)i * LINE) == LINE, "a line of all");
        if (line[0] == '0' + rank) {
            check(atoi(line + 1) == next++, "the number of a line of all");
        }
    }
    check(next == n_line + 1, "the number of lines");
}

static char scratch_name[512], scratch_gate[512];

static int has_lost_name(void)
{
    static int is_lost;
    if (!is_lost && scratch_name[0] != '\0' && access(scratch_gate, F_OK) == 0) {
        add_line(); // the file is longer than when it was copied
        check(unlink(scratch_name) == 0, "a file without a name");
        is_lost = 1;
    }
    return is_lost;
}

enum { RECORD = 512, RECORDS = 1 << 20 }; // bytes of one, and of all of a rank

static MPI_File records = MPI_FILE_NULL;

// Records of the ranks by turns, which each writes alone.
static void write_records(int value)
{
    unsigned char *buf = malloc(RECORDS);
    check(buf != NULL, "memory for records");
    memset(buf, value + rank, RECORDS);
    check(MPI_File_write_at(records, 0, buf, RECORDS, MPI_BYTE, MPI_STATUS_IGNORE) == 0,
          "a write of records");
    memset(buf, 0, RECORDS);
    check(MPI_File_read_at(records, 0, buf, RECORDS, MPI_BYTE, MPI_STATUS_IGNORE) == 0,
          "a read of records");
    for (int i = 0; i < RECORDS; i++) {
        check(buf[i] == value + rank, "a record");
    }
    free(buf);
}

static void open_records(const char *numbers)
{
    char name[512];
    int size;
    MPI_Datatype one, type;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(name, sizeof name, "%s.records", numbers);
    check(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                        &records) == 0,
          "a file of records");
    MPI_Type_contiguous(RECORD, MPI_BYTE, &one);
    MPI_Type_create_resized(one, 0, (MPI_Aint)RECORD * size, &type);
    MPI_Type_commit(&type);
    check(MPI_File_set_view(records, (MPI_Offset)RECORD * rank, MPI_BYTE, type, "native",
                            MPI_INFO_NULL) == 0,
          "a view");
    MPI_Type_free(&type);
    MPI_Type_free(&one);
    write_records(1);
}

static void add_hindrance(const char *numbers)
{
    int fds[2];
    char name[512];
    if (strcmp(what, "pipe") == 0) {
        check(pipe(fds) == 0, "a pipe");
    } else if (strcmp(what, "timer") == 0) {
        const struct itimerval far = { { 0, 0 }, { 10000, 0 } };
        check(setitimer(ITIMER_REAL, &far, NULL) == 0, "a timer");
    } else if (strcmp(what, "file") == 0 || strcmp(what, "lockedfile") == 0 ||
               strcmp(what, "scratch") == 0) {
        snprintf(name, sizeof name, "%s.%d", numbers, rank);
        lines[0] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        lines[1] = dup(lines[0]);
        check(lines[0] >= 0 && lines[1] >= 0, "a file");
        check(strcmp(what, "lockedfile") != 0 || lockf(lines[0], F_LOCK, 1) == 0, "a lock");
        if (strcmp(what, "scratch") == 0) {
            memcpy(scratch_name, name, sizeof name);
        }
        if (strcmp(what, "file") == 0) {
            open_records(numbers);
        }
    } else if (strcmp(what, "onefile") == 0) {
        snprintf(name, sizeof name, "%s.all", numbers);
        all_lines = open(name, O_RDWR | O_CREAT | O_APPEND, 0600);
        check(all_lines >= 0, "a file of all");
    } else if (strcmp(what, "shared") == 0) {
        check(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) !=
                  MAP_FAILED,
              "shared memory");
    } else if (strcmp(what, "locked") == 0) {
        check(mlock(&rank, sizeof rank) == 0, "locked memory");
    }
}

// The ranks that end together: those that may go before the others, and those.
static MPI_Comm part(int *is_early_out)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "clones") == 0) {
        check(MPI_Fork(size) >= 0, "a fork");
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        *is_early_out = rank >= size;
    } else {
        *is_early_out = strcmp(what, "apart") == 0 && rank == 0;
    }
    MPI_Comm_split(MPI_COMM_WORLD, *is_early_out, 0, &comm);
    return comm;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int is_over = 0, is_early;
    char early[512];
    uint64_t *words = calloc((size_t)N_PAGE * PAGE_WORDS, sizeof *words), number;
    what = argc > 3 ? argv[3] : "";
    MPI_Comm comm = part(&is_early);
    int fd = open(argv[1], O_RDONLY);
    check(argc > 2 && fd >= 0 && words != NULL, "the command line");
    snprintf(early, sizeof early, "%s.early", argv[2]);
    snprintf(scratch_gate, sizeof scratch_gate, "%s.scratch", argv[2]);
    add_hindrance(argv[1]);
    if (strcmp(what, "threads") == 0) {
        start_counting();
    }
    uint64_t step = 0;
    while (!is_over) {
        step++;
        if (read(fd, &number, sizeof number) != (ssize_t)sizeof number) {
            check(lseek(fd, 0, SEEK_SET) == 0 && // after the last
                      read(fd, &number, sizeof number) == (ssize_t)sizeof number,
                  "the file");
        }
        check(number == (step - 1) % N_PAGE, "the place in the file");
        words[step % N_PAGE * PAGE_WORDS] = step;
        if (lines[0] >= 0 && !has_lost_name()) {
            add_line();
        }
        if (all_lines >= 0) {
            add_to_all();
            if (rank == 1) {
                add_late();
            }
        }
        uint64_t old = words[(step + 1) % N_PAGE * PAGE_WORDS];
        check(old == (step + 1 > N_PAGE ? step + 1 - N_PAGE : 0), "the memory");
        int is_open = access(is_early ? early : argv[2], F_OK) == 0;
        MPI_Allreduce(&is_open, &is_over, 1, MPI_INT, MPI_MIN, comm);
        if (rank == 0 && step % 16 == 0) {
            printf("step %d\n", (int)step);
            fflush(stdout);
        }
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    if (strcmp(what, "threads") == 0) {
        check(end_counting(), "what its threads have counted");
    }
    if (lines[0] >= 0) {
        check_lines();
    }
    if (all_lines >= 0) {
        check_all_lines();
    }
    if (records != MPI_FILE_NULL) {
        write_records(3);
        MPI_File_close(&records);
    }
    printf("rank %d is well at step %d\n", rank, (int)step);
    MPI_Finalize();
    return 0;
}
