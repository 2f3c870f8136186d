// SPDX-License-Identifier: BSD-3-Clause
// The server without its sockets: who is told why a world that is joined by a token does not begin.
#include "server/srv_conf.h"
#include "server/srv_job.h"
#include "server/srv_log.h"
#include "t.h"
#include "wire/impi_cmd_wire.h"

enum { NOW = 1000 };

static struct pli_srv_conf conf = { .n_client = 3,
                                    .handshake_s = 30,
                                    .limit_mib = 1,
                                    .n_method = 1,
                                    .method = { PLI_IMPI_AUTH_NONE },
                                    .has_token = true };
static struct pli_srv_job *job;

static struct pli_srv_peer *connect_one(void)
{
    struct pli_srv_peer *peer = NULL;
    T_EQ(PLI_IMPI_OK, pli_srv_job_admit(job, "a peer", NOW, &peer));
    return peer;
}

static void join(struct pli_srv_peer *peer, int rank, const char *what)
{
    unsigned char buf[64 + PLI_IMPI_CMD_TEXT_CAP];
    size_t n = pli_impi_cmd_put_auth(buf, 1u << PLI_IMPI_AUTH_NONE);
    n += pli_impi_cmd_put_join(buf + n, rank, what);
    pli_srv_job_input(job, peer, buf, n);
}

// Whether it is told so, and what was told is read.
static bool hears(struct pli_srv_peer *peer, const char *sentence)
{
    const unsigned char *p;
    size_t n;
    bool is_told = false;
    while ((n = pli_srv_job_output(job, peer, &p)) > 0) {
        is_told = is_told || memmem(p, n, sentence, strlen(sentence)) != NULL;
        pli_srv_job_wrote(peer, n);
    }
    return is_told;
}

static bool is_over(void)
{
    enum pli_srv_exit code = PLI_SRV_EXIT_OK;
    bool is = pli_srv_job_is_over(job, &code);
    T_TRUE(!is || code == PLI_SRV_EXIT_STARTUP);
    return is;
}

static void begin(bool is_hosted)
{
    conf.is_hosted = is_hosted;
    T_EQ(PLI_IMPI_OK, pli_srv_job_create(&conf, NOW, &job));
}

// The job that hosts the world comes after another has ended without MPI_Init, and one is on its
// way.
static void test_host_comes_late(void)
{
    static const char why[] = "the job of x has ended before any";
    begin(true);
    struct pli_srv_peer *seated = connect_one(), *early = connect_one(), *ended = connect_one();
    join(seated, PLI_IMPI_RANK_ANY, "seated");
    join(ended, PLI_IMPI_RANK_ENDED, "the job of x");
    T_TRUE(hears(seated, why) && hears(ended, why) && !is_over());
    T_TRUE(pli_srv_job_tick(job, NOW + 2000) > 0 && !is_over());
    join(early, PLI_IMPI_RANK_ANY, "early");
    T_TRUE(hears(early, why) && !is_over());
    struct pli_srv_peer *host = connect_one();
    join(host, 0, "host");
    T_TRUE(hears(host, why) && is_over());
    pli_srv_job_destroy(job);
}

static void test_host_is_here(void)
{
    begin(true);
    struct pli_srv_peer *host = connect_one(), *ended = connect_one();
    join(host, 0, "host");
    join(ended, PLI_IMPI_RANK_ENDED, "the job of x");
    T_TRUE(hears(host, "has ended before any"));
    pli_srv_job_tick(job, NOW);
    T_TRUE(is_over());
    pli_srv_job_destroy(job);
}

static void test_nobody_comes(void)
{
    begin(false);
    join(connect_one(), PLI_IMPI_RANK_ENDED, "the job of x");
    T_TRUE(pli_srv_job_tick(job, NOW) > 0 && !is_over());
    pli_srv_job_tick(job, NOW + 1000);
    T_TRUE(is_over());
    pli_srv_job_destroy(job);
}

int main(void)
{
    pli_srv_log_set(PLI_SRV_SILENT);
    test_host_comes_late();
    test_host_is_here();
    test_nobody_comes();
    return 0;
}
