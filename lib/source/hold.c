/* SPDX-License-Identifier: BSD-2-Clause
 * ENVI headers and numbers in a stream that have not met. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "intake-inside.h"
#include "media/raster.h"

/* What one that waits takes besides its bytes, about. */
#define EACH_BYTES 512

void td_waiting_free(struct td_waiting *w)
{
	td_buf_free(&w->name);
	td_buf_free(&w->data);
	td_buf_free(&w->reason);
	td_spilled_drop(w->file);
	*w = (struct td_waiting){ 0 };
}

void td_waiting_reset(struct td_waiting *w)
{
	td_spilled_drop(w->file);
	w->file = NULL;
	w->header = w->numbers = false;
	w->data.len = 0;
	w->code = 0;
}

static const char *name_of(const struct td_waiting *w)
{
	return (const char *)w->name.data;
}

bool td_hold_wants(const struct td_hold *h, const char *name)
{
	for (size_t i = 0; i < h->n_headers; i++)
		if (td_raster_is_data(name_of(&h->headers[i]), name))
			return true;
	return false;
}

static void take_out(struct td_hold *h, struct td_waiting *list, size_t *n, size_t i, struct td_waiting *ret)
{
	*ret = list[i];
	h->bytes -= ret->data.len + EACH_BYTES;
	memmove(&list[i], &list[i + 1], (--*n - i) * sizeof *list);
}

static int put_in(struct td_hold *h, struct td_waiting **list, size_t *cap, size_t *n, struct td_waiting *w,
    struct tundish_error *e)
{
	if (w->data.len + EACH_BYTES > h->most - h->bytes)
		return td_err(e, TUNDISH_E_LIMIT, "no room to wait for what belongs to it: more --memory is needed");
	if (!td_grow(list, cap, *n, sizeof **list))
		return td_err_memory(e);
	h->bytes += w->data.len + EACH_BYTES;
	(*list)[(*n)++] = *w;
	*w = (struct td_waiting){ 0 };
	return 0;
}

int td_hold_header(struct td_hold *h, struct td_waiting *header, struct td_waiting *ret_numbers,
    struct tundish_error *e)
{
	unsigned best = 0;
	size_t at = 0;
	for (size_t i = 0; i < h->n_numbers; i++) {
		unsigned rank = td_raster_is_data(name_of(header), name_of(&h->numbers[i]));
		at = rank > best ? i : at;
		best = TD_MAX(best, rank);
	}
	if (best == 0)
		return put_in(h, &h->headers, &h->headers_cap, &h->n_headers, header, e);
	take_out(h, h->numbers, &h->n_numbers, at, ret_numbers);
	return 1;
}

int td_hold_numbers(struct td_hold *h, struct td_waiting *numbers, struct td_waiting *ret_header,
    struct tundish_error *e)
{
	for (size_t i = 0; i < h->n_headers; i++)
		if (td_raster_is_data(name_of(&h->headers[i]), name_of(numbers))) {
			take_out(h, h->headers, &h->n_headers, i, ret_header);
			return 1;
		}
	return put_in(h, &h->numbers, &h->numbers_cap, &h->n_numbers, numbers, e);
}

int td_hold_join(struct td_spilled **ret, const struct td_waiting *header, struct td_waiting *numbers,
    struct tundish_error *e)
{
	struct td_spilled *s = numbers->file;
	numbers->file = NULL;
	int rc = s ? 0 : td_spilled_new(&s, e);
	if (rc < 0)
		return rc;
	if (s->data_fd < 0) {
		rc = td_spilled_add_data(s, e);
		if (rc == 0)
			rc = td_spilled_put(s->data_fd, numbers->data.data, numbers->data.len, e);
	}
	if (rc == 0)
		rc = td_spilled_put(s->fd, header->data.data, header->data.len, e);
	if (rc < 0)
		td_spilled_drop(s);
	else
		*ret = s;
	return rc;
}

bool td_hold_orphan(struct td_hold *h, struct td_waiting *ret)
{
	if (h->n_headers == 0)
		return false;
	take_out(h, h->headers, &h->n_headers, 0, ret);
	return true;
}

void td_hold_free(struct td_hold *h)
{
	for (size_t i = 0; i < h->n_headers; i++)
		td_waiting_free(&h->headers[i]);
	for (size_t i = 0; i < h->n_numbers; i++)
		td_waiting_free(&h->numbers[i]);
	free(h->headers);
	free(h->numbers);
	*h = (struct td_hold){ .most = h->most };
}
