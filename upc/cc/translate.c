// SPDX-License-Identifier: BSD-3-Clause
// Translates one unit from text to text.
#include "translate.h"

#include "emit.h"
#include "parse.h"
#include "parse_decl.h"

#include <stdlib.h>

static void fini(struct unit *u)
{
    for (struct source *s = u->sources; s != NULL; s = s->next) {
        free(s->text);
        free(s->lines);
    }
    pli_unit_arena_text_fini(&u->pragmas);
    pli_unit_arena_fini(&u->arena);
}

bool pli_translate(const struct options *opt, const char *text, size_t len, FILE *diag,
                   struct text *out)
{
    struct unit u = { .opt = *opt, .diag = diag };
    // The parser lives in the arena: its fields must survive the jump.
    struct parser *p = pli_unit_arena_alloc(&u.arena, sizeof *p);
    u.text = pli_unit_arena_strdup(&u.arena, text == NULL ? "" : text, len);
    u.text_len = len;
    p->u = &u;
    if (setjmp(u.bail) == 0) {
        pli_lex_run(&u);
        pli_parse_decl_unit(p);
    }
    bool ok = u.n_error == 0;
    if (ok) {
        pli_emit_unit(&u, p->main_type, p->has_main, out);
    }
    fini(&u);
    return ok;
}
