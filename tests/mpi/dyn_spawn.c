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

// The hint file: what it says counts as if it were in the info object, which has the last word.
static void hint_file(char *self)
{
    const char *folder = getenv("TMPDIR");
    char name[1024], *args[] = { "hints", NULL };
    MPI_Comm inter;
    MPI_Info info;
    int codes[5], rank;
    MPI_Comm_rank(home, &rank);
    MPI_Info_create(&info);
    if (rank == 0) {
        snprintf(name, sizeof name, "%s/dyn_spawn.XXXXXX", folder != NULL ? folder : "/tmp");
        int fd = mkstemp(name);
        FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
        T_MUST(f != NULL);
        T_OK(fputs("# hints\n\n wdir = /  \nsoft=4\nenv=DYN_ONE=1\nenv = DYN_TWO=two words\n"
                   "mpi_initial_errhandler=mpi_errors_return",
                   f) >= 0);
        T_OK(fclose(f) == 0);
        MPI_Info_set(info, "file", name);
        MPI_Info_set(info, "soft", "2");
    }
    T_MPI(MPI_Comm_spawn(self, args, 5, info, 0, home, &inter, codes));
    T_EQ(codes[1], MPI_SUCCESS);
    T_EQ(codes[2], MPI_ERR_SPAWN);
    exchange(inter);
    merge(inter, 0);
    T_MPI(MPI_Comm_disconnect(&inter));
    if (rank == 0) {
        FILE *f = fopen(name, "w");
        T_MUST(f != NULL && fputs("wdir\n", f) >= 0 && fclose(f) == 0);
    }
    T_REFUSED(MPI_Comm_spawn(self, args, 5, info, 0, home, &inter, codes), MPI_ERR_INFO_VALUE,
              "has a line 'wdir'");
    if (rank == 0) {
        unlink(name);
    }
    MPI_Info_set(info, "file", "/no/such/file");
    T_REFUSED(MPI_Comm_spawn(self, args, 5, info, 0, home, &inter, codes), MPI_ERR_INFO_VALUE,
              "cannot be read: No such file");
    MPI_Info_free(&info);
}

// What soft makes of five; 0: it is refused.
static void soft(char *self)
{
    const struct {
        const char *hint;
        int n;
    } all[] = {
        { "1:8:3", 4 },  { "8:1:-3", 5 }, { "-9:-1,3", 3 },         { "1:999999999999999999", 5 },
        { "9:7:-1", 0 }, { "2;3", 0 },    { "0:99999999999:2", 4 }, { "99999999999999999999", 0 },
    };
    char *args[] = { "plain", NULL };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        MPI_Comm inter;
        MPI_Info info;
        int size = 0;
        MPI_Info_create(&info);
        MPI_Info_set(info, "soft", all[i].hint);
        int code = MPI_Comm_spawn(self, args, 5, info, 0, home, &inter, MPI_ERRCODES_IGNORE);
        T_EQ(code == MPI_SUCCESS, all[i].n > 0);
        MPI_Info_free(&info);
        if (code == MPI_SUCCESS) {
            MPI_Comm_remote_size(inter, &size);
            T_EQ(size, all[i].n);
            exchange(inter);
            merge(inter, 0);
            T_MPI(MPI_Comm_disconnect(&inter));
        }
    }
}

// The error codes are those of the parts: the hint of the second allows two of its five.
static void codes_of_parts(char *self)
{
    MPI_Comm inter;
    MPI_Info hint;
    char *commands[] = { self, self, self }, *one[] = { "plain", NULL };
    char **args[] = { one, one, one };
    int n[] = { 1, 5, 1 }, codes[7], want[] = { 0, 0, 0, 1, 1, 1, 0 }, rank;
    MPI_Comm_rank(home, &rank);
    MPI_Info_create(&hint);
    MPI_Info_set(hint, "soft", "1:2");
    MPI_Info infos[] = { MPI_INFO_NULL, hint, MPI_INFO_NULL };
    // What counts at the root alone is nonsense elsewhere.
    T_MPI(MPI_Comm_spawn_multiple(rank == 0 ? 3 : -1, rank == 0 ? commands : NULL, args,
                                  rank == 0 ? n : NULL, rank == 0 ? infos : NULL, 0, home, &inter,
                                  codes));
    for (int i = 0; i < 7; i++) {
        T_EQ(codes[i], want[i] ? MPI_ERR_SPAWN : MPI_SUCCESS);
    }
    exchange(inter);
    merge(inter, 0);
    T_MPI(MPI_Comm_disconnect(&inter));
    MPI_Info_free(&hint);
    commands[1] = "/no/such/program";
    infos[1] = MPI_INFO_NULL;
    memset(codes, 255, sizeof codes);
    T_REFUSED(
        MPI_Comm_spawn_multiple(3, commands, MPI_ARGVS_NULL, n, infos, 0, home, &inter, codes),
        MPI_ERR_SPAWN, "/no/such/program");
    for (int i = 0; i < 7; i++) {
        T_EQ(codes[i], MPI_ERR_SPAWN);
    }
}

