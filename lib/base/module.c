/* SPDX-License-Identifier: BSD-2-Clause
 * Modules: parts with heavy libraries, opened by the first path that needs them. */
#include "module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "err.h"

int td_module_open(const struct td_module **ret_module, const char *name, const char *kind,
    const char *package, struct tundish_error *e)
{
	const char *folder = getenv("TUNDISH_MODULES");
	char path[4096];
	if (!folder || !*folder)
		folder = TD_MODULE_FOLDER;
	if (snprintf(path, sizeof path, "%s/%s.so", folder, name) >= (int)sizeof path)
		return td_err(e, TUNDISH_E_MODULE, "the module folder's name is too long");
	if (access(path, F_OK) != 0)
		return td_err(e, TUNDISH_E_MODULE, "the %s module is missing (%s): install %s", name,
		    TD_ESC(path), package);
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return td_err(e, TUNDISH_E_MODULE, "the %s module does not load: %s", name, dlerror());
	const struct td_module *m = dlsym(handle, "tundish_module");
	if (!m || m->magic != TD_MODULE_MAGIC || m->abi != TD_MODULE_ABI ||
	    strcmp(m->kind, kind) != 0 || strcmp(m->name, name) != 0) {
		dlclose(handle);
		return td_err(e, TUNDISH_E_MODULE, "%s is no %s module of this version of tundish",
		    TD_ESC(path), name);
	}
	*ret_module = m;
	return 0;
}
