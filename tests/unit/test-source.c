/* SPDX-License-Identifier: BSD-2-Clause
 * What is an item, and which class it has. */
#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "source/list.h"

/* All that was said, one line each. */
struct told {
	struct td_buf faults, notices;
};

static void on_fault(void *data, const struct tundish_fault *fault)
{
	assert_true(td_buf_printf(&((struct told *)data)->faults, "%s\n", fault->text));
}

static void on_notice(void *data, const char *text)
{
	assert_true(td_buf_printf(&((struct told *)data)->notices, "%s\n", text));
}

/* "name=class name" a line, in the order of the listing. */
struct outcome {
	int rc;
	struct tundish_error e;
	struct told told;
	struct td_buf items;
	struct td_listing l;
	uint64_t bad;
};

static void list_with(struct outcome *r, const char *source, const char *labels, const char *class_list,
    unsigned threads)
{
	memset(r, 0, sizeof *r);
	assert_true(td_buf_printf(&r->told.faults, "%s", "") && td_buf_printf(&r->told.notices, "%s", "") &&
	    td_buf_printf(&r->items, "%s", ""));
	const struct tundish_listener listener = { &r->told, on_fault, on_notice, NULL, NULL };
	const struct td_list_options o = {
		.sources = &source,
		.n_sources = 1,
		.labels = labels,
		.class_list = class_list,
		.threads = threads,
		.listener = &listener,
	};
	struct td_bad bad = { .listener = &listener, .limit = UINT64_MAX };
	r->rc = td_list(&r->l, &o, &bad, &r->e);
	r->bad = bad.count;
	for (size_t i = 0; r->rc == 0 && i < r->l.n; i++) {
		const struct td_item *item = &r->l.items[i];
		assert_true(td_buf_printf(&r->items, "%s=%s\n", td_item_name(&r->l, item),
		    item->class < 0 ? "-" : r->l.classes.list[item->class].name));
	}
	td_bad_free(&bad);
}

static void done(struct outcome *r)
{
	td_listing_free(&r->l);
	td_buf_free(&r->items);
	td_buf_free(&r->told.faults);
	td_buf_free(&r->told.notices);
}

static const char *golden(const char *path)
{
	static char text[4][4096];
	static unsigned turn;
	char *out = text[turn++ % 4];
	char name[512];
	snprintf(name, sizeof name, "tests/golden/cases/%s", path);
	snprintf(out, sizeof text[0], "%s", source_path(name));
	return out;
}

#define ITEMS(r, want) assert_string_equal((char *)(r).items.data, want)
#define SAID(r, what) assert_non_null(strstr((char *)(r).told.notices.data, what))
#define FAULT(r, what) assert_non_null(strstr((char *)(r).told.faults.data, what))
#define QUIET(r) assert_string_equal((char *)(r).told.notices.data, "")

static void case_28_byte_order(void **state)
{
	(void)state;
	struct outcome r;
	list_with(&r, golden("28-class-order/in"), NULL, NULL, 2);
	assert_int_equal(r.rc, 0);
	static const char *const want[] = { "1", "10", "2", "B", "Zebra", "a b", "a-b", "apple",
		"\xc3\xa4pfel" };
	assert_int_equal(r.l.classes.n, 9);
	for (size_t i = 0; i < 9; i++) {
		assert_string_equal(r.l.classes.list[i].name, want[i]);
		assert_int_equal(r.l.classes.list[i].label, i);
	}
	QUIET(r);
	done(&r);
}

static void case_29_litter(void **state)
{
	(void)state;
	struct outcome r;
	for (unsigned threads = 1; threads <= 3; threads++) {
		list_with(&r, golden("29-hidden-and-litter/in"), NULL, NULL, threads);
		assert_int_equal(r.rc, 0);
		ITEMS(r, "cat/0.jpg=cat\ncat/1.jpg=cat\ndog/0.jpg=dog\ndog/1.jpg=dog\n");
		assert_int_equal(r.l.left_out, 2);
		assert_int_equal(r.l.found, 6);
		assert_string_equal(r.l.left_out_kinds, ".txt");
		QUIET(r);
		done(&r);
	}
}

