/*
 * Ignore rules held against `git check-ignore`, and against hostile patterns.
 *
 * The trees and patterns are made up from a seed; EWS_SEED and EWS_ROUNDS in
 * the environment ask for others and for more.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/ignore.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "fixture.h"

#define NODES_MAX 60

struct node {
	char *path;
	bool is_dir;
	struct ews_buf rules_text; /* of a directory's .gitignore */
	struct ews_ignore *rules;
};

struct tree {
	struct node nodes[NODES_MAX]; /* the root first, parents before children */
	size_t n;
	struct ews_buf excludes, info;
	bool fold_case;
};

static const char *random_name(void)
{
	static const char *const names[] = { "a",   "b",     "ab",       "abc",   "A",    "aB",  "a.o",
					     "b.o", ".o",    "a b",      "a ",    "#a",   "!a",  "a\\b",
					     "[a]", "a*",    "-",        "a]",    "1",    "foo", "Foo",
					     "bar", "foo.c", "\xc3\xa9", "x\xff", "a\tb", "^",   "foobar" };

	return FIXTURE_ONE_OF(names);
}

/* A name with wildcards here and there, most of which match what they stand for. */
static void add_bent_name(struct ews_buf *out, const char *name)
{
	static const char *const shapes[] = { "?",
					      "*",
					      "[%c]",
					      "[!%c]",
					      "[A-%c]",
					      "[%c-z]",
					      "\\%c",
					      "[^/]",
					      "[x\\%c]",
					      "[a-b-%c]",
					      "[!x]",
					      "[%c-]",
					      "[[:alnum:]]",
					      "[[:upper:]%c]",
					      "[[:nope:]%c]",
					      "[[:punct:]]",
					      "**",
					      "[[:space:]]",
					      "[[:lower:]]",
					      "[]%c]",
					      "%c*",
					      "[[:alpha:]-%c]",
					      "[!-/]" };

	for (const char *at = name; *at; at++) {
		const char *shape = fixture_pick(4) ? "%c" : FIXTURE_ONE_OF(shapes);

		for (; *shape; shape++) {
			if (*shape == '%')
				ews_buf_addc(out, *at);
			if (*shape == '%')
				shape++;
			else
				ews_buf_addc(out, *shape);
		}
	}
}

static void add_random_pattern(struct ews_buf *out)
{
	static const char *const tokens[] = {
		"*",
		"*",
		"**",
		"**/",
		"/**",
		"?",
		"/",
		"/",
		"[ab]",
		"[!a]",
		"[^b]",
		"[a-c]",
		"[A-Z]",
		"[]a]",
		"[!]a]",
		"[a-",
		"[",
		"]",
		"\\",
		"\\a",
		"\\*",
		"\\ ",
		" ",
		"  ",
		"!",
		"#",
		"\\#",
		"\\!",
		"\r",
		"\t",
		".o",
		"*.o",
		"[[:alpha:]]",
		"[[:upper:]]",
		"[[:lower:]b]",
		"[[:digit:]",
		"[[:nope:]]",
		"[[:space:]]",
		"[[:punct:]]",
		"[a\\]]",
		"[--b]",
		"[[:]",
		"[[::]]",
		"[b-a]",
		"[\\a-\\c]",
		"[a-]",
		"***",
		"\\A",
		"[^[:alnum:]]",
		"[[:cntrl:]]",
		"[[:graph:]]",
		"[[:print:]]",
		"[[:xdigit:]]",
		"[[:blank:]]",
		"\\/",
		"a**",
		"[/]",
		"[!/]",
		"[.-0]",
		"[[:foo]",
	};
	size_t n = 1 + fixture_pick(3);

	if (!fixture_pick(6))
		ews_buf_adds(out, "!");
	if (!fixture_pick(5))
		ews_buf_adds(out, "/");
	for (size_t i = 0; i < n; i++) {
		if (fixture_pick(3))
			add_bent_name(out, random_name());
		else
			ews_buf_adds(out, FIXTURE_ONE_OF(tokens));
		if (!fixture_pick(3))
			ews_buf_adds(out, fixture_pick(3) ? "/" : "/**/");
	}
	if (!fixture_pick(6))
		ews_buf_adds(out, "/");
	if (!fixture_pick(8))
		ews_buf_adds(out, fixture_pick(2) ? " " : "\\ ");
}

static void add_random_rules(struct ews_buf *out)
{
	size_t n = 1 + fixture_pick(6);

	if (!fixture_pick(12))
		ews_buf_adds(out, "\xef\xbb\xbf");
	for (size_t i = 0; i < n; i++) {
		if (!fixture_pick(15))
			ews_buf_add(out, "a\0b", 3);
		add_random_pattern(out);
		if (i + 1 < n || fixture_pick(2))
			ews_buf_adds(out, fixture_pick(8) ? "\n" : "\r\n");
	}
}

