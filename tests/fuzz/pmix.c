// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: what a launcher answers over PMIx. Each answer is a line: the status, the type of
// the value and its text. The first byte is the rank that the library gives.
#include "fuzz.h"

#include "boot/boot.h"
#include "boot/pmix/pmix.h"
#include "boot/pmix/pmix_abi.h"

#include <dlfcn.h>

const char *const fuzz_words[] = { "0 14 2\n", "0 3 ", "0 14 0\n", "-46 0 x\n", "\n", NULL };

static const char *at, *end;
static uint32_t rank;

// The next line of the input; empty at its end.
static int next_line(char *to, size_t room)
{
    size_t n = 0;
    while (at < end && *at != '\n') {
        if (n + 1 < room) {
            to[n++] = *at;
        }
        at++;
    }
    at += at < end;
    to[n] = '\0';
    return n > 0 ? atoi(to) : -1;
}

static int fake_init(struct pmix_proc *p, struct pmix_info *info, size_t n)
{
    (void)info;
    (void)n;
    *p = (struct pmix_proc){ .nspace = "fuzz", .rank = rank };
    return 0;
}

static int fake_finalize(const struct pmix_info *info, size_t n)
{
    (void)info;
    (void)n;
    return 0;
}

static int fake_put(uint8_t scope, const char *key, struct pmix_value *v)
{
    (void)scope;
    (void)key;
    return v->data.string != NULL ? 0 : -1;
}

static int fake_commit(void)
{
    return 0;
}

static int fake_fence(const struct pmix_proc *p, size_t n_proc, const struct pmix_info *info,
                      size_t n)
{
    (void)p;
    (void)n_proc;
    (void)info;
    (void)n;
    char line[16];
    return at < end ? next_line(line, sizeof line) : -1;
}

static int fake_get(const struct pmix_proc *p, const char *key, const struct pmix_info *info,
                    size_t n, struct pmix_value **out)
{
    (void)p;
    (void)key;
    (void)info;
    (void)n;
    char line[1024], *text;
    int status = next_line(line, sizeof line);
    struct pmix_value *v = calloc(1, sizeof *v);
    FUZZ_MUST(v != NULL);
    text = strchr(line, ' ');
    v->type = (uint16_t)(text != NULL ? strtol(text + 1, &text, 10) : 0);
    text = text != NULL && *text == ' ' ? text + 1 : NULL;
    if (v->type == PMIX_STRING) {
        v->data.string = text != NULL ? strdup(text) : NULL;
    } else {
        v->data.uint32 = (uint32_t)(text != NULL ? strtoul(text, NULL, 10) : 0);
    }
    *out = v;
    return status;
}

static const char *fake_error(int status)
{
    return status == 0 ? "no error" : "an error";
}

void *__wrap_dlopen(const char *file, int how);
void *__wrap_dlsym(void *lib, const char *name);
void *__real_dlsym(void *lib, const char *name);
void *__real_dlopen(const char *file, int how);

void *__wrap_dlopen(const char *file, int how)
{
    return strcmp(file, "libpmix.so.2") == 0 ? (void *)&at : __real_dlopen(file, how);
}

void *__wrap_dlsym(void *lib, const char *name)
{
    static const struct {
        const char *name;
        void (*f)(void);
    } fakes[] = { { "PMIx_Init", (void (*)(void))fake_init },
                  { "PMIx_Finalize", (void (*)(void))fake_finalize },
                  { "PMIx_Abort", (void (*)(void))abort },
                  { "PMIx_Put", (void (*)(void))fake_put },
                  { "PMIx_Commit", (void (*)(void))fake_commit },
                  { "PMIx_Fence", (void (*)(void))fake_fence },
                  { "PMIx_Get", (void (*)(void))fake_get },
                  { "PMIx_Error_string", (void (*)(void))fake_error } };
    for (size_t i = 0; lib == (void *)&at && i < sizeof fakes / sizeof *fakes; i++) {
        if (strcmp(fakes[i].name, name) == 0) {
            void *f;
            memcpy(&f, &fakes[i].f, sizeof f);
            return f;
        }
    }
    return __real_dlsym(lib, name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct pli_boot boot = { 0 };
    if (len == 0) {
        return 0;
    }
    fuzz_close_new();
    rank = data[0] % 4;
    at = (const char *)data + 1;
    end = (const char *)data + len;
    setenv("PMIX_NAMESPACE", "fuzz", 1);
    setenv("PMIX_RANK", "0", 1);
    // A launcher that says what it is asked says how many there are first: that many are believed.
    char size[16] = "";
    for (const char *s = at, *to = s; s < end && *s != '\n' && to - at < 12; s++, to++) {
        size[to - at] = *s;
    }
    if (strlen(size) > 9) {
        at = end; // billions of processes: only memory would be tested
    }
    if (pli_pmix_ops.open(&boot) == PLI_OK) {
        FUZZ_MUST(boot.index < boot.n_world && boot.host < boot.node.header->n_host);
        pli_pmix_ops.close(&boot);
    } else {
        FUZZ_MUST(pli_fail_take(NULL)[0] != '\0');
    }
    fuzz_close_new(); // what a rank keeps open until its end
    return 0;
}
