/* SPDX-License-Identifier: BSD-2-Clause
 * Our entropy decoder in the place of libjpeg's, for baseline files. */
#include "entropy.h"

#include <string.h>

#include "base/bits.h"
#include "media/found.h"

#if HAVE_JPEGINT_H
#include <jpegint.h>
#endif

static struct td_entropy_client *client(j_decompress_ptr c)
{
	return c->client_data;
}

void td_entropy_free(struct td_entropy *t)
{
	td_buf_free(&t->clean);
	td_buf_free(&t->walk);
	td_buf_free(&t->ends);
}

static bool build_tables(struct td_entropy *t, j_decompress_ptr c)
{
	t->huff = td_huff_best();
	t->mcu.n = (unsigned)c->blocks_in_MCU;
	for (int i = 0; i < c->blocks_in_MCU; i++) {
		int which = c->MCU_membership[i];
		int dc = c->cur_comp_info[which]->dc_tbl_no,
		    ac = c->cur_comp_info[which]->ac_tbl_no;
		JHUFF_TBL *dc_code = c->dc_huff_tbl_ptrs[dc], *ac_code = c->ac_huff_tbl_ptrs[ac];
		t->mcu.block[i].dc = &t->dc_tables[dc];
		t->mcu.block[i].ac = &t->ac_tables[ac];
		t->mcu.block[i].skip = &t->skip_tables[ac];
		t->mcu.block[i].component = (unsigned)which;
		if (!dc_code || !ac_code ||
		    !td_huff_build_dc(&t->dc_tables[dc], dc_code->bits, dc_code->huffval) ||
		    !td_huff_build_skip(&t->skip_tables[ac], ac_code->bits, ac_code->huffval))
			return false;
	}
	return true;
}

/* For those blocks that are wanted. */
static bool build_values(struct td_entropy *t, j_decompress_ptr c)
{
	for (int i = 0; i < c->num_components; i++) {
		int ac = c->cur_comp_info[i]->ac_tbl_no;
		const JHUFF_TBL *code = c->ac_huff_tbl_ptrs[ac];
		if (!td_huff_build_ac(&t->ac_tables[ac], code->bits, code->huffval))
			return false;
	}
	return true;
}

/* Appends scan[from, to) without stuffed zeros; stops before a marker, which *ret_marker
 * then is, else 0. Returns where it stopped. Room is there. */
static size_t unstuff(struct td_entropy *t, size_t from, size_t to, unsigned *ret_marker)
{
	const uint8_t *p = t->scan + from, *end = t->scan + to;
	uint8_t *out = t->clean.data + t->clean.len;
	*ret_marker = 0;
	while (p < end) {
		const uint8_t *ff = memchr(p, 0xff, (size_t)(end - p));
		size_t n = (size_t)((ff ? ff : end) - p);
		memcpy(out, p, n);
		out += n;
		p += n;
		if (!ff)
			break;
		/* the byte behind FF may lie beyond `to`, not beyond the scan */
		unsigned next = p + 1 < t->scan + t->scan_bytes ? p[1] : JPEG_EOI;
		if (next != 0) {
			*ret_marker = next;
			break;
		}
		*out++ = 0xff;
		p += 2;
	}
	t->clean.len = (size_t)(out - t->clean.data);
	return (size_t)(p - t->scan);
}

/* All of the scan at once. Restart markers out of turn end it: whoever needs what is
 * behind them gives up. */
static bool unstuff_all(struct td_entropy *t)
{
	if (!td_buf_fit(&t->clean, t->scan_bytes + TD_HUFF_PADDING))
		return false;
	t->ends.len = 0;
	unsigned marker, turn = 0;
	for (size_t at = 0;; at += 2, turn++) {
		at = unstuff(t, at, t->scan_bytes, &marker);
		if (!td_buf_add(&t->ends, &t->clean.len, sizeof t->clean.len))
			return false;
		if (!t->interval || marker != JPEG_RST0 + (turn & 7))
			break;
	}
	memset(t->clean.data + t->clean.len, 0, TD_HUFF_PADDING);
	return true;
}

static bool start_scan(struct td_entropy *t, j_decompress_ptr c)
{
	if (c->progressive_mode || c->arith_code || jpeg_has_multiple_scans(c) ||
	    c->comps_in_scan != c->num_components || c->data_precision != 8 ||
	    c->blocks_in_MCU > TD_MCU_BLOCKS || c->unread_marker != 0)
		return false;
	t->scan = c->src->next_input_byte;
	t->scan_bytes = c->src->bytes_in_buffer;
	t->mcus_per_row = c->MCUs_per_row;
	t->interval = c->restart_interval;
	t->stretch = SIZE_MAX;
	t->at = t->next = 0;
	return build_tables(t, c);
}

