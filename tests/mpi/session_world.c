// SPDX-License-Identifier: BSD-3-Clause
// Programs without MPI_Init whose world changes. "resize": 2 ranks, then 5, then 3. "respawn": rank
// 1 dies, and another process takes its place. "spawn": they start three more, which have a world
// of their own and find their parents; of these one begins a second session, and one calls
// MPI_Init. Old and new ranks mean the same by the names of process sets. A second argument: on
// several hosts. Needs mpiexec --elastic 1:6 -n 2, or --on-failure=respawn -n 3.
#include "session.h"

#include <signal.h>
#include <unistd.h>

static MPI_Session session;
static int has_hosts; // several

static void same_sets(const char *a, const char *b)
{
    MPI_Group x = s_group(session, a), y = s_group(session, b);
    int result;
    T_MPI(MPI_Group_compare(x, y, &result));
    T_EQ(result, MPI_IDENT);
    MPI_Group_free(&x);
    MPI_Group_free(&y);
}

// Whether this process finds a set of this beginning among its own, whose name goes to `full`.
static int lists(const char *begin, char full[MPI_MAX_PSET_NAME_LEN])
{
    int n = 0;
    T_MPI(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    for (int i = 0; i < n; i++) {
        int len = MPI_MAX_PSET_NAME_LEN;
        T_MPI(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, full));
        if (strncmp(full, begin, strlen(begin)) == 0) {
            return 1;
        }
    }
    return 0;
}

// A set keeps its number, however the world changes.
static void check_numbers(void)
{
    static char seen[64][64];
    static int n_seen;
    char full[MPI_MAX_PSET_NAME_LEN];
    int n;
    T_MPI(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    T_OK(n >= n_seen);
    for (int i = 0; i < n && i < 64; i++) {
        int len = MPI_MAX_PSET_NAME_LEN;
        T_MPI(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, full));
        if (i < n_seen) {
            T_STR(full, seen[i]);
        } else {
            snprintf(seen[i], sizeof seen[i], "%.63s", full);
            n_seen++;
        }
    }
}

// Sets of hosts and their parts have only ranks of the newest world.
static void check_parts(void)
{
    char full[MPI_MAX_PSET_NAME_LEN];
    MPI_Group world = s_group(session, "mpi://WORLD"), part, others;
    int n, n_other;
    T_MPI(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    for (int i = 0; i < n; i++) {
        int len = MPI_MAX_PSET_NAME_LEN;
        T_MPI(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, full));
        if (strncmp(full, "mpi://hw/", 9) == 0) {
            part = s_group(session, full);
            T_MPI(MPI_Group_difference(part, world, &others));
            T_MPI(MPI_Group_size(others, &n_other));
            T_EQ(n_other, 0);
            MPI_Group_free(&part);
            MPI_Group_free(&others);
        }
    }
    MPI_Group_free(&world);
}

static void check_info(const char *set, const char *key, int want)
{
    MPI_Info info;
    char value[32] = "";
    int flag;
    T_MPI(MPI_Session_get_pset_info(session, set, &info));
    T_MPI(MPI_Info_get(info, key, 31, value, &flag));
    T_EQ(atoi(value), want);
    MPI_Info_free(&info);
}

// Ranks of one host that all have freed a set can use its name at once for another one, also where
// mpiexec, which is told of sets every 0.1 s, has heard of the first.
static void reuse_name(MPI_Group all, MPI_Comm c)
{
    MPI_Group first;
    T_MPI(MPI_Group_incl(all, 1, (int[]){ 0 }, &first));
    for (int i = 0; i < 16; i++) {
        T_MPI(MPIX_Pset_from_group(session, i % 2 == 0 ? all : first, "app://step"));
        usleep(10000);
        T_MPI(MPIX_Pset_free(session, "app://step"));
        T_MPI(MPI_Barrier(c));
    }
    MPI_Group_free(&first);
}

// All ranks of the version meet, and find the same.
static MPI_Comm enter(int version, int size)
{
    char name[64], full[MPI_MAX_PSET_NAME_LEN];
    MPI_Comm c = MPI_COMM_NULL;
    int one = 1, sum = 0;
    snprintf(name, sizeof name, "mpi://WORLD@%d", version + 1);
    MPI_Group group = s_group(session, name);
    T_MPI(MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_RETURN, &c));
    T_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c));
    T_EQ(sum, size);
    same_sets("mpi://WORLD", name);
    T_OK(lists("mpi://host/", full));
    if (!has_hosts) {
        same_sets(full, name);
        reuse_name(group, c);
    }
    T_OK(lists("mpi://app/0", full));
    same_sets("mpi://app/0", name);
    T_OK(version == 0 || lists(name, full));
    check_numbers();
    check_parts();
    check_info("mpi://WORLD", "mpi_size", size);
    check_info("mpi://WORLD", "pliant_version", version + 1);
    check_info("mpi://app/0", "mpi_size", size);
    T_MPI(MPI_Barrier(c));
    MPI_Group_free(&group);
    return c;
}

