// SPDX-License-Identifier: BSD-3-Clause
// Type signatures as hashes: one number of a message is a step h -> h * P + c, a datatype is the
// steps of its numbers one after the other, and so is any count of it.
#include "trace/check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define STEP 0x9e3779b97f4a7c15u

struct steps {
    uint64_t mul, add;
};

static struct steps then(struct steps a, struct steps b)
{
    return (struct steps){ a.mul * b.mul, a.add * b.mul + b.add };
}

static struct steps repeat(struct steps one, int64_t n)
{
    struct steps all = { 1, 0 };
    for (; n > 0; n >>= 1) {
        all = n & 1 ? then(all, one) : all;
        one = then(one, one);
    }
    return all;
}

static struct steps of_run(uint8_t number, int64_t n)
{
    return repeat((struct steps){ STEP, (uint64_t)number * 0xff51afd7ed558ccdu }, n);
}

enum { N_TYPE = 32 };
static __thread struct pli_check_type types[N_TYPE] __attribute__((tls_model("initial-exec")));
static __thread unsigned seen __attribute__((tls_model("initial-exec")));
static _Atomic unsigned generation;

void pli_check_type_forget(void)
{
    atomic_fetch_add(&generation, 1);
}

static void __attribute__((cold, noinline)) fill(struct pli_check_type *t, MPI_Datatype handle)
{
    *t = (struct pli_check_type){ .handle = handle, .mul = 1 };
    if (handle == MPI_DATATYPE_NULL || !pli_check_lib.type(handle, &t->it, t->runs, 64)) {
        return;
    }
    struct steps all = { 1, 0 };
    t->is_found = true;
    t->n_run = t->it.n_run;
    t->is_known = t->n_run >= 0;
    for (int i = 0; i < t->n_run; i++) {
        all = then(all, of_run(t->runs[i].number, t->runs[i].n));
        t->has_bytes = t->has_bytes || t->runs[i].number == 0;
    }
    t->mul = all.mul;
    t->add = all.add;
}

const struct pli_check_type *pli_check_type_of(MPI_Datatype handle)
{
    unsigned now = atomic_load_explicit(&generation, memory_order_relaxed);
    if (__builtin_expect(now != seen, 0)) {
        memset(types, 0, sizeof types);
        seen = now;
    }
    struct pli_check_type *t = &types[((uintptr_t)handle * STEP >> 40) % N_TYPE];
    if (t->handle != handle || handle == NULL || !t->is_found) {
        fill(t, handle);
    }
    return t->is_found ? t : NULL;
}

static uint32_t hash_of(struct steps s)
{
    uint32_t h = (uint32_t)(s.add >> 32);
    return h != 0 ? h : 1;
}

struct pli_check_signature pli_check_sign(MPI_Count count, MPI_Datatype type)
{
    const struct pli_check_type *t = pli_check_type_of(type);
    if (t == NULL || count < 0) {
        return (struct pli_check_signature){ 0 };
    }
    bool is_hashed = t->is_known && !t->has_bytes;
    struct steps all = repeat((struct steps){ t->mul, t->add }, count);
    return (struct pli_check_signature){ count * t->it.n_number, is_hashed ? hash_of(all) : 0,
                                         t->it.form };
}

uint32_t pli_check_sign_first(const struct pli_check_type *t, int64_t n)
{
    if (t == NULL || !t->is_known || t->has_bytes || t->it.n_number == 0) {
        return 0;
    }
    struct steps all = repeat((struct steps){ t->mul, t->add }, n / t->it.n_number);
    int64_t left = n % t->it.n_number;
    for (int i = 0; i < t->n_run && left > 0; i++) {
        int64_t part = t->runs[i].n < left ? t->runs[i].n : left;
        all = then(all, of_run(t->runs[i].number, part));
        left -= part;
    }
    return hash_of(all);
}

bool pli_check_range(const void *buf, MPI_Count count, MPI_Datatype type, const char **begin,
                     size_t *n)
{
    const struct pli_check_type *t = pli_check_type_of(type);
    if (t == NULL || !t->it.is_dense || count <= 0 || buf == MPI_IN_PLACE || buf == NULL) {
        return false;
    }
    *begin = (const char *)buf + t->it.true_lb;
    *n = (size_t)(count * t->it.size);
    return *n > 0;
}

uint64_t pli_check_sum(const char *p, size_t n)
{
    uint64_t h = n, w;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&w, p, 8);
        h = (h ^ w) * STEP;
        h ^= h >> 29;
    }
    for (; n > 0; p++, n--) {
        h = (h ^ (unsigned char)*p) * STEP;
    }
    return h ^ h >> 32;
}

const char *pli_check_say_data(int64_t n, uint8_t form, char *to, size_t cap)
{
    snprintf(to, cap, "%lld %s", (long long)n,
             form != 0 ? pli_check_lib.form(form) : "numbers of several types");
    return to;
}
