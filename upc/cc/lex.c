// SPDX-License-Identifier: BSD-3-Clause
// The lexer. It reads what `cc -E` writes, so there are no comments, splices or trigraphs.
#include "lex.h"
#include "diag.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text;
    int code;
} keywords[] = {
    { "auto", KW_AUTO },
    { "break", KW_BREAK },
    { "case", KW_CASE },
    { "char", KW_CHAR },
    { "const", KW_CONST },
    { "__const", KW_CONST },
    { "__const__", KW_CONST },
    { "continue", KW_CONTINUE },
    { "default", KW_DEFAULT },
    { "do", KW_DO },
    { "double", KW_DOUBLE },
    { "else", KW_ELSE },
    { "enum", KW_ENUM },
    { "extern", KW_EXTERN },
    { "float", KW_FLOAT },
    { "for", KW_FOR },
    { "goto", KW_GOTO },
    { "if", KW_IF },
    { "inline", KW_INLINE },
    { "__inline", KW_INLINE },
    { "__inline__", KW_INLINE },
    { "int", KW_INT },
    { "long", KW_LONG },
    { "register", KW_REGISTER },
    { "restrict", KW_RESTRICT },
    { "__restrict", KW_RESTRICT },
    { "__restrict__", KW_RESTRICT },
    { "return", KW_RETURN },
    { "short", KW_SHORT },
    { "signed", KW_SIGNED },
    { "__signed", KW_SIGNED },
    { "__signed__", KW_SIGNED },
    { "sizeof", KW_SIZEOF },
    { "static", KW_STATIC },
    { "struct", KW_STRUCT },
    { "switch", KW_SWITCH },
    { "typedef", KW_TYPEDEF },
    { "union", KW_UNION },
    { "unsigned", KW_UNSIGNED },
    { "void", KW_VOID },
    { "volatile", KW_VOLATILE },
    { "__volatile", KW_VOLATILE },
    { "__volatile__", KW_VOLATILE },
    { "while", KW_WHILE },
    { "_Bool", KW_BOOL },
    { "_Complex", KW_COMPLEX },
    { "__complex__", KW_COMPLEX },
    { "__complex", KW_COMPLEX },
    { "_Alignas", KW_ALIGNAS },
    { "_Alignof", KW_ALIGNOF },
    { "__alignof__", KW_ALIGNOF },
    { "__alignof", KW_ALIGNOF },
    { "_Atomic", KW_ATOMIC },
    { "_Generic", KW_GENERIC },
    { "_Noreturn", KW_NORETURN },
    { "_Static_assert", KW_STATIC_ASSERT },
    { "_Thread_local", KW_THREAD_LOCAL },
    { "__thread", KW_THREAD_LOCAL },
    { "__attribute__", KW_ATTRIBUTE },
    { "__attribute", KW_ATTRIBUTE },
    { "asm", KW_ASM },
    { "__asm", KW_ASM },
    { "__asm__", KW_ASM },
    { "typeof", KW_TYPEOF },
    { "__typeof", KW_TYPEOF },
    { "__typeof__", KW_TYPEOF },
    { "__auto_type", KW_AUTO_TYPE },
    { "__extension__", KW_EXTENSION },
    { "__label__", KW_LABEL },
    { "__real__", KW_REAL },
    { "__real", KW_REAL },
    { "__imag__", KW_IMAG },
    { "__imag", KW_IMAG },
    { "__int128", KW_INT128 },
    { "__int128_t", KW_INT128 },
    { "__fp16", KW_FLOAT16 },
    { "__bf16", KW_FLOAT16 },
    { "_Float16", KW_FLOAT16 },
    { "_Float32", KW_FLOAT32 },
    { "_Float64", KW_FLOAT64 },
    { "_Float32x", KW_FLOAT64 },
    { "_Float64x", KW_FLOAT128 },
    { "_Float128", KW_FLOAT128 },
    { "__float128", KW_FLOAT128 },
    { "__builtin_va_list", KW_VA_LIST },
    { "__builtin_va_arg", KW_VA_ARG },
    { "__builtin_offsetof", KW_OFFSETOF },
    { "__builtin_types_compatible_p", KW_TYPES_COMPATIBLE },
    { "__builtin_choose_expr", KW_CHOOSE_EXPR },
    { "pli_upc_assert_type", KW_ASSERT_TYPE },
    { "shared", KW_SHARED },
    { "strict", KW_STRICT },
    { "relaxed", KW_RELAXED },
    { "MYTHREAD", KW_MYTHREAD },
    { "THREADS", KW_THREADS },
    { "UPC_MAX_BLOCK_SIZE", KW_MAX_BLOCK_SIZE },
    { "upc_barrier", KW_BARRIER },
    { "upc_notify", KW_NOTIFY },
    { "upc_wait", KW_WAIT },
    { "upc_fence", KW_FENCE },
    { "upc_forall", KW_FORALL },
    { "upc_localsizeof", KW_LOCALSIZEOF },
    { "upc_blocksizeof", KW_BLOCKSIZEOF },
    { "upc_elemsizeof", KW_ELEMSIZEOF },
};

