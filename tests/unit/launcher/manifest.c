// SPDX-License-Identifier: BSD-3-Clause
// A manifest is read as it was written. Whatever else has its name is refused with a sentence, or
// has numbers that fit together.
#include "launcher/ckpt/manifest.h"

#include "base/checksum.h"
#include "launcher/base/say.h"
#include "t.h"

#include <inttypes.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

// In memory where that can be had: thousands of files that come and go at once are too much for
// some disks.
static char dir[64] = "/dev/shm/manifest-XXXXXX", path[128], why[PLI_CKPT_WHY];

static void write_text(const char *text, size_t len)
{
    unlink(path); // some file systems put one that is written over on the disk at once
    FILE *f = fopen(path, "w");
    T_MUST(f != NULL);
    T_EQ(fwrite(text, 1, len, f), len);
    T_EQ(fclose(f), 0);
}

// With the checksum that its text has now.
static void write_sealed(const char *text, size_t len)
{
    char *all = malloc(len + 64);
    T_MUST(all != NULL);
    memcpy(all, text, len);
    int n = snprintf(all + len, 64, "end %016" PRIx64 "\n", pli_checksum(0, text, len));
    write_text(all, len + (size_t)n);
    free(all);
}

// Of two hosts, with all that a manifest can have.
static char *make(size_t *len_out)
{
    static char cwd[] = "/home/a user/100% here", program[] = "./a\nb", arg[] = "", host[] = "c%41";
    static char first[] = "mpiexec", *argv[] = { first, program, arg, NULL }, *joined[] = { host };
    static uint32_t members[] = { 0, 2, 4 }, spread[] = { 0, 1, 0 };
    static uint64_t clocks[] = { 12345678901, 0, 77 };
    static struct pli_manifest_task tasks[] = { { 0, 4711, 1, 2, 3, 4, 0 },
                                                { 5, 1, UINT64_MAX, 0, 0, 9, 2 } };
    struct pli_manifest m = { .number = 7,
                              .n_rank = 3,
                              .clock_ns = 99,
                              .cwd = cwd,
                              .argv = argv,
                              .n_arg = 3,
                              .program = 1,
                              .members = members,
                              .n_member = 3,
                              .spawned = 2,
                              .tasks = tasks,
                              .n_task = 2,
                              .spread = spread,
                              .n_spread = 3,
                              .clocks = clocks,
                              .n_host = 3,
                              .joined = joined,
                              .n_joined = 1,
                              .job = 0xabcdef,
                              .attempt = 4,
                              .generation = 2 };
    char *text = NULL;
    FILE *f = open_memstream(&text, len_out);
    T_MUST(f != NULL);
    pli_manifest_put(f, &m);
    fprintf(f, "file rank.0/core-1.img 5 %016x\n", 3);
    T_EQ(fclose(f), 0);
    return text;
}

static void whole(const char *text, size_t len)
{
    struct pli_manifest m;
    write_sealed(text, len);
    T_MUST(pli_manifest_read(dir, false, &m, why));
    T_STR(m.cwd, "/home/a user/100% here");
    T_EQ(m.n_arg, 3);
    T_STR(m.argv[1], "./a\nb");
    T_STR(m.argv[2], "");
    T_STR(m.joined[0], "c%41");
    T_EQ(m.n_task, 2);
    T_OK(m.tasks[1].in == UINT64_MAX && m.tasks[1].host == 2 && m.tasks[0].pid == 4711);
    T_OK(m.number == 7 && m.n_rank == 3 && m.program == 1 && m.job == 0xabcdef && m.bytes == 5);
    pli_manifest_fini(&m);
    T_OK(!pli_manifest_read(dir, true, &m, why)); // the file is not there
    T_HAS(why, "core-1.img cannot be read");
}

// Every use that is made of its numbers elsewhere.
static void check_use(const struct pli_manifest *m)
{
    T_OK(m->number > 0 && m->n_rank > 0 && m->n_arg > 0 && m->cwd != NULL);
    T_OK(m->program > 0 && m->program <= m->n_arg && m->n_joined <= m->n_host);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < m->n_arg; i++) {
        sum += strlen(m->argv[i]);
    }
    for (uint32_t i = 0; i < m->n_task; i++) {
        T_OK(m->tasks[i].pid > 0 && m->tasks[i].pid <= 1 << 22);
        sum += m->n_host > 0 ? m->clocks[m->tasks[i].host] : 0;
    }
    for (uint32_t i = 0; i < m->n_spread; i++) {
        sum += m->n_host > 0 ? m->clocks[m->spread[i]] : 0;
    }
    for (uint32_t i = 0; i < m->n_member; i++) {
        T_OK(m->members[i] < (uint64_t)m->n_rank + m->spawned);
    }
    T_OK(sum < UINT64_MAX);
}

