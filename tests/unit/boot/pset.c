// SPDX-License-Identifier: BSD-3-Clause
// The table of process sets: what is put in comes out, however it is cut into runs; adding from
// many processes at once; one that dies while it adds; a full table; worlds and sets without an
// end; what other hosts hear.
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

static struct pli_pset_half *half(void)
{
    return &table()->halves[table()->turn / 2 % 2];
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
    char near[PLI_PSET_NAME];
    T_OK(pli_pset_nearest(&node, "mpi://WRLD", near));
    T_STR(near, "mpi://WORLD");
    T_OK(pli_pset_nearest(&node, "nam", near));
    T_STR(near, "name");
    T_OK(!pli_pset_nearest(&node, "something else", near));
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
    while (half()->lists[k] != n) {
        k++;
    }
    half()->lists[k] = half()->sets[n - 1].next;
    T_OK(!pli_pset_find(&node, "counted", &set));
    T_EQ(add("counted", list, 1), PLI_OK);
    T_EQ(pli_pset_count(&node), n);
    T_OK(pli_pset_find(&node, "counted", &set) && pli_pset_has(&set, 9));
    half()->sets[n - 1].next = n; // a list that leads to itself
    T_OK(!pli_pset_find(&node, "not there", &set));
    half()->sets[n - 1].next = 0;
}

static void damage(void)
{
    struct pli_pset set;
    struct pli_pset_entry was = half()->sets[0];
    uint32_t at = 0, n = pli_pset_count(&node);
    half()->sets[0].run_at = PLI_PSET_N_RUN;
    half()->sets[0].n_run = 2;
    T_OK(!pli_pset_next(&node, &at, &set));
    half()->sets[0] = was;
    half()->sets[0].name_at = UINT32_MAX;
    T_OK(!pli_pset_next(&node, (at = 0, &at), &set));
    half()->sets[0] = was;
    T_OK(pli_pset_next(&node, (at = 0, &at), &set) && at == 1);
    T_OK(!pli_pset_next(&node, (at = n, &at), &set));
}

static bool is_there(const char *name)
{
    struct pli_pset set;
    return pli_pset_find(&node, name, &set);
}

// A set is there until it was freed as often as it was made.
static void freed(void)
{
    const uint32_t a[] = { 1, 2 }, b[] = { 3 };
    uint32_t n = pli_pset_count(&node);
    T_EQ(add("twice", a, 2), PLI_OK);
    T_EQ(add("twice", a, 2), PLI_OK);
    T_EQ(pli_pset_release(&node, "twice", NULL, 0), PLI_OK);
    T_OK(is_there("twice"));
    T_EQ(pli_pset_release(&node, "twice", b, 1), PLI_ERR_ARG);
    T_EQ(pli_pset_release(&node, "twice", a, 2), PLI_OK);
    T_OK(!is_there("twice"));
    T_EQ(pli_pset_release(&node, "twice", NULL, 0), PLI_ERR_ARG);
    T_EQ(pli_pset_count(&node), n);
    T_EQ(add("twice", b, 1), PLI_OK); // sets never change, but this is another one
    T_EQ(pli_pset_release(&node, "twice", NULL, 0), PLI_OK);
    T_EQ(pli_pset_add(&node, "mpi://x", a, 2, 1, PLI_PSET_HOST, UINT32_MAX), PLI_OK);
    T_EQ(pli_pset_release(&node, "mpi://x", NULL, 0), PLI_ERR_ARG);
    T_OK(is_there("mpi://x"));
}

static void expect_news(const char *name, bool is_made)
{
    struct pli_pset set;
    uint32_t at = 0;
    bool is = !is_made;
    pli_pset_lock(&node);
    T_EQ(pli_pset_next_news(&node, &at, &set, &is), name != NULL);
    T_OK(name == NULL || (strcmp(set.name, name) == 0 && is == is_made));
    pli_pset_unlock(&node);
}

