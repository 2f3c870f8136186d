// SPDX-License-Identifier: BSD-3-Clause
// What ranks are to know of checkpoints is in the node memory of every host, and mpiexec has the
// original.
#include "launcher/ckpt/ckpt_hosts.h"

#include "base/futex.h"
#include "boot/ckpt_wire.h"
#include "launcher/ckpt/ckpt_dir.h"
#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/ckpt_role.h"
#include "launcher/ckpt/ckpt_sum.h"
#include "launcher/job/job.h"
#include "launcher/hosts/head.h"
#include "launcher/hosts/dlink_wire.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/base/pack.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARED "a job on several hosts needs it on a file system that all of them share"

static void mark_path(char *path, size_t cap, const char *dir)
{
    snprintf(path, cap, "%.*s/job", PATH_MAX - 8, dir);
}

bool pli_ckpt_hosts_mark(struct pli_job *job)
{
    char path[PATH_MAX];
    uint64_t bytes;
    if (job->from != NULL) {
        snprintf(path, sizeof path, "%.*s/%s", PATH_MAX - 16, job->from->dir, PLI_MANIFEST);
        if (!pli_ckpt_sum(path, &job->opt.restart_sum, &bytes)) {
            pli_say("%s cannot be read: %s", path, strerror(errno));
            return false;
        }
    }
    return job->opt.ckpt_dir == NULL || pli_ckpt_hosts_mark_dir(job);
}

bool pli_ckpt_hosts_mark_dir(struct pli_job *job)
{
    char path[PATH_MAX];
    pli_ckpt_temp(pli_launcher.ckpt->mark, job->opt.ckpt_dir, getpid(), "mark");
    mark_path(path, sizeof path, pli_launcher.ckpt->mark);
    pli_ckpt_remove(pli_launcher.ckpt->mark);
    FILE *f = mkdir(pli_launcher.ckpt->mark, 0700) == 0 ? fopen(path, "wxe") : NULL;
    bool is_good = f != NULL && fprintf(f, "%016" PRIx64 "\n", job->node.header->job) > 0;
    is_good = f != NULL && fclose(f) == 0 && is_good;
    job->opt.ckpt_mark = pli_launcher.ckpt->mark;
    if (!is_good) {
        int error = errno;
        pli_say("--checkpoint-dir %s cannot be written: %s", job->opt.ckpt_dir, strerror(error));
        pli_ckpt_hosts_unmark();
        errno = error;
    }
    return is_good;
}

void pli_ckpt_hosts_unmark(void)
{
    if (pli_launcher.ckpt->mark[0] != '\0') {
        pli_ckpt_remove(pli_launcher.ckpt->mark);
        pli_launcher.ckpt->mark[0] = '\0';
    }
}

void pli_ckpt_hosts_begin(struct pli_job *job)
{
    pli_ckpt_hosts_unmark();
    if (job->opt.ckpt_dir != NULL || job->from != NULL || job->opt.is_movable) {
        pli_ckpt_hosts_tell(job);
    }
}

void pli_ckpt_hosts_tell(struct pli_job *job)
{
    pli_launcher.ckpt->role->tell_hosts(job);
}

void pli_ckpt_hosts_send(struct pli_job *job)
{
    struct pli_node_save *s = pli_node_save(job->node.header);
    struct pli_pack p = { 0 };
    pli_pack_u32(&p, (uint32_t)s->error);
    pli_pack_u32(&p, s->number);
    pli_pack_u32(&p, s->how);
    pli_pack_u32(&p, s->n_piece);
    pli_pack_text(&p, s->text);
    pli_pack_text(&p, s->to);
    pli_pack_text(&p, s->from);
    pli_pack_u32(&p, (uint32_t)atomic_load(&s->generation));
    pli_pack_u32(&p, (uint32_t)atomic_load(&s->wanted));
    pli_pack_u32(&p, (uint32_t)atomic_load(&s->n_begun));
    pli_pack_u32(&p, (uint32_t)atomic_load(&s->n_done));
    pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_CKPT, 0, 0, p.data, p.len);
    pli_pack_fini(&p);
}

static void take_text(struct pli_unpack *from, char *to, size_t cap)
{
    char *text = pli_unpack_text(from);
    snprintf(to, cap, "%s", text != NULL ? text : "");
    free(text);
}

void pli_ckpt_hosts_hear(struct pli_job *job, struct pli_unpack *from)
{
    struct pli_node_save *s = pli_node_save(job->node.header);
    s->error = (int32_t)pli_unpack_u32(from);
    s->number = pli_unpack_u32(from);
    s->how = pli_unpack_u32(from);
    s->n_piece = pli_unpack_u32(from);
    take_text(from, s->text, sizeof s->text);
    take_text(from, s->to, sizeof s->to);
    take_text(from, s->from, sizeof s->from);
    atomic_store(&s->generation, (int)pli_unpack_u32(from));
    atomic_store(&s->wanted, (int)pli_unpack_u32(from));
    atomic_store(&s->n_begun, (int)pli_unpack_u32(from));
    atomic_store(&s->n_done,
                 (int)pli_unpack_u32(from)); // last: a rank that sees it reads the others
    pli_futex_wake(&s->n_done, INT_MAX, false);
}

// Whether files can be made beside the mark.
static bool can_write(const struct pli_job *job)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s/%u", PATH_MAX - 16, job->opt.ckpt_mark, job->here);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_good = fd >= 0 && write(fd, path, strlen(path)) == (ssize_t)strlen(path);
    int error = errno;
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    errno = error;
    return is_good;
}

static void check_mark(const struct pli_job *job, uint64_t job_id)
{
    char path[PATH_MAX], text[32] = "";
    mark_path(path, sizeof path, job->opt.ckpt_mark);
    FILE *f = fopen(path, "re");
    bool is_read = f != NULL && fgets(text, sizeof text, f) != NULL;
    if (f != NULL) {
        fclose(f);
    }
    if (access(job->opt.ckpt_dir, F_OK) != 0) {
        pli_say_bad("--checkpoint-dir %s cannot be used: %s; " SHARED, job->opt.ckpt_dir,
                    strerror(errno));
    }
    if (!is_read || strtoull(text, NULL, 16) != job_id) {
        pli_say_bad("--checkpoint-dir %s is another directory than where mpiexec runs; " SHARED,
                    job->opt.ckpt_dir);
    }
    if (!can_write(job)) {
        pli_say_bad("--checkpoint-dir %s cannot be written: %s", job->opt.ckpt_dir,
                    strerror(errno));
    }
}

void pli_ckpt_hosts_check(const struct pli_job *job, uint64_t job_id)
{
    char path[PATH_MAX];
    uint64_t sum = 0, bytes;
    if (job->opt.ckpt_dir != NULL && job->opt.ckpt_mark != NULL) {
        check_mark(job, job_id);
    }
    if (job->opt.restart != NULL) {
        snprintf(path, sizeof path, "%.*s/%s", PATH_MAX - 16, job->opt.restart, PLI_MANIFEST);
        bool is_read = pli_ckpt_sum(path, &sum, &bytes);
        if (!is_read || sum != job->opt.restart_sum) {
            pli_say_bad("--restart: the checkpoint %s is not there: %s; " SHARED, job->opt.restart,
                        is_read ? "another one has its name" : strerror(errno));
        }
    }
}
