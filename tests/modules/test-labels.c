/* SPDX-License-Identifier: BSD-2-Clause
 * Files that say themselves which class their items have, alone and among others. */
#include "../unit/unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "source/list.h"

static char folder[64];

static void lay(const char *name, const char *content, size_t bytes)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = 0;
		mkdir(path, 0777);
		*slash = '/';
	}
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(content, 1, bytes, f), bytes);
	assert_int_equal(fclose(f), 0);
}
/* A file with labels, each ending in a NUL, the last one by the literal's own. */
#define LAY(name, labels) lay(name, "\x89HDF\r\n\x1a\n" labels, 8 + sizeof labels)

struct outcome {
	int rc;
	struct tundish_error e;
	struct td_buf items, said;
	struct td_listing l;
	uint64_t bad;
};

static void on_notice(void *data, const char *text)
{
	assert_true(td_buf_printf(data, "%s\n", text));
}

static void on_fault(void *data, const struct tundish_fault *fault)
{
	on_notice(data, fault->text);
}

/* Lists `source` below the folder: "CLASS:LABEL " for each item. */
static struct outcome list_with(const char *source, const char *labels, const char *class_list)
{
	struct outcome r = { 0 };
	char path[256], list[256];
	const char *sources = path;
	snprintf(path, sizeof path, "%s/%s", folder, source);
	snprintf(list, sizeof list, "%s/%s", folder, class_list ? class_list : "");
	const struct tundish_listener listener = { &r.said, on_fault, on_notice, NULL, NULL };
	const struct td_list_options o = { .sources = &sources, .n_sources = 1, .labels = labels,
		.class_list = class_list ? list : NULL, .label_offset = 10, .threads = 2, .listener = &listener };
	struct td_bad bad = { .listener = &listener, .limit = UINT64_MAX };
	assert_true(td_buf_printf(&r.said, "%s", "") && td_buf_printf(&r.items, "%s", ""));
	r.rc = td_list(&r.l, &o, &bad, &r.e);
	r.bad = bad.count;
	for (size_t i = 0; r.rc == 0 && i < r.l.n; i++) {
		int32_t c = r.l.items[i].class;
		assert_true(c < 0 ? td_buf_printf(&r.items, "- ") :
		    td_buf_printf(&r.items, "%s:%d ", r.l.classes.list[c].name, (int)r.l.classes.list[c].label));
	}
	td_bad_free(&bad);
	return r;
}

static void free_outcome(struct outcome *r)
{
	td_listing_free(&r->l);
	td_buf_free(&r->items);
	td_buf_free(&r->said);
}

static void expect(struct outcome r, const char *items, bool numbers, uint64_t bad, const char *said)
{
	if (r.rc)
		fail_msg("%s", r.e.text);
	assert_string_equal((char *)r.items.data, items);
	assert_int_equal(r.l.classes.numbers, numbers);
	assert_int_equal(r.bad, bad);
	if (said ? !strstr((char *)r.said.data, said) : r.said.len > 0)
		fail_msg("said: %s", (char *)r.said.data);
	free_outcome(&r);
}

static void refuse(struct outcome r, const char *why)
{
	assert_int_equal(r.rc, TUNDISH_E_USAGE);
	if (!strstr(r.e.text, why))
		fail_msg("\"%s\" does not say \"%s\"", r.e.text, why);
	free_outcome(&r);
}

static void test_alone(void **state)
{
	(void)state;
	LAY("names.h5", "dog\0cat\0dog");
	LAY("numbers.h5", "7\0-2\0" "10");
	LAY("holes.h5", "dog\0\0cat");
	expect(list_with("names.h5", NULL, NULL), "dog:11 cat:10 dog:11 ", false, 0, NULL);
	expect(list_with("numbers.h5", NULL, NULL), "7:17 -2:8 10:20 ", true, 0, NULL);
	expect(list_with("names.h5", "none", NULL), "- - - ", false, 0, NULL);
	expect(list_with("names.h5", "regex:(n)ames", NULL), "n:10 n:10 n:10 ", false, 0, NULL);
	expect(list_with("holes.h5", NULL, NULL), "dog:11 cat:10 ", false, 1, "stands in no class folder");
}

static void test_among_others(void **state)
{
	(void)state;
	LAY("names/dog/a.h5", "cat\0dog");
	lay("names/cat/p.jpg", "", 0);
	lay("names/p.jpg", "", 0);
	LAY("numbers/a.h5", "1\0" "2");
	LAY("numbers/sub/b.h5", "3");
	LAY("mixed/a.h5", "1\0" "2");
	lay("mixed/cat/p.jpg", "", 0);
	expect(list_with("names", NULL, NULL), "cat:10 cat:10 dog:11 ", false, 1, "names/p.jpg: stands in no");
	expect(list_with("numbers", NULL, NULL), "1:11 2:12 3:13 ", true, 0, NULL);
	refuse(list_with("mixed", NULL, NULL), "labels are numbers in a.h5 and names of folders for cat/p.jpg");
	expect(list_with("mixed", "none", NULL), "- - - ", false, 0, NULL);
}

static void test_class_list(void **state)
{
	(void)state;
	LAY("fixed/names.h5", "dog\0cat");
	LAY("fixed/numbers.h5", "2\0" "1");
	lay("list.txt", "dog\ncow\ncat\n", 12);
	lay("numbers.txt", "2\n1\n", 4);
	expect(list_with("fixed/names.h5", NULL, "list.txt"), "dog:10 cat:12 ", false, 0, "\"cow\" has no items");
	expect(list_with("fixed/numbers.h5", NULL, "numbers.txt"), "2:10 1:11 ", false, 0, NULL);
	refuse(list_with("fixed/numbers.h5", NULL, "list.txt"), "class \"2\" is not in the class list");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_among_others),
		cmocka_unit_test(test_class_list),
	};
	setenv("TUNDISH_MODULES", TEST_MODULES, 1);
	snprintf(folder, sizeof folder, "%s/test-labels-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(folder))
		return 1;
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	char command[128];
	snprintf(command, sizeof command, "rm -r '%s'", folder);
	return system(command) || rc;
}
