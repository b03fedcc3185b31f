/* SPDX-License-Identifier: BSD-2-Clause
 * What every unit test includes: cmocka and what it needs first. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* PATH below ../shared; the test is skipped where that folder is missing. */
static inline const char *shared_path(const char *path)
{
	static char text[4096];
	const char *root = getenv("TUNDISH_SHARED");
	snprintf(text, sizeof text, "%s", root ? root : "../shared");
	FILE *f = fopen(text, "re");
	if (!f) {
		print_message("skipped: no ../shared\n");
		skip();
	}
	fclose(f);
	snprintf(text, sizeof text, "%s/%s", root ? root : "../shared", path);
	return text;
}

/* PATH below the source tree. */
static inline const char *source_path(const char *path)
{
	static char text[4096];
	const char *root = getenv("TUNDISH_SOURCE");
	snprintf(text, sizeof text, "%s/%s", root ? root : ".", path);
	return text;
}
