// SPDX-License-Identifier: BSD-3-Clause
// Ports, names and sockets: the ranks of one job divide into servers and clients. With arguments
// ("serve NAME N [GATE [SECONDS]]" or "call NAME N [OTHER]") two jobs that were started separately
// do the same.
#include "obj.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// Messages between all pairs, small and large, and collectives, over the intercommunicator and what
// is made of it.
static void use(MPI_Comm inter, int high)
{
    enum { LEN = 200000 };
    int rank, n_far, sum, size, me;
    MPI_Comm copy, all, half;
    int *out = malloc(LEN * sizeof *out), *in = malloc(LEN * sizeof *in);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_remote_size(inter, &n_far);
    T_MPI(MPI_Comm_dup(inter, &copy));
    for (int len = 1; len <= LEN; len *= 13) {
        for (int r = 0; r < n_far; r++) {
            MPI_Request req;
            for (int i = 0; i < len; i++) {
                out[i] = rank + i;
                in[i] = -1;
            }
            T_MPI(MPI_Irecv(in, len, MPI_INT, r, 5, copy, &req));
            T_MPI(MPI_Ssend(out, len, MPI_INT, r, 5, copy));
            T_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
            T_EQ(in[len - 1], r + len - 1);
        }
    }
    T_MPI(MPI_Intercomm_merge(copy, high, &all));
    MPI_Comm_size(all, &size);
    MPI_Comm_rank(all, &me);
    for (int i = 0; i < 4; i++) {
        T_MPI(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, all));
        T_EQ(sum, size * (size - 1) / 2);
    }
    T_MPI(MPI_Comm_split(all, me % 2, -me, &half));
    T_MPI(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_MAX, half));
    T_MPI(MPI_Comm_free(&half));
    T_MPI(MPI_Comm_free(&all));
    T_MPI(MPI_Comm_disconnect(&copy));
    free(out);
    free(in);
}

// gate: NULL, or a file; nobody is let in before it is gone. seconds: NULL, or how long the server
// waits for a client that knocks and does not go on.
static void serve(MPI_Comm group, int root, const char *name, int n, const char *gate,
                  const char *seconds)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int rank;
    MPI_Comm inter;
    MPI_Comm_rank(group, &rank);
    if (rank == root) {
        T_MPI(MPI_Open_port(MPI_INFO_NULL, port));
        T_MPI(MPI_Publish_name(name, MPI_INFO_NULL, port));
        T_REFUSED(MPI_Publish_name(name, MPI_INFO_NULL, port), MPI_ERR_SERVICE, name);
    }
    while (gate != NULL && access(gate, F_OK) == 0) {
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    T_MPI(MPI_Barrier(group)); // looks at what has come
    if (seconds != NULL) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "timeout", seconds);
        T_REFUSED(MPI_Comm_accept(port, info, root, group, &inter), MPI_ERR_PORT,
                  "the hint timeout");
        MPI_Info_free(&info);
    }
    for (int i = 0; i < n; i++) {
        T_MPI(MPI_Comm_accept(port, MPI_INFO_NULL, root, group, &inter));
        use(inter, 0);
        T_MPI(MPI_Comm_disconnect(&inter));
    }
    if (rank == root) {
        T_MPI(MPI_Unpublish_name(name, MPI_INFO_NULL, port));
        T_REFUSED(MPI_Unpublish_name(name, MPI_INFO_NULL, port), MPI_ERR_SERVICE, name);
        T_MPI(MPI_Close_port(port));
        T_REFUSED(MPI_Close_port(port), MPI_ERR_PORT, "not open");
    }
}

// A name that is not there yet will be.
static void look_up(const char *name, char *port)
{
    char text[MPI_MAX_ERROR_STRING];
    int class = MPI_ERR_NAME, len;
    for (int tries = 0; class == MPI_ERR_NAME && tries < 3000; tries++) {
        int code = MPI_Lookup_name(name, MPI_INFO_NULL, port);
        MPI_Error_class(code, &class);
        if (class == MPI_ERR_NAME) {
            nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
        } else if (class != MPI_SUCCESS) {
            MPI_Error_string(code, text, &len);
            fprintf(stderr, "%s\n", text);
        }
    }
    T_MUST(class == MPI_SUCCESS);
}

static void call(MPI_Comm group, int root, const char *name, int n)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int rank;
    MPI_Comm inter;
    MPI_Comm_rank(group, &rank);
    if (rank == root) {
        look_up(name, port);
        if (getenv("DYN_TELL") != NULL) {
            puts("knocks");
            fflush(stdout);
        }
    }
    for (int i = 0; i < n; i++) {
        int code = MPI_Comm_connect(port, MPI_INFO_NULL, root, group, &inter);
        if (code != MPI_SUCCESS) {
            char text[MPI_MAX_ERROR_STRING];
            int len;
            MPI_Error_string(code, text, &len);
            fprintf(stderr, "meeting %d: %s\n", i, text);
            exit(1);
        }
        use(inter, 1);
        T_MPI(MPI_Comm_disconnect(&inter));
    }
}