static void case_31_class_lists(void **state)
{
	(void)state;
	struct outcome r;
	static const char *const same[] = { "blank-last-line", "bom", "crlf", "no-final-newline",
		"trailing-space" };
	for (size_t i = 0; i < TD_COUNT(same); i++) {
		char list[128];
		snprintf(list, sizeof list, "31-labels-file-quirks/%s.txt", same[i]);
		list_with(&r, golden("31-labels-file-quirks/in"), NULL, golden(list), 1);
		assert_int_equal(r.rc, 0);
		ITEMS(r, "bird/a.png=bird\ncat/a.png=cat\ndog/a.png=dog\n");
		assert_int_equal(r.l.classes.list[r.l.items[0].class].label, 2);
		if (i == 4)
			SAID(r, "blanks around class \"cat\"");
		else
			QUIET(r);
		done(&r);
	}
	list_with(&r, golden("31-labels-file-quirks/in"), NULL, golden("31-labels-file-quirks/duplicate.txt"), 1);
	assert_int_equal(r.rc, TUNDISH_E_USAGE);
	assert_non_null(strstr(r.e.text, "duplicate.txt: line 3: "));
	done(&r);
	list_with(&r, golden("31-labels-file-quirks/in"), NULL, golden("31-labels-file-quirks/unknown-class.txt"), 1);
	assert_int_equal(r.rc, 0);
	SAID(r, "class \"fish\" has no items");
	assert_int_equal(r.l.classes.n, 4);
	done(&r);
	list_with(&r, golden("31-labels-file-quirks/in"), NULL, golden("31-labels-file-quirks/class-left-out.txt"), 1);
	assert_int_equal(r.rc, TUNDISH_E_USAGE);
	assert_non_null(strstr(r.e.text, "\"bird\""));
	done(&r);
}

static void case_35_suffixes(void **state)
{
	(void)state;
	struct outcome r;
	list_with(&r, golden("35-extension-case/in"), NULL, NULL, 2);
	assert_int_equal(r.l.n, 10);
	assert_int_equal(r.l.left_out, 0);
	done(&r);
}

static void case_37_pipe(void **state)
{
	(void)state;
	char root[] = "/tmp/tundish-source-XXXXXX", command[512];
	assert_non_null(mkdtemp(root));
	snprintf(command, sizeof command, "cp -r '%s' %s/in && mkfifo %s/in/c/pipe.png", golden("37-fifo-in-folder/in"),
	    root, root);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof command, "%s/in", root);
	struct outcome r;
	list_with(&r, command, NULL, NULL, 1);
	ITEMS(r, "c/a.png=c\n");
	SAID(r, "in/c/pipe.png: not a regular file");
	assert_int_equal(r.l.left_out, 2);
	done(&r);
	snprintf(command, sizeof command, "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

static void case_39_unicode_forms(void **state)
{
	(void)state;
	struct outcome r;
	char labels[4096];
	snprintf(labels, sizeof labels, "csv:%s", golden("39-nfc-nfd/labels.csv"));
	list_with(&r, golden("39-nfc-nfd/img"), labels, NULL, 1);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.l.n, 2);
	SAID(r, "2 names matched after Unicode normalisation");
	assert_int_equal(r.bad, 0);
	done(&r);
}

static void case_40_same_names(void **state)
{
	(void)state;
	struct outcome r;
	list_with(&r, golden("40-same-basename/in"), NULL, NULL, 1);
	ITEMS(r, "cat/0.jpg=cat\ncat/0.png=cat\ncat/1.png=cat\ncat/sub/0.png=cat\n"
	    "dog/0.png=dog\ndog/1.png=dog\ndog/copy-of-cat-0.png=dog\n");
	done(&r);
}

static void case_42_nothing(void **state)
{
	(void)state;
	struct outcome r;
	list_with(&r, golden("42-nothing-usable/only-text"), NULL, NULL, 1);
	assert_int_equal(r.rc, TUNDISH_E_EMPTY);
	assert_non_null(strstr(r.e.text, "no pictures below "));
	assert_non_null(strstr(r.e.text, "(1 files looked at, 1 left out: .txt)"));
	done(&r);
	list_with(&r, golden("42-nothing-usable/flat"), NULL, NULL, 1);
	assert_int_equal(r.rc, 0);
	ITEMS(r, "a.png=-\nb.png=-\n");
	SAID(r, "no class folders, the records have no label");
	done(&r);
	list_with(&r, golden("42-nothing-usable/one-level-too-deep"), NULL, NULL, 1);
	assert_int_equal(r.rc, 0);
	SAID(r, "class folders test, train hold only folders");
	done(&r);
}

