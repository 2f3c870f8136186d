// SPDX-License-Identifier: BSD-3-Clause
// Finds the file an address is mapped from, and asks addr2line (binutils) for the line.
#include "tools/lib/source_line.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct module {
    char path[PATH_MAX];
    uint64_t base; // where the file's first byte is
};

static bool find_module(uint32_t pid, uint64_t address, struct module *out)
{
    char name[64], line[PATH_MAX + 128];
    struct module cur = { "", 0 };
    snprintf(name, sizeof name, "/proc/%u/maps", pid);
    FILE *f = fopen(name, "r");
    bool is_found = false;
    while (f != NULL && !is_found && fgets(line, sizeof line, f) != NULL) {
        unsigned long low, high, offset;
        int at = 0;
        if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %n", &low, &high, &offset, &at) < 3 || at == 0 ||
            line[at] != '/') {
            continue;
        }
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(cur.path, line + at) != 0 || offset == 0) {
            snprintf(cur.path, sizeof cur.path, "%s", line + at);
            cur.base = low - offset;
        }
        is_found = address >= low && address < high;
    }
    if (f != NULL) {
        fclose(f);
    }
    *out = cur;
    return is_found;
}

// Programs at a fixed address name their places by address, others by distance from the start.
static bool is_fixed(const char *path)
{
    Elf64_Ehdr h;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_exec = fd >= 0 && read(fd, &h, sizeof h) == (ssize_t)sizeof h && h.e_type == ET_EXEC;
    if (fd >= 0) {
        close(fd);
    }
    return is_exec;
}

// What the command prints.
static bool run(char *const argv[], char *to, size_t cap)
{
    int out[2];
    if (pipe2(out, O_CLOEXEC) != 0) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(out[1], STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(out[1]);
    size_t n = 0;
    ssize_t got;
    while (n + 1 < cap && (got = read(out[0], to + n, cap - 1 - n)) > 0) {
        n += (size_t)got;
    }
    close(out[0]);
    to[n] = '\0';
    int status = 1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && n > 0;
}

// One line of addr2line, without folders; false: it does not know.
static bool take_line(char *text, char *to, size_t cap)
{
    text[strcspn(text, "\n")] = '\0';
    if (text[0] == '\0' || text[0] == '?') {
        return false;
    }
    char *more = strstr(text, " (discriminator "); // a folder may have blanks in its name
    if (more != NULL) {
        *more = '\0';
    }
    const char *slash = strrchr(text, '/');
    const char *name = slash != NULL ? slash + 1 : text;
    size_t n = strnlen(name, cap - 1);
    memcpy(to, name, n);
    to[n] = '\0';
    return true;
}

enum { BATCH = 64, LINE = 512 };

static void find_batch(const char *path, const uint64_t *places, uint32_t n,
                       char (*texts)[PLI_SOURCE_LINE_LEN])
{
    char numbers[BATCH][32], *argv[BATCH + 4] = { "addr2line", "-e", (char *)path };
    static char out[BATCH * LINE];
    for (uint32_t i = 0; i < n; i++) {
        snprintf(numbers[i], sizeof numbers[i], "0x%llx", (unsigned long long)places[i] - 1);
        argv[3 + i] = numbers[i];
    }
    argv[3 + n] = NULL;
    char *line = run(argv, out, sizeof out) ? out : NULL;
    const char *slash = strrchr(path, '/');
    for (uint32_t i = 0; i < n; i++) {
        char *end = line != NULL ? strchr(line, '\n') : NULL;
        if (line == NULL || !take_line(line, texts[i], sizeof texts[i])) {
            snprintf(texts[i], sizeof texts[i], "%.64s+0x%llx", slash != NULL ? slash + 1 : path,
                     (unsigned long long)places[i]);
        }
        line = end != NULL ? end + 1 : NULL;
    }
}

void pli_source_line_list(const char *path, const uint64_t *places, uint32_t n,
                          char (*texts)[PLI_SOURCE_LINE_LEN])
{
    for (uint32_t done = 0; done < n; done += BATCH) {
        find_batch(path, places + done, n - done < BATCH ? n - done : BATCH, texts + done);
    }
}

static void find_line(const struct module *m, uint64_t address, char *to, size_t cap)
{
    uint64_t place = is_fixed(m->path) ? address : address - m->base;
    char number[32], text[512];
    snprintf(number, sizeof number, "0x%llx", (unsigned long long)place - 1); // in the call itself
    char *argv[] = { (char *)"addr2line", (char *)"-e", (char *)m->path, number, NULL };
    if (run(argv, text, sizeof text) && take_line(text, to, cap)) {
        return;
    }
    const char *slash = strrchr(m->path, '/');
    snprintf(to, cap, "%s+0x%llx", slash + 1, (unsigned long long)place);
}

void pli_source_line_find(uint32_t pid, uint64_t address, char *to, size_t cap)
{
    struct module m;
    to[0] = '\0';
    if (address != 0 && find_module(pid, address, &m)) {
        find_line(&m, address, to, cap);
    }
}

void pli_source_line_of(const char *written, char *to, size_t cap)
{
    unsigned long long address, base;
    struct module m;
    int at = 0;
    to[0] = '\0';
    if (sscanf(written, "%llx %llx %n", &address, &base, &at) == 2 && written[at] == '/' &&
        strlen(written + at) < sizeof m.path) {
        snprintf(m.path, sizeof m.path, "%s", written + at);
        m.base = base;
        find_line(&m, address, to, cap);
    }
}
