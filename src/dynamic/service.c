// SPDX-License-Identifier: BSD-3-Clause
// Published names are in the shared memory of the job that published them and vanish with it. The
// memory of other jobs is found through /proc, which shows a user's processes to that user, so no
// file is written that could be left behind.
#include "dynamic/service.h"

#include "boot/boot.h"
#include "boot/jobtab.h"
#include "msg/lane.h"
#include "dynamic/ports.h"
#include "obj/info.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum pli_err check(const char *service)
{
    if (service == NULL || service[0] == '\0' || strlen(service) >= PLI_JOBTAB_SERVICE) {
        return pli_fail(PLI_ERR_SERVICE, "a service name has 1 to %d characters, but this %s",
                        PLI_JOBTAB_SERVICE - 1,
                        service == NULL      ? "is NULL"
                        : service[0] == '\0' ? "is empty"
                                             : "is longer");
    }
    return PLI_OK;
}

enum pli_err pli_service_publish(const char *service, struct pli_info *info, const char *port)
{
    enum pli_err err = check(service);
    (void)info;
    if (err == PLI_OK && (port == NULL || strlen(port) >= PLI_JOBTAB_PORT)) {
        err = pli_fail(PLI_ERR_ARG, "argument port_name is %s", port == NULL ? "NULL" : "too long");
    }
    return err == PLI_OK ? pli_ports_publish(service, port) : err;
}

enum pli_err pli_service_unpublish(const char *service, struct pli_info *info, const char *port)
{
    enum pli_err err = check(service);
    (void)info;
    (void)port; // the service name identifies the entry
    return err == PLI_OK ? pli_ports_unpublish(service) : err;
}

// A descriptor of the job memory that a process has open, or -1 if it has none.
static int open_memory(int proc, const char *pid)
{
    char path[300], link[64];
    struct stat st;
    int fd = -1;
    snprintf(path, sizeof path, "%s/fd", pid);
    int at = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = at >= 0 && fstat(at, &st) == 0 && st.st_uid == geteuid() ? fdopendir(at) : NULL;
    if (d == NULL) {
        if (at >= 0) {
            close(at);
        }
        return -1;
    }
    for (struct dirent *e = readdir(d); e != NULL && fd < 0; e = readdir(d)) {
        ssize_t n = readlinkat(at, e->d_name, link, sizeof link - 1);
        link[n > 0 ? n : 0] = '\0';
        if (strncmp(link, "/memfd:pliant", 13) == 0) {
            fd = pli_node_open(atol(pid), atol(e->d_name));
        }
    }
    closedir(d);
    return fd;
}

static bool look_up_in(int proc, const char *pid, const char *service, char *port_out)
{
    struct pli_node node;
    int fd = open_memory(proc, pid);
    if (fd < 0) {
        return false;
    }
    bool is_found = false;
    if (pli_node_map_to_look(fd, &node) == PLI_OK) {
        // Ranks of a job may have its memory open too; only the launcher's entry counts.
        is_found = node.header->launcher == (uint32_t)atoi(pid) &&
                   pli_node_job(node.header) != pli_proc.boot->job &&
                   pli_jobtab_lookup(&node, service, port_out);
        pli_node_unmap(&node);
    } else {
        pli_fail_take(NULL); // the memory of another version of Pliant MPI
    }
    close(fd);
    return is_found;
}

enum pli_err pli_service_lookup(const char *service, struct pli_info *info, char *port_out)
{
    enum pli_err err = check(service);
    char port[PLI_JOBTAB_PORT];
    (void)info;
    if (err != PLI_OK) {
        return err;
    }
    err = pli_ports_lookup(service, port);
    if (err != PLI_OK && err != PLI_ERR_NAME) {
        return err;
    }
    bool is_found = err == PLI_OK;
    DIR *d = is_found ? NULL : opendir("/proc");
    for (struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL && !is_found; e = readdir(d)) {
        is_found =
            isdigit((unsigned char)e->d_name[0]) && look_up_in(dirfd(d), e->d_name, service, port);
    }
    if (d != NULL) {
        closedir(d);
    }
    if (!is_found) {
        return pli_fail(PLI_ERR_NAME,
                        "neither this job nor another of this user on host %s has published the "
                        "service name '%s'",
                        pli_proc.boot->node.header->host, service);
    }
    snprintf(port_out, MPI_MAX_PORT_NAME, "%s", port);
    return PLI_OK;
}