// Other hosts are told of a set when one has made it here, and when all have freed it; a set that
// another host has made is there until that host has freed it, too.
static void several_hosts(void)
{
    const uint32_t a[] = { 1, 2 }, b[] = { 3 };
    struct pli_pset set;
    bool is_made;
    pli_pset_lock(&node);
    for (uint32_t at = 0; pli_pset_next_news(&node, &at, &set, &is_made);) {
        T_OK(is_made);
    }
    pli_pset_unlock(&node);
    T_EQ(add("ours", a, 2), PLI_OK);
    expect_news("ours", true);
    T_EQ(add("ours", a, 2), PLI_OK);
    expect_news(NULL, true);
    T_EQ(pli_pset_hear(&node, "ours", a, 2, 1, 9), PLI_OK);
    T_EQ(pli_pset_hear(&node, "ours", b, 1, 1, 9), PLI_ERR_NAME);
    for (int i = 0; i < 2; i++) {
        expect_news(NULL, false);
        T_EQ(pli_pset_release(&node, "ours", NULL, 0), PLI_OK);
    }
    expect_news("ours", false);
    T_OK(is_there("ours"));
    T_EQ(pli_pset_release(&node, "ours", NULL, 0), PLI_ERR_ARG);
    pli_pset_forget(&node, "ours", b, 1);
    T_OK(is_there("ours"));
    pli_pset_forget(&node, "ours", a, 2);
    T_OK(!is_there("ours"));
    T_EQ(pli_pset_hear(&node, "theirs", a, 2, 1, 9), PLI_OK);
    expect_news(NULL, true);
    pli_pset_forget_all(&node);
    T_OK(!is_there("theirs") && is_there("name"));
    // What was freed and is not told yet is kept, and comes before a set of the same name.
    T_EQ(add("again", a, 2), PLI_OK);
    expect_news("again", true);
    T_EQ(pli_pset_release(&node, "again", NULL, 0), PLI_OK);
    T_EQ(add("again", b, 1), PLI_OK);
    expect_news("again", false);
    expect_news("again", true);
    T_EQ(pli_pset_release(&node, "again", NULL, 0), PLI_OK);
    expect_news("again", false);
}

// Reads a set that stays and one that comes and goes: each is as it was made, or not there.
static void read_sets(void)
{
    struct pli_pset set;
    for (;;) {
        uint32_t n, got[16];
        if (!pli_pset_find(&node, "stays", &set)) {
            _exit(1);
        }
        bool has = set.n == 2 && pli_pset_has(&set, 40) && pli_pset_has(&set, 47);
        if (!has && pli_pset_is_kept(&node, &set)) {
            _exit(2);
        }
        if (pli_pset_find(&node, "comes", &set)) {
            n = set.n;
            if (n <= 16) {
                pli_pset_list(&set, got);
            }
            char c = set.name[0];
            if (pli_pset_is_kept(&node, &set)) {
                if (n != 3 || c != 'c' || got[1] - got[0] != 5 || got[2] - got[1] != 6) {
                    _exit(3);
                }
            }
        }
        if (pli_pset_find(&node, "end", &set)) {
            _exit(0);
        }
    }
}

// More sets than the table has room for, while others read.
static void without_end(void)
{
    const uint32_t stays[] = { 40, 47 };
    uint32_t before = pli_pset_count(&node) + 1;
    char name[32];
    int status;
    T_EQ(add("stays", stays, 2), PLI_OK);
    pid_t reader = fork();
    if (reader == 0) {
        read_sets();
    }
    for (uint32_t i = 0; i < 4 * PLI_PSET_N_SET; i++) {
        const uint32_t list[] = { i % 50, i % 50 + 5, i % 50 + 11 };
        snprintf(name, sizeof name, i % 4 == 0 ? "comes" : "passing %u", i);
        T_MUST(add(name, list, 3) == PLI_OK);
        T_MUST(pli_pset_release(&node, name, NULL, 0) == PLI_OK);
    }
    T_EQ(pli_pset_count(&node), before);
    T_OK(table()->turn >= 6);
    T_EQ(add("end", stays, 2), PLI_OK);
    T_MUST(waitpid(reader, &status, 0) == reader);
    T_EQ(status, 0);
    // One that dies in the middle of copying has changed nothing.
    table()->turn |= 1;
    T_OK(is_there("stays") && is_there("end"));
    for (uint32_t i = 0; i < PLI_PSET_N_SET; i++) {
        T_MUST(add("more", stays, 2) == PLI_OK);
        T_MUST(pli_pset_release(&node, "more", NULL, 0) == PLI_OK);
    }
    T_OK(table()->turn % 2 == 0 && is_there("stays") && is_there("end"));
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
    T_EQ(pli_pset_release(&node, "fill 77", NULL, 0), PLI_OK); // and makes room
    T_EQ(add("one more", list, 2), PLI_OK);
    T_EQ(add("two more", list, 2), PLI_ERR_NO_SPACE);
    T_OK(is_there("fill 78") && is_there("one more") && !is_there("fill 77"));
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
    freed();
    several_hosts();
    without_end();
    full();
    pli_node_unmap(&node);
    close(fd);
    return t_status();
}
