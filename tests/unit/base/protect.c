// SPDX-License-Identifier: BSD-3-Clause
// What was sealed is opened as it was; what was altered, repeated, left out, moved or sealed with
// another key or for the other direction is not.
#include "base/protect.h"
#include "t.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 4, LEN = 200 };

static const unsigned char key[PLI_PROTECT_KEY] = "a key that nobody else has",
                           other[PLI_PROTECT_KEY] = "another key";

struct sealed {
    unsigned char head[HEAD], data[LEN], tag[PLI_PROTECT_TAG];
};

static struct pli_protect out, in;

static void begin(enum pli_protect_suite suite, const unsigned char *theirs)
{
    T_EQ(pli_protect_init(&out, suite, key, true), PLI_OK);
    T_EQ(pli_protect_init(&in, suite, theirs, false), PLI_OK);
}

static void end(void)
{
    pli_protect_fini(&out);
    pli_protect_fini(&in);
}

static struct sealed seal(unsigned char seed)
{
    struct sealed s = { .head = { 1, 2, 3, seed } };
    memset(s.data, seed, LEN);
    T_OK(pli_protect_seal(&out, s.head, HEAD, s.data, LEN, s.tag));
    return s;
}

static bool opens(struct sealed s, size_t len)
{
    return pli_protect_open(&in, s.head, HEAD, s.data, len, s.tag);
}

static void test_whole(enum pli_protect_suite suite)
{
    begin(suite, key);
    for (unsigned char i = 0; i < 100; i++) {
        struct sealed s = seal(i);
        unsigned char plain[LEN];
        memset(plain, i, LEN);
        T_EQ(memcmp(s.data, plain, LEN) != 0, suite == PLI_PROTECT_GCM);
        T_OK(pli_protect_open(&in, s.head, HEAD, s.data, LEN, s.tag));
        T_EQ(memcmp(s.data, plain, LEN), 0);
    }
    unsigned char tag[PLI_PROTECT_TAG];
    T_OK(pli_protect_seal(&out, NULL, 0, NULL, 0, tag)); // nothing is a record too
    T_OK(pli_protect_open(&in, NULL, 0, NULL, 0, tag));
    end();
}

static void test_altered(enum pli_protect_suite suite)
{
    for (size_t i = 0; i < sizeof(struct sealed); i++) {
        begin(suite, key);
        struct sealed s = seal(7);
        ((unsigned char *)&s)[i] ^= 1;
        T_OK(!opens(s, LEN));
        end();
    }
    begin(suite, key);
    T_OK(!opens(seal(7), LEN - 1)); // cut short
    end();
    begin(suite, other);
    T_OK(!opens(seal(7), LEN));
    end();
}

static void test_order(enum pli_protect_suite suite)
{
    begin(suite, key);
    struct sealed a = seal(1), b = seal(1), c = seal(1);
    T_OK(opens(a, LEN));
    T_OK(!opens(a, LEN)); // repeated
    end();
    begin(suite, key);
    a = seal(1), b = seal(1), c = seal(1);
    T_OK(opens(a, LEN));
    T_OK(!opens(c, LEN)); // the one between was left out
    end();
    begin(suite, key);
    a = seal(1), b = seal(1), c = seal(1);
    T_OK(!opens(b, LEN)); // too early
    end();
    (void)c;
}

int main(void)
{
    T_EQ(pli_protect_choose(3, 3), PLI_PROTECT_GCM);
    T_EQ(pli_protect_choose(3, 1), PLI_PROTECT_HMAC);
    T_EQ(pli_protect_choose(2, 1), PLI_PROTECT_NONE);
    T_OK((pli_protect_suites() & PLI_PROTECT_HMAC) != 0);
    for (int suite = PLI_PROTECT_HMAC; suite <= PLI_PROTECT_GCM; suite++) {
        if ((pli_protect_suites() & (unsigned)suite) == 0) {
            printf("without OpenSSL: not tested with AES-256-GCM\n");
            continue;
        }
        test_whole((enum pli_protect_suite)suite);
        test_altered((enum pli_protect_suite)suite);
        test_order((enum pli_protect_suite)suite);
    }
    return t_status();
}
