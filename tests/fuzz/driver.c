// SPDX-License-Identifier: BSD-3-Clause
// Drives a fuzz target without libFuzzer, with its options: runs the stored inputs, then mutations
// of them, in a child process that is replaced when it has grown. Where the target was compiled
// with -fsanitize-coverage=trace-pc, inputs that reach new code are mutated further.
//   PROGRAM [-runs=N] [-max_total_time=S] [-seed=N] [-max_len=N] [-artifact_prefix=P] [FILE|DIR...]
// An input that fails is written to P + "crash-" + NAME, and the one command that repeats it is
// printed. With files alone each is run once; -fork=0 does so in this process, for a debugger.
// Where the target lets a process take a few inputs only (fuzz_n_input), each stored input has a
// process of its own, and a failure leaves all inputs of its process, in a folder; -together=1
// repeats those in one process.
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_LEN = 1 << 16,
    MOST_SEED = 20000,
    N_EDGE = 1 << 16,
    ROOM = 64 << 20, // bytes of all seeds
    MOST_PAST = 1024,
    HANG_S = 20,
    GROWN_KB = 400000
};

struct seed {
    uint8_t *data;
    size_t len;
};

// Shared by the driver and the child that runs the target: what one child has found is there for
// the next one.
static struct shared {
    volatile unsigned long n_run;   // in all children
    volatile unsigned long n_begun; // what it was when this child began
    volatile bool is_done;
    size_t len; // of the input that runs
    uint8_t input[MOST_LEN];
    size_t n_past, past_used; // earlier inputs of this child, where the target wants them kept
    size_t past_len[MOST_PAST];
    uint8_t past[1 << 22];
    uint8_t edges[N_EDGE];
    size_t n_seed, used;
    struct seed seeds[MOST_SEED];
    uint8_t room[ROOM];
} * shared;

static size_t n_stored; // seeds that were given
static unsigned long n_most = (unsigned long)-1;
static double seconds = -1;
static uint64_t state = 1;
static size_t max_len = 4096;
static const char *prefix = "";
static bool is_forking = true, is_together;
static struct timespec start;

// Code that was reached; before main, in a table that nobody reads.
static uint8_t early[N_EDGE], *edges = early;
static volatile unsigned n_new;

#if defined(__clang__)
__attribute__((no_sanitize("coverage")))
#elif defined(__GNUC__) && __GNUC__ >= 12
__attribute__((no_sanitize_coverage))
#endif
void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    uint8_t *e = &edges[((pc >> 2) * 2654435761u) % N_EDGE];
    if (*e == 0) {
        *e = 1;
        n_new++;
    }
}

_Noreturn void __real__exit(int status);

static uint64_t random64(void)
{
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(size_t n)
{
    return n > 0 ? (size_t)(random64() % n) : 0;
}

static double passed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9;
}

static void add_seed(const void *data, size_t len)
{
    if (shared->n_seed < MOST_SEED && len <= ROOM - shared->used) {
        uint8_t *copy = shared->room + shared->used;
        memcpy(copy, data, len);
        shared->used += len;
        shared->seeds[shared->n_seed++] = (struct seed){ copy, len };
    }
}

static void add_file(const char *path)
{
    static uint8_t data[MOST_LEN];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, data, sizeof data) : -1;
    if (n < 0) {
        fprintf(stderr, "%s cannot be read: %s\n", path, strerror(errno));
        exit(2);
    }
    close(fd);
    add_seed(data, (size_t)n);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_dir(const char *path)
{
    struct dirent **list;
    int n = scandir(path, &list, NULL, by_name);
    for (int i = 0; i < n; i++) {
        char name[4096];
        struct stat st;
        snprintf(name, sizeof name, "%s/%s", path, list[i]->d_name);
        if (stat(name, &st) == 0 && S_ISREG(st.st_mode)) {
            add_file(name);
        }
        free(list[i]);
    }
    if (n >= 0) {
        free(list);
    }
}

