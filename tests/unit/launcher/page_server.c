// SPDX-License-Identifier: BSD-3-Clause
// Takes pages from CRIU in both forms of its commands: that of 4.2, with 64-bit counts, and that
// before.
#include "launcher/ckpt/page_server.h"

#include "launcher/ckpt/criu_image.h"

#include "t.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPEN_ANSWER = 4, PARENT = 5, ADD_FLAGS = 6, CLOSE = 0x1023, IS_PRESENT = 4, PID = 77 };
#define TARGET ((uint64_t)PID << 8 | 1)

static char dir[] = "/tmp/page-server-XXXXXX";

static void send_command(int fd, bool is_short, uint32_t what, uint64_t n, uint64_t at,
                         uint64_t target)
{
    const struct {
        uint32_t what;
        uint64_t n, at, target;
    } now = { what, n, at, target };
    const struct {
        uint32_t what, n;
        uint64_t at, target;
    } then = { what, (uint32_t)n, at, target };
    size_t len = is_short ? sizeof then : sizeof now;
    T_EQ(write(fd, is_short ? (const void *)&then : (const void *)&now, len), len);
}

static void send_page(int fd, size_t size, char with)
{
    char *page = malloc(size);
    T_MUST(page != NULL);
    memset(page, with, size);
    T_EQ(write(fd, page, size), size);
    free(page);
}

static int start(pid_t *pid_out, int *report_out)
{
    int fds[2], report[2];
    struct pli_page_server_plan plan = { 0 };
    T_MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0 && pipe(report) == 0);
    plan.fd = fds[0];
    plan.other = fds[1];
    snprintf(plan.dir, sizeof plan.dir, "%s", dir);
    *pid_out = fork();
    T_MUST(*pid_out >= 0);
    if (*pid_out == 0) {
        _exit(pli_page_server_run(&plan, report[1]) ? 0 : 1);
    }
    close(fds[0]);
    close(report[1]);
    *report_out = report[0];
    return fds[1];
}

static int status_of(pid_t pid)
{
    int status = -1;
    T_EQ(waitpid(pid, &status, 0), pid);
    return status;
}

static void remove_images(void)
{
    static const char *const names[] = { "pagehash-77", "pagemap-77.img", "pages-1.img" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        T_EQ(unlink(path), 0);
    }
}

// Two runs of pages, of one and of two.
static void look_at_images(size_t size)
{
    const uint64_t want[2][2] = { { 0x10000, 1 }, { 0x40000, 2 } };
    struct pli_criu_image map;
    struct pli_criu_bytes record;
    struct pli_criu_field at, n;
    T_MUST(pli_criu_image_open(dir, "pagemap-77.img", &map));
    T_OK(pli_criu_image_record(&map.records, &record)); // which file has the pages
    for (int i = 0; i < 2; i++) {
        T_MUST(pli_criu_image_record(&map.records, &record));
        T_OK(pli_criu_image_find(record, 1, &at) && at.value == want[i][0]);
        T_OK(pli_criu_image_find(record, 2, &n) && n.value == want[i][1]);
    }
    T_OK(!pli_criu_image_record(&map.records, &record));
    pli_criu_image_close(&map);
    char path[64], *data = malloc(4 * size);
    snprintf(path, sizeof path, "%s/pages-1.img", dir);
    int fd = open(path, O_RDONLY);
    T_MUST(data != NULL && fd >= 0);
    T_EQ(read(fd, data, 4 * size), 3 * size);
    T_OK(data[0] == 'a' && data[size] == 'b' && data[3 * size - 1] == 'c');
    close(fd);
    free(data);
}

static void run(bool is_short)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    int report, fd;
    int32_t answer = -1;
    char has_parent = 1;
    pid_t pid;
    fd = start(&pid, &report);
    send_command(fd, is_short, PARENT, 0, 0, TARGET);
    T_EQ(read(fd, &answer, sizeof answer), sizeof answer);
    T_EQ(answer, 0);
    send_command(fd, is_short, OPEN_ANSWER, 0, 0, TARGET);
    T_EQ(read(fd, &has_parent, 1), 1);
    T_EQ(has_parent, 0);
    send_command(fd, is_short, ADD_FLAGS | IS_PRESENT << 16, 1, 0x10000, TARGET);
    send_page(fd, size, 'a');
    send_command(fd, is_short, ADD_FLAGS | IS_PRESENT << 16, 2, 0x40000, TARGET);
    send_page(fd, size, 'b');
    send_page(fd, size, 'c');
    send_command(fd, is_short, CLOSE, 0, 0, 0);
    answer = -1;
    T_EQ(read(fd, &answer, sizeof answer), sizeof answer);
    T_EQ(answer, 0);
    T_EQ(status_of(pid), 0);
    close(fd);
    close(report);
    look_at_images(size);
    remove_images();
}

// What is no command of either form is refused; so is a CRIU that dies before it says anything.
static void refuse(const void *data, size_t len, const char *why)
{
    int report, fd;
    pid_t pid;
    char said[512] = "";
    fd = start(&pid, &report);
    T_EQ(write(fd, data, len), len);
    close(fd);
    T_OK(read(report, said, sizeof said - 1) > 0);
    T_HAS(said, why);
    T_OK(status_of(pid) != 0);
    close(report);
}

int main(void)
{
    T_MUST(mkdtemp(dir) != NULL);
    alarm(60);
    run(true);
    run(false);
    refuse("1234567890", 10, "a first command of 10 bytes, which CRIU sent,");
    refuse("", 0, dir);
    T_EQ(rmdir(dir), 0);
    return t_status();
}
