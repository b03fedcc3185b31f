/* SPDX-License-Identifier: BSD-2-Clause
 * The table of formats. */
#include "format.h"

#include <stdlib.h>

#include "arrays.h"
#include "picture.h"

const struct td_format *const td_formats[] = {
	&td_format_picture,
	&td_format_arrays,
};
const unsigned td_n_formats = TD_COUNT(td_formats);

int td_format_probe(const char *path, const uint8_t *head, size_t len)
{
	int best = 0, found = -1;
	for (unsigned i = 0; i < td_n_formats; i++) {
		int score = td_formats[i]->probe(path, head, len);
		if (score > best) {
			best = score;
			found = (int)i;
		}
	}
	return found;
}

int td_format_named(const char *path)
{
	for (unsigned i = 0; i < td_n_formats; i++)
		if (td_formats[i]->named && td_formats[i]->named(path))
			return (int)i;
	return -1;
}

void td_loaded_free(struct td_loaded *s)
{
	if (s->opened)
		s->close(s->opened);
	free(s->opened_path);
	td_buf_free(&s->data);
	td_buf_free(&s->scratch);
	*s = (struct td_loaded){ 0 };
}
