// SPDX-License-Identifier: BSD-3-Clause
// What IMPI cannot carry: a sentence on a communicator that spans MPI jobs, at every rank and
// before anybody waits; the usual on one inside a job. tests/tool/impi_api.py sees that no function
// is forgotten.
#include <mpi.h>

#include "obj.h"

#include <unistd.h>

enum { N_PART = 4 };

static int rank, size, per_job;
static int is_span;
static MPI_Comm world, mine; // with errors returned; mine: of this job

// It failed for this reason.
static void must_refuse(int code, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;
    T_OK(code != MPI_SUCCESS);
    MPI_Error_string(code, text, &len);
    T_HAS(text, call);
    T_HAS(text, "IMPI");
}

static int far_of(MPI_Comm c)
{
    int n, r;
    MPI_Comm_size(c, &n);
    MPI_Comm_rank(c, &r);
    return n - 1 - r; // of the world: in the other job
}

static void endpoints(void)
{
    MPI_Comm ep[2];
    int n, r;
    if (is_span) {
        must_refuse(MPI_Comm_create_endpoints(world, 2, MPI_INFO_NULL, ep),
                    "MPI_Comm_create_endpoints");
        must_refuse(MPIX_Comm_create_endpoints_ranked(world, 2, (int[]){ 2 * rank, 2 * rank + 1 },
                                                      MPI_INFO_NULL, ep),
                    "MPIX_Comm_create_endpoints_ranked");
    }
    T_EQ(MPI_Comm_create_endpoints(mine, 2, MPI_INFO_NULL, ep), MPI_SUCCESS);
    MPI_Comm_size(ep[1], &n);
    MPI_Comm_rank(ep[1], &r);
    T_EQ(n, 2 * per_job);
    T_EQ(r, 2 * (rank % per_job) + 1);
    MPI_Comm_free(&ep[0]);
    MPI_Comm_free(&ep[1]);
}

static void partitions(void)
{
    int out[N_PART], in[N_PART] = { 0 }, to = far_of(world);
    MPI_Request q[2];
    if (is_span) {
        must_refuse(MPI_Psend_init(out, N_PART, 1, MPI_INT, to, 0, world, MPI_INFO_NULL, q),
                    "MPI_Psend_init");
        must_refuse(MPI_Precv_init(in, N_PART, 1, MPI_INT, to, 0, world, MPI_INFO_NULL, q),
                    "MPI_Precv_init");
    }
    to = far_of(mine);
    T_EQ(MPI_Psend_init(out, N_PART, 1, MPI_INT, to, 0, mine, MPI_INFO_NULL, &q[0]), MPI_SUCCESS);
    T_EQ(MPI_Precv_init(in, N_PART, 1, MPI_INT, to, 0, mine, MPI_INFO_NULL, &q[1]), MPI_SUCCESS);
    MPI_Startall(2, q);
    for (int i = 0; i < N_PART; i++) {
        out[i] = 10 * rank + i;
        MPI_Pready(i, q[0]);
    }
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    int peer = rank / per_job * per_job + to;
    for (int i = 0; i < N_PART; i++) {
        T_EQ(in[i], 10 * peer + i);
    }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
}

