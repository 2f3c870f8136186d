// SPDX-License-Identifier: BSD-3-Clause
// Ranks with known message queues, and a small debugger that shows them by libpliant_dbg.so.
#include "../../trace/message_queues.h"

#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LARGE = 1 << 20 };

// Both ranks end in calls that wait for ever.
static void run_rank(void)
{
    static char large[LARGE];
    int rank, room[10], value = 7;
    MPI_Comm posted, kept, half;
    MPI_Request r[3];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &posted);
    MPI_Comm_dup(MPI_COMM_WORLD, &kept);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half);
    MPI_Comm_set_name(posted, "posted");
    MPI_Comm_set_name(kept, "kept");
    MPI_Comm_set_name(half, "half");
    if (rank == 0) {
        MPI_Irecv(room, 10, MPI_INT, 1, 11, posted, &r[0]);
        MPI_Irecv(room, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, posted, &r[1]);
        MPI_Isend(large, LARGE, MPI_CHAR, 1, 31, kept, &r[2]);
        MPI_Probe(1, 22, kept, MPI_STATUS_IGNORE);
        printf("%d %s\n", (int)getpid(), "waits");
        fflush(stdout);
        MPI_Recv(&value, 1, MPI_INT, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(&value, 1, MPI_INT, 0, 21, kept);
        MPI_Send(large, 100, MPI_CHAR, 0, 22, kept);
        printf("%d %s\n", (int)getpid(), "sends");
        fflush(stdout);
        MPI_Ssend(&value, 1, MPI_INT, 0, 41, kept);
    }
}

// The debugger: one process, whose image has the symbols of the library.
static struct {
    pid_t pid;
    uintptr_t here, there; // where the library is
    mqs_image_info *image_info;
    mqs_process_info *process_info;
} target;

static int fetch(mqs_process *p, mqs_taddr_t from, int size, void *to)
{
    (void)p;
    struct iovec local = { to, (size_t)size }, remote = { (void *)from, (size_t)size };
    return process_vm_readv(target.pid, &local, 1, &remote, 1, 0) == size ? mqs_ok
                                                                          : mqs_no_information;
}

static void to_host(mqs_process *p, const void *from, void *to, int size)
{
    (void)p;
    memcpy(to, from, (size_t)size);
}

static int find_symbol(mqs_image *image, char *name, mqs_taddr_t *address)
{
    (void)image;
    void *at = dlsym(RTLD_DEFAULT, name);
    *address = (uintptr_t)at - target.here + target.there;
    return at != NULL ? mqs_ok : mqs_no_information;
}

static void get_sizes(mqs_process *p, mqs_target_type_sizes *s)
{
    (void)p;
    *s = (mqs_target_type_sizes){ sizeof(short), sizeof(int), sizeof(long), sizeof(long long),
                                  sizeof(void *) };
}

static mqs_image *get_image(mqs_process *p)
{
    return (mqs_image *)p;
}

static void put_image(mqs_image *i, mqs_image_info *info)
{
    (void)i;
    target.image_info = info;
}

static mqs_image_info *get_image_info(mqs_image *i)
{
    (void)i;
    return target.image_info;
}

static void put_process(mqs_process *p, mqs_process_info *info)
{
    (void)p;
    target.process_info = info;
}

static mqs_process_info *get_process_info(mqs_process *p)
{
    (void)p;
    return target.process_info;
}

static const mqs_basic_callbacks basic = {
    .mqs_malloc_fp = malloc,
    .mqs_free_fp = free,
    .mqs_put_image_info_fp = put_image,
    .mqs_get_image_info_fp = get_image_info,
    .mqs_put_process_info_fp = put_process,
    .mqs_get_process_info_fp = get_process_info,
};
static const mqs_image_callbacks of_image = { .mqs_get_type_sizes_fp = get_sizes,
                                              .mqs_find_symbol_fp = find_symbol };
static const mqs_process_callbacks of_process = { .mqs_get_image_fp = get_image,
                                                  .mqs_fetch_data_fp = fetch,
                                                  .mqs_target_to_host_fp = to_host };

// Where the other process has the library; 0: it has none.
static uintptr_t find_library(pid_t pid)
{
    char path[64], line[4096];
    unsigned long base = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(path, "r");
    while (f != NULL && base == 0 && fgets(line, sizeof line, f) != NULL) {
        if (strstr(line, "/libmpi_abi.so") != NULL) {
            sscanf(line, "%lx", &base);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return base;
}

#define CALL(library, name) ((__typeof__(name) *)dlsym(library, #name))

static void show_queue(void *library, mqs_process *p, int what, const char *name)
{
    mqs_pending_operation o;
    if (CALL(library, mqs_setup_operation_iterator)(p, what) != mqs_ok) {
        return;
    }
    while (CALL(library, mqs_next_operation)(p, &o) == mqs_ok) {
        printf("%s rank %ld of the world %ld tag %ld%s bytes %ld\n", name, o.desired_local_rank,
               o.desired_global_rank, o.tag_wild ? -1 : o.desired_tag, o.tag_wild ? " any" : "",
               o.desired_length);
    }
}

static int show(pid_t pid)
{
    static char name[4096];
    mqs_process *p = (mqs_process *)&target;
    mqs_taddr_t at;
    Dl_info it;
    target.pid = pid;
    target.there = find_library(pid);
    if (target.there == 0 || dladdr(dlsym(RTLD_DEFAULT, "MPIR_dll_name"), &it) == 0) {
        printf("process %d has no library of ours\n", (int)pid);
        return 1;
    }
    target.here = (uintptr_t)it.dli_fbase;
    find_symbol(NULL, (char *)"MPIR_dll_name", &at);
    if (fetch(p, at, sizeof name - 1, name) != mqs_ok) {
        printf("cannot read process %d: %s\n", (int)pid, strerror(errno));
        return 77;
    }
    void *library = dlopen(name, RTLD_NOW);
    char *message;
    if (library == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    CALL(library, mqs_setup_basic_callbacks)(&basic);
    printf("interface %d\n", CALL(library, mqs_version_compatibility)());
    int code = CALL(library, mqs_setup_image)((mqs_image *)p, &of_image);
    code = code != 0 ? code : CALL(library, mqs_image_has_queues)((mqs_image *)p, &message);
    code = code != 0 ? code : CALL(library, mqs_setup_process)(p, &of_process);
    code = code != 0 ? code : CALL(library, mqs_process_has_queues)(p, &message);
    code = code != 0 ? code : CALL(library, mqs_update_communicator_list)(p);
    if (code != mqs_ok) {
        printf("%s\n", CALL(library, mqs_dll_error_string)(code));
        return 1;
    }
    code = CALL(library, mqs_setup_communicator_iterator)(p);
    for (; code == mqs_ok; code = CALL(library, mqs_next_communicator)(p)) {
        mqs_communicator c;
        int ranks[64] = { 0 };
        CALL(library, mqs_get_communicator)(p, &c);
        CALL(library, mqs_get_comm_group)(p, ranks);
        printf("communicator %s rank %ld of %ld, its last is %d of the world\n", c.name,
               c.local_rank, c.size, ranks[c.size - 1]);
        show_queue(library, p, mqs_pending_receives, "posted");
        show_queue(library, p, mqs_unexpected_messages, "unexpected");
        show_queue(library, p, mqs_pending_sends, "send");
    }
    CALL(library, mqs_destroy_process_info)(target.process_info);
    CALL(library, mqs_destroy_image_info)(target.image_info);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        return show((pid_t)atoi(argv[1]));
    }
    MPI_Init(&argc, &argv);
    run_rank();
    MPI_Finalize();
    return 0;
}
