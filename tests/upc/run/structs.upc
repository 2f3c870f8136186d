//--- member_access
struct P { char tag; double v[3]; struct { short a, b; } in; };
shared struct P s; shared [2] struct P a[4*THREADS];
int main(void)
{
    if (MYTHREAD == THREADS - 1) {
        s.tag = 'q'; s.v[1] = 2.5; s.in.b = -4;
        for (int i = 0; i < 4*THREADS; i++) { a[i].tag = i; a[i].v[2] = i * 0.5; a[i].in.a = -i; }
    }
    upc_barrier;
    CHECK(s.tag == 'q' && s.v[1] == 2.5 && s.in.b == -4 && s.v[0] == 0);
    for (int i = 0; i < 4*THREADS; i++)
        CHECK(a[i].tag == i && a[i].v[2] == i * 0.5 && a[i].in.a == -i);
    shared [2] struct P *p = &a[3];
    CHECK(p->tag == 3 && (*p).v[2] == 1.5 && p[-1].tag == 2 && (p - 1)->tag == 2);
    return t_done();
}
//--- member_pointer_is_indefinite
struct P { int x; int arr[6]; };
shared [2] struct P a[4*THREADS];
int main(void)
{
    shared [] int *p = &a[3].arr[2];
    shared [] int *q = a[3].arr;
    CHECK(p - q == 2 && upc_threadof(p) == upc_threadof(&a[3]) && upc_phaseof(p) == 0);
    CHECK(upc_addrfield(&a[3].arr[5]) - upc_addrfield(&a[3]) == 6 * sizeof(int));
    CHECK(upc_phaseof(&a[3].x) == 0 && upc_phaseof(&a[3]) == 1);
    if (MYTHREAD == 0) { for (int i = 0; i < 6; i++) q[i] = i; }
    upc_barrier;
    for (int i = 0; i < 6; i++) CHECK(a[3].arr[i] == i && *(a[3].arr + i) == i);
    return t_done();
}
//--- whole_copies
struct P { int x; double y; char name[9]; };
shared struct P a[3*THREADS], one;
struct P make(int x) { struct P p = { x, x / 2.0, "abc" }; return p; }
int take(struct P p) { return p.x; }
int main(void)
{
    struct P p = make(5);
    if (MYTHREAD == 0) {
        a[1] = p; a[2] = a[1]; one = make(7); a[0] = one;
        struct P q = a[2];
        CHECK(q.x == 5 && q.y == 2.5 && strcmp(q.name, "abc") == 0);
        CHECK(take(a[0]) == 7 && (q = one).x == 7 && take(a[1] = make(9)) == 9 && a[1].x == 9);
        struct P r[2] = { a[1], one };
        CHECK(r[0].x == 9 && r[1].x == 7 && r[1].name[2] == 'c');
        p = 1 ? a[2] : one;
        CHECK(p.x == 5);
    }
    return t_done();
}
//--- union_members
shared union U { unsigned u; unsigned char c[4]; float f; } u;
int main(void)
{
    if (MYTHREAD == 0) {
        u.f = 1.0f;
        CHECK(u.u == 0x3f800000);
        u.c[0] = 1;
        CHECK(u.u == 0x3f800001);
        union U v = u;
        CHECK(v.u == u.u);
    }
    return t_done();
}
//--- bitfields flags=-Wno-overflow
struct B { unsigned a : 3, b : 5; int c : 4; unsigned long d : 40; int after; };
shared struct B s[2*THREADS];
int main(void)
{
    int m = MYTHREAD;
    s[m].a = 9; s[m].b = 17; s[m].c = -3; s[m].d = 0x123456789aul; s[m].after = 77;
    CHECK(s[m].a == 1 && s[m].b == 17 && s[m].c == -3 && s[m].d == 0x123456789aul && s[m].after == 77);
    s[m].a += 2; s[m].b--; ++s[m].c;
    CHECK(s[m].a == 3 && s[m].b == 16 && s[m].c == -2 && s[m].a++ == 3 && s[m].a == 4);
    upc_barrier;
    int o = (m + 1) % THREADS;
    CHECK(s[o].a == 4 && s[o].d == 0x123456789aul);
    upc_barrier;
    s[o].b = 1;
    CHECK((s[o].b = 35) == 3);
    shared struct B *p = &s[o];
    p->c = 5;
    upc_barrier;
    CHECK(s[m].b == 3 && s[m].c == 5 && s[m].a == 4 && s[m].after == 77);
    return t_done();
}
//--- anonymous_members
struct A { int k; union { int i; float f; }; struct { short x, y; }; };
shared struct A s;
int main(void)
{
    if (MYTHREAD == 0) { s.i = 0x40000000; s.y = 3; CHECK(s.f == 2.0f && s.y == 3 && s.x == 0); }
    CHECK(upc_addrfield(&s.y) - upc_addrfield(&s) == 10);
    return t_done();
}
//--- untagged
shared struct { int a; shared int *p; } s;
typedef struct { int n; double d; } T;
shared T t[THREADS];
shared int x = 8;
int main(void)
{
    if (MYTHREAD == 0) { s.a = 1; s.p = &x; }
    t[MYTHREAD].n = MYTHREAD; t[MYTHREAD].d = 0.5;
    upc_barrier;
    CHECK(s.a == 1 && *s.p == 8 && t[THREADS - 1].n == THREADS - 1);
    T v = t[0];
    CHECK(v.d == 0.5);
    return t_done();
}
//--- linked_list
struct N { int v; double d[3]; shared struct N *next; };
shared struct N * shared head;
int main(void)
{
    for (int t = 0; t < THREADS; t++) {
        if (t == MYTHREAD) {
            shared struct N *n = upc_alloc(sizeof(struct N));
            n->v = t; n->d[1] = t * 1.5; n->next = head;
            head = n;
        }
        upc_barrier;
    }
    int k = THREADS;
    for (shared struct N *p = head; p != NULL; p = p->next) {
        k--;
        CHECK(p->v == k && p->d[1] == k * 1.5 && upc_threadof(p) == k);
    }
    CHECK(k == 0);
    if (THREADS > 1) CHECK(head->next->v == THREADS - 2);
    return t_done();
}
//--- nested_pts
struct L { int v; struct { shared [2] int *p; shared struct L *l; } in[2]; };
shared struct L a[2*THREADS]; shared [2] int d[8*THREADS];
int main(void)
{
    if (MYTHREAD == 0) {
        a[1].v = 3; a[0].in[1].l = &a[1]; a[0].in[1].p = &d[3]; a[0].in[1].l->in[0].p = &d[5];
        CHECK(a[0].in[1].l->v == 3 && a[1].in[0].p == &d[5]);
        a[0].in[1].p++;
        CHECK(a[0].in[1].p == &d[4] && upc_phaseof(a[0].in[1].p) == 0);
        a[0].in[1].p[1] = 6;
        CHECK(d[5] == 6 && *a[1].in[0].p == 6);
        *a[1].in[0].p += 2;
        CHECK(d[5] == 8);
    }
    return t_done();
}
//--- struct_returning_pts
struct R { shared int *p; int n; };
shared int a[4*THREADS];
struct R f(int i) { return (struct R){ &a[i], i }; }
struct R g(void) { struct R r = { .n = 4 }; return r; }
int main(void)
{
    CHECK(f(3).p == &a[3] && f(2).n == 2 && g().p == NULL);
    if (MYTHREAD == THREADS - 1) *f(1).p = 5;
    upc_barrier;
    CHECK(a[1] == 5);
    return t_done();
}
//--- designated
struct S { int k; shared int *p; struct { shared [] int *q; int z; } in[2]; };
shared int a[4*THREADS]; shared [] int b[4];
int main(void)
{
    struct S s = { .p = &a[1], .in = { [1] = { .q = &b[2], .z = 4 } } }, t = { 1, NULL, { { b, 2 }, { 0 } } };
    struct S u = { 1, a, b, 2, b + 1, 3 };
    CHECK(s.p == &a[1] && s.in[1].q == &b[2] && s.in[0].q == NULL && s.k == 0);
    CHECK(t.p == NULL && t.in[0].q == b && t.in[1].q == NULL);
    CHECK(u.in[1].q == &b[1] && u.in[1].z == 3 && u.p == a);
    struct S v[2] = { [1] = { .p = 0 }, [0].p = &a[2] };
    CHECK(v[0].p == &a[2] && v[1].p == NULL);
    return t_done();
}
//--- compound_literals
struct S { int k; shared int *p; };
shared int a[4*THREADS];
int use(struct S s) { return s.p - a; }
int total(shared int **v, int n) { int s = 0; for (int i = 0; i < n; i++) s += v[i] - a; return s; }
int main(void)
{
    CHECK(use((struct S){ 1, &a[3] }) == 3);
    CHECK(total((shared int *[]){ &a[1], a + 2, NULL ? a : a }, 3) == 3);
    shared int *p = (struct S){ .p = &a[2] }.p;
    CHECK(p == &a[2]);
    return t_done();
}
//--- packed_aligned
struct __attribute__((packed)) Q { char c; int i; double d; };
struct R { char c; int v __attribute__((aligned(32))); };
shared struct Q q[3*THREADS]; shared [sizeof(struct Q)] char room[sizeof(struct Q)*THREADS];
shared struct R r;
int main(void)
{
    CHECK(upc_elemsizeof(q) == 13 && upc_blocksizeof(room) == 13);
    CHECK(upc_addrfield(&r.v) - upc_addrfield(&r) == 32 && upc_elemsizeof(r) == 64);
    q[MYTHREAD].i = MYTHREAD; q[MYTHREAD].d = 0.25;
    upc_barrier;
    CHECK(q[THREADS - 1].i == THREADS - 1 && q[0].d == 0.25);
    return t_done();
}
//--- local_struct_type
int main(void)
{
    struct L { int a; short b; };
    static shared struct L s[THREADS];
    static shared [2] struct { char c[3]; } u[2*THREADS];
    s[MYTHREAD].b = MYTHREAD; u[MYTHREAD].c[2] = 'z';
    upc_barrier;
    CHECK(s[THREADS - 1].b == THREADS - 1 && u[0].c[2] == 'z');
    return t_done();
}
