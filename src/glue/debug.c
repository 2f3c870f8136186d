// SPDX-License-Identifier: BSD-3-Clause
// What parallel debuggers read in a rank: which library shows them its message queues, and what
// that library must know.
#include "base/list.h"
#include "glue/debug_wire.h"
#include "msg/endpoint.h"
#include "msg/msg_wire.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "msg/unexpected.h"
#include "msg/wait_record.h"
#include "obj/comm.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PLI_DEBUG_OFFSET(type, field) offsetof(struct pli_##type, field),

extern const struct pli_debug_layout pli_debug_layout;
const struct pli_debug_layout pli_debug_layout = {
    .magic = PLI_DEBUG_MAGIC,
    .version = PLI_DEBUG_VERSION,
    .n_field = PLI_DEBUG_N_FIELD,
    .comms = &pli_comm_all,
    .waiters = &pli_wait_record_first,
    .handle_base = &pli_handle_base,
    .handle_used = (const void *)&pli_handle_used,
    .handle_align = PLI_HANDLE_ALIGN,
    .kind_comm = PLI_KIND_COMM,
    .kind_barred = PLI_KIND_BARRED,
    .kind_request = PLI_KIND_REQUEST,
    .flag_send = PLI_REQ_SEND,
    .flag_persistent = PLI_REQ_PERSISTENT,
    .flag_active = PLI_REQ_ACTIVE,
    .kind_eager = PLI_MSG_EAGER,
    .size_run = sizeof(struct pli_group_run),
    .size_bucket = sizeof(struct pli_match_bucket),
    .fields = { PLI_DEBUG_FIELDS(PLI_DEBUG_OFFSET) },
};

extern char MPIR_dll_name[PATH_MAX];
char MPIR_dll_name[PATH_MAX] = "libpliant_dbg.so";

// The library lies in a folder beside this one, to which programs of other ABIs come by a link.
__attribute__((constructor)) static void name_library(void)
{
    static const char ours[] = "libmpi_abi.so", beside[] = "pliant/libpliant_dbg.so";
    Dl_info it;
    bool is_found = dladdr(MPIR_dll_name, &it) != 0 && it.dli_fname != NULL;
    char *path = is_found && it.dli_fname[0] == '/' ? realpath(it.dli_fname, NULL) : NULL;
    size_t len = path != NULL ? (size_t)(strrchr(path, '/') + 1 - path) : 0;
    if (path != NULL && strncmp(path + len, ours, sizeof ours - 1) == 0 &&
        len + sizeof beside <= sizeof MPIR_dll_name) {
        memcpy(MPIR_dll_name, path, len);
        memcpy(MPIR_dll_name + len, beside, sizeof beside);
    }
    free(path);
}
