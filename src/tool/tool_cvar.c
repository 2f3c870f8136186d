// SPDX-License-Identifier: BSD-3-Clause
// Lists, reads and writes control variables.
#include "tool/tool_cvar.h"

#include "base/conf.h"
#include "msg/lane.h"
#include "obj/comm_hint.h"
#include "tool/tool.h"
#include "tool/tool_category.h"
#include "tool/tool_enum.h"
#include "tool/tool_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_CVAR_MAX = 96, NAME_MAX_LEN = 64, TEXT_MAX = 1024 };
enum when { NEVER, EARLY, ALWAYS };

struct cvar {
    char name[NAME_MAX_LEN];
    const char *about;
    const struct pli_conf_row *row; // NULL: a hint
    uint32_t bits;                  // of pli_comm.hints
    bool is_lanes;                  // hint pliant_num_lanes, a number that nobody changes later
    enum when when;
    int scope, category, verbosity;
    MPI_Datatype type;
    MPI_T_enum words;
};
static struct cvar cvars[N_CVAR_MAX]; // filled once
static int n_cvar;

struct handle {
    const struct cvar *var;
    MPI_Comm comm; // of a hint
};
static struct pli_tool_pool handles = { .size = sizeof(struct handle) };

static const struct {
    const char *name;
    enum when when;
    int scope, category, verbosity;
} rights[] = {
#define PLI_TOOL_CVAR(name, when, scope, category, verbosity)                                      \
    { #name, when, scope, PLI_TOOL_##category, MPI_T_VERBOSITY_##verbosity },
#include "tool/tool_cvar.def"
#undef PLI_TOOL_CVAR
};

static const struct {
    const char *key, *about;
    uint32_t bit;
} hints[] = {
    { "mpi_assert_no_any_tag", "no receive on the communicator has MPI_ANY_TAG",
      PLI_HINT_NO_ANY_TAG },
    { "mpi_assert_no_any_source", "no receive on the communicator has MPI_ANY_SOURCE",
      PLI_HINT_NO_ANY_SOURCE },
    { "mpi_assert_exact_length", "receives have the length of the message", PLI_HINT_EXACT_LENGTH },
    { "mpi_assert_allow_overtaking", "messages may be received in any order",
      PLI_HINT_ALLOW_OVERTAKING },
};

static void set_rights(struct cvar *v)
{
    v->when = NEVER;
    v->scope = MPI_T_SCOPE_CONSTANT;
    v->category = PLI_TOOL_LAUNCH;
    v->verbosity = MPI_T_VERBOSITY_USER_DETAIL;
    for (size_t i = 0; i < sizeof rights / sizeof rights[0]; i++) {
        if (strcmp(rights[i].name, v->row->name) == 0) {
            v->when = rights[i].when;
            v->scope = rights[i].scope;
            v->category = rights[i].category;
            v->verbosity = rights[i].verbosity;
        }
    }
}

static void add_setting(const struct pli_conf_row *row)
{
    struct cvar *v = &cvars[n_cvar++];
    v->row = row;
    v->about = row->help;
    pli_conf_env_name(row, v->name, sizeof v->name);
    set_rights(v);
    v->type = row->type == PLI_CONF_IS_SIZE   ? MPI_COUNT
              : row->type == PLI_CONF_IS_TEXT ? MPI_CHAR
                                              : MPI_INT;
    v->words = row->type == PLI_CONF_IS_BOOL   ? pli_tool_enum_of("no_or_yes", "no|yes")
               : row->type == PLI_CONF_IS_WORD ? pli_tool_enum_of(row->name, row->words)
                                               : MPI_T_ENUM_NULL;
}

static void add_hint(const char *key, const char *about, uint32_t bit)
{
    struct cvar *v = &cvars[n_cvar++];
    snprintf(v->name, sizeof v->name, "%s", key);
    v->about = about;
    v->bits = bit;
    v->is_lanes = bit == 0;
    v->when = v->is_lanes ? NEVER : ALWAYS;
    v->scope = v->is_lanes ? MPI_T_SCOPE_READONLY : MPI_T_SCOPE_LOCAL;
    v->category = PLI_TOOL_COMMUNICATOR;
    v->verbosity = MPI_T_VERBOSITY_USER_DETAIL;
    v->type = MPI_INT;
    v->words = v->is_lanes ? MPI_T_ENUM_NULL : pli_tool_enum_of("no_or_yes", "no|yes");
}

void pli_tool_cvar_open(void)
{
    const struct pli_conf_row *row;
    if (n_cvar > 0) {
        return;
    }
    for (int i = 0; n_cvar < N_CVAR_MAX - 8 && (row = pli_conf_row_at(i)) != NULL; i++) {
        if (!pli_conf_is_internal(row)) {
            add_setting(row);
        }
    }
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        add_hint(hints[i].key, hints[i].about, hints[i].bit);
    }
    add_hint("pliant_num_lanes", "lanes that the endpoints of the communicator are spread over", 0);
}

