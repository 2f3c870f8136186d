// SPDX-License-Identifier: BSD-3-Clause
// Finds sockets of the program itself. Those of the library are closed while a rank stands still.
#include "launcher/ckpt/ckpt_sockets.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LISTENS = 10 }; // the state as /proc has it

struct tcp {
    char from[INET6_ADDRSTRLEN + 16], to[INET6_ADDRSTRLEN + 16];
    unsigned state;
};

// "0100007F:1F90", or with four such words: the words are in the order of the network.
static void show_address(const char *hex, char *to, size_t cap)
{
    uint32_t words[4] = { 0 };
    char name[INET6_ADDRSTRLEN] = "";
    const char *colon = strchr(hex, ':');
    size_t n = colon != NULL ? (size_t)(colon - hex) / 8 : 0;
    for (size_t i = 0; i < n && i < 4; i++) {
        char one[9] = "";
        memcpy(one, hex + i * 8, 8);
        words[i] = (uint32_t)strtoul(one, NULL, 16);
    }
    inet_ntop(n == 4 ? AF_INET6 : AF_INET, words, name, sizeof name);
    snprintf(to, cap, n == 4 ? "[%s]:%lu" : "%s:%lu", name,
             colon != NULL ? strtoul(colon + 1, NULL, 16) : 0);
}

static bool find_tcp(pid_t pid, const char *table, unsigned long inode, struct tcp *out)
{
    char path[64], line[512], from[64], to[64];
    bool is_found = false;
    snprintf(path, sizeof path, "/proc/%d/net/%s", (int)pid, table);
    FILE *f = fopen(path, "re");
    while (f != NULL && !is_found && fgets(line, sizeof line, f) != NULL) {
        unsigned long its;
        is_found = sscanf(line, " %*u: %63s %63s %x %*s %*s %*s %*u %*u %lu", from, to, &out->state,
                          &its) == 4 &&
                   its == inode;
    }
    if (f != NULL) {
        fclose(f);
    }
    if (is_found) {
        show_address(from, out->from, sizeof out->from);
        show_address(to, out->to, sizeof out->to);
    }
    return is_found;
}

// Say what a socket is; false: it is not of TCP.
static bool describe(pid_t pid, const char *fd, unsigned long inode, char *to, size_t cap)
{
    struct tcp t = { .state = 0 };
    if (!find_tcp(pid, "tcp", inode, &t) && !find_tcp(pid, "tcp6", inode, &t)) {
        snprintf(to, cap, "descriptor %s is a socket", fd);
        return false;
    }
    if (t.state == LISTENS) {
        snprintf(to, cap, "descriptor %s is a TCP socket that listens at %s", fd, t.from);
    } else {
        snprintf(to, cap, "descriptor %s is a TCP socket, connected from %s to %s", fd, t.from,
                 t.to);
    }
    return true;
}

bool pli_ckpt_sockets_find(pid_t pid, bool is_any, char *to, size_t cap)
{
    char path[64], link[64];
    bool is_found = false;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d != NULL && !is_found && (e = readdir(d)) != NULL;) {
        unsigned long inode;
        ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof link - 1);
        link[n > 0 ? n : 0] = '\0';
        is_found = sscanf(link, "socket:[%lu]", &inode) == 1 &&
                   (describe(pid, e->d_name, inode, to, cap) || is_any);
    }
    if (d != NULL) {
        closedir(d);
    }
    return is_found;
}
