// SPDX-License-Identifier: BSD-3-Clause
// Passes the hints about hosts to mpiexec, with "localhost" and other names of this host replaced
// by the one that the job knows.
#include "dynamic/host_hint.h"

#include "boot/boot.h"
#include "dynamic/launcher_call.h"
#include "dynamic/spawn_part.h"
#include "obj/info.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

// Whether a word of a list, which may have ":N" behind it, is this name; the domain may be missing.
static bool is_name_of(const char *word, size_t len, const char *name)
{
    size_t name_len = strlen(name), first = strcspn(name, ".");
    return (len == name_len && strncasecmp(word, name, len) == 0) ||
           (len >= first && strncasecmp(word, name, first) == 0 &&
            (len == first || word[first] == '.'));
}

static bool is_this(const char *word, size_t len)
{
    static const char *const always[] = { "localhost", "127.0.0.1", "::1" };
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
        if (len == strlen(always[i]) && strncasecmp(word, always[i], len) == 0) {
            return true;
        }
    }
    return is_name_of(word, len, pli_boot.node.header->host);
}

static void put_list(struct pli_spawn_buf *t, const char *list)
{
    for (const char *w = list; w != NULL && *w != '\0';) {
        size_t len = strcspn(w, ", "), name_len = strcspn(w, ":, ");
        bool is_mine = len > 0 && (is_this(w, len) || is_this(w, name_len));
        const char *name = pli_boot.node.hosts[pli_boot.host].name;
        if (is_mine && name[0] != '\0') {
            pli_spawn_buf_put(t, name, strlen(name));
        } else {
            pli_spawn_buf_put(t, w, len);
        }
        pli_spawn_buf_put(t, ",", len > 0 ? 1 : 0);
        w += len + strspn(w + len, ", ");
    }
    pli_spawn_buf_put(t, "", 1);
}

void pli_host_hint_put(struct pli_spawn_buf *t, struct pli_info *info)
{
    put_list(t, info != NULL ? pli_info_find(info, "host") : NULL);
    put_list(t, info != NULL ? pli_info_find(info, "add-host") : NULL);
}

enum pli_err pli_host_hint_resize(struct pli_lane *lane, int size, struct pli_info *info,
                                  struct pli_answer *answer)
{
    struct pli_ask_resize ask = { PLI_ASK_TO, (uint32_t)(size > 0 ? size : 0) };
    struct pli_spawn_buf body = { 0 };
    pli_spawn_buf_put(&body, &ask, sizeof ask);
    pli_host_hint_put(&body, info);
    enum pli_err err = pli_launcher_call(lane, PLI_ASK_RESIZE, body.data, body.len, answer);
    pli_spawn_buf_free(&body);
    return err;
}
