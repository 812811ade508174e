/*
 * Show: see show.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "show.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = { "reached", "done", "BELOW", "", "VOID", "skipped" };

void show_heading(FILE *out, const struct machine *machine)
{
	for (size_t i = 0; i < machine->n; i++) {
		const char *tab = strchr(machine->lines[i], '\t');

		(void)fprintf(out, "%-12.*s%s\n", (int)(tab - machine->lines[i]), machine->lines[i], tab + 1);
	}
}

static double ratio(double theirs, double ours)
{
	return ours > 0 ? theirs / ours : 0;
}

bool is_over_memory(const struct result *r)
{
	return r->memory_kib && r->ours.peak_kib > r->memory_kib;
}

void show_row(FILE *out, const struct result *r)
{
	static bool has_heading;
	const struct cost *a = &r->ours, *b = &r->theirs;

	if (!has_heading)
		(void)fprintf(out, "\n%-1s %-35s %-29s %17s %17s %11s %11s %9s %13s  %s\n", "", "operation",
			      "beside", "ours ms", "theirs ms", "ratio", "reach", "MiB", "calls", "");
	has_heading = true;
	(void)fprintf(out, "%-1s %-35s %-29s ", r->tree, r->operation, r->baseline);
	if (r->outcome == SKIPPED || r->outcome == VOID) {
		(void)fprintf(out, "%s: %s\n", words[r->outcome], r->why);
		return;
	}
	(void)fprintf(out, "%8.1f %8.1f %8.1f %8.1f %5.2f %5.2f ", cost_min(a), cost_median(a), cost_min(b),
		      cost_median(b), ratio(cost_min(b), cost_min(a)), ratio(cost_median(b), cost_median(a)));
	if (r->wanted > 0)
		(void)fprintf(out, "%4.2g (%4.2g) ", r->wanted, r->least);
	else
		(void)fprintf(out, "%11s ", "");
	(void)fprintf(out, "%4ld %4ld ", a->peak_kib / 1024, b->peak_kib / 1024);
	if (a->calls)
		(void)fprintf(out, "%6ld %6ld  ", a->calls, b->calls);
	else
		(void)fprintf(out, "%13s  ", "");
	(void)fprintf(out, "%s%s\n", words[r->outcome], is_over_memory(r) ? " MEMORY" : "");
}

static cJSON *cost_json(const struct cost *cost)
{
	cJSON *json = cJSON_CreateObject();

	cJSON_AddNumberToObject(json, "min_ms", cost_min(cost));
	cJSON_AddNumberToObject(json, "median_ms", cost_median(cost));
	cJSON_AddItemToObject(json, "samples_ms", cJSON_CreateDoubleArray(cost->ms, (int)cost->n));
	cJSON_AddNumberToObject(json, "peak_bytes", (double)cost->peak_kib * 1024);
	cJSON_AddNumberToObject(json, "system_calls", (double)cost->calls);
	return json;
}

static cJSON *result_json(const struct result *r)
{
	cJSON *json = cJSON_CreateObject();

	cJSON_AddStringToObject(json, "tree", r->tree);
	cJSON_AddStringToObject(json, "operation", r->operation);
	cJSON_AddStringToObject(json, "baseline", r->baseline);
	cJSON_AddStringToObject(json, "outcome", r->outcome == NOT_ASKED ? "measured" : words[r->outcome]);
	if (r->why) {
		cJSON_AddStringToObject(json, "why", r->why);
		return json;
	}
	cJSON_AddItemToObject(json, "ours", cost_json(&r->ours));
	cJSON_AddItemToObject(json, "theirs", cost_json(&r->theirs));
	cJSON_AddNumberToObject(json, "ratio_min", ratio(cost_min(&r->theirs), cost_min(&r->ours)));
	cJSON_AddNumberToObject(json, "ratio_median", ratio(cost_median(&r->theirs), cost_median(&r->ours)));
	if (r->memory_kib) {
		cJSON_AddNumberToObject(json, "memory_limit_bytes", (double)r->memory_kib * 1024);
		cJSON_AddBoolToObject(json, "is_over_memory", is_over_memory(r));
	}
	if (r->wanted > 0) {
		cJSON_AddNumberToObject(json, "wanted", r->wanted);
		cJSON_AddNumberToObject(json, "least", r->least);
	}
	return json;
}

static void write_file(const char *path, const char *text)
{
	FILE *out = fopen(path, "we");

	if (!out || fputs(text, out) < 0 || fclose(out)) {
		perror(path);
		exit(128);
	}
}

void show_json(const char *path, const struct machine *machine, const struct result *results, size_t n)
{
	cJSON *json = cJSON_CreateObject(), *about, *rows;
	char *text;

	cJSON_AddStringToObject(json, "schema", "ews.perf/1");
	about = cJSON_AddObjectToObject(json, "machine");
	for (size_t i = 0; i < machine->n; i++) {
		const char *tab = strchr(machine->lines[i], '\t');
		char *key = strndup(machine->lines[i], (size_t)(tab - machine->lines[i]));

		cJSON_AddStringToObject(about, key, tab + 1);
		free(key);
	}
	rows = cJSON_AddArrayToObject(json, "rows");
	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(rows, result_json(&results[i]));
	text = cJSON_Print(json);
	write_file(path, text);
	free(text);
	cJSON_Delete(json);
}

static char *read_file(const char *path)
{
	FILE *in = fopen(path, "re");
	char *text = NULL;
	size_t cap = 0;

	if (!in || getdelim(&text, &cap, '\0', in) < 0) {
		perror(path);
		exit(128);
	}
	(void)fclose(in);
	return text;
}

static const char *word_of(const cJSON *object, const char *key)
{
	const char *word = cJSON_GetStringValue(cJSON_GetObjectItem(object, key));

	return word ? word : "";
}

static double number_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItem(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* A quotient, as short as it says enough. */
static void add_ratio(FILE *out, double x)
{
	(void)fprintf(out, x < 10 ? "%.2g" : "%.0f", x);
}

