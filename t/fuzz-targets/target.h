/*
 * Fuzz targets: what each of them is.
 *
 * A target reads one input as the program would, whatever it is, and ends by abort() when something is
 * not as it must be. It touches nothing but a directory of its own. libFuzzer calls it with inputs that it makes up,
 * and replay.c with those that are kept.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_FUZZ_TARGET_H
#define EWS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define must(condition, ...)                          \
	do {                                          \
		if (!(condition)) {                   \
			fprintf(stderr, __VA_ARGS__); \
			fputc('\n', stderr);          \
			abort();                      \
		}                                     \
	} while (0)

#endif
