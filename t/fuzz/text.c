/*
 * Text: see text.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("fuzz: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

void *grow(void *ptr, size_t size)
{
	void *grown = realloc(ptr, size ? size : 1);

	if (!grown)
		die("no memory");
	return grown;
}

char *copy_of(const char *text)
{
	return strcpy(grow(NULL, strlen(text) + 1), text);
}

char *join(const char *dir, const char *name)
{
	size_t len = strlen(dir) + strlen(name) + 2;
	char *path = grow(NULL, len);

	snprintf(path, len, "%s%s%s", dir, *dir ? "/" : "", name);
	return path;
}

void text_add(struct text *text, const void *data, size_t len)
{
	if (text->len + len + 1 > text->cap) {
		text->cap = 2 * (text->len + len + 1);
		text->ptr = grow(text->ptr, text->cap);
	}
	if (len)
		memcpy(text->ptr + text->len, data, len);
	text->len += len;
	text->ptr[text->len] = '\0';
}

void text_addf(struct text *text, const char *format, ...)
{
	char *line;
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&line, format, args);
	va_end(args);
	if (len < 0)
		die("no memory");
	text_add(text, line, (size_t)len);
	free(line);
}

void text_add_name(struct text *text, const char *name)
{
	for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
		if (*c <= ' ' || *c >= 0x7f || *c == '\\')
			text_addf(text, "\\%03o", *c);
		else
			text_add(text, c, 1);
	}
}

void text_clear(struct text *text)
{
	text->len = 0;
	if (text->ptr)
		text->ptr[0] = '\0';
}

void text_release(struct text *text)
{
	free(text->ptr);
	*text = (struct text)TEXT_INIT;
}

uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

unsigned rng_below(struct rng *rng, unsigned n)
{
	return (unsigned)(rng_next(rng) % n);
}

bool rng_chance(struct rng *rng, unsigned percent)
{
	return rng_below(rng, 100) < percent;
}
