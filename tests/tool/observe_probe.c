// SPDX-License-Identifier: BSD-3-Clause
// What tests of --profile, --timeline and --tool start: programs of which it is known who is late.
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;

static void work(double seconds)
{
    double until = MPI_Wtime() + seconds;
    while (MPI_Wtime() < until) {
    }
}

// Rank 1 is late to everything; rank 0 waits for its message.
static void late(void)
{
    int value = rank;
    MPIX_Phase_begin("exchange");
    for (int i = 0; i < 5; i++) {
        if (rank == 1) {
            usleep(40000);
        }
        MPI_Barrier(MPI_COMM_WORLD); // late barrier
        if (rank == 1) {
            usleep(40000);
            MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD); // late send
        } else if (rank == 0) {
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, // late recv
                     MPI_STATUS_IGNORE);
        }
    }
    MPIX_Phase_end();
    MPI_Pcontrol(3);
}

// Every kind of message once between neighbours in a ring, ten times.
static void ring(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, in[4], out[4] = { rank };
    MPI_Request r[2], p[2];
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Send_init(out, 4, MPI_INT, to, 5, dup, &p[0]);
    MPI_Recv_init(in, 4, MPI_INT, from, 5, dup, &p[1]);
    MPIX_Phase_begin("\xff\033 r\xc3\xadng </script>"); // partly UTF-8
    for (int i = 0; i < 10; i++) {
        MPI_Irecv(in, 4, MPI_INT, MPI_ANY_SOURCE, 1, dup, &r[0]);
        MPI_Isend(out, 4, MPI_INT, to, 1, dup, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        MPI_Sendrecv(out, 4, MPI_INT, to, 2, in, 4, MPI_INT, from, 2, dup, MPI_STATUS_IGNORE);
        MPI_Startall(2, p);
        MPI_Waitall(2, p, MPI_STATUSES_IGNORE);
        MPI_Irecv(in, 4, MPI_INT, from, 3, dup, &r[0]);
        MPI_Isend(out, 4, MPI_INT, to, 3, dup, &r[1]);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        int flag = 0;
        while (!flag) {
            MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
        }
        if (in[0] != from) {
            printf("wrong: %d\n", in[0]);
        }
        MPI_Allreduce(&rank, in, 1, MPI_INT, MPI_SUM, dup);
    }
    MPIX_Phase_end();
    MPI_Request_free(&p[0]);
    MPI_Request_free(&p[1]);
    MPI_Comm_free(&dup);
}

// So many messages that not each is timed. Rank 1 is late to five of them, and to the one behind
// each of these. One place calls two functions.
static void many(int n)
{
    int value = rank;
    MPI_Request r[2];
    int (*volatile sends[])(const void *, int, MPI_Datatype, int, int, MPI_Comm) = { MPI_Send,
                                                                                     MPI_Ssend };
    for (int i = 0; i < n; i++) {
        if (rank == 0) {
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, // many recv
                     MPI_STATUS_IGNORE);
            sends[i % 2](&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); // many send
            MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &r[0]);
            MPI_Wait(&r[0], MPI_STATUS_IGNORE); // many wait
        } else if (rank == 1) {
            if (i % (n / 5) == n / 10 || i % (n / 5) == n / 10 + 1) {
                usleep(20000);
            }
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &r[0]);
            MPI_Isend(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &r[1]); // many isend
            MPI_Waitall(2, r, MPI_STATUSES_IGNORE);                    // many waitall
        }
    }
}

// Two types after each other have one handle, but not one size.
static void types(int n)
{
    int in[2], out[2] = { 0 };
    for (int k = 1; k <= 2; k++) {
        MPI_Datatype type;
        MPI_Request r;
        MPI_Type_contiguous(k, MPI_INT, &type);
        MPI_Type_commit(&type);
        for (int i = 0; i < n; i++) {
            MPI_Irecv(in, k, MPI_INT, 0, 0, MPI_COMM_SELF, &r);
            MPI_Send(out, 1, type, 0, 0, MPI_COMM_SELF);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        }
        MPI_Type_free(&type);
    }
}

