// SPDX-License-Identifier: BSD-3-Clause
// join_probe SIZE KEY=VALUE...: the world becomes SIZE ranks, by hints that say where; each rank
// tells its host, and finds the name that rank 0 has published before. After a refusal, which is
// told, the world is what it was and works.
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void tell(MPI_Comm world)
{
    int rank, size, sum, len, one = 1;
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Get_processor_name(name, &len);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
    printf("rank %d of %d (%d) on %s\n", rank, size, sum, name);
}

static void publish(char *port)
{
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name("join_probe", MPI_INFO_NULL, port);
}

static void take_back(const char *port)
{
    MPI_Unpublish_name("join_probe", MPI_INFO_NULL, port);
    MPI_Close_port(port);
}

static void find(MPI_Comm world, const char *mine)
{
    char port[MPI_MAX_PORT_NAME] = "", first[MPI_MAX_PORT_NAME];
    memcpy(first, mine, sizeof first);
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, world);
    MPI_Lookup_name("join_probe", MPI_INFO_NULL, port);
    printf("the port is %s\n", strcmp(port, first) == 0 ? "found" : "another");
    MPI_Barrier(world);
}

int main(int argc, char **argv)
{
    int version, rank;
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm now;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPIX_World_version(&version);
    bool has_published = version == 0 && rank == 0;
    if (has_published) {
        publish(port);
    }
    if (version == 0) {
        MPI_Info info;
        MPI_Info_create(&info);
        for (int i = 2; i < argc; i++) {
            char *eq = strchr(argv[i], '=');
            *eq = '\0';
            MPI_Info_set(info, argv[i], eq + 1);
            *eq = '=';
        }
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        int err = MPIX_World_resize_with_info(MPI_COMM_WORLD, atoi(argv[1]), info);
        if (err != MPI_SUCCESS) {
            char text[MPI_MAX_ERROR_STRING];
            int len;
            MPI_Error_string(err, text, &len);
            printf("refused: %s\n", text);
        }
        MPI_Info_free(&info);
    }
    MPIX_World_version(&version);
    MPIX_Comm_world_at(version, &now);
    tell(now);
    find(now, port);
    if (has_published) {
        take_back(port);
    }
    MPI_Finalize();
    return 0;
}