static const struct punct {
    const char *text;
    int code;
} puncts[] = {
    { "...", P_ELLIPSIS }, { "<<=", P_SHL_EQ }, { ">>=", P_SHR_EQ }, { "->", P_ARROW },
    { "++", P_INC },       { "--", P_DEC },     { "<<", P_SHL },     { ">>", P_SHR },
    { "<=", P_LE },        { ">=", P_GE },      { "==", P_EQ },      { "!=", P_NE },
    { "&&", P_ANDAND },    { "||", P_OROR },    { "*=", P_MUL_EQ },  { "/=", P_DIV_EQ },
    { "%=", P_MOD_EQ },    { "+=", P_ADD_EQ },  { "-=", P_SUB_EQ },  { "&=", P_AND_EQ },
    { "^=", P_XOR_EQ },    { "|=", P_OR_EQ },   { "<:", '[' },       { ":>", ']' },
    { "<%", '{' },         { "%>", '}' },
};

struct lexer {
    struct unit *u;
    const char *p, *end, *line_start;
    struct source *src;
    int line;
    bool at_line_start;
    const char *upc_pragma;
    bool c_mode; // after "#pragma upc c_code": the words of UPC are ordinary names
};

struct name *pli_lex_name(struct unit *u, const char *text, size_t len)
{
    if (u->names == NULL) {
        u->n_bucket = 16384;
        u->names = pli_unit_arena_alloc(&u->arena, u->n_bucket * sizeof *u->names);
    }
    size_t h = 5381;
    for (size_t i = 0; i < len; i++) {
        h = h * 33 ^ (unsigned char)text[i];
    }
    struct name **slot = &u->names[h % u->n_bucket];
    for (struct name *n = *slot; n != NULL; n = n->next) {
        if (n->len == len && memcmp(n->text, text, len) == 0) {
            return n;
        }
    }
    struct name *n = pli_unit_arena_alloc(&u->arena, sizeof *n);
    n->text = pli_unit_arena_strdup(&u->arena, text, len);
    n->len = len;
    n->next = *slot;
    *slot = n;
    return n;
}

static struct source *find_source(struct unit *u, const char *path, size_t len, bool is_system)
{
    for (struct source *s = u->sources; s != NULL; s = s->next) {
        if (strlen(s->path) == len && memcmp(s->path, path, len) == 0 &&
            s->is_system == is_system) {
            return s;
        }
    }
    struct source *s = pli_unit_arena_alloc(&u->arena, sizeof *s);
    s->path = pli_unit_arena_strdup(&u->arena, path, len);
    s->is_system = is_system;
    s->next = u->sources;
    u->sources = s;
    return s;
}

// Whether a header is in the folder of the source, which is searched last, as system folders are.
static bool is_beside(const char *dir, const char *path, size_t len)
{
    size_t n = dir != NULL ? strlen(dir) : 0;
    return n > 0 && len > n && strncmp(path, dir, n) == 0 && path[n] == '/' &&
           memchr(path + n + 1, '/', len - n - 1) == NULL;
}

// line-marker: "#" "line"? number string flags*
static void line_marker(struct lexer *l, const char *p, const char *eol)
{
    char *after;
    long line = strtol(p, &after, 10);
    const char *q = memchr(after, '"', (size_t)(eol - after));
    if (q != NULL) {
        char path[4096];
        size_t n = 0;
        for (q++; q < eol && *q != '"' && n < sizeof path; q++) {
            if (*q == '\\' && q + 1 < eol) {
                q++;
            }
            path[n++] = *q;
        }
        bool is_system = false;
        for (; q < eol; q++) {
            is_system |= *q == '3' && q[-1] == ' ';
        }
        l->src = find_source(l->u, path, n, is_system && !is_beside(l->u->opt.source_dir, path, n));
    }
    // Bounded so that hostile markers cannot overflow the line counter.
    l->line = line < 0 ? 0 : line > 100000000 ? 100000000 : (int)line;
}

static const char *skip_blank(const char *p, const char *eol)
{
    while (p < eol && (*p == ' ' || *p == '\t')) {
        p++;
    }
    return p;
}

static bool is_keyword_at(const char **p, const char *eol, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(eol - *p) < n || memcmp(*p, word, n) != 0) {
        return false;
    }
    if (*p + n < eol && (isalnum((unsigned char)(*p)[n]) || (*p)[n] == '_')) {
        return false;
    }
    *p = skip_blank(*p + n, eol);
    return true;
}

