/*
 * A JSON reader for tests: say whether a file is JSON, and print a value.
 *
 *     json <file>             0 when it is one JSON value, strictly
 *     json <file> <path>      print the value: .a.b[0], ["odd.key"]; strings as they are
 *     json -n <file> <path>   print how many members the array or object has
 *
 * Stricter than cJSON: UTF-8 alone, no control characters in strings, no key
 * twice, since cJSON is also what writes the files that are checked.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

static int fail(const char *what, const char *word)
{
	fprintf(stderr, "json: %s: %s\n", word, what);
	return 1;
}

static char *read_all(const char *name)
{
	FILE *in = strcmp(name, "-") == 0 ? stdin : fopen(name, "r");
	size_t len = 0, size = 1 << 16, got;
	char *text = malloc(size);

	if (!in || !text)
		return NULL;
	while ((got = fread(text + len, 1, size - len - 1, in)) > 0) {
		len += got;
		if (size - len < 2)
			text = realloc(text, size *= 2);
		if (!text)
			return NULL;
	}
	text[len] = '\0';
	return strlen(text) == len ? text : NULL;
}

/* The length of the UTF-8 character at `s`, 0 when it is none. */
static size_t utf8_len(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static bool has_bad_bytes(const char *text)
{
	bool in_string = false;

	for (const unsigned char *s = (const unsigned char *)text; *s; s += utf8_len(s)) {
		if (utf8_len(s) == 0 || (in_string && *s < 0x20))
			return true;
		if (in_string && *s == '\\' && s[1] != '\0')
			s++;
		else if (*s == '"')
			in_string = !in_string;
	}
	return false;
}

static bool has_key_twice(const cJSON *node)
{
	const cJSON *a, *b;

	cJSON_ArrayForEach(a, node) {
		for (b = a->next; cJSON_IsObject(node) && b; b = b->next) {
			if (strcmp(a->string, b->string) == 0)
				return true;
		}
		if (has_key_twice(a))
			return true;
	}
	return false;
}

/* Take one step of `*path` from `node`; NULL when it leads nowhere. */
static const cJSON *step(const cJSON *node, const char **path)
{
	char key[4096];
	size_t len;
	const char *p = *path;

	if (p[0] == '[' && p[1] != '"') {
		char *end;
		long i = strtol(p + 1, &end, 10);

		*path = end + (*end == ']');
		return cJSON_IsArray(node) && *end == ']' ? cJSON_GetArrayItem(node, (int)i) : NULL;
	}
	if (p[0] == '[') {
		const char *end = strstr(p, "\"]");

		len = end ? (size_t)(end - p) - 2 : 0;
		p += 2;
		*path = end ? end + 2 : "";
	} else if (p[0] == '.') {
		p++;
		len = strcspn(p, ".[");
		*path = p + len;
	} else {
		return NULL;
	}
	if (len >= sizeof(key))
		return NULL;
	memcpy(key, p, len);
	key[len] = '\0';
	return cJSON_IsObject(node) ? cJSON_GetObjectItemCaseSensitive(node, key) : NULL;
}

static int print(const cJSON *node)
{
	char *text;

	if (cJSON_IsString(node)) {
		puts(node->valuestring);
		return 0;
	}
	if (cJSON_IsNumber(node) && node->valuedouble >= -0x1p53 && node->valuedouble <= 0x1p53 &&
	    node->valuedouble == (double)(long long)node->valuedouble) {
		printf("%lld\n", (long long)node->valuedouble);
		return 0;
	}
	text = cJSON_PrintUnformatted(node);
	if (!text)
		return 1;
	puts(text);
	free(text);
	return 0;
}

static int answer(const cJSON *root, const char *path, bool count)
{
	const cJSON *node = root;
	const char *rest = path;

	while (*rest && strcmp(rest, ".") != 0) {
		node = step(node, &rest);
		if (!node)
			return fail("no such value", path);
	}
	if (!count)
		return print(node);
	if (!cJSON_IsArray(node) && !cJSON_IsObject(node))
		return fail("neither an array nor an object", path);
	printf("%d\n", cJSON_GetArraySize(node));
	return 0;
}

int main(int argc, char **argv)
{
	bool count = argc > 1 && strcmp(argv[1], "-n") == 0;
	const char *file, *path;
	char *text;
	cJSON *root;
	int rc;

	argv += count;
	argc -= count;
	if (argc < 2 || argc > 4)
		return fail("usage: json [-n] <file> [<path>]", "json");
	file = argv[1];
	path = argc > 2 ? argv[2] : NULL;
	text = read_all(file);
	if (!text)
		return fail("cannot read it, or it holds a NUL", file);
	root = has_bad_bytes(text) ? NULL : cJSON_ParseWithOpts(text, NULL, 1);
	free(text);
	if (!root)
		return fail("not JSON", file);
	rc = has_key_twice(root) ? fail("a key twice", file) : path ? answer(root, path, count) : 0;
	cJSON_Delete(root);
	return rc;
}