static uint32_t dice(uint32_t n)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

// A few changes of a good text: other bytes, others left out, lines twice or gone, long numbers.
static size_t mutate(char *text, size_t len, size_t cap)
{
    static const char bytes[] = "%%%0Af \n-+9999999x/.\t\377";
    for (uint32_t i = dice(4) + 1; i > 0 && len > 2; i--) {
        uint32_t at = dice((uint32_t)len), n = dice(30) + 1;
        n = at + n < len ? n : 1;
        switch (dice(4)) {
        case 0:
            text[at] = bytes[dice(sizeof bytes - 1)];
            break;
        case 1:
            memmove(text + at, text + at + n, len - at - n);
            len -= n;
            break;
        case 2:
            if (len + n < cap) {
                memmove(text + at + n, text + at, len - at);
                len += n;
            }
            break;
        default:
            memset(text + at, "9%0 "[dice(4)], n);
            break;
        }
    }
    return len;
}

static void mutated(const char *text, size_t len)
{
    enum { TURNS = 10000 };
    char *copy = malloc(len * 2 + 1);
    int n_good = 0;
    T_MUST(copy != NULL);
    for (int i = 0; i < TURNS; i++) {
        struct pli_manifest m;
        memcpy(copy, text, len);
        size_t now = mutate(copy, len, len * 2);
        why[0] = '\0';
        write_sealed(copy, now);
        if (pli_manifest_read(dir, false, &m, why)) {
            n_good++;
            check_use(&m);
            pli_manifest_fini(&m);
        } else {
            T_OK(why[0] != '\0');
        }
    }
    T_OK(n_good > 0 && n_good < TURNS / 2);
    for (size_t cut = 0; cut < len; cut++) { // without a new checksum
        struct pli_manifest m;
        write_text(text, cut);
        T_OK(!pli_manifest_read(dir, false, &m, why));
    }
    free(copy);
}

static void refused(const char *line, const char *want)
{
    struct pli_manifest m;
    size_t len;
    char *text = make(&len), all[4096];
    int n = snprintf(all, sizeof all, "%s%s\n", text, line);
    write_sealed(all, (size_t)n);
    T_OK(!pli_manifest_read(dir, false, &m, why));
    T_HAS(why, want);
    free(text);
}

int main(void)
{
    size_t len;
    if (mkdtemp(dir) == NULL) {
        snprintf(dir, sizeof dir, "/tmp/manifest-XXXXXX");
        T_MUST(mkdtemp(dir) != NULL);
    }
    snprintf(path, sizeof path, "%s/%s", dir, PLI_MANIFEST);
    char *text = make(&len);
    whole(text, len);
    mutated(text, len);
    refused("arg %", "'arg' that cannot be understood");
    refused("arg a%4", "'arg' that cannot be understood");
    refused("arg %00", "'arg' that cannot be understood");
    refused("cwd /other", "'cwd' that cannot be understood");
    refused("ranks -1", "'ranks' that cannot be understood");
    refused("ranks 99999999999999999999", "'ranks' that cannot be understood");
    refused("ranks", "'ranks' that cannot be understood");
    refused("program 4", "no program");
    refused("task 0 0 0 0 0 0 0", "'task' that cannot be understood");
    refused("task 0 1 0 0 0 0 3", "on a host that the job did not have");
    refused("spread 3", "on a host that the job did not have");
    refused("joined a\njoined b\njoined c", "on a host that the job did not have");
    refused("member 5", "a rank that the job did not have");
    refused("mode magic", "'mode' that cannot be understood");
    refused("file ../../etc/passwd 1 1", "about a file that makes no sense");
    refused("file /etc/passwd 1 1", "about a file that makes no sense");
    refused("file a 1", "about a file that makes no sense");
    free(text);
    unlink(path);
    rmdir(dir);
    return t_status();
}
