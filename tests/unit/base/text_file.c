// SPDX-License-Identifier: BSD-3-Clause
// Files that a person writes: what is read, and what is refused with which words.
#include "base/text_file.h"

#include "t.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/pliant-text-XXXXXX", path[64];

static void make(const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    T_OK(fd >= 0 && write(fd, data, len) == (ssize_t)len && close(fd) == 0);
}

static void refused(const char *name, const char *want)
{
    char why[128] = "";
    T_OK(pli_text_file_read(name, why, sizeof why) == NULL);
    T_STR(why, want);
}

static void reads(void)
{
    char why[128], *text, *rest, word[8];
    make("a b\n\nlast", 9);
    text = rest = pli_text_file_read(path, why, sizeof why);
    T_OK(text != NULL && strcmp(text, "a b\n\nlast") == 0);
    T_STR(pli_text_file_line(&rest), "a b");
    T_STR(pli_text_file_line(&rest), "");
    T_STR(pli_text_file_line(&rest), "last");
    T_OK(pli_text_file_line(&rest) == NULL);
    free(text);
    make("\n word behind\n", 14);
    T_OK(pli_text_file_word(path, word, sizeof word, why, sizeof why));
    T_OK(strcmp(word, "word") == 0);
    make("far too long", 12);
    T_OK(pli_text_file_word(path, word, sizeof word, why, sizeof why)); // "far"
    make("too-long-a-word", 15);
    T_OK(!pli_text_file_word(path, word, sizeof word, why, sizeof why));
    make(" \n", 2);
    T_OK(!pli_text_file_word(path, word, sizeof word, why, sizeof why));
    T_STR(why, "it is empty");
    text = pli_text_file_read("/dev/null", why, sizeof why);
    T_OK(text != NULL && text[0] == '\0');
    free(text);
    text = pli_text_file_read("/proc/self/status", why, sizeof why); // whose size is said to be 0
    T_OK(text != NULL && strncmp(text, "Name:", 5) == 0);
    free(text);
}

static void refuses(void)
{
    refused("/no/such/file", "No such file or directory");
    refused(folder, "Is a directory");
    refused("/dev/zero", "it is a device, not a file");
    make("text\0text", 9);
    refused(path, "it has NUL bytes: it is no text");
    T_OK(truncate(path, PLI_TEXT_FILE_MAX + 1L) == 0);
    refused(path, "it has more than 16 MiB");
}

// A pipe whose writer never ends.
static void endless(void)
{
    static char block[65536];
    int ends[2];
    char name[32];
    memset(block, 'x', sizeof block);
    T_OK(pipe(ends) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        while (write(ends[1], block, sizeof block) > 0) {
        }
        _exit(0);
    }
    close(ends[1]);
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[0]);
    refused(name, "it has more than 16 MiB");
    close(ends[0]); // which ends the writer
}

int main(void)
{
    T_MUST(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/file", folder);
    reads();
    refuses();
    endless();
    unlink(path);
    rmdir(folder);
    return t_status();
}
