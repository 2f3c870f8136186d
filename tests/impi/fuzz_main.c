// SPDX-License-Identifier: BSD-3-Clause
// Drives a fuzz target where there is no libFuzzer: random inputs and mutations of the last ones,
// for as many seconds as -max_total_time says. Finds less; keeps the target honest.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int main(int argc, char **argv)
{
    static uint8_t buf[8192];
    double seconds = 3;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "-max_total_time=", 16) == 0) {
            seconds = strtod(argv[i] + 16, NULL);
        }
    }
    srandom(1);
    unsigned long n = 0;
    size_t len = 0;
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        if (n % 64 == 0) {
            len = (size_t)random() % (n % 128 == 0 ? 64 : sizeof buf);
            for (size_t i = 0; i < len; i++) {
                buf[i] = (uint8_t)(random() % 3 == 0 ? random() : 0);
            }
        } else if (len > 0) {
            buf[(size_t)random() % len] = (uint8_t)random();
        }
        LLVMFuzzerTestOneInput(buf, len);
        n++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - start.tv_sec) < seconds);
    printf("%lu inputs\n", n);
    return 0;
}
