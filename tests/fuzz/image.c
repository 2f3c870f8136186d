// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: images of processes: what is read in those of CRIU, and the files of an image on
// their way from another host. The first byte chooses.
#include "fuzz.h"

#include "base/protect_stream.h"
#include "launcher/base/remove_tree.h"
#include "launcher/ckpt/criu_image.h"
#include "launcher/hosts/file_copy.h"

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

// The bytes come over a connection of the job, so they are sealed.
static void fuzz_copy(const uint8_t *data, size_t len)
{
    static const unsigned char keys[2][PLI_PROTECT_KEY] = { "one way", "the other way" };
    char dir[128], why[PLI_FILE_COPY_WHY] = "";
    struct pli_protect_stream from, to;
    int pair[2];
    snprintf(dir, sizeof dir, "%s/copy", fuzz_dir());
    FUZZ_MUST(mkdir(dir, 0700) == 0);
    FUZZ_MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    FUZZ_MUST(pli_protect_stream_open(&from, pair[0], 1000, PLI_PROTECT_HMAC, keys[0], keys[1]) ==
              PLI_OK);
    FUZZ_MUST(pli_protect_stream_open(&to, pair[1], 1000, PLI_PROTECT_HMAC, keys[1], keys[0]) ==
              PLI_OK);
    FUZZ_MUST(pli_protect_stream_put(&from, data, len));
    shutdown(pair[0], SHUT_WR);
    if (!pli_file_copy_receive(&to, dir, why)) {
        FUZZ_MUST(why[0] != '\0');
    }
    pli_protect_stream_close(&from);
    pli_protect_stream_close(&to);
    close(pair[0]);
    close(pair[1]);
    pli_remove_tree(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len > 0) {
        (data[0] % 4 != 0 ? fuzz_criu : fuzz_copy)(data + 1, len - 1);
    }
    return 0;
}
