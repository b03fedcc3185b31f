/* SPDX-License-Identifier: BSD-2-Clause
 * Modules: parts with heavy libraries, opened by the first path that needs them. */
#pragma once
#include "attr.h"
#include "tundish.h"

/* What a module exports, under the name `tundish_module`, and nothing else. */
struct td_module {
	uint32_t magic;	 /* TD_MODULE_MAGIC */
	uint32_t abi;	 /* TD_MODULE_ABI */
	const char *kind;/* "source", "sink", ... */
	const char *name;/* as in the file name */
	const void *vtable;
};

#define TD_MODULE_MAGIC 0x74756e64u
#define TD_MODULE_ABI 1u

/* Opens NAME.so below $TUNDISH_MODULES, or else below the installed folder, and
 * hands out what it exports. A module stays open until the process ends. When it is
 * missing, `package` is named in the error. Errors: MODULE. Any thread. */
int td_module_open(const struct td_module **ret_module, const char *name, const char *kind,
    const char *package, struct tundish_error *e);
