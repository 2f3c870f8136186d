// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_spawn and spawn_multiple: worlds, parents, arguments, hints, errors, messages of all
// sizes, merging, spawning again from what was spawned.
#include "obj.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BIG = 300000 };

static MPI_Comm home; // all ranks of this job

// Both sides: every process sends to every one of the other group, small and large.
static void exchange(MPI_Comm inter)
{
    int rank, size, n_far;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &n_far);
    int *out = malloc(BIG * sizeof *out), *in = malloc(BIG * sizeof *in);
    for (int len = 1; len <= BIG; len *= 17) {
        for (int r = 0; r < n_far; r++) {
            MPI_Request req;
            for (int i = 0; i < len; i++) {
                out[i] = rank * 1000 + i;
                in[i] = -1;
            }
            T_MPI(MPI_Irecv(in, len, MPI_INT, r, len, inter, &req));
            T_MPI(MPI_Send(out, len, MPI_INT, r, len, inter));
            T_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
            T_EQ(in[0], r * 1000);
            T_EQ(in[len - 1], r * 1000 + len - 1);
        }
        T_MPI(MPI_Barrier(inter));
    }
    free(out);
    free(in);
}

// Collectives of the merged world: both groups count.
static void merge(MPI_Comm inter, int high)
{
    MPI_Comm all;
    int rank, size, sum, near, far;
    T_MPI(MPI_Intercomm_merge(inter, high, &all));
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Comm_size(inter, &near);
    MPI_Comm_remote_size(inter, &far);
    T_EQ(size, near + far);
    for (int i = 0; i < 5; i++) {
        T_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all));
        T_EQ(sum, size * (size - 1) / 2);
    }
    MPI_Comm half;
    T_MPI(MPI_Comm_split(all, rank % 2, rank, &half));
    T_MPI(MPI_Barrier(half));
    T_MPI(MPI_Comm_free(&half));
    T_MPI(MPI_Comm_disconnect(&all));
}

static int child(int argc, char **argv, MPI_Comm parent)
{
    int size, rank, flag, *app;
    char name[MPI_MAX_OBJECT_NAME], here[4096];
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    MPI_Comm_get_name(parent, name, &rank);
    T_EQ(strcmp(name, "MPI_COMM_PARENT"), 0);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &app, &flag);
    T_OK(flag);
    if (strcmp(argv[1], "parts") == 0) {
        T_EQ(argc, 3);
        T_EQ(*app, atoi(argv[2]));
        T_EQ(size, 3);
        T_EQ(*app, rank == 0 ? 0 : 1);
    } else if (strcmp(argv[1], "hints") == 0) {
        T_EQ(strcmp(getenv("DYN_ONE"), "1"), 0);
        T_EQ(strcmp(getenv("DYN_TWO"), "two words"), 0);
        T_EQ(strcmp(getcwd(here, sizeof here), "/"), 0);
        T_EQ(size, 2);
        T_REFUSED(MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "count");
    } else if (strcmp(argv[1], "again") == 0) {
        MPI_Comm grandchild;
        char *args[] = { "plain", NULL };
        T_MPI(MPI_Comm_spawn(argv[0], args, 1, MPI_INFO_NULL, size - 1, MPI_COMM_WORLD, &grandchild,
                             MPI_ERRCODES_IGNORE));
        exchange(grandchild);
        merge(grandchild, 0);
        T_MPI(MPI_Comm_disconnect(&grandchild));
    }
    exchange(parent);
    merge(parent, 1);
    T_MPI(MPI_Comm_disconnect(&parent));
    MPI_Comm_get_parent(&parent);
    T_OK(parent == MPI_COMM_NULL);
    return t_end();
}

static void plain(char *self, int n)
{
    MPI_Comm inter;
    char *args[] = { "plain", NULL };
    int codes[8], size;
    memset(codes, 255, sizeof codes);
    T_MPI(MPI_Comm_spawn(self, args, n, MPI_INFO_NULL, 0, home, &inter, codes));
    for (int i = 0; i < n; i++) {
        T_EQ(codes[i], MPI_SUCCESS);
    }
    MPI_Comm_remote_size(inter, &size);
    T_EQ(size, n);
    exchange(inter);
    merge(inter, 0);
    T_MPI(MPI_Comm_disconnect(&inter));
    T_OK(inter == MPI_COMM_NULL);
}

