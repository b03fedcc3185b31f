/* SPDX-License-Identifier: BSD-2-Clause
 * "Did you mean": the nearest of some names to a mistyped one. */
#include "near.h"

#include <stdbool.h>
#include <string.h>

#include "base/attr.h"

#define LONGEST 40

/* Insertions, deletions, replacements and swaps of neighbours between a and b. */
static size_t edits(const char *a, size_t n, const char *b, size_t m)
{
	size_t d[LONGEST + 1][LONGEST + 1];
	for (size_t i = 0; i <= n; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		for (size_t j = 1; j <= m; j++) {
			size_t step = TD_MIN(d[i - 1][j], d[i][j - 1]) + 1;
			d[i][j] = TD_MIN(step, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = TD_MIN(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[n][m];
}

void near_offer(const char *typed, const char *name, const char **best, size_t *distance)
{
	size_t n = strlen(typed), m = strlen(name);
	if (n > LONGEST || m > LONGEST)
		return;
	size_t d = edits(typed, n, name, m);
	bool start = n > 1 && !strncmp(typed, name, n);
	/* one slip in three letters is a slip; more is another word */
	if (d < *distance && (start || d <= TD_MIN(n, m) / 3 + (m <= 3 && n > 1))) {
		*best = name;
		*distance = d;
	}
}
