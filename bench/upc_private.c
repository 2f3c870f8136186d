// SPDX-License-Identifier: BSD-3-Clause
// Plain C, compiled by cc and by upcc, to lay beside each other. Prints lines "name nanoseconds":
// the median of many pieces, in processor time, so that others on the cores hardly matter.
//   upc_private ROUNDS
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PIECES = 21, N = 64, KEYS = 4096, BYTES = 16384, CELLS = 2048 };
struct cell {
    struct cell *next;
    long value;
};
static double left[N][N], right[N][N], product[N][N];
static int keys[KEYS];
static unsigned char bytes[BYTES];
static uint32_t table[256];
static struct cell cells[CELLS];
static long n_step;
uint32_t checksum;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void multiply(void)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < N; k++) {
                sum += left[i][k] * right[k][j];
            }
            product[i][j] = sum;
        }
    }
    checksum += (uint32_t)product[N / 2][N / 3];
}

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void sort(void)
{
    uint32_t state = 7;
    for (int i = 0; i < KEYS; i++) {
        keys[i] = (int)next_random(&state);
    }
    for (int gap = KEYS / 2; gap > 0; gap /= 2) {
        for (int i = gap; i < KEYS; i++) {
            int key = keys[i], j = i;
            for (; j >= gap && by_value(&keys[j - gap], &key) > 0; j -= gap) {
                keys[j] = keys[j - gap];
            }
            keys[j] = key;
        }
    }
    checksum += (uint32_t)keys[KEYS / 2];
}

static void crc(void)
{
    uint32_t c = ~0u;
    for (int i = 0; i < BYTES; i++) {
        c = table[(c ^ bytes[i]) & 255] ^ c >> 8;
    }
    checksum += c;
}

static void chase(void)
{
    for (struct cell *c = cells; c != NULL; c = c->next) {
        c->value += n_step++;
    }
    checksum += (uint32_t)cells[CELLS / 2].value;
}

static void prepare(void)
{
    uint32_t state = 1;
    for (int i = 0; i < N * N; i++) {
        left[i / N][i % N] = next_random(&state) % 100;
        right[i / N][i % N] = next_random(&state) % 100;
    }
    for (int i = 0; i < BYTES; i++) {
        bytes[i] = (unsigned char)next_random(&state);
    }
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++) {
            table[i] = (table[i] & 1) != 0 ? 0xedb88320u ^ table[i] >> 1 : table[i] >> 1;
        }
    }
    for (int i = 0; i < CELLS; i++) { // a step that has no factor in common with their number
        cells[i].next = (i + 5) % CELLS == 0 ? NULL : &cells[(i + 5) % CELLS];
    }
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, void (*work)(void), int rounds)
{
    double times[PIECES];
    work();
    for (int p = 0; p < PIECES; p++) {
        double begin = now();
        for (int i = 0; i < rounds; i++) {
            work();
        }
        times[p] = (now() - begin) / rounds;
    }
    qsort(times, PIECES, sizeof times[0], by_time);
    printf("%s %.6g\n", name, times[PIECES / 2]);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 0;
    if (rounds < 1) {
        fprintf(stderr, "usage: upc_private ROUNDS\n");
        return 2;
    }
    prepare();
    measure("multiply", multiply, rounds);
    measure("sort", sort, rounds);
    measure("crc", crc, rounds * 4);
    measure("chase", chase, rounds * 8);
    printf("checksum %u\n", checksum);
    return 0;
}
