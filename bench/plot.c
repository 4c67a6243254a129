/*
 * plot.c - time against each axis of the ladder, log-log, as SVG: one panel for each axis
 * and one for threads, double and float in each.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

enum {
    COLUMNS = 3,
    PANELS = 6, /* the last one holds the legend */
    PANEL_WIDTH = 330,
    PANEL_HEIGHT = 280,
    TOP = 44,
    LEFT = 62, /* of the frame in its panel */
    RIGHT = 18,
    ABOVE = 30,
    BELOW = 46
};

static const char *const colour[2] = {"#1f5fa8", "#c8541a"};

/* a curve, and where a panel puts it */
struct curve {
    int precision, n;
    double x[POINTS], y[POINTS];
};

struct panel {
    const char *label;
    struct curve curve[2];
    int ncurves;
    double left, top, width, height; /* of the frame */
    double low[2], high[2]; /* range of x and y, logarithms */
};

static double place_x(const struct panel *p, double x)
{
    return p->left + p->width * (log10(x) - p->low[0]) / (p->high[0] - p->low[0]);
}

static double place_y(const struct panel *p, double y)
{
    return p->top + p->height * (p->high[1] - log10(y)) / (p->high[1] - p->low[1]);
}

/* the range of a panel, a little wider than its data */
static void set_range(struct panel *p)
{
    const double margin = 0.06;

    for (int axis = 0; axis < 2; axis++) {
        double low = INFINITY, high = -INFINITY, room;

        for (int c = 0; c < p->ncurves; c++)
            for (int i = 0; i < p->curve[c].n; i++) {
                const double v = log10(axis == 0 ? p->curve[c].x[i] : p->curve[c].y[i]);

                low = fmin(low, v);
                high = fmax(high, v);
            }
        /* at least a decade, so that what is flat looks flat */
        room = fmax(0, 1 - (high - low)) / 2 + margin * fmax(1, high - low);
        if (axis == 0 && high - low > 0) room = margin * (high - low);
        p->low[axis] = low - room;
        p->high[axis] = high + room;
    }
}

/* 10^k as text: plain where that is short */
static void label_text(FILE *file, double value, int decade, int digit)
{
    if (decade >= 4 || decade <= -4)
        (void)fprintf(file,
                      digit == 1 ? "10<tspan dy=\"-5\" font-size=\"9\">%d</tspan>"
                                 : "%d&#183;10<tspan dy=\"-5\" font-size=\"9\">%d</tspan>",
                      digit == 1 ? decade : digit, decade);
    else
        (void)fprintf(file, "%g", value);
}

static void draw_tick(FILE *file, const struct panel *p, int axis, double value)
{
    const double bottom = p->top + p->height, right = p->left + p->width;

    if (axis == 0)
        (void)fprintf(file, "<path d=\"M%.1f %.1fV%.1f\" class=\"grid\"/>\n",
                      place_x(p, value), p->top, bottom);
    else
        (void)fprintf(file, "<path d=\"M%.1f %.1fH%.1f\" class=\"grid\"/>\n", p->left,
                      place_y(p, value), right);
}

static void draw_label(FILE *file, const struct panel *p, int axis, double value,
                       int decade, int digit)
{
    if (axis == 0)
        (void)fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                      place_x(p, value), p->top + p->height + 16);
    else
        (void)fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", p->left - 6,
                      place_y(p, value) + 4);
    label_text(file, value, decade, digit);
    (void)fputs("</text>\n", file);
}

/* decades; also 2 and 5 where there are few of them */
static void draw_ticks(FILE *file, const struct panel *p, int axis)
{
    static const int digits[] = {1, 2, 5};
    const int step = p->high[axis] - p->low[axis] > 2.2 ? 3 : 1;

    for (int decade = (int)floor(p->low[axis]); decade <= (int)p->high[axis]; decade++)
        for (int i = 0; i < 3; i += step) {
            const double value = digits[i] * pow(10, decade);

            if (log10(value) < p->low[axis] || log10(value) > p->high[axis]) continue;
            draw_tick(file, p, axis, value);
            draw_label(file, p, axis, value, decade, digits[i]);
        }
}

static void draw_curve(FILE *file, const struct panel *p, const struct curve *c)
{
    (void)fprintf(file,
                  "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
                  colour[c->precision]);
    for (int i = 0; i < c->n; i++)
        (void)fprintf(file, "%s%.1f,%.1f", i ? " " : "", place_x(p, c->x[i]),
                      place_y(p, c->y[i]));
    (void)fputs("\"/>\n", file);
    for (int i = 0; i < c->n; i++)
        (void)fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n",
                      place_x(p, c->x[i]), place_y(p, c->y[i]), colour[c->precision]);
}

