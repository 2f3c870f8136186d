// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the description of a job that a daemon reads from its standard input.
#include "fuzz.h"

#include "launcher/base/launcher.h"
#include "launcher/base/say.h"
#include "launcher/hosts/daemon_spec.h"
#include "launcher/hosts/dlink_wire.h"
#include "launcher/job/job.h"
#include "launcher/job/rank_map.h"
#include "launcher/mpiexec_setup.h"

#include <endian.h>
#include <unistd.h>

const char *const fuzz_words[] = { "PLIANTJ", "alpha", "IMPI_X=1", "/bin/true", NULL };

// The input is the body, after the parts that must fit or nothing is read.
static void put_whole(const uint8_t *data, size_t len, struct pli_pack *p)
{
    struct pli_pack all = { 0 };
    pli_pack_text(&all, PLIANT_VERSION);
    pli_pack_u32(&all, PLI_DLINK_VERSION);
    pli_pack_bytes(&all, data, len);
    pli_pack_bytes(p, "PLIANTJ", 8);
    pli_pack_u64(p, all.len);
    pli_pack_bytes(p, all.data, all.len);
    pli_pack_fini(&all);
}

static void say_nothing(const char *text, unsigned long len)
{
    FUZZ_MUST(text != NULL || len == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (pli_launcher.job == NULL) {
        pli_mpiexec_setup_launcher();
        pli_say_through(say_nothing);
    }
    struct pli_daemon_spec spec = { .join_id = 0 };
    struct pli_job job = { 0 };
    struct pli_pack p = { 0 };
    char *theirs = NULL;
    bool is_raw = len > 0 && data[0] == 'P';
    if (is_raw) {
        pli_pack_bytes(&p, data, len);
    } else {
        put_whole(data, len, &p);
    }
    FUZZ_TRY
    {
        if (pli_daemon_spec_read(&spec, fuzz_file(p.data, p.len), 0, "alpha", &job, &theirs) ==
            PLI_DAEMON_SPEC_GOOD) {
            FUZZ_MUST(job.here < job.n_host && job.n_app > 0 && job.n_rank > 0);
            FUZZ_MUST(job.n_task <= job.n_rank + job.n_extra);
        }
    }
    pli_pack_fini(&p);
    free(theirs);
    return 0; // a daemon reads one: what it read is not given back
}
