// SPDX-License-Identifier: BSD-3-Clause
// Spawns itself and says where everybody is:
//
//     spawn_probe spawn COUNT[,COUNT...] [KEY=VALUE | /] ...   hints of a part, "/", of the next
//     spawn_probe hang                                         both sides wait for each other
//     spawn_probe sleep                                        all sleep once they have met
//
// What cannot be spawned is said as "refused: why".
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 8 };

static const char *get(const char *name)
{
    const char *value = getenv(name);
    return value != NULL ? value : "-";
}

// Both sides: everybody is heard by everybody.
static void meet(MPI_Comm inter, int is_high)
{
    MPI_Comm all;
    int rank, size, sum = 0;
    MPI_Intercomm_merge(inter, is_high, &all);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    int *ranks = calloc((size_t)size, sizeof *ranks);
    MPI_Allgather(&rank, 1, MPI_INT, ranks, 1, MPI_INT, all);
    for (int i = 0; i < size; i++) {
        sum += ranks[i] == i;
    }
    if (sum != size) {
        MPI_Abort(MPI_COMM_WORLD, 9);
    }
    free(ranks);
    MPI_Comm_disconnect(&all);
}

static int child(int argc, char **argv, MPI_Comm parent)
{
    int rank, size;
    char host[MPI_MAX_PROCESSOR_NAME], here[4096];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2 && strcmp(argv[2], "hang") == 0) {
        MPI_Recv(host, 1, MPI_CHAR, 0, 0, parent, MPI_STATUS_IGNORE);
    }
    gethostname(host, sizeof host);
    printf("child %d of %d part %s on %s in %s one=%s local %s of %s\n", rank, size, argv[2], host,
           getcwd(here, sizeof here), get("ONE"), get("PLIANT_LOCAL_RANK"),
           get("PLIANT_LOCAL_SIZE"));
    fflush(stdout);
    meet(parent, 1);
    if (argc > 2 && strcmp(argv[2], "sleep") == 0) {
        sleep(60);
    }
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}

// How many parts there are.
static int read_parts(char **argv, int *counts, MPI_Info *infos)
{
    int n = 0, at = 0;
    for (char *s = strtok(argv[2], ","); s != NULL && n < MOST; s = strtok(NULL, ",")) {
        counts[n] = atoi(s);
        MPI_Info_create(&infos[n++]);
    }
    for (char **word = argv + 3; *word != NULL && at < n; word++) {
        char *value = strchr(*word, '=');
        if (value == NULL) {
            at++;
            continue;
        }
        *value = '\0';
        MPI_Info_set(infos[at], *word, value + 1);
    }
    return n;
}

static void spawn(char **argv)
{
    MPI_Comm inter;
    MPI_Info infos[MOST];
    int counts[MOST], rank;
    static char numbers[MOST][12];
    static char *words[MOST][3];
    char *commands[MOST], **args[MOST];
    int n = read_parts(argv, counts, infos);
    for (int i = 0; i < n; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%d", i);
        words[i][0] = "child";
        words[i][1] = numbers[i];
        args[i] = words[i];
        char program[64] = "";
        int has = 0;
        MPI_Info_get(infos[i], "program", sizeof program - 1, program, &has);
        commands[i] = has ? strdup(program) : argv[0];
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int rc = MPI_Comm_spawn_multiple(n, commands, args, counts, infos, 0, MPI_COMM_WORLD, &inter,
                                     MPI_ERRCODES_IGNORE);
    if (rc != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING];
        int len;
        MPI_Error_string(rc, text, &len);
        if (rank == 0) {
            printf("refused: %s\n", text);
        }
        return;
    }
    meet(inter, 0);
    MPI_Comm_disconnect(&inter);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        return child(argc, argv, parent);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc > 2 && strcmp(argv[1], "spawn") == 0) {
        spawn(argv);
    } else if (argc > 1) {
        char *args[] = { "child", argv[1], NULL };
        MPI_Comm_spawn(argv[0], args, 4, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
        if (strcmp(argv[1], "hang") == 0) {
            char c;
            MPI_Recv(&c, 1, MPI_CHAR, 0, 0, inter, MPI_STATUS_IGNORE);
        }
        meet(inter, 0);
        sleep(60);
    }
    MPI_Finalize();
    return 0;
}
