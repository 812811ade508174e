/*
 * Choosing by asking: one hunk after the other, as git add -p asks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/choose.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "cmd/editor.h"
#include "cmd/pager.h"
#include "work/hunk_edit.h"

/* One file's hunks, and the one that is asked about. */
struct asking {
	struct ews_hunk_file *file;
	size_t at;
	bool color;
	bool is_done; /* with this file */
	bool is_over; /* with all */
};

/* A line of a patch as a terminal may see it: no control byte but the tab. */
static void add_line(struct ews_buf *out, const char *line, size_t len, bool color)
{
	const char *code = *line == '+' ? "32" : *line == '-' ? "31" : *line == '@' ? "36" : NULL;
	size_t i;

	if (color && code)
		ews_buf_addf(out, "\033[%sm", code);
	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if ((c < ' ' && c != '\t') || c == 127)
			ews_buf_addf(out, "^%c", c ^ 64);
		else
			ews_buf_addc(out, (char)c);
	}
	ews_buf_adds(out, color && code ? "\033[m\n" : "\n");
}

static void show(const char *text, size_t len, bool color)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	const char *at = text, *line;
	size_t line_len;

	while ((line = ews_str_next_line(&at, &line_len, text + len)))
		add_line(&out, line, line_len, color);
	(void)fflush(stderr);
	(void)ews_file_write_fd(STDERR_FILENO, out.ptr, out.len); /* who can't see it answers no */
}

#define NONE SIZE_MAX

static size_t next_undecided(const struct ews_hunk_file *file, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (!file->items[i].is_decided)
			return i;
	return NONE;
}

static size_t last_undecided(const struct ews_hunk_file *file, size_t before)
{
	for (size_t i = before; i; i--)
		if (!file->items[i - 1].is_decided)
			return i - 1;
	return NONE;
}

/* What a key does; one that does nothing at this hunk is not offered. */
struct key {
	char key;
	const char *help;
	bool (*is_of_use)(const struct asking *asking);
	int (*press)(struct asking *asking, const char *word);
};

static void go_on(struct asking *asking)
{
	size_t next = next_undecided(asking->file, asking->at + 1, asking->file->n);

	if (next == NONE)
		next = next_undecided(asking->file, 0, asking->at);
	asking->is_done = next == NONE;
	asking->at = asking->is_done ? asking->at : next;
}

/* Decide about the hunks that are not decided, from this one on; about this one in any case. */
static void decide(struct asking *asking, size_t end, bool is_wanted)
{
	asking->file->items[asking->at].is_decided = false;
	for (size_t i = asking->at; i < end; i++) {
		struct ews_hunk *hunk = &asking->file->items[i];

		if (hunk->is_decided)
			continue;
		hunk->is_decided = true;
		hunk->is_wanted = is_wanted;
	}
	go_on(asking);
}

static int press_y(struct asking *asking, const char *word)
{
	(void)word;
	decide(asking, asking->at + 1, true);
	return 0;
}

static int press_n(struct asking *asking, const char *word)
{
	(void)word;
	decide(asking, asking->at + 1, false);
	return 0;
}

static int press_q(struct asking *asking, const char *word)
{
	(void)word;
	asking->is_done = asking->is_over = true;
	return 0;
}

static int press_a(struct asking *asking, const char *word)
{
	(void)word;
	decide(asking, asking->file->n, true);
	return 0;
}

static int press_d(struct asking *asking, const char *word)
{
	(void)word;
	decide(asking, asking->file->n, false);
	return 0;
}

static bool has_next_undecided(const struct asking *asking)
{
	return next_undecided(asking->file, asking->at + 1, asking->file->n) != NONE;
}

static int press_j(struct asking *asking, const char *word)
{
	(void)word;
	asking->at = next_undecided(asking->file, asking->at + 1, asking->file->n);
	return 0;
}

static bool has_next(const struct asking *asking)
{
	return asking->at + 1 < asking->file->n;
}

static int press_J(struct asking *asking, const char *word)
{
	(void)word;
	asking->at++;
	return 0;
}

static bool has_last_undecided(const struct asking *asking)
{
	return last_undecided(asking->file, asking->at) != NONE;
}

static int press_k(struct asking *asking, const char *word)
{
	(void)word;
	asking->at = last_undecided(asking->file, asking->at);
	return 0;
}

