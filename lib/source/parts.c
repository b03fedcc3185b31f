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
	td_buf_free(&parts->classes);
	json_decref(parts->about);
	free(parts->numbers);
	td_buf_free(&parts->index);
	free(parts->loss);
	*parts = (struct td_parts){ 0 };
}

void td_loaded_close(struct td_loaded *s)
{
	if (s->opened)
		s->close(s->opened);
	free(s->opened_path);
	s->opened = NULL;
	s->opened_path = NULL;
}

void td_spill_free(struct td_spill *s)
{
	td_spilled_drop(s->file);
	*s = (struct td_spill){ 0 };
}

void td_loaded_spill(struct td_loaded *s, struct td_spilled *file)
{
	if (s->spill.file == file)
		return;
	td_loaded_close(s);
	td_spill_free(&s->spill);
	s->spill.file = td_spilled_share(file);
}

void td_series_free(struct td_series *s)
{
	free(s->path);
	free(s->times);
	free(s->values);
	*s = (struct td_series){ 0 };
}

void td_loaded_free(struct td_loaded *s)
{
	td_loaded_close(s);
	td_spill_free(&s->spill);
	td_buf_free(&s->data);
	td_buf_free(&s->scratch);
	td_buf_free(&s->ends);
	td_buf_free(&s->times);
	for (int i = 0; s->series && i < TD_ALIGNS_MOST; i++)
		td_series_free(&s->series[i]);
	free(s->series);
	td_extras_free(&s->extras);
	*s = (struct td_loaded){ 0 };
}