static struct token *push(struct lexer *l, enum tok_kind kind, const char *start)
{
    struct unit *u = l->u;
    u->toks = pli_unit_arena_grow(&u->arena, u->toks, u->n_tok, &u->cap_tok, sizeof *u->toks);
    struct token *t = &u->toks[u->n_tok++];
    *t = (struct token){ .kind = kind,
                         .text = start,
                         .len = (unsigned)(l->p - start),
                         .line = l->line,
                         .col = (int)(start - l->line_start) + 1,
                         .src = l->src };
    t->space_before = l->at_line_start || (start > l->u->text && isspace((unsigned char)start[-1]));
    l->at_line_start = false;
    if (l->u->pragmas.len > 0) {
        t->pragma = pli_unit_arena_strdup(&u->arena, l->u->pragmas.data, l->u->pragmas.len);
        l->u->pragmas.len = 0;
    }
    t->upc_pragma = l->upc_pragma;
    l->upc_pragma = NULL;
    return t;
}

// pragma-upc: "#pragma" "upc" ("strict" | "relaxed"); other pragmas are kept for the C compiler.
static void pragma(struct lexer *l, const char *p, const char *eol)
{
    if (is_keyword_at(&p, eol, "upc")) {
        size_t n = (size_t)(eol - p);
        while (n > 0 && isspace((unsigned char)p[n - 1])) {
            n--;
        }
        l->upc_pragma = pli_unit_arena_strdup(&l->u->arena, p, n);
        l->c_mode = strcmp(l->upc_pragma, "c_code") == 0 ||
                    (l->c_mode && strcmp(l->upc_pragma, "upc_code") != 0);
    } else {
        pli_unit_arena_text_add(&l->u->pragmas, l->p, (size_t)(eol - l->p));
        pli_unit_arena_text_puts(&l->u->pragmas, "\n");
    }
}

// The preprocessor repeats the definitions of the program for us (-dD). System headers are C, and
// some on the command line are the driver's.
static void macro(struct lexer *l, const char *p, const char *eol)
{
    static const char *const fixed[] = { "MYTHREAD", "THREADS", "UPC_MAX_BLOCK_SIZE" };
    int n_bad = l->src->path[0] != '<' ? 3 : l->u->opt.static_threads == 0 ? 2 : 1;
    for (int i = 0; i < n_bad && !l->c_mode && !l->src->is_system; i++) {
        const char *after = p;
        if (is_keyword_at(&after, eol, fixed[i])) {
            l->p = p + strlen(fixed[i]);
            push(l, TOK_IDENT, p);
            pli_diag_error(l->u, l->u->n_tok - 1, "'%s' may be neither defined nor undefined",
                           fixed[i]);
            l->u->n_tok--; // it was there to be shown only
            l->at_line_start = true;
        }
    }
}

static void directive(struct lexer *l)
{
    const char *eol = memchr(l->p, '\n', (size_t)(l->end - l->p));
    eol = eol == NULL ? l->end : eol;
    const char *p = skip_blank(l->p + 1, eol);
    bool marker = false;
    if (is_keyword_at(&p, eol, "pragma")) {
        pragma(l, p, eol);
    } else if (is_keyword_at(&p, eol, "define") || is_keyword_at(&p, eol, "undef")) {
        macro(l, p, eol);
    } else {
        is_keyword_at(&p, eol, "line");
        if (p < eol && isdigit((unsigned char)*p)) {
            line_marker(l, p, eol);
            marker = true;
        }
    }
    l->p = eol < l->end ? eol + 1 : eol;
    l->line += !marker;
    l->line_start = l->p;
}

static const char *quoted_end(const char *p, const char *end, bool *closed_out)
{
    char q = *p++;
    while (p < end && *p != q && *p != '\n') {
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    }
    *closed_out = p < end && *p == q;
    return p + *closed_out;
}

static const char *number_end(const char *p, const char *end)
{
    for (p++; p < end; p++) {
        char c = *p, prev = p[-1];
        bool sign =
            (c == '+' || c == '-') && (prev == 'e' || prev == 'E' || prev == 'p' || prev == 'P');
        if (!isalnum((unsigned char)c) && c != '.' && c != '_' && !sign) {
            break;
        }
    }
    return p;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80 ||
           c == '\\';
}

static const char *word_end(const char *p, const char *end)
{
    while (p < end && is_word(*p)) {
        p++;
    }
    return p;
}

static bool is_number(const char *p, const char *end)
{
    return isdigit((unsigned char)*p) || (*p == '.' && p + 1 < end && isdigit((unsigned char)p[1]));
}

