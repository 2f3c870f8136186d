// SPDX-License-Identifier: BSD-3-Clause
// What the parser leaves behind: typed expression trees and edits. Private C is not rebuilt from
// trees; its tokens are copied, and only the ranges that an edit covers are rewritten.
#ifndef PLI_UPC_CC_AST_H
#define PLI_UPC_CC_AST_H

#include "type.h"

// A tentative definition of a thread-local object: one object, in however many files it is.
#define PLI_EMIT_COMMON_TLS "__attribute__((weak)) __thread"

enum node_kind {
    N_NUM,
    N_STR,
    N_IDENT,
    N_THREADS,
    N_MYTHREAD,
    N_PAREN,
    N_INDEX,
    N_CALL,
    N_MEMBER,
    N_ARROW,
    N_POSTFIX, // op: P_INC or P_DEC
    N_PREFIX,
    N_ADDR,
    N_DEREF,
    N_UNARY,
    N_SIZEOF,
    N_UPCSIZE, // a value known here
    N_CAST,
    N_LITERAL, // compound literal
    N_BINARY,
    N_COND,
    N_ASSIGN,
    N_COMMA,
    N_OPAQUE, // copied, with edits inside
    N_RVALUE, // array or function to pointer, qualifiers dropped; prints as its operand
    N_LOAD,   // value of a shared lvalue
    N_DECAY,  // shared array to pointer-to-shared
    N_CONV,   // pointer-to-shared to another type of it; op is true when the phase is dropped
    N_NULL,   // null pointer-to-shared
    N_LOCAL,  // pointer-to-shared to pointer-to-local
};

struct node {
    enum node_kind kind;
    int op;
    size_t t0, t1; // its tokens
    size_t tok;    // where diagnostics about it point
    struct type *type;
    struct node *a, *b, *c;
    struct node *args, *next;
    struct sym *sym;
    struct member *mem;
    bool upc;         // must be rewritten
    bool dyn;         // not an address constant of C: needs start-up code when it initialises
    bool has_threads; // THREADS occurs in it
    bool is_lvalue;
    bool is_strict; // the access is strict
    bool is_spun;   // N_LOAD: a loop does nothing but wait for another value
    bool is_ahead;  // N_LOAD: of a stretch in which far data may be read ahead
    bool is_const;  // N_NUM, N_OPAQUE: value is known
    bool rewrite;   // N_ASSIGN, N_BINARY...: PTS semantics beyond a plain C operator
    int64_t value;
    const char *local; // N_INDEX: the private lvalue that stands for it in a local loop,
    bool own_index;    // to which the index is yet to be added
};

enum sym_kind { SYM_VAR, SYM_FUNC, SYM_TYPEDEF, SYM_ENUMCONST, SYM_TAG };
enum storage { ST_NONE, ST_STATIC, ST_EXTERN, ST_AUTO, ST_REGISTER, ST_TYPEDEF };

struct sym {
    struct sym *outer;      // the declaration it hides
    struct sym *scope_next; // another of its scope
    struct name *name;
    enum sym_kind kind;
    struct type *type;
    enum storage storage;
    int depth; // 0: file scope
    bool is_system, is_tls, is_param, is_defined, is_initialised, is_emitted;
    bool is_symbol_named; // a shared array whose symbol has another declaration [pli_upc_of]
    bool is_addressed;    // its address is taken: it may change through a pointer
    int64_t value;        // SYM_ENUMCONST
    size_t tok;
    size_t mod_at;   // where it was last written, or its address taken
    size_t mod_prev; // and before that
    int cursor;      // of a pointer, while a loop that has one for it is written: its number
    int moving;      // the same of a private pointer that goes on in its place
    bool is_strided; // which does so by THREADS
};

