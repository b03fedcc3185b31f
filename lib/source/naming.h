/* SPDX-License-Identifier: BSD-2-Clause
 * Which labels the items of a stream have, told one by one. */
#pragma once
#include "intake.h"
#include "rows.h"

struct td_naming {
	struct td_listing *l;
	const struct td_classes *fixed; /* a list, or NULL: labels are whole numbers */
	const struct td_list_options *o;
	struct td_labels labels;
	regex_t re;
	bool have_re;
	struct td_rows *rows; /* of a table, or NULL */
	size_t next_row;
	enum { TD_NAMING_OPEN, TD_NAMING_WITH, TD_NAMING_WITHOUT } decided;
	struct td_buf text;
};
int td_naming_init(struct td_naming *n, struct td_listing *l, const struct td_classes *fixed,
    const struct td_list_options *o, struct tundish_error *e);
void td_naming_fini(struct td_naming *n);
/* Whether an item of that name below its source is asked for: of a table its rows. */
bool td_naming_wants(struct td_naming *n, const char *name);
/* Gives a sample its label, row and group, by its name below its source and by what its own file
 * or side-car says (or NULL). It becomes bad where there should be a label and is none. USAGE
 * for one that cannot be. */
int td_naming_label(struct td_naming *n, struct td_taken *out, const char *name, const char *own,
    struct tundish_error *e);
/* Behind all items: rows for which there was none, each a bad sample: 1, 0 at the end. */
int td_naming_rest(struct td_naming *n, struct td_taken *out, struct tundish_error *e);
