/* SPDX-License-Identifier: BSD-2-Clause
 * Which records to keep, by the value of one feature. */
#pragma once
#include <stdbool.h>

#include "source/classes.h"
#include "tundish.h"

enum td_filter_op {
	TD_FILTER_EQUAL,   /* one of the values */
	TD_FILTER_UNEQUAL, /* none of them */
	TD_FILTER_LESS,
	TD_FILTER_LESS_EQUAL,
	TD_FILTER_GREATER,
	TD_FILTER_GREATER_EQUAL,
};

struct td_filter_value {
	char *text;
	int64_t number;
	double real;
	bool is_int, is_real;
};

struct td_filter {
	char *key; /* NULL: keep all */
	enum td_filter_op op;
	struct td_filter_value *values;
	size_t n;
};

/* "KEY in A,B", "KEY=A", "KEY!=A", "KEY<A", "<=", ">", ">=". Blanks around words do not
 * matter. A value that is the name of a class stands for its label. USAGE. */
int td_filter_parse(struct td_filter *ret, const char *spec, const struct td_classes *names,
    struct tundish_error *e);
/* By the first value of the feature; a record without it is not kept. NaN is unequal to all.
 * Numbers are compared as numbers, bytes as bytes. */
bool td_filter_keeps(const struct td_filter *f, const struct tundish_feature *feature);
void td_filter_free(struct td_filter *f);
