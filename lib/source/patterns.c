/* SPDX-License-Identifier: BSD-2-Clause
 * Sources that are patterns: what the shell was kept from expanding. */
#include "patterns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* glob()'s own order depends on the locale. */
static int match(struct td_patterns *p, const char *pattern, struct tundish_error *e)
{
	if (!td_grow(&p->globs, &p->globs_cap, p->n_globs, sizeof *p->globs))
		return td_err_memory(e);
	glob_t *g = &p->globs[p->n_globs];
	int rc = glob(pattern, GLOB_NOSORT | GLOB_NOCHECK, NULL, g);
	if (rc != 0)
		return rc == GLOB_NOSPACE ? td_err_memory(e) : td_err_errno(e, errno ? errno : EIO, "%s", TD_ESC(pattern));
	p->n_globs++;
	qsort(g->gl_pathv, g->gl_pathc, sizeof *g->gl_pathv, by_bytes);
	return 0;
}

static int add(struct td_patterns *p, const char *path, struct tundish_error *e)
{
	if (!td_grow(&p->list, &p->cap, p->n, sizeof *p->list))
		return td_err_memory(e);
	p->list[p->n++] = path;
	return 0;
}

int td_patterns_expand(struct td_patterns *ret, const char *const *sources, size_t n, struct tundish_error *e)
{
	struct td_patterns p = { 0 };
	struct stat st;
	int rc = 0;
	for (size_t i = 0; i < n && rc == 0; i++) {
		if (lstat(sources[i], &st) == 0 || !strpbrk(sources[i], "*?[")) {
			rc = add(&p, sources[i], e);
			continue;
		}
		rc = match(&p, sources[i], e);
		const glob_t *g = rc == 0 ? &p.globs[p.n_globs - 1] : NULL;
		for (size_t k = 0; rc == 0 && k < g->gl_pathc; k++)
			rc = add(&p, g->gl_pathv[k], e);
	}
	if (rc < 0)
		td_patterns_free(&p);
	else
		*ret = p;
	return rc;
}

void td_patterns_free(struct td_patterns *p)
{
	for (size_t i = 0; i < p->n_globs; i++)
		globfree(&p->globs[i]);
	free(p->globs);
	free(p->list);
	*p = (struct td_patterns){ 0 };
}
