// upc_io.h: files that all threads use together. Each run works in a folder of its own.
//--- local_individual
#include "t.h"
#include <errno.h>
#include <unistd.h>
#include <upc_io.h>
#define NAME "io.data"
int main(void)
{
    CHECK(__UPC_IO__ == 1);
    upc_file_t *f = upc_all_fopen(NAME, UPC_RDWR | UPC_INDIVIDUAL_FP | UPC_CREATE | UPC_TRUNC | UPC_DELETE_ON_CLOSE, 0, NULL);
    int i, v[10], w[10] = { 0 };
    CHECK(f != NULL);
    for (i = 0; i < 10; i++) v[i] = 100 * MYTHREAD + i;
    CHECK(upc_all_fseek(f, 40 * MYTHREAD, UPC_SEEK_SET) == 40 * MYTHREAD);
    CHECK(upc_all_fwrite_local(f, v, sizeof(int), 10, 0) == 40);
    CHECK(upc_all_fseek(f, 0, UPC_SEEK_CUR) == 40 * (MYTHREAD + 1));
    CHECK(upc_all_fsync(f) == 0);
    CHECK(upc_all_fget_size(f) == 40 * THREADS);
    int t = (MYTHREAD + 1) % THREADS;
    CHECK(upc_all_fseek(f, 40 * (t - THREADS), UPC_SEEK_END) == 40 * t);
    CHECK(upc_all_fread_local(f, w, sizeof(int), 10, UPC_IN_NOSYNC | UPC_OUT_NOSYNC) == 40);
    for (i = 0; i < 10; i++) CHECK(w[i] == 100 * t + i);
    CHECK(upc_all_fseek(f, 40 * THREADS - 8, UPC_SEEK_SET) >= 0);
    CHECK(upc_all_fread_local(f, w, 4, 10, 0) == 8 && upc_all_fread_local(f, w, 4, 10, 0) == 0); // the end
    errno = 0;
    CHECK(upc_all_fseek(f, -1, UPC_SEEK_SET) == -1 && errno == EINVAL);
    CHECK(upc_all_fseek(f, 0, UPC_SEEK_CUR) == 40 * THREADS);
    CHECK(upc_all_fclose(f) == 0);
    upc_barrier;
    CHECK(access(NAME, F_OK) != 0);
    errno = 0;
    CHECK(upc_all_fclose(f) == -1 && errno == EBADF);
    return t_done();
}
//--- shared_common
#include "t.h"
#include <upc_io.h>
shared [3] int a[30*THREADS], b[30*THREADS]; shared [] int z[30]; shared int c[7*THREADS];
int main(void)
{
    upc_file_t *f = upc_all_fopen("io.data", UPC_RDWR | UPC_COMMON_FP | UPC_CREATE | UPC_TRUNC | UPC_DELETE_ON_CLOSE, 0, NULL);
    int i; size_t all = 30 * THREADS;
    upc_forall (i = 0; i < 30*THREADS; i++; &a[i]) a[i] = 3 * i;
    CHECK(upc_all_fwrite_shared(f, a, 3, sizeof(int), all, 0) == 4 * (upc_off_t)all);
    CHECK(upc_all_fseek(f, 0, UPC_SEEK_CUR) == 4 * (upc_off_t)all);
    CHECK(upc_all_fseek(f, 0, UPC_SEEK_SET) == 0);
    CHECK(upc_all_fread_shared(f, b, 3, sizeof(int), all, 0) == 4 * (upc_off_t)all);
    for (i = 0; i < 30*THREADS; i++) CHECK(b[i] == 3 * i);
    CHECK(upc_all_fseek(f, 8, UPC_SEEK_SET) == 8);
    CHECK(upc_all_fread_shared(f, z, 0, sizeof(int), 20, 0) == 80);
    for (i = 0; i < 20; i++) CHECK(z[i] == 3 * (i + 2));
    CHECK(upc_all_fseek(f, 0, UPC_SEEK_SET) == 0);
    CHECK(upc_all_fread_shared(f, c, 1, sizeof(int), 7*THREADS, 0) == 28*THREADS); // another distribution
    for (i = 0; i < 7*THREADS; i++) CHECK(c[i] == 3 * i);
    CHECK(upc_all_fseek(f, -16, UPC_SEEK_END) == 120*THREADS - 16);
    CHECK(upc_all_fread_shared(f, c, 1, sizeof(int), 7*THREADS, 0) == 16 && c[3] == 3 * (30*THREADS - 1));
    upc_barrier;
    // From an element inside the array, on another thread; its phase does not count.
    CHECK(upc_all_fseek(f, 0, UPC_SEEK_SET) == 0);
    CHECK(upc_all_fread_shared(f, &b[3], 3, sizeof(int), 12, 0) == 48);
    for (i = 0; i < 12; i++) CHECK(b[3 + i] == 3 * i);
    CHECK(upc_all_fclose(f) == 0);
    return t_done();
}
//--- shared_individual
#include "t.h"
#include <upc_io.h>
shared [5] double a[20*THREADS]; shared [] double * shared mine[THREADS];
int main(void)
{
    upc_file_t *f = upc_all_fopen("io.data", UPC_RDWR | UPC_INDIVIDUAL_FP | UPC_CREATE | UPC_EXCL | UPC_DELETE_ON_CLOSE, 0, NULL);
    shared [] double *m = upc_alloc(50 * sizeof(double)); int i;
    for (i = 0; i < 50; i++) m[i] = MYTHREAD + i / 100.0;
    upc_all_fseek(f, 400 * MYTHREAD, UPC_SEEK_SET);
    CHECK(upc_all_fwrite_shared(f, m, 0, sizeof(double), 50, 0) == 400);
    int t = (MYTHREAD + 1) % THREADS;
    mine[MYTHREAD] = m;
    upc_all_fsync(f);
    upc_all_fseek(f, 400 * t + 80, UPC_SEEK_SET); // ten values of a neighbour, to my own array
    CHECK(upc_all_fread_shared(f, &m[20], 0, sizeof(double), 10, 0) == 80);
    for (i = 0; i < 10; i++) CHECK(m[20 + i] == t + (10 + i) / 100.0);
    upc_barrier;
    CHECK(mine[t][19] == t + 0.19);
    if (MYTHREAD == 0) upc_all_fseek(f, 0, UPC_SEEK_SET); // pointers are of each thread
    CHECK(upc_all_fread_shared(f, a, 5, sizeof(double), MYTHREAD == 0 ? 20*THREADS : 0, 0) == (MYTHREAD == 0 ? 160*THREADS : 0));
    for (i = 0; i < 20*THREADS; i++) CHECK(a[i] == i / 50 + i % 50 / 100.0);
    CHECK(upc_all_fclose(f) == 0);
    return t_done();
}
//--- lists
#include "t.h"
#include <errno.h>
#include <upc_io.h>
shared [2] char s[12*THREADS]; shared [] char u[10];
int main(void)
{
    upc_file_t *f = upc_all_fopen("io.data", UPC_RDWR | UPC_COMMON_FP | UPC_CREATE | UPC_TRUNC | UPC_DELETE_ON_CLOSE, 0, NULL);
    char a[8] = "abcdefg", b[4] = "XYZ", in[12] = "";
    struct upc_local_memvec m[3] = { { a, 5 }, { a, 0 }, { b, 3 } };
    struct upc_filevec at[2] = { { 100 * MYTHREAD, 2 }, { 100 * MYTHREAD + 50, 6 } };
    CHECK(upc_all_fwrite_list_local(f, 3, m, 2, at, 0) == 8);
    struct upc_local_memvec r[1] = { { in, 8 } };
    CHECK(upc_all_fread_list_local(f, 1, r, 2, at, 0) == 8 && strcmp(in, "abcdeXYZ") == 0);
    CHECK(upc_all_fseek(f, 0, UPC_SEEK_CUR) == 0); // lists leave it alone
    struct upc_shared_memvec sm[2] = { { s, 2, 6 }, { u, 0, 2 } };
    struct upc_filevec one[1] = { { 0, 8 } };
    if (MYTHREAD == 0) CHECK(1);
    upc_barrier;
    struct upc_filevec first[2] = { { 0, 2 }, { 50, 6 } };
    CHECK(upc_all_fread_list_shared(f, MYTHREAD == 0 ? 2 : 0, sm, MYTHREAD == 0 ? 2 : 0, first, 0) == (MYTHREAD == 0 ? 8 : 0));
    CHECK(s[0] == 'a' && s[4] == 'e' && s[5] == 'X' && u[0] == 'Y' && u[1] == 'Z');
    upc_barrier;
    CHECK(upc_all_fwrite_list_shared(f, MYTHREAD == THREADS - 1 ? 2 : 0, sm, MYTHREAD == THREADS - 1 ? 1 : 0, one, 0) == (MYTHREAD == THREADS - 1 ? 8 : 0));
    CHECK(upc_all_fread_list_local(f, 1, r, 1, one, 0) == 8 && strcmp(in, "abcdeXYZ") == 0);
    // Entries of no length are nowhere: neither memory nor an order of offsets.
    struct upc_local_memvec gaps[4] = { { NULL, 0 }, { in, 5 }, { NULL, 0 }, { in + 5, 3 } };
    struct upc_filevec holes[5] = { { 90, 0 }, { 100 * MYTHREAD, 2 }, { 0, 0 }, { 100 * MYTHREAD + 50, 6 }, { 0, 0 } };
    memset(in, 0, sizeof in);
    CHECK(upc_all_fread_list_local(f, 4, gaps, 5, holes, 0) == 8 && strcmp(in, "abcdeXYZ") == 0);
    struct upc_filevec back[2] = { { 50, 4 }, { 0, 4 } }, shorter[1] = { { 0, 4 } };
    errno = 0;
    CHECK(upc_all_fread_list_local(f, 1, r, 2, back, 0) == -1 && errno == EINVAL);
    CHECK(upc_all_fread_list_local(f, 1, r, 1, shorter, 0) == -1);
    CHECK(upc_all_fclose(f) == 0);
    return t_done();
}
//--- async_and_fcntl
#include "t.h"
#include <errno.h>
#include <upc_io.h>
shared [4] int a[16*THREADS], b[16*THREADS];
int main(void)
{
    struct upc_hint h[1] = { { "striping", "4" } }, more = { "more", "x" }, other = { "more", "yy" };
    int flags = UPC_RDWR | UPC_COMMON_FP | UPC_CREATE | UPC_TRUNC | UPC_DELETE_ON_CLOSE, i, flag = 0;
    upc_file_t *f = upc_all_fopen("io.data", flags, 1, h);
    upc_off_t n = 64 * THREADS;
    upc_forall (i = 0; i < 16*THREADS; i++; &a[i]) a[i] = i;
    upc_all_fwrite_shared_async(f, a, 4, sizeof(int), 16*THREADS, 0);
    CHECK(upc_all_fcntl(f, UPC_ASYNC_OUTSTANDING, NULL) == 1);
    errno = 0;
    CHECK(upc_all_fseek(f, 0, UPC_SEEK_SET) == -1 && errno == EBUSY);
    CHECK(upc_all_fwait_async(f) == n && upc_all_fcntl(f, UPC_ASYNC_OUTSTANDING, NULL) == 0);
    CHECK(upc_all_fwait_async(f) == -1);
    upc_all_fseek(f, 0, UPC_SEEK_SET);
    upc_all_fread_shared_async(f, b, 4, sizeof(int), 16*THREADS, 0);
    while (!flag) CHECK(upc_all_ftest_async(f, &flag) == n);
    for (i = 0; i < 16*THREADS; i++) CHECK(b[i] == i);
    CHECK(upc_all_fcntl(f, UPC_GET_CA_SEMANTICS, NULL) == 0 && upc_all_fcntl(f, UPC_SET_STRONG_CA_SEMANTICS, NULL) == 0);
    CHECK(upc_all_fcntl(f, UPC_GET_CA_SEMANTICS, NULL) == UPC_STRONG_CA && upc_all_fcntl(f, UPC_SET_WEAK_CA_SEMANTICS, NULL) == 0);
    CHECK(upc_all_fcntl(f, UPC_GET_FP, NULL) == UPC_COMMON_FP && upc_all_fcntl(f, UPC_SET_INDIVIDUAL_FP, NULL) == 0);
    CHECK(upc_all_fcntl(f, UPC_GET_FP, NULL) == UPC_INDIVIDUAL_FP && upc_all_fseek(f, 0, UPC_SEEK_CUR) == 0);
    CHECK(upc_all_fcntl(f, UPC_GET_FL, NULL) == (flags ^ UPC_COMMON_FP ^ UPC_INDIVIDUAL_FP));
    CHECK(upc_all_fcntl(f, UPC_SET_COMMON_FP, NULL) == 0 && upc_all_fcntl(f, UPC_GET_FP, NULL) == UPC_COMMON_FP);
    CHECK(upc_all_fcntl(f, UPC_SET_INDIVIDUAL_FP, NULL) == 0);
    const char *name = NULL; const struct upc_hint *got = NULL;
    CHECK(upc_all_fcntl(f, UPC_GET_FN, &name) == 0 && strcmp(name, "io.data") == 0);
    CHECK(upc_all_fcntl(f, UPC_SET_HINT, &more) == 0 && upc_all_fcntl(f, UPC_SET_HINT, &other) == 0);
    CHECK(upc_all_fcntl(f, UPC_GET_HINTS, &got) == 2 && strcmp(got[0].value, "4") == 0 && strcmp(got[1].value, "yy") == 0);
    CHECK(upc_all_fcntl(f, 99, NULL) == -1);
    CHECK(upc_all_fset_size(f, 10) == 0 && upc_all_fget_size(f) == 10);
    CHECK(upc_all_fpreallocate(f, 1000) == 0 && upc_all_fget_size(f) == 1000 && upc_all_fset_size(f, -1) == -1);
    CHECK(upc_all_fclose(f) == 0);
    return t_done();
}
//--- large
#include "t.h"
#include <upc_io.h>
enum { N = 100000 };
shared [N] int a[N*THREADS]; shared int c[N*THREADS];
int main(void)
{
    upc_file_t *f = upc_all_fopen("io.data", UPC_RDWR | UPC_COMMON_FP | UPC_CREATE | UPC_TRUNC | UPC_DELETE_ON_CLOSE, 0, NULL);
    long i; int bad = 0;
    upc_forall (i = 0; i < (long)N*THREADS; i++; &a[i]) a[i] = (int)i;
    CHECK(upc_all_fwrite_shared(f, a, N, sizeof(int), (size_t)N*THREADS, 0) == 4L*N*THREADS);
    CHECK(upc_all_fseek(f, 0, UPC_SEEK_SET) == 0);
    CHECK(upc_all_fread_shared(f, c, 1, sizeof(int), (size_t)N*THREADS, 0) == 4L*N*THREADS);
    upc_forall (i = 0; i < (long)N*THREADS; i++; &c[i]) bad += c[i] != i;
    CHECK(bad == 0);
    CHECK(upc_all_fclose(f) == 0);
    return t_done();
}
//--- refused
#include "t.h"
#include <errno.h>
#include <upc_io.h>
int main(void)
{
    int x; upc_file_t *f;
    errno = 0;
    CHECK(upc_all_fopen("no/such/file", UPC_RDONLY | UPC_COMMON_FP, 0, NULL) == NULL && errno == ENOENT);
    errno = 0;
    CHECK(upc_all_fopen("x", UPC_RDONLY | UPC_WRONLY | UPC_COMMON_FP, 0, NULL) == NULL && errno == EINVAL);
    CHECK(upc_all_fopen("x", UPC_RDONLY, 0, NULL) == NULL && errno == EINVAL);
    CHECK(upc_all_fopen("x", UPC_RDWR | UPC_EXCL | UPC_COMMON_FP, 0, NULL) == NULL && errno == EINVAL);
    f = upc_all_fopen("io.data", UPC_RDWR | UPC_COMMON_FP | UPC_CREATE | UPC_TRUNC | UPC_DELETE_ON_CLOSE, 0, NULL);
    CHECK(upc_all_fopen("io.data", UPC_RDWR | UPC_COMMON_FP | UPC_CREATE | UPC_EXCL, 0, NULL) == NULL && errno == EEXIST);
    errno = 0;
    CHECK(upc_all_fread_local(f, &x, 4, 1, 0) == -1 && errno == EINVAL); // needs pointers of its own
    CHECK(upc_all_fwrite_shared(f, upc_all_alloc(1, 8), 0, (size_t)-1 / 2, 4, 0) == -1 && errno == EINVAL);
    upc_file_t *r = upc_all_fopen("io.data", UPC_RDONLY | UPC_INDIVIDUAL_FP, 0, NULL);
    CHECK(upc_all_fwrite_local(r, &x, 4, 1, 0) == -1 && errno == EBADF);
    CHECK(upc_all_fclose(r) == 0 && upc_all_fclose(f) == 0);
    return t_done();
}
//--- append
#include "t.h"
#include <upc_io.h>
shared [] int a[4];
int main(void)
{
    upc_file_t *f = upc_all_fopen("io.data", UPC_WRONLY | UPC_COMMON_FP | UPC_CREATE | UPC_TRUNC, 0, NULL);
    CHECK(upc_all_fwrite_shared(f, a, 0, 4, 4, 0) == 16 && upc_all_fclose(f) == 0);
    f = upc_all_fopen("io.data", UPC_RDWR | UPC_INDIVIDUAL_FP | UPC_APPEND | UPC_DELETE_ON_CLOSE, 0, NULL);
    CHECK(upc_all_fseek(f, 0, UPC_SEEK_CUR) == 16 && upc_all_fget_size(f) == 16 && upc_all_fclose(f) == 0);
    return t_done();
}
//--- mismatch threads=2 out= rc=fail err=barrier\smismatch\sdetected
#include "t.h"
#include <upc_io.h>
int main(void)
{
    upc_file_t *f = upc_all_fopen("io.data", UPC_RDWR | UPC_COMMON_FP | UPC_CREATE | UPC_DELETE_ON_CLOSE, 0, NULL);
    if (MYTHREAD == 0) upc_all_fsync(f); else upc_all_fget_size(f);
    return 0;
}
