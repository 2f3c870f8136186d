// SPDX-License-Identifier: BSD-3-Clause
// Draws the ranks of a job as a table, in as many columns as the terminal has.
#include "top.h"

#include "base/clock.h"
#include "job_view.h"
#include "mpictl.h"
#include "stack.h"
#include "terminal.h"
#include "launcher/base/tty.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_COLUMNS = 40, MOST_COLUMNS = 512, FIXED = 51, HEAD_LINES = 3, NS_PER_MS = 1000000 };

static const char *const orders[] = {
    "rank", "late", "wait", "messages", "bytes", "cpu", "memory"
};
enum { N_ORDER = sizeof orders / sizeof *orders };

struct top {
    const struct pli_mpictl_args *args;
    struct pli_job_view view;
    int order, columns, lines;
    uint32_t chosen, first; // lines of the table: chosen, and shown first
    uint32_t n_shown;       // lines that pass the filter
    char filter[64];
    bool is_filtering, is_plain;
};

static int order_of(const char *word)
{
    for (int i = 0; word != NULL && i < N_ORDER; i++) {
        if (strcmp(orders[i], word) == 0) {
            return i;
        }
    }
    if (word != NULL) {
        pli_mpictl_bad("'%s' is no order; there are rank, late, wait, messages, bytes, cpu, memory",
                       word);
    }
    return 0;
}

static double value_of(const struct pli_rank_view *r, int order)
{
    const double values[N_ORDER] = {
        0,          r->n_behind, r->is_waiting ? r->since_s : 0, r->messages_s,
        r->bytes_s, r->cpu,      (double)r->usage.memory
    };
    return values[order];
}

static int sort_order; // qsort passes no argument

static int compare(const void *a, const void *b)
{
    const struct pli_rank_view *x = a, *y = b;
    double l = value_of(x, sort_order), r = value_of(y, sort_order);
    return l != r                     ? (l < r) - (l > r)
           : x->index != y->index     ? (x->index > y->index) - (x->index < y->index)
           : x->is_more != y->is_more ? x->is_more - y->is_more
                                      : (x->ep_rank > y->ep_rank) - (x->ep_rank < y->ep_rank);
}

static void put_numbers(const struct pli_rank_view *r, char *to, size_t cap)
{
    char messages[16], bytes[16], memory[16];
    if (r->is_more) {
        to[0] = '\0';
        return;
    }
    pli_job_view_short(r->messages_s, messages);
    pli_job_view_short(r->bytes_s, bytes);
    pli_job_view_short((double)r->usage.memory, memory);
    snprintf(to, cap, " %6s %6s %4.0f %6s", messages, bytes, 100 * r->cpu, memory);
}

// One line of the table, `columns` wide at most.
static void format(const struct pli_rank_view *r, int columns, char *to)
{
    char who[24], since[16] = "", numbers[64];
    int wide = columns - FIXED;
    if (r->ep_rank >= 0) {
        snprintf(who, sizeof who, "%u:%d", r->index, r->ep_rank);
    } else {
        snprintf(who, sizeof who, "%u", r->index);
    }
    if (r->is_waiting) {
        snprintf(since, sizeof since, r->since_s < 9999 ? "%.1fs" : "%.0fs", r->since_s);
    }
    put_numbers(r, numbers, sizeof numbers);
    snprintf(to, (size_t)columns + 1, "%6.6s %-10.10s %-*.*s %6s%s", who, r->host, wide, wide,
             r->doing, since, numbers);
    for (char *c = to; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' ? '?' : *c; // names are the program's
    }
}

static void put_title(int columns, char *to)
{
    int wide = columns - FIXED;
    snprintf(to, (size_t)columns + 1, "%6s %-10s %-*s %6s %6s %6s %4s %6s", "RANK", "HOST", wide,
             "DOING", "FOR", "MSG/s", "B/s", "CPU%", "MEMORY");
}

static void put_summary(const struct top *t, char *to)
{
    const struct pli_job_view *v = &t->view;
    uint32_t n = 0, n_wait = 0, n_late = 0;
    double messages = 0, bytes = 0;
    char m[16], b[16];
    for (uint32_t i = 0; i < v->n_rank; i++) {
        const struct pli_rank_view *r = &v->ranks[i];
        n += r->is_running && !r->is_more;
        n_wait += r->is_waiting;
        n_late += r->n_behind > 0;
        messages += r->messages_s;
        bytes += r->bytes_s;
    }
    pli_job_view_short(messages, m);
    pli_job_view_short(bytes, b);
    snprintf(to, (size_t)t->columns + 1,
             "job %ld  %.0f s  %u running, %u wait, %u late  %s msg/s  %s B/s", v->pid,
             pli_mpictl_seconds(&v->node), n, n_wait, n_late, m, b);
}

