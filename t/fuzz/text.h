/*
 * Text: growing runs of bytes, random numbers, and the end of the program.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_TEXT_H
#define FUZZ_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *ptr; /* ends in a NUL that is not counted; NULL while nothing was added */
	size_t len, cap;
};

#define TEXT_INIT { NULL, 0, 0 }

void text_add(struct text *text, const void *data, size_t len);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A name as it can be printed: what is no plain character as \ooo. */
void text_add_name(struct text *text, const char *name);
void text_clear(struct text *text);
void text_release(struct text *text);

/* Never NULL. */
void *grow(void *ptr, size_t size);
char *copy_of(const char *text);
/* "<dir>/<name>", or the name where the directory is "". */
char *join(const char *dir, const char *name);

/* The driver itself can't go on: its own word, and status 2. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The same numbers for the same seed, everywhere. */
struct rng {
	uint64_t state;
};

uint64_t rng_next(struct rng *rng);
/* 0 to n - 1 */
unsigned rng_below(struct rng *rng, unsigned n);
/* True in `percent` of 100 cases. */
bool rng_chance(struct rng *rng, unsigned percent);

#endif
