/* SPDX-License-Identifier: BSD-2-Clause
 * In the place of the module that reads HDF5: a file of this kind is the signature and then
 * a class for each item, each with a NUL. */
#include <string.h>

#include "base/err.h"
#include "base/infile.h"
#include "base/module.h"
#include "source/format.h"

static int parts(struct td_parts *ret, const struct td_file *file, const struct td_cut *cut,
    const struct tundish_listener *l, struct tundish_error *e)
{
	struct td_parts p = { .pictures = true };
	struct td_buf all = { 0 };
	(void)cut;
	(void)l;
	int rc = td_read_file(&all, file->path, 4096, e);
	if (rc == 0 && !td_buf_add(&p.labels, all.data + 8, all.len - 8))
		rc = td_err_memory(e);
	for (size_t i = 0; i < p.labels.len; i++)
		p.n += p.labels.data[i] == 0;
	td_buf_free(&all);
	if (rc == 0)
		*ret = p;
	else
		td_parts_free(&p);
	return rc;
}

static int load(struct td_loaded *out, const struct td_file *file, uint32_t part, const struct td_cut *cut,
    struct tundish_error *e)
{
	(void)out;
	(void)file;
	(void)part;
	(void)cut;
	return td_err(e, TUNDISH_E_UNSUPPORTED, "nothing to load");
}

static const struct td_format format = { .name = "hdf5", .parts = parts, .load = load };

TUNDISH_API const struct td_module tundish_module;
const struct td_module tundish_module = { TD_MODULE_MAGIC, TD_MODULE_ABI, "source", "hdf5", &format };
