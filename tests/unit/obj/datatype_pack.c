// SPDX-License-Identifier: BSD-3-Clause
// Packing into a user's buffer, plainly and as external32 bytes.
#include "obj/datatype.h"
#include "obj/type_pack.h"
#include "obj/type_calls.h"
#include <stddef.h>
#include "datatype_t.h"
#include "t.h"

static void test_external(void)
{
    struct {
        int i;
        long l;
        double d;
        char c[2];
    } in = { 0x01020304, -2, 1.5, "ab" }, out;
    int lens[] = { 1, 1, 1, 2 };
    MPI_Aint at[] = { offsetof(__typeof__(in), i), offsetof(__typeof__(in), l),
                      offsetof(__typeof__(in), d), offsetof(__typeof__(in), c) };
    MPI_Datatype types[] = { MPI_INT, MPI_LONG, MPI_DOUBLE, MPI_CHAR };
    static const unsigned char want[] = { 1,    2, 3, 4, 0xff, 0xff, 0xff, 0xfe, 0x3f,
                                          0xf8, 0, 0, 0, 0,    0,    0,    'a',  'b' };
    struct pli_datatype *t;
    MPI_Count size, pos = 0;
    char packed[64];
    T_EQ(pli_type_struct(4, SMALL(lens), WIDE(at), types, &t), 0);
    T_EQ(pli_type_external_size("external32", 1, t, &size), 0);
    T_EQ(size, sizeof want);
    T_EQ(pli_type_external("external32", &in, 1, t, packed, sizeof packed, &pos), 0);
    T_EQ(pos, sizeof want);
    T_OK(memcmp(packed, want, sizeof want) == 0);
    memset(&out, 0, sizeof out);
    pos = 0;
    T_EQ(pli_type_external_unpack("external32", packed, sizeof packed, &pos, &out, 1, t), 0);
    T_OK(out.i == in.i && out.l == in.l && out.d == in.d && out.c[1] == 'b');
    in.l = (long)1 << 40;
    pos = 0;
    T_EQ(pli_type_external("external32", &in, 1, t, packed, sizeof packed, &pos),
         PLI_ERR_CONVERSION);
    T_EQ(pos, 0);
    T_EQ(pli_type_external("native", &in, 1, t, packed, sizeof packed, &pos), PLI_ERR_ARG);
    T_EQ(pli_type_external("external32", &in, 4, t, packed, sizeof packed, &pos), PLI_ERR_TRUNC);
    pli_datatype_release(t);

    long double ld = -2.0L, back = 0;
    pos = 0;
    T_EQ(pli_type_external("external32", &ld, 1, basic(MPI_LONG_DOUBLE), packed, 64, &pos), 0);
    T_EQ(pos, 16);
    T_OK((unsigned char)packed[0] == 0xc0 && packed[1] == 0 && packed[2] == 0 && packed[15] == 0);
    pos = 0;
    T_EQ(pli_type_external_unpack("external32", packed, 16, &pos, &back, 1, basic(MPI_LONG_DOUBLE)),
         0);
    T_OK(back == ld);

    struct {
        short v;
        int i;
    } pair = { -1, 258 }, pair_back = { 0, 0 };
    static const unsigned char pair_want[] = { 0xff, 0xff, 0, 0, 1, 2 };
    pos = 0;
    T_EQ(pli_type_external("external32", &pair, 1, basic(MPI_SHORT_INT), packed, 64, &pos), 0);
    T_OK(pos == 6 && memcmp(packed, pair_want, 6) == 0);
    pos = 0;
    T_EQ(pli_type_external_unpack("external32", packed, 6, &pos, &pair_back, 1,
                                  basic(MPI_SHORT_INT)),
         0);
    T_OK(pair_back.v == -1 && pair_back.i == 258);

    float _Complex z = 1.0f, z_back = 0;
    static const unsigned char z_want[] = { 0x3f, 0x80, 0, 0, 0, 0, 0, 0 };
    pos = 0;
    T_EQ(pli_type_external("external32", &z, 1, basic(MPI_C_FLOAT_COMPLEX), packed, 64, &pos), 0);
    T_OK(pos == 8 && memcmp(packed, z_want, 8) == 0);
    pos = 0;
    T_EQ(pli_type_external_unpack("external32", packed, 8, &pos, &z_back, 1,
                                  basic(MPI_C_FLOAT_COMPLEX)),
         0);
    T_OK(z_back == z);
    wchar_t w[] = { 0x20ac };
    pos = 0;
    T_EQ(pli_type_external("external32", w, 1, basic(MPI_WCHAR), packed, 64, &pos), 0);
    T_OK(pos == 2 && (unsigned char)packed[0] == 0x20 && (unsigned char)packed[1] == 0xac);
}

static void test_pack(void)
{
    int in[6] = { 1, 2, 3, 4, 5, 6 }, out[6] = { 0 }, packed[3];
    struct pli_datatype *t;
    MPI_Count pos = 0, size;
    T_EQ(pli_type_vector(3, 1, 2, basic(MPI_INT), &t), 0);
    T_EQ(pli_type_pack_size(7, t, NULL, &size), 0);
    T_EQ(size, 84);
    T_EQ(pli_type_pack(in, 1, t, packed, sizeof packed, &pos, NULL), 0);
    T_EQ(pos, 12);
    T_OK(packed[0] == 1 && packed[1] == 3 && packed[2] == 5);
    T_EQ(pli_type_pack(in, 1, t, packed, sizeof packed, &pos, NULL), PLI_ERR_TRUNC);
    T_HAS(pli_fail_take(NULL), "position 12");
    pos = 0;
    T_EQ(pli_type_pack_unpack(packed, sizeof packed, &pos, out, 1, t, NULL), 0);
    T_OK(out[0] == 1 && out[1] == 0 && out[2] == 3 && out[4] == 5);
    T_EQ(pli_type_pack_unpack(packed, sizeof packed, &pos, out, 1, basic(MPI_INT), NULL),
         PLI_ERR_TRUNC);
    pos = -1;
    T_EQ(pli_type_pack(in, 1, t, packed, sizeof packed, &pos, NULL), PLI_ERR_ARG);
    pli_datatype_release(t);
}

int main(void)
{
    pli_datatype_init();
    test_pack();
    test_external();
    return t_status();
}
