//--- extern_shared files
extern shared int x; extern shared [2] int a[]; extern shared int *p; int get(void);
int main(void) { if (MYTHREAD == 0) x = 9; upc_barrier; CHECK(get() == 9 && a[1] == 5 && p == &x); upc_barrier; return t_done(); }
//-- two.upc
shared int x; shared [2] int a[4*THREADS] = { 4, 5 }; shared int *p = &x;
int get(void) { return x; }
//--- tentative_two_files files
shared int x; shared [3] int a[3*THREADS]; void set(int);
int main(void) { if (MYTHREAD == 0) set(4); upc_barrier; CHECK(x == 4 && a[2] == 8); return t_done(); }
//-- two.upc
shared int x; shared [3] int a[3*THREADS];
void set(int v) { x = v; a[2] = 2 * v; }
//--- tentative_and_initialised files
shared int x; int get(void);
int main(void) { CHECK(x == 42 && get() == 42); return t_done(); }
//-- two.upc
shared int x = 42; int get(void) { return x; }
//--- statics_do_not_meet files
static shared int x = 1; int other(void);
int main(void) { CHECK(x == 1 && other() == 2); return t_done(); }
//-- two.upc
static shared int x = 2; int other(void) { return x; }
//--- address_across_files files
extern shared int arr[]; shared int *p = &arr[3]; extern shared struct S { int a, b; } s; shared [] int *q = &s.b;
int main(void) { CHECK(p == &arr[3] && *q == 8); return t_done(); }
//-- two.upc
shared int arr[5*THREADS]; shared struct S { int a, b; } s = { 7, 8 };
//--- private_global files
extern int counter; extern int table[]; void bump(void);
int main(void) { for (int i = 0; i <= MYTHREAD; i++) bump(); upc_barrier; CHECK(counter == MYTHREAD + 1 && table[2] == 3); return t_done(); }
//-- two.upc
int counter; int table[] = { 1, 2, 3 }; int counter; void bump(void) { counter++; }
//--- header_with_shared files
#include "t.h"
#include "my.h"
shared [4] struct item items[4*THREADS];
int main(void) { items[MYTHREAD].v = 3; upc_barrier; CHECK(sum(items) == 3 * THREADS); return t_done(); }
//-- my.h
struct item { int v; shared struct item *next; };
extern shared [4] struct item items[]; int sum(shared [4] struct item *p);
//-- two.upc
#include "my.h"
int sum(shared [4] struct item *p) { int s = 0; for (int i = 0; i < 4*THREADS; i++) s += p[i].v; return s; }
//--- c_suffix files
int twice(int); int main(void) { CHECK(twice(4) == 8); return t_done(); }
//-- two.c
int twice(int x) { return 2 * x; }
//--- tentative_private files threads=2
int x, table[4]; double y; int *p; void set(int); int get(void);
int main(void) { set(4 + MYTHREAD); upc_barrier; CHECK(x == 4 + MYTHREAD && table[3] == x && y == 0 && get() == 2 * x && *p == x); return t_done(); }
//-- two.upc
int x; int table[4]; double y; int *p, twice = 2;
void set(int v) { x = v; table[3] = v; p = &x; }
int get(void) { return twice * x; }
