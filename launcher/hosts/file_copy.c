// SPDX-License-Identifier: BSD-3-Clause
// Copies files over a socket. The other side is not trusted: names and sizes are checked, and the
// receiver ends with a verdict.
#include "launcher/hosts/file_copy.h"

#include "base/fd_wait.h"
#include "launcher/base/fd_io.h"

#include <ctype.h>
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, REST_MS = 2000 };

// One end of it: the connection, and what goes through.
struct transfer {
    struct pli_protect_stream *s;
    const char *dir;
    char *buf; // CHUNK bytes
    uint32_t n_file;
    int error;
    char *why; // PLI_FILE_COPY_WHY bytes
};

static bool fail(struct transfer *h, int error, const char *what, const char *name)
{
    h->error = error != 0 ? error : EPROTO;
    snprintf(h->why, PLI_FILE_COPY_WHY, "%.40s%s%.120s: %.100s", what, name[0] != '\0' ? " " : "",
             name, strerror(h->error));
    return false;
}

// Sending.

// The receiver speaks once: before all is sent, that something is wrong there.
static bool send_some(struct transfer *h, const void *from, size_t len)
{
    if (pli_fd_wait_wait(h->s->fd, POLLIN, 0)) {
        return false;
    }
    return pli_protect_stream_put(h->s, from, len);
}

static bool send_head(struct transfer *h, const char *name, uint64_t size)
{
    struct {
        struct pli_file_copy_head head;
        char name[PATH_MAX];
    } all = { .head = { htole32((uint32_t)strlen(name)), htole32(h->n_file), htole64(size) } };
    memcpy(all.name, name, strlen(name));
    // Flushed at once: after the end the verdict may come at any time.
    return send_some(h, &all, sizeof all.head + strlen(name));
}

static bool send_content(struct transfer *h, int file, uint64_t size)
{
    while (size > 0) {
        ssize_t n = read(file, h->buf, size < CHUNK ? (size_t)size : CHUNK);
        if (n <= 0 && !(n < 0 && errno == EINTR)) {
            errno = n == 0 ? EIO : errno; // it has become shorter
            return false;
        }
        if (n > 0 && !send_some(h, h->buf, (size_t)n)) {
            return false;
        }
        size -= n > 0 ? (uint64_t)n : 0;
    }
    return true;
}

static bool send_file(struct transfer *h, int dir, const char *name)
{
    struct stat st;
    int file = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0 || fstat(file, &st) != 0 || !S_ISREG(st.st_mode)) {
        fail(h, errno, "cannot be read:", name);
    } else if (!send_head(h, name, (uint64_t)st.st_size) ||
               !send_content(h, file, (uint64_t)st.st_size)) {
        fail(h, errno, "cannot be sent:", name);
    }
    if (file >= 0) {
        close(file);
    }
    h->n_file++;
    return h->error == 0;
}

static bool send_folder(struct transfer *h, int dir, const char *prefix)
{
    char name[PATH_MAX];
    struct stat st;
    int fd = openat(dir, prefix[0] != '\0' ? prefix : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (d == NULL) {
        return fail(h, errno, "cannot be read:", prefix[0] != '\0' ? prefix : h->dir);
    }
    for (struct dirent *e; h->error == 0 && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.') {
            continue;
        }
        snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] != '\0' ? "/" : "", e->d_name);
        if (prefix[0] == '\0' && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(st.st_mode)) {
            send_folder(h, dir, name);
        } else {
            send_file(h, dir, name);
        }
    }
    closedir(d);
    return h->error == 0;
}

// What the other side says counts, if it says anything: it may be why nothing could be sent.
static bool hear_verdict(struct transfer *h)
{
    struct pli_file_copy_verdict v;
    shutdown(h->s->fd, SHUT_WR);
    if (!pli_protect_stream_get(h->s, &v, sizeof v)) {
        return h->error == 0 ? fail(h, errno, "the other host did not answer", "") : false;
    }
    if (v.error != 0) {
        v.why[sizeof v.why - 1] = '\0';
        snprintf(h->why, PLI_FILE_COPY_WHY, "%s", v.why);
        return false;
    }
    return h->error == 0;
}

bool pli_file_copy_send(struct pli_protect_stream *s, const char *dir, char *why)
{
    struct transfer h = { .s = s, .dir = dir, .buf = malloc(CHUNK), .why = why };
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (h.buf == NULL || at < 0) {
        fail(&h, errno, "cannot be read:", dir);
    } else if (!pli_protect_stream_put(s, PLI_FILE_COPY_MAGIC, 8)) {
        fail(&h, errno, "nothing can be sent", "");
    } else if (send_folder(&h, at, "") && !send_head(&h, "", 0)) {
        fail(&h, errno, "the end cannot be sent", "");
    }
    bool is_good = hear_verdict(&h);
    if (at >= 0) {
        close(at);
    }
    free(h.buf);
    return is_good;
}

// Receiving.