void pli_tool_cvar_close(void)
{
    void *h;
    while ((h = pli_tool_pool_next(&handles, NULL)) != NULL) {
        pli_tool_pool_destroy(&handles, h);
    }
}

int pli_tool_cvar_category(int i)
{
    return i < n_cvar ? cvars[i].category : -1;
}

int pli_tool_cvar_get_num(int *num)
{
    int code = pli_tool_check();
    if (code == MPI_SUCCESS && num == NULL) {
        return MPI_T_ERR_INVALID;
    }
    if (code == MPI_SUCCESS) {
        *num = n_cvar;
    }
    return code;
}

int pli_tool_cvar_get_info(int index, char *name, int *name_len, int *verbosity,
                           MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                           int *bind, int *scope)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS || index < 0 || index >= n_cvar) {
        return code != MPI_SUCCESS ? code : MPI_T_ERR_INVALID_INDEX;
    }
    const struct cvar *v = &cvars[index];
    pli_tool_text(v->name, name, name_len);
    pli_tool_text(v->about, desc, desc_len);
    pli_tool_put(verbosity, v->verbosity);
    pli_tool_put(bind, v->row != NULL ? MPI_T_BIND_NO_OBJECT : MPI_T_BIND_MPI_COMM);
    bool is_late = v->when == EARLY && pli_proc.boot != NULL;
    pli_tool_put(scope, is_late ? MPI_T_SCOPE_READONLY : v->scope);
    if (datatype != NULL) {
        *datatype = v->type;
    }
    if (enumtype != NULL) {
        *enumtype = v->words;
    }
    return MPI_SUCCESS;
}

int pli_tool_cvar_get_index(const char *name, int *index)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS) {
        return code;
    }
    if (name == NULL || index == NULL) {
        return MPI_T_ERR_INVALID;
    }
    for (int i = 0; i < n_cvar; i++) {
        if (strcmp(cvars[i].name, name) == 0) {
            *index = i;
            return MPI_SUCCESS;
        }
    }
    return MPI_T_ERR_INVALID_NAME;
}

int pli_tool_cvar_handle_alloc(int index, void *object, MPI_T_cvar_handle *handle, int *count)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS || index < 0 || index >= n_cvar) {
        return code != MPI_SUCCESS ? code : MPI_T_ERR_INVALID_INDEX;
    }
    const struct cvar *v = &cvars[index];
    bool is_bound = v->row == NULL;
    if (handle == NULL || (is_bound && (object == NULL || !pli_comm_any(*(MPI_Comm *)object)))) {
        return MPI_T_ERR_INVALID;
    }
    pli_tool_lock();
    struct handle *h = pli_tool_pool_create(&handles);
    if (h != NULL) {
        *h = (struct handle){ v, is_bound ? *(MPI_Comm *)object : MPI_COMM_NULL };
        *handle = (MPI_T_cvar_handle)h;
        pli_tool_put(count, v->type == MPI_CHAR ? TEXT_MAX : 1);
    }
    pli_tool_unlock();
    return h != NULL ? MPI_SUCCESS : MPI_T_ERR_OUT_OF_HANDLES;
}

int pli_tool_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS) {
        return code;
    }
    pli_tool_lock();
    bool is_one = handle != NULL && pli_tool_pool_has(&handles, *handle);
    if (is_one) {
        pli_tool_pool_destroy(&handles, *handle);
        *handle = MPI_T_CVAR_HANDLE_NULL;
    }
    pli_tool_unlock();
    return is_one ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

// The communicator of a hint's handle, NULL: it was freed.
static struct pli_comm *comm_of(const struct handle *h)
{
    return pli_comm_any(h->comm);
}

static bool is_log(const struct pli_conf_row *row)
{
    return row->value == (void *)&pli_conf.log;
}

// A log level that was written and has no word: it is as "debug". Guarded by pli_tool_lock.
static int log_level;

static int read_log(const struct pli_conf_row *row)
{
    int level = pli_tool_enum_number(row->words, pli_conf.log);
    return pli_tool_enum_number(row->words, "debug") == level && log_level > level ? log_level
                                                                                   : level;
}

static int read_setting(const struct pli_conf_row *row, void *buf)
{
    switch (row->type) {
    case PLI_CONF_IS_SIZE:
        *(MPI_Count *)buf = *(int64_t *)row->value;
        break;
    case PLI_CONF_IS_INT:
        *(int *)buf = (int)*(int64_t *)row->value;
        break;
    case PLI_CONF_IS_BOOL:
        *(int *)buf = *(bool *)row->value;
        break;
    case PLI_CONF_IS_WORD:
        *(int *)buf = is_log(row) ? read_log(row)
                                  : pli_tool_enum_number(row->words, *(const char **)row->value);
        break;
    case PLI_CONF_IS_TEXT:
        snprintf(buf, TEXT_MAX, "%s", *(const char **)row->value);
        break;
    }
    return MPI_SUCCESS;
}

