// SPDX-License-Identifier: BSD-3-Clause
// Where UPC threads are OS threads, each has random numbers of its own, as it would as a process:
// what the C library gives after the same seed. The linker puts these in place of its functions.
#include <stdlib.h>
#include <string.h>

#if PLI_UPC_PTHREADS

enum { STATE = 128 }; // what random() begins with

static __thread struct random_data data;
static __thread struct drand48_data data48;
static __thread char state[STATE];
static __thread int is_begun, is_begun48;

void __wrap_srandom(unsigned seed);
void __wrap_srand(unsigned seed);
long __wrap_random(void);
int __wrap_rand(void);
void __wrap_srand48(long seed);
double __wrap_drand48(void);
long __wrap_lrand48(void);
long __wrap_mrand48(void);

void __wrap_srandom(unsigned seed)
{
    memset(&data, 0, sizeof data);
    initstate_r(seed, state, sizeof state, &data);
    is_begun = 1;
}

void __wrap_srand(unsigned seed)
{
    __wrap_srandom(seed);
}

long __wrap_random(void)
{
    int32_t n = 0;
    if (!is_begun) {
        __wrap_srandom(1);
    }
    random_r(&data, &n);
    return n;
}

int __wrap_rand(void)
{
    return (int)__wrap_random();
}

void __wrap_srand48(long seed)
{
    srand48_r(seed, &data48);
    is_begun48 = 1;
}

// What drand48 gives without a seed.
static struct drand48_data *begun48(void)
{
    if (!is_begun48) {
        memset(&data48, 0, sizeof data48);
        is_begun48 = 1;
    }
    return &data48;
}

double __wrap_drand48(void)
{
    double d = 0;
    drand48_r(begun48(), &d);
    return d;
}

long __wrap_lrand48(void)
{
    long n = 0;
    lrand48_r(begun48(), &n);
    return n;
}

long __wrap_mrand48(void)
{
    long n = 0;
    mrand48_r(begun48(), &n);
    return n;
}

#else

typedef int pli_upc_random_is_the_c_library; // no empty file

#endif
