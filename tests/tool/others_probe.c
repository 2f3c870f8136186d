// SPDX-License-Identifier: BSD-3-Clause
// Ranks that go on while a test moves rank 1 to another host:
//
//     others_probe FLAG
//
// Ranks 0 and 2 exchange a number in each step, and send it to rank 1, which checks that all come
// once and in order. When the file FLAG.call is there, rank 3 makes a process set, sends its first
// message to rank 1, and asks mpiexec for something; rank 1 looks for the set when it is told to
// end. All have the file FLAG.lines open, to which ranks 0 and 2 add a line in each step, and rank
// 1 one when it ends; none may get lost. All end when the file FLAG is there.
#include <mpi.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_STEP = 1 << 16, TO_MOVER = 5, CALL = 6, END = -1 };

static int rank;

static void check(int is_good, const char *what)
{
    if (!is_good) {
        fprintf(stderr, "others_probe: rank %d: %s is wrong\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

enum { LINE = 8 }; // bytes

static int lines; // the file of all

static void add_line(void)
{
    check(write(lines, "a line.\n", LINE) == LINE, "a line");
}

// The number of the last step, or END in the last one.
static int exchange(const char *flag)
{
    MPI_Request *sent = malloc(MAX_STEP * sizeof(MPI_Request));
    int *said = malloc(MAX_STEP * sizeof(int)), n = 0;
    check(sent != NULL && said != NULL, "the memory");
    for (int is_over = 0; !is_over && n < MAX_STEP; n++) {
        int mine = rank == 0 && access(flag, F_OK) == 0 ? END : n, theirs = n;
        MPI_Sendrecv(&mine, 1, MPI_INT, 2 - rank, 0, &theirs, 1, MPI_INT, 2 - rank, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        is_over = mine == END || theirs == END;
        check(is_over || theirs == n, "the number of a step");
        said[n] = is_over ? END : n;
        add_line();
        MPI_Isend(&said[n], 1, MPI_INT, 1, TO_MOVER, MPI_COMM_WORLD, &sent[n]);
        if (rank == 0 && n % 8 == 0) {
            printf("step %d\n", n);
            fflush(stdout);
        }
        usleep(1000);
    }
    MPI_Waitall(n, sent, MPI_STATUSES_IGNORE);
    free(sent);
    free(said);
    return n;
}

static void receive(int has_caller)
{
    int is_over = 0, text = 0;
    MPI_Session session;
    for (int n = 0; !is_over; n++) {
        for (int from = 0; from <= 2; from += 2) {
            int got = 0;
            MPI_Recv(&got, 1, MPI_INT, from, TO_MOVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check(got == END || got == n, "the number of a message");
            is_over = got == END;
        }
    }
    if (has_caller) {
        MPI_Recv(&text, 1, MPI_INT, 3, CALL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (text == 1) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        check(MPIX_Pset_wait(session, "late") == MPI_SUCCESS, "a set");
        MPI_Session_finalize(&session);
    }
}

static void call(const char *flag)
{
    char name[512], port[MPI_MAX_PORT_NAME];
    MPI_Session session;
    MPI_Group group;
    int did = 0, is_any;
    snprintf(name, sizeof name, "%s.call", flag);
    while (access(flag, F_OK) != 0 && access(name, F_OK) != 0) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_any, MPI_STATUS_IGNORE);
        usleep(1000);
    }
    if (access(name, F_OK) == 0) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        MPI_Group_from_session_pset(session, "mpi://SELF", &group);
        check(MPIX_Pset_from_group(session, group, "late") == MPI_SUCCESS, "a new set");
        MPI_Group_free(&group);
        MPI_Session_finalize(&session);
        did = 1;
    }
    MPI_Send(&did, 1, MPI_INT, 1, CALL, MPI_COMM_WORLD);
    if (did) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name("others", MPI_INFO_NULL, port);
        MPI_Unpublish_name("others", MPI_INFO_NULL, port);
        MPI_Close_port(port);
        printf("rank 3 has called\n");
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    int size, n_line = 0, n_all = 0;
    char name[512];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(argc == 2 && (size == 3 || size == 4), "the command line");
    snprintf(name, sizeof name, "%s.lines", argv[1]);
    lines = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
    check(lines >= 0, "a file");
    if (rank == 1) {
        receive(size == 4);
        add_line();
        n_line = 1;
    } else if (rank == 3) {
        call(argv[1]);
    } else {
        n_line = exchange(argv[1]);
    }
    MPI_Allreduce(&n_line, &n_all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check(lseek(lines, 0, SEEK_END) == (off_t)n_all * LINE, "the length of the file");
    printf("rank %d is well\n", rank);
    MPI_Finalize();
    return 0;
}
