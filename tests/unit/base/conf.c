// SPDX-License-Identifier: BSD-3-Clause
// Settings: values, units, ranges, mistakes; each in a child because loading happens once.
#include "base/conf.h"
#include "t.h"

#include <sys/wait.h>
#include <unistd.h>

// Load with NAME=VALUE set and return what `check` returns; stderr goes to `said`.
static int load_with(const char *name, const char *value, int (*check)(void), char *said,
                     size_t cap)
{
    int fd[2];
    T_MUST(pipe(fd) == 0);
    pid_t pid = fork();
    T_MUST(pid >= 0);
    if (pid == 0) {
        dup2(fd[1], 2);
        setenv(name, value, 1);
        pli_conf_load();
        _exit(check());
    }
    close(fd[1]);
    size_t len = 0;
    ssize_t n;
    while (len + 1 < cap && (n = read(fd[0], said + len, cap - 1 - len)) > 0) {
        len += (size_t)n;
    }
    said[len] = '\0';
    close(fd[0]);
    int status;
    T_MUST(waitpid(pid, &status, 0) == pid);
    T_OK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int eager_is_64k(void)
{
    return pli_conf.eager_max == 64 << 10;
}

static int64_t eager_default;

static int eager_is_default(void)
{
    return pli_conf.eager_max == eager_default;
}

static int node_is_off(void)
{
    return !pli_conf.node;
}

static int copy_is_cma(void)
{
    return strcmp(pli_conf.onecopy, "cma") == 0;
}

static void values(void)
{
    char said[512];
    T_OK(load_with("PLIANT_EAGER_MAX", "65536", eager_is_64k, said, sizeof said));
    T_STR(said, "");
    T_OK(load_with("PLIANT_EAGER_MAX", "64K", eager_is_64k, said, sizeof said));
    T_OK(load_with("PLIANT_EAGER_MAX", "64k", eager_is_64k, said, sizeof said));
    T_OK(load_with("PLIANT_NODE", "off", node_is_off, said, sizeof said));
    T_OK(load_with("PLIANT_ONECOPY", "cma", copy_is_cma, said, sizeof said));
    T_STR(said, "");
}

static void mistakes(void)
{
    char said[512];
    static const char *const bad[] = {
        "", "many", "64X", "-1", "2M", "99999999999999999999", "1 K"
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        T_OK(load_with("PLIANT_EAGER_MAX", bad[i], eager_is_default, said, sizeof said));
        T_HAS(said, "PLIANT_EAGER_MAX");
        T_HAS(said, "1048576");
    }
    T_OK(load_with("PLIANT_EGER_MAX", "1", eager_is_default, said, sizeof said));
    T_HAS(said, "did you mean PLIANT_EAGER_MAX?");
    T_OK(load_with("PLIANT_EAGER", "1", eager_is_default, said, sizeof said));
    T_HAS(said, "did you mean PLIANT_EAGER_MAX?");
    T_OK(load_with("PLIANT_TIMEOUT", "1", eager_is_default, said, sizeof said));
    T_HAS(said, "did you mean PLIANT_TCP_TIMEOUT?");
    T_OK(load_with("PLIANT_ZZZ", "1", eager_is_default, said, sizeof said));
    T_OK(strstr(said, "did you mean") == NULL);
    T_OK(load_with("PLIANT_ZEBRA_CROSSING", "1", eager_is_default, said, sizeof said));
    T_HAS(said, "PLIANT_ZEBRA_CROSSING");
    T_OK(strstr(said, "did you mean") == NULL);
    T_OK(load_with("PLIANT_ONECOPY", "magic", eager_is_default, said, sizeof said));
    T_HAS(said, "auto|cma|off");
}

static void list(void)
{
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    T_MUST(to != NULL);
    pli_conf_print(to);
    fclose(to);
    T_HAS(text, "PLIANT_EAGER_MAX");
    T_OK(strstr(text, "PLIANT_BOOT ") == NULL); // not for people
    free(text);
}

int main(void)
{
    eager_default = pli_conf.eager_max;
    T_OK(eager_default >= 4096);
    values();
    mistakes();
    list();
    return t_status();
}
