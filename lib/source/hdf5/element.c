/* SPDX-License-Identifier: BSD-2-Clause
 * What elements of HDF5 datasets stand for: bytes, texts, numbers. */
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "inside.h"

/* A text without what fills it up. */
static size_t text_bytes(const struct td_h5_type *t, const uint8_t *text, size_t bytes)
{
	size_t n = strnlen((const char *)text, bytes);
	while (t->blanks && n && text[n - 1] == ' ')
		n--;
	return n;
}

int td_h5_element_bytes(struct td_buf *out, const struct td_h5_data *d, const uint8_t *element, bool picture,
    struct tundish_error *e)
{
	const struct td_h5_type *t = &d->type;
	if (t->what == TD_H5_VLEN || t->what == TD_H5_VTEXT) {
		int rc = td_h5_heap_read(out, d, element, d->max_bytes, e);
		if (rc == 0 && t->what == TD_H5_VTEXT && !picture)
			out->len = text_bytes(t, out->data, out->len);
		return rc;
	}
	size_t bytes = t->bytes;
	if (picture)
		while (bytes && element[bytes - 1] == 0)
			bytes--;
	else if (t->what == TD_H5_TEXT)
		bytes = text_bytes(t, element, bytes);
	return td_buf_add(out, element, bytes) ? 0 : td_err_memory(e);
}

int td_h5_element_numbers(struct td_buf *out, const struct td_h5_data *d, const uint8_t *elements, uint64_t n,
    struct tundish_error *e)
{
	const struct td_h5_type *t = &d->type;
	uint64_t each = t->count * td_elem_bytes(t->elem), bytes;
	if (td_mul_overflow(each, n, &bytes) || bytes > d->max_bytes)
		return td_err(e, TUNDISH_E_LIMIT, "record would be more than the limit of %" PRIu64 " bytes", d->max_bytes);
	if (!td_buf_fit(out, bytes))
		return td_err_memory(e);
	int rc = 0;
	if (t->count == 1)
		rc = td_h5_numbers(out->data, t, elements + t->offset, n, d->element_bytes, e);
	else if (d->element_bytes == t->count * t->bytes)
		rc = td_h5_numbers(out->data, t, elements, n * t->count, t->bytes, e);
	else
		for (uint64_t i = 0; rc == 0 && i < n; i++)
			rc = td_h5_numbers(out->data + i * each, t, elements + i * d->element_bytes + t->offset, t->count,
			    t->bytes, e);
	out->len = bytes;
	return rc;
}

int td_h5_vlen_numbers(struct td_buf *out, const struct td_h5_data *d, const uint8_t *element, struct td_buf *scratch,
    uint64_t *ret_n, struct tundish_error *e)
{
	const struct td_h5_type *t = &d->type;
	scratch->len = 0;
	int rc = td_h5_heap_read(scratch, d, element, d->max_bytes, e);
	uint64_t n = scratch->len / t->bytes;
	if (rc == 0 && !td_buf_fit(out, n * td_elem_bytes(t->elem)))
		rc = td_err_memory(e);
	if (rc == 0 && n)
		rc = td_h5_numbers(out->data, t, scratch->data, n, t->bytes, e);
	out->len = rc == 0 ? n * td_elem_bytes(t->elem) : 0;
	*ret_n = n;
	return rc;
}

int td_h5_read_row(struct td_buf *row, struct td_h5_data *d, struct td_h5_cache *cache, uint64_t first, uint64_t n,
    struct tundish_error *e)
{
	uint64_t bytes = n * d->row_bytes;
	if (bytes > d->max_bytes)
		return td_err(e, TUNDISH_E_LIMIT, "record would be %" PRIu64 " bytes; the limit is %" PRIu64, bytes, d->max_bytes);
	if (!td_buf_fit(row, bytes))
		return td_err_memory(e);
	row->len = bytes;
	return td_h5_rows(d, cache, first, n, row->data, e);
}
