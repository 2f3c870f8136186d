// SPDX-License-Identifier: BSD-3-Clause
// Files go over a connection as they are; whatever else comes, nothing is made outside of the
// directory, nothing hangs, and both sides are told.
#include "base/protect_stream.h"
#include "launcher/hosts/file_copy.h"
#include "t.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/resource.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const unsigned char keys[2][PLI_PROTECT_KEY] = { "one way", "the other way" };
static char root[] = "/tmp/haul-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static void clear(const char *name)
{
    nftw(name, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make(const char *name, size_t len, unsigned seed)
{
    FILE *f = fopen(name, "w");
    T_MUST(f != NULL);
    char block[4096];
    for (size_t i = 0; i < len; i += sizeof block) {
        memset(block, (int)((i / 512 + seed) & 255), sizeof block);
        size_t n = len - i < sizeof block ? len - i : sizeof block;
        T_EQ(fwrite(block, 1, n, f), n);
    }
    T_EQ(fclose(f), 0);
}

static bool is_same(const char *a, const char *b)
{
    FILE *f = fopen(a, "r"), *g = fopen(b, "r");
    bool is = f != NULL && g != NULL;
    for (int c = 0, d; is && c != EOF;) {
        c = fgetc(f);
        d = fgetc(g);
        is = c == d;
    }
    if (f != NULL) {
        fclose(f);
    }
    if (g != NULL) {
        fclose(g);
    }
    return is;
}

static int count(const char *name)
{
    int n = 0;
    DIR *d = opendir(name);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        n += e->d_name[0] != '.';
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

static struct pli_protect_stream open_stream(int fd, int side)
{
    struct pli_protect_stream s;
    T_MUST(pli_protect_stream_open(&s, fd, 20000, PLI_PROTECT_HMAC, keys[side], keys[1 - side]) ==
           PLI_OK);
    return s;
}

static bool do_send(int fd, const char *dir, char *why)
{
    struct pli_protect_stream s = open_stream(fd, 0);
    bool is_good = pli_file_copy_send(&s, dir, why);
    pli_protect_stream_close(&s);
    return is_good;
}

static bool do_receive(int fd, const char *dir, char *why)
{
    struct pli_protect_stream s = open_stream(fd, 1);
    bool is_good = pli_file_copy_receive(&s, dir, why);
    pli_protect_stream_close(&s);
    return is_good;
}

// One process sends "from", the other receives to "to": both say whether it went well.
static void both(bool *sent, char *sent_why, bool *got, char *got_why, rlim_t most)
{
    int fds[2];
    T_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    int report[2];
    T_EQ(pipe(report), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ most, most });
        char why[PLI_FILE_COPY_WHY] = "";
        bool is_good = do_receive(fds[1], "to", why);
        ssize_t n = write(report[1], why, sizeof why);
        _exit(is_good && n > 0 ? 0 : 1);
    }
    close(fds[1]);
    close(report[1]);
    *sent = do_send(fds[0], "from", sent_why);
    close(fds[0]);
    T_EQ(read(report[0], got_why, PLI_FILE_COPY_WHY), PLI_FILE_COPY_WHY);
    close(report[0]);
    int status = 1;
    waitpid(pid, &status, 0);
    *got = WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_whole(void)
{
    char sent_why[PLI_FILE_COPY_WHY] = "", got_why[PLI_FILE_COPY_WHY] = "";
    bool sent, got;
    mkdir("from", 0700);
    mkdir("from/rank.0", 0700);
    mkdir("to", 0700);
    make("from/node.img", 3 << 20, 1);
    make("from/rank.0/empty.img", 0, 0);
    make("from/rank.0/pages-1.img", (1 << 20) + 1, 2);
    both(&sent, sent_why, &got, got_why, 64 << 20);
    T_OK(sent && got);
    T_OK(is_same("from/node.img", "to/node.img"));
    T_OK(is_same("from/rank.0/empty.img", "to/rank.0/empty.img"));
    T_OK(is_same("from/rank.0/pages-1.img", "to/rank.0/pages-1.img"));
    T_EQ(count("to") + count("to/rank.0"), 4);
    // Once more: nothing is written over, and the sender hears why.
    both(&sent, sent_why, &got, got_why, 64 << 20);
    T_OK(!sent && !got);
    T_HAS(sent_why, "File exists");
    T_HAS(got_why, "File exists");
    // No room there, and much more on its way than a connection holds.
    clear("to");
    mkdir("to", 0700);
    make("from/rank.0/large.img", 24 << 20, 3);
    both(&sent, sent_why, &got, got_why, 2 << 20);
    T_OK(!sent && !got);
    T_HAS(sent_why, "cannot be written");
    T_HAS(sent_why, "File too large");
    clear("to");
    // Something that is no file.
    T_EQ(symlink("/etc/passwd", "from/rank.0/link"), 0);
    mkdir("to", 0700);
    both(&sent, sent_why, &got, got_why, 64 << 20);
    T_OK(!sent && !got);
    clear("to");
    clear("from");
}

static void test_no_answer(void)
{
    char why[PLI_FILE_COPY_WHY] = "";
    int fds[2];
    mkdir("from", 0700);
    make("from/a", 10, 1);
    T_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    close(fds[1]);
    T_OK(!do_send(fds[0], "from", why));
    T_OK(why[0] != '\0');
    close(fds[0]);
    clear("from");
}

// What came, as one stream that then ends. Whether it was taken.
static bool receive(const void *data, size_t len)
{
    char why[PLI_FILE_COPY_WHY] = "";
    struct pli_file_copy_verdict v = { 0 };
    int fds[2];
    mkdir("in", 0700);
    mkdir("in/to", 0700);
    T_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    struct pli_protect_stream s = open_stream(fds[0], 0);
    T_OK(pli_protect_stream_put(&s, data, len));
    shutdown(fds[0], SHUT_WR);
    bool is_good = do_receive(fds[1], "in/to", why);
    T_OK(pli_protect_stream_get(&s, &v, sizeof v));
    pli_protect_stream_close(&s);
    T_EQ(v.error == 0, is_good);
    T_OK(is_good || why[0] != '\0');
    T_EQ(count("in"), 1); // nothing beside it
    T_OK(access("/tmp/haul-escaped", F_OK) != 0);
    close(fds[0]);
    close(fds[1]);
    clear("in");
    return is_good;
}

static size_t add(char *to, size_t at, const char *name, size_t name_len, uint32_t n, uint64_t size,
                  size_t content)
{
    struct pli_file_copy_head head = { (uint32_t)name_len, n, size };
    memcpy(to + at, &head, sizeof head);
    memcpy(to + at + sizeof head, name, strlen(name));
    memset(to + at + sizeof head + strlen(name), 'x', content);
    return at + sizeof head + strlen(name) + content;
}

static void test_bad(void)
{
    static const struct {
        const char *name;
        size_t name_len;
        uint32_t n;
        uint64_t size;
        bool is_good;
    } tries[] = {
        { "a.img", 5, 0, 5, true },
        { "rank.3/a.img", 12, 0, 5, true },
        { "../escaped", 10, 0, 5, false },
        { "/tmp/haul-escaped", 17, 0, 5, false },
        { "a/../b", 6, 0, 5, false },
        { "a/b/c", 5, 0, 5, false },
        { "a/", 2, 0, 5, false },
        { "/a", 2, 0, 5, false },
        { "a//b", 4, 0, 5, false },
        { ".a", 2, 0, 5, false },
        { "a b", 3, 0, 5, false },
        { "a.img", 5, 1, 5, false },                 // another number
        { "a.img", 5, 0, 1 << 20, false },           // shorter than it says
        { "a.img", 5, 0, UINT64_MAX, false },        // longer than any file
        { "a.img", 5, 0, (uint64_t)1 << 60, false }, // longer than any disk
        { "a.img", 121, 0, 5, false },
        { "a.img", UINT32_MAX, 0, 5, false },
    };
    char buf[512];
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        memcpy(buf, PLI_FILE_COPY_MAGIC, 8);
        size_t len = add(buf, 8, tries[i].name, tries[i].name_len, tries[i].n, tries[i].size, 5);
        len = add(buf, len, "", 0, 1, 0, 0);
        bool is_good = receive(buf, len);
        if (is_good != tries[i].is_good) {
            fprintf(stderr, "%s, %zu bytes\n", tries[i].name, tries[i].name_len);
        }
        T_EQ(is_good, tries[i].is_good);
    }
    memcpy(buf, PLI_FILE_COPY_MAGIC, 8);
    size_t len = add(buf, 8, "a", 1, 0, 5, 5);
    len = add(buf, len, "a", 1, 1, 5, 5); // twice
    len = add(buf, len, "", 0, 2, 0, 0);
    T_OK(!receive(buf, len));
}

// A good stream that is cut at every place, or has any one byte changed.
static void test_damaged(void)
{
    char good[256], buf[256];
    memcpy(good, PLI_FILE_COPY_MAGIC, 8);
    size_t len = add(good, 8, "node.img", 8, 0, 40, 40);
    len = add(good, len, "rank.1/core-7.img", 17, 1, 7, 7);
    len = add(good, len, "", 0, 2, 0, 0);
    T_OK(receive(good, len));
    for (size_t cut = 0; cut < len; cut++) {
        T_OK(!receive(good, cut));
    }
    unsigned seed = 7;
    for (size_t at = 0; at < len; at++) {
        for (int k = 0; k < 3; k++) {
            memcpy(buf, good, len);
            seed = seed * 1103515245u + 12345u;
            buf[at] = (char)(buf[at] ^ (1 + (seed >> 16) % 255));
            receive(buf, len); // the content or a name may be another one; it must end well
        }
    }
    for (int k = 0; k < 100; k++) {
        for (size_t i = 8; i < sizeof buf; i++) {
            seed = seed * 1103515245u + 12345u;
            buf[i] = (char)(seed >> 20);
        }
        memcpy(buf, PLI_FILE_COPY_MAGIC, 8);
        T_OK(!receive(buf, sizeof buf));
    }
}

// Records that somebody on the way has changed: nothing that was not sent is ever in a file.
static void test_altered(void)
{
    char good[256], buf[1024], raw[1024];
    memcpy(good, PLI_FILE_COPY_MAGIC, 8);
    size_t len = add(good, 8, "node.img", 8, 0, 40, 40);
    len = add(good, len, "", 0, 1, 0, 0);
    for (size_t at = 0;; at++) {
        int wire[2], fds[2];
        char why[PLI_FILE_COPY_WHY] = "";
        T_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, wire), 0);
        T_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        struct pli_protect_stream s = open_stream(wire[0], 0);
        T_OK(pli_protect_stream_put(&s, good, 8) && pli_protect_stream_put(&s, good + 8, len - 8));
        ssize_t n = recv(wire[1], raw, sizeof raw, 0);
        pli_protect_stream_close(&s);
        bool is_over = at >= (size_t)n;
        memcpy(buf, raw, (size_t)n);
        buf[is_over ? 0 : at] ^= is_over ? 0 : 0x20;
        T_EQ(send(fds[0], buf, (size_t)n, MSG_NOSIGNAL), n);
        shutdown(fds[0], SHUT_WR);
        mkdir("to", 0700);
        T_EQ(do_receive(fds[1], "to", why), is_over);
        clear("to");
        close(wire[0]);
        close(wire[1]);
        close(fds[0]);
        close(fds[1]);
        if (is_over) {
            break;
        }
    }
}

int main(void)
{
    T_MUST(mkdtemp(root) != NULL && chdir(root) == 0);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 64 << 20, 64 << 20 });
    test_whole();
    test_no_answer();
    test_bad();
    test_damaged();
    test_altered();
    T_EQ(chdir("/"), 0);
    clear(root);
    return t_status();
}