// A punctuator of more than one character, or NULL.
static const struct punct *find_punct(const char *p, const char *end)
{
    for (size_t i = 0; i < sizeof puncts / sizeof puncts[0]; i++) {
        size_t n = strlen(puncts[i].text);
        if ((size_t)(end - p) >= n && memcmp(p, puncts[i].text, n) == 0) {
            return &puncts[i];
        }
    }
    return NULL;
}

// L"..." and the like
static bool is_prefixed(const char *start, const char *p, const char *end)
{
    size_t n = (size_t)(p - start);
    bool wide = (n == 1 && (*start == 'L' || *start == 'u' || *start == 'U')) ||
                (n == 2 && memcmp(start, "u8", 2) == 0);
    return wide && p < end && (*p == '"' || *p == '\'');
}

const char *pli_lex_end(const char *p, const char *end)
{
    bool closed;
    if (*p == '"' || *p == '\'') {
        return quoted_end(p, end, &closed);
    }
    if (is_number(p, end)) {
        return number_end(p, end);
    }
    if (is_word(*p)) {
        const char *q = word_end(p, end);
        return is_prefixed(p, q, end) ? quoted_end(q, end, &closed) : q;
    }
    const struct punct *found = find_punct(p, end);
    return p + (found == NULL ? 1 : strlen(found->text));
}

static void quoted(struct lexer *l, const char *start, char q)
{
    bool closed;
    l->p = quoted_end(l->p, l->end, &closed);
    push(l, q == '"' ? TOK_STR : TOK_CHAR, start);
    if (!closed) {
        pli_diag_fatal(l->u, l->u->n_tok - 1, "missing terminating %c character", q);
    }
}

static void number(struct lexer *l)
{
    const char *start = l->p;
    l->p = number_end(start, l->end);
    push(l, TOK_NUM, start);
}

static void word(struct lexer *l)
{
    const char *start = l->p;
    l->p = word_end(start, l->end);
    if (is_prefixed(start, l->p, l->end)) {
        quoted(l, start, *l->p);
        return;
    }
    struct token *t = push(l, TOK_IDENT, start);
    t->name = pli_lex_name(l->u, start, t->len);
    t->op = t->name->kw;
    // Library headers are C: there the words of UPC are ordinary names, but not in our own upc*.h
    // and bupc_*.h.
    if (t->op >= KW_SHARED && l->c_mode) {
        if ((t->op == KW_MYTHREAD || t->op == KW_THREADS) && !l->u->opt.c_code) {
            // In the C text these two are macros.
            t->subst = t->op == KW_MYTHREAD ? "pli_c_mythread" : "pli_c_threads";
            t->name = pli_lex_name(l->u, t->subst, strlen(t->subst));
        }
        t->op = 0;
    } else if (t->op >= KW_SHARED && l->src->is_system) {
        const char *base = strrchr(l->src->path, '/');
        base = base == NULL ? l->src->path : base + 1;
        if (strncmp(base, "upc", 3) != 0 && strncmp(base, "bupc_", 5) != 0) {
            t->op = 0;
        }
    }
}

static void punct(struct lexer *l)
{
    const char *start = l->p;
    const struct punct *found = find_punct(start, l->end);
    if (found != NULL) {
        l->p += strlen(found->text);
        push(l, TOK_PUNCT, start)->op = found->code;
        return;
    }
    l->p++;
    push(l, TOK_PUNCT, start)->op = (unsigned char)*start;
    if (strchr("[](){}.&*+-~!/%<>^|?:;=,", *start) == NULL || *start == '\0') {
        pli_diag_fatal(l->u, l->u->n_tok - 1, "stray character in program");
    }
}

void pli_lex_run(struct unit *u)
{
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        pli_lex_name(u, keywords[i].text, strlen(keywords[i].text))->kw = keywords[i].code;
    }
    struct lexer l = { .u = u, .p = u->text, .end = u->text + u->text_len, .line_start = u->text };
    l.c_mode = u->opt.c_code;
    l.src = find_source(u, u->opt.input, strlen(u->opt.input), false);
    l.line = 1;
    l.at_line_start = true;
    while (l.p < l.end) {
        char c = *l.p;
        if (c == '\n') {
            l.p++;
            l.line++;
            l.line_start = l.p;
            l.at_line_start = true;
        } else if (isspace((unsigned char)c)) {
            l.p++;
        } else if (c == '#' && l.at_line_start) {
            directive(&l);
        } else if (c == '"' || c == '\'') {
            quoted(&l, l.p, c);
        } else if (is_number(l.p, l.end)) {
            number(&l);
        } else if (is_word(c)) {
            word(&l);
        } else {
            punct(&l);
        }
    }
    // A few more behind the end, so that looking ahead needs no check.
    for (int i = 0; i < 4; i++) {
        push(&l, TOK_EOF, l.p);
    }
    u->n_tok -= 3;
}
