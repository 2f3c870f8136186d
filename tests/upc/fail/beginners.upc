//--- beginner_1
shared int a[THREADS]; int main(void){ a = 3; return 0; } // error@42: lvalue required as left operand of assignment
//--- beginner_2
shared int a[THREADS]; int main(void){ return a.x; } // error@49: request for member 'x' in something not a structure
//--- beginner_3
shared int a[THREADS]; int main(void){ a[1.5] = 2; return 0; } // error@42: array subscript is not an integer
//--- beginner_4
shared int a[THREADS]; int main(void){ a[0](); return 0; } // error@40: called object is not a function or function pointer
//--- beginner_5
shared struct {int x;} s; int main(void){ s.y = 2; return 0; } // error@45: 'shared struct <anonymous>' has no member named 'y'
//--- beginner_6
shared struct {int x;} s; int main(void){ s = 5; return 0; } // error@45: incompatible types when assigning to 'shared struct <anonymous>' from 'int'
//--- beginner_7
shared int x; int main(void){ x++ ++; return 0; } // error@35: lvalue required as left operand
//--- beginner_8
shared int x; int main(void){ &x = 0; return 0; } // error@34: lvalue required as left operand of assignment
//--- beginner_9
shared int x; int main(void){ int *p = &x + 1.0; return 0; } // error@43: invalid operands to binary operator: 'shared int *' and 'double' // warning@43: initialisation makes pointer-to-local 'int *' from pointer-to-shared 'shared int *' without a cast
//--- beginner_10
shared const int x = 3; int main(void){ x = 4; return 0; } // error@43: assignment to a read-only shared object
//--- beginner_11
shared const int x = 3; int main(void){ x++; return 0; } // error@42: assignment to a read-only shared object
//--- beginner_12
shared int *p; int main(void){ p = 5; return 0; } // error@36: assignment makes pointer-to-shared 'shared int *' from 'int'
//--- beginner_13
shared int *p; int main(void){ return p * 2; } // error@41: invalid operands to binary operator: 'shared int *' and 'int'
//--- beginner_14
shared int *p; int main(void){ return -p; } // error@39: wrong type argument to unary operator: 'shared int *' // warning@39: return makes integer from pointer-to-shared without a cast
//--- beginner_15
shared int *p; int main(void){ return ~p; } // error@39: wrong type argument to unary operator: 'shared int *' // warning@39: return makes integer from pointer-to-shared without a cast
//--- beginner_16
shared int *p, *q; int main(void){ return p + q; } // error@45: invalid operands to binary operator: 'shared int *' and 'shared int *'
//--- beginner_17
shared int *p; int main(void){ return p->x; } // error@42: request for member 'x' in something not a structure
//--- beginner_18
shared int *p; int main(void){ return p % 3; } // error@41: invalid operands to binary operator: 'shared int *' and 'int'
//--- beginner_19
shared int *p; int main(void){ float f = p; return 0; } // error@42: initialisation: 'shared int *' is incompatible with 'float'
//--- beginner_20
shared int *p; double d; int main(void){ p = d; return 0; } // error@46: assignment makes pointer-to-shared 'shared int *' from 'double'
//--- beginner_21
shared int *p; double d; int main(void){ return p[d]; } // error@51: array subscript is not an integer
//--- beginner_22
shared void *p; int main(void){ return *p; } // error@40: dereferencing a 'shared void *' pointer
//--- beginner_23
shared void *p; int main(void){ return p[2]; } // error@41: arithmetic on a pointer to incomplete shared type 'shared void *'
//--- beginner_24
struct s; shared struct s *p; int main(void){ return p->x; } // error@57: 'shared struct s' has no member named 'x'
//--- beginner_25
struct s; shared struct s *p; int main(void){ p++; return 0; } // error@48: arithmetic on a pointer to incomplete shared type 'shared struct s *'
//--- beginner_26
int main(void){ upc_forall(int i=0; i<3; i++; 1.5) ; return 0; } // error@47: affinity must be an integer or a pointer-to-shared, not 'double'
//--- beginner_27
int main(void){ upc_forall(int i=0; i<3; i++) ; return 0; } // error@45: expected ';' before the affinity before ')'
//--- beginner_28
int main(void){ upc_forall(int i=0; i<3; i++; i ; return 0; } // error@49: expected ')' before ';'
//--- beginner_29
int main(void){ upc_barrier 1 return 0; } // error@31: expected ';' before 'return'
//--- beginner_30
int main(void){ upc_barrier; upc_wait return 0; } // error@39: expected an expression before 'return'
//--- beginner_31
int main(void){ MYTHREAD = 3; return 0; } // error@17: 'MYTHREAD' is not an lvalue
//--- beginner_32
int main(void){ THREADS++; return 0; } // error@17: 'THREADS' is not an lvalue
//--- beginner_33
int main(void){ int *p = &MYTHREAD; return 0; } // error@27: cannot take the address of 'MYTHREAD'
//--- beginner_34
int main(void){ shared int x; return 0; } // error@28: shared object 'x' cannot have automatic storage
//--- beginner_35
void f(shared int x) {} int main(void){ return 0; } // error@19: parameter of shared type 'shared int'
//--- beginner_36
shared int f(void); int main(void){ return 0; } // error@12: function returns shared type 'shared int'
//--- beginner_37
struct t { shared int x; }; int main(void){ return 0; } // error@23: structure member cannot be shared
//--- beginner_38
shared [THREADS] int a[4*THREADS]; int main(void){ return 0; } // error@9: THREADS in a block size needs static THREADS (-T=N)
//--- beginner_39
shared [-1] int a[THREADS]; int main(void){ return 0; } // error@9: block size is negative
//--- beginner_40
shared [2.5] int a[THREADS]; int main(void){ return 0; } // error@9: block size is not an integer constant expression
//--- beginner_41
shared int a[5]; int main(void){ return 0; } // error@12: shared array needs THREADS in one dimension when THREADS is dynamic; give it an indefinite block size or compile with -T=N
//--- beginner_42
strict int x; int main(void){ return 0; } // error@1: 'strict' without 'shared'
//--- beginner_43
strict relaxed shared int x; int main(void){ return 0; } // error@8: both 'strict' and 'relaxed' in one qualifier list
//--- beginner_44
#include <upc.h>
int main(void){ int x; upc_memget(&x, &x, 4); return 0; } // error@39: passing argument 2 makes pointer-to-shared 'shared const void *__restrict' from pointer-to-local 'int *'
//--- beginner_45
#include <upc.h>
shared int a; int main(void){ int x; upc_memput(&x, &a, 4); return 0; } // error@49: passing argument 1 makes pointer-to-shared 'shared void *__restrict' from pointer-to-local 'int *' // warning@53: passing argument 2 makes pointer-to-local 'const void *__restrict' from pointer-to-shared 'shared int *' without a cast
//--- beginner_46
#include <upc.h>
int main(void){ upc_free(3.5); return 0; } // error@26: passing argument 1 makes pointer-to-shared 'shared void *' from 'double'
//--- beginner_47
#include <upc.h>
int main(void){ return upc_threadof(3); } // error@37: passing argument 1 makes pointer-to-shared 'shared void *' from 'int'
//--- beginner_48
shared struct {int b:3;} s; int main(void){ return &s.b != 0; } // error@52: cannot take the address of bit-field 'b'
//--- beginner_49
shared int a[THREADS]; int main(void){ switch (a) { case 1: ; } return 0; } // error@48: switch needs an integer, not 'shared int *'
//--- beginner_50
shared int a[THREADS]; void f(shared [] int *p); int main(void){ f(a); return 0; } // error@68: passing argument 1: block sizes of 'shared int *' and 'shared [] int *' differ; use a cast
//--- beginner_51
shared int a[THREADS]; int main(void){ return undeclared[a[0]]; } // error@47: 'undeclared' undeclared
//--- beginner_52
shared int a[THREADS]; int main(void){ a[0] = undeclared; return 0; } // error@47: 'undeclared' undeclared
//--- beginner_53
shared int a[THREADS]; int main(void){ a[0] += a; return 0; } // error@45: invalid operands to binary operator: 'shared int' and 'shared int *'
//--- beginner_54
shared int a[THREADS]; int main(void){ a[0] = f(a[1]; return 0; } // error@53: expected ')' before ';'
//--- beginner_55
shared int a[THREADS]; int main(void){ a[0] = 1 return 0; } // error@49: expected ';' before 'return'
//--- beginner_56
shared int x = y; int main(void){ return 0; } // error@16: 'y' undeclared
//--- beginner_57
shared int x; int main(void){ __asm__("" : "+r"(x)); return 0; } // error@49: 'x' is shared: inline assembly cannot reach it; copy it to a private variable
//--- beginner_58
shared int x; int main(void){ return x ? 1 : (shared int *)0; } // error@40: conditional expression mixes 'int' and 'shared int *' // warning@40: return makes integer from pointer-to-shared without a cast
//--- beginner_59
shared int *p; int *q; int main(void){ return p == q; } // error@49: invalid operands to binary operator: 'shared int *' and 'int *'
//--- beginner_60
shared int *p; int *q; int main(void){ return p ? p : q; } // error@49: conditional expression mixes 'shared int *' and 'int *' // warning@49: return makes integer from pointer-to-shared without a cast
//--- beginner_61
shared int *p; int *q; int main(void){ q = p + 1 ? p : q; return 0; } // error@50: conditional expression mixes 'shared int *' and 'int *' // warning@50: assignment makes pointer-to-local 'int *' from pointer-to-shared 'shared int *' without a cast
//--- beginner_62
shared struct a {int x;} s; struct b {int y;} t; int main(void){ s = t; return 0; } // error@68: incompatible types when assigning to 'shared struct a' from 'struct b'
//--- beginner_63
shared int a[THREADS]; void v(void); int main(void){ a[v()] = 1; return 0; } // error@57: array subscript is not an integer
//--- beginner_64
shared int a[THREADS]; struct {int x;} s; int main(void){ a[s] = 1; return 0; } // error@61: array subscript is not an integer
//--- beginner_65
shared int a[THREADS]; int main(void){ return sizeof(a[0].z); } // error@59: request for member 'z' in something not a structure
//--- beginner_66
shared [4] int *p; shared int a[THREADS]; int main(void){ p = a; return 0; } // error@63: assignment: block sizes of 'shared int *' and 'shared [4] int *' differ; use a cast
//--- beginner_67
shared int a[THREADS]; int main(void){ for (int i = 0; i < 3; i++; a[i]) ; return 0; } // error@66: expected ')' before ';'
//--- beginner_68
shared int a[THREADS][THREADS]; int main(void){ return 0; } // error@12: THREADS occurs in more than one dimension of a shared array
//--- beginner_69
upc_lock_t *l; int main(void){ return 0; } // error@1: unknown type name 'upc_lock_t'; is a header of UPC missing?
//--- beginner_70
int main(void){ upc_notify; upc_fence 3; return 0; } // error@39: expected ';' before '3'
//--- beginner_71
shared int x; int main(void){ upc_barrier x; upc_barrier "s"; return 0; } // error@58: operand of 'upc_barrier' cannot be converted to int
//--- beginner_72
shared struct {int x;} s; int main(void){ upc_barrier s; return 0; } // error@55: operand of 'upc_barrier' cannot be converted to int
//--- beginner_73
#include <upc.h>
upc_lock_t l; int main(void){ return 0; } // error@12: shared object has incomplete type 'shared upc_lock_t'
//--- beginner_74
#include <upc.h>
int main(void){ int *p = upc_all_alloc(3, 4); return 0; } // warning@39: initialisation makes pointer-to-local 'int *' from pointer-to-shared 'shared void *' without a cast
//--- beginner_75
#include <upc.h>
int main(void){ upc_lock(3); return 0; } // error@26: passing argument 1 makes pointer-to-shared 'shared upc_lock_t *' from 'int'
//--- beginner_76
#include <upc.h>
shared int a; int main(void){ bupc_assert_type(a, double); return 0; } // error@48: bupc_assert_type: the type is 'shared int', not 'double'
//--- beginner_77
shared struct t {int a;} s; int main(void){ return s->a; } // error@55: invalid type argument of '->' (have 'shared struct t')
//--- beginner_78
int x = main; // error@9: 'main' undeclared
int main(void){ return 0; }
//--- wrong_value_in_loop
shared [16] int a[16 * THREADS], c[16 * THREADS];
shared int d[THREADS];
int main(void)
{
    for (int i = 0; i < 16; i++) a[i] = "x"; // warning@39: assignment to
    upc_forall (int i = 0; i < THREADS; i++; &d[i]) d[i] = "y"; // warning@58: assignment to
    shared [16] int *p = c;
    while (p < c + 16) *p++ = "z"; // warning@29: assignment to
    return 0;
}
//--- asm_label_ok
shared int x;
struct s { int x; };
int f(struct s v) { __asm__("" : [x] "+r"(v.x)); return v.x; }
