// SPDX-License-Identifier: BSD-3-Clause
// Writing the translated unit.
#ifndef PLI_UPC_CC_EMIT_H
#define PLI_UPC_CC_EMIT_H

#include "ast.h"
#include "type_print.h"

struct emitter {
    struct unit *u;
    struct text out;    // the external declaration being written
    struct text hoist;  // what must stand in front of it
    struct source *src; // the source that the last line directive names
    int line;
    int before;    // columns of the line that were written with the declaration before
    bool bol;      // at the start of an output line
    bool glued;    // the last thing written was made up: separate what follows
    bool is_moved; // something was rewritten on this line: what follows is not where it was
    int n_aside;   // writing what will be put elsewhere
    const struct source *mapped; // source of the last entry of the map
    int in_expr;                 // inside a rewritten expression: no line directives
    int n_id;                    // for names made up
    struct type_printer tp;
};

// The whole unit, appended to out. main_type is the type of main, or NULL without one.
void pli_emit_unit(struct unit *u, const struct type *main_type, bool has_main, struct text *out);

// Tell where a token goes: the line and column that the C compiler will name, and the true ones.
// Context: right before it is written.
void pli_emit_place(struct emitter *e, size_t tok);
// "# line file", as the preprocessor writes it.
void pli_emit_directive(struct text *out, const struct source *src, int line);

void pli_emit_range(struct emitter *e, size_t t0, size_t t1);
void pli_emit_puts(struct emitter *e, const char *s);
void pli_emit_printf(struct emitter *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// The length of a variable array, computed again.
void pli_emit_length(struct emitter *e, const struct type *array);
// A type without a name, or the declaration of a name.
void pli_emit_type(struct emitter *e, const struct type *t);
void pli_emit_named(struct emitter *e, const struct type *t, const char *name);

#endif
