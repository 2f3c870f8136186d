// SPDX-License-Identifier: BSD-3-Clause
// What one job has sent another that dies. "serve WHAT NAME GATE" is a job of two ranks, "call WHAT
// NAME GATE" one of a single rank that kills itself; what comes then happens when the file is gone.
//   block  The second server receives a message of the dead job, which it had never had to do with.
//          It says by renaming the file, to GATE.ready, that it looks at nothing until then.
//   next   The same when the first server has met so many other jobs that one has the dead one's
//          number.
//   lack   The second server waits for a message that the dead job has not sent: a deadlock.
//   copy   The first server leaves while the dead job has not fetched the copy of a small message.
//   full   It leaves while messages wait for room in the mailbox of the dead.
//   half   The dead job has claimed places in the mailbox of the second server and not filled them.
//   held   It holds all blocks of the first server, which sends to the second one then.
#include "../t.h"

#include <mpi.h>

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    N_HELD = 200,
    KIB = 256,
    BLOCK = 4000,
    N_FULL = 20000,
    WAITS_S = 2,
    DIE = 9,
    N_ROW = 200,
    N_NEXT = 130
};

static void wait_for(const char *gate)
{
    while (access(gate, F_OK) == 0) {
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
}

static void receive_block(MPI_Comm inter, int rank, const char *gate, const char *port)
{
    char in[BLOCK], ready[4096];
    snprintf(ready, sizeof ready, "%s.ready", gate);
    if (rank == 1) {
        rename(gate, ready); // it looks at nothing from now on
    }
    wait_for(gate);
    for (int i = 0; i < N_NEXT && port != NULL && rank == 0; i++) {
        MPI_Comm next;
        T_EQ(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &next), MPI_SUCCESS);
        T_EQ(MPI_Comm_disconnect(&next), MPI_SUCCESS);
    }
    wait_for(ready);
    if (rank == 1) {
        T_EQ(MPI_Recv(in, BLOCK, MPI_CHAR, 0, 0, inter, MPI_STATUS_IGNORE), MPI_SUCCESS);
        T_EQ(in[BLOCK - 1], DIE);
    }
}