static int read_hint(const struct handle *h, int *buf)
{
    const struct pli_comm *c = comm_of(h);
    if (c == NULL) {
        return MPI_T_ERR_INVALID_HANDLE;
    }
    *buf = h->var->is_lanes ? (int)(c->hints >> PLI_HINT_LANES_AT) : (c->hints & h->var->bits) != 0;
    return MPI_SUCCESS;
}

// What the engine reads with a lane locked changes with all lanes locked.
static void set_lanes(bool is_taken)
{
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = atomic_load_explicit(&pli_proc.lanes[i], memory_order_acquire);
        if (lane != NULL && is_taken) {
            pli_lock_take(&lane->lock);
        } else if (lane != NULL) {
            pli_lane_set_fast(lane);
            pli_lock_drop(&lane->lock);
        }
    }
}

// The word with a number, in memory that stays; NULL: no memory. Words are few.
static const char *keep_word(const struct pli_conf_row *row, int number, int *code_out)
{
    int len;
    const char *word = number < 0 ? NULL : pli_tool_enum_word(row->words, number, &len);
    *code_out = word == NULL ? MPI_T_ERR_INVALID : MPI_T_ERR_MEMORY;
    return word == NULL ? NULL : strndup(word, (size_t)len);
}

static int write_text(const struct cvar *v, const void *buf)
{
    static char *kept[N_CVAR_MAX]; // what this file made, by variable; guarded by pli_tool_lock
    const struct pli_conf_row *row = v->row;
    int code = MPI_T_ERR_MEMORY;
    const char *text = NULL;
    if (row->type == PLI_CONF_IS_WORD) {
        int number = *(const int *)buf, len;
        if (is_log(row)) {
            bool is_word = number < 0 || pli_tool_enum_word(row->words, number, &len) != NULL;
            log_level = is_word ? 0 : number;
            number = is_word ? number : pli_tool_enum_number(row->words, "debug");
        }
        text = keep_word(row, number, &code);
    } else if (memchr(buf, '\0', TEXT_MAX) == NULL) {
        return MPI_T_ERR_INVALID;
    } else {
        text = strdup(buf);
    }
    if (text == NULL) {
        return code;
    }
    char *old = kept[v - cvars];
    kept[v - cvars] = (char *)(uintptr_t)text;
    *(const char **)row->value = text;
    free(old);
    return MPI_SUCCESS;
}

static int write_number(const struct pli_conf_row *row, int64_t value)
{
    if (value < row->min || value > row->max) {
        return MPI_T_ERR_INVALID;
    }
    if (row->type == PLI_CONF_IS_BOOL) {
        *(bool *)row->value = value != 0;
    } else {
        *(int64_t *)row->value = value;
    }
    return MPI_SUCCESS;
}

static int write_setting(const struct cvar *v, const void *buf)
{
    const struct pli_conf_row *row = v->row;
    set_lanes(true);
    int code =
        row->type == PLI_CONF_IS_WORD || row->type == PLI_CONF_IS_TEXT
            ? write_text(v, buf)
            : write_number(row, v->type == MPI_COUNT ? *(const MPI_Count *)buf : *(const int *)buf);
    set_lanes(false);
    if (is_log(row)) {
        pli_conf_apply_log();
    }
    return code;
}

static int write_hint(const struct handle *h, int value)
{
    struct pli_comm *c = comm_of(h);
    if (c == NULL || (value != 0 && value != 1)) {
        return c == NULL ? MPI_T_ERR_INVALID_HANDLE : MPI_T_ERR_INVALID;
    }
    c->hints = value != 0 ? c->hints | h->var->bits : c->hints & ~h->var->bits;
    return MPI_SUCCESS;
}

int pli_tool_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS || buf == NULL) {
        return code != MPI_SUCCESS ? code : MPI_T_ERR_INVALID;
    }
    pli_tool_lock();
    const struct handle *h = (const struct handle *)handle;
    code = !pli_tool_pool_has(&handles, h) ? MPI_T_ERR_INVALID_HANDLE
           : h->var->row != NULL           ? read_setting(h->var->row, buf)
                                           : read_hint(h, buf);
    pli_tool_unlock();
    return code;
}

int pli_tool_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS || buf == NULL) {
        return code != MPI_SUCCESS ? code : MPI_T_ERR_INVALID;
    }
    pli_tool_lock();
    const struct handle *h = (const struct handle *)handle;
    if (!pli_tool_pool_has(&handles, h)) {
        code = MPI_T_ERR_INVALID_HANDLE;
    } else if (h->var->when == NEVER) {
        code = MPI_T_ERR_CVAR_SET_NEVER;
    } else if (h->var->when == EARLY && pli_proc.boot != NULL) {
        code = MPI_T_ERR_CVAR_SET_NOT_NOW;
    } else {
        code = h->var->row != NULL ? write_setting(h->var, buf) : write_hint(h, *(const int *)buf);
    }
    pli_tool_unlock();
    return code;
}