static bool has_last(const struct asking *asking)
{
	return asking->at > 0;
}

static int press_K(struct asking *asking, const char *word)
{
	(void)word;
	asking->at--;
	return 0;
}

static bool has_others(const struct asking *asking)
{
	return asking->file->n > 1;
}

/* Read a line into `answer`; false when nothing is typed any more. */
static bool read_answer(const char *question, char *answer, int size)
{
	(void)fputs(question, stderr);
	(void)fflush(stderr);
	if (!fgets(answer, size, stdin))
		return false;
	answer[strcspn(answer, "\n")] = '\0';
	return true;
}

/* The hunks' numbers, what was decided, and the first line that changes. */
static void show_list(const struct asking *asking)
{
	for (size_t i = 0; i < asking->file->n; i++) {
		const struct ews_hunk *hunk = &asking->file->items[i];
		const char *at = hunk->text, *end = hunk->text + hunk->len;
		EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

		while (at < end && *at != '+' && *at != '-')
			at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
		ews_buf_addf(&line, "%c%3zu: ", !hunk->is_decided ? ' ' : hunk->is_wanted ? '+' : '-', i + 1);
		if (at < end)
			ews_buf_add(&line, at, (size_t)((const char *)memchr(at, '\n', (size_t)(end - at)) - at));
		ews_cmd_say("", line.ptr);
	}
}

static int press_g(struct asking *asking, const char *word)
{
	char answer[32] = "";
	unsigned long number;

	if (!*word) {
		show_list(asking);
		if (read_answer("go to which hunk? ", answer, sizeof(answer)))
			word = answer;
	}
	number = strtoul(word, NULL, 10);
	if (number && number <= asking->file->n)
		asking->at = number - 1;
	else
		ews_cmd_say("", "there is no hunk of that number");
	return 0;
}

static int press_slash(struct asking *asking, const char *word)
{
	const struct ews_hunk_file *file = asking->file;
	char answer[256] = "";
	regex_t regex;
	size_t tried;

	if (!*word && !read_answer("search for which regular expression? ", answer, sizeof(answer)))
		return 0;
	word = *word ? word : answer;
	if (regcomp(&regex, word, REG_EXTENDED | REG_NOSUB | REG_NEWLINE)) {
		ews_cmd_say("", "that is no regular expression");
		return 0;
	}
	for (tried = 1; tried <= file->n; tried++) {
		const struct ews_hunk *hunk = &file->items[(asking->at + tried) % file->n];
		regmatch_t range = { 0, (regoff_t)hunk->len };

		if (regexec(&regex, hunk->text, 1, &range, REG_STARTEND) == 0)
			break;
	}
	regfree(&regex);
	if (tried > file->n)
		ews_cmd_say("", "no hunk matches that");
	else
		asking->at = (asking->at + tried) % file->n;
	return 0;
}

static bool has_parts(const struct asking *asking)
{
	return ews_hunk_parts(asking->file, asking->at) > 1;
}

static int press_s(struct asking *asking, const char *word)
{
	EWS_CLEANUP(buf) struct ews_buf told = EWS_BUF_INIT;

	(void)word;
	ews_buf_addf(&told, "split into %zu hunks", ews_hunk_parts(asking->file, asking->at));
	ews_hunk_split(asking->file, asking->at);
	ews_cmd_say("", told.ptr);
	return 0;
}

static bool is_text(const struct asking *asking)
{
	return !asking->file->is_whole;
}

static const char edit_help[] =
	"# Edit the hunk. To keep a line that would go, put a blank in the place of its '-';\n"
	"# to leave out a line that would come, remove it. Lines that begin with '#' don't count.\n"
	"# When all lines are removed the hunk stays as it was.\n";

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '#')
			while (i < len && text[i] != '\n')
				i++;
		else if (!isspace((unsigned char)text[i]))
			return false;
	}
	return true;
}

static int press_e(struct asking *asking, const char *word)
{
	const struct ews_hunk *hunk = &asking->file->items[asking->at];
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	(void)word;
	ews_buf_add(&text, hunk->text, hunk->len);
	ews_buf_adds(&text, edit_help);
	for (;;) {
		char answer[16] = "";
		int rc = ews_editor_edit(&text, "hunk-edit.diff");

		if (rc < 0)
			return rc;
		if (is_blank(text.ptr, text.len))
			return 0;
		if (ews_hunk_edit(asking->file, asking->at, text.ptr, text.len)) {
			decide(asking, asking->at + 1, true);
			return 0;
		}
		if (!read_answer("that does not apply; edit it again (n leaves the hunk as it was) [Y/n]? ", answer,
				 sizeof(answer)) ||
		    *answer == 'n' || *answer == 'N')
			return 0;
	}
}

