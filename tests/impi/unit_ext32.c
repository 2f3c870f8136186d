// SPDX-License-Identifier: BSD-3-Clause
// external32: the bytes of each kind, as a big-endian peer with 32-bit long would write them.
#include "t.h"
#include "wire/impi_ext32.h"
#include <float.h>
#include <limits.h>
#include <math.h>
#include <wchar.h>

static unsigned char buf[256];

static void pack(enum pli_impi_ext32_kind kind, const void *in, size_t n, const char *hex)
{
    unsigned char back[256];
    T_EQ(PLI_IMPI_OK, pli_impi_ext32_pack(kind, in, n, buf));
    T_HEX(hex, buf, n * pli_impi_ext32_size(kind));
    T_EQ(PLI_IMPI_OK, pli_impi_ext32_unpack(kind, buf, n, back));
    if (kind != PLI_IMPI_EXT32_LDOUBLE) { // which has padding on some machines
        T_TRUE(memcmp(back, in, n * pli_impi_ext32_native(kind)) == 0);
    }
}

static void test_long(void)
{
    long v[] = { 0, 1, -1, INT32_MAX, INT32_MIN };
    pack(PLI_IMPI_EXT32_LONG, v, 5, "00000000 00000001 ffffffff 7fffffff 80000000");
    unsigned long u[] = { 0, UINT32_MAX };
    pack(PLI_IMPI_EXT32_ULONG, u, 2, "00000000 ffffffff");
    if (sizeof(long) > 4) {
        long big = (long)((unsigned long)INT32_MAX + 1), small = -big - 1;
        unsigned long ubig = (unsigned long)UINT32_MAX + 1;
        T_EQ(PLI_IMPI_ERR_RANGE, pli_impi_ext32_pack(PLI_IMPI_EXT32_LONG, &big, 1, buf));
        T_EQ(PLI_IMPI_ERR_RANGE, pli_impi_ext32_pack(PLI_IMPI_EXT32_LONG, &small, 1, buf));
        T_EQ(PLI_IMPI_ERR_RANGE, pli_impi_ext32_pack(PLI_IMPI_EXT32_ULONG, &ubig, 1, buf));
    }
    wchar_t w[] = { L'A', 0xffff };
    pack(PLI_IMPI_EXT32_WCHAR, w, 2, "0041 ffff");
    if (WCHAR_MAX > 0xffff) {
        w[0] = (wchar_t)0x10000;
        T_EQ(PLI_IMPI_ERR_RANGE, pli_impi_ext32_pack(PLI_IMPI_EXT32_WCHAR, w, 1, buf));
    }
}

static void test_ldouble(void)
{
    long double v[] = { 1.0L, -2.5L, 0.0L, INFINITY }, back[4];
    pack(PLI_IMPI_EXT32_LDOUBLE, v, 4,
         "3fff0000000000000000000000000000 c0004000000000000000000000000000"
         "00000000000000000000000000000000 7fff0000000000000000000000000000");
    T_EQ(PLI_IMPI_OK, pli_impi_ext32_unpack(PLI_IMPI_EXT32_LDOUBLE, buf, 4, back));
    for (int i = 0; i < 4; i++) {
        T_TRUE(back[i] == v[i]);
    }
}

static void x87(uint16_t se, uint64_t mant, const char *hex)
{
    uint16_t se_back;
    uint64_t mant_back;
    pli_impi_ext32_from_x87(se, mant, buf);
    T_HEX(hex, buf, 16);
    pli_impi_ext32_to_x87(buf, &se_back, &mant_back);
    T_EQ(se, se_back);
    T_EQ(mant, mant_back);
}

static void test_x87(void)
{
    x87(0x3fff, 0x8000000000000000, "3fff0000000000000000000000000000"); // 1
    x87(0xc000, 0xa000000000000000, "c0004000000000000000000000000000"); // -2.5
    x87(0x4000, 0xc90fdaa22168c235, "4000921fb54442d1846a000000000000"); // pi
    x87(0x0000, 0x0000000000000000, "00000000000000000000000000000000");
    x87(0x7fff, 0x8000000000000000, "7fff0000000000000000000000000000"); // infinity
    x87(0x7fff, 0xc000000000000000, "7fff8000000000000000000000000000"); // NaN
    x87(0x0000, 0x0000000000000001, "00000000000000000002000000000000"); // smallest denormal
    uint16_t se;
    uint64_t mant;
    t_bytes("3fffffffffffffffffffffffffffffff", buf, 16); // just below 2 rounds to 2
    pli_impi_ext32_to_x87(buf, &se, &mant);
    T_EQ(0x4000, se);
    T_EQ(0x8000000000000000, mant);
    t_bytes("3fff0000000000000001000000000000", buf, 16); // half way, to even
    pli_impi_ext32_to_x87(buf, &se, &mant);
    T_EQ(0x8000000000000000, mant);
    t_bytes("3fff0000000000000001000000000001", buf, 16); // just above half way
    pli_impi_ext32_to_x87(buf, &se, &mant);
    T_EQ(0x8000000000000001, mant);
}

int main(void)
{
    pack(PLI_IMPI_EXT32_SAME1, "abc", 3, "616263");
    short s[] = { 1, -2 };
    pack(PLI_IMPI_EXT32_SAME2, s, 2, "0001 fffe");
    int i[] = { 0x01020304, -1 };
    pack(PLI_IMPI_EXT32_SAME4, i, 2, "01020304 ffffffff");
    float f[] = { 1.0f, -0.5f };
    pack(PLI_IMPI_EXT32_SAME4, f, 2, "3f800000 bf000000");
    long long ll[] = { 0x0102030405060708, -1 };
    pack(PLI_IMPI_EXT32_SAME8, ll, 2, "0102030405060708 ffffffffffffffff");
    double d[] = { 1.0, -2.0 };
    pack(PLI_IMPI_EXT32_SAME8, d, 2, "3ff0000000000000 c000000000000000");
    test_long();
    test_ldouble();
    test_x87();
    return 0;
}
