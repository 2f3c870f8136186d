// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the manifest of a checkpoint, with a checksum at its end that fits.
#include "fuzz.h"

#include "launcher/base/say.h"
#include "base/checksum.h"
#include "launcher/ckpt/manifest.h"

#include <inttypes.h>

const char *const fuzz_words[] = { "number 1\n",
                                   "mode state\n",
                                   "mode image\n",
                                   "ranks 2\n",
                                   "clock 1\n",
                                   "cwd /tmp\n",
                                   "arg a%20b\n",
                                   "program 1\n",
                                   "spawned 0\n",
                                   "member 0\n",
                                   "task 0 17 1 2 3 4 0\n",
                                   "spread 0\n",
                                   "host 99\n",
                                   "joined c\n",
                                   "job ff\n",
                                   "attempt 1\n",
                                   "generation 1\n",
                                   "file a 3 ff\n",
                                   "file ../x 3 ff\n",
                                   "%00",
                                   "%",
                                   NULL };

// Write the manifest; its end is added where it can be one.
static void write_file(const uint8_t *data, size_t len)
{
    char *all = malloc(len + 32);
    FUZZ_MUST(all != NULL);
    memcpy(all, data, len);
    if (len > 0 && data[len - 1] == '\n') {
        uint64_t sum = pli_checksum(0, data, len);
        len += (size_t)snprintf(all + len, 32, "end %" PRIx64 "\n", sum);
    }
    fuzz_path(PLI_MANIFEST, all, len);
    free(all);
}

static void check(const struct pli_manifest *m)
{
    uint32_t n_host = m->n_host > 0 ? m->n_host : 1;
    FUZZ_MUST(m->program >= 1 && m->program <= m->n_arg && m->cwd != NULL);
    for (uint32_t i = 0; i < m->n_task; i++) {
        FUZZ_MUST(m->tasks[i].host < n_host && m->tasks[i].pid > 0);
    }
    for (uint32_t i = 0; i < m->n_member; i++) {
        FUZZ_MUST(m->members[i] < (uint64_t)m->n_rank + m->spawned);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct pli_manifest m;
    char why[PLI_CKPT_WHY] = "";
    write_file(data, len);
    if (pli_manifest_read(fuzz_dir(), len % 4 == 0, &m, why)) {
        check(&m);
        pli_manifest_fini(&m);
    } else {
        FUZZ_MUST(why[0] != '\0' && memchr(why, '\0', sizeof why) != NULL);
    }
    return 0;
}
