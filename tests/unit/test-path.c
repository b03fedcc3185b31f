/* SPDX-License-Identifier: BSD-2-Clause
 * Paths, sorted listings, walks through links and loops. */
#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/path.h"

static void parts(void **state)
{
	(void)state;
	assert_string_equal(td_path_base("a/b.c"), "b.c");
	assert_string_equal(td_path_base("b"), "b");
	assert_string_equal(td_path_suffix("a.d/b.tar.gz"), ".gz");
	assert_string_equal(td_path_suffix("a.d/b"), "");
	assert_string_equal(td_path_suffix("a/.hidden"), "");
	static const char *const folders[][2] = {
		{ "a/b", "a" }, { "b", "." }, { "/b", "/" }, { "/a/b", "/a" }
	};
	for (size_t i = 0; i < TD_COUNT(folders); i++) {
		char *folder = td_path_folder(folders[i][0]);
		assert_string_equal(folder, folders[i][1]);
		free(folder);
	}
}

static void tidy(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{ "./a//b/./c", "a/b/c" }, { "a/../b", "b" }, { "../a", "../a" },
		{ "../../a", "../../a" }, { "a/b/../../../c", "../c" }, { "/./a/", "/a" },
		{ ".", "" }, { "/a/../..", "/" }, { "a/..b", "a/..b" }, { "", "" },
	};
	for (size_t i = 0; i < TD_COUNT(cases); i++) {
		char text[64];
		snprintf(text, sizeof text, "%s", cases[i][0]);
		td_path_tidy(text);
		assert_string_equal(text, cases[i][1]);
	}
}

static void touch(const char *folder, const char *name)
{
	char *path = td_path_join(folder, name);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs("xyz", f);
	fclose(f);
	free(path);
}

static int note(void *ctx, const struct td_walk_entry *entry, struct tundish_error *e)
{
	(void)e;
	struct stat st;
	assert_true(entry->what == TD_WALK_BROKEN || stat(entry->path, &st) == 0);
	assert_true(td_buf_printf(ctx, "%s %d %u %d\n", entry->name, (int)entry->what,
	    entry->depth, (int)entry->bytes));
	return entry->what == TD_WALK_FOLDER && strcmp(entry->name, "skipped") == 0;
}

static void walk(void **state)
{
	(void)state;
	char root[] = "/tmp/tundish-path-XXXXXX", command[64];
	assert_non_null(mkdtemp(root));
	assert_int_equal(chdir(root), 0);
	assert_int_equal(mkdir("b", 0700) | mkdir("B", 0700) | mkdir("skipped", 0700), 0);
	touch("b", "10");
	touch("b", "9");
	touch(NULL, "b-file");
	touch("skipped", "x");
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	assert_int_equal(symlink("..", "b/up"), 0);
	assert_int_equal(symlink("b", "link"), 0);
	static const char want[] =
	    "B 1 0 0\nb 1 0 0\nb/10 0 1 3\nb/9 0 1 3\nb/up 4 1 0\nb-file 0 0 3\n"
	    "dangling 3 0 0\nlink 1 0 0\nlink/10 0 1 3\nlink/9 0 1 3\nlink/up 4 1 0\n"
	    "pipe 2 0 0\nskipped 1 0 0\n";
	const char *const roots[] = { ".", "./", root };
	for (size_t i = 0; i < TD_COUNT(roots); i++) {
		struct td_buf out = { 0 };
		assert_int_equal(td_walk(roots[i], note, &out, NULL), 0);
		assert_string_equal((char *)out.data, want);
		td_buf_free(&out);
	}
	struct tundish_error e = { 0 };
	assert_int_equal(td_walk("nowhere", note, NULL, &e), TUNDISH_E_NOT_FOUND);
	assert_int_equal(chdir("/"), 0);
	snprintf(command, sizeof command, "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts),
		cmocka_unit_test(tidy),
		cmocka_unit_test(walk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
