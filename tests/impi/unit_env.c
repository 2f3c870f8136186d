// SPDX-License-Identifier: BSD-3-Clause
// What a client reads from its environment, and what it says of mistakes there.
#include "engine/impi_env.h"
#include "t.h"

static char said[512];

static void keep(void *arg, enum pli_impi_log_level level, const char *line)
{
    (void)arg;
    (void)level;
    snprintf(said, sizeof said, "%s", line);
}

static const struct pli_impi_log quiet = { keep, NULL };

static enum pli_impi_err read_as(uint32_t host, uint32_t n_host, struct pli_impi_env *out)
{
    said[0] = '\0';
    return pli_impi_env_read(&quiet, host, n_host, out);
}

static void test_needed(void)
{
    struct pli_impi_env e;
    T_EQ(PLI_IMPI_OK, read_as(0, 1, &e));
    T_TRUE(e.server == NULL);
    setenv("IMPI_SERVER", "server:5000", 1);
    T_EQ(PLI_IMPI_ERR_ARG, read_as(0, 1, &e));
    T_TRUE(strstr(said, "IMPI_CLIENT") != NULL);
    setenv("IMPI_CLIENT", "3", 1);
    T_EQ(PLI_IMPI_ERR_AUTH, read_as(0, 1, &e));
    setenv("IMPI_AUTH_KEY", "4711", 1);
    T_EQ(PLI_IMPI_OK, read_as(0, 1, &e));
    T_EQ(3, e.rank);
    T_TRUE(e.has_key && !e.has_none && e.key == 4711);
    T_TRUE(e.name[0] == '\0' && e.bind[0] == '\0' && e.port == 0 && e.told_port == 0);
    setenv("IMPI_ACKMARK", "9", 1);
    setenv("IMPI_HIWATER", "8", 1);
    T_EQ(PLI_IMPI_ERR_ARG, read_as(0, 1, &e));
    unsetenv("IMPI_ACKMARK");
    unsetenv("IMPI_HIWATER");
}

static void test_one_for_all(void)
{
    struct pli_impi_env e;
    setenv("IMPI_HOST_NAME", "gate.example:7000", 1);
    setenv("IMPI_HOST_PORT", "6000", 1);
    for (uint32_t host = 0; host < 3; host++) {
        T_EQ(PLI_IMPI_OK, read_as(host, 3, &e));
        T_TRUE(strcmp(e.name, "gate.example") == 0);
        T_EQ(7000, e.told_port);
        T_EQ(6000, e.port);
    }
}

static void test_one_for_each(void)
{
    struct pli_impi_env e;
    setenv("IMPI_HOST_NAME", "gate:7000,[fd00::1]:7001,", 1);
    setenv("IMPI_HOST_PORT", "6000,,6002", 1);
    setenv("IMPI_HOST_BIND", "10.0.0.1,10.0.0.2,10.0.0.3", 1);
    T_EQ(PLI_IMPI_OK, read_as(0, 3, &e));
    T_TRUE(strcmp(e.name, "gate") == 0 && strcmp(e.bind, "10.0.0.1") == 0);
    T_TRUE(e.told_port == 7000 && e.port == 6000);
    T_EQ(PLI_IMPI_OK, read_as(1, 3, &e));
    T_TRUE(strcmp(e.name, "fd00::1") == 0 && strcmp(e.bind, "10.0.0.2") == 0);
    T_TRUE(e.told_port == 7001 && e.port == 0);
    T_EQ(PLI_IMPI_OK, read_as(2, 3, &e));
    T_TRUE(e.name[0] == '\0' && strcmp(e.bind, "10.0.0.3") == 0);
    T_TRUE(e.told_port == 0 && e.port == 6002);
}

static void refuse(const char *name, const char *value, const char *why)
{
    struct pli_impi_env e;
    const char *before = getenv(name);
    char *kept = before != NULL ? strdup(before) : NULL;
    setenv(name, value, 1);
    T_EQ(PLI_IMPI_ERR_ARG, read_as(0, 2, &e));
    T_TRUE(strstr(said, name) != NULL && strstr(said, why) != NULL);
    if (kept != NULL) {
        setenv(name, kept, 1);
    } else {
        unsetenv(name);
    }
    free(kept);
}

static void test_mistakes(void)
{
    char far[PLI_IMPI_ENV_WORD + 10];
    memset(far, 'x', sizeof far - 1);
    far[sizeof far - 1] = '\0';
    unsetenv("IMPI_HOST_NAME");
    unsetenv("IMPI_HOST_PORT");
    unsetenv("IMPI_HOST_BIND");
    refuse("IMPI_HOST_NAME", "a,b,c", "3 hosts");
    refuse("IMPI_HOST_PORT", "1,2,3", "the client has 2");
    refuse("IMPI_HOST_PORT", "70000", "70000");
    refuse("IMPI_HOST_PORT", "x,1", "'x'");
    refuse("IMPI_HOST_NAME", "gate:0", "gate:0");
    refuse("IMPI_HOST_NAME", ":5", "':5'");
    refuse("IMPI_HOST_NAME", far, "longer");
    refuse("IMPI_CLIENT", "32", "0 to 31");
    refuse("IMPI_DATALEN", "0", "'0'");
    refuse("IMPI_AUTH_KEY", "0x10", "decimal");
}

int main(void)
{
    static const char *const clean[] = { "IMPI_SERVER",    "IMPI_CLIENT",    "IMPI_AUTH_KEY",
                                         "IMPI_AUTH_NONE", "IMPI_HOST_NAME", "IMPI_HOST_PORT",
                                         "IMPI_HOST_BIND", "IMPI_ACKMARK",   "IMPI_HIWATER" };
    for (size_t i = 0; i < sizeof clean / sizeof *clean; i++) {
        unsetenv(clean[i]);
    }
    test_needed();
    test_one_for_all();
    test_one_for_each();
    test_mistakes();
    return 0;
}
