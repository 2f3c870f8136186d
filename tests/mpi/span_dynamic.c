// SPDX-License-Identifier: BSD-3-Clause
// A job that IMPI joins to others has more processes, and meets, on communicators of its own: what
// was spawned is at home in it and unknown to the others, who can only be met in the world.
// dyn_spawn and dyn_ports, over several jobs, have the rest.
#include "obj.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int rank, size;           // of the world
static int first, per_job, next; // ranks: the first of this job, and of the next one
static MPI_Comm home;

static void talk(MPI_Comm c, int expect)
{
    int r, n, sum = -1;
    MPI_Comm_rank(c, &r);
    MPI_Comm_size(c, &n);
    T_EQ(n, expect);
    T_MPI(MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, c));
    T_EQ(sum, n * (n - 1) / 2);
}

// An intercommunicator between the even and the odd ranks, some spawned and some not.
static void halves(MPI_Comm all)
{
    MPI_Comm half, inter, again;
    int me, n, sum = -1, n_far, n_all;
    MPI_Comm_rank(all, &me);
    MPI_Comm_size(all, &n_all);
    T_MPI(MPI_Comm_split(all, me % 2, me, &half));
    MPI_Comm_size(half, &n);
    T_MPI(MPI_Intercomm_create(half, 0, all, 1 - me % 2, 3, &inter));
    MPI_Comm_remote_size(inter, &n_far);
    T_EQ(n + n_far, n_all);
    T_MPI(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_MIN, inter));
    T_EQ(sum, 1 - me % 2);
    T_MPI(MPI_Intercomm_merge(inter, me % 2, &again));
    talk(again, n_all);
    T_MPI(MPI_Comm_free(&again));
    T_MPI(MPI_Comm_free(&inter));
    T_MPI(MPI_Comm_free(&half));
}

// With spawned processes on one side, and the other in another job: all of both are told.
static void too_far(MPI_Comm all, int leader)
{
    MPI_Comm inter;
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    T_REFUSED(MPI_Intercomm_create(all, 0, leader >= 0 ? MPI_COMM_WORLD : MPI_COMM_NULL, leader, 4,
                                   &inter),
              MPI_ERR_COMM, "spawned");
}

static int child(char **argv, MPI_Comm parent)
{
    MPI_Comm all;
    int n;
    T_MPI(MPI_Intercomm_merge(parent, 1, &all));
    MPI_Comm_size(all, &n);
    talk(all, n);
    halves(all);
    if (atoi(argv[1]) > 1) {
        too_far(all, -1);
    }
    T_MPI(MPI_Comm_free(&all));
    T_MPI(MPI_Comm_disconnect(&parent));
    return t_end();
}

static void spawn(char *self, int n_job)
{
    MPI_Comm inter, all;
    char jobs[16], *args[] = { jobs, NULL };
    int *value, flag;
    snprintf(jobs, sizeof jobs, "%d", n_job);
    T_MPI(MPI_Comm_spawn(self, args, 2, MPI_INFO_NULL, per_job - 1, home, &inter,
                         MPI_ERRCODES_IGNORE));
    T_MPI(MPI_Intercomm_merge(inter, 0, &all));
    talk(all, per_job + 2);
    MPI_Comm_get_attr(all, IMPI_CLIENT_SIZE, &value, &flag);
    T_EQ(*value, 1);
    MPI_Comm_get_attr(all, IMPI_CLIENT_COLOR, &value, &flag);
    T_EQ(*value, 0);
    halves(all);
    if (n_job > 1) {
        too_far(all, next);
    }
    T_MPI(MPI_Comm_free(&all));
    T_MPI(MPI_Comm_disconnect(&inter));
}

// One end of a socket whose other is at `peer` of the world.
static int link_to(int peer)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    socklen_t len = sizeof a.sun_family;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    T_MUST(fd >= 0);
    if (rank > peer) {
        MPI_Status st;
        MPI_Recv(&a, sizeof a, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &st);
        int n;
        MPI_Get_count(&st, MPI_BYTE, &n);
        T_MUST(connect(fd, (struct sockaddr *)&a, (socklen_t)n) == 0);
        return fd;
    }
    T_MUST(bind(fd, (struct sockaddr *)&a, len) == 0 && listen(fd, 1) == 0); // the kernel names it
    len = sizeof a;
    T_MUST(getsockname(fd, (struct sockaddr *)&a, &len) == 0);
    MPI_Send(&a, (int)len, MPI_BYTE, peer, 5, MPI_COMM_WORLD);
    int one = accept(fd, NULL, NULL);
    T_MUST(one >= 0);
    close(fd);
    return one;
}

static void join(int peer, int is_near)
{
    MPI_Comm inter;
    int fd = link_to(peer), got = -1;
    if (is_near) {
        T_MPI(MPI_Comm_join(fd, &inter));
        T_MPI(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, inter,
                           MPI_STATUS_IGNORE));
        T_EQ(got, peer);
        T_MPI(MPI_Comm_disconnect(&inter));
    } else {
        T_REFUSED(MPI_Comm_join(fd, &inter), MPI_ERR_PORT, "IMPI");
    }
    close(fd);
}

// The port of another job that IMPI joined.
static void far_port(void)
{
    char port[MPI_MAX_PORT_NAME] = "", theirs[MPI_MAX_PORT_NAME];
    MPI_Comm inter;
    T_MPI(MPI_Open_port(MPI_INFO_NULL, port));
    MPI_Sendrecv(port, MPI_MAX_PORT_NAME, MPI_CHAR, next, 6, theirs, MPI_MAX_PORT_NAME, MPI_CHAR,
                 next, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    T_REFUSED(MPI_Comm_connect(theirs, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT,
              "IMPI");
    T_MPI(MPI_Close_port(port));
}

int main(int argc, char **argv)
{
    MPI_Comm parent, copy;
    MPI_Request req;
    int *n_job, flag;
    t_start(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        return child(argv, parent);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_attr(MPI_COMM_WORLD, IMPI_CLIENT_SIZE, &n_job, &flag);
    home = t_home();
    MPI_Comm_size(home, &per_job);
    T_MUST(*n_job <= 2 && *n_job * per_job == size);
    first = rank / per_job * per_job;
    next = (first + per_job) % size;
    spawn(argv[0], *n_job);
    if (per_job > 1 && rank < first + 2) {
        join(rank == first ? first + 1 : first, 1);
    }
    if (*n_job > 1 && rank == first) {
        join(next, 0);
        far_port();
    }
    // Contexts are made otherwise by a process that has met others.
    T_MPI(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &req));
    T_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
    talk(copy, size);
    T_MPI(MPI_Comm_free(&copy));
    T_MPI(MPI_Comm_free(&home));
    return t_end();
}