// "file" or "folder/file", of letters, digits and "._-"; no part begins with a dot.
static bool is_name(const char *name, size_t len)
{
    int n_slash = 0;
    for (size_t i = 0; i < len; i++) {
        bool is_first = i == 0 || name[i - 1] == '/';
        n_slash += name[i] == '/';
        if ((name[i] == '/' && (is_first || i + 1 == len)) || (is_first && name[i] == '.') ||
            (name[i] != '/' && !isalnum((unsigned char)name[i]) &&
             strchr("._-", name[i]) == NULL) ||
            name[i] == '\0') {
            return false;
        }
    }
    return len > 0 && n_slash <= 1;
}

// A disk that is too small says so before, where it can. One that is asked for more than it has is
// full for a moment, and others fail: a damaged size must not do that.
static bool reserve(int file, uint64_t size)
{
    struct statvfs fs;
    if (fstatvfs(file, &fs) == 0 && size / fs.f_frsize > fs.f_bavail) {
        errno = ENOSPC;
        return false;
    }
    return fallocate(file, FALLOC_FL_KEEP_SIZE, 0, (off_t)size) == 0 || errno == EOPNOTSUPP;
}

static bool receive_content(struct transfer *h, int file, uint64_t size, const char *name)
{
    if (size > 0 && !reserve(file, size)) {
        return fail(h, errno, "cannot be written:", name);
    }
    while (size > 0) {
        size_t n = size < CHUNK ? (size_t)size : CHUNK;
        if (!pli_protect_stream_get(h->s, h->buf, n)) {
            return fail(h, errno, "came only in part:", name);
        }
        if (!pli_fd_io_write(file, h->buf, n)) {
            return fail(h, errno, "cannot be written:", name);
        }
        size -= n;
    }
    return true;
}

static bool receive_file(struct transfer *h, int dir, const char *name, uint64_t size)
{
    char folder[PLI_FILE_COPY_NAME + 1];
    snprintf(folder, sizeof folder, "%.*s", (int)strcspn(name, "/"), name);
    if (strchr(name, '/') != NULL && mkdirat(dir, folder, 0700) != 0 && errno != EEXIST) {
        return fail(h, errno, "cannot be made:", folder);
    }
    int file = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) {
        return fail(h, errno, "cannot be made:", name);
    }
    bool is_good = receive_content(h, file, size, name);
    if (close(file) != 0 && is_good) {
        is_good = fail(h, errno, "cannot be written:", name);
    }
    return is_good;
}

// One more file. False: there are no more, or it is wrong (h->error).
static bool receive_one(struct transfer *h, int dir)
{
    struct pli_file_copy_head head;
    char name[PLI_FILE_COPY_NAME + 1];
    if (!pli_protect_stream_get(h->s, &head, sizeof head)) {
        return fail(h, errno, "the end did not come", "");
    }
    size_t len = le32toh(head.name_len);
    uint64_t size = le64toh(head.size);
    if (len > PLI_FILE_COPY_NAME || le32toh(head.n_file) != h->n_file ||
        h->n_file >= PLI_FILE_COPY_FILES || size > INT64_MAX) {
        return fail(h, EPROTO, "what came makes no sense", "");
    }
    if (len == 0) {
        return false;
    }
    if (!pli_protect_stream_get(h->s, name, len)) {
        return fail(h, errno, "the end did not come", "");
    }
    name[len] = '\0';
    h->n_file++;
    return is_name(name, len) ? receive_file(h, dir, name, size)
                              : fail(h, EPROTO, "no name for a file came", "");
}

// Say how it went. What was not read is read first, or the answer would be lost with it.
static void give_verdict(struct transfer *h)
{
    struct pli_file_copy_verdict v = { .error = htole32((uint32_t)h->error) };
    snprintf(v.why, sizeof v.why, "%s", h->error != 0 ? h->why : "");
    bool is_said = pli_protect_stream_put(h->s, &v, sizeof v);
    shutdown(h->s->fd, SHUT_WR);
    while (is_said && h->error != 0 && pli_fd_wait_wait(h->s->fd, POLLIN, REST_MS)) {
        ssize_t n = recv(h->s->fd, h->buf, CHUNK, MSG_DONTWAIT);
        is_said = n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
    }
}

bool pli_file_copy_receive(struct pli_protect_stream *s, const char *dir, char *why)
{
    char magic[8];
    struct transfer h = { .s = s, .dir = dir, .buf = malloc(CHUNK), .why = why };
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (h.buf == NULL || at < 0) {
        fail(&h, errno, "cannot be used:", dir);
    } else if (!pli_protect_stream_get(s, magic, sizeof magic) ||
               memcmp(magic, PLI_FILE_COPY_MAGIC, sizeof magic) != 0) {
        fail(&h, EPROTO, "what came is no files", "");
    }
    while (h.error == 0 && receive_one(&h, at)) {
    }
    if (h.buf != NULL) {
        give_verdict(&h);
    }
    if (at >= 0) {
        close(at);
    }
    free(h.buf);
    return h.error == 0;
}