// All blocks are at the second server, so that the client gets the offer of a copy.
static void leave_copy(MPI_Comm home, MPI_Comm inter, int rank, const char *gate)
{
    static int out[N_HELD][KIB];
    MPI_Request req[N_HELD];
    if (rank == 0) {
        for (int i = 0; i < N_HELD; i++) {
            MPI_Isend(out[i], KIB, MPI_INT, 1, i, home, &req[i]);
        }
        T_EQ(MPI_Send(out[0], KIB, MPI_INT, 0, 0, inter), MPI_SUCCESS);
        T_EQ(MPI_Send(out[0], 1, MPI_INT, 0, DIE, inter), MPI_SUCCESS);
    }
    wait_for(gate);
    for (int i = 0; i < N_HELD && rank == 1; i++) {
        T_EQ(MPI_Recv(out[i], KIB, MPI_INT, 0, i, home, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    if (rank == 0) {
        T_EQ(MPI_Waitall(N_HELD, req, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    }
}

static void leave_full(MPI_Comm inter, int rank, const char *gate)
{
    static int out;
    for (int i = 0; i < N_FULL && rank == 0; i++) {
        MPI_Request req;
        T_EQ(MPI_Isend(&out, 1, MPI_INT, 0, 0, inter, &req), MPI_SUCCESS);
        T_EQ(MPI_Request_free(&req), MPI_SUCCESS);
    }
    wait_for(gate);
}

// What the first server says to the second one, behind what the dead job has left there.
static void talk(MPI_Comm home, int rank, const char *gate)
{
    static int out[KIB], in[KIB];
    wait_for(gate);
    for (int i = 0; i < N_HELD; i++) {
        out[KIB - 1] = i;
        if (rank == 0) {
            T_EQ(MPI_Send(out, KIB, MPI_INT, 1, i, home), MPI_SUCCESS);
        } else {
            T_EQ(MPI_Recv(in, KIB, MPI_INT, 0, i, home, MPI_STATUS_IGNORE), MPI_SUCCESS);
            T_EQ(in[KIB - 1], i);
        }
    }
}

// The client looks at nothing.
static void lose_blocks(MPI_Comm home, MPI_Comm inter, int rank, const char *gate)
{
    static int out[KIB];
    for (int i = 0; i < N_HELD && rank == 0; i++) {
        MPI_Request req;
        T_EQ(MPI_Isend(out, KIB, MPI_INT, 0, i, inter, &req), MPI_SUCCESS);
        T_EQ(MPI_Request_free(&req), MPI_SUCCESS);
    }
    talk(home, rank, gate);
}

// The memory that is sent cannot be read: the process dies after it has claimed places for it.
static void die_half_way(MPI_Comm inter)
{
    void *bad = mmap(NULL, N_ROW, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    T_MUST(bad != MAP_FAILED);
    signal(SIGSEGV, SIG_DFL);
    MPI_Send(bad, N_ROW, MPI_CHAR, 1, 0, inter);
}

static void serve(MPI_Comm home, const char *what, const char *name, const char *gate)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    int rank;
    MPI_Comm_rank(home, &rank);
    if (rank == 0) {
        T_EQ(MPI_Open_port(MPI_INFO_NULL, port), MPI_SUCCESS);
        T_EQ(MPI_Publish_name(name, MPI_INFO_NULL, port), MPI_SUCCESS);
    }
    T_EQ(MPI_Comm_accept(port, MPI_INFO_NULL, 0, home, &inter), MPI_SUCCESS);
    bool is_next = strcmp(what, "next") == 0;
    if (is_next || strcmp(what, "block") == 0) {
        receive_block(inter, rank, gate, is_next ? port : NULL);
    } else if (strcmp(what, "lack") == 0) {
        wait_for(gate);
        if (rank == 1) {
            MPI_Recv(&rank, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
        }
    } else if (strcmp(what, "copy") == 0) {
        leave_copy(home, inter, rank, gate);
    } else if (strcmp(what, "half") == 0) {
        talk(home, rank, gate);
    } else if (strcmp(what, "held") == 0) {
        lose_blocks(home, inter, rank, gate);
    } else {
        leave_full(inter, rank, gate);
    }
    MPI_Comm_free(&inter);
}

static void call(const char *what, const char *name, const char *gate)
{
    static char out[BLOCK];
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    while (MPI_Lookup_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS) {
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    T_EQ(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_SUCCESS);
    if (strcmp(what, "other") == 0) {
        T_EQ(MPI_Comm_disconnect(&inter), MPI_SUCCESS);
        return;
    }
    if (strcmp(what, "next") == 0 || strcmp(what, "block") == 0) {
        wait_for(gate);
        out[BLOCK - 1] = DIE;
        T_EQ(MPI_Send(out, BLOCK, MPI_CHAR, 1, 0, inter), MPI_SUCCESS);
    } else if (strcmp(what, "copy") == 0) {
        T_EQ(MPI_Recv(out, 1, MPI_INT, 0, DIE, inter, MPI_STATUS_IGNORE), MPI_SUCCESS);
    } else if (strcmp(what, "half") == 0) {
        die_half_way(inter);
    } else if (strcmp(what, "lack") != 0) {
        sleep(WAITS_S); // the mailbox is full then, or will never be
    }
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    MPI_Comm home = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc > 4 && strcmp(argv[1], "serve") == 0) {
        serve(home, argv[2], argv[3], argv[4]);
    } else if (argc > 4 && strcmp(argv[1], "call") == 0) {
        call(argv[2], argv[3], argv[4]);
    }
    MPI_Finalize();
    return t_status();
}