/* Goes to the start of a restart interval. */
static bool enter_interval(struct td_entropy *t, size_t i)
{
	const size_t *ends = (const size_t *)t->ends.data;
	if (i >= t->ends.len / sizeof *ends)
		return false;
	const uint8_t *base = t->clean.data;
	td_bits_start(&t->bits, base + (i ? ends[i - 1] : 0), base + ends[i], 0);
	memset(t->dc, 0, sizeof t->dc);
	t->stretch = i;
	t->at = (uint64_t)i * t->interval;
	return true;
}

#define MOST_OFFSET 0x1ffffffu

struct entry {
	size_t offset;
	unsigned bit;
	int32_t dc[3];
};

static struct entry unpack(const struct td_entries *entries, size_t i)
{
	uint64_t v = td_le64(entries->packed + i * TD_ENTRY_BYTES);
	struct entry e = { .offset = v & 0x1ffffff, .bit = v >> 25 & 7 };
	for (unsigned k = 0; k < 3; k++)
		e.dc[k] = (int32_t)(v >> (28 + 12 * k) & 0xfff) - 2048;
	return e;
}

static bool add_packed(struct td_buf *out, const struct entry *e)
{
	uint64_t v = e->offset | (uint64_t)e->bit << 25;
	if (e->offset > MOST_OFFSET)
		return false;
	for (unsigned k = 0; k < 3; k++) {
		if (e->dc[k] < -2048 || e->dc[k] > 2047)
			return false;
		v |= (uint64_t)(e->dc[k] + 2048) << (28 + 12 * k);
	}
	uint8_t bytes[TD_ENTRY_BYTES];
	td_put_le64(bytes, v);
	return td_buf_add(out, bytes, sizeof bytes);
}

/* What was decoded up to an entry must end where it says, with the values it says. */
static bool meets(const struct td_entropy *t, const struct entry *entry, uint64_t mcu)
{
	if (t->stretch == SIZE_MAX || t->at != mcu)
		return true;
	for (unsigned i = 0; i < 3; i++)
		if (t->dc[i] != entry->dc[i])
			return false;
	return td_bits_place(&t->bits, t->clean.data) == t->stretch_bits;
}

/* Goes to an entry: its stretch of the scan is made clean, no more. */
static bool enter_entry(struct td_entropy *t, size_t i, uint64_t mcu)
{
	bool last = i + 1 == t->entries->n;
	struct entry entry = unpack(t->entries, i), after = { .offset = t->scan_bytes };
	if (!last)
		after = unpack(t->entries, i + 1);
	if (!meets(t, &entry, mcu) || entry.offset > after.offset ||
	    after.offset > t->scan_bytes - !last ||
	    !td_buf_fit(&t->clean, after.offset - entry.offset + TD_HUFF_PADDING + 8))
		return false;
	unsigned marker;
	unstuff(t, entry.offset, after.offset, &marker);
	if (!last && marker)
		return false;
	size_t whole = t->clean.len;
	t->stretch_bits = (uint64_t)whole * 8 + after.bit;
	if (after.bit) /* the byte that is shared with the next stretch */
		t->clean.data[whole++] = t->scan[after.offset];
	memset(t->clean.data + whole, 0, TD_HUFF_PADDING);
	td_bits_start(&t->bits, t->clean.data, t->clean.data + whole, entry.bit);
	memcpy(t->dc, entry.dc, sizeof entry.dc);
	t->stretch = i;
	t->at = mcu;
	return true;
}

static bool enter(struct td_entropy *t, uint64_t mcu)
{
	if (!t->entries) {
		size_t i = t->interval ? (size_t)(mcu / t->interval) : 0;
		return i == t->stretch || enter_interval(t, i);
	}
	uint64_t row = mcu / t->mcus_per_row,
		 part = mcu % t->mcus_per_row / t->entries->spacing;
	uint64_t per_row = (t->mcus_per_row - 1) / t->entries->spacing + 1;
	uint64_t i = row * per_row + part;
	return i == t->stretch ||
	       (i < t->entries->n && enter_entry(t, (size_t)i,
					 row * t->mcus_per_row + part * t->entries->spacing));
}

/* Goes to an MCU that is not behind us. */
static bool seek(struct td_entropy *t, uint64_t mcu)
{
	if (!enter(t, mcu))
		return false;
	uint64_t n = mcu - t->at;
	t->at = mcu;
	return n == 0 || t->huff->pass(&t->mcu, &t->bits, t->dc, n);
}