static void several(char *self)
{
    MPI_Comm inter;
    char *commands[] = { self, self }, *first[] = { "parts", "0", NULL };
    char *second[] = { "parts", "1", NULL };
    char **args[] = { first, second };
    int n[] = { 1, 2 }, codes[3];
    MPI_Info infos[] = { MPI_INFO_NULL, MPI_INFO_NULL };
    T_MPI(MPI_Comm_spawn_multiple(2, commands, args, n, infos, 0, home, &inter, codes));
    exchange(inter);
    merge(inter, 0);
    T_MPI(MPI_Comm_disconnect(&inter));
}

static void hints(char *self, const char *name, char *dir)
{
    MPI_Comm inter;
    MPI_Info info;
    char *args[] = { "hints", NULL };
    (void)self;
    MPI_Info_create(&info);
    MPI_Info_set(info, "path", dir);
    MPI_Info_set(info, "wdir", "/");
    MPI_Info_set(info, "host", "localhost");
    MPI_Info_set(info, "soft", "2,7:9,1");
    MPI_Info_set(info, "env", "DYN_ONE=1\nDYN_TWO=two words");
    MPI_Info_set(info, "mpi_initial_errhandler", "mpi_errors_return");
    MPI_Info_set(info, "no_such_hint", "is ignored");
    int codes[5];
    T_MPI(MPI_Comm_spawn(name, args, 5, info, 0, home, &inter, codes));
    T_EQ(codes[1], MPI_SUCCESS);
    T_EQ(codes[2], MPI_ERR_SPAWN); // not started, because the hint allows two
    exchange(inter);
    merge(inter, 0);
    T_MPI(MPI_Comm_disconnect(&inter));
    MPI_Info_free(&info);
}

static void refuse(int rank, char *self)
{
    MPI_Comm inter = MPI_COMM_WORLD;
    MPI_Info info;
    int codes[2] = { -1, -1 };
    const char *why = rank == 0 ? "no program ./no/such/program" : "cannot spawn";
    T_REFUSED(MPI_Comm_spawn("./no/such/program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, home, &inter,
                             codes),
              MPI_ERR_SPAWN, why);
    T_OK(inter == MPI_COMM_NULL);
    T_EQ(codes[0], MPI_ERR_SPAWN);
    T_EQ(codes[1], MPI_ERR_SPAWN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "host", "no.such.host");
    T_REFUSED(MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, info, 0, home, &inter, MPI_ERRCODES_IGNORE),
              MPI_ERR_SPAWN, rank == 0 ? "no.such.host" : "cannot spawn");
    MPI_Info_free(&info);
    // A program that never calls MPI_Init.
    T_REFUSED(MPI_Comm_spawn("true", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, home, &inter,
                             MPI_ERRCODES_IGNORE),
              MPI_ERR_SPAWN, rank == 0 ? "without having called MPI_Init" : "cannot spawn");
    T_REFUSED(MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 99, home, &inter,
                             MPI_ERRCODES_IGNORE),
              MPI_ERR_ROOT, "99");
    T_REFUSED(MPI_Comm_spawn(self, MPI_ARGV_NULL, 100000, MPI_INFO_NULL, 0, home, &inter,
                             MPI_ERRCODES_IGNORE),
              MPI_ERR_SPAWN, rank == 0 ? "100000" : "cannot spawn");
}

int main(int argc, char **argv)
{
    t_start(&argc, &argv);
    MPI_Comm parent;
    int rank;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        return child(argc, argv, parent);
    }
    home = t_home();
    MPI_Comm_rank(home, &rank);
    char dir[4096], *slash;
    snprintf(dir, sizeof dir, "%s", argv[0]);
    slash = strrchr(dir, '/');
    T_MUST(slash != NULL);
    *slash = '\0';
    plain(argv[0], 1);
    plain(argv[0], 3);
    several(argv[0]);
    hints(argv[0], slash + 1, dir);
    refuse(rank, argv[0]);
    MPI_Comm inter;
    char *args[] = { "again", NULL };
    T_MPI(MPI_Comm_spawn(argv[0], args, 2, MPI_INFO_NULL, 0, home, &inter, MPI_ERRCODES_IGNORE));
    exchange(inter);
    merge(inter, 0);
    T_MPI(MPI_Comm_disconnect(&inter));
    MPI_Comm_free(&home);
    return t_end();
}
