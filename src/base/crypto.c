// SPDX-License-Identifier: BSD-3-Clause
// Looks the functions of libcrypto up at run time; what is declared here is its stable interface of
// version 3.
#include "base/crypto.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum {
    CTRL_GET_TAG = 0x10,
    CTRL_SET_TAG = 0x11,
    INIT_NO_CONFIG = 0x80,    // no file of OpenSSL's changes what is used here
    INIT_NO_ATEXIT = 0x80000, // nothing happens at the end of the process
    PIECE = 1 << 30           // lengths are ints
};

static struct { // of libcrypto; the library stays loaded
    int (*init)(uint64_t options, const void *settings);
    void *(*ctx_new)(void);
    void (*ctx_free)(void *ctx);
    int (*ctx_ctrl)(void *ctx, int type, int arg, void *p);
    const void *(*aes_256_gcm)(void);
    int (*begin)(void *ctx, const void *cipher, void *engine, const unsigned char *key,
                 const unsigned char *iv, int is_encrypt);
    int (*update)(void *ctx, unsigned char *out, int *out_len, const unsigned char *in, int len);
    int (*final)(void *ctx, unsigned char *out, int *out_len);
} c;

static bool is_there;

static void load(void)
{
    const struct {
        const char *name;
        void *to;
    } need[] = {
        { "OPENSSL_init_crypto", &c.init },     { "EVP_CIPHER_CTX_new", &c.ctx_new },
        { "EVP_CIPHER_CTX_free", &c.ctx_free }, { "EVP_CIPHER_CTX_ctrl", &c.ctx_ctrl },
        { "EVP_aes_256_gcm", &c.aes_256_gcm },  { "EVP_CipherInit_ex", &c.begin },
        { "EVP_CipherUpdate", &c.update },      { "EVP_CipherFinal_ex", &c.final },
    };
    void *lib = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    bool is_good = lib != NULL;
    for (size_t i = 0; is_good && i < sizeof need / sizeof *need; i++) {
        void *p = dlsym(lib, need[i].name);
        is_good = p != NULL;
        memcpy(need[i].to, &p, sizeof p);
    }
    if (lib != NULL && !is_good) {
        dlclose(lib);
    }
    is_there = is_good && c.init(INIT_NO_CONFIG | INIT_NO_ATEXIT, NULL) == 1;
}

bool pli_crypto_is_there(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_there;
}

void *pli_crypto_create(const unsigned char key[PLI_CRYPTO_KEY], bool is_encrypt)
{
    void *ctx = pli_crypto_is_there() ? c.ctx_new() : NULL;
    if (ctx != NULL && c.begin(ctx, c.aes_256_gcm(), NULL, key, NULL, is_encrypt) != 1) {
        c.ctx_free(ctx);
        return NULL;
    }
    return ctx;
}

void pli_crypto_destroy(void *cipher)
{
    if (cipher != NULL) {
        c.ctx_free(cipher); // wipes the key
    }
}

// The head, then the data in place. The direction stays what it was created for.
static bool run(void *ctx, const unsigned char *iv, const void *head, size_t head_len, void *data,
                size_t len)
{
    int n = 0;
    if (head_len > INT_MAX || c.begin(ctx, NULL, NULL, NULL, iv, -1) != 1 ||
        (head_len > 0 && c.update(ctx, NULL, &n, head, (int)head_len) != 1)) {
        return false;
    }
    for (size_t at = 0; at < len;) {
        unsigned char *p = (unsigned char *)data + at;
        int part = len - at < PIECE ? (int)(len - at) : PIECE;
        if (c.update(ctx, p, &n, p, part) != 1 || n != part) {
            return false;
        }
        at += (size_t)part;
    }
    return true;
}

bool pli_crypto_encrypt(void *cipher, const unsigned char iv[PLI_CRYPTO_IV], const void *head,
                        size_t head_len, void *data, size_t len, unsigned char tag[PLI_CRYPTO_TAG])
{
    int n = 0;
    unsigned char none[PLI_CRYPTO_TAG];
    return run(cipher, iv, head, head_len, data, len) && c.final(cipher, none, &n) == 1 &&
           c.ctx_ctrl(cipher, CTRL_GET_TAG, PLI_CRYPTO_TAG, tag) == 1;
}

bool pli_crypto_decrypt(void *cipher, const unsigned char iv[PLI_CRYPTO_IV], const void *head,
                        size_t head_len, void *data, size_t len,
                        const unsigned char tag[PLI_CRYPTO_TAG])
{
    int n = 0;
    unsigned char none[PLI_CRYPTO_TAG], want[PLI_CRYPTO_TAG];
    memcpy(want, tag, sizeof want);
    return run(cipher, iv, head, head_len, data, len) &&
           c.ctx_ctrl(cipher, CTRL_SET_TAG, PLI_CRYPTO_TAG, want) == 1 &&
           c.final(cipher, none, &n) == 1;
}
