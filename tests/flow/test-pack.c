/* SPDX-License-Identifier: BSD-2-Clause
 * convert and shard: the same files for any number of threads, compressed or not; stopping
 * leaves nothing behind. */
#include "sets.h"

#include "base/path.h"

static int hash_file(void *ctx, const struct td_walk_entry *entry, struct tundish_error *e)
{
	(void)e;
	char *text;
	size_t len;
	assert_true(td_buf_printf(ctx, "\n%s ", entry->name));
	if (entry->what != TD_WALK_FILE)
		return 0;
	FILE *f = fopen(entry->path, "re");
	assert_non_null(f);
	text = malloc(entry->bytes + 1);
	len = fread(text, 1, entry->bytes + 1, f);
	fclose(f);
	assert_int_equal(len, entry->bytes);
	assert_true(td_buf_add(ctx, text, len));
	free(text);
	return 0;
}

static struct td_buf contents(const char *folder)
{
	struct td_buf all = { 0 };
	assert_int_equal(td_walk(folder, hash_file, &all, NULL), 0);
	return all;
}

typedef int pack_fn(const struct tundish_pack_options *, struct tundish_pack_result **, struct tundish_error *);

static void pack_once(pack_fn *pack, struct tundish_pack_options *o, const char *source, const char *out)
{
	struct tundish_pack_result *result;
	struct tundish_error e = { 0 };
	char *output = td_path_join(out, "set");
	o->sources = &source;
	o->n_sources = 1;
	o->output = output;
	if (pack(o, &result, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(result->found, result->written + result->bad + result->left_out);
	assert_int_equal(result->written, 46);
	tundish_pack_result_free(result);
	free(output);
}

static void same_for_threads(pack_fn *pack, struct tundish_pack_options *o, const char *source,
    const char *first)
{
	static const unsigned threads[] = { 2, 3, 8, 99 };
	o->threads = 1;
	o->memory = 0;
	pack_once(pack, o, source, first);
	struct td_buf want = contents(first);
	for (size_t i = 0; i < TD_COUNT(threads); i++) {
		char name[512], command[600];
		snprintf(name, sizeof name, "%s-%u", first, threads[i]);
		o->threads = threads[i];
		o->memory = i % 2 ? 1 << 18 : 0;
		pack_once(pack, o, source, name);
		struct td_buf got = contents(name);
		if (got.len != want.len) fail_msg("%s differs from %s", name, first);
		assert_memory_equal(got.data, want.data, want.len);
		td_buf_free(&got);
		snprintf(command, sizeof command, "rm -r '%s'", name);
		assert_int_equal(system(command), 0);
	}
	td_buf_free(&want);
}

static void threads(void **state)
{
	(void)state;
	struct tundish_pack_options o;
	tundish_convert_options_init(&o);
	o.shards = "3";
	o.check = TUNDISH_CHECK_DECODE;
	const char *converted = in_scratch("converted");
	same_for_threads(tundish_convert, &o, source_path("data/photos"), converted);
	o.compression = TUNDISH_GZIP;
	same_for_threads(tundish_convert, &o, source_path("data/photos"), in_scratch("gzip"));
	tundish_shard_options_init(&o);
	o.shards = "4";
	o.shuffle = 1;
	same_for_threads(tundish_shard, &o, converted, in_scratch("sharded"));
	o.compression = TUNDISH_ZLIB;
	same_for_threads(tundish_shard, &o, in_scratch("gzip"), in_scratch("zlib"));
}

static int stop_later(void *data)
{
	return ++*(int *)data > 12;
}

static void stopping(void **state)
{
	(void)state;
	struct tundish_pack_options o;
	struct tundish_pack_result *result;
	struct tundish_error e = { 0 };
	const char *source = source_path("data/photos"), *folder = in_scratch("stopped");
	char *output = td_path_join(folder, "set");
	int polls = 0;
	tundish_convert_options_init(&o);
	o.sources = &source;
	o.n_sources = 1;
	o.output = output;
	o.shards = "40";
	o.threads = 4;
	o.listener = (struct tundish_listener){ .data = &polls, .stop = stop_later };
	assert_int_equal(tundish_convert(&o, &result, &e), TUNDISH_E_STOPPED);
	struct stat st;
	assert_int_equal(stat(folder, &st), -1);
	free(output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads),
		cmocka_unit_test(stopping),
	};
	return cmocka_run_group_tests(tests, make_scratch, clear_scratch);
}
