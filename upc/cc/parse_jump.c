// SPDX-License-Identifier: BSD-3-Clause
// Checks that no goto leads out of the body of a upc_forall, or into one.
#include "parse_jump.h"

#include "parse.h"

struct jump {
    struct jump *next;
    struct name *name;
    size_t tok;
    struct forall *forall; // the innermost around it
    bool is_label;
};

static void note(struct parser *p, struct name *name, size_t tok, bool is_label)
{
    struct jump *j = pli_unit_arena_alloc(&p->u->arena, sizeof *j);
    *j = (struct jump){ p->jumps, name, tok, p->forall, is_label };
    p->jumps = j;
}

void pli_parse_jump_label(struct parser *p, size_t tok)
{
    note(p, p->u->toks[tok].name, tok, true);
}

void pli_parse_jump_goto(struct parser *p, size_t tok)
{
    note(p, p->u->toks[tok + 1].name, tok, false);
}

// The label of that name; NULL also when block labels (__label__) make it several.
static const struct jump *find_label(const struct jump *list, const struct name *name)
{
    const struct jump *found = NULL;
    for (const struct jump *j = list; j != NULL; j = j->next) {
        if (j->is_label && j->name == name) {
            if (found != NULL) {
                return NULL;
            }
            found = j;
        }
    }
    return found;
}

static bool is_within(const struct forall *in, const struct forall *out)
{
    while (in != NULL && in != out) {
        in = in->outer;
    }
    return in == out;
}

void pli_parse_jump_check(struct parser *p)
{
    for (const struct jump *j = p->jumps; j != NULL; j = j->next) {
        const struct jump *to = j->is_label ? NULL : find_label(p->jumps, j->name);
        if (to == NULL) {
            continue;
        }
        if (!is_within(to->forall, j->forall)) {
            pli_diag_warn(p->u, j->tok, "leaving upc_forall by goto is undefined");
        } else if (!is_within(j->forall, to->forall)) {
            pli_diag_warn(p->u, j->tok, "entering upc_forall by goto is undefined");
        }
    }
    p->jumps = NULL;
}
