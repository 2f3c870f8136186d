// SPDX-License-Identifier: BSD-3-Clause
// The parser's state and its rules. Parsing, name lookup and typing happen in one pass, as C needs.
#ifndef PLI_UPC_CC_PARSE_H
#define PLI_UPC_CC_PARSE_H

#include "ast.h"
#include "diag.h"
#include "lex.h"

struct scope {
    struct scope *outer;
    struct sym *syms, *tags;
};

// What attributes say that matters here.
struct attrs {
    bool packed, opaque; // opaque: vector_size or mode make another type of it
    int64_t align;
};

struct parser {
    struct unit *u;
    size_t at;
    struct scope *scope;
    int depth;        // of scopes; 0 is file scope
    int nesting;      // recursion guard
    int unevaluated;  // inside sizeof and the like
    bool strict;      // #pragma upc in force
    bool fresh_block; // at the start of a compound statement: a upc pragma is in place here
    struct type *ret; // return type of the current function
    struct sym *fn;
    int fn_depth;             // of its parameters
    struct jump *jumps;       // labels and gotos of the current function
    struct forall *forall;    // innermost enclosing upc_forall
    int n_controlling;        // how many enclosing ones have an affinity
    struct node **seen_index; // N_INDEX nodes of the current forall bodies
    size_t n_seen, cap_seen;
    int n_label, n_static; // seen so far, to know whether a body may be printed twice
    int n_anon;
    struct attrs attrs; // collected since the owner last cleared it
    int n_loop, n_switch;
    int n_opaque; // calls and writes through private pointers seen so far
    bool has_forall_break;
    bool has_main;
    struct type *main_type; // of its definition, or a declaration alone
};

// parse.c: token access and edits
static inline struct token *pli_parse_tok(struct parser *p)
{
    return &p->u->toks[p->at];
}
static inline bool pli_parse_is(struct parser *p, int op)
{
    return pli_parse_tok(p)->op == op;
}
bool pli_parse_next_is(struct parser *p, size_t ahead, int op);
bool pli_parse_accept(struct parser *p, int op);
size_t pli_parse_expect(struct parser *p, int op, const char *what);
void pli_parse_enter(struct parser *p); // recursion guard
void pli_parse_leave(struct parser *p);
void pli_parse_skip_parens(struct parser *p); // at "(": past its partner
struct edit *pli_parse_edit(struct parser *p, enum edit_kind kind, size_t t0, size_t t1);
void pli_parse_edit_expr(struct parser *p, struct node *n); // when it must be written anew
void pli_parse_pragma(struct parser *p);
void pli_parse_unit(struct parser *p);

// scope.c
void pli_scope_push(struct parser *p);
void pli_scope_pop(struct parser *p);
struct sym *pli_scope_add(struct parser *p, struct name *name, enum sym_kind kind, size_t tok);
struct sym *pli_scope_add_tag(struct parser *p, struct name *name, size_t tok);
void pli_scope_builtin(struct parser *p);

// parse_expr.c
struct node *pli_parse_expr_comma(struct parser *p);
struct node *pli_parse_expr_assign(struct parser *p);
struct node *pli_parse_expr_cond(struct parser *p);
struct node *pli_parse_expr_cast(struct parser *p);

// parse_prim.c: primary and postfix expressions, sizeof and friends
struct node *pli_parse_prim_postfix(struct parser *p);
struct node *pli_parse_prim_suffixes(struct parser *p, struct node *n);
// parse_sizeof.c
struct node *pli_parse_sizeof(struct parser *p);

// parse_decl.c
bool pli_parse_decl_starts(struct parser *p);
struct decl *pli_parse_decl_block(struct parser *p); // declaration inside a function
void pli_parse_decl_external(struct parser *p);