// One that IMPI has joined to the one which was met.
static void miss(MPI_Comm group, const char *name)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    int rank;
    MPI_Comm_rank(group, &rank);
    if (rank == 0) {
        look_up(name, port);
    }
    T_REFUSED(MPI_Comm_connect(port, MPI_INFO_NULL, 0, group, &inter), MPI_ERR_PORT, "joined");
}

// Who waits too long leaves, and nobody meets its ghost afterwards. Reasons are known at all ranks.
static void time_out(MPI_Comm home, MPI_Comm group, int is_server)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    MPI_Info info;
    int rank;
    MPI_Comm_rank(home, &rank);
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "0.1");
    if (rank == 0) {
        T_MPI(MPI_Open_port(MPI_INFO_NULL, port));
    }
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, home);
    if (!is_server) {
        T_REFUSED(MPI_Comm_connect(port, info, 0, group, &inter), MPI_ERR_PORT, "within 0.1 s");
        if (getenv("PLIANT_CONNECT_TIMEOUT") != NULL) { // a row of the list has one second
            T_REFUSED(MPI_Comm_connect(port, MPI_INFO_NULL, 0, group, &inter), MPI_ERR_PORT,
                      "within 1 s, the setting PLIANT_CONNECT_TIMEOUT");
        }
    }
    MPI_Barrier(home);
    if (is_server) {
        T_REFUSED(MPI_Comm_accept(port, info, 0, group, &inter), MPI_ERR_PORT, "within 0.1 s");
        MPI_Info_set(info, "timeout", "soon");
        T_REFUSED(MPI_Comm_accept(port, info, 0, group, &inter), MPI_ERR_INFO_VALUE, "'soon'");
    }
    MPI_Info_free(&info);
    MPI_Barrier(home);
    if (rank == 0) { // while the others knock
        nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
        T_MPI(MPI_Close_port(port));
    }
    for (int i = 0; i < 2 && !is_server; i++) {
        T_REFUSED(MPI_Comm_connect(port, MPI_INFO_NULL, 0, group, &inter), MPI_ERR_PORT, "closed");
    }
}

static void refuse(void)
{
    MPI_Comm inter;
    char port[MPI_MAX_PORT_NAME];
    T_REFUSED(MPI_Comm_connect("nonsense", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT,
              "nonsense");
    T_OK(inter == MPI_COMM_NULL);
    T_MPI(MPI_Open_port(MPI_INFO_NULL, port));
    T_REFUSED(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT,
              "this process's own");
    T_MPI(MPI_Close_port(port));
    T_REFUSED(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT,
              "closed");
    T_REFUSED(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT,
              "not open");
    T_REFUSED(MPI_Lookup_name("no such service", MPI_INFO_NULL, port), MPI_ERR_NAME,
              "no such service");
    T_REFUSED(MPI_Publish_name("", MPI_INFO_NULL, port), MPI_ERR_SERVICE, "empty");
}

// The name that the first rank publishes is taken back by the last, and can be published again.
static void take_back(MPI_Comm home, int rank, int size, const char *name)
{
    char port[MPI_MAX_PORT_NAME];
    T_MPI(MPI_Open_port(MPI_INFO_NULL, port));
    for (int i = 0; i < 2; i++) {
        if (rank == 0) {
            T_MPI(MPI_Publish_name(name, MPI_INFO_NULL, port));
        }
        MPI_Barrier(home);
        if (rank == size - 1) {
            T_MPI(MPI_Unpublish_name(name, MPI_INFO_NULL, port));
        }
        MPI_Barrier(home);
    }
    T_MPI(MPI_Close_port(port));
}

int main(int argc, char **argv)
{
    t_start(&argc, &argv);
    int rank, size;
    MPI_Comm home = t_home();
    MPI_Comm_rank(home, &rank);
    MPI_Comm_size(home, &size);
    if (argc > 3 && strcmp(argv[1], "serve") == 0) {
        serve(home, size - 1, argv[2], atoi(argv[3]), argc > 4 ? argv[4] : NULL,
              argc > 5 ? argv[5] : NULL);
        MPI_Comm_free(&home);
        return t_end();
    }
    if (argc > 3 && strcmp(argv[1], "call") == 0) {
        call(home, 0, argv[2], atoi(argv[3]));
        if (argc > 4) {
            miss(home, argv[4]);
        }
        MPI_Comm_free(&home);
        return t_end();
    }
    refuse();
    char name[64];
    int number = (int)getppid(); // of mpiexec, or of its daemon on one of several hosts
    MPI_Bcast(&number, 1, MPI_INT, 0, home);
    snprintf(name, sizeof name, "dyn_ports %d", number);
    MPI_Comm group;
    int is_server = rank < size / 2;
    T_MPI(MPI_Comm_split(home, is_server, rank, &group));
    MPI_Comm_set_errhandler(group, MPI_ERRORS_RETURN);
    time_out(home, group, is_server);
    take_back(home, rank, size, name);
    if (is_server) {
        serve(group, 0, name, 3, NULL, NULL);
    } else {
        int last;
        MPI_Comm_size(group, &last);
        call(group, last - 1, name, 3);
    }
    MPI_Comm_free(&group);
    MPI_Comm_free(&home);
    return t_end();
}