static bool is_shown(const struct top *t, const struct pli_rank_view *r, char *line)
{
    format(r, t->columns, line);
    char whole[MOST_COLUMNS + 1];
    format(r, MOST_COLUMNS, whole); // the text may be in a part that there is no room for
    return t->filter[0] == '\0' || strstr(whole, t->filter) != NULL;
}

static void draw_ranks(struct top *t, FILE *to, const char *end)
{
    char line[MOST_COLUMNS + 1];
    uint32_t room = t->lines > HEAD_LINES ? (uint32_t)(t->lines - HEAD_LINES) : 1, n = 0;
    bool is_live = t->lines != 0;
    sort_order = t->order;
    qsort(t->view.ranks, t->view.n_rank, sizeof *t->view.ranks, compare);
    t->first = t->chosen < t->first           ? t->chosen
               : t->chosen >= t->first + room ? t->chosen - room + 1
                                              : t->first;
    for (uint32_t i = 0; i < t->view.n_rank; i++) {
        const struct pli_rank_view *r = &t->view.ranks[i];
        if (!is_shown(t, r, line)) {
            continue;
        }
        bool is_here = !is_live || (n >= t->first && n < t->first + room);
        bool is_chosen = is_live && n == t->chosen;
        const char *colour = is_chosen                 ? "\033[7m"
                             : t->is_plain || !is_live ? ""
                             : r->n_behind > 0         ? "\033[1;31m"
                             : r->is_waiting           ? "\033[33m"
                                                       : "";
        if (is_here) {
            fprintf(to, "%s%s%s%s", colour, line, colour[0] != '\0' ? "\033[0m" : "", end);
        }
        n++;
    }
    t->n_shown = n;
}

static void draw(struct top *t, FILE *to, const char *end)
{
    char line[MOST_COLUMNS + 1];
    put_summary(t, line);
    fprintf(to, "%s%s", line, end);
    put_title(t->columns, line);
    bool is_bold = t->lines != 0 && !t->is_plain;
    fprintf(to, "%s%s%s%s", is_bold ? "\033[1m" : "", line, is_bold ? "\033[0m" : "", end);
    draw_ranks(t, to, end);
}

void pli_top_print(const struct pli_mpictl_args *args, struct pli_job_view *v, FILE *to)
{
    struct top t = {
        .args = args, .view = *v, .order = order_of(args->sort), .columns = 100, .is_plain = true
    };
    snprintf(t.filter, sizeof t.filter, "%s", args->filter != NULL ? args->filter : "");
    draw(&t, to, "\n");
    // The rates of the next look are found by the order of rows.
    sort_order = 0;
    qsort(v->ranks, v->n_rank, sizeof *v->ranks, compare);
}

// Write all at once, so that the picture does not flicker.
static void flush(char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = write(STDOUT_FILENO, text + at, len - at);
        if (n <= 0) {
            break;
        }
        at += (size_t)n;
    }
    free(text);
}

static void show(struct top *t)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (f == NULL) {
        return;
    }
    pli_terminal_size(&t->columns, &t->lines);
    t->columns = t->columns < LEAST_COLUMNS  ? LEAST_COLUMNS
                 : t->columns > MOST_COLUMNS ? MOST_COLUMNS
                                             : t->columns;
    t->columns = t->columns < FIXED + 4 ? FIXED + 4 : t->columns;
    fputs("\033[H", f);
    draw(t, f, "\033[K\r\n");
    char foot[MOST_COLUMNS + 1];
    if (t->is_filtering) {
        snprintf(foot, sizeof foot, "only lines with: %s_", t->filter);
    } else {
        snprintf(foot, sizeof foot, "q end  Up/Down choose  Enter stack  s order: %s  / filter%s%s",
                 orders[t->order], t->filter[0] != '\0' ? ": " : "", t->filter);
    }
    fprintf(f, "%.*s\033[K\033[J", t->columns - 1, foot);
    if (fclose(f) == 0) {
        flush(text, len);
    }
}

