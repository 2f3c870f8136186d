// SPDX-License-Identifier: BSD-3-Clause
// Writes the part of a spawn request that is about one program: finds the program where the
// spawning process would find it, and reads the hints. [MPI-5.0 11.8.4]
#include "dynamic/spawn_part.h"

#include "boot/launcher_wire.h"
#include "boot/boot.h"
#include "dynamic/hint_file.h"
#include "dynamic/host_hint.h"
#include "obj/info.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

void pli_spawn_buf_put(struct pli_spawn_buf *t, const void *data, size_t len)
{
    if (t->len + len > t->cap) {
        t->cap = (t->len + len) * 2 + 256;
        t->data = realloc(t->data, t->cap);
        if (t->data == NULL) {
            abort(); // without memory for a few kilobytes nothing works
        }
    }
    memcpy(t->data + t->len, data, len);
    t->len += len;
}

void pli_spawn_buf_free(struct pli_spawn_buf *t)
{
    free(t->data);
    *t = (struct pli_spawn_buf){ 0 };
}

static void put_string(struct pli_spawn_buf *t, const char *s)
{
    pli_spawn_buf_put(t, s, strlen(s) + 1);
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

// The absolute path of a name in a directory; a relative directory is relative to `here`, which is
// NULL where the current directory was removed: nothing can be found there.
static bool try_dir(const char *here, const char *dir, size_t dir_len, const char *name, char *out)
{
    bool is_absolute = dir_len > 0 && dir[0] == '/';
    if (!is_absolute && here == NULL) {
        return false;
    }
    int n = is_absolute   ? snprintf(out, PATH_MAX, "%.*s/%s", (int)dir_len, dir, name)
            : dir_len > 0 ? snprintf(out, PATH_MAX, "%s/%.*s/%s", here, (int)dir_len, dir, name)
                          : snprintf(out, PATH_MAX, "%s/%s", here, name);
    return n < PATH_MAX && is_program(out);
}

static bool try_list(const char *here, const char *list, const char *name, char *out)
{
    for (const char *dir = list; list != NULL; dir++) {
        size_t len = strcspn(dir, ":;"); // the standard leaves the separator open
        if (try_dir(here, dir, len, name, out)) {
            return true;
        }
        dir += len;
        if (*dir == '\0') {
            break;
        }
    }
    return false;
}

// PATH as a child of this process would get it.
static const char *search_path(void)
{
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        if (strncmp(*e, "PATH=", 5) == 0) {
            return *e + 5;
        }
    }
    return "/usr/local/bin:/usr/bin:/bin";
}

// Whether processes may be started on other hosts, where the launcher checks files itself.
static bool has_other_hosts(void)
{
    return (pli_boot.node.header->net & PLI_NODE_PART) != 0;
}

static enum pli_err find_program(const char *name, const char *here, const char *wdir,
                                 const char *path, char *out)
{
    char base[2 * PATH_MAX];
    bool is_below = wdir == NULL || wdir[0] != '/';
    snprintf(base, sizeof base, "%s%s%s", is_below && here != NULL ? here : "",
             is_below && wdir != NULL ? "/" : "", wdir != NULL ? wdir : "");
    bool is_found;
    if (name[0] == '/') {
        snprintf(out, PATH_MAX, "%s", name);
        is_found = has_other_hosts() || is_program(name);
    } else if (strchr(name, '/') != NULL) {
        is_found = try_list(here, path, name, out) ||
                   try_dir(base[0] != '\0' ? base : NULL, "", 0, name, out) ||
                   try_dir(here, "", 0, name, out);
    } else {
        is_found = try_list(here, path, name, out) || try_list(here, search_path(), name, out) ||
                   try_dir(here, "", 0, name, out);
    }
    if (is_found) {
        return PLI_OK;
    }
    if (access(out, F_OK) == 0) {
        return pli_fail(PLI_ERR_SPAWN, "%s cannot be run: it is not an executable file", out);
    }
    if (name[0] == '/') {
        return pli_fail(PLI_ERR_SPAWN, "there is no program %s", name);
    }
    return pli_fail(PLI_ERR_SPAWN, "there is no program %s in %s%s%s", name,
                    path != NULL ? path : "", path != NULL ? ", " : "",
                    strchr(name, '/') == NULL ? "PATH or the current directory"
                    : base[0] != '\0'         ? base
                                              : "the current directory, which was removed");
}

