// SPDX-License-Identifier: BSD-3-Clause
// impi-server: the meeting point of the clients of one IMPI job.
#include "engine/impi_tls.h"
#include "server/srv_conf.h"
#include "server/srv_listen.h"
#include "server/srv_log.h"
#include "server/srv_loop.h"
#include <errno.h>
#include <fcntl.h>
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

int main(int argc, char **argv)
{
    struct pli_srv_conf conf = { 0 };
    char address[PLI_SRV_ADDRESS];
    int fd;
    if (pli_srv_conf_parse(argc, argv, &conf) != PLI_IMPI_OK) {
        return PLI_SRV_EXIT_START;
    }
    if (conf.is_help || conf.is_man) {
        (conf.is_help ? pli_srv_conf_help : pli_srv_conf_man)(stdout);
        return PLI_SRV_EXIT_OK;
    }
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
    return code;
}
