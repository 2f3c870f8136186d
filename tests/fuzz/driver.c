// SPDX-License-Identifier: BSD-3-Clause
// Drives a fuzz target without libFuzzer, with its options: runs the stored inputs, then mutations
// of them, in a child process that is replaced when it has grown. Where the target was compiled
// with -fsanitize-coverage=trace-pc, inputs that reach new code are mutated further.
//   PROGRAM [-runs=N] [-max_total_time=S] [-seed=N] [-max_len=N] [-artifact_prefix=P] [FILE|DIR...]
// An input that fails is written to P + "crash-" + NAME, and the one command that repeats it is
// printed. With files alone each is run once; -fork=0 does so in this process, for a debugger.
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

enum { MOST_LEN = 1 << 16, MOST_SEED = 20000, N_EDGE = 1 << 16, HANG_S = 20, GROWN_KB = 400000 };

// Shared by the driver and the child that runs the target.
static struct shared {
    volatile unsigned long n_run; // in all children
    volatile bool is_done;
    size_t len; // of the input that runs
    uint8_t input[MOST_LEN];
} * shared;

struct seed {
    uint8_t *data;
    size_t len;
};

static struct seed seeds[MOST_SEED];
static size_t n_seed;
static unsigned long n_most = (unsigned long)-1;
static double seconds = -1;
static uint64_t state = 1;
static size_t max_len = 4096;
static const char *prefix = "";
static bool is_forking = true;
static struct timespec start;

static uint8_t edges[N_EDGE];
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
    if (n_seed < MOST_SEED && len <= MOST_LEN) {
        uint8_t *copy = malloc(len + 1);
        FUZZ_MUST(copy != NULL);
        memcpy(copy, data, len);
        seeds[n_seed++] = (struct seed){ copy, len };
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
    const struct seed *s = &seeds[below(n_seed)];
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
    if (i < n_seed) {
        shared->len = seeds[i].len;
        memcpy(shared->input, seeds[i].data, seeds[i].len);
        return;
    }
    const struct seed *s = &seeds[below(n_seed)];
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
           (seconds >= 0 && shared->n_run >= n_seed && passed() >= seconds);
}

// Run inputs until it is enough, or this process should be replaced.
static void run_child(uint64_t seed)
{
    state = seed;
    unsigned long first = shared->n_run;
    while (!is_over()) {
        unsigned before = n_new;
        next_input(shared->n_run);
        // A copy that ends where the input ends, so that a read beyond it is noticed.
        uint8_t *copy = malloc(shared->len > 0 ? shared->len : 1);
        FUZZ_MUST(copy != NULL);
        memcpy(copy, shared->input, shared->len);
        LLVMFuzzerTestOneInput(copy, shared->len);
        free(copy);
        if (n_new != before && shared->n_run >= n_seed) {
            add_seed(shared->input, shared->len);
        }
        shared->n_run++;
        if (fuzz_is_used_up ||
            (shared->n_run - first >= 1000 && shared->n_run % 256 == 0 && is_grown())) {
            return;
        }
    }
    shared->is_done = true;
}

static void save_finding(const char *program, const char *why)
{
    const char *slash = strrchr(program, '/');
    char path[4096];
    snprintf(path, sizeof path, "%scrash-%s-%lu", prefix, slash != NULL ? slash + 1 : program,
             shared->n_run);
    FILE *f = fopen(path, "w");
    bool is_kept = f != NULL && fwrite(shared->input, 1, shared->len, f) == shared->len;
    is_kept = f != NULL && fclose(f) == 0 && is_kept;
    fprintf(stderr, "FAILED: input %lu, %zu bytes: %s\n", shared->n_run, shared->len, why);
    fprintf(stderr, is_kept ? "repeat it with: %s %s\n" : "%s: it could not be written to %s\n",
            program, path);
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
        usleep(5000);
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
    } else if (strncmp(arg, "-artifact_prefix=", 17) == 0) {
        prefix = arg + 17;
    } else {
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    bool has_dir = false;
    clock_gettime(CLOCK_MONOTONIC, &start);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FUZZ_MUST(shared != MAP_FAILED);
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (argv[i][0] == '-') {
            if (!take_option(argv[i])) {
                fprintf(stderr, "%s is not an option\n", argv[i]);
                return 2;
            }
        } else if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) {
            has_dir = true;
            add_dir(argv[i]);
        } else {
            add_file(argv[i]);
        }
    }
    if (n_seed > 0 && !has_dir) {
        n_most = n_seed;
    }
    if (n_seed == 0) {
        add_seed("", 0);
    }
    if (seconds < 0 && n_most == (unsigned long)-1) {
        seconds = 3;
    }
    fuzz_dir(); // of this process, which removes it
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
    printf("%lu inputs in %.1f s\n", shared->n_run, passed());
    return 0;
}
