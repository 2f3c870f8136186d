// SPDX-License-Identifier: BSD-3-Clause
// join_probe SIZE KEY=VALUE...: the world becomes SIZE ranks, by hints that say where; each rank
// tells its host. After a refusal, which is told, the world is what it was and works.
#include <mpi.h>
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

int main(int argc, char **argv)
{
    int version;
    MPI_Comm now;
    MPI_Init(&argc, &argv);
    MPIX_World_version(&version);
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
    MPI_Finalize();
    return 0;
}
