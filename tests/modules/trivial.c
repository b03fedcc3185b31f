/* SPDX-License-Identifier: BSD-2-Clause
 * The smallest module, to show that the loader's door opens. */
#include "base/module.h"

#include "trivial.h"

static int answer(void)
{
	return 42;
}

static const struct trivial_vtable vtable = { answer };

TUNDISH_API const struct td_module tundish_module;
const struct td_module tundish_module = {
	TD_MODULE_MAGIC,
	TD_MODULE_ABI + TRIVIAL_ABI_STEP,
	"test",
	TRIVIAL_NAME,
	&vtable,
};