/* Adds those marks that entries are wanted for. */
struct indexing {
	const struct td_entropy *t;
	uint32_t spacing;
	uint64_t mcu, next;	 /* MCU of the first mark; of the next entry */
	size_t counted, stuffed; /* stuffed zeros in so many bytes */
	struct td_buf *out;
};

static size_t count_ff(const uint8_t *p, size_t n)
{
	size_t sum = 0;
	while (n > 0) {
		size_t some = TD_MIN(n, (size_t)255);
		uint8_t found = 0; /* small, so that the compiler counts many at once */
		for (size_t i = 0; i < some; i++)
			found = (uint8_t)(found + (p[i] == 0xff));
		sum += found;
		p += some;
		n -= some;
	}
	return sum;
}

static bool add_entry(struct indexing *x, const struct td_mark *m)
{
	size_t place = m->place / 8;
	x->stuffed += count_ff(x->t->clean.data + x->counted, place - x->counted);
	x->counted = place;
	struct entry e = { .offset = place + x->stuffed, .bit = m->place % 8 };
	memcpy(e.dc, m->dc, sizeof e.dc);
	uint32_t row = x->t->mcus_per_row;
	x->next = TD_MIN(x->next + x->spacing, (x->next / row + 1) * row);
	return add_packed(x->out, &e);
}

static bool add_entries(struct indexing *x, const struct td_mark *marks, size_t n)
{
	for (size_t i = 0; i < n; i++, x->mcu++) {
		for (int k = 0; k < 3; k++)
			if (marks[i].dc[k] != (int16_t)marks[i].dc[k])
				return false;
		if (x->mcu == x->next && !add_entry(x, &marks[i]))
			return false;
	}
	return true;
}

bool td_entropy_index(j_decompress_ptr c, uint32_t spacing, struct td_buf *out)
{
	struct td_entropy *t = &client(c)->entropy;
	uint64_t mcus = (uint64_t)c->MCUs_per_row * c->MCU_rows_in_scan;
	t->entries = NULL;
	if (!start_scan(t, c) || t->interval || c->num_components > 3 || !unstuff_all(t) ||
	    t->clean.len > MOST_OFFSET || !td_buf_fit(&t->walk, sizeof(struct td_walk)))
		return false;
	struct td_walk *w = (void *)t->walk.data;
	struct indexing x = { .t = t, .spacing = spacing, .out = out };
	w->marks[0] = (struct td_mark){ 0 };
	while (x.mcu < mcus) {
		size_t n = t->huff->walk(&t->mcu, t->clean.data, t->clean.len, w, mcus - x.mcu);
		if (n == 0 || !add_entries(&x, w->marks, n))
			return false;
		w->marks[0] = w->marks[n];
	}
	return true;
}

#if HAVE_JPEGINT_H
/* In the place of libjpeg's own. MCUs that nobody wants are not even passed over until
 * a wanted one comes behind them, and then in the shortest way. */
static boolean decode_mcu(j_decompress_ptr c, JBLOCKROW *blocks)
{
	struct td_entropy *t = &client(c)->entropy;
	uint64_t mcu = t->next++;
	uint32_t col = (uint32_t)(mcu % t->mcus_per_row);
	if (!blocks || col < t->first_col || col > t->last_col)
		return TRUE;
	if (!seek(t, mcu) ||
	    !t->huff->decode(&t->mcu, &t->bits, t->dc, (td_block *const *)blocks))
		client(c)->give_up(c);
	t->at++;
	return TRUE;
}

/* As many entries as there must be, the first at the start of the scan. */
static bool fits(
    const struct td_entropy *t, j_decompress_ptr c, const struct td_entries *entries)
{
	struct entry first = unpack(entries, 0);
	if (first.offset || first.bit || first.dc[0] || first.dc[1] || first.dc[2])
		return false;
	uint64_t per_row = (c->MCUs_per_row - 1) / entries->spacing + 1;
	return !t->interval && c->num_components <= 3 &&
	       entries->n == per_row * c->MCU_rows_in_scan;
}

bool td_entropy_attach(
    j_decompress_ptr c, uint32_t first_col, uint32_t last_col, const struct td_entries *entries)
{
	struct td_entropy *t = &client(c)->entropy;
	if (!start_scan(t, c) || !build_values(t, c))
		return false;
	t->first_col = first_col;
	t->last_col = last_col;
	t->entries = entries && fits(t, c, entries) ? entries : NULL;
	if (!t->entries && !unstuff_all(t))
		return false;
	c->entropy->decode_mcu = decode_mcu;
	return true;
}
#else
bool td_entropy_attach(
    j_decompress_ptr c, uint32_t first_col, uint32_t last_col, const struct td_entries *entries)
{
	(void)c;
	(void)first_col;
	(void)last_col;
	(void)entries;
	return false;
}
#endif
