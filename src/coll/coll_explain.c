// SPDX-License-Identifier: BSD-3-Clause
// Tells which algorithm a collective takes, once for each communicator, operation and class of
// sizes.
#include "coll/coll_explain.h"

#include "base/conf.h"
#include "base/log.h"
#include "obj/comm.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { N_SEEN = 4096, FULL = N_SEEN / 2 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static uint64_t seen[N_SEEN]; // what was told, 0: free; guarded
static int n_seen;

bool pli_coll_explain_open(void)
{
    return strcmp(pli_conf.log, "coll") == 0;
}

static int class_of(MPI_Count bytes)
{
    int i = 0;
    while (bytes > 0) {
        bytes >>= 1;
        i++;
    }
    return i;
}

bool pli_coll_explain_is_new(const struct pli_comm *comm, int kind, bool is_blocking,
                             MPI_Count bytes, const void *algorithm)
{
    uint64_t key = comm->context ^ (uint64_t)(uintptr_t)algorithm << 20;
    uint64_t more = (uint64_t)kind << 8 | (uint64_t)class_of(bytes) << 1 | is_blocking;
    key = (key * 0x9e3779b97f4a7c15u ^ more) * 0xbf58476d1ce4e5b9u | 1;
    pthread_mutex_lock(&guard);
    uint64_t i = (key >> 20) % N_SEEN;
    while (seen[i] != 0 && seen[i] != key) {
        i = (i + 1) % N_SEEN;
    }
    bool is_new = seen[i] == 0 && n_seen < FULL;
    if (is_new) {
        seen[i] = key;
        n_seen++;
    }
    bool is_last = is_new && n_seen == FULL;
    pthread_mutex_unlock(&guard);
    if (is_last) {
        pli_log(PLI_COLL, "%d choices were told; more are not", (int)FULL);
    }
    return is_new;
}

void pli_coll_explain_tell(const struct pli_comm *comm, const char *operation, bool is_blocking,
                           MPI_Count bytes, const char *algorithm, const char *why,
                           const char *passed)
{
    pli_log(PLI_COLL, "%s%s of %lld bytes on %s, %d ranks: %s, because %s%s%s%s",
            is_blocking ? "" : "nonblocking ", operation, (long long)bytes, pli_comm_say(comm),
            comm->size, algorithm, why, passed[0] != '\0' ? " (" : "", passed,
            passed[0] != '\0' ? ")" : "");
}
