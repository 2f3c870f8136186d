// SPDX-License-Identifier: BSD-3-Clause
// Times of a host whose clock runs at another speed come out as this one's, to half the time that
// the fastest questions take.
#include "base/host_clock.h"
#include "t.h"

#include <stdbool.h>
#include <stdlib.h>

enum { WAY = 30000 };
static const uint64_t second = 1000000000;

// The host's clock at a time of ours: 3 s ahead, and 40 millionths too fast.
static uint64_t theirs_at(uint64_t ns)
{
    return ns + 3 * second + ns / 25000;
}

static uint64_t wrong_by(const struct pli_host_clock *c, uint64_t ns)
{
    return (uint64_t)llabs((long long)(pli_host_clock_convert(c, theirs_at(ns)) - ns));
}

// A question at `ns` whose way there takes the part `there` of `way`.
static void ask(struct pli_host_clock *c, uint64_t ns, uint64_t way, double there)
{
    uint64_t theirs = theirs_at(ns + (uint64_t)((double)way * there));
    pli_host_clock_add(c, theirs, (int64_t)(theirs - (ns + way / 2)), way);
}

static void check_drift(void)
{
    struct pli_host_clock c = { 0 };
    T_EQ(pli_host_clock_convert(&c, 5), 5); // nothing is known
    ask(&c, second, WAY, 0.5);
    T_OK(wrong_by(&c, second) < 10 && wrong_by(&c, 101 * second) > 3900000);
    ask(&c, 101 * second, WAY, 0.5);
    for (uint64_t s = 1; s <= 101; s++) {
        T_OK(wrong_by(&c, s * second) < 100);
    }
}

// Slow answers are left out, whether they come alone or beside fast ones.
static void check_noise(void)
{
    struct pli_host_clock c = { 0 };
    for (uint64_t s = 0; s < 600; s += 5) {
        for (uint64_t i = 0; i < 4; i++) {
            bool is_fast = i == 2 && s % 3 != 0;
            ask(&c, s * second + i * 20000000, is_fast ? WAY : 4000000, is_fast ? 0.6 : 0.9);
        }
    }
    for (uint64_t s = 5; s < 590; s++) {
        T_OK(wrong_by(&c, s * second) < WAY);
    }
}

// As long as it may run, there is room, and the clock is known from its first second on.
static void check_long(void)
{
    struct pli_host_clock *c = calloc(1, sizeof *c);
    T_OK(c != NULL);
    uint64_t n = 100000;
    for (uint64_t i = 0; i < n; i++) {
        ask(c, i * 5 * second, WAY, 0.5);
    }
    T_OK(c->n <= PLI_HOST_CLOCK_N && wrong_by(c, second) < 100);
    for (uint64_t i = 0; i < 1000; i++) {
        T_OK(wrong_by(c, i * (n / 1001) * 5 * second) < 100000);
    }
    free(c);
}

int main(void)
{
    check_drift();
    check_noise();
    check_long();
    return t_failed != 0;
}
