// SPDX-License-Identifier: BSD-3-Clause
// Lists of hosts as Slurm writes them, good and bad: the bad ones are refused, and none of them
// runs for long or names more than it may.
#include "launcher/job/hostlist.h"
#include "t.h"

#include <time.h>

static char all[256]; // the first names
static size_t len;
static uint32_t n;

static bool take(const char *name, void *arg)
{
    if (len + strlen(name) + 2 < sizeof all) {
        len += (size_t)snprintf(all + len, sizeof all - len, "%s%s", len > 0 ? " " : "", name);
    }
    n++;
    return arg == NULL || n < *(uint32_t *)arg;
}

static const char *expand(const char *list)
{
    all[0] = '\0';
    len = 0;
    n = 0;
    return pli_hostlist_each(list, take, NULL);
}

static void good(void)
{
    static const struct {
        const char *list, *names;
    } lists[] = {
        { "a", "a" },
        { "n[1-3]", "n1 n2 n3" },
        { "n[008-011]", "n008 n009 n010 n011" },
        { "n[1,3,5-6]x,b", "n1x n3x n5x n6x b" },
        { "r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2" },
        { "n[7]", "n7" },
        { "[1-2]", "1 2" },
        { "", "" },
        { "a,", "a" },
        { "n[999999999]", "n999999999" },
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        T_OK(expand(lists[i].list) == NULL);
        T_STR(all, lists[i].names);
    }
    T_OK(expand("n[00000-65535]") == NULL);
    T_EQ(n, 65536);
    uint32_t most = 3;
    n = 0;
    T_OK(pli_hostlist_each("r[0-99999]n[0-99999]", take, &most) == NULL);
    T_EQ(n, 3);
}

static void bad(void)
{
    static const char *const lists[] = {
        "n[-1]",
        "n[- 1]",
        "n[+1]",
        "n[ 1]",
        "n[1-]",
        "n[-]",
        "n[]",
        "n[",
        "n]",
        "n[1",
        "n[2-1]",
        "n[1,]",
        "n[,1]",
        "n[1,,2]",
        "n[1-2-3]",
        "n[a]",
        "n[0x1]",
        "n[1-18446744073709551615]",
        "n[18446744073709551615]",
        "n[1-9999999999]",
        "n[1]]",
        "n[[1]]",
        "n][",
        ",a",
        "a,,b",
        "n[1-2]m[-1]",
        "n[1;2]",
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const char *why = expand(lists[i]);
        T_OK(why != NULL);
        if (why == NULL) {
            fprintf(stderr, "'%s' became '%s'\n", lists[i], all);
        }
    }
    T_HAS(expand("n[0-65536]"), "65536 hosts");
    T_HAS(expand("a[0-999]b[0-999]c[0-999]d[0-999]"), "65536 hosts");
    T_HAS(expand("n[0-999999999]"), "65536 hosts");
    static char name[600];
    memset(name, 'x', 300);
    T_HAS(expand(name), "255");
    memset(name, 'x', 250);
    strcpy(name + 250, "[1-2]yyyyyyy");
    T_HAS(expand(name), "255");
    for (size_t i = 0; i + 1 < sizeof name; i++) {
        name[i] = '[';
    }
    T_OK(expand(name) != NULL);
}

// A good list with any of its characters changed or left out ends, one way or the other.
static void changed(void)
{
    const char *list = "r[01-02,4]n[1-2],b[3]";
    static const char marks[] = "[]-,0a9 \x01\xff";
    char text[64];
    for (size_t i = 0; i < strlen(list); i++) {
        for (size_t k = 0; k < sizeof marks; k++) {
            strcpy(text, list);
            text[i] = marks[k];
            expand(text);
            T_OK(n <= PLI_HOSTLIST_MOST);
        }
        snprintf(text, sizeof text, "%.*s%s", (int)i, list, list + i + 1);
        expand(text);
    }
}

static void counts(void)
{
    struct pli_hostlist_counts c = { .at = "2(x3),1" };
    static const uint32_t want[] = { 2, 2, 2, 1, 1, 1 };
    uint32_t v;
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        T_OK(pli_hostlist_count(&c, &v));
        T_EQ(v, want[i]);
    }
    c = (struct pli_hostlist_counts){ 0 };
    T_OK(pli_hostlist_count(&c, &v) && v == 0);
    static const char *const texts[] = { "-1", "2(x)", "2(x-1)",      "2(x0)", "2(x3",
                                         "x",  "2;",   "99999999999", "2(3)",  " 1" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        c = (struct pli_hostlist_counts){ .at = texts[i] };
        T_OK(!pli_hostlist_count(&c, &v));
    }
}

int main(void)
{
    clock_t begin = clock();
    good();
    bad();
    changed();
    counts();
    T_OK(clock() - begin < 20 * CLOCKS_PER_SEC);
    return t_failed != 0;
}
