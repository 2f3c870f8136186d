// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split_type: shared memory, hardware named and not, process sets, ranks that stay out,
// and what MPI_Get_hw_resource_info tells.
#include "comm.h"
#include "host.h"

#include <sched.h>

static int all[64], n_cpu;

// The ranks of this host from `first` on.
static int here(int want[], int first)
{
    int n = 0;
    for (int i = first; i < world_size; i++) {
        if (h_host[i] == h_mine) {
            want[n++] = i;
        }
    }
    return n;
}

static void shared(void)
{
    MPI_Comm c;
    int up[64], want[64], n = here(up, 0);
    for (int i = 0; i < n; i++) {
        want[i] = up[n - 1 - i];
    }
    T_MPI(
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -world_rank, MPI_INFO_NULL, &c));
    c_intra(c, want, n);
    MPI_Comm_free(&c);
}

static MPI_Info info_with(const char *key, const char *value)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    return info;
}

// Bind rank i to the (i mod n)-th of the processors we may use; the model is then known.
static int bind(void)
{
    cpu_set_t mask, one;
    int cpu[2], n = 0;
    T_MUST(sched_getaffinity(0, sizeof mask, &mask) == 0);
    for (int i = 0; i < CPU_SETSIZE && n < 2; i++) {
        if (CPU_ISSET(i, &mask)) {
            cpu[n++] = i;
        }
    }
    CPU_ZERO(&one);
    CPU_SET(cpu[world_rank % n], &one);
    T_MUST(sched_setaffinity(0, sizeof one, &one) == 0);
    return n;
}

// Ranks bound to the caller's processor, on its host.
static int mates(int want[], int skip)
{
    int n = 0;
    for (int i = 0; i < world_size; i++) {
        if (i % n_cpu == world_rank % n_cpu && i != skip && h_host[i] == h_mine) {
            want[n++] = i;
        }
    }
    return n;
}

static void guided(const char *what, int type)
{
    MPI_Info info = info_with("mpi_hw_resource_type", what);
    int want[64], n = mates(want, -1);
    MPI_Comm c;
    T_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &c));
    c_intra(c, want, n);
    MPI_Comm_free(&c);
    MPI_Info_free(&info);
}

static void whole(const char *what)
{
    MPI_Info info = info_with("mpi_hw_resource_type", what);
    MPI_Comm c;
    int want[64], n = here(want, 0);
    T_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &c));
    c_intra(c, want, n);
    MPI_Comm_free(&c);
    MPI_Info_free(&info);
}

static void nothing(int type, MPI_Info info)
{
    MPI_Comm c;
    T_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &c));
    T_OK(c == MPI_COMM_NULL);
    if (info != MPI_INFO_NULL) {
        MPI_Info_free(&info);
    }
}

// Children are smaller at every step until nothing divides them any more.
static void unguided(void)
{
    MPI_Comm c, at = MPI_COMM_WORLD;
    int before = world_size, size, steps = 0;
    while (1) {
        MPI_Info info;
        char what[64] = "";
        int flag;
        MPI_Info_create(&info);
        T_MPI(MPI_Comm_split_type(at, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &c));
        MPI_Info_get(info, "mpi_hw_resource_type", 63, what, &flag);
        T_EQ(flag, c != MPI_COMM_NULL);
        MPI_Info_free(&info);
        if (at != MPI_COMM_WORLD) {
            MPI_Comm_free(&at);
        }
        if (c == MPI_COMM_NULL) {
            break;
        }
        T_HAS(what, "hwloc://");
        MPI_Comm_size(c, &size);
        T_OK(size < before);
        before = size;
        at = c;
        steps++;
    }
    T_OK(steps > 0 || n_cpu == 1 || world_size == 1);
    int want[64];
    T_EQ(before, mates(want, -1));
}

// Rank 0 stays out of every kind.
static void stays_out(void)
{
    static const int types[] = { MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_GUIDED,
                                 MPI_COMM_TYPE_HW_UNGUIDED };
    for (int i = 0; i < 3; i++) {
        MPI_Info info = info_with("mpi_hw_resource_type", "hwloc://PU");
        MPI_Comm c;
        T_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, world_rank == 0 ? MPI_UNDEFINED : types[i], 0,
                                  info, &c));
        // Without a guide the hosts are what divides the ranks first.
        int is_by_host = types[i] == MPI_COMM_TYPE_SHARED ||
                         (types[i] == MPI_COMM_TYPE_HW_UNGUIDED && h_count > 1);
        int want[64], n = is_by_host ? here(want, 1) : mates(want, 0);
        if (world_rank == 0) {
            T_OK(c == MPI_COMM_NULL);
        } else if (types[i] == MPI_COMM_TYPE_SHARED ||
                   (is_by_host && h_host[1] != h_host[world_size - 1])) {
            c_intra(c, want, n);
        } else if (types[i] == MPI_COMM_TYPE_HW_GUIDED || (n_cpu > 1 && world_size > 2)) {
            c_intra(c, want, n);
        }
        if (c != MPI_COMM_NULL) {
            MPI_Comm_free(&c);
        }
        MPI_Info_free(&info);
    }
}

static void psets(void)
{
    MPI_Comm c;
    MPI_Info info = info_with("mpi_pset_name", "mpi://SELF");
    T_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &c));
    c_intra(c, &world_rank, 1);
    MPI_Comm_free(&c);
    MPI_Info_set(info, "mpi_pset_name", "mpi://WORLD");
    T_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &c));
    c_intra(c, all, world_size);
    MPI_Comm_free(&c);
    MPI_Info_free(&info);
    nothing(MPI_COMM_TYPE_RESOURCE_GUIDED, info_with("mpi_pset_name", "app://nobody"));
}

static void told(const char *key, const char *want)
{
    MPI_Info info;
    char value[16] = "";
    int flag;
    T_MPI(MPI_Get_hw_resource_info(&info));
    T_MPI(MPI_Info_get(info, key, 15, value, &flag));
    T_EQ(flag, 1);
    T_STR(value, want);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    MPI_Comm c = MPI_COMM_NULL;
    c_start(&argc, &argv);
    for (int i = 0; i < world_size; i++) {
        all[i] = i;
    }
    h_find(MPI_COMM_WORLD);
    shared();
    n_cpu = bind();
    guided("hwloc://PU", MPI_COMM_TYPE_HW_GUIDED);
    guided("PU", MPI_COMM_TYPE_HW_GUIDED);
    guided("hwloc://pu", MPI_COMM_TYPE_RESOURCE_GUIDED);
    whole("hwloc://Machine");
    whole("mpi_shared_memory");
    nothing(MPI_COMM_TYPE_HW_GUIDED, MPI_INFO_NULL);
    nothing(MPI_COMM_TYPE_HW_GUIDED, info_with("mpi_hw_resource_type", "hwloc://Toaster"));
    nothing(MPI_UNDEFINED, MPI_INFO_NULL);
    unguided();
    stays_out();
    psets();
    told("hwloc://Machine", "true");
    told("hwloc://PU", "true");
    T_REFUSED(MPI_Comm_split_type(MPI_COMM_WORLD, 12345, 0, MPI_INFO_NULL, &c), MPI_ERR_ARG,
              "split_type is 12345");
    return t_end();
}
