// SPDX-License-Identifier: BSD-3-Clause
// Against published values: FIPS 180-4 and RFC 4231.
#include "base/sha256.h"

#include "t.h"

static void is_hex(const unsigned char *got, const char *want)
{
    char text[2 * PLI_SHA256_SIZE + 1];
    for (int i = 0; i < PLI_SHA256_SIZE; i++) {
        snprintf(text + 2 * i, 3, "%02x", got[i]);
    }
    T_STR(text, want);
}

static void digest(const char *data, size_t len, const char *want)
{
    unsigned char out[PLI_SHA256_SIZE];
    pli_sha256_digest(data, len, out);
    is_hex(out, want);
}

static void mac(const char *key, const char *data, const char *want)
{
    unsigned char out[PLI_SHA256_SIZE];
    pli_sha256_mac(key, strlen(key), data, strlen(data), out);
    is_hex(out, want);
}

int main(void)
{
    digest("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    digest("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    digest(two, strlen(two), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = malloc(1000000);
    T_MUST(million != NULL);
    memset(million, 'a', 1000000);
    digest(million, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
    mac("\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b",
        "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    mac("Jefe", "what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    unsigned char a[PLI_SHA256_SIZE] = { 1 }, b[PLI_SHA256_SIZE] = { 1 };
    T_OK(pli_sha256_is_equal(a, b));
    b[PLI_SHA256_SIZE - 1] = 1;
    T_OK(!pli_sha256_is_equal(a, b));
    return t_status();
}