static void draw_panel(FILE *file, struct panel *p, int index)
{
    const int row = index / COLUMNS, column = index % COLUMNS;

    p->left = PANEL_WIDTH * column + LEFT;
    p->top = TOP + PANEL_HEIGHT * row + ABOVE;
    p->width = PANEL_WIDTH - LEFT - RIGHT;
    p->height = PANEL_HEIGHT - ABOVE - BELOW;
    set_range(p);
    draw_ticks(file, p, 0);
    draw_ticks(file, p, 1);
    (void)fprintf(file,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                  "class=\"frame\"/>\n",
                  p->left, p->top, p->width, p->height);
    (void)fprintf(file,
                  "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" "
                  "class=\"name\">%s</text>\n",
                  p->left + p->width / 2, p->top + p->height + 36, p->label);
    (void)fprintf(file,
                  "<text transform=\"translate(%.1f %.1f) rotate(-90)\" "
                  "text-anchor=\"middle\" class=\"name\">seconds</text>\n",
                  p->left - 44, p->top + p->height / 2);
    for (int i = 0; i < p->ncurves; i++) draw_curve(file, p, &p->curve[i]);
}

/* ---- what is drawn ---- */

static void add_to_panel(struct panel *panels, int *n, const struct series *series)
{
    struct panel *p = NULL;
    struct curve *c;

    if (series->n == 0) return;
    for (int i = 0; i < *n; i++)
        if (strcmp(panels[i].label, series->label) == 0) p = &panels[i];
    if (!p) p = &panels[(*n)++];
    p->label = series->label;
    c = &p->curve[p->ncurves++];
    c->precision = series->precision;
    c->n = series->n;
    memcpy(c->x, series->x, sizeof c->x);
    memcpy(c->y, series->seconds, sizeof c->y);
}

/* thread counts as one more axis, where there is more than one */
static void add_threads(struct panel *panels, int *n, const struct report *report)
{
    if (report->cores < 2) return;
    for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++) {
        struct series series = {.label = "threads", .precision = precision};

        for (int i = 0; i < report->nscales; i++) {
            const struct scale *s = &report->scales[i];

            if (s->precision != precision || series.n == POINTS) continue;
            series.x[series.n] = s->threads;
            series.seconds[series.n++] = s->seconds;
        }
        add_to_panel(panels, n, &series);
    }
}

static void draw_legend(FILE *file, int index, const struct report *report)
{
    const int row = index / COLUMNS, column = index % COLUMNS, between = 26;
    const int x = PANEL_WIDTH * column + LEFT;
    int y = TOP + PANEL_HEIGHT * row + ABOVE + between;

    for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++) {
        (void)fprintf(file,
                      "<path d=\"M%d %dh36\" stroke=\"%s\" stroke-width=\"2\"/>\n"
                      "<circle cx=\"%d\" cy=\"%d\" r=\"3.5\" fill=\"%s\"/>\n"
                      "<text x=\"%d\" y=\"%d\" class=\"name\">%s</text>\n",
                      x, y, colour[precision], x + 18, y, colour[precision], x + 46, y + 4,
                      precision_word(precision));
        y += between;
    }
    (void)fprintf(file,
                  "<text x=\"%d\" y=\"%d\" class=\"name\">strategy lanes, %s, "
                  "%d thread%s</text>\n",
                  x, y + 4, report->machine.isa, report->options->threads,
                  report->options->threads == 1 ? "" : "s");
    (void)fprintf(file,
                  "<text x=\"%d\" y=\"%d\" class=\"name\">%.2f GHz, square crystal, "
                  "F = 100</text>\n",
                  x, y + 4 + between, 1e-9 * report->machine.hertz);
}

int plot_write(const struct report *report, const char *path)
{
    struct panel panels[PANELS] = {0};
    FILE *file = fopen(path, "w");
    int n = 0;

    if (!file) return 0;
    for (int i = 0; i < report->nseries; i++) add_to_panel(panels, &n, &report->series[i]);
    add_threads(panels, &n, report);
    (void)fprintf(file,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<style>.grid{stroke:#ddd}.frame{fill:none;stroke:#333}"
                  ".name{font-size:13px}</style>\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
                  "<text x=\"%d\" y=\"28\" font-size=\"17\">nanobrag %s: time of an image "
                  "against its size</text>\n",
                  COLUMNS * PANEL_WIDTH, TOP + 2 * PANEL_HEIGHT, LEFT, nb_version());
    for (int i = 0; i < n; i++) draw_panel(file, &panels[i], i);
    draw_legend(file, PANELS - 1, report);
    (void)fputs("</svg>\n", file);
    return fclose(file) == 0;
}
