// SPDX-License-Identifier: BSD-3-Clause
// Reads and checks the time limit of a wait at a port or on a socket.
#include "dynamic/port_timeout.h"

#include "base/clock.h"
#include "base/conf.h"
#include "obj/handle_predefined.h"
#include "obj/info.h"

#include <locale.h>
#include <stdlib.h>

static void set(struct pli_port_timeout *t, double seconds, const char *what, const char *limit)
{
    *t = (struct pli_port_timeout){ pli_clock_ns() + (uint64_t)(seconds * 1e9), seconds, what,
                                    limit };
}

// A point is a point, whatever locale the program has chosen.
static double read_seconds(const char *text, char **end)
{
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    double seconds = plain != (locale_t)0 ? strtod_l(text, end, plain) : strtod(text, end);
    if (plain != (locale_t)0) {
        freelocale(plain);
    }
    return seconds;
}

// Only the root reads and checks info, as it is significant only there.
enum pli_err pli_port_timeout_read(MPI_Info info, bool is_caller, struct pli_port_timeout *out)
{
    struct pli_info *i = info != MPI_INFO_NULL ? pli_handle_get(info, PLI_KIND_INFO) : NULL;
    if (i == NULL && info != MPI_INFO_NULL) {
        return pli_fail(PLI_ERR_INFO, "argument info %s", pli_handle_why(info, PLI_KIND_INFO));
    }
    const char *text = pli_info_find(i, "timeout");
    char *end = NULL;
    *out = (struct pli_port_timeout){ 0 };
    if (text == NULL) {
        if (is_caller && pli_conf.connect_timeout > 0) {
            set(out, (double)pli_conf.connect_timeout, "no process came to the port",
                "the setting PLIANT_CONNECT_TIMEOUT: its owner has not called MPI_Comm_accept");
        }
        return PLI_OK;
    }
    double seconds = read_seconds(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0) || seconds > 1e9) {
        return pli_fail(PLI_ERR_INFO_VALUE, "hint timeout is '%s'; it is a number of seconds",
                        text);
    }
    set(out, seconds, "no process came to the port", "the hint timeout");
    return PLI_OK;
}

void pli_port_timeout_join(struct pli_port_timeout *out)
{
    *out = (struct pli_port_timeout){ 0 };
    if (pli_conf.connect_timeout > 0) {
        set(out, (double)pli_conf.connect_timeout, "argument fd: no process answered on the socket",
            "the setting PLIANT_CONNECT_TIMEOUT: the other end has not called MPI_Comm_join");
    }
}

enum pli_err pli_port_timeout_check(const struct pli_port_timeout *t)
{
    return t->end != 0 && pli_clock_ns() > t->end
               ? pli_fail(PLI_ERR_PORT, "%s within %g s, %s", t->what, t->seconds, t->limit)
               : PLI_OK;
}
