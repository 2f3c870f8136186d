// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: what a launcher answers over PMI-1, all of it, as lines. The first byte chooses the
// rank and the size of the job.
#include "fuzz.h"

#include "boot/boot.h"
#include "boot/pmi/pmi.h"
#include "boot/pmi/pmi_map.h"

#include <unistd.h>

const char *const fuzz_words[] = { "cmd=response_to_init rc=0\n",
                                   "cmd=my_kvsname kvsname=k\n",
                                   "cmd=get_result rc=0 value=",
                                   "cmd=put_result rc=0\n",
                                   "cmd=barrier_out\n",
                                   "(vector,(0,2,1))",
                                   "(vector,(0,1,4))",
                                   "value=",
                                   "rc=",
                                   "\n",
                                   NULL };

enum { LAUNCHER = 200 }; // the launcher's descriptor: what is read there is read from memory

static const uint8_t *at, *end;

ssize_t __real_read(int fd, void *to, size_t n);
ssize_t __wrap_read(int fd, void *to, size_t n);
ssize_t __real_write(int fd, const void *from, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n);

ssize_t __wrap_read(int fd, void *to, size_t n)
{
    if (fd != LAUNCHER) {
        return __real_read(fd, to, n);
    }
    n = n < (size_t)(end - at) ? n : (size_t)(end - at);
    memcpy(to, at, n);
    at += n;
    return (ssize_t)n;
}

ssize_t __wrap_write(int fd, const void *from, size_t n)
{
    return fd == LAUNCHER ? (ssize_t)n : __real_write(fd, from, n);
}

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

static void fuzz_map(const uint8_t *data, size_t len)
{
    uint32_t host_of[9];
    char *text = strndup((const char *)data, len);
    FUZZ_MUST(text != NULL);
    pli_pmi_map_read(text, host_of, (uint32_t)(len % 9));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct pli_boot boot = { 0 };
    if (len == 0) {
        return 0;
    }
    fuzz_close_new();
    fuzz_map(data + 1, len - 1);
    at = data + 1;
    end = data + len;
    int size = 1 + data[0] % 4;
    set_number("PMI_FD", LAUNCHER);
    set_number("PMI_SIZE", size);
    set_number("PMI_RANK", data[0] / 4 % size);
    enum pli_err err = pli_pmi_ops.open(&boot);
    if (err == PLI_OK) {
        FUZZ_MUST(boot.n_world == (uint32_t)size && boot.host < boot.node.header->n_host);
        pli_pmi_ops.close(&boot);
    } else {
        FUZZ_MUST(pli_fail_take(NULL)[0] != '\0');
    }
    fuzz_close_new(); // what a rank keeps open until its end
    return 0;
}