static void add_table_row(FILE *out, const cJSON *row)
{
	const cJSON *ours = cJSON_GetObjectItem(row, "ours"), *theirs = cJSON_GetObjectItem(row, "theirs");

	(void)fprintf(out, "| %s | %s | %s | ", word_of(row, "tree"), word_of(row, "operation"),
		      word_of(row, "baseline"));
	if (!ours) {
		(void)fprintf(out, "%s: %s | | | |\n", word_of(row, "outcome"), word_of(row, "why"));
		return;
	}
	(void)fprintf(out, "%.0f | %.0f | ", number_of(ours, "median_ms"), number_of(theirs, "median_ms"));
	add_ratio(out, number_of(row, "ratio_min"));
	(void)fprintf(out, " / ");
	add_ratio(out, number_of(row, "ratio_median"));
	if (number_of(row, "wanted") > 0) {
		(void)fprintf(out, " | ");
		add_ratio(out, number_of(row, "wanted"));
		(void)fprintf(out, " (");
		add_ratio(out, number_of(row, "least"));
		(void)fprintf(out, ") |\n");
	} else {
		(void)fprintf(out, " | |\n");
	}
}

void show_table(const char *json_path, const char *text_path)
{
	static const char begin[] = "<!-- perf: begin -->\n", end[] = "<!-- perf: end -->\n";
	char *source = read_file(json_path), *text = read_file(text_path), *made = NULL;
	char *from = strstr(text, begin), *to = from ? strstr(from, end) : NULL;
	cJSON *json = cJSON_Parse(source);
	const cJSON *machine = cJSON_GetObjectItem(json, "machine"), *row;
	size_t len;
	FILE *out;

	if (!json || !to) {
		(void)fprintf(stderr, "%s\n",
			      json ? "the lines that enclose the table are not there" : "this is no JSON");
		exit(128);
	}
	out = open_memstream(&made, &len);
	(void)fprintf(out, "%.*s", (int)(from - text) + (int)strlen(begin), text);
	(void)fprintf(out, "On %s processors, Linux %s, %s; %s.\n\n", word_of(machine, "processors"),
		      word_of(machine, "kernel"), word_of(machine, "file system"), word_of(machine, "git"));
	(void)fprintf(out, "| tree | operation | beside | ms | theirs | ratio: min / median | to reach (at least) |\n"
			   "|---|---|---|---|---|---|---|\n");
	cJSON_ArrayForEach(row, cJSON_GetObjectItem(json, "rows"))
		add_table_row(out, row);
	(void)fprintf(out, "%s", to);
	(void)fclose(out);
	write_file(text_path, made);
	free(made);
	free(text);
	free(source);
	cJSON_Delete(json);
}

/* One drawing in the grid: its place, and what its axes span, in powers of ten. */
struct frame {
	double left, top, width, height;
	double x0, x1, y0, y1;
};

