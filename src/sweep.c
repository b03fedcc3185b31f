/* SPDX-License-Identifier: BSD-2-Clause
 * Settings to try: one option after the other, or all combinations. */
#include "sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/err.h"
#include "report.h"

#define MOST_POINTS 4096

/* Options of a flow that make sense with several values. */
static const char *const names[] = { "threads", "batch", "prefetch", "memory", "shuffle", "last",
	"seed", "limit" };

static int refuse(const char *text, const char *why)
{
	fprintf(stderr, "tundish bench: --sweep %s: %s\n", TD_ESC(text), why);
	return EXIT_USAGE;
}

static int parse_one(struct sweep *sweep, const char *text)
{
	bool known = false;
	char *values, *rest = NULL;
	sweep->text = strdup(text);
	if (!sweep->text)
		return refuse(text, "out of memory");
	values = strchr(sweep->text, '=');
	if (!values || !values[1])
		return refuse(text, "must be NAME=A,B,...");
	*values++ = 0;
	sweep->name = sweep->text;
	for (unsigned i = 0; i < TD_COUNT(names); i++)
		known |= !strcmp(sweep->name, names[i]);
	if (!known)
		return refuse(text, "the name must be threads, batch, prefetch, memory, shuffle, last, "
				    "seed or limit");
	for (char *v = strtok_r(values, ",", &rest); v; v = strtok_r(NULL, ",", &rest)) {
		if (sweep->n == TD_COUNT(sweep->values))
			return refuse(text, "too many values");
		sweep->values[sweep->n++] = v;
	}
	return sweep->n ? 0 : refuse(text, "must be NAME=A,B,...");
}

int sweeps_parse(struct sweeps *sweeps, const struct opt_list *texts, bool grid)
{
	unsigned sum = 0, product = 1;
	*sweeps = (struct sweeps){ .grid = grid, .points = 1 };
	for (unsigned i = 0; i < texts->n; i++) {
		int rc = parse_one(&sweeps->list[sweeps->n++], texts->items[i]);
		if (rc)
			return rc;
		for (unsigned k = 0; k < i; k++)
			if (!strcmp(sweeps->list[k].name, sweeps->list[i].name))
				return refuse(texts->items[i], "is given twice");
		sum += sweeps->list[i].n;
		product = TD_MIN(product * sweeps->list[i].n, MOST_POINTS + 1u);
	}
	if (texts->n)
		sweeps->points = grid ? product : sum;
	return sweeps->points <= MOST_POINTS ? 0 : refuse(texts->items[0], "too many combinations");
}

int sweeps_levels(struct sweeps *sweeps, const char *ops)
{
	struct sweep *sweep = &sweeps->list[0];
	size_t n = strlen(ops ? ops : (ops = "decode")), used = 0;
	*sweeps = (struct sweeps){ .n = 1, .levels = true, .points = 1 };
	/* each prefix in full: at most as many as there are places for values */
	sweep->text = calloc(TD_COUNT(sweep->values), n + 1);
	if (!sweep->text)
		return refuse(ops, "out of memory");
	sweep->name = "ops";
	sweep->values[sweep->n++] = "";
	for (size_t end = 0; ops[end];) {
		end += strspn(ops + end, " ");
		if (!ops[end])
			break;
		end += strcspn(ops + end, " ");
		if (sweep->n == TD_COUNT(sweep->values))
			return refuse(ops, "too many operations");
		char *prefix = sweep->text + used;
		memcpy(prefix, ops, end);
		prefix[end] = 0;
		used += end + 1;
		sweep->values[sweep->n++] = prefix;
	}
	sweeps->points = sweep->n;
	return 0;
}

void sweeps_free(struct sweeps *sweeps)
{
	for (unsigned i = 0; i < sweeps->n; i++)
		free(sweeps->list[i].text);
}

const char *sweeps_value(const struct sweeps *sweeps, unsigned point, unsigned k)
{
	const struct sweep *sweep = &sweeps->list[k];
	if (sweeps->grid) {
		for (unsigned later = k + 1; later < sweeps->n; later++)
			point /= sweeps->list[later].n;
		return sweep->values[point % sweep->n];
	}
	for (unsigned before = 0; before < k; before++) {
		if (point < sweeps->list[before].n)
			return NULL;
		point -= sweeps->list[before].n;
	}
	return point < sweep->n ? sweep->values[point] : NULL;
}
