// SPDX-License-Identifier: BSD-3-Clause
// Sentences of --check, each once, with lines of the source that addr2line (binutils) finds.
#include "trace/check.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_SAID = 512, N_LINE = 64, OFFSET_BITS = 40 };

static struct {
    pthread_mutex_t mutex;
    uint64_t said[N_SAID];
    int n_said, n_line;
    struct {
        uint64_t place;
        char text[128];
    } lines[N_LINE];
} state = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static uint64_t hash_text(const char *p)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *p != '\0'; p++) {
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    }
    return h ^ h >> 32;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

// The file of a module by the loader's name; the program itself has none.
static bool find_path(const char *name, char *to, size_t cap)
{
    if (name != NULL && name[0] != '\0') {
        return (size_t)snprintf(to, cap, "%s", name) < cap;
    }
    ssize_t n = readlink("/proc/self/exe", to, cap - 1);
    to[n > 0 ? n : 0] = '\0';
    return n > 0;
}

uint64_t pli_check_place(const void *site)
{
    static __thread struct {
        const void *site;
        uint64_t place;
    } cache[16] __attribute__((tls_model("initial-exec")));
    size_t slot = ((uintptr_t)site >> 2) % 16;
    if (cache[slot].site == site) {
        return cache[slot].place;
    }
    Dl_info it;
    struct link_map *map = NULL;
    char path[4096];
    if (dladdr1(site, &it, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL ||
        !find_path(map->l_name, path, sizeof path)) {
        return 0;
    }
    uint64_t place = hash_text(last_part(path)) << OFFSET_BITS |
                     (((uintptr_t)site - map->l_addr) & (((uint64_t)1 << OFFSET_BITS) - 1));
    cache[slot].site = site;
    cache[slot].place = place;
    return place;
}

struct search {
    uint64_t place;
    char path[4096];
};

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct search *s = arg;
    return find_path(info->dlpi_name, s->path, sizeof s->path) &&
           hash_text(last_part(s->path)) << OFFSET_BITS == s->place >> OFFSET_BITS << OFFSET_BITS;
}

// One line of what addr2line prints for an address; false: it does not know.
static bool ask(const char *path, uint64_t offset, char *to, size_t cap)
{
    char number[32];
    int out[2];
    pid_t pid;
    snprintf(number, sizeof number, "0x%llx", (unsigned long long)offset - 1); // in the call itself
    char *argv[] = { (char *)"addr2line", (char *)"-e", (char *)path, number, NULL };
    char *env[] = { (char *)"PATH=/usr/local/bin:/usr/bin:/bin", NULL };
    if (pipe2(out, O_CLOEXEC) != 0) {
        return false;
    }
    posix_spawn_file_actions_t acts;
    posix_spawn_file_actions_init(&acts);
    posix_spawn_file_actions_adddup2(&acts, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&acts, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int err = posix_spawnp(&pid, argv[0], &acts, NULL, argv, env);
    posix_spawn_file_actions_destroy(&acts);
    close(out[1]);
    size_t n = 0;
    ssize_t got;
    char text[1024];
    while (n + 1 < sizeof text && (got = read(out[0], text + n, sizeof text - 1 - n)) > 0) {
        n += (size_t)got;
    }
    close(out[0]);
    text[n] = '\0';
    int status = 1;
    if (err != 0 || waitpid(pid, &status, 0) != pid || status != 0 || n == 0 || text[0] == '?') {
        return false;
    }
    text[strcspn(text, "\n ")] = '\0';
    snprintf(to, cap, "%.100s", last_part(text));
    return strchr(to, '?') == NULL;
}

static void find_line(uint64_t place, char *to, size_t cap)
{
    struct search s = { .place = place };
    uint64_t offset = place & (((uint64_t)1 << OFFSET_BITS) - 1);
    if (place == 0 || dl_iterate_phdr(look, &s) == 0) {
        snprintf(to, cap, "0x%llx of another program", (unsigned long long)offset);
    } else if (!ask(s.path, offset, to, cap)) {
        snprintf(to, cap, "%.60s+0x%llx", last_part(s.path), (unsigned long long)offset);
    }
}

const char *pli_check_line(uint64_t place)
{
    pthread_mutex_lock(&state.mutex);
    int i = 0;
    while (i < state.n_line && state.lines[i].place != place) {
        i++;
    }
    if (i == state.n_line) {
        i = i == N_LINE ? (int)(place % N_LINE) : state.n_line++;
        state.lines[i].place = place;
        find_line(place, state.lines[i].text, sizeof state.lines[i].text);
    }
    pthread_mutex_unlock(&state.mutex);
    return state.lines[i].text;
}

const char *pli_check_line_of(const void *site)
{
    return pli_check_line(pli_check_place(site));
}

bool pli_check_wants(const char *kind)
{
    const char *list = getenv("PLI_CHECK");
    const char *at = list != NULL ? strstr(list, kind) : NULL;
    size_t n = strlen(kind);
    return at != NULL && (at == list || at[-1] == ',') && (at[n] == '\0' || at[n] == ',');
}

// Whether this was not said before.
static bool is_new(uint64_t key)
{
    pthread_mutex_lock(&state.mutex);
    int i = 0;
    while (i < state.n_said && state.said[i] != key) {
        i++;
    }
    bool is = i == state.n_said && i < N_SAID;
    if (is) {
        state.said[state.n_said++] = key;
    }
    pthread_mutex_unlock(&state.mutex);
    return is;
}

void pli_check_say(const char *kind, const void *site, uint64_t other, const char *format, ...)
{
    char text[PLI_CHECK_SAY + 64], rank[32] = "";
    struct pli_observe_process me;
    uint64_t key = hash_text(kind) ^ pli_check_place(site) * 31 ^ other * 1000003;
    static __thread int said_depth __attribute__((tls_model("initial-exec")));
    if (said_depth > 0 || !is_new(key)) {
        return;
    }
    said_depth++;
    if (pli_check_lib.get_process != NULL && pli_check_lib.get_process(&me)) {
        snprintf(rank, sizeof rank, "rank %u: ", me.rank);
    }
    int n = snprintf(text, sizeof text, "check: %s", rank);
    va_list args;
    va_start(args, format);
    n += vsnprintf(text + n, sizeof text - (size_t)n - 32, format, args);
    va_end(args);
    n = n < (int)sizeof text - 32 ? n : (int)sizeof text - 33;
    n += snprintf(text + n, sizeof text - (size_t)n, " [%s]\n", kind);
    ssize_t done = write(STDERR_FILENO, text, (size_t)n);
    (void)done;
    said_depth--;
}
