// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: images of processes: what is read in those of CRIU, and the files of an image on
// their way from another host. The first byte chooses.
#include "fuzz.h"

#include "base/protect_stream.h"
#include "launcher/base/remove_tree.h"
#include "launcher/ckpt/criu_image.h"
#include "launcher/hosts/file_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const fuzz_words[] = {
    PLI_FILE_COPY_MAGIC, "file", "folder/file", "../x", "/etc/x", NULL
};

static void fuzz_criu(const uint8_t *data, size_t len)
{
    static struct pli_criu_file file;
    struct pli_criu_bytes all = { data, data + len }, record, fields;
    struct pli_criu_field field;
    struct pli_criu_remap remap;
    while (pli_criu_image_record(&all, &record)) {
        FUZZ_MUST(record.at >= data && record.end <= data + len);
        fields = record;
        while (pli_criu_image_field(&fields, &field)) {
            FUZZ_MUST(field.inner.at == NULL ||
                      (field.inner.at >= record.at && field.inner.end <= record.end));
        }
        if (pli_criu_image_file(record, &file)) {
            FUZZ_MUST(memchr(file.name, '\0', sizeof file.name) != NULL);
        }
        pli_criu_image_remap(record, &remap);
        pli_criu_image_is_remapped((struct pli_criu_bytes){ data, data + len }, remap.file);
    }
}

static const uint8_t *at, *end; // of the connection's bytes

bool __wrap_pli_protect_stream_get(struct pli_protect_stream *s, void *to, size_t len);

// The bytes come over a connection of the job, sealed, so each is what the other host has sent:
// here they are taken from memory.
bool __wrap_pli_protect_stream_get(struct pli_protect_stream *s, void *to, size_t len)
{
    (void)s;
    size_t n = len < (size_t)(end - at) ? len : (size_t)(end - at);
    memcpy(to, at, n);
    at += n;
    errno = ECONNRESET;
    return n == len;
}

bool __wrap_pli_protect_stream_put(struct pli_protect_stream *s, const void *from, size_t len);

bool __wrap_pli_protect_stream_put(struct pli_protect_stream *s, const void *from, size_t len)
{
    return s->fd >= 0 && (from != NULL || len == 0);
}

int __real_fallocate(int fd, int mode, off_t from, off_t len);
int __wrap_fallocate(int fd, int mode, off_t from, off_t len);

// A small disk.
int __wrap_fallocate(int fd, int mode, off_t from, off_t len)
{
    errno = ENOSPC;
    return len <= 1 << 20 ? __real_fallocate(fd, mode, from, len) : -1;
}

// A connection whose other end is gone.
static int dead_socket(void)
{
    static int pair[2] = { -1, -1 };
    if (pair[0] < 0) {
        FUZZ_MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        close(pair[1]);
    }
    return pair[0];
}

static void fuzz_copy(const uint8_t *data, size_t len)
{
    char dir[128], why[PLI_FILE_COPY_WHY] = "";
    struct pli_protect_stream from = { .fd = dead_socket() };
    snprintf(dir, sizeof dir, "%s/copy", fuzz_dir());
    FUZZ_MUST(mkdir(dir, 0700) == 0 || errno == EEXIST);
    at = data;
    end = data + len;
    if (!pli_file_copy_receive(&from, dir, why)) {
        FUZZ_MUST(why[0] != '\0');
    }
    if (rmdir(dir) != 0) {
        pli_remove_tree(dir);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len > 0) {
        (data[0] % 4 != 0 ? fuzz_criu : fuzz_copy)(data + 1, len - 1);
    }
    return 0;
}
