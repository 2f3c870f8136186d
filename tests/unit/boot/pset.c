// SPDX-License-Identifier: BSD-3-Clause
// The table of process sets: what is put in comes out, however it is cut into runs; adding from
// many processes at once; one that dies while it adds; a full table; worlds without an end.
#include "boot/pset.h"

#include "boot/node_lock.h"

#include "boot/node.h"
#include "t.h"

#include <sys/wait.h>
#include <unistd.h>

static struct pli_node node;

static struct pli_pset_table *table(void)
{
    return (struct pli_pset_table *)(node.base + node.header->psets);
}

static enum pli_err add(const char *name, const uint32_t *list, uint32_t n)
{
    return pli_pset_add(&node, name, list, n, 1, PLI_PSET_MADE, 0);
}

static void round_trip(const uint32_t *list, uint32_t n, const char *name, uint32_t most_runs)
{
    struct pli_pset set;
    uint32_t got[256];
    T_EQ(add(name, list, n), PLI_OK);
    T_MUST(pli_pset_find(&node, name, &set));
    T_EQ(set.n, n);
    T_OK(set.n_run <= most_runs);
    pli_pset_list(&set, got);
    T_OK(memcmp(got, list, n * sizeof *list) == 0);
    for (uint32_t i = 0, k = 0; i < 600; i++) {
        bool is_in = k < n && list[k] == i;
        k += is_in;
        T_EQ(pli_pset_has(&set, i), is_in);
    }
}

static void shapes(void)
{
    uint32_t list[200];
    unsigned seed = 7;
    char name[32];
    for (uint32_t i = 0; i < 200; i++) {
        list[i] = i;
    }
    round_trip(list, 200, "all", 1);
    round_trip(list, 1, "one", 1);
    round_trip(list, 0, "none", 0);
    for (uint32_t i = 0; i < 100; i++) {
        list[i] = 3 * i + 1;
    }
    round_trip(list, 100, "thirds", 1);
    for (int k = 0; k < 200; k++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < 200; i++) {
            seed = seed * 1664525u + 1013904223u;
            if ((seed >> 16) % 4 < (unsigned)(k % 4)) {
                list[n++] = i;
            }
        }
        snprintf(name, sizeof name, "random %d", k);
        round_trip(list, n, name, n);
    }
}

static void names(void)
{
    struct pli_pset set;
    const uint32_t a[] = { 1, 2 }, b[] = { 1, 3 };
    char longest[PLI_PSET_NAME + 1];
    T_EQ(add("name", a, 2), PLI_OK);
    uint32_t n = pli_pset_count(&node);
    T_EQ(add("name", a, 2), PLI_OK);
    T_EQ(pli_pset_count(&node), n);
    T_EQ(add("name", b, 2), PLI_ERR_NAME);
    T_EQ(add("Name", b, 2), PLI_OK);
    T_EQ(add("mpi://Host/X", a, 2), PLI_OK);
    T_OK(pli_pset_find(&node, "MPI://host/x", &set));
    T_OK(!pli_pset_find(&node, "NAME", &set));
    T_EQ(pli_pset_check_name("mpi://x", false), PLI_ERR_ARG);
    T_EQ(pli_pset_check_name("mpi://x", true), PLI_OK);
    memset(longest, 'n', sizeof longest);
    longest[PLI_PSET_NAME] = '\0';
    T_EQ(pli_pset_check_name(longest, false), PLI_ERR_ARG);
    longest[PLI_PSET_NAME - 1] = '\0';
    T_EQ(pli_pset_check_name(longest, false), PLI_OK);
    T_EQ(add(longest, a, 2), PLI_OK);
    T_STR(pli_pset_nearest(&node, "mpi://WRLD"), "mpi://WORLD");
    T_STR(pli_pset_nearest(&node, "nam"), "name");
    T_OK(pli_pset_nearest(&node, "something else") == NULL);
}