// The stack of the chosen rank, until a key is pressed.
static void show_stack(struct top *t)
{
    char line[MOST_COLUMNS + 1], *text = NULL, *screen = NULL;
    size_t len = 0, screen_len = 0;
    uint32_t n = 0, rank = UINT32_MAX;
    for (uint32_t i = 0; i < t->view.n_rank; i++) {
        if (is_shown(t, &t->view.ranks[i], line) && n++ == t->chosen) {
            rank = t->view.ranks[i].index;
        }
    }
    FILE *f = rank != UINT32_MAX ? open_memstream(&text, &len) : NULL;
    if (f == NULL) {
        return;
    }
    pli_stack_print(&t->view, rank, f);
    FILE *to = fclose(f) == 0 ? open_memstream(&screen, &screen_len) : NULL;
    if (to != NULL) {
        int n_line = 0;
        fputs("\033[H", to);
        for (char *at = text; *at != '\0' && n_line < t->lines - 1; n_line++) {
            int wide = (int)strcspn(at, "\n");
            fprintf(to, "%.*s\033[K\r\n", wide < t->columns ? wide : t->columns - 1, at);
            at += wide + (at[wide] == '\n');
        }
        fputs("any key: back\033[K\033[J", to);
        if (fclose(to) == 0) {
            flush(screen, screen_len);
        }
    }
    free(text);
    while (pli_terminal_key(1000) == PLI_KEY_NONE) {
    }
}

static void take_filter_key(struct top *t, int key)
{
    size_t n = strlen(t->filter);
    if (key == '\n' || key == '\r') {
        t->is_filtering = false;
    } else if ((key == 127 || key == 8) && n > 0) {
        t->filter[n - 1] = '\0';
    } else if (key >= ' ' && key < 127 && n + 1 < sizeof t->filter) {
        t->filter[n] = (char)key;
        t->filter[n + 1] = '\0';
    }
    t->chosen = t->first = 0;
}

// False: the view ends.
static bool take_key(struct top *t, int key)
{
    if (t->is_filtering && key < PLI_KEY_UP) {
        take_filter_key(t, key);
        return true;
    }
    switch (key) {
    case PLI_KEY_UP:
    case 'k':
        t->chosen -= t->chosen > 0;
        break;
    case PLI_KEY_DOWN:
    case 'j':
        t->chosen += t->chosen + 1 < t->n_shown;
        break;
    case 's':
        t->order = (t->order + 1) % N_ORDER;
        break;
    case '/':
        t->is_filtering = true;
        t->filter[0] = '\0';
        break;
    case '\n':
    case '\r':
        show_stack(t);
        break;
    default:
        return key != 'q' && key != PLI_KEY_END;
    }
    return true;
}

static int run_live(void *arg)
{
    struct top *t = arg;
    bool is_going = pli_job_view_look(&t->view);
    while (is_going) {
        uint64_t until = pli_clock_ns() + (uint64_t)t->args->interval_s * 1000 * NS_PER_MS;
        for (uint64_t now = pli_clock_ns(); is_going && now < until; now = pli_clock_ns()) {
            show(t);
            int key = pli_terminal_key((int)((until - now) / NS_PER_MS) + 1);
            is_going = key == PLI_KEY_NONE || take_key(t, key);
        }
        sort_order = 0; // as the rows are, for the rates
        qsort(t->view.ranks, t->view.n_rank, sizeof *t->view.ranks, compare);
        if (is_going && !pli_job_view_look(&t->view)) {
            return 3; // the job has ended
        }
    }
    return 0;
}

int pli_top_run(const struct pli_mpictl_args *args, long pid)
{
    struct top t = { .args = args, .order = order_of(args->sort), .columns = 80 };
    int status = 0;
    t.is_plain = args->is_plain || !pli_tty_may_color();
    snprintf(t.filter, sizeof t.filter, "%s", args->filter != NULL ? args->filter : "");
    pli_job_view_open(&t.view, pid);
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && pli_tty_knows_escapes()) {
        status = pli_terminal_run(run_live, &t);
        if (status == 3) {
            printf("job %ld has ended\n", pid);
            status = 0;
        }
    } else if (pli_job_view_look(&t.view)) {
        usleep((useconds_t)(args->interval_s * 1000000)); // rates need two looks
        if (pli_job_view_look(&t.view)) {
            pli_top_print(args, &t.view, stdout);
        }
    }
    pli_job_view_close(&t.view);
    return status;
}
