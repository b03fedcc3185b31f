/* SPDX-License-Identifier: BSD-2-Clause */
#include "pictures.h"

#include "media/huffman.h"

/* The AC code for luminance of the standard's annex K, and its DC code. */
static const uint8_t dc_bits[17] = { 0, 0, 1, 5, 1, 1, 1, 1, 1, 1 };
static const uint8_t dc_values[256] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
static const uint8_t ac_bits[17] = { 0, 0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7d };

static void annex_k(uint8_t values[256])
{
	static const char hex[] =
	    "01020300041105122131410613516107227114328191a1082342b1c11552d1f0"
	    "24336272820 90a161718191a25262728292a3435363738393a434445464748494a"
	    "535455565758595a636465666768696a737475767778797a838485868788898a92"
	    "939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8"
	    "c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa";
	memset(values, 0, 256);
	unsigned n = 0, nibble = 0;
	for (const char *p = hex; *p; p++) {
		if (*p == ' ')
			continue;
		unsigned v = (unsigned)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
		values[n] = (uint8_t)(values[n] << 4 | v);
		n += nibble;
		nibble ^= 1;
	}
	assert_int_equal(n, 162);
}

struct tables {
	struct td_huff_dc dc;
	struct td_huff_ac ac;
	struct td_huff_skip skip;
	struct td_mcu mcu;
};

static struct tables *tables_of(const uint8_t bits[17], const uint8_t values[256])
{
	struct tables *t = calloc(1, sizeof *t);
	assert_true(td_huff_build_dc(&t->dc, dc_bits, dc_values));
	assert_true(td_huff_build_ac(&t->ac, bits, values));
	assert_true(td_huff_build_skip(&t->skip, bits, values));
	t->mcu.n = 3;
	for (unsigned i = 0; i < 3; i++) {
		t->mcu.block[i].dc = &t->dc;
		t->mcu.block[i].ac = &t->ac;
		t->mcu.block[i].skip = &t->skip;
		t->mcu.block[i].component = i;
	}
	return t;
}

static struct tables *new_tables(void)
{
	uint8_t values[256];
	annex_k(values);
	return tables_of(ac_bits, values);
}

/* A code of any shape, with far jumps and long values under short codes. */
static struct tables *odd_tables(uint32_t *seed)
{
	uint8_t bits[17] = { 0 }, values[256];
	int room = 1, n = 0;
	for (int len = 1; len <= 16; len++) {
		room *= 2;
		int most = TD_MIN(room - 1, 250 - n);
		bits[len] = (uint8_t)(most > 0 ? draw(seed) % (1 + (unsigned)TD_MIN(most, 3)) : 0);
		if (len == 16)
			bits[len] = (uint8_t)TD_MIN(most, 250 - n);
		room -= bits[len];
		n += bits[len];
	}
	for (int i = 0; i < 256; i++)
		values[i] = (uint8_t)draw(seed);
	values[draw(seed) % (unsigned)TD_MIN(n, 8)] = 0;
	values[draw(seed) % (unsigned)TD_MIN(n, 8)] = 0xf0;
	return tables_of(bits, values);
}

/* One bit after the other, as the standard's flow charts have it. */
struct slow {
	const uint8_t *data;
	size_t bit, bits;
};

static int next_bit(struct slow *s)
{
	if (s->bit >= s->bits)
		return -1;
	int v = s->data[s->bit / 8] >> (7 - s->bit % 8) & 1;
	s->bit++;
	return v;
}

static int slow_symbol(struct slow *s, const struct td_huff_code *c)
{
	int code = 0, first = 0, place = 0;
	for (int len = 1; len <= 16; len++) {
		int bit = next_bit(s);
		if (bit < 0)
			return -1;
		code = code << 1 | bit;
		if (code - first < c->bits[len])
			return c->values[place + code - first];
		place += c->bits[len];
		first = (first + c->bits[len]) << 1;
	}
	return -1;
}

static bool slow_value(struct slow *s, int size, int32_t *ret)
{
	int32_t v = 0;
	for (int i = 0; i < size; i++) {
		int bit = next_bit(s);
		if (bit < 0)
			return false;
		v = v << 1 | bit;
	}
	*ret = size && v < 1 << (size - 1) ? v - (1 << size) + 1 : v;
	return true;
}

