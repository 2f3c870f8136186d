// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_join: neighbours of one job; with "listen FILE" and "call FILE" two jobs; sockets behind
// which there is nobody who calls it too.
#include "obj.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct place {
    struct in_addr address;
    in_port_t port;
};

static int listen_at(struct place *out)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t len = sizeof at;
    char host[256];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    T_MUST(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 1) == 0);
    T_MUST(getsockname(fd, (struct sockaddr *)&at, &len) == 0);
    // Other hosts know this one by its name, if by anything.
    struct addrinfo hints = { .ai_family = AF_INET }, *found = NULL;
    out->address.s_addr = htonl(INADDR_LOOPBACK);
    if (gethostname(host, sizeof host) == 0 && getaddrinfo(host, NULL, &hints, &found) == 0) {
        out->address = ((struct sockaddr_in *)(void *)found->ai_addr)->sin_addr;
        freeaddrinfo(found);
    }
    out->port = at.sin_port;
    return fd;
}

static int call(const struct place *p)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = p->address, .sin_port = p->port };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    T_MUST(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    return fd;
}

// Twice over the same socket: it can be used again.
static void meet(int fd, int who)
{
    static int out[100000], in[100000];
    for (int i = 0; i < 2; i++) {
        MPI_Comm inter;
        int size, n_far;
        char word = 0;
        T_MPI(MPI_Comm_join(fd, &inter));
        MPI_Comm_size(inter, &size);
        MPI_Comm_remote_size(inter, &n_far);
        T_EQ(size, 1);
        T_EQ(n_far, 1);
        out[99999] = who + i;
        T_MPI(MPI_Sendrecv(out, 100000, MPI_INT, 0, 3, in, 100000, MPI_INT, 0, 3, inter,
                           MPI_STATUS_IGNORE));
        T_EQ(in[99999], 1 - who + i);
        T_MPI(MPI_Comm_disconnect(&inter));
        T_OK(send(fd, "x", 1, 0) == 1 && recv(fd, &word, 1, 0) == 1 && word == 'x');
    }
    close(fd);
}

static void two_jobs(const char *what, const char *file)
{
    struct place p;
    char temp[4096];
    snprintf(temp, sizeof temp, "%s.new", file);
    if (strcmp(what, "listen") == 0) {
        int door = listen_at(&p);
        FILE *f = fopen(temp, "w");
        T_MUST(f != NULL && fwrite(&p, sizeof p, 1, f) == 1 && fclose(f) == 0);
        T_MUST(rename(temp, file) == 0);
        meet(accept(door, NULL, NULL), 0);
        close(door);
    } else {
        FILE *f = NULL;
        for (int i = 0; f == NULL && i < 3000; i++) {
            f = fopen(file, "r");
            nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
        }
        T_MUST(f != NULL && fread(&p, sizeof p, 1, f) == 1);
        fclose(f);
        meet(call(&p), 1);
    }
}

static void refuse(void)
{
    MPI_Comm inter;
    int pair[2];
    char text[512] = "HTTP/1.1 400 Bad Request";
    T_REFUSED(MPI_Comm_join(-1, &inter), MPI_ERR_ARG, "cannot be reached: Bad file descriptor");
    T_OK(inter == MPI_COMM_NULL);
    T_MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    T_OK(send(pair[1], text, sizeof text, 0) == sizeof text);
    T_REFUSED(MPI_Comm_join(pair[0], &inter), MPI_ERR_ARG, "does not call MPI_Comm_join");
    close(pair[0]);
    close(pair[1]);
    T_MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    close(pair[1]);
    T_REFUSED(MPI_Comm_join(pair[0], &inter), MPI_ERR_ARG, "cannot be reached");
    close(pair[0]);
}

// Somebody has the other end, and never answers. PLIANT_CONNECT_TIMEOUT is short in the row that
// asks for it.
static void silent(void)
{
    MPI_Comm inter = MPI_COMM_WORLD;
    int pair[2];
    T_MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    double begin = MPI_Wtime();
    T_REFUSED(MPI_Comm_join(pair[0], &inter), MPI_ERR_PORT,
              "no process answered on the socket within 1 s");
    T_OK(MPI_Wtime() - begin >= 1);
    T_OK(inter == MPI_COMM_NULL);
    close(pair[0]);
    close(pair[1]);
}

int main(int argc, char **argv)
{
    t_start(&argc, &argv);
    int rank, size;
    MPI_Comm home = t_home();
    MPI_Comm_rank(home, &rank);
    MPI_Comm_size(home, &size);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (argc == 2) {
        silent();
    } else if (argc > 2) {
        two_jobs(argv[1], argv[2]);
    } else {
        refuse();
    }
    struct place p;
    if (rank % 2 == 0 && rank + 1 < size) {
        int door = listen_at(&p);
        MPI_Send(&p, sizeof p, MPI_BYTE, rank + 1, 0, home);
        meet(accept(door, NULL, NULL), 0);
        close(door);
    } else if (rank % 2 == 1) {
        MPI_Recv(&p, sizeof p, MPI_BYTE, rank - 1, 0, home, MPI_STATUS_IGNORE);
        meet(call(&p), 1);
    }
    MPI_Comm_free(&home);
    return t_end();
}