// Programs that end before MPI_Init, alone or beside one that waits for them there: the call fails
// with the reason, at every rank, and nothing else does.
static void stillborn(char *self)
{
    const struct {
        char *args[3];
        const char *why;
    } all[] = {
        { { "-c", "exit 0", NULL }, "ended with exit status 0 without having called MPI_Init" },
        { { "-c", "exit 7", NULL }, "ended with exit status 7 without" },
        { { "-c", "exit 127", NULL }, "try ldd on the program" },
        { { "-c", "kill -9 $$", NULL }, "was killed by signal 9, SIGKILL, without" },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        MPI_Comm inter = MPI_COMM_WORLD;
        int codes[2] = { -1, -1 }, n[] = { 1, 1 };
        char *commands[] = { self, "/bin/sh" }, *plain[] = { "plain", NULL };
        char **args[] = { plain, (char **)(uintptr_t)all[i].args };
        MPI_Info infos[] = { MPI_INFO_NULL, MPI_INFO_NULL };
        T_REFUSED(MPI_Comm_spawn("/bin/sh", args[1], 2, MPI_INFO_NULL, 0, home, &inter, codes),
                  MPI_ERR_SPAWN, all[i].why);
        T_REFUSED(MPI_Comm_spawn_multiple(2, commands, args, n, infos, 0, home, &inter, codes),
                  MPI_ERR_SPAWN, "process 1 of the 2 that were started, /bin/sh,");
        T_OK(inter == MPI_COMM_NULL);
        T_EQ(codes[0], MPI_ERR_SPAWN);
        T_EQ(codes[1], MPI_ERR_SPAWN);
    }
}

static void refuse(char *self)
{
    MPI_Comm inter = MPI_COMM_WORLD;
    MPI_Info info;
    int codes[2] = { -1, -1 };
    T_REFUSED(MPI_Comm_spawn("./no/such/program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, home, &inter,
                             codes),
              MPI_ERR_SPAWN, "no program ./no/such/program");
    T_OK(inter == MPI_COMM_NULL);
    T_EQ(codes[0], MPI_ERR_SPAWN);
    T_EQ(codes[1], MPI_ERR_SPAWN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "host", "no.such.host");
    T_REFUSED(MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, info, 0, home, &inter, MPI_ERRCODES_IGNORE),
              MPI_ERR_SPAWN, "no.such.host");
    MPI_Info_free(&info);
    T_REFUSED(MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 99, home, &inter,
                             MPI_ERRCODES_IGNORE),
              MPI_ERR_ROOT, "99");
    T_REFUSED(MPI_Comm_spawn(self, MPI_ARGV_NULL, 100000, MPI_INFO_NULL, 0, home, &inter,
                             MPI_ERRCODES_IGNORE),
              MPI_ERR_SPAWN, "100000");
}

int main(int argc, char **argv)
{
    t_start(&argc, &argv);
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        return child(argc, argv, parent);
    }
    home = t_home();
    char dir[4096], *slash;
    snprintf(dir, sizeof dir, "%s", argv[0]);
    slash = strrchr(dir, '/');
    T_MUST(slash != NULL);
    *slash = '\0';
    plain(argv[0], 1);
    plain(argv[0], 3);
    several(argv[0]);
    hints(argv[0], slash + 1, dir);
    hint_file(argv[0]);
    soft(argv[0]);
    codes_of_parts(argv[0]);
    stillborn(argv[0]);
    refuse(argv[0]);
    MPI_Comm inter;
    char *args[] = { "again", NULL };
    T_MPI(MPI_Comm_spawn(argv[0], args, 2, MPI_INFO_NULL, 0, home, &inter, MPI_ERRCODES_IGNORE));
    exchange(inter);
    merge(inter, 0);
    T_MPI(MPI_Comm_disconnect(&inter));
    MPI_Comm_free(&home);
    return t_end();
}
