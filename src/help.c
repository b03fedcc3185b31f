/* SPDX-License-Identifier: BSD-2-Clause
 * The texts of --help, made from the manual pages when the program is built. */
#include "help.h"

#include <string.h>

#include "base/attr.h"

static const struct {
	const char *command, *text;
} pages[] = {
#include "man/help-texts.h"
};

void help_print(FILE *to, const char *command)
{
	for (size_t i = 0; i < TD_COUNT(pages); i++)
		if (!strcmp(pages[i].command, command))
			fputs(pages[i].text, to);
}
