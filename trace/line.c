// SPDX-License-Identifier: BSD-3-Clause
// Finds the line of the source that an address was made of, by addr2line (binutils).
#include "trace/line.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_LINE = 64, OFFSET_BITS = 40 };

static struct {
    pthread_mutex_t mutex;
    int n_line;
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

uint64_t pli_line_place(const void *site)
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

// The line that is the program's own: before it come those of functions that the compiler put
// there, such as the memset of <string.h>.
static char *own_line(char *text)
{
    static const char *const folders[] = { "/usr/include/", "/usr/lib/" };
    for (char *at = text; *at != '\0'; at += strlen(at) + 1) {
        at[strcspn(at, "\n")] = '\0';
        if (strncmp(at, folders[0], strlen(folders[0])) != 0 &&
            strncmp(at, folders[1], strlen(folders[1])) != 0) {
            return at;
        }
    }
    return text;
}

// One line of what addr2line prints for an address; false: it does not know.
static bool ask(const char *path, uint64_t offset, char *to, size_t cap)
{
    char number[32];
    int out[2];
    pid_t pid;
    snprintf(number, sizeof number, "0x%llx", (unsigned long long)offset - 1); // in the call itself
    char *argv[] = { (char *)"addr2line", (char *)"-i", (char *)"-e", (char *)path, number, NULL };
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
    char text[2050]; // ends with two zeros
    while (n + 2 < sizeof text && (got = read(out[0], text + n, sizeof text - 2 - n)) > 0) {
        n += (size_t)got;
    }
    close(out[0]);
    text[n] = text[n + 1] = '\0';
    int status = 1;
    if (err != 0 || waitpid(pid, &status, 0) != pid || status != 0 || n == 0 || text[0] == '?') {
        return false;
    }
    char *line = own_line(text);
    char *more = strstr(line, " (discriminator "); // a folder may have blanks in its name
    if (more != NULL) {
        *more = '\0';
    }
    snprintf(to, cap, "%.100s", last_part(line));
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

const char *pli_line_text(uint64_t place)
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

const char *pli_line_of(const void *site)
{
    return pli_line_text(pli_line_place(site));
}
