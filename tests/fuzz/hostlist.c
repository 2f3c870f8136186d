// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: lists of hosts as Slurm, PBS, MPICH and Open MPI write them. The first byte chooses
// which; the rest is the text.
#include "fuzz.h"

#include "launcher/base/launcher.h"
#include "launcher/base/say.h"
#include "launcher/job/hostlist.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"

#include <fcntl.h>
#include <unistd.h>

const char *const fuzz_words[] = { "n[1-3]",      "[", "]",  "-",  ",",         "(x3)", "slots=2",
                                   "max_slots=4", "#", ":4", "/8", "[fe80::1]", "\n",   NULL };

static void say_nothing(const char *text, unsigned long len)
{
    FUZZ_MUST(text[len > 0 ? len - 1 : 0] == '\n' || len == 0);
}

static bool count(const char *name, void *arg)
{
    uint32_t *n = arg;
    FUZZ_MUST(name[0] != '\0');
    return ++*n <= PLI_HOSTLIST_MOST;
}

static void forget(struct pli_job *job)
{
    for (uint32_t h = 0; h < job->n_host; h++) {
        free(job->hosts[h].name);
    }
    free(job->hosts);
    free(job->host_index.table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct pli_say_state say = { .put = say_nothing };
    pli_launcher.say = &say;
    if (len == 0) {
        return 0;
    }
    char *text = malloc(len), path[64];
    FUZZ_MUST(text != NULL);
    memcpy(text, data + 1, len - 1);
    text[len - 1] = '\0';
    struct pli_job job = { 0 };
    struct pli_hostlist_counts counts = { .at = text };
    uint32_t n = 0, value;
    switch (data[0] % 4) {
    case 0:
        pli_hostlist_each(text, count, &n);
        FUZZ_MUST(n <= PLI_HOSTLIST_MOST);
        break;
    case 1:
        for (int i = 0; i < 1000 && pli_hostlist_count(&counts, &value); i++) {
        }
        break;
    case 2:
        FUZZ_TRY
        {
            pli_hosts_take_list(&job, "--hosts", text);
        }
        forget(&job);
        break;
    default:
        snprintf(path, sizeof path, "/proc/self/fd/%d", fuzz_file(data + 1, len - 1));
        FUZZ_TRY
        {
            pli_hosts_take_file(&job, "--hostfile", path);
        }
        forget(&job);
        break;
    }
    free(text);
    return 0;
}
