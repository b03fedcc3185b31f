/* SPDX-License-Identifier: BSD-2-Clause
 * Freeing what formats hand out. */
#include <stdlib.h>

#include "format.h"

void td_parts_free(struct td_parts *parts)
{
	free(parts->data_path);
	td_specs_free(&parts->specs);
	td_buf_free(&parts->labels);
	td_buf_free(&parts->groups);
	free(parts->numbers);
	*parts = (struct td_parts){ 0 };
}

void td_loaded_free(struct td_loaded *s)
{
	if (s->opened)
		s->close(s->opened);
	free(s->opened_path);
	td_buf_free(&s->data);
	td_buf_free(&s->scratch);
	td_extras_free(&s->extras);
	*s = (struct td_loaded){ 0 };
}