static const uint8_t zigzag[64] = { 0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12,
	19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43,
	36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47,
	55, 62, 63 };

static bool slow_block(struct slow *s, const struct tables *t, int32_t *dc, td_block block)
{
	int32_t v;
	int symbol = slow_symbol(s, &t->dc.code);
	if (symbol < 0 || !slow_value(s, symbol, &v))
		return false;
	*dc += v;
	block[0] = (int16_t)*dc;
	for (int k = 1; k < 64; k++) {
		symbol = slow_symbol(s, &t->ac.code);
		if (symbol < 0)
			return false;
		int size = symbol & 15;
		if (size == 0 && symbol != 0xf0)
			break;
		k += symbol >> 4;
		if (k > 63 || !slow_value(s, size, &v))
			return false;
		block[zigzag[k]] = (int16_t)v;
	}
	return *dc == (int16_t)*dc;
}

/* Random bits, each set against the flow charts, to the first unsound block. */
static void one_run(const struct td_huff *h, const struct tables *t, uint32_t seed)
{
	static uint8_t data[400 + TD_HUFF_PADDING];
	for (int i = 0; i < 400; i++)
		data[i] = (uint8_t)draw(&seed);
	/* most runs begin with small codes, so that blocks get long */
	for (int i = 0; seed % 4 && i < 60; i++)
		data[i] &= (uint8_t)(0x55 | draw(&seed));
	struct td_bits b, before;
	unsigned skip = draw(&seed) % 8;
	td_bits_start(&b, data, data + 400, skip);
	struct slow s = { data, skip, 3200 };
	int32_t dc[4] = { 0 }, want_dc[4] = { 0 };
	for (int n = 0; n < 400; n++) {
		td_block got[3], want[3];
		td_block *const rows[3] = { &got[0], &got[1], &got[2] };
		memset(got, 0, sizeof got);
		memset(want, 0, sizeof want);
		bool fine = true;
		for (int i = 0; fine && i < 3; i++)
			fine = slow_block(&s, t, &want_dc[i], want[i]);
		before = b;
		int32_t dc_before[4];
		memcpy(dc_before, dc, sizeof dc);
		assert_int_equal(h->decode(&t->mcu, &b, dc, rows), fine);
		struct td_bits skipped = before;
		assert_int_equal(h->pass(&t->mcu, &skipped, dc_before, 1), fine);
		if (!fine)
			return;
		assert_memory_equal(got, want, sizeof got);
		assert_memory_equal(dc, want_dc, sizeof dc);
		assert_memory_equal(dc, dc_before, sizeof dc);
		assert_int_equal(td_bits_place(&b, data), s.bit);
		assert_int_equal(td_bits_place(&skipped, data), s.bit);
	}
	fail_msg("random bits that never end");
}

static void test_blocks(void **state)
{
	(void)state;
	struct tables *t = new_tables();
	for (uint32_t seed = 1; seed < 4000; seed++)
		for (unsigned i = 0; td_huff_at(i); i++)
			one_run(td_huff_at(i), t, seed);
	free(t);
	for (uint32_t seed = 1; seed < 4000; seed++) {
		uint32_t state_of = seed;
		t = odd_tables(&state_of);
		for (unsigned i = 0; td_huff_at(i); i++)
			one_run(td_huff_at(i), t, seed);
		free(t);
	}
}

/* ---- several places at once ---- */

#define STREAM 60000
static uint8_t stream[STREAM + TD_HUFF_PADDING];
static size_t stream_bits;

static void put(unsigned v, unsigned n)
{
	for (; n > 0; n--, stream_bits++)
		stream[stream_bits / 8] |= (uint8_t)((v >> (n - 1) & 1) << (7 - stream_bits % 8));
}

static void put_symbol(const struct td_huff_code *c, unsigned symbol)
{
	int code = 0;
	for (unsigned len = 1, place = 0; len <= 16; len++, code <<= 1)
		for (unsigned i = 0; i < c->bits[len]; i++, place++, code++)
			if (c->values[place] == symbol) {
				put((unsigned)code, len);
				return;
			}
	fail_msg("symbol %u has no code", symbol);
}

