// SPDX-License-Identifier: BSD-3-Clause
// As much of the PMIx 4 binary interface as we use. The library is loaded at run time, and only
// under a launcher that offers it: neither building nor running needs it otherwise.
#ifndef PLI_BOOT_PMIX_PMIX_ABI_H
#define PLI_BOOT_PMIX_PMIX_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PMIX_BOOL = 1, PMIX_STRING = 3, PMIX_UINT32 = 14 };
enum { PMIX_GLOBAL = 3 };
#define PMIX_RANK_WILDCARD (UINT32_MAX - 1)
#define PMIX_NODEID "pmix.nodeid"
#define PMIX_JOB_SIZE "pmix.job.size"
#define PMIX_COLLECT_DATA "pmix.collect"

struct pmix_proc {
    char nspace[256];
    uint32_t rank;
};
_Static_assert(sizeof(struct pmix_proc) == 260, "PMIx 4 ABI");

struct pmix_value {
    uint16_t type;
    union {
        bool flag;
        char *string;
        uint32_t uint32;
        void *widest[3];
    } data;
};
_Static_assert(sizeof(struct pmix_value) == 8 + 3 * sizeof(void *), "PMIx 4 ABI");

struct pmix_info {
    char key[512];
    uint32_t flags;
    struct pmix_value value;
};
_Static_assert(offsetof(struct pmix_info, value) == 520, "PMIx 4 ABI");

struct pmix_calls {
    int (*PMIx_Init)(struct pmix_proc *proc, struct pmix_info *info, size_t n_info);
    int (*PMIx_Finalize)(const struct pmix_info *info, size_t n_info);
    int (*PMIx_Abort)(int status, const char *msg, struct pmix_proc *procs, size_t n_proc);
    int (*PMIx_Put)(uint8_t scope, const char *key, struct pmix_value *value);
    int (*PMIx_Commit)(void);
    int (*PMIx_Fence)(const struct pmix_proc *procs, size_t n_proc, const struct pmix_info *info,
                      size_t n_info);
    int (*PMIx_Get)(const struct pmix_proc *proc, const char *key, const struct pmix_info *info,
                    size_t n_info, struct pmix_value **value);
    const char *(*PMIx_Error_string)(int status);
};

#endif
