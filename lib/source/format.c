/* SPDX-License-Identifier: BSD-2-Clause
 * The table of formats. */
#include "format.h"

#include <stdatomic.h>
#include <string.h>

#include "arrays.h"
#include "base/err.h"
#include "av.h"
#include "base/module.h"
#include "hdf5.h"
#include "picture.h"

const struct td_format *const td_formats[] = {
	&td_format_picture,
	&td_format_arrays,
	&td_format_hdf5,
	&td_format_video,
};
const unsigned td_n_formats = TD_COUNT(td_formats);

bool td_archive_marked(const uint8_t *head, size_t len)
{
	return (len >= 262 && memcmp(head + 257, "ustar", 5) == 0) || (len >= 4 && memcmp(head, "PK\3\4", 4) == 0);
}

int td_format_probe(const char *path, const uint8_t *head, size_t len)
{
	int best = 0, found = -1;
	for (unsigned i = 0; i < td_n_formats; i++) {
		int score = td_formats[i]->probe(path, head, len);
		if (score > best) {
			best = score;
			found = (int)i;
		}
	}
	return found;
}

int td_format_named(const char *path)
{
	for (unsigned i = 0; i < td_n_formats; i++)
		if (td_formats[i]->named && td_formats[i]->named(path))
			return (int)i;
	return -1;
}

/* The format itself, or what its module exports; NULL when that is missing. */
static const struct td_format *resolve(unsigned format, struct tundish_error *e)
{
	static _Atomic(const struct td_format *) opened[TD_COUNT(td_formats)];
	const struct td_format *f = td_formats[format];
	const struct td_format *known = f->module ? atomic_load(&opened[format]) : f;
	const struct td_module *module;
	if (known || td_module_open(&module, f->module, "source", f->package, e) < 0)
		return known;
	atomic_store(&opened[format], module->vtable);
	return module->vtable;
}

bool td_format_divides(unsigned format)
{
	return td_formats[format]->parts || td_formats[format]->module;
}

int td_format_parts(struct td_parts *ret, unsigned format, const struct td_file *file,
    const struct td_cut *cut, const struct tundish_listener *l, struct tundish_error *e)
{
	const struct td_format *f = resolve(format, e);
	return f ? f->parts(ret, file, cut, l, e) : TUNDISH_E_MODULE;
}

bool td_format_describes(unsigned format)
{
	return td_formats[format]->describe || td_formats[format]->module;
}

int td_format_describe(json_t **ret, unsigned format, const struct td_file *file,
    const struct tundish_listener *l, struct tundish_error *e)
{
	const struct td_format *f = resolve(format, e);
	if (!f)
		return TUNDISH_E_MODULE;
	return f->describe ? f->describe(ret, file, l, e) :
			     td_err(e, TUNDISH_E_UNSUPPORTED, "%s files are not described", f->name);
}

int td_format_look(struct td_loaded *out, unsigned format, const struct td_file *file, uint32_t part,
    const struct td_cut *cut, struct tundish_error *e)
{
	const struct td_format *f = resolve(format, e);
	if (!f)
		return TUNDISH_E_MODULE;
	return f->look ? f->look(out, file, part, cut, e) : td_format_load(out, format, file, part, cut, e);
}

int td_format_load(struct td_loaded *out, unsigned format, const struct td_file *file, uint32_t part,
    const struct td_cut *cut, struct tundish_error *e)
{
	const struct td_format *f = resolve(format, e);
	td_extras_reset(&out->extras);
	out->encoded = false;
	out->ends.len = out->times.len = 0;
	return f ? f->load(out, file, part, cut, e) : TUNDISH_E_MODULE;
}