static void write_file(const char *path, const struct ews_buf *text)
{
	FILE *file = fopen(path, "w");

	cr_assert(file);
	cr_assert_eq(fwrite(text->ptr, 1, text->len, file), text->len);
	cr_assert_eq(fclose(file), 0);
}

/* Make up a tree and put it below the present directory. */
static void make_tree(struct tree *tree)
{
	memset(tree, 0, sizeof(*tree));
	tree->fold_case = !fixture_pick(3);
	tree->excludes = tree->info = (struct ews_buf)EWS_BUF_INIT;
	if (!fixture_pick(3))
		add_random_rules(&tree->excludes);
	if (!fixture_pick(3))
		add_random_rules(&tree->info);
	tree->nodes[tree->n++] = (struct node){ .path = ews_strdup(""), .is_dir = true };
	while (tree->n < NODES_MAX) {
		const struct node *parent = &tree->nodes[fixture_pick(tree->n)];
		struct node *node = &tree->nodes[tree->n];
		size_t k;

		if (!parent->is_dir)
			continue;
		*node = (struct node){ .is_dir = fixture_pick(2),
				       .path = ews_strfmt("%s%s%s", parent->path, *parent->path ? "/" : "",
							  random_name()) };
		for (k = 0; k < tree->n; k++)
			if (!strcmp(tree->nodes[k].path, node->path))
				break;
		if (k < tree->n) {
			free(node->path);
			continue;
		}
		if (node->is_dir)
			cr_assert_eq(mkdir(node->path, 0777), 0);
		else
			cr_assert_eq(close(open(node->path, O_CREAT | O_WRONLY, 0666)), 0);
		tree->n++;
	}
	for (size_t i = 0; i < tree->n; i++) {
		struct node *node = &tree->nodes[i];

		node->rules_text = (struct ews_buf)EWS_BUF_INIT;
		if (!node->is_dir || (i && fixture_pick(3)))
			continue;
		add_random_rules(&node->rules_text);
		char *name = ews_strfmt("./%s/.gitignore", node->path);
		write_file(name, &node->rules_text);
		free(name);
	}
}

static struct node *parent_of(struct tree *tree, const struct node *node)
{
	const char *slash = strrchr(node->path, '/');
	size_t len = slash ? (size_t)(slash - node->path) : 0;

	for (size_t i = 0; i < tree->n; i++)
		if (strlen(tree->nodes[i].path) == len && !memcmp(tree->nodes[i].path, node->path, len))
			return &tree->nodes[i];
	return NULL;
}

/* Parents stand before their children, so one pass makes all levels. */
static struct ews_ignore *make_rules(struct tree *tree)
{
	struct ews_ignore *base = ews_ignore_new(tree->excludes.ptr, tree->excludes.len, tree->info.ptr,
						 tree->info.len, tree->fold_case);

	for (size_t i = 0; i < tree->n; i++) {
		struct node *node = &tree->nodes[i];

		if (node->is_dir)
			node->rules = ews_ignore_enter(i ? parent_of(tree, node)->rules : base, node->path,
						       node->rules_text.len ? node->rules_text.ptr : NULL,
						       node->rules_text.len);
	}
	return base;
}

static bool is_ignored(struct tree *tree, struct node *node)
{
	struct node *parent;

	if (!*node->path)
		return false;
	parent = parent_of(tree, node);
	return is_ignored(tree, parent) || ews_ignore_match(parent->rules, node->path, node->is_dir);
}

/* Git's word on the NUL-ended paths in `asked`, for the tree in the present directory. */
static void ask_git(struct ews_buf *out, const struct ews_buf *asked, bool fold_case)
{
	EWS_CLEANUP(free)
	char *command = ews_strfmt("git --git-dir=../git --work-tree=. "
				   "-c core.excludesFile=../excludes -c core.ignoreCase=%d "
				   "check-ignore --no-index -v -z --stdin --non-matching <../asked",
				   fold_case);
	FILE *pipe;
	char piece[4096];
	size_t got;

	write_file("../asked", asked);
	pipe = popen(command, "r");
	cr_assert(pipe);
	while ((got = fread(piece, 1, sizeof(piece), pipe)) > 0)
		ews_buf_add(out, piece, got);
	cr_assert(pclose(pipe) >= 0);
}