static int press_p(struct asking *asking, const char *word)
{
	(void)asking, (void)word; /* it is shown in any case */
	return 0;
}

static int press_help(struct asking *asking, const char *word);

static const struct key keys[] = {
	{ 'y', "apply this hunk", NULL, press_y },
	{ 'n', "do not apply it", NULL, press_n },
	{ 'q', "quit: neither this one nor any that is undecided", NULL, press_q },
	{ 'a', "apply this one and all later ones of the file", NULL, press_a },
	{ 'd', "apply neither this one nor any later one of the file", NULL, press_d },
	{ 'j', "leave this one undecided, go to the next that is", has_next_undecided, press_j },
	{ 'J', "leave this one as it is, go to the next", has_next, press_J },
	{ 'k', "leave this one undecided, go to the one before that is", has_last_undecided, press_k },
	{ 'K', "leave this one as it is, go to the one before", has_last, press_K },
	{ 'g', "go to the hunk of that number, as in g 2; without one they are listed", has_others, press_g },
	{ '/', "search for the next hunk that matches a regular expression, as in /main", has_others, press_slash },
	{ 's', "split it where lines between its changes stay", has_parts, press_s },
	{ 'e', "edit it by hand", is_text, press_e },
	{ 'p', "show it again", NULL, press_p },
	{ '?', "this help", NULL, press_help },
};

#define N_KEYS (sizeof(keys) / sizeof(*keys))

static bool is_of_use(const struct key *key, const struct asking *asking)
{
	return !key->is_of_use || key->is_of_use(asking);
}

static int press_help(struct asking *asking, const char *word)
{
	(void)word;
	for (size_t i = 0; i < N_KEYS; i++) {
		EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

		ews_buf_addf(&line, "%c - %s", keys[i].key, keys[i].help);
		if (is_of_use(&keys[i], asking))
			ews_cmd_say("", line.ptr);
	}
	return 0;
}

static const struct key *find_key(char letter)
{
	for (size_t i = 0; i < N_KEYS; i++)
		if (keys[i].key == letter)
			return &keys[i];
	return NULL;
}

/* Ask about one hunk, and do as is told. */
static int ask(struct asking *asking)
{
	EWS_CLEANUP(buf) struct ews_buf question = EWS_BUF_INIT;
	char answer[256] = "";
	const struct key *key;
	const char *word;

	ews_buf_addf(&question, "(%zu/%zu) Apply this %s [", asking->at + 1, asking->file->n,
		     asking->file->is_whole ? "change" : "hunk");
	for (size_t i = 0; i < N_KEYS; i++)
		if (is_of_use(&keys[i], asking))
			ews_buf_addf(&question, "%s%c", i ? "," : "", keys[i].key);
	ews_buf_adds(&question, "]? ");
	if (!read_answer(question.ptr, answer, sizeof(answer)))
		return press_q(asking, "");
	for (word = answer + (*answer != '\0'); *word == ' ';)
		word++;
	key = find_key(*answer);
	if (key && is_of_use(key, asking))
		return key->press(asking, word);
	if (key)
		ews_cmd_say("", "that key is of no use at this hunk");
	return press_help(asking, "");
}

int ews_choose_by_asking(void *choosing, struct ews_hunks *hunks)
{
	const struct ews_choosing *how = choosing;
	struct asking asking = { .color = ews_pager_color(how->ctx, "interactive") };
	int rc = 0;

	for (size_t i = 0; i < hunks->n && rc == 0 && !asking.is_over; i++) {
		asking.file = &hunks->items[i];
		asking.at = 0;
		rc = ews_hunks_load(hunks, asking.file);
		asking.is_done = rc < 0 || !asking.file->n;
		if (rc == 0)
			show(asking.file->text.ptr, asking.file->header_len, asking.color);
		while (rc == 0 && !asking.is_done) {
			const struct ews_hunk *hunk = &asking.file->items[asking.at];

			show(hunk->text, hunk->len, asking.color);
			rc = ask(&asking);
		}
	}
	return rc;
}
