/* SPDX-License-Identifier: BSD-2-Clause
 * Items that came out of a stream, on their own. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "group.h"
#include "intake.h"
#include "times.h"

uint64_t td_taken_bytes(const struct td_taken *s, const struct td_listing *l)
{
	return s->item >= 0 ? l->items[s->item].bytes : s->data.len + s->side.len + s->name.len + s->bytes;
}

void td_taken_free(struct td_taken *s)
{
	td_spilled_drop(s->file);
	td_buf_free(&s->name);
	td_buf_free(&s->data);
	td_buf_free(&s->side);
	td_buf_free(&s->group);
	td_buf_free(&s->class);
	td_buf_free(&s->reason);
	td_buf_free(&s->path);
	free(s->companions);
}

bool td_taken_text(struct td_buf *b, const char *text, size_t len)
{
	b->len = 0;
	return td_buf_add(b, text, len) && td_buf_add(b, "", 1);
}

int td_taken_bad(struct td_taken *s, int code, const char *reason, struct tundish_error *e)
{
	s->code = code;
	return td_taken_text(&s->reason, reason, strlen(reason)) ? 0 : td_err_memory(e);
}

static int load_file(struct td_loaded *out, const struct td_taken *s, const struct td_cut *cut, struct tundish_error *e)
{
	struct td_file file = { .path = (const char *)s->path.data, .index = &s->file->index };
	td_spilled_file(&file, s->file);
	td_loaded_spill(out, s->file);
	return td_format_load(out, (unsigned)s->format, &file, s->part, cut, e);
}

static int take_picture(struct td_loaded *out, struct td_taken *s, struct tundish_error *e)
{
	struct td_buf data = out->data;
	td_extras_reset(&out->extras);
	out->array = out->encoded = false;
	out->ends.len = out->times.len = 0;
	out->data = s->data;
	s->data = data;
	return td_frame_extras(out, (const char *)s->name.data) ? 0 : td_err_memory(e);
}

int td_taken_load(struct td_loaded *out, struct td_buf *path, struct td_taken *s, const struct td_listing *l,
    const struct td_cut *cut, struct tundish_error *e)
{
	if (s->item >= 0)
		return td_item_load(out, path, l, &l->items[s->item], cut, e);
	int rc = s->file ? load_file(out, s, cut, e) : take_picture(out, s, e);
	for (size_t i = 0; rc == 0 && i < s->n; i++) {
		const struct td_companion *c = &s->companions[i];
		rc = td_group_extras(&out->extras, c->role, (const char *)s->side.data + c->extension,
		    s->side.data + c->data, c->bytes, e);
	}
	return rc == 0 && cut->align ? td_aligns_load(cut->align, out, (const char *)s->path.data, e) : rc;
}
