// SPDX-License-Identifier: BSD-3-Clause
// Splitting by the hardware of a made-up machine whose packages hold one real processor each: who
// shares a package is then known. One process of a node asks hwloc, the others do not load it.
#include "comm.h"

#include <sched.h>

static int mates[64], n_mate, cpu[2];

static void find_cpus(void)
{
    cpu_set_t mask;
    int n = 0;
    T_MUST(sched_getaffinity(0, sizeof mask, &mask) == 0);
    for (int i = 0; i < CPU_SETSIZE && n < 2; i++) {
        if (CPU_ISSET(i, &mask)) {
            cpu[n++] = i;
        }
    }
    if (n < 2) {
        printf("skipped: one processor cannot be two packages\n");
        exit(77);
    }
}

// Two packages of two memory nodes; the processors beside the two real ones exist in words only.
static void make_machine(void)
{
    char text[128];
    snprintf(text, sizeof text, "pack:2 numa:2 l3:1 core:1 pu:1(indexes=%d,5001,%d,5002)", cpu[0],
             cpu[1]);
    setenv("HWLOC_SYNTHETIC", text, 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
}

static void bind_to(int first, int last)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu[first], &set);
    CPU_SET(cpu[last], &set);
    T_MUST(sched_setaffinity(0, sizeof set, &set) == 0);
}

static int has_hwloc(void)
{
    char line[512];
    int found = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    T_MUST(f != NULL);
    while (fgets(line, sizeof line, f) != NULL) {
        found |= strstr(line, "libhwloc.so") != NULL;
    }
    fclose(f);
    return found;
}

static MPI_Comm split(MPI_Comm of, int type, const char *what)
{
    MPI_Info info;
    MPI_Comm c;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", what);
    T_MPI(MPI_Comm_split_type(of, type, 0, info, &c));
    MPI_Info_free(&info);
    return c;
}

static void together(int type, const char *what, const int want[], int n)
{
    MPI_Comm c = split(MPI_COMM_WORLD, type, what);
    c_intra(c, want, n);
    MPI_Comm_free(&c);
}

static void nowhere(const char *what)
{
    T_OK(split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, what) == MPI_COMM_NULL);
}

static void unguided(void)
{
    MPI_Info info;
    MPI_Comm c, none;
    char what[64] = "";
    int flag;
    MPI_Info_create(&info);
    T_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &c));
    MPI_Info_get(info, "mpi_hw_resource_type", 63, what, &flag);
    if (world_size == 1) {
        T_OK(c == MPI_COMM_NULL && !flag);
    } else {
        T_STR(what, "hwloc://Package");
        c_intra(c, mates, n_mate);
        MPI_Info_delete(info, "mpi_hw_resource_type");
        T_MPI(MPI_Comm_split_type(c, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &none));
        T_OK(none == MPI_COMM_NULL); // all are bound alike
        MPI_Info_get(info, "mpi_hw_resource_type", 63, what, &flag);
        T_EQ(flag, 0);
        MPI_Comm_free(&c);
    }
    MPI_Info_free(&info);
}

static void told(const char *key, const char *want)
{
    MPI_Info info;
    char value[16] = "none";
    int flag;
    T_MPI(MPI_Get_hw_resource_info(&info));
    T_MPI(MPI_Info_get(info, key, 15, value, &flag));
    T_STR(value, want);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    int all[64];
    find_cpus();
    c_start(&argc, &argv);
    T_OK(T_IS_ENDPOINT || !has_hwloc());
    for (int i = 0; i < world_size; i++) {
        all[i] = i;
        if (i % 2 == world_rank % 2) {
            mates[n_mate++] = i;
        }
    }
    make_machine();
    bind_to(world_rank % 2, world_rank % 2);
    together(MPI_COMM_TYPE_HW_GUIDED, "hwloc://Package", mates, n_mate);
    T_OK(T_IS_ENDPOINT || has_hwloc() == (world_rank == 0));
    together(MPI_COMM_TYPE_HW_GUIDED, "NUMANode", mates, n_mate);
    together(MPI_COMM_TYPE_RESOURCE_GUIDED, "hwloc://NUMANode", mates, n_mate);
    together(MPI_COMM_TYPE_RESOURCE_GUIDED, "hwloc://l3cache", mates, n_mate);
    together(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_shared_memory", all, world_size);
    together(MPI_COMM_TYPE_HW_GUIDED, "hwloc://Machine", all, world_size);
    nowhere("hwloc://L2Cache"); // this machine has none
    nowhere("hwloc://Die");
    T_OK(T_IS_ENDPOINT || has_hwloc() == (world_rank == 0));
    unguided();
    bind_to(0, 1);
    nowhere("hwloc://Package"); // in both
    told("hwloc://Package", "false");
    told("hwloc://Machine", "true");
    told("hwloc://L2Cache", "none");
    bind_to(1, 1);
    told("hwloc://Package", "true");
    together(MPI_COMM_TYPE_HW_GUIDED, "hwloc://Package", all, world_size);
    return t_end();
}
