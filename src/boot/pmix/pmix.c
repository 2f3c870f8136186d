// SPDX-License-Identifier: BSD-3-Clause
// Loads the launcher's PMIx library and asks it what the launcher knows.
#include "boot/pmix/pmix.h"

#include "boot/pmix/pmix_abi.h"
#include "boot/kvs/kvs_listen.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pmix_calls pmix;
static struct pmix_proc self;
static struct pli_kvs store;

static bool pmix_is_mine(void)
{
    return getenv("PMIX_NAMESPACE") != NULL && getenv("PMIX_RANK") != NULL;
}

static enum pli_err load(void)
{
    void *lib = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL) {
        return pli_fail(PLI_ERR_OTHER,
                        "this process was started under PMIx, but the library cannot be loaded "
                        "(%s); install it (Debian: libpmix2) or use another launcher",
                        dlerror());
    }
    const struct {
        const char *name;
        void *at;
    } names[] = {
        { "PMIx_Init", &pmix.PMIx_Init },     { "PMIx_Finalize", &pmix.PMIx_Finalize },
        { "PMIx_Abort", &pmix.PMIx_Abort },   { "PMIx_Put", &pmix.PMIx_Put },
        { "PMIx_Commit", &pmix.PMIx_Commit }, { "PMIx_Fence", &pmix.PMIx_Fence },
        { "PMIx_Get", &pmix.PMIx_Get },       { "PMIx_Error_string", &pmix.PMIx_Error_string },
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *f = dlsym(lib, names[i].name);
        if (f == NULL) {
            return pli_fail(PLI_ERR_OTHER, "libpmix.so.2 has no function %s", names[i].name);
        }
        memcpy(names[i].at, &f, sizeof f);
    }
    return PLI_OK;
}

static enum pli_err refused(const char *what, int status)
{
    return pli_fail(PLI_ERR_OTHER, "PMIx: %s: %s", what, pmix.PMIx_Error_string(status));
}

static enum pli_err get_value(uint32_t owner, const char *key, uint16_t type,
                              struct pmix_value **out)
{
    struct pmix_proc p = self;
    p.rank = owner;
    struct pmix_value *v = NULL;
    int status = pmix.PMIx_Get(&p, key, NULL, 0, &v);
    if (status != 0 || v == NULL || v->type != type) {
        free(v);
        return refused(key, status);
    }
    *out = v;
    return PLI_OK;
}

static enum pli_err get_number(uint32_t owner, const char *key, uint32_t *out)
{
    struct pmix_value *v;
    enum pli_err err = get_value(owner, key, PMIX_UINT32, &v);
    if (err == PLI_OK) {
        *out = v->data.uint32;
        free(v);
    }
    return err;
}

static enum pli_err pmix_put(const char *key, const char *value)
{
    char copy[PLI_KVS_VALUE];
    snprintf(copy, sizeof copy, "%s", value);
    struct pmix_value v = { .type = PMIX_STRING, .data.string = copy };
    int status = pmix.PMIx_Put(PMIX_GLOBAL, key, &v);
    status = status == 0 ? pmix.PMIx_Commit() : status;
    return status == 0 ? PLI_OK : refused(key, status);
}

static enum pli_err pmix_get(uint32_t owner, const char *key, char *value, size_t room)
{
    struct pmix_value *v;
    enum pli_err err = get_value(owner, key, PMIX_STRING, &v);
    if (err == PLI_OK) {
        snprintf(value, room, "%s", v->data.string != NULL ? v->data.string : "");
        free(v->data.string);
        free(v);
    }
    return err;
}

static enum pli_err pmix_fence(void)
{
    struct pmix_proc all = self;
    all.rank = PMIX_RANK_WILDCARD;
    struct pmix_info collect = { .key = PMIX_COLLECT_DATA,
                                 .value = { .type = PMIX_BOOL, .data.flag = true } };
    int status = pmix.PMIx_Fence(&all, 1, &collect, 1);
    return status == 0 ? PLI_OK : refused("fence", status);
}

static enum pli_err pmix_hosts(uint32_t *host_of)
{
    for (uint32_t p = 0; p < store.size; p++) {
        if (get_number(p, PMIX_NODEID, &host_of[p]) != PLI_OK) {
            return PLI_AGAIN;
        }
    }
    return PLI_OK;
}

static void pmix_finish(void)
{
    pmix.PMIx_Finalize(NULL, 0);
}

static void pmix_end(int status, const char *why)
{
    pmix.PMIx_Abort(status, why, NULL, 0);
}

static enum pli_err pmix_open(struct pli_boot *boot)
{
    uint32_t size = 0;
    enum pli_err err = load();
    if (err != PLI_OK) {
        return err;
    }
    int status = pmix.PMIx_Init(&self, NULL, 0);
    if (status != 0) {
        return refused("the launcher cannot be reached", status);
    }
    err = get_number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &size);
    if (err == PLI_OK && (size == 0 || self.rank >= size)) {
        err = pli_fail(PLI_ERR_OTHER, "PMIx calls this process rank %u of %u", self.rank, size);
    }
    store = (struct pli_kvs){ .name = "PMIx",
                              .rank = self.rank,
                              .size = size,
                              .put = pmix_put,
                              .fence = pmix_fence,
                              .get = pmix_get,
                              .hosts = pmix_hosts,
                              .finish = pmix_finish,
                              .end = pmix_end };
    err = err == PLI_OK ? pli_kvs_open(&store, boot) : err;
    if (err == PLI_OK) { // a program that this rank starts is a world of its own
        unsetenv("PMIX_NAMESPACE");
        unsetenv("PMIX_RANK");
    }
    return err;
}

const struct pli_boot_ops pli_pmix_ops = {
    .name = "pmix",
    .is_mine = pmix_is_mine,
    .open = pmix_open,
    .tell = pli_kvs_tell,
    .abort = pli_kvs_abort,
    .close = pli_kvs_close,
    .ask = pli_boot_no_ask,
    .clone = pli_boot_no_clone,
    .ready = pli_boot_no_ready,
    .agree = pli_boot_no_agree,
    .reach = pli_kvs_reach,
    .accept_fd = pli_kvs_listen_fd,
    .accept = pli_kvs_listen_accept,
};