/* The next of the NUL-ended fields. */
static const char *field(const char **at, const struct ews_buf *answer)
{
	const char *text = *at;

	cr_assert_lt(text, answer->ptr + answer->len, "git says too little");
	*at = text + strlen(text) + 1;
	return text;
}

static void check_one_tree(size_t seed)
{
	struct ews_buf asked = EWS_BUF_INIT;
	struct ews_buf answer = EWS_BUF_INIT;
	struct tree tree;
	struct ews_ignore *base;
	const char *at;

	fixture_sow(seed * 7919 + 1);
	cr_assert_eq(mkdir("tree", 0777), 0);
	cr_assert_eq(chdir("tree"), 0);
	make_tree(&tree);
	base = make_rules(&tree);
	for (size_t i = 1; i < tree.n; i++)
		ews_buf_add(&asked, tree.nodes[i].path, strlen(tree.nodes[i].path) + 1);
	write_file("../excludes", &tree.excludes);
	write_file("../git/info/exclude", &tree.info);
	ask_git(&answer, &asked, tree.fold_case);
	at = answer.ptr;
	for (size_t i = 1; i < tree.n; i++) {
		const char *source = field(&at, &answer);
		const char *line = field(&at, &answer);
		const char *pattern = field(&at, &answer);
		const char *path = field(&at, &answer);
		bool expected = *source && *pattern != '!';

		cr_assert_str_eq(path, tree.nodes[i].path);
		cr_expect_eq(is_ignored(&tree, &tree.nodes[i]), expected,
			     "EWS_SEED=%zu EWS_ROUNDS=1: '%s'%s is %signored for git by %s:%s '%s'%s", seed, path,
			     tree.nodes[i].is_dir ? " (a directory)" : "", expected ? "" : "not ", source, line,
			     pattern, tree.fold_case ? ", case folded" : "");
	}
	for (size_t i = 0; i < tree.n; i++) {
		ews_ignore_free(tree.nodes[i].rules);
		ews_buf_release(&tree.nodes[i].rules_text);
		free(tree.nodes[i].path);
	}
	ews_ignore_free(base);
	ews_buf_release(&tree.excludes);
	ews_buf_release(&tree.info);
	ews_buf_release(&asked);
	ews_buf_release(&answer);
	cr_assert_eq(chdir(".."), 0);
	cr_assert_eq(system("rm -rf tree"), 0);
}

static char work_dir[] = "/tmp/ews-ignore-XXXXXX";

