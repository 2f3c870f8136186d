// SPDX-License-Identifier: BSD-3-Clause
// The parser's state, its access to tokens, and the edits it makes. Parsing, name lookup and typing
// happen in one pass, as C needs.
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

struct cursor_step {
    struct sym *sym;
    size_t tok;     // where its name stands
    bool is_stride; // by THREADS, not by one
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
    struct node **run_index; // those of relaxed access in the bodies of "for", whatever they index
    size_t n_run, cap_run;
    struct node **loads; // all N_LOAD of relaxed access so far
    size_t n_load, cap_load;
    struct edit **aheads; // all EDIT_AHEAD so far
    size_t n_ahead, cap_ahead;
    struct cursor_step *steps; // all p++ and p += THREADS of pointers-to-shared so far
    size_t n_cursor, cap_cursor;
    int n_for;             // enclosing "for" statements
    int n_stride;          // enclosing loops with steps of THREADS, outside of any upc_forall
    int n_local_stride;    // such loops so far that reach private memory
    int n_label, n_static; // seen so far, to know whether a body may be printed twice
    int n_anon;
    int n_len;          // lengths of shared arrays that have a variable
    struct attrs attrs; // collected since the owner last cleared it
    struct node *tail;  // the last statement of the block that ended last, if it is an expression
    size_t tail_at;     // and where it begins
    int n_loop, n_switch;
    int n_collapsed; // enclosing loops with a pragma that is for loops inside, too
    bool is_brief;   // the loop that ended last goes round a few times at most
    int n_opaque;    // calls and writes through private pointers seen so far
    int n_sync;      // calls, strict accesses, fences, labels: behind them far data is read anew
    int n_order;     // strict accesses, fences, and writes through pointers-to-shared seen so far
    bool has_forall_break;
    bool has_main;
    struct type *main_type; // of its definition, or a declaration alone
};

static inline struct token *pli_parse_tok(struct parser *p)
{
    return &p->u->toks[p->at];
}
static inline bool pli_parse_is(struct parser *p, int op)
{
    return pli_parse_tok(p)->op == op;
}
// Whether the loop that begins at t0 is written as it is: a pragma of C (OpenMP) is for it.
static inline bool pli_parse_is_kept(const struct parser *p, size_t t0)
{
    return p->n_collapsed > 0 || p->u->toks[t0].pragma != NULL;
}
bool pli_parse_next_is(struct parser *p, size_t ahead, int op);
bool pli_parse_accept(struct parser *p, int op);
size_t pli_parse_expect(struct parser *p, int op, const char *what);
void pli_parse_enter(struct parser *p); // recursion guard
void pli_parse_leave(struct parser *p);
void pli_parse_skip_parens(struct parser *p); // at "(": past its partner
struct edit *pli_parse_edit(struct parser *p, enum edit_kind kind, size_t t0, size_t t1);
void pli_parse_edit_expr(struct parser *p, struct node *n); // when it must be rewritten
void pli_parse_pragma(struct parser *p);

#endif