// The members of a version: as many runs as `n`, and others than those of the version before.
static uint32_t world_list(uint32_t number, uint32_t n, uint32_t *list)
{
    for (uint32_t i = 0; i < n; i++) {
        list[i] = number % 7 + 5 * i + i % 2;
    }
    return n;
}

static bool is_world(uint32_t number, uint32_t n, struct pli_pset *set)
{
    static uint32_t got[1000], list[1000];
    char name[32];
    snprintf(name, sizeof name, "MPI://world@%u", number);
    if (!pli_pset_find(&node, name, set) || set->n > 1000) {
        return false;
    }
    pli_pset_list(set, got);
    return set->n == world_list(number, n, list) && set->version == number &&
           memcmp(got, list, n * sizeof *got) == 0;
}

// A reader sees a version as it is, or that it is not kept any more.
static void read_worlds(uint32_t n, uint32_t last)
{
    static uint32_t got[1000], list[1000];
    struct pli_pset set;
    uint32_t oldest, newest = 0;
    while (newest < last) {
        pli_pset_worlds(&node, &oldest, &newest);
        if (oldest > 0 && pli_pset_get_world(&node, oldest, &set) && set.n <= 1000) {
            pli_pset_list(&set, got);
            uint32_t has = set.n;
            if (pli_pset_is_kept(&node, &set) &&
                (has != world_list(oldest, n, list) || memcmp(got, list, n * sizeof *got) != 0)) {
                _exit(1);
            }
        }
    }
    _exit(0);
}

static void worlds(void)
{
    enum { LAST = 100000, N = 20, LARGE = 1000, N_LARGE = 3000 };
    static uint32_t list[LARGE];
    uint32_t oldest, newest, before = pli_pset_count(&node);
    struct pli_pset set;
    int status;
    pli_pset_worlds(&node, &oldest, &newest);
    T_OK(oldest == 0 && newest == 0 && !pli_pset_find(&node, "mpi://WORLD@2", &set));
    pid_t reader = fork();
    if (reader == 0) {
        read_worlds(N, LAST);
    }
    for (uint32_t v = 2; v <= LAST; v++) {
        T_MUST(pli_pset_add_world(&node, v, list, world_list(v, N, list)) == PLI_OK);
    }
    T_MUST(waitpid(reader, &status, 0) == reader);
    T_EQ(status, 0);
    pli_pset_worlds(&node, &oldest, &newest);
    T_EQ(newest, LAST);
    T_EQ(newest - oldest + 1, PLI_PSET_N_WORLD);
    for (uint32_t v = oldest; v <= newest; v++) {
        T_MUST(is_world(v, N, &set));
    }
    T_OK(!is_world(oldest - 1, N, &set) && !is_world(newest + 1, N, &set));
    T_EQ(pli_pset_add_world(&node, LAST, list, world_list(LAST, N, list)), PLI_OK);
    T_EQ(pli_pset_add_world(&node, LAST, list, N - 1), PLI_ERR_NAME);
    for (uint32_t v = LAST + 1; v <= LAST + N_LARGE; v++) { // there is no room for all their runs
        T_MUST(pli_pset_add_world(&node, v, list, world_list(v, LARGE, list)) == PLI_OK);
    }
    pli_pset_worlds(&node, &oldest, &newest);
    T_OK(newest == LAST + N_LARGE && oldest > LAST && newest - oldest > 100);
    T_OK(is_world(oldest, LARGE, &set) && is_world(newest, LARGE, &set));
    T_EQ(pli_pset_count(&node), before);
    for (const char *const *bad =
             (const char *const[]){ "mpi://WORLD@", "mpi://WORLD@1", "mpi://WORLD@x",
                                    "mpi://WORLD@2x", "mpi://WORLD@99999999999", NULL };
         *bad != NULL; bad++) {
        T_EQ(pli_pset_world_number(*bad), 0);
    }
}

