// SPDX-License-Identifier: BSD-3-Clause
// Pieces that io_uring moves: all of them, those behind the end of a file, those that fail; that
// nothing is left of it; and that a kernel that forbids it is an answer.
#include "io/file_uring.h"

#include "ckpt/freeze_hold.h"
#include "io/file_block.h"
#include "t.h"
#include "t_filter.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 300, LEN = 1000, GAP = 24 };

static int count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        n += e->d_name[0] != '.';
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

static void lay_out(struct pli_file_piece *pieces, char *buf)
{
    for (int i = 0; i < N; i++) {
        pieces[i] = (struct pli_file_piece){ buf + i * LEN, LEN, (MPI_Offset)i * (LEN + GAP), 0 };
    }
}

static void move(void)
{
    static char from[N * LEN], to[N * LEN];
    struct pli_file_piece pieces[N];
    int fd = memfd_create("file", MFD_CLOEXEC), before = count_fds();
    for (int i = 0; i < N * LEN; i++) {
        from[i] = (char)(i * 7 + i / LEN);
    }
    lay_out(pieces, from);
    pli_file_uring_move(true, fd, pieces, N);
    for (int i = 0; i < N; i++) {
        T_EQ(pieces[i].done, LEN);
    }
    // The file ends inside a piece: no more than it has is read.
    int last = N - 10;
    T_EQ(ftruncate(fd, (off_t)last * (LEN + GAP) + 5), 0);
    lay_out(pieces, to);
    pli_file_uring_move(false, fd, pieces, N);
    for (int i = 0; i < N; i++) {
        T_EQ(pieces[i].done, i < last ? LEN : i == last ? 5 : 0);
        T_OK(memcmp(pieces[i].buf, from + i * LEN, pieces[i].done) == 0);
    }
    T_EQ(count_fds(), before);
    T_OK(!pli_freeze_is_held());
    close(fd);
}

static void fail(void)
{
    char buf[LEN] = { 0 };
    struct pli_file_piece piece = { buf, LEN, 0, 1 };
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pli_file_uring_move(true, fd, &piece, 1);
    T_EQ(piece.done, 0);
    close(fd);
}

// As in a container that forbids it.
static void forbid(void)
{
    const char *why = "";
    if (!t_filter((const long[]){ SYS_io_uring_setup }, 1)) {
        _exit(2); // seccomp is not to be had
    }
    bool is = pli_file_uring_is_there(&why);
    _exit(!is && strstr(why, "Operation not permitted") != NULL ? 0 : 1);
}

int main(void)
{
    const char *why;
    int status = 0;
    pid_t child = fork(); // before it was tried here
    if (child == 0) {
        forbid();
    }
    T_EQ(waitpid(child, &status, 0), child);
    if (!pli_file_uring_is_there(&why)) {
        printf("skipped: io_uring is not there: %s\n", why);
        return 77;
    }
    T_OK(WIFEXITED(status) && WEXITSTATUS(status) != 1);
    move();
    fail();
    return t_status();
}
