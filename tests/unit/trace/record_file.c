// SPDX-License-Identifier: BSD-3-Clause
// The file of a record: what was written is read again, up to any moment, in at most 4 bytes each.
#include "trace/record_file.h"

#include "t.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const uint8_t pli_record_file_numbers[PLI_RECORD_FILE_LIST] = { [1] = 1, [2] = 2, [3] = 3 };

enum { N = 20000, LIST = PLI_RECORD_FILE_LIST };

struct event {
    unsigned kind;
    size_t n;
    uint64_t numbers[100];
};

static uint64_t state = 1;

static unsigned chance(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

// As a program with `n_rank` ranks makes them: flags in runs, ranks by chance, tags that go on, and
// now and then a list.
static void make(struct event *e, unsigned n_rank)
{
    unsigned what = chance(100);
    *e = (struct event){ .kind = 1, .n = 1, .numbers = { 0 } };
    if (what < 30) {
        e->numbers[0] = chance(20) == 0;
    } else if (what < 99) {
        e->kind = 2;
        e->n = 2;
        e->numbers[0] = 1 + chance(n_rank);
        e->numbers[1] = chance(8);
    } else {
        e->kind = LIST;
        e->n = chance(100);
        for (size_t i = 0; i < e->n; i++) {
            e->numbers[i] = 1 + chance(100);
        }
    }
}

static bool is_same(const struct event *e, const struct pli_record_reader *r)
{
    return r->kind == e->kind && r->n_number == e->n &&
           (e->n == 0 || memcmp(r->numbers, e->numbers, e->n * sizeof e->numbers[0]) == 0);
}

static void compare(const char *path, const struct event *events, size_t n)
{
    struct pli_record_file f;
    struct pli_record_reader r;
    char why[512];
    T_OK(pli_record_file_load(&f, path, why, sizeof why));
    T_OK(f.n_event == n);
    pli_record_file_begin(&r, &f);
    for (size_t i = 0; i < n; i++) {
        if (!pli_record_file_next(&r) || !is_same(&events[i], &r)) {
            T_OK(i == n);
            break;
        }
    }
    T_OK(!pli_record_file_next(&r));
    pli_record_file_end(&r);
    pli_record_file_unload(&f);
}

static void round_trip(const char *path, unsigned n_rank)
{
    static struct event events[N];
    struct pli_record_writer w;
    char why[512];
    uint64_t n_number = 0;
    unlink(path);
    T_OK(pli_record_file_create(&w, path, why, sizeof why));
    for (size_t i = 0; i < N; i++) {
        make(&events[i], n_rank);
        n_number += events[i].kind == LIST ? events[i].n : 1;
        T_OK(pli_record_file_write(&w, events[i].kind, events[i].numbers, events[i].n, why,
                                   sizeof why));
        if (i % 1777 == 0) { // as if the process were killed now
            compare(path, events, i + 1);
        }
    }
    T_OK(w.head->n_byte <= 4 * n_number); // a list has as many outcomes as indices
    printf("%u ranks: %.2f bytes for each outcome\n", n_rank,
           (double)w.head->n_byte / (double)n_number);
    pli_record_file_close(&w);
    compare(path, events, N);
}

static void bad_files(const char *path)
{
    struct pli_record_file f;
    struct pli_record_writer w;
    char why[512];
    T_OK(!pli_record_file_create(&w, path, why, sizeof why)); // it is there
    T_OK(strstr(why, "cannot be written") != NULL);
    for (long cut = 0; cut < 5000; cut += 499) { // no byte beyond the end is read
        T_OK(truncate(path, cut) == 0);
        T_OK(!pli_record_file_load(&f, path, why, sizeof why));
    }
    T_OK(strstr(why, "is no record that this version") != NULL);
    unlink(path);
    T_OK(!pli_record_file_load(&f, path, why, sizeof why));
}

// Bytes by chance are refused or read as something, without harm.
static void nonsense(void)
{
    unsigned char bytes[64];
    for (int i = 0; i < 20000; i++) {
        for (size_t k = 0; k < sizeof bytes; k++) {
            bytes[k] = (unsigned char)chance(256);
        }
        const struct pli_record_file f = { .bytes = bytes, .n_byte = chance(64), .n_more = 3 };
        struct pli_record_reader r;
        pli_record_file_begin(&r, &f);
        for (int n = 0; n < 1000 && pli_record_file_next(&r); n++) {
        }
        T_OK(r.at <= f.n_byte);
        pli_record_file_end(&r);
    }
}

int main(void)
{
    char dir[] = "/tmp/recordXXXXXX", path[64];
    T_OK(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/rank.0", dir);
    round_trip(path, 4);
    round_trip(path, 100);
    round_trip(path, 5000);
    bad_files(path);
    nonsense();
    T_OK(rmdir(dir) == 0);
    return t_status();
}