// parse_spec.c
bool pli_parse_spec_starts(struct parser *p, size_t at);
void pli_parse_spec(struct parser *p, struct specs *s);
void pli_parse_spec_attrs(struct parser *p);
// type-qualifier*: adds to *quals and *block
void pli_parse_spec_quals(struct parser *p, unsigned *quals, int64_t *block, size_t *block_tok);
struct type *pli_parse_spec_type_name(struct parser *p, size_t *t0, size_t *t1);

// parse_record.c: struct, union and enum specifiers
struct type *pli_parse_record_spec(struct parser *p, struct specs *s);
struct type *pli_parse_record_enum(struct parser *p, struct specs *s);

// parse_dtor.c: declarators
struct declarator *pli_parse_dtor(struct parser *p, struct type *base, bool abstract_ok);

// parse_init.c
void pli_parse_init(struct parser *p, struct type **type, bool *dyn);

// parse_stmt.c
void pli_parse_stmt_compound(struct parser *p, bool new_scope);
// compound-statement as an expression; the last expression statement is its value
void pli_parse_stmt_value(struct parser *p, struct node **last);
void pli_parse_stmt(struct parser *p);

// parse_jump.c: labels and gotos, and what is wrong with them when a function ends
void pli_parse_jump_label(struct parser *p, size_t tok);
void pli_parse_jump_goto(struct parser *p, size_t tok); // the name is behind it
void pli_parse_jump_check(struct parser *p);

// parse_forall.c
void pli_parse_forall(struct parser *p);

// constant.c
bool pli_constant_eval(const struct node *n, int64_t *out);
bool pli_constant_is_null(const struct node *n);
// An array length as k or k * THREADS; false when it is neither.
bool pli_constant_dim(const struct node *n, int64_t *k, int *n_threads);

// sema.c: nodes with C's typing
struct node *pli_sema_node(struct parser *p, enum node_kind kind, size_t t0);
void pli_sema_inherit(struct node *n, const struct node *child);
struct node *pli_sema_rvalue(struct parser *p, struct node *n);
struct type *pli_sema_promote(struct parser *p, struct type *t);
struct node *pli_sema_index(struct parser *p, struct node *a, struct node *i, size_t tok);
struct node *pli_sema_member(struct parser *p, struct node *a, struct name *name, bool arrow,
                             size_t tok);
struct node *pli_sema_call(struct parser *p, struct node *f, struct node *args, size_t tok);
struct node *pli_sema_incdec(struct parser *p, struct node *a, int op, bool prefix, size_t tok);
struct node *pli_sema_addr(struct parser *p, struct node *a, size_t tok);
void pli_sema_note_write(struct parser *p, struct node *a); // upc_forall asks what a body changes
struct node *pli_sema_deref(struct parser *p, struct node *a, size_t tok);
struct node *pli_sema_unary(struct parser *p, int op, struct node *a, size_t tok);
struct node *pli_sema_cast(struct parser *p, struct type *to, struct node *a, size_t tok);

// sema_binary.c
struct node *pli_sema_binary(struct parser *p, int op, struct node *a, struct node *b, size_t tok);
struct node *pli_sema_binary_cond(struct parser *p, struct node *c, struct node *a, struct node *b,
                                  size_t tok);
struct node *pli_sema_binary_assign(struct parser *p, int op, struct node *a, struct node *b,
                                    size_t tok);

// sema_conv.c: conversions that C makes by itself; what names the place in diagnostics
struct node *pli_sema_conv(struct parser *p, struct node *n, struct type *to, const char *what);
bool pli_sema_conv_resets(const struct type *from, const struct type *to);

// sema_decl.c: constraints on declarations
void pli_sema_decl_type(struct parser *p, const struct type *t, size_t tok);
// [*]: the type with the block size that spreads the elements evenly.
struct type *pli_sema_decl_star(struct parser *p, struct type *t, size_t tok, bool has_init);
struct type *pli_sema_decl_object(struct parser *p, struct type *t, const struct specs *s,
                                  size_t tok, bool has_init);
struct type *pli_sema_decl_member(struct parser *p, struct type *t, size_t tok);

#endif