/* As many blocks as fit, of up to `most` coefficients; returns how many MCUs. */
static uint64_t write_stream(const struct tables *t, uint32_t *seed, unsigned most)
{
	memset(stream, 0, sizeof stream);
	stream_bits = 0;
	uint64_t blocks = 0;
	for (; stream_bits < (STREAM - 300) * 8; blocks++) {
		unsigned size = draw(seed) % 4, n = draw(seed) % (most + 1);
		put_symbol(&t->dc.code, size);
		put(draw(seed), size);
		unsigned k = 0;
		while (k < n) {
			size = 1 + draw(seed) % 4;
			unsigned run = draw(seed) % 3;
			if (k + run + 1 > 63)
				break;
			put_symbol(&t->ac.code, run << 4 | size);
			put(draw(seed), size);
			k += run + 1;
		}
		if (k < 63)
			put_symbol(&t->ac.code, 0);
		if (blocks % 3 == 2 && draw(seed) % 3000 == 0)
			break;
	}
	return blocks / 3;
}

/* One MCU after the other gives the same marks, and ends at the same place. */
static void same_marks(const struct td_huff *h, const struct tables *t, struct td_walk *w, size_t len,
    uint64_t mcus)
{
	struct td_bits b;
	int32_t dc[4] = { 0 };
	td_bits_start(&b, stream, stream + len, 0);
	w->marks[0] = (struct td_mark){ 0 };
	for (uint64_t done = 0; done < mcus;) {
		size_t n = h->walk(&t->mcu, stream, len, w, mcus - done);
		if (n == 0) {
			assert_false(h->pass(&t->mcu, &b, dc, 1));
			return;
		}
		assert_true(n <= mcus - done);
		for (size_t i = 1; i <= n; i++) {
			assert_true(h->pass(&t->mcu, &b, dc, 1));
			assert_int_equal(w->marks[i].place, td_bits_place(&b, stream));
			assert_memory_equal(w->marks[i].dc, dc, sizeof w->marks[i].dc);
		}
		w->marks[0] = w->marks[n];
		done += n;
	}
}

static void test_walk(void **state)
{
	(void)state;
	struct tables *t = new_tables();
	struct td_walk *w = malloc(sizeof *w);
	static const unsigned sizes[] = { 0, 2, 12, 63 };
	uint32_t seed = 3;
	for (unsigned run = 0; run < 160; run++) {
		uint64_t mcus = write_stream(t, &seed, sizes[run % TD_COUNT(sizes)]);
		size_t len = stream_bits / 8 + 1;
		if (run % 5 == 3) /* damage */
			stream[draw(&seed) % len] ^= (uint8_t)(1u << draw(&seed) % 8);
		if (run % 5 == 4)
			len -= draw(&seed) % (len / 2);
		for (unsigned i = 0; td_huff_at(i); i++) {
			same_marks(td_huff_at(i), t, w, len, mcus);
			same_marks(td_huff_at(i), t, w, len, 1 + draw(&seed) % mcus);
		}
	}
	free(w);
	free(t);
}

static void test_bad_tables(void **state)
{
	(void)state;
	struct tables *t = new_tables();
	uint8_t bits[17] = { 0, 3 }, values[256] = { 0 };
	assert_false(td_huff_build_dc(&t->dc, bits, values));
	assert_false(td_huff_build_ac(&t->ac, bits, values));
	assert_false(td_huff_build_skip(&t->skip, bits, values));
	memset(bits, 255, sizeof bits);
	bits[1] = bits[2] = 0;
	assert_false(td_huff_build_ac(&t->ac, bits, values));
	/* a code without symbols is no error, but nothing can be read with it */
	memset(bits, 0, sizeof bits);
	assert_true(td_huff_build_ac(&t->ac, bits, values));
	assert_true(td_huff_build_skip(&t->skip, bits, values));
	assert_true(td_huff_build_dc(&t->dc, bits, values));
	static const uint8_t data[16 + TD_HUFF_PADDING];
	struct td_bits b;
	int32_t dc[4] = { 0 };
	td_bits_start(&b, data, data + 16, 0);
	for (unsigned i = 0; td_huff_at(i); i++)
		assert_false(td_huff_at(i)->pass(&t->mcu, &b, dc, 1));
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_bad_tables),
	};
	return cmocka_run_group_tests_name("huffman", tests, NULL, NULL);
}
