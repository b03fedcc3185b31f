/* SPDX-License-Identifier: BSD-2-Clause
 * The texts of --help, made from the manual pages when the program is built. */
#include "help.h"

#include <string.h>

#include "base/attr.h"

static const struct {
	const char *page, *text;
} pages[] = {
#include "man/help-texts.h"
};

bool help_print(FILE *to, const char *page)
{
	for (size_t i = 0; i < TD_COUNT(pages); i++) {
		if (!strcmp(pages[i].page, page)) {
			fputs(pages[i].text, to);
			return true;
		}
	}
	return false;
}
