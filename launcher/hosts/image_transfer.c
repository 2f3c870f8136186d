// SPDX-License-Identifier: BSD-3-Clause
// Sends images of processes to another host, and receives them, each in a process of its own.
#include "launcher/hosts/image_transfer.h"

#include "launcher/base/launcher.h"
#include "launcher/base/say.h"
#include "base/conf.h"
#include "launcher/base/helper.h"
#include "launcher/hosts/daemon_auth.h"
#include "base/fault.h"
#include "launcher/hosts/daemon_run.h"
#include "launcher/hosts/file_copy.h"
#include "launcher/base/tmpdir.h"
#include "launcher/job/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A process that receives images.
struct pli_image_transfer_taker {
    struct pli_helper helper; // first: it is told when it ends
    struct pli_image_transfer_taker *next;
};

enum { STALL_MS = 20000 }; // a silence that long means that the other side is gone

struct sending {
    const struct pli_job *job;
    const struct pli_daemon_addr *to;
    const char *dir;
};

static bool open_stream(struct pli_protect_stream *s, int fd,
                        const struct pli_daemon_handshake_keys *keys, char *why, size_t cap)
{
    if (pli_protect_stream_open(s, fd, STALL_MS, keys->suite, keys->send, keys->receive) !=
        PLI_OK) {
        snprintf(why, cap, "%s", pli_fail_take(NULL));
        return false;
    }
    return true;
}

static bool send_all(void *arg, int report)
{
    const struct sending *c = arg;
    char why[1024] = "";
    struct pli_daemon_handshake_keys keys;
    struct pli_protect_stream s;
    int fd = pli_daemon_auth_call(c->to, c->job->node.header->secret, c->job->here, &keys, why,
                                  sizeof why);
    pli_fault("image_send", c->job->here);
    bool is_good = fd >= 0 && open_stream(&s, fd, &keys, why, sizeof why);
    if (is_good) {
        is_good = pli_file_copy_send(&s, c->dir, why);
        pli_protect_stream_close(&s);
    }
    if (!is_good) {
        dprintf(report, "the images cannot be sent: %.300s", why);
    }
    return is_good;
}

bool pli_image_transfer_send(struct pli_helper *h, const struct pli_job *job,
                             const struct pli_daemon_addr *to, const char *dir)
{
    struct sending c = { job, to, dir };
    return pli_helper_fork(h, send_all, &c);
}

// A process that wants to send images.
struct call {
    int fd;
    const struct pli_daemon_handshake_keys *keys;
};

static bool take_all(void *arg, int report)
{
    struct pli_image_transfer_state *self = pli_launcher.image_transfer;
    char why[PLI_FILE_COPY_WHY];
    const struct call *c = arg;
    struct pli_protect_stream s;
    (void)report; // the sender is told
    pli_fault("image_take", self->here);
    if (!open_stream(&s, c->fd, c->keys, why, sizeof why)) {
        return false;
    }
    bool is_good = pli_file_copy_receive(&s, pli_tmpdir_path(), why);
    pli_protect_stream_close(&s);
    return is_good;
}

static void taken(struct pli_helper *h, bool is_good)
{
    (void)h;
    (void)is_good;
}

void pli_image_transfer_take(int fd, const struct pli_daemon_handshake_keys *keys)
{
    struct pli_image_transfer_state *self = pli_launcher.image_transfer;
    struct call c = { fd, keys };
    struct pli_image_transfer_taker *t = self->takers;
    pli_fault("daemon_move_got", self->here);
    while (t != NULL && t->helper.pid != 0) {
        t = t->next;
    }
    if (t == NULL && (t = calloc(1, sizeof *t)) != NULL) { // not freed: an event may name it
        t->helper = (struct pli_helper){ .watch = { .fd = -1 }, .report = -1, .done = taken };
        t->next = self->takers;
        self->takers = t;
    }
    if (pli_tmpdir_path()[0] != '\0' && t != NULL && pli_helper_fork(&t->helper, take_all, &c)) {
        pli_helper_watch(&t->helper);
    }
    close(fd);
}

bool pli_image_transfer_open(struct pli_daemon_addr *out, char *why)
{
    struct pli_image_transfer_state *self = pli_launcher.image_transfer;
    if (!pli_tmpdir_open()) {
        snprintf(why, PLI_CKPT_WHY, "there is no room for images in PLIANT_IMAGE_DIR, %.200s: %s",
                 pli_conf.image_dir, strerror(errno));
        return false;
    }
    if (!pli_daemon_run_listen(out)) {
        snprintf(why, PLI_CKPT_WHY, "it cannot listen for images");
        return false;
    }
    self->here = pli_launcher.job->here;
    return true;
}

void pli_image_transfer_close(void)
{
    struct pli_image_transfer_state *self = pli_launcher.image_transfer;
    for (struct pli_image_transfer_taker *t = self->takers; t != NULL; t = t->next) {
        pli_helper_kill(&t->helper);
    }
    pli_tmpdir_close();
}