static void await(int version)
{
    for (int now = -1; now < version;) {
        MPIX_World_version(&now);
        usleep(1000);
    }
}

static void leave(MPI_Comm c)
{
    int is_leaving = 0, rank;
    MPI_Group world = s_group(session, "mpi://WORLD");
    MPI_Group_rank(world, &rank);
    T_EQ(rank, MPI_UNDEFINED);
    T_MPI(MPIX_World_leaving(&is_leaving));
    T_EQ(is_leaving, 1);
    MPI_Group_free(&world);
    MPI_Comm_free(&c);
}

static void resize(int version)
{
    int rank;
    MPI_Comm c;
    if (version == 0) {
        c = enter(0, 2);
        T_MPI(MPIX_World_resize(c, 5));
        await(1);
        MPI_Comm_free(&c);
    }
    c = enter(1, 5);
    MPI_Comm_rank(c, &rank);
    T_MPI(MPIX_World_resize(c, 3));
    await(2);
    if (rank >= 3) {
        leave(c);
        return;
    }
    MPI_Comm_free(&c);
    c = enter(2, 3);
    MPI_Comm_free(&c);
}

static void respawn(int version)
{
    MPI_Comm c;
    int rank;
    if (version == 0) {
        c = enter(0, 3);
        MPI_Comm_rank(c, &rank);
        if (rank == 1) { // when all others are done
            MPI_Recv(NULL, 0, MPI_INT, 0, 0, c, MPI_STATUS_IGNORE);
            MPI_Recv(NULL, 0, MPI_INT, 2, 0, c, MPI_STATUS_IGNORE);
            raise(SIGKILL);
        }
        MPI_Send(NULL, 0, MPI_INT, 1, 0, c);
        await(1);
        MPI_Comm_free(&c);
    }
    c = enter(1, 3);
    MPI_Comm_rank(c, &rank);
    T_EQ(version > 0, rank == 1); // it has the number of the one who died
    MPI_Comm_free(&c);
}

enum { N_CHILD = 3 };

static void spawn(char *program)
{
    char *args[] = { "child", NULL };
    MPI_Comm c = s_comm(session, "mpi://WORLD", "parents"), children;
    int rank, n = 0, sum = 0, mine;
    MPI_Comm_rank(c, &rank);
    T_MUST(MPI_Comm_spawn(program, args, N_CHILD, MPI_INFO_NULL, 0, c, &children,
                          MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    MPI_Comm_remote_size(children, &n);
    T_EQ(n, N_CHILD);
    mine = rank + 1;
    T_MPI(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, children));
    T_EQ(sum, 10 + 20 + 30);
    T_MPI(MPI_Comm_disconnect(&children));
    MPI_Comm_free(&c);
}

static void child(void)
{
    MPI_Session second;
    MPI_Comm c = s_comm(session, "mpi://WORLD", "children"), parents = MPI_COMM_NULL;
    int rank, size, n = 0, sum = 0;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    T_EQ(size, N_CHILD);
    s_check(c, 4);
    if (rank == 1) {
        T_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second));
        T_MPI(MPI_Session_finalize(&second));
    } else if (rank == 2) {
        T_MPI(MPI_Init(NULL, NULL));
    }
    T_MPI(MPI_Comm_get_parent(&parents));
    T_MUST(parents != MPI_COMM_NULL);
    MPI_Comm_remote_size(parents, &n);
    T_EQ(n, 2);
    int mine = 10 * (rank + 1);
    T_MPI(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, parents));
    T_EQ(sum, 1 + 2);
    T_MPI(MPI_Comm_disconnect(&parents));
    MPI_Comm_free(&c);
    if (rank == 2) {
        T_MPI(MPI_Finalize());
    }
}

int main(int argc, char **argv)
{
    int version;
    T_MUST(argc == 2 || argc == 3);
    has_hosts = argc == 3;
    T_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    MPIX_World_version(&version);
    if (strcmp(argv[1], "resize") == 0) {
        resize(version);
    } else if (strcmp(argv[1], "spawn") == 0) {
        spawn(argv[0]);
    } else if (strcmp(argv[1], "child") == 0) {
        child();
    } else {
        respawn(version);
    }
    T_MPI(MPI_Session_finalize(&session));
    return t_status();
}
