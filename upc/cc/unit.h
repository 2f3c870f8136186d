// SPDX-License-Identifier: BSD-3-Clause
// One translation unit: its text, its tokens, its names and the options it is translated under.
#ifndef PLI_UPC_CC_UNIT_H
#define PLI_UPC_CC_UNIT_H

#include "unit_arena.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct edit;
struct sym;

// A spelling that occurs in the unit, kept once. Scopes hang their declarations on it.
struct name {
    struct name *next; // in its hash bucket
    const char *text;
    size_t len;
    int kw;           // KW_* when it is a keyword, else 0
    struct sym *ids;  // innermost declaration of the ordinary name space
    struct sym *tags; // innermost struct, union or enum tag
};

enum tok_kind { TOK_EOF, TOK_IDENT, TOK_NUM, TOK_CHAR, TOK_STR, TOK_PUNCT };

// A file named by a line marker, with its lines read on demand for diagnostics.
struct source {
    struct source *next;
    const char *path;
    bool is_system;
    bool is_read;
    char *text; // heap, NULL when it cannot be read
    size_t len;
    size_t *lines; // heap: where each line begins
    int n_line;
};

struct token {
    enum tok_kind kind;
    int op; // punctuator or keyword code
    const char *text;
    unsigned len;
    int line, col;
    int src_col; // in the original line, 0: not there; known when is_placed
    bool is_placed;
    struct source *src;
    struct name *name;
    bool space_before;
    bool starts_external;   // an external declaration begins here
    bool is_moving;         // p in *p, p->m, p++ and p += THREADS: a loop may do without p itself
    bool is_cursor;         // p in *p and p++, which a cursor has its own code for [parse_cursor.h]
    const char *pragma;     // #pragma lines that stand before this token, each with its newline
    const char *upc_pragma; // the last word of "#pragma upc word" here, or NULL
    const char *subst;      // printed instead of the text
    const char *prefix;     // printed before the text
    struct edit *edit;      // a rewritten range that begins here
};

struct options {
    int static_threads; // 0: dynamic
    bool pthreads;      // UPC threads are OS threads: private statics become thread-local
    bool no_lines;      // leave #line out
    bool c_code;        // plain C: the words of UPC are ordinary names
    const char *map_path;
    struct text *map; // new places of tokens that moved; NULL: no map is wanted
    bool warn_error;
    bool no_warn;
    const char *input, *output;
    const char *source_dir; // of the source; NULL: it has none
};

struct unit {
    struct arena arena;
    struct options opt;
    char *text; // the preprocessed text, heap
    size_t text_len;
    struct token *toks;
    size_t n_tok, cap_tok;
    struct source *sources;
    struct name **names;
    size_t n_bucket;
    struct text pragmas; // lexer's collection of #pragma lines
    FILE *diag;          // where diagnostics go
    int n_error, n_warning;
    jmp_buf bail; // syntax errors end the translation here
};

enum { UPC_MAX_BLOCK = (1 << 20) - 1, UPC_MAX_THREADS = 1 << 10 };

#endif