static void survivors(void)
{
    MPI_Comm fewer;
    MPI_Request later;
    int flag = rank == 0 ? 6 : 7, n, m;
    if (is_span) {
        must_refuse(MPIX_Comm_agree(world, &flag), "MPIX_Comm_agree");
        must_refuse(MPIX_Comm_shrink(world, &fewer), "MPIX_Comm_shrink");
        must_refuse(MPIX_Comm_iagree(world, &flag, &later), "MPIX_Comm_iagree");
        must_refuse(MPIX_Comm_ishrink(world, &fewer, &later), "MPIX_Comm_ishrink");
        must_refuse(MPIX_Comm_revoke(world), "MPIX_Comm_revoke");
    }
    T_EQ(MPIX_Comm_agree(mine, &flag), MPI_SUCCESS);
    T_EQ(flag, rank < per_job ? 6 : 7);
    T_EQ(MPIX_Comm_iagree(mine, &flag, &later), MPI_SUCCESS);
    T_EQ(MPI_Wait(&later, MPI_STATUS_IGNORE), MPI_SUCCESS);
    T_EQ(flag, rank < per_job ? 6 : 7);
    T_EQ(MPIX_Comm_ishrink(mine, &fewer, &later), MPI_SUCCESS);
    T_EQ(MPI_Wait(&later, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Comm_free(&fewer);
    T_EQ(MPIX_Comm_shrink(mine, &fewer), MPI_SUCCESS);
    MPI_Comm_size(fewer, &n);
    MPI_Comm_size(mine, &m);
    T_EQ(n, m);
    MPI_Comm_free(&fewer);
}

// New processes and other jobs: span_dynamic shows that a communicator inside the job has them.
static void others(void)
{
    MPI_Comm inter;
    char *names[] = { "true" };
    int one[] = { 1 }, flag;
    MPI_Info none[] = { MPI_INFO_NULL };
    must_refuse(MPIX_Checkpoint(world, &flag), "MPIX_Checkpoint");
    must_refuse(MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, world, &inter,
                               MPI_ERRCODES_IGNORE),
                "MPI_Comm_spawn");
    must_refuse(MPI_Comm_spawn_multiple(1, names, MPI_ARGVS_NULL, one, none, 0, world, &inter,
                                        MPI_ERRCODES_IGNORE),
                "MPI_Comm_spawn_multiple");
    must_refuse(MPI_Comm_accept("any", MPI_INFO_NULL, 0, world, &inter), "MPI_Comm_accept");
    must_refuse(MPI_Comm_connect("any", MPI_INFO_NULL, 0, world, &inter), "MPI_Comm_connect");
}

static void files(void)
{
    char path[64];
    MPI_File f;
    int x = rank, y = -1;
    // those of several jobs: span_file
    snprintf(path, sizeof path, "/tmp/span_refuse.%d", (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, mine);
    T_EQ(MPI_File_open(mine, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                       MPI_INFO_NULL, &f),
         MPI_SUCCESS);
    T_EQ(MPI_File_write_at_all(f, rank % per_job * 4, &x, 1, MPI_INT, MPI_STATUS_IGNORE), 0);
    T_EQ(MPI_File_read_at_all(f, rank % per_job * 4, &y, 1, MPI_INT, MPI_STATUS_IGNORE), 0);
    T_EQ(y, rank);
    T_EQ(MPI_File_close(&f), MPI_SUCCESS);
}

static void windows(void)
{
    int own[2] = { rank, -1 }, *shared, per = per_job;
    void *base;
    MPI_Win win;
    if (is_span) { // the others can be: span_window
        T_REFUSED(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, world, &base, &win),
                  MPI_ERR_RMA_SHARED, "MPI_Win_allocate_shared");
    }
    T_EQ(MPI_Win_allocate(sizeof *shared, sizeof *shared, MPI_INFO_NULL, mine, &shared, &win),
         MPI_SUCCESS);
    MPI_Win_fence(0, win);
    MPI_Put(own, 1, MPI_INT, (rank % per + 1) % per, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    T_EQ(*shared, rank / per * per + (rank % per + per - 1) % per);
    MPI_Win_free(&win);
}

// Of the job as a whole: inside it they say what they say in any job that was not started for them.
static void whole(void)
{
    int n, flag, plan;
    if (is_span) {
        must_refuse(MPIX_World_resize(world, size + 1), "MPIX_World_resize");
        must_refuse(MPIX_World_resize_with_info(world, size + 1, MPI_INFO_NULL),
                    "MPIX_World_resize_with_info");
        must_refuse(MPIX_Plan_create_block(world, world, 9, &plan), "MPIX_Plan_create_block");
        must_refuse(MPIX_Plan_create_cyclic(world, world, 9, 1, &plan), "MPIX_Plan_create_cyclic");
        must_refuse(MPIX_Plan_create_irregular(world, world, 0, NULL, NULL, 0, NULL, NULL, &plan),
                    "MPIX_Plan_create_irregular");
        must_refuse(MPIX_Comm_migrate(world, 0, "elsewhere"), "MPIX_Comm_migrate");
        T_OK(MPI_Fork(1) < 0);
    }
    MPI_Comm_size(mine, &n);
    T_REFUSED(MPIX_World_resize(mine, n + 1), MPI_ERR_SPAWN, "--elastic");
    T_REFUSED(MPIX_Checkpoint(mine, &flag), MPI_ERR_UNSUPPORTED_OPERATION, "--checkpoint-dir");
}

int main(int argc, char **argv)
{
    int *color, *n_job, flag, n;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_attr(MPI_COMM_WORLD, IMPI_CLIENT_COLOR, &color, &flag);
    MPI_Comm_get_attr(MPI_COMM_WORLD, IMPI_CLIENT_SIZE, &n_job, &flag);
    is_span = *n_job > 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_split(MPI_COMM_WORLD, *color, rank, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); // of what has no communicator
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN);
    MPI_Comm_size(mine, &n);
    T_EQ(n * *n_job, size); // over jobs of as many ranks
    per_job = n;
    endpoints();
    partitions();
    survivors();
    windows();
    files();
    if (is_span) {
        others();
    }
    whole();
    // Nothing of it did any harm.
    int sum = 0;
    T_EQ(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world), MPI_SUCCESS);
    T_EQ(sum, size * (size - 1) / 2);
    MPI_Comm_free(&world);
    MPI_Comm_free(&mine);
    MPI_Finalize();
    return t_status();
}