// One declarator of a declaration.
struct declarator {
    struct declarator *next;
    struct sym *sym; // NULL for abstract ones and bit-fields without a name
    struct name *name;
    struct type *type;
    size_t t0, t1, tok;
    size_t attr0, attr1; // attributes and asm label behind the declarator
    size_t init0, init1; // initialiser tokens, without '='
    size_t bits0, bits1; // bit-field width
    bool has_init, dyn;
};

struct specs {
    size_t t0, t1;
    struct type *type;
    enum storage storage;
    bool is_inline, is_thread, has_type;
    size_t storage_tok; // valid when storage is static or extern
    size_t keep[32][2]; // storage, inline, attributes...: copied before a printed type
    int n_keep;
    size_t def0, def1; // a struct, union or enum specifier with a body
    unsigned quals;
    int64_t block;
    size_t block_tok;
};

struct decl {
    struct specs specs;
    struct declarator *list;
    bool at_file_scope;
};

enum { MAX_CURSORS = 4 };

enum affinity { AFF_NONE, AFF_INT, AFF_PTS };

// upc_forall, or a plain for, with what is needed to turn it into a loop over local elements only.
struct forall {
    struct forall *outer; // the innermost around it
    size_t init0, init1, cond0, cond1, step0, step1, body0, body1;
    bool init_is_decl;
    struct node *aff;
    enum affinity kind;
    bool is_nested;  // inside another controlling one
    struct sym *var; // the loop runs over it by +1 up to a bound that stays, else NULL
    struct node *limit;
    int limit_op;     // '<' or P_LE
    int64_t unit;     // affinity repeats over blocks of this many iterations; 0: no such pattern
    struct sym *base; // array or pointer of the affinity expression, or NULL
    struct node *index[32]; // N_INDEX nodes of the body that are private memory in such a loop
    int n_index;
    // Those of the body that are a fixed number of iterations away from private ones: whole rows,
    // each of which is somewhere in one piece, or single elements of the same block mostly.
    struct {
        struct node *node;
        int64_t shift; // iterations
        bool is_row;
        bool is_copied; // a row that is far is fetched at once: nothing in the body can change it
    } near[16];
    int n_near;
    struct node *runs[32]; // those of index[] that the plain loop itself makes private memory
    int n_run;
    // Pointers-to-shared that go on by one step an iteration at most, within blocks or with their
    // thread, and are used as *p and p->m only.
    struct {
        struct sym *sym;
        bool is_in_body; // the step
        bool is_stride;  // steps of THREADS
        bool is_late;    // is used behind the step
        int cursor;      // of a loop around it, while this one is written
    } moving[MAX_CURSORS];
    int n_moving;
    struct node *cond;
    struct sym *walker; // one of these that is compared with the limit, or NULL
    struct sym *left;   // a counter that tells how many iterations are to come, or NULL
    int left_less;      // less one where this is 1
    bool is_stride;     // a plain "for" with steps of THREADS
    bool is_run;        // a plain "for" that counts by one: index[] follow each other within blocks
    bool is_while;      // a "while" whose body ends with the step, which is cut off there
    bool is_opaque;     // the body calls or writes through pointers
};

enum edit_kind {
    EDIT_EXPR,
    EDIT_TYPE,
    EDIT_DECL,
    EDIT_FUNC,
    EDIT_SYNC,
    EDIT_FORALL,
    EDIT_LENGTHS,
    EDIT_AHEAD,
    EDIT_CURSOR
};

// Pointers-to-shared that a loop uses as *p, p++ and *p++ only.
struct cursors {
    struct sym *sym[MAX_CURSORS];
    int n;
};

struct edit {
    enum edit_kind kind;
    struct edit *next; // another one that begins at the same token
    bool active;       // being printed
    size_t t0, t1;
    struct node *node;
    struct type *type;
    struct decl *decl;
    struct forall *forall;
    bool is_loop;  // EDIT_AHEAD: one loop, not statements one after the other
    bool is_inner; // EDIT_AHEAD: part of a wider one
    struct cursors cursors;
};

#endif
