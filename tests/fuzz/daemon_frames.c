// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: frames that mpiexec and its daemons take from each other, and in them the requests
// of ranks. The input is a row of frames. A process takes a few inputs, one after another; the
// first one meets mpiexec as it is when all hosts have begun.
#include "fuzz.h"

#include "boot/launcher_wire.h"
#include "launcher/base/launcher.h"
#include "launcher/base/output.h"
#include "launcher/base/say.h"
#include "launcher/hosts/daemon_spec.h"
#include "launcher/hosts/dlink.h"
#include "launcher/hosts/head_run.h"
#include "launcher/hosts/head_state.h"
#include "launcher/hosts/host_table.h"
#include "launcher/hosts/join_replay.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/job/role.h"
#include "launcher/job/world_version.h"
#include "launcher/ranks/failure_news.h"
#include "launcher/ranks/launch.h"
#include "launcher/ranks/rank_request.h"
#include "launcher/ranks/supervisor.h"
#include "launcher/run.h"
#include "launcher/mpiexec_setup.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const fuzz_words[] = { "alpha", "beta", "socket", "/bin/true", NULL };

enum {
    HEAD = 8,    // kind, flag, host, a, length: of a frame in the input
    N_INPUT = 64 // of one process
};

static struct fuzz_memory
    *fresh; // what node memory had when all hosts had begun: processes here share it

static void hear_hello(uint32_t host)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_pack p = { 0 };
    struct pli_node_host place = { .n_addr = 0 };
    struct pli_host_table info = { .place = place };
    pli_pack_text(&p, job->hosts[host].name);
    pli_host_table_pack_place(&info, &p);
    pli_pack_u32(&p, 1000); // rows
    pli_pack_u32(&p, 0);    // parts of its hardware
    struct pli_dlink l = { .host = host, .watch = { .fd = -1 } };
    struct pli_dframe f = { .kind = PLI_DLINK_HELLO, .host = host, .data = p.data, .len = p.len };
    pli_launcher.head->hear(&l, &f);
    pli_pack_fini(&p);
}

static void say_nothing(const char *text, unsigned long len)
{
    FUZZ_MUST(text != NULL || len == 0);
}

static void start(void)
{
    static char *argv[] = { "mpiexec", "--launcher", "/bin/true", "--hosts", "alpha:2,beta:2",
                            "-n",      "4",          "/bin/true", NULL };
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    FUZZ_MUST(null >= 0 && dup2(null, STDOUT_FILENO) >= 0);
    setenv("PLIANT_FAULT", "", 1);
    pli_mpiexec_setup_launcher();
    pli_say_through(say_nothing);
    struct pli_job *job = pli_launcher.job;
    pli_mpiexec_setup_read(job, (int)(sizeof argv / sizeof *argv) - 1, argv);
    pli_mpiexec_setup_plan(job);
    FUZZ_MUST(pli_launcher.role == &pli_role_head);
    int signals = pli_launch_init();
    FUZZ_MUST(signals >= 0 && pli_loop_init());
    FUZZ_MUST(pli_node_create(job->n_rank, &job->node, &job->node_fd) == PLI_OK);
    pli_run_fill_node(job);
    job->node.header->net |= PLI_NODE_HEAD;
    pli_output_open();
    pli_say_through(say_nothing);
    pli_supervisor_begin(job, signals);
    FUZZ_MUST(pli_head_run_begin(job, argv));
    hear_hello(0);
    hear_hello(1);
    FUZZ_MUST(pli_launcher.head->is_started);
}

// What a daemon does with a frame from mpiexec that changes what it knows of the job.
static void hear_daemon(const struct pli_dframe *f)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    struct pli_answer a = { 0 };
    switch (f->kind) {
    case PLI_DLINK_START:
        pli_host_table_fill_node(job, &u);
        break;
    case PLI_DLINK_SETS:
        pli_host_table_add_made(job, &u, f->flag != 0, f->a);
        break;
    case PLI_DLINK_WORLD:
        pli_world_version_take(job, &u, &a);
        break;
    case PLI_DLINK_NEWS:
        pli_failure_news_unpack(job, f->data, f->len);
        break;
    case PLI_DLINK_ADDRESS:
        pli_host_table_place(job, f->a, &u);
        break;
    case PLI_DLINK_REPLAY:
        pli_join_replay_take(job, &u);
        break;
    default:
        break;
    }
}

static void hear_all(const uint8_t *data, size_t len)
{
    for (size_t at = 0; at + HEAD <= len;) {
        const uint8_t *h = data + at;
        size_t n = (size_t)h[6] | (size_t)h[7] << 8;
        at += HEAD;
        n = n < len - at ? n : len - at;
        void *body = malloc(n + 1);
        FUZZ_MUST(body != NULL);
        memcpy(body, data + at, n);
        struct pli_dframe f = {
            .kind = h[0], .flag = h[1], .host = h[2], .a = h[3] | (uint32_t)h[4] << 8, .len = n
        };
        f.a = h[5] == 0 ? f.a : UINT32_MAX - f.a;
        f.data = body;
        struct pli_dlink l = { .host = f.host, .watch = { .fd = -1 } };
        if (f.kind < PLI_DLINK_START) {
            pli_launcher.head->hear(&l, &f);
        } else {
            hear_daemon(&f);
        }
        pli_rank_request_sweep();
        free(body);
        at += n;
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    start();
    fresh = fuzz_memory_keep(pli_launcher.job->node_fd);
    fuzz_n_input = N_INPUT;
    return 0;
}

static void run(const uint8_t *data, size_t len)
{
    static bool is_begun;
    if (!is_begun) {
        is_begun = true;
        fuzz_memory_restore(fresh);
    }
    volatile bool is_whole = false; // across longjmp
    FUZZ_TRY
    {
        hear_all(data, len);
        is_whole = true;
    }
    fuzz_is_used_up = !is_whole; // mpiexec has ended
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    int status;
    if (fuzz_is_replaced || getenv("FUZZ_SHOW") != NULL) {
        run(data, len);
        return 0;
    }
    pid_t pid = fork();
    FUZZ_MUST(pid >= 0);
    if (pid == 0) {
        struct rlimit limit = { 10, 10 }; // seconds
        setrlimit(RLIMIT_CPU, &limit);
        run(data, len);
        _exit(0);
    }
    FUZZ_MUST(waitpid(pid, &status, 0) == pid);
    FUZZ_MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}