static double across(const struct frame *f, double x)
{
	return f->left + (log10(x) - f->x0) / (f->x1 - f->x0) * f->width;
}

static double down(const struct frame *f, double y)
{
	return f->top + f->height - (log10(y) - f->y0) / (f->y1 - f->y0) * f->height;
}

static void draw_axes(FILE *out, const struct frame *f, const struct curve *curve)
{
	(void)fprintf(out, "<rect x='%.0f' y='%.0f' width='%.0f' height='%.0f' fill='none' stroke='#888'/>\n",
		      f->left, f->top, f->width, f->height);
	(void)fprintf(out, "<text x='%.0f' y='%.0f' font-weight='bold'>%s</text>\n", f->left, f->top - 8,
		      curve->name);
	for (double p = f->x0; p <= f->x1; p++)
		(void)fprintf(out, "<text x='%.0f' y='%.0f' text-anchor='middle'>%.0f</text>\n",
			      across(f, pow(10, p)), f->top + f->height + 16, pow(10, p));
	for (double p = f->y0; p <= f->y1; p++) {
		double y = down(f, pow(10, p));

		(void)fprintf(out, "<line x1='%.0f' x2='%.0f' y1='%.0f' y2='%.0f' stroke='#ddd'/>\n", f->left,
			      f->left + f->width, y, y);
		(void)fprintf(out, "<text x='%.0f' y='%.0f' text-anchor='end'>%g ms</text>\n", f->left - 6, y + 4,
			      pow(10, p));
	}
	(void)fprintf(out, "<text x='%.0f' y='%.0f' text-anchor='end'>%s</text>\n", f->left + f->width,
		      f->top + f->height + 32, curve->unit);
}

static void draw_line(FILE *out, const struct frame *f, const struct curve *curve, bool is_ours)
{
	const char *color = is_ours ? "#06c" : "#c60";

	(void)fprintf(out, "<polyline fill='none' stroke='%s' stroke-width='2' points='", color);
	for (size_t i = 0; i < curve->n; i++)
		(void)fprintf(out, "%.1f,%.1f ", across(f, curve->points[i].x),
			      down(f, is_ours ? curve->points[i].ours_ms : curve->points[i].theirs_ms));
	(void)fprintf(out, "'/>\n");
}

static void fit(struct frame *f, const struct curve *curve)
{
	f->x0 = f->y0 = INFINITY;
	f->x1 = f->y1 = -INFINITY;
	for (size_t i = 0; i < curve->n; i++) {
		const struct point *p = &curve->points[i];

		f->x0 = fmin(f->x0, floor(log10(p->x)));
		f->x1 = fmax(f->x1, ceil(log10(p->x)));
		f->y0 = fmin(f->y0, floor(log10(fmin(p->ours_ms, p->theirs_ms))));
		f->y1 = fmax(f->y1, ceil(log10(fmax(p->ours_ms, p->theirs_ms))));
	}
	f->x1 = fmax(f->x1, f->x0 + 1);
	f->y1 = fmax(f->y1, f->y0 + 1);
}

void show_plot(const char *path, const struct curve *curves, size_t n)
{
	enum { ACROSS = 3, WIDTH = 300, HEIGHT = 220, LEFT = 70, TOP = 50 };
	size_t lines = (n + ACROSS - 1) / ACROSS;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)fprintf(out,
		      "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%zu' font-family='sans-serif' "
		      "font-size='12'>\n<rect width='100%%' height='100%%' fill='white'/>\n"
		      "<text x='20' y='20'><tspan fill='#06c'>git ews</tspan>, <tspan fill='#c60'>git at the same "
		      "work</tspan></text>\n",
		      ACROSS * (WIDTH + LEFT) + 40, lines * (HEIGHT + TOP + 40) + 40);
	for (size_t i = 0; i < n; i++) {
		struct frame f = { .left = LEFT + (double)(i % ACROSS) * (WIDTH + LEFT),
				   .top = 20 + TOP + (double)(i / ACROSS) * (HEIGHT + TOP + 40),
				   .width = WIDTH - 20,
				   .height = HEIGHT };

		if (!curves[i].n)
			continue;
		fit(&f, &curves[i]);
		draw_axes(out, &f, &curves[i]);
		draw_line(out, &f, &curves[i], false);
		draw_line(out, &f, &curves[i], true);
	}
	(void)fprintf(out, "</svg>\n");
	(void)fclose(out);
	write_file(path, text);
	free(text);
}
