// SPDX-License-Identifier: BSD-3-Clause
// impi-server: the program through which the clients of one IMPI job find each other.
#include "engine/impi_tls.h"
#include "impi-server_options.h"
#include "server/srv_conf.h"
#include "server/srv_listen.h"
#include "server/srv_log.h"
#include "server/srv_loop.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Into the background: the parent ends, the child keeps stderr for its log.
static enum pli_impi_err go_background(void)
{
    pid_t pid = fork();
    if (pid < 0) {
        pli_srv_log(PLI_SRV_ERROR, "cannot go to the background: %s", strerror(errno));
        return PLI_IMPI_ERR_SYS;
    }
    if (pid > 0) {
        _exit(PLI_SRV_EXIT_OK);
    }
    setsid();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO); // the reader of the address sees the end of it
        close(null);
    }
    return PLI_IMPI_OK;
}

static _Noreturn void __attribute__((format(printf, 1, 2))) bad(const char *fmt, ...)
{
    char sentence[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, ap);
    va_end(ap);
    pli_srv_log(PLI_SRV_ERROR, "%s", sentence);
    exit(PLI_SRV_EXIT_START);
}

// Fill in `out` from the words of the command line, NULL behind the last. A mistake is logged and
// ends the process, and so does --help.
static void read_options(char **argv, struct pli_srv_conf *out)
{
    *out = (struct pli_srv_conf){ .handshake_s = 30, .limit_mib = 64 };
    struct pli_option_reader r = {
        .tool = "impi-server", .table = &pli_impi_server_options, .job = out, .bad = bad
    };
    while (*argv != NULL) {
        if (!pli_options_is_option(*argv)) {
            bad("'%s' is no option; see impi-server --help", *argv);
        }
        argv += pli_options_take(&r, argv);
    }
    if (out->is_help) {
        pli_options_help(&r, stdout);
        exit(fflush(stdout) == 0 ? PLI_SRV_EXIT_OK : PLI_SRV_EXIT_START);
    }
    if (out->n_client == 0) {
        bad("how many clients? Give -server N, N from 1 to 32");
    }
}

int main(int argc, char **argv)
{
    struct pli_srv_conf conf = { 0 };
    char address[PLI_SRV_ADDRESS];
    int fd;
    (void)argc;
    read_options(argv + 1, &conf);
    if (conf.is_verbose) {
        pli_srv_log_set(PLI_SRV_INFO);
    }
    if (pli_srv_conf_auth(&conf) != PLI_IMPI_OK || pli_srv_conf_tls(&conf) != PLI_IMPI_OK ||
        pli_srv_listen_open(&conf, &fd, address) != PLI_IMPI_OK) {
        return PLI_SRV_EXIT_START;
    }
    if (printf("%s\n", address) < 0 || fflush(stdout) != 0) {
        pli_srv_log(PLI_SRV_ERROR, "cannot print the address: %s", strerror(errno));
        close(fd);
        return PLI_SRV_EXIT_START;
    }
    if (conf.is_fork && go_background() != PLI_IMPI_OK) {
        close(fd);
        return PLI_SRV_EXIT_START;
    }
    int code = (int)pli_srv_loop_run(&conf, fd);
    pli_impi_tls_destroy(conf.tls);
    pli_impi_tls_destroy(conf.key_tls);
    return code;
}
