//--- assign_threads
void f(void) { THREADS = 4; } // error@16: 'THREADS' is not an lvalue
//--- assign_mythread
void f(void) { MYTHREAD = 4; } // error@16: 'MYTHREAD' is not an lvalue
//--- increment_mythread
void f(void) { MYTHREAD++; } // error@16: 'MYTHREAD' is not an lvalue
//--- address_threads
int *f(void) { return &THREADS; } // error@24: cannot take the address of 'THREADS'
//--- address_mythread
int *f(void) { return &MYTHREAD; } // error@24: cannot take the address of 'MYTHREAD'
//--- blocksizeof_private
int x;
int f(void) { return upc_blocksizeof(x); } // error@38: needs an operand of shared type
//--- elemsizeof_private_type
int f(void) { return upc_elemsizeof(int); } // error@36: needs an operand of shared type
//--- localsizeof_pointer
shared int *p;
int f(void) { return upc_localsizeof(p); } // error@38: needs an operand of shared type
//--- sizes_ok
shared [4] int a[8*THREADS];
shared int *p;
int f(void) { return upc_localsizeof(a) + upc_blocksizeof(*p) + upc_elemsizeof(shared [2] long); }
//--- sizeof_incomplete
extern shared int a[];
unsigned long f(void) { return sizeof(a); } // error@39: incomplete type
//--- localsizeof_incomplete
struct I;
extern shared struct I i;
unsigned long f(void) { return upc_localsizeof(i); } // error@48: incomplete type
//--- sizeof_void
unsigned long f(shared void *p) { return sizeof(*p); } // error@49: incomplete type // error@49: dereferencing
//--- blocksizeof_bitfield
shared struct { int b : 3; } s;
int f(void) { return upc_elemsizeof(s.b); } // error@39: bit-field
//--- barrier_pointer
shared int x;
void f(void) { upc_barrier &x; } // error@28: cannot be converted to int
//--- notify_struct
struct S { int a; } s;
void f(void) { upc_notify s; upc_wait; } // error@27: cannot be converted to int
//--- wait_string
void f(void) { upc_notify; upc_wait "a"; } // error@37: cannot be converted to int
//--- barrier_float_ok
void f(void) { upc_barrier 2.7; upc_barrier (1), 2; upc_notify 'c'; upc_wait 'c'; upc_fence; }
//--- fence_operand
void f(void) { upc_fence 1; } // error@26: expected ';'
//--- forall_float
shared int a[THREADS];
void f(void) { upc_forall (int i = 0; i < 4; i++; 1.5) a[i] = 0; } // error@51: affinity must be
//--- forall_local_pointer
int a[4];
void f(void) { upc_forall (int i = 0; i < 4; i++; &a[i]) a[i] = 0; } // error@51: affinity must be
//--- forall_three_clauses
void f(void) { upc_forall (int i = 0; i < 4; i++) ; } // error@49: expected ';' before the affinity
//--- forall_break
void f(void) { upc_forall (int i = 0; i < 4; i++; i) { if (i) break; } } // warning@63: leaving upc_forall by break
//--- forall_inner_break_ok
void f(void) { upc_forall (int i = 0; i < 4; i++; i) { for (;;) break; switch (i) { case 1: break; } } }
//--- forall_return
void f(void) { upc_forall (int i = 0; i < 4; i++; i) return; } // warning@54: leaving upc_forall by return
//--- forall_goto_out
void f(void) { int i;
    upc_forall (i = 0; i < 4; i++; i) {
        if (i == 2) goto out; // warning@21: leaving upc_forall by goto
        for (int k = 0; k < 9; k++) goto next;
next:   ;
    }
out: ;
}
//--- forall_goto_in
void f(int n) { int i;
    if (n) goto in; // warning@12: entering upc_forall by goto
    upc_forall (i = 0; i < 4; i++; i) { in: n++; }
}
//--- forall_goto_inner
void f(int n) { int i, k;
    upc_forall (i = 0; i < 4; i++; i) {
again:  upc_forall (k = 0; k < 4; k++; k) { if (n--) goto again; } // warning@54: leaving upc_forall by goto
        if (n) goto again;
    }
}
//--- forall_goto_ok
void f(int n)
{
    __label__ top;
top: upc_forall (int i = 0; i < 4; i++; i) { __label__ end; if (n) goto end; n++; end: ; }
    { __label__ end; if (n--) goto end; goto top; end: ; }
    void *to = &&far;
    goto *to;
far: ;
}
//--- forall_barrier
void f(void) { int i;
    upc_forall (i = 0; i < 4; i++; i) upc_barrier; // warning@39: 'upc_barrier' inside upc_forall
    upc_forall (i = 0; i < 4; i++; i) { upc_notify i; upc_wait i; } // warning@41: 'upc_notify' inside // warning@55: 'upc_wait' inside
    upc_forall (i = 0; i < 4; i++; i) upc_fence;
    upc_forall (i = 0; i < 4; i++; continue) upc_barrier;
}
//--- pragma_middle
shared int x;
void f(void) {
    x = 1;
#pragma upc strict
    x = 2; // warning@5: must be outside functions or first in a block
}
//--- pragma_unknown
#pragma upc sideways
int x; // warning@1: ignoring '#pragma upc sideways'
//--- pragma_ok
#pragma upc strict
#pragma upc relaxed
shared int x;
void f(void) {
#pragma upc strict
    x = 2;
    {
#pragma upc relaxed
        x = 3;
    }
}
//--- syntax_missing_semicolon
shared int a[THREADS];
void f(void) {
    a[0] = 1 // error@12: expected ';'
    a[1] = 2;
}
//--- syntax_missing_paren
void f(void) { if (1 { } } // error@22: expected ')'
//--- syntax_unknown_type
foo x; // error@1: unknown type name 'foo'
//--- syntax_expression
int f(void) { return 1 + ; } // error@26: expected an expression
//--- syntax_end
int f(void) { // error@13: expected an expression at end of input
//--- syntax_stray
int x @ 3; // error@7: stray character
//--- syntax_string
char *s = "abc; // error@11: missing terminating // warning@11: missing terminating
//--- read_incomplete
struct I;
extern shared struct I i;
void g();
void f(void) { g(i); } // error@18: incomplete shared type
//--- undeclared
shared int a[THREADS];
void f(void) { a[0] = nothere + nothere; } // error@23: 'nothere' undeclared
//--- macro_position
#define STORE(x, v) ((x) = (v))
int *priv;
shared int s;
void f(void) { STORE(priv, &s); } // warning@28: makes pointer-to-local
//--- define_mythread
#define MYTHREAD 3 // error@9: 'MYTHREAD' may be neither defined nor undefined
int x;
//--- define_threads
int x;
#define THREADS 4 // error@9: 'THREADS' may be neither defined nor undefined
int y;
//--- undef_threads flags=-T=4
#undef THREADS // error@8: 'THREADS' may be neither defined nor undefined
int x;
//--- undef_max_block
#  undef UPC_MAX_BLOCK_SIZE // error@10: 'UPC_MAX_BLOCK_SIZE' may be neither defined nor undefined
#pragma GCC visibility push(default)
int x;
#pragma GCC visibility pop
//--- define_elsewhere_ok
#ifndef __UPC__
#define THREADS 1
#define MYTHREAD 0
#endif
#define MYTHREADS 2
shared int x[THREADS];
int y = MYTHREADS;
//--- undef_threads_dynamic_untested_ok
#if defined THREADS
#undef THREADS
#endif
int x;
//--- assign_max_block
void f(void) { UPC_MAX_BLOCK_SIZE = 4; } // error@35: lvalue
//--- decrement_threads
void f(void) { --THREADS; } // error@18: 'THREADS' is not an lvalue
//--- add_assign_mythread
void f(void) { MYTHREAD += 1; } // error@16: 'MYTHREAD' is not an lvalue
//--- keyword_as_name
int shared_ok, barrier, notify, wait, forall, fence;
int upc_fence; // error@5: expected
//--- keyword_as_label
void f(void) { relaxed: ; } // error@23: expected // error@16: without
//--- localsizeof_private
int x[3];
int f(void) { return upc_localsizeof(x); } // error@38: needs an operand of shared type
//--- localsizeof_type
int f(void) { return upc_localsizeof(int *); } // error@37: needs an operand of shared type
//--- blocksizeof_type
int f(void) { return upc_blocksizeof(double); } // error@37: needs an operand of shared type
//--- elemsizeof_pointer
shared int *p;
int f(void) { return upc_elemsizeof p; } // error@37: needs an operand of shared type
//--- blocksizeof_function
void g(void);
int f(void) { return upc_blocksizeof(g); } // error@38: needs an operand of shared type
//--- localsizeof_void
int f(void) { return upc_localsizeof(shared void); } // error@37: incomplete type
//--- elemsizeof_incomplete
struct I;
int f(void) { return upc_elemsizeof(shared struct I); } // error@36: incomplete type
//--- blocksizeof_incomplete
struct I;
int f(shared struct I *p) { return upc_blocksizeof(*p); } // error@52: incomplete type
//--- localsizeof_incomplete_array
extern shared int a[];
unsigned long f(void) { return upc_localsizeof(a); } // error@48: incomplete type
//--- localsizeof_bitfield
shared struct { int b : 3; } s;
int f(void) { return upc_localsizeof(s.b); } // error@40: bit-field
//--- blocksizeof_of_bitfield
shared struct { int b : 3; } s;
int f(void) { return upc_blocksizeof s.b; } // error@40: bit-field
//--- sizeof_shared_bitfield
shared struct { int b : 3; } s;
int f(void) { return sizeof(s.b); } // error@31: bit-field
//--- barrier_void
void g(void);
void f(void) { upc_barrier g(); } // error@29: cannot be converted to int
//--- wait_pointer
int *p;
void f(void) { upc_notify; upc_wait p; } // error@37: cannot be converted to int
//--- barrier_no_semicolon
void f(void) { upc_barrier } // error@28: expected
//--- barrier_outside
upc_barrier; // error@1: expected
//--- forall_struct
struct S { int a; } s;
void f(void) { upc_forall (int i = 0; i < 4; i++; s) ; } // error@51: affinity must be
//--- forall_void
void g(void);
void f(void) { upc_forall (int i = 0; i < 4; i++; g()) ; } // error@52: affinity must be
//--- forall_local_array
int a[4];
void f(void) { upc_forall (int i = 0; i < 4; i++; a) ; } // error@51: affinity must be
//--- forall_affinities_ok
shared int a[THREADS]; shared void *v; enum E { X } e; char c; shared [2] int m[THREADS][2];
void f(void) {
    upc_forall (int i = 0; i < 4; i++; a) ;
    upc_forall (int i = 0; i < 4; i++; v) ;
    upc_forall (int i = 0; i < 4; i++; e) ;
    upc_forall (int i = 0; i < 4; i++; c) ;
    upc_forall (int i = 0; i < 4; i++; m[i]) ;
    upc_forall (int i = 0; i < 4; i++; continue) ;
    upc_forall (int i = 0; i < 4; i++; ) ;
    upc_forall (;;;) ;
}
//--- forall_five_clauses
void f(void) { upc_forall (int i = 0; i < 4; i++; i; i) ; } // error@52: expected ')'
//--- forall_outside
upc_forall (;;;) ; // error@1: expected
//--- forall_shared_counter
void f(void) { upc_forall (shared int i = 0; i < 4; i++; i) ; } // error@39: cannot have automatic storage
//--- pragma_between_statements
shared int x;
void f(void) {
    int y = 1;
#pragma upc relaxed
    x = y; // warning@5: must be outside functions or first in a block
}
//--- atomic_update
shared _Atomic int x; struct s { _Atomic(long) n; }; shared struct s y[THREADS];
void f(void) { x++; } // error@17: an update of 'shared _Atomic int' is not atomic; use <upc_atomic.h>, or a plain pointer
void g(void) { y[0].n += 2; } // error@23: an update of 'shared [] _Atomic long' is not atomic; use <upc_atomic.h>, or a plain pointer
//--- atomic_at_home_ok
struct s { _Atomic int n; }; shared struct s y[THREADS];
void f(void) { struct s *own = (struct s *)&y[MYTHREAD]; own->n++; y[0].n = 1; }
//--- generic_without_the_type
shared int *p; int x = _Generic(p, shared [2] int *: 1, unsigned long: 2); // error@33: '_Generic' has no association for type 'shared int *'
