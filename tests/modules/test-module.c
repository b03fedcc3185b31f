/* SPDX-License-Identifier: BSD-2-Clause */
#include "../unit/unit.h"

#include "base/err.h"
#include "base/module.h"
#include "trivial.h"

static int open_module(const struct td_module **ret_module, const char *name, const char *kind,
    struct tundish_error *e)
{
	return td_module_open(ret_module, name, kind, "tundish-modules", e);
}

static void test_opens(void **state)
{
	(void)state;
	const struct td_module *m = NULL, *again = NULL;
	struct tundish_error e = { 0 };
	assert_int_equal(open_module(&m, "trivial", "test", &e), 0);
	const struct trivial_vtable *vtable = m->vtable;
	assert_int_equal(vtable->answer(), 42);
	assert_int_equal(open_module(&again, "trivial", "test", &e), 0);
	assert_ptr_equal(again, m);
}

/* Opens a module that cannot be used: the error says `why`, the output is untouched. */
static void refuse(const char *name, const char *kind, const char *why)
{
	const struct td_module *m = (const void *)&refuse;
	struct tundish_error e = { 0 };
	assert_int_equal(open_module(&m, name, kind, &e), TUNDISH_E_MODULE);
	assert_int_equal(e.code, TUNDISH_E_MODULE);
	if (!strstr(e.text, why))
		fail_msg("\"%s\" does not say \"%s\"", e.text, why);
	assert_ptr_equal(m, (const void *)&refuse);
}

static void test_refuses(void **state)
{
	(void)state;
	refuse("absent", "test", "install tundish-modules");
	refuse("trivial", "source", "no trivial module of this version");
	refuse("newer", "test", "no newer module of this version");
	refuse("renamed", "test", "no renamed module of this version");
	refuse("text", "test", "does not load");
}

static int lay_text(void **state)
{
	(void)state;
	FILE *f = fopen(TEST_MODULES "/text.so", "we");
	if (!f)
		return -1;
	fputs("this is no library\n", f);
	setenv("TUNDISH_MODULES", TEST_MODULES, 1);
	return fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opens),
		cmocka_unit_test(test_refuses),
	};
	return cmocka_run_group_tests(tests, lay_text, NULL);
}
