/* SPDX-License-Identifier: BSD-2-Clause
 * What a fuzzer is: one file fuzz-x.c with this function, seeds in corpus/x. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tundish.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Stops where something that must hold does not, in any kind of build. */
#define MUST(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

/* What must hold for any call that failed: a code of the list, with words. */
static inline void must_be_told(int r, const struct tundish_error *e)
{
	MUST(r >= TUNDISH_E_BAD);
	MUST(e->code == r);
	MUST(e->text[0] && strlen(e->text) < sizeof e->text);
	MUST(!strchr(e->text, '\n'));
}