// Make room for n bytes at a place of the input, and put them there.
static void insert(size_t at, const void *data, size_t n)
{
    if (shared->len + n <= max_len) {
        memmove(shared->input + at + n, shared->input + at, shared->len - at);
        memcpy(shared->input + at, data, n);
        shared->len += n;
    }
}

// A number that programs stumble over, in binary.
static void put_number(void)
{
    static const uint64_t edge[] = { 0,
                                     1,
                                     2,
                                     0x7f,
                                     0x80,
                                     0xff,
                                     0x7fff,
                                     0x8000,
                                     0xffff,
                                     0x10000,
                                     1 << 20,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     0xfffffffe,
                                     (uint64_t)1 << 32,
                                     (uint64_t)1 << 62,
                                     UINT64_MAX,
                                     INT64_MAX };
    uint64_t v = edge[below(sizeof edge / sizeof *edge)] + (below(4) == 0 ? below(9) - 4 : 0);
    size_t size = (size_t)1 << below(4);
    unsigned char bytes[8];
    bool is_big = below(4) == 0;
    for (size_t i = 0; i < size; i++) {
        bytes[is_big ? size - 1 - i : i] = (unsigned char)(v >> (8 * i));
    }
    if (shared->len >= size) {
        memcpy(shared->input + below(shared->len - size + 1), bytes, size);
    }
}

// The same, in decimal, in the place of a number that is there.
static void put_decimal(void)
{
    static const char *const edge[] = { "0",
                                        "1",
                                        "-1",
                                        "65536",
                                        "4294967295",
                                        "4294967296",
                                        "18446744073709551615",
                                        "99999999999999999999999",
                                        "2147483647",
                                        "007",
                                        "" };
    size_t at = below(shared->len), end;
    while (at < shared->len && (shared->input[at] < '0' || shared->input[at] > '9')) {
        at++;
    }
    for (end = at; end < shared->len && shared->input[end] >= '0' && shared->input[end] <= '9';) {
        end++;
    }
    if (at < shared->len) {
        const char *text = edge[below(sizeof edge / sizeof *edge)];
        memmove(shared->input + at, shared->input + end, shared->len - end);
        shared->len -= end - at;
        insert(at, text, strlen(text));
    }
}

static void put_piece(void)
{
    const struct seed *s = &shared->seeds[below(shared->n_seed)];
    if (s->len > 0) {
        size_t from = below(s->len), n = 1 + below(s->len - from);
        insert(below(shared->len + 1), s->data + from, n);
    }
}

static void put_word(void)
{
    size_t n = 0;
    while (fuzz_words[n] != NULL) {
        n++;
    }
    if (n > 0) {
        const char *word = fuzz_words[below(n)];
        insert(below(shared->len + 1), word, strlen(word));
    }
}

static void mutate(void)
{
    uint8_t *in = shared->input, byte = (uint8_t)random64();
    size_t at = below(shared->len), n = 1 + below(shared->len - at < 64 ? shared->len - at : 64);
    switch (below(10)) {
    case 0:
        if (shared->len > 0) {
            in[at] ^= (uint8_t)(1 << below(8));
        }
        break;
    case 1:
        if (shared->len > 0) {
            in[at] = byte;
        }
        break;
    case 2:
        put_number();
        break;
    case 3:
        put_decimal();
        break;
    case 4:
        insert(at, &byte, 1);
        break;
    case 5: // remove
        if (shared->len > 0) {
            memmove(in + at, in + at + n, shared->len - at - n);
            shared->len -= n;
        }
        break;
    case 6: // repeat
        if (shared->len > 0) {
            uint8_t copy[64];
            memcpy(copy, in + at, n);
            insert(below(shared->len + 1), copy, n);
        }
        break;
    case 7:
        put_piece();
        break;
    case 8:
        put_word();
        break;
    default:
        if (below(8) == 0) { // cut short
            shared->len = at;
        } else if (shared->len > 0) {
            in[at] = (uint8_t)(in[at] + below(3) - 1);
        }
        break;
    }
}

