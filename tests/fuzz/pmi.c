// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: what a launcher answers over PMI-1, all of it, as lines. The first byte chooses the
// rank and the size of the job.
#include "fuzz.h"

#include "boot/boot.h"
#include "boot/pmi/pmi.h"
#include "boot/pmi/pmi_map.h"

#include <sys/socket.h>
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
    int pair[2];
    if (len == 0) {
        return 0;
    }
    fuzz_map(data + 1, len - 1);
    FUZZ_MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    FUZZ_MUST(len == 1 || send(pair[1], data + 1, len - 1, MSG_NOSIGNAL) > 0);
    shutdown(pair[1], SHUT_WR);
    int size = 1 + data[0] % 4;
    set_number("PMI_FD", pair[0]);
    set_number("PMI_SIZE", size);
    set_number("PMI_RANK", data[0] / 4 % size);
    enum pli_err err = pli_pmi_ops.open(&boot);
    if (err == PLI_OK) {
        FUZZ_MUST(boot.n_world == (uint32_t)size && boot.host < boot.node.header->n_host);
        pli_pmi_ops.close(&boot);
    } else {
        FUZZ_MUST(pli_fail_take(NULL)[0] != '\0');
    }
    close_range((unsigned)pair[0], ~0U, 0); // what a rank keeps open until its end
    return 0;
}