// Small messages and as much computing: for measuring what recording costs.
static void pingpong(int n, int loops)
{
    char c = 0;
    volatile double x = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < loops; k++) {
            x = x * 1.0000001;
        }
        if (rank == 0) {
            MPI_Send(&c, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&c, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(&c, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&c, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) {
        printf("%.1f\n", (MPI_Wtime() - begin) * 1e9 / n);
    }
}

// To itself: no other process, so that instructions can be counted.
static void self(int n)
{
    char c = 0, d;
    MPI_Request r;
    for (int i = 0; i < n; i++) {
        MPI_Irecv(&d, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, &r);
        MPI_Send(&c, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
}

static void *endpoint(void *arg)
{
    int me, n, in = -1;
    MPI_Comm_endpoint_attach(MPI_COMM_ENDPOINTS, *(int *)arg);
    MPI_Comm_rank(MPI_COMM_ENDPOINTS, &me);
    MPI_Comm_size(MPI_COMM_ENDPOINTS, &n);
    MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, 0, &in, 1, MPI_INT, (me + n - 1) % n, 0,
                 MPI_COMM_ENDPOINTS, MPI_STATUS_IGNORE);
    MPI_Comm_detach(MPI_COMM_ENDPOINTS);
    return NULL;
}

static void endpoints(void)
{
    pthread_t t[2];
    int numbers[2] = { 0, 1 };
    for (int i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, endpoint, &numbers[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
    }
}

static void spawn(char *program)
{
    MPI_Comm other;
    int value = 42;
    char *argv[] = { (char *)"child", NULL };
    MPI_Comm_get_parent(&other);
    MPI_Comm_spawn(program, argv, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    if (rank == 0) {
        MPI_Send(&value, 1, MPI_INT, 1, 9, other);
    }
    MPI_Comm_disconnect(&other);
}

static void child(void)
{
    MPI_Comm parent;
    int value = 0;
    MPI_Comm_get_parent(&parent);
    if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 9, parent, MPI_STATUS_IGNORE);
    }
    MPI_Comm_disconnect(&parent);
}

// Fill what was recorded with nonsense, as a stray pointer might.
static void scribble(void)
{
    char line[512];
    FILE *f = fopen("/proc/self/maps", "r");
    unsigned long low, high;
    MPI_Barrier(MPI_COMM_WORLD);
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strstr(line, "pliant-trace") != NULL && sscanf(line, "%lx-%lx", &low, &high) == 2 &&
            rank == 0 && strtoul(strchr(line, 32) + 6, NULL, 16) > 0) {
            memset((char *)(uintptr_t)low + 12, 0xff, high - low < 60000 ? high - low : 60000);
            _exit(0);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
}

static void file_access(const char *name)
{
    MPI_File f;
    char block[65536] = "";
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f);
    MPI_File_write_at_all(f, (MPI_Offset)rank * (MPI_Offset)sizeof block, block, sizeof block,
                          MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&f);
}

// Whom rank 0 received from, in which order.
static void gather(int n, const char *when)
{
    int value = rank, from;
    MPI_Status status;
    for (int i = 0; i < n * (size - 1) && rank == 0; i++) {
        if (when[0] == 'b') {
            MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status); // recv before
            printf("before %d\n", from); // else a compiler makes one call of both
        } else {
            MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status); // recv after
            printf("%s %d\n", when, from);
        }
    }
    for (int i = 0; i < n && rank > 0; i++) {
        usleep((unsigned)(rank * 731 + i * 977) % 2000);
        MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
}

// The job ends behind its checkpoint, and goes on when it is restarted. A replay has no checkpoint.
static void restored(void)
{
    int is_restarted = 0, value = 1;
    float wrong;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPIX_Phase_begin("both");
    gather(20, "before");
    if (MPIX_Checkpoint(MPI_COMM_WORLD, &is_restarted) == MPI_SUCCESS && !is_restarted) {
        gather(30, "lost");
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    gather(10, "after");
    MPIX_Phase_end();
    if (rank == 1) {
        MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Recv(&wrong, 1, MPI_FLOAT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // wrong type
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "late";
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "late") == 0) {
        late();
    } else if (strcmp(what, "ring") == 0) {
        ring();
    } else if (strcmp(what, "many") == 0) {
        many(atoi(argv[2]));
    } else if (strcmp(what, "types") == 0) {
        types(atoi(argv[2]));
    } else if (strcmp(what, "pingpong") == 0) {
        pingpong(atoi(argv[2]), atoi(argv[3]));
    } else if (strcmp(what, "self") == 0) {
        self(atoi(argv[2]));
    } else if (strcmp(what, "endpoints") == 0) {
        endpoints();
    } else if (strcmp(what, "spawn") == 0) {
        spawn(argv[0]);
    } else if (strcmp(what, "child") == 0) {
        child();
    } else if (strcmp(what, "scribble") == 0) {
        scribble();
    } else if (strcmp(what, "file") == 0) {
        file_access(argv[2]);
    } else if (strcmp(what, "restored") == 0) {
        restored();
    } else if (strcmp(what, "killed") == 0) {
        ring();
        if (rank == 1) {
            raise(SIGKILL);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    work(0.001);
    MPI_Finalize();
    return 0;
}