static void many_at_once(void)
{
    enum { N = 8, EACH = 40 };
    struct pli_pset set;
    uint32_t before = pli_pset_count(&node);
    for (int k = 0; k < N; k++) {
        if (fork() == 0) {
            for (uint32_t i = 0; i < EACH; i++) {
                char name[32];
                uint32_t list[] = { i, i + 10, i + 11 };
                snprintf(name, sizeof name, "shared %u", i);
                if (add(name, list, 3) != PLI_OK) {
                    _exit(1);
                }
                snprintf(name, sizeof name, "own %d %u", k, i);
                if (add(name, list, 3) != PLI_OK) {
                    _exit(1);
                }
            }
            _exit(0);
        }
    }
    for (int k = 0; k < N; k++) {
        int status;
        T_MUST(wait(&status) > 0);
        T_EQ(status, 0);
    }
    T_EQ(pli_pset_count(&node), before + EACH + N * EACH);
    T_OK(pli_pset_find(&node, "own 7 39", &set) && set.n == 3 && pli_pset_has(&set, 50));
}

static void dead_owner(void)
{
    const uint32_t list[] = { 4 };
    pid_t child = fork();
    if (child == 0) {
        pli_node_lock_take(table()->owner);
        _exit(0);
    }
    T_MUST(waitpid(child, NULL, 0) == child);
    alarm(20); // instead of hanging
    T_EQ(add("after a death", list, 1), PLI_OK);
    alarm(0);
    pli_node_lock_take(table()->owner); // was dropped
    pli_node_lock_drop(table()->owner);
}

// A writer that dies after it has counted a set, and before the set is in the list of its name.
static void unlisted(void)
{
    const uint32_t list[] = { 9 };
    struct pli_pset set;
    T_EQ(add("counted", list, 1), PLI_OK);
    uint32_t n = pli_pset_count(&node), k = 0;
    while (table()->lists[k] != n) {
        k++;
    }
    table()->lists[k] = table()->sets[n - 1].next;
    T_OK(!pli_pset_find(&node, "counted", &set));
    T_EQ(add("counted", list, 1), PLI_OK);
    T_EQ(pli_pset_count(&node), n);
    T_OK(pli_pset_find(&node, "counted", &set) && pli_pset_has(&set, 9));
    table()->sets[n - 1].next = n; // a list that leads to itself
    T_OK(!pli_pset_find(&node, "not there", &set));
    table()->sets[n - 1].next = 0;
}

static void damage(void)
{
    struct pli_pset set;
    struct pli_pset_entry was = table()->sets[0];
    table()->sets[0].run_at = PLI_PSET_N_RUN;
    table()->sets[0].n_run = 2;
    T_OK(!pli_pset_get(&node, 0, &set));
    table()->sets[0] = was;
    table()->sets[0].name_at = UINT32_MAX;
    T_OK(!pli_pset_get(&node, 0, &set));
    table()->sets[0] = was;
    T_OK(pli_pset_get(&node, 0, &set));
    T_OK(!pli_pset_get(&node, pli_pset_count(&node), &set));
}

static void full(void)
{
    const uint32_t list[] = { 1, 5 };
    char name[32];
    enum pli_err err = PLI_OK;
    for (int i = 0; err == PLI_OK && i < PLI_PSET_N_SET + 1; i++) {
        snprintf(name, sizeof name, "fill %d", i);
        err = add(name, list, 2);
    }
    T_EQ(err, PLI_ERR_NO_SPACE);
    T_EQ(pli_pset_count(&node), PLI_PSET_N_SET);
    T_OK(PLI_PSET_N_SET >= 20000);
    T_EQ(add("name", (const uint32_t[]){ 1, 2 }, 2), PLI_OK); // what is there stays
    for (int i = 0; i < 20000; i++) {
        struct pli_pset set;
        snprintf(name, sizeof name, "fill %d", i);
        T_MUST(pli_pset_find(&node, name, &set) && set.n == 2);
    }
}

int main(void)
{
    int fd;
    T_MUST(pli_node_create(4, &node, &fd) == PLI_OK);
    shapes();
    names();
    worlds();
    many_at_once();
    dead_owner();
    unlisted();
    damage();
    full();
    pli_node_unmap(&node);
    close(fd);
    return t_status();
}