static void next_input(unsigned long i)
{
    if (i < n_stored) {
        shared->len = shared->seeds[i].len;
        memcpy(shared->input, shared->seeds[i].data, shared->len);
        return;
    }
    const struct seed *s = &shared->seeds[below(shared->n_seed)];
    shared->len = s->len < max_len ? s->len : max_len;
    memcpy(shared->input, s->data, shared->len);
    for (size_t k = 1 + below(8); k > 0; k--) {
        mutate();
    }
}

static bool is_grown(void)
{
    struct rusage use;
    return getrusage(RUSAGE_SELF, &use) == 0 && use.ru_maxrss > GROWN_KB;
}

static bool is_over(void)
{
    return shared->n_run >= n_most ||
           (seconds >= 0 && shared->n_run >= n_stored && passed() >= seconds);
}

// Keep the input that was run: it is a part of what a later one meets.
static void keep_past(void)
{
    if (shared->n_past == MOST_PAST || shared->len > sizeof shared->past - shared->past_used) {
        fuzz_is_used_up = 1;
        return;
    }
    memcpy(shared->past + shared->past_used, shared->input, shared->len);
    shared->past_used += shared->len;
    shared->past_len[shared->n_past++] = shared->len;
}

// Whether this process has taken as many inputs as it should.
static bool is_enough(void)
{
    unsigned long n = shared->n_run - shared->n_begun;
    if (fuzz_n_input > 0 && !is_together) {
        return n >= fuzz_n_input || shared->n_run <= n_stored;
    }
    return n >= 1000 && shared->n_run % 256 == 0 && is_grown();
}

// Run inputs until it is enough, or this process should be replaced.
static void run_child(uint64_t seed)
{
    state = seed;
    shared->n_begun = shared->n_run;
    shared->n_past = shared->past_used = 0;
    while (!is_over()) {
        unsigned before = n_new;
        next_input(shared->n_run);
        // A copy that ends where the input ends, so that a read beyond it is noticed.
        uint8_t *copy = malloc(shared->len > 0 ? shared->len : 1);
        FUZZ_MUST(copy != NULL);
        memcpy(copy, shared->input, shared->len);
        LLVMFuzzerTestOneInput(copy, shared->len);
        free(copy);
        if (n_new != before && shared->n_run >= n_stored) {
            add_seed(shared->input, shared->len);
        }
        if (fuzz_n_input > 0) {
            keep_past();
        }
        shared->n_run++;
        if (fuzz_is_used_up || is_enough()) {
            return;
        }
    }
    shared->is_done = true;
}

static bool write_file(const char *path, const void *data, size_t len)
{
    FILE *f = fopen(path, "w");
    bool is_kept = f != NULL && fwrite(data, 1, len, f) == len;
    return f != NULL && fclose(f) == 0 && is_kept;
}

// All inputs of the child, in a folder, in their order.
static bool write_past(const char *folder)
{
    size_t at = 0;
    char path[4200];
    bool is_kept = mkdir(folder, 0777) == 0;
    for (size_t i = 0; i < shared->n_past && is_kept; i++) {
        snprintf(path, sizeof path, "%s/%04zu", folder, i);
        is_kept = write_file(path, shared->past + at, shared->past_len[i]);
        at += shared->past_len[i];
    }
    snprintf(path, sizeof path, "%s/%04zu", folder, shared->n_past);
    return is_kept && write_file(path, shared->input, shared->len);
}

static void save_finding(const char *program, const char *why)
{
    const char *slash = strrchr(program, '/');
    char path[4096];
    snprintf(path, sizeof path, "%scrash-%s-%lu", prefix, slash != NULL ? slash + 1 : program,
             shared->n_run);
    fprintf(stderr, "FAILED: input %lu, %zu bytes: %s\n", shared->n_run, shared->len, why);
    bool is_row = shared->n_past > 0;
    if (!(is_row ? write_past(path) : write_file(path, shared->input, shared->len))) {
        fprintf(stderr, "%s: it could not be written to %s\n", program, path);
    } else if (is_row) {
        fprintf(stderr, "repeat it with: %s -together=1 -runs=%zu %s\n", program,
                shared->n_past + 1, path);
    } else {
        fprintf(stderr, "repeat it with: %s %s\n", program, path);
    }
}