/* A small tree of pictures (by name) for the tables. */
static void make_tree(char *root)
{
	char command[1024];
	assert_non_null(mkdtemp(root));
	snprintf(command, sizeof command, "cd %s && mkdir -p img/sub tables && printf x | tee img/a.jpg img/b.jpg "
	    "img/sub/c.jpg 'img/d, e.jpg' img/notes.txt beside.jpg >/dev/null", root);
	assert_int_equal(system(command), 0);
}

static void remove_tree(const char *root)
{
	char command[256];
	snprintf(command, sizeof command, "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

static void list_csv(struct outcome *r, const char *root, const char *name, const char *text,
    const char *settings)
{
	char path[512], labels[1024], source[512];
	snprintf(path, sizeof path, "%s/%s", root, name);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	snprintf(labels, sizeof labels, "csv:%s%s", path, settings);
	snprintf(source, sizeof source, "%s/img", root);
	list_with(r, source, labels, NULL, 1);
}

static void tables(void **state)
{
	(void)state;
	char root[] = "/tmp/tundish-table-XXXXXX";
	make_tree(root);
	struct outcome r;
	/* BOM, CRLF, header, quoted comma; names by bytes */
	list_csv(&r, root, "t.csv", "\xef\xbb\xbf" "Label,Filename\r\nz,a.jpg\r\nA,\"d, e.jpg\"\r\nz,./sub//c.jpg\r\n", "");
	ITEMS(r, "a.jpg=z\nd, e.jpg=A\nsub/c.jpg=z\n");
	assert_string_equal(r.l.classes.list[0].name, "A");
	assert_int_equal(r.l.left_out, 2);
	assert_int_equal(r.bad, 0);
	done(&r);
	/* numbers stay numbers; relative to the table; a file beside it; rows without files */
	list_csv(&r, root, "t.csv", "img/b.jpg,7\nbeside.jpg,-1\n\ngone.jpg,3\nb.jpg,7\na.jpg,\n", "");
	ITEMS(r, "b.jpg=7\nbeside.jpg=-1\n");
	assert_true(r.l.classes.numbers);
	assert_int_equal(r.l.classes.list[0].label, -1);
	assert_int_equal(r.l.classes.list[1].label, 7);
	assert_int_equal(r.bad, 3);
	FAULT(r, "t.csv: line 4: no such file: gone.jpg\n");
	FAULT(r, "t.csv: line 5: names a file that line 1 has named\n");
	FAULT(r, "t.csv: line 6: no label for a.jpg\n");
	done(&r);
	/* columns and delimiters; a quoted line break moves the lines on */
	list_csv(&r, root, "tables/t.csv", "id;what;where\n1;\"x\ny\";a.jpg\n2;z;gone\n", ",path=where,label=what,delim=semicolon");
	ITEMS(r, "a.jpg=x\ny\n");
	FAULT(r, "line 4: no such file: gone");
	done(&r);
	list_csv(&r, root, "t.csv", "a.jpg\tx\nb.jpg\t\n", ",delim=tab");
	ITEMS(r, "a.jpg=x\n");
	done(&r);
	list_csv(&r, root, "t.csv", "1,x,a.jpg\n2,y,b.jpg\n", ",path=3,label=2");
	ITEMS(r, "a.jpg=x\nb.jpg=y\n");
	done(&r);
	/* a table below the source is not counted as left out */
	list_csv(&r, root, "img/t.csv", "a.jpg,x\n", "");
	assert_int_equal(r.l.left_out, 4);
	done(&r);
	remove_tree(root);
}

static void bad_tables(void **state)
{
	(void)state;
	char root[] = "/tmp/tundish-table-XXXXXX";
	make_tree(root);
	static const struct {
		const char *text, *settings, *want;
	} cases[] = {
		{ "a.jpg\nb.jpg\n", "", "needs two columns" },
		{ "a.jpg,x\nb.jpg,\"y\n", "", "line 2: quotes are opened" },
		{ "a.jpg,x\n", ",label=kind", "no column \"kind\"" },
		{ "a.jpg,x\n", ",delim=long", "no delimiter" },
		{ "a.jpg,x\n", ",label=", "empty column" },
	};
	for (size_t i = 0; i < TD_COUNT(cases); i++) {
		struct outcome r;
		list_csv(&r, root, "t.csv", cases[i].text, cases[i].settings);
		assert_int_equal(r.rc, TUNDISH_E_USAGE);
		assert_non_null(strstr(r.e.text, cases[i].want));
		done(&r);
	}
	struct outcome r;
	list_with(&r, root, "csv:/nowhere.csv", NULL, 1);
	assert_int_equal(r.rc, TUNDISH_E_NOT_FOUND);
	done(&r);
	remove_tree(root);
}

static void expressions(void **state)
{
	(void)state;
	char root[] = "/tmp/tundish-regex-XXXXXX";
	make_tree(root);
	struct outcome r;
	list_with(&r, root, "regex:/([a-c])\\.jpg", NULL, 1);
	ITEMS(r, "img/a.jpg=a\nimg/b.jpg=b\nimg/sub/c.jpg=c\n");
	assert_int_equal(r.bad, 2);
	FAULT(r, "beside.jpg: no label: the expression does not match");
	done(&r);
	static const char *const wrong[] = { "regex:(x", "regex:img", "regex:(zzz)", "regexp:(x)" };
	for (size_t i = 0; i < TD_COUNT(wrong); i++) {
		list_with(&r, root, wrong[i], NULL, 1);
		assert_int_equal(r.rc, TUNDISH_E_USAGE);
		done(&r);
	}
	/* a picture outside the class folders has not what the others have */
	list_with(&r, root, NULL, NULL, 1);
	assert_int_equal(r.bad, 1);
	FAULT(r, "beside.jpg: stands in no class folder");
	SAID(r, "folder holds no pictures and is no class: tables");
	done(&r);
	list_with(&r, root, "none", NULL, 1);
	assert_int_equal(r.l.n, 5);
	assert_int_equal(r.l.classes.n, 0);
	done(&r);
	remove_tree(root);
}

static void test_extras(void **state)
{
	(void)state;
	struct td_extras x = { 0 };
	for (unsigned round = 0; round < 2; round++) {
		td_extras_reset(&x);
		assert_true(td_extra_ints(&x, "frame", (int64_t[]){ 7, -1 }, 2) && td_extra_text(&x, "name", "one"));
		for (unsigned i = 0; i < 100; i++)
			assert_true(td_extra_floats(&x, "t", (float[]){ 0.5f }, 1));
		assert_true(td_extra_bytes(&x, "list", (struct td_bytes[]){ { "ab", 2 }, { NULL, 0 } }, 2));
		assert_int_equal(x.n, 103);
		struct td_field f = td_extra_field(&x, 0);
		assert_string_equal(f.key, "frame");
		assert_int_equal(f.ints[1], -1);
		f = td_extra_field(&x, 1);
		assert_int_equal(f.bytes[0].len, 3);
		assert_memory_equal(f.bytes[0].data, "one", 3);
		f = td_extra_field(&x, 101);
		assert_true(f.floats[0] == 0.5f);
		f = td_extra_field(&x, 102);
		assert_int_equal(f.n, 2);
		assert_memory_equal(f.bytes[0].data, "ab", 2);
		assert_int_equal(f.bytes[1].len, 0);
	}
	td_extras_free(&x);
}

/* What all files have is left, with an open length where lengths differ. */
static void test_specs(void **state)
{
	(void)state;
	struct td_specs all = { 0 }, more = { 0 };
	assert_true(td_specs_add(&more, "y", TUNDISH_INT64, 1) && td_specs_add(&more, "x", TUNDISH_INT64, 1) &&
	    td_specs_add(&more, "t", TUNDISH_FLOAT, 3));
	td_specs_meet(&all, &more);
	assert_int_equal(all.n, 3);
	assert_true(td_specs_add(&more, "t", TUNDISH_FLOAT, 4) && td_specs_add(&more, "y", TUNDISH_INT64, 1) &&
	    td_specs_add(&more, "x", TUNDISH_BYTES, 1));
	td_specs_meet(&all, &more);
	assert_int_equal(all.n, 2);
	assert_string_equal(all.list[0].key, "y");
	assert_int_equal(all.list[0].length, 1);
	assert_int_equal(all.list[1].length, -1);
	td_specs_meet(&all, &more);
	assert_int_equal(all.n, 0);
	td_specs_free(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_28_byte_order),
		cmocka_unit_test(case_29_litter),
		cmocka_unit_test(case_31_class_lists),
		cmocka_unit_test(case_35_suffixes),
		cmocka_unit_test(case_37_pipe),
		cmocka_unit_test(case_39_unicode_forms),
		cmocka_unit_test(case_40_same_names),
		cmocka_unit_test(case_42_nothing),
		cmocka_unit_test(tables),
		cmocka_unit_test(bad_tables),
		cmocka_unit_test(expressions),
		cmocka_unit_test(test_extras),
		cmocka_unit_test(test_specs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