static enum pli_err check_arch(const char *arch)
{
    struct utsname u;
    if (arch == NULL || (uname(&u) == 0 && strcasecmp(arch, u.machine) == 0)) {
        return PLI_OK;
    }
    return pli_fail(PLI_ERR_SPAWN, "hint arch is '%s', but this machine is %s", arch, u.machine);
}

// The largest of the numbers a, a + c, a + 2c, ... up (or down) to b that is at most n; -1: none.
static long largest(long a, long b, long c, long n)
{
    long low = c > 0 ? a : b, high = c > 0 ? b : a;
    high = high < n ? high : n;
    if (c == 0 || low > high) {
        return -1;
    }
    c = labs(c);
    long over = (high - a) % c;
    high -= over < 0 ? over + c : over;
    return high >= low && high >= 0 ? high : -1;
}

// The largest number that the hint allows, at most n. [MPI-5.0 11.8.4 soft]
static enum pli_err apply_soft(const char *soft, int *n)
{
    long best = -1;
    for (const char *s = soft; s != NULL && *s != '\0';) {
        long v[3] = { 0, 0, 1 };
        int k = 0;
        char *end;
        do {
            v[k++] = strtol(s, &end, 10);
            if (end == s || labs(v[k - 1]) > LONG_MAX / 4) {
                return pli_fail(PLI_ERR_INFO_VALUE,
                                "hint soft is '%s'; it is a list of numbers and ranges a:b or "
                                "a:b:c with commas",
                                soft);
            }
            s = *end == ':' ? end + 1 : end;
        } while (*end == ':' && k < 3);
        v[1] = k == 1 ? v[0] : v[1];
        long top = largest(v[0], v[1], v[2], *n);
        best = top > best ? top : best;
        s += strspn(s, ", ");
        if (*s != '\0' && end == s) {
            return pli_fail(PLI_ERR_INFO_VALUE, "hint soft is '%s', which is not understood", soft);
        }
    }
    if (soft != NULL && best < 0) {
        return pli_fail(PLI_ERR_SPAWN, "hint soft, '%s', allows no number up to %d", soft, *n);
    }
    *n = soft != NULL ? (int)best : *n;
    return PLI_OK;
}

// Append settings NAME=VALUE, one per line. Returns their number, or -1 after pli_fail.
static int put_env(struct pli_spawn_buf *t, const char *env)
{
    int n = 0;
    for (const char *s = env; s != NULL && *s != '\0';) {
        size_t len = strcspn(s, "\n");
        const char *eq = memchr(s, '=', len);
        if (len > 0 && (eq == NULL || eq == s)) {
            pli_fail(PLI_ERR_INFO_VALUE, "hint env has a line '%.*s'; each is NAME=VALUE", (int)len,
                     s);
            return -1;
        }
        if (len > 0) {
            pli_spawn_buf_put(t, s, len);
            pli_spawn_buf_put(t, "", 1);
            n++;
        }
        s += len + (s[len] == '\n');
    }
    return n;
}

static enum pli_err check_errhandler(const char *name)
{
    if (name == NULL || strcmp(name, "mpi_errors_are_fatal") == 0 ||
        strcmp(name, "mpi_errors_abort") == 0 || strcmp(name, "mpi_errors_return") == 0) {
        return PLI_OK;
    }
    return pli_fail(PLI_ERR_INFO_VALUE,
                    "hint mpi_initial_errhandler is '%s'; it is one of mpi_errors_are_fatal, "
                    "mpi_errors_abort, mpi_errors_return",
                    name);
}