// Sleep until a child ends, or a tenth of a second.
static void await_child(void)
{
    sigset_t set;
    struct timespec tenth = { .tv_nsec = 100000000 };
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigtimedwait(&set, NULL, &tenth);
}

// Wait for a child. False: the target failed.
static bool watch_child(pid_t pid, const char *program)
{
    unsigned long last = shared->n_run;
    double since = passed();
    for (;;) {
        int status;
        pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            return true;
        }
        if (got == pid) {
            char why[100];
            snprintf(why, sizeof why, WIFSIGNALED(status) ? "signal %d" : "exit status %d",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            save_finding(program, why);
            return false;
        }
        if (shared->n_run != last) {
            last = shared->n_run;
            since = passed();
        } else if (passed() - since > HANG_S) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            save_finding(program, "it does not end");
            return false;
        }
        await_child();
    }
}

static bool take_option(const char *arg)
{
    static const char *const ignored[] = { "-timeout=",   "-rss_limit_mb=", "-print_final_stats=",
                                           "-verbosity=", "-detect_leaks=", "-dict=" };
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
        if (strncmp(arg, ignored[i], strlen(ignored[i])) == 0) {
            return true;
        }
    }
    if (strncmp(arg, "-runs=", 6) == 0) {
        n_most = strtoul(arg + 6, NULL, 10);
    } else if (strncmp(arg, "-max_total_time=", 16) == 0) {
        seconds = strtod(arg + 16, NULL);
    } else if (strncmp(arg, "-seed=", 6) == 0) {
        state = strtoull(arg + 6, NULL, 10);
    } else if (strncmp(arg, "-max_len=", 9) == 0) {
        max_len = strtoul(arg + 9, NULL, 10);
        max_len = max_len < MOST_LEN ? max_len : MOST_LEN;
    } else if (strcmp(arg, "-fork=0") == 0) {
        is_forking = false;
    } else if (strcmp(arg, "-together=1") == 0) {
        is_together = true;
    } else if (strncmp(arg, "-artifact_prefix=", 17) == 0) {
        prefix = arg + 17;
    } else {
        return false;
    }
    return true;
}

static bool take_arguments(int argc, char **argv)
{
    bool has_dir = false;
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (argv[i][0] == '-') {
            if (!take_option(argv[i])) {
                fprintf(stderr, "%s is not an option\n", argv[i]);
                return false;
            }
        } else if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) {
            has_dir = true;
            add_dir(argv[i]);
        } else {
            add_file(argv[i]);
        }
    }
    if (shared->n_seed > 0 && !has_dir) {
        n_most = shared->n_seed;
    }
    if (shared->n_seed == 0) {
        add_seed("", 0);
    }
    if (seconds < 0 && n_most == (unsigned long)-1) {
        seconds = 3;
    }
    n_stored = shared->n_seed;
    return true;
}

int main(int argc, char **argv)
{
    sigset_t child;
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3); // a target may need the other one
    clock_gettime(CLOCK_MONOTONIC, &start);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FUZZ_MUST(shared != MAP_FAILED);
    edges = shared->edges;
    if (!take_arguments(argc, argv)) {
        return 2;
    }
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL); // for sigtimedwait
    fuzz_is_replaced = is_forking;
    fuzz_dir(); // of this process, which removes it
    if (LLVMFuzzerInitialize != NULL) {
        LLVMFuzzerInitialize(&argc, &argv);
    }
    if (!is_forking) {
        run_child(state);
    }
    for (uint64_t turn = 0; !shared->is_done; turn++) {
        pid_t pid = fork();
        FUZZ_MUST(pid >= 0);
        if (pid == 0) {
            run_child(state + turn * 1000003);
            fflush(NULL);
            __real__exit(0);
        }
        if (!watch_child(pid, argv[0])) {
            return 1;
        }
    }
    dprintf(out, "%lu inputs in %.1f s\n", shared->n_run, passed());
    return 0;
}
