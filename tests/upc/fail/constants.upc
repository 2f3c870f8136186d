//--- call_at_file_scope
int f(void); int x = f(); int main(void){ return x; } // error@22: initializer element is not constant
//--- call_in_sum
int f(void); int x = 1 + f() * MYTHREAD; int main(void){ return x; } // error@22: initializer element is not constant
//--- value_of_shared
shared int s; int x = s; int main(void){ return x; } // error@23: initializer element is not constant
//--- shared_by_call
int f(void); shared int x = f(); int main(void){ return x; } // error@29: initializer element is not constant
//--- member_by_call
int f(void); struct { int a; shared int *p; } x = { f(), NULL }; int main(void){ return x.a; } // error@53: initializer element is not constant // error: 'NULL' undeclared
//--- increment
int y; int a[2] = { MYTHREAD, y++ }; int main(void){ return a[0]; } // error@31: initializer element is not constant
//--- block_scope
int f(void); int main(void){ static int z = f(); return z; } // error@45: initializer element is not constant
//--- statement_expression
int t = ({ 3; }); int main(void){ return t; } // error@9: braced-group within expression allowed only inside a function
//--- value_of_private
int y; int x = y + MYTHREAD; int main(void){ return x; } // error@16: initializer element is not constant
//--- value_of_member
struct { int a; } s; int w = s.a + MYTHREAD; int main(void){ return w; } // error@30: initializer element is not constant
//--- value_alone
int y; int x = y; int main(void){ return x; } // error@16: initializer element is not constant
//--- what_is_constant
#include <upc.h>
#include <math.h>
struct s { double d; shared int *p; int m; };
shared int x;
int g(void) { return 1; }
double inf = __builtin_inf();
struct s t = { __builtin_huge_val(), &x, MYTHREAD };
struct s u[2] = { { HUGE_VAL, &x, THREADS }, { INFINITY + MYTHREAD, NULL, sizeof(g()) } };
struct { int a, b[2]; } v;
int *p = &t.m + MYTHREAD, *q = &v.b[1] + MYTHREAD, *r = v.b + MYTHREAD;
struct { int (*f)(void); int m; } w = { g, MYTHREAD }, z = { &g, MYTHREAD };
static const int c = 3; int k = c + MYTHREAD;
int main(void) { static int n = MYTHREAD; return n; }
//--- defined_twice
shared int s = 3; shared int s = 4; int main(void){ return 0; } // error@30: redefinition of 's'
//--- static_defined_twice
static shared int s = 3; static shared int s = 4; int main(void){ return 0; } // error@44: redefinition of 's'
//--- private_defined_twice
int s = MYTHREAD; int s = MYTHREAD; int main(void){ return 0; } // error@23: redefinition of 's'
//--- no_lvalue
shared int *f(void);
int main(void)
{
    f()++; // error@8: lvalue required as left operand
    ++f(); // error@5: lvalue required as left operand
    f() += 2; // error@9: lvalue required as left operand of assignment
    return 0;
}
//--- affinity_undeclared
int main(void)
{
    upc_forall (int i = 0; i < 10; i++; &b[i]); // error@42: 'b' undeclared
    return 0;
}
//--- operands_of_values
shared double d[THREADS];
int main(void)
{
    int k = d[0] % 2; // error@18: invalid operands to binary %
    k = k + ~d[0]; // error@13: wrong type argument to bit-complement
    return k << d[0]; // error@14: invalid operands to binary <<
}