static enum pli_err check(const char *command, int *n, struct pli_info *info)
{
    if (command == NULL || command[0] == '\0') {
        return pli_fail(PLI_ERR_ARG, "argument command is %s", command == NULL ? "NULL" : "empty");
    }
    if (*n < 0) {
        return pli_fail(PLI_ERR_ARG, "argument maxprocs is %d, but must be 0 or more", *n);
    }
    enum pli_err err = check_arch(pli_info_find(info, "arch"));
    err = err == PLI_OK ? check_errhandler(pli_info_find(info, "mpi_initial_errhandler")) : err;
    return err == PLI_OK ? apply_soft(pli_info_find(info, "soft"), n) : err;
}

static enum pli_err add(struct pli_spawn_buf *t, const char *command, char *const argv[], int *n,
                        struct pli_info *info)
{
    char file[PATH_MAX] = "", here[PATH_MAX], *now = getcwd(here, sizeof here);
    const char *wdir = pli_info_find(info, "wdir");
    enum pli_err err = check(command, n, info);
    if (err == PLI_OK && now == NULL && wdir != NULL && wdir[0] != '/') {
        err =
            pli_fail(PLI_ERR_SPAWN, "hint wdir is '%s', below a directory that was removed", wdir);
    }
    if (err == PLI_OK) {
        err = find_program(command, now, wdir, pli_info_find(info, "path"), file);
    }
    if (err != PLI_OK) {
        return err;
    }
    struct stat st;
    if (wdir != NULL && !has_other_hosts() && (stat(wdir, &st) != 0 || !S_ISDIR(st.st_mode))) {
        return pli_fail(PLI_ERR_SPAWN, "hint wdir is '%s', which is no directory here", wdir);
    }
    // mpiexec may be in another directory by now; its own is taken where this one was removed.
    if (now == NULL && wdir == NULL) {
        wdir = "";
    } else if (wdir == NULL || wdir[0] != '/') {
        size_t len = strlen(here);
        snprintf(here + len, sizeof here - len, "%s%s", wdir != NULL ? "/" : "",
                 wdir != NULL ? wdir : "");
        wdir = here;
    }
    size_t head = t->len;
    struct pli_ask_part part = { .n = (uint32_t)*n, .n_arg = 1 };
    pli_spawn_buf_put(t, &part, sizeof part);
    put_string(t, file);
    put_string(t, wdir);
    pli_host_hint_put(t, info);
    put_string(t, command);
    for (; argv != NULL && argv[part.n_arg - 1] != NULL; part.n_arg++) {
        put_string(t, argv[part.n_arg - 1]);
    }
    int n_env = put_env(t, pli_info_find(info, "env"));
    if (n_env < 0) {
        return PLI_ERR_INFO_VALUE;
    }
    part.n_env = (uint32_t)n_env;
    const char *handler = pli_info_find(info, "mpi_initial_errhandler");
    if (handler != NULL) {
        static const char name[] = "PLIANT_INITIAL_ERRHANDLER=";
        pli_spawn_buf_put(t, name, sizeof name - 1);
        put_string(t, handler);
        part.n_env++;
    }
    part.len = (uint32_t)(t->len - head - sizeof part);
    for (; part.len % 8 != 0; part.len++) {
        pli_spawn_buf_put(t, "", 1);
    }
    memcpy(t->data + head, &part, sizeof part);
    return PLI_OK;
}

enum pli_err pli_spawn_part_add(struct pli_spawn_buf *t, const char *command, char *const argv[],
                                int *n, struct pli_info *info)
{
    struct pli_info *all = NULL;
    enum pli_err err = pli_hint_file_read(info, &all);
    if (err == PLI_OK) {
        err = add(t, command, argv, n, all != NULL ? all : info);
    }
    pli_info_release(all);
    return err;
}