static void make_work_dir(void)
{
	cr_assert(mkdtemp(work_dir));
	cr_assert_eq(chdir(work_dir), 0);
	setenv("HOME", work_dir, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	unsetenv("XDG_CONFIG_HOME");
	cr_assert_eq(system("git init -q --bare git"), 0);
}

static void remove_work_dir(void)
{
	EWS_CLEANUP(free) char *sweep = ews_strfmt("rm -rf %s", work_dir);

	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(system(sweep), 0);
}

Test(ignore, git_ignores_the_same_paths, .init = make_work_dir, .fini = remove_work_dir)
{
	size_t seed = fixture_seed();
	size_t rounds = fixture_rounds(60);

	for (size_t i = 0; i < rounds; i++)
		check_one_tree(seed + i);
}

/* Directory <i> has one pattern, which was made from the one path that is asked for. */
static struct ews_ignore *make_pair(struct ews_buf *path, struct ews_buf *pattern, size_t i,
				    const struct ews_ignore *root)
{
	static const char *const joints[] = { "/", "/", "/", "/", "/", "/**/", "\\/", "?", "[!x]", "[/]" };
	size_t components = 1 + fixture_pick(3);
	EWS_CLEANUP(free) char *dir = ews_strfmt("%zu", i);
	EWS_CLEANUP(free) char *file = ews_strfmt("%zu/.gitignore", i);

	ews_buf_truncate(pattern, 0);
	ews_buf_truncate(path, 0);
	ews_buf_adds(path, dir);
	ews_buf_adds(pattern, fixture_pick(4) ? "" : fixture_pick(2) ? "/" : "**/");
	while (components--) {
		const char *name = random_name();

		ews_buf_addc(path, '/');
		ews_buf_adds(path, name);
		add_bent_name(pattern, name);
		if (components)
			ews_buf_adds(pattern, FIXTURE_ONE_OF(joints));
	}
	cr_assert_eq(mkdir(dir, 0777), 0);
	write_file(file, pattern);
	return ews_ignore_enter(root, dir, pattern->ptr, pattern->len);
}

static bool is_ignored_below(const struct ews_ignore *rules, const char *path)
{
	const char *slash = strchr(path, '/');

	while ((slash = strchr(slash + 1, '/'))) {
		EWS_CLEANUP(free) char *dir = ews_strndup(path, (size_t)(slash - path));

		if (ews_ignore_match(rules, dir, true))
			return true;
	}
	return ews_ignore_match(rules, path, false);
}

Test(ignore, git_matches_the_same_names, .init = make_work_dir, .fini = remove_work_dir)
{
	size_t seed = fixture_seed();
	size_t pairs = fixture_rounds(60) * 50;

	fixture_sow(seed);
	for (unsigned fold = 0; fold < 2; fold++) {
		EWS_CLEANUP(ignore) struct ews_ignore *base = ews_ignore_new(NULL, 0, NULL, 0, fold);
		EWS_CLEANUP(ignore) struct ews_ignore *root = ews_ignore_enter(base, "", NULL, 0);
		EWS_CLEANUP(free) bool *is_ours = ews_calloc(pairs, sizeof(*is_ours));
		EWS_CLEANUP(buf) struct ews_buf asked = EWS_BUF_INIT;
		EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		EWS_CLEANUP(buf) struct ews_buf pattern = EWS_BUF_INIT;
		const char *at;

		cr_assert_eq(mkdir(fold ? "folded" : "plain", 0777), 0);
		cr_assert_eq(chdir(fold ? "folded" : "plain"), 0);
		for (size_t i = 0; i < pairs; i++) {
			EWS_CLEANUP(ignore) struct ews_ignore *rules = make_pair(&path, &pattern, i, root);

			ews_buf_add(&asked, path.ptr, path.len + 1);
			is_ours[i] = is_ignored_below(rules, path.ptr);
		}
		ask_git(&answer, &asked, fold);
		at = answer.ptr;
		for (size_t i = 0; i < pairs; i++) {
			const char *source = field(&at, &answer);
			const char *line = field(&at, &answer);
			const char *said = field(&at, &answer);
			const char *name = field(&at, &answer);
			bool is_theirs = *source && *said != '!';

			cr_expect_eq(is_ours[i], is_theirs, "EWS_SEED=%zu: '%s' is %signored by git%s, '%s' line %s",
				     seed, name, is_theirs ? "" : "not ", fold ? ", case folded" : "", said, line);
		}
		cr_assert_eq(chdir(".."), 0);
	}
}

static char *repeated(const char *text, size_t times, const char *tail)
{
	struct ews_buf buf = EWS_BUF_INIT;

	while (times--)
		ews_buf_adds(&buf, text);
	ews_buf_adds(&buf, tail);
	return ews_buf_steal(&buf);
}

Test(ignore, patterns_made_to_take_forever_do_not, .timeout = 20)
{
	EWS_CLEANUP(free) char *stars = repeated("*a", 1000, "b");
	EWS_CLEANUP(free) char *letters = repeated("a", 4000, "");
	EWS_CLEANUP(free) char *deep = repeated("**/", 1000, "b");
	EWS_CLEANUP(free) char *deep_stars = repeated("**/*a*/", 300, "b");
	EWS_CLEANUP(free) char *components = repeated("a/", 2000, "c");
	EWS_CLEANUP(free) char *escaped = repeated("**\\/", 1000, "b");
	EWS_CLEANUP(free) char *brackets = repeated("*[", 100000, "");

	cr_assert_not(ews_ignore_wildmatch(stars, letters, false));
	cr_assert_not(ews_ignore_wildmatch(deep, components, false));
	cr_assert_not(ews_ignore_wildmatch(deep_stars, components, true));
	cr_assert_not(ews_ignore_wildmatch(escaped, components, false));
	cr_assert_not(ews_ignore_wildmatch(brackets, components, false));
}

Test(ignore, random_bytes_as_a_pattern_stay_within_their_memory)
{
	static const char letters[] = "ab/*?[]!^-\\:[:alpha:]\xff";

	fixture_sow(fixture_seed());
	for (size_t round = 0; round < 200000; round++) {
		char pattern[16], text[8];
		size_t n = fixture_pick(sizeof(pattern)), k = fixture_pick(sizeof(text));

		for (size_t i = 0; i < n; i++)
			pattern[i] = letters[fixture_pick(sizeof(letters) - 1)];
		for (size_t i = 0; i < k; i++)
			text[i] = letters[fixture_pick(3)];
		/* Copies of the exact size, so that a sanitizer sees a step too far. */
		EWS_CLEANUP(free) char *p = ews_strndup(pattern, n);
		EWS_CLEANUP(free) char *t = ews_strndup(text, k);

		ews_ignore_wildmatch(p, t, fixture_pick(2));
	}
}
