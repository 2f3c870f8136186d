// SPDX-License-Identifier: BSD-3-Clause
// Images are read as they were written; whatever else is there, nothing is read beyond its end.
#include "launcher/ckpt/criu_image.h"

#include "t.h"

#include <fcntl.h>
#include <unistd.h>

static char dir[] = "/tmp/criu-image-XXXXXX", path[64];

static void put_number(FILE *to, uint32_t field, uint64_t value)
{
    fputc((int)(field << 3), to);
    for (; value >= 0x80; value >>= 7) {
        fputc((int)(value & 0x7f) | 0x80, to);
    }
    fputc((int)value, to);
}

static void put_record(FILE *to, const char *data, size_t len)
{
    uint32_t n = (uint32_t)len;
    fwrite(&n, sizeof n, 1, to);
    fwrite(data, 1, len, to);
}

// A list of files with one regular file: number 7, 4711 bytes.
static char *make(size_t *len_out)
{
    char *reg = NULL, *entry = NULL, *all = NULL;
    size_t reg_len, entry_len;
    FILE *f = open_memstream(&reg, &reg_len);
    put_number(f, 1, 7);
    put_number(f, 2, O_RDWR);
    put_number(f, 3, 1u << 30);
    pli_criu_image_put(f, 5, "\010\001", 2);
    pli_criu_image_put(f, 6, "/a/file", 7);
    put_number(f, 8, 4711);
    fclose(f);
    f = open_memstream(&entry, &entry_len);
    put_number(f, 1, 1);
    put_number(f, 2, 7);
    pli_criu_image_put(f, 3, reg, reg_len);
    fclose(f);
    f = open_memstream(&all, len_out);
    fwrite("MAGIC010", 1, 8, f);
    put_record(f, "\010\002", 2); // of another kind
    put_record(f, entry, entry_len);
    fclose(f);
    free(reg);
    free(entry);
    return all;
}

static void write_image(const char *data, size_t len)
{
    unlink(path);
    FILE *f = fopen(path, "w");
    T_MUST(f != NULL);
    T_EQ(fwrite(data, 1, len, f), len);
    T_EQ(fclose(f), 0);
}

// How many regular files there are; the last.
static int read_files(struct pli_criu_file *out)
{
    struct pli_criu_image image;
    struct pli_criu_bytes record;
    struct pli_criu_remap r;
    int n = 0;
    if (!pli_criu_image_open(dir, "files.img", &image)) {
        return -1;
    }
    struct pli_criu_bytes left = image.records;
    while (pli_criu_image_record(&left, &record)) {
        T_OK(record.at >= image.data && record.end <= image.data + image.len);
        pli_criu_image_remap(record, &r);
        n += pli_criu_image_file(record, out);
        T_OK(memchr(out->name, '\0', sizeof out->name) != NULL);
    }
    pli_criu_image_is_remapped(image.records, 7);
    pli_criu_image_close(&image);
    return n;
}

static void mutated(const char *data, size_t len)
{
    enum { TURNS = 5000 };
    static struct pli_criu_file f;
    char *copy = malloc(len);
    uint64_t dice = 1;
    T_MUST(copy != NULL);
    for (int i = 0; i < TURNS; i++) {
        memcpy(copy, data, len);
        size_t n = len;
        for (int k = 0; k < 1 + i % 3; k++) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            copy[(dice >> 33) % len] = (char)(dice >> 20);
            n = (dice & 7) == 0 ? (dice >> 40) % len : n;
        }
        write_image(copy, n);
        T_OK(read_files(&f) >= -1);
    }
    free(copy);
}

int main(void)
{
    static struct pli_criu_file f;
    size_t len;
    T_MUST(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/files.img", dir);
    char *data = make(&len);
    write_image(data, len);
    T_EQ(read_files(&f), 1);
    T_OK(f.id == 7 && f.flags == O_RDWR && f.has_size && f.size == 4711);
    T_STR(f.name, "/a/file");
    for (size_t cut = 0; cut < len; cut++) {
        write_image(data, cut);
        T_OK(read_files(&f) <= 0);
    }
    mutated(data, len);
    unlink(path);
    T_EQ(read_files(&f), -1);
    free(data);
    rmdir(dir);
    return t_status();
}
