/* SPDX-License-Identifier: BSD-2-Clause
 * Bad items: named, counted, kept for the report, or the end of the run. */
#include "bad.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"

static int keep_note(struct td_bad *bad, int code, struct td_place at, const char *name, const char *reason,
    struct tundish_error *e)
{
	if (bad->n_notes == TD_BAD_NOTES)
		return 0;
	if (!td_grow(&bad->notes, &bad->cap, bad->n_notes, sizeof *bad->notes))
		return td_err_memory(e);
	const struct td_bad_note note = {
		.code = code,
		.name = strdup(name),
		.line = at.line,
		.record = at.record,
		.offset = at.offset,
		.reason = strdup(reason),
	};
	bad->notes[bad->n_notes++] = note;
	return note.name && note.reason ? 0 : td_err_memory(e);
}

int td_bad_item(struct td_bad *bad, int code, struct td_place at, const char *name,
    const char *reason, struct tundish_error *e)
{
	if (bad->on_error == TUNDISH_FAIL)
		return td_err_at(e, code, at, "%s", reason);
	bad->count++;
	td_fault(bad->listener, code, at, 0, "%s", reason);
	int rc = keep_note(bad, code, at, name, reason, e);
	return rc ? rc : td_bad_check(bad, e);
}

int td_bad_fault(struct td_bad *bad, const struct tundish_fault *fault, const char *name,
    struct tundish_error *e)
{
	if (bad->on_error == TUNDISH_FAIL)
		return td_err(e, fault->code, "%s", fault->text);
	struct td_place at = TD_PLACE(fault->path);
	at.record = fault->record;
	at.offset = fault->offset;
	bad->count++;
	if (bad->listener && bad->listener->fault)
		bad->listener->fault(bad->listener->data, fault);
	int rc = keep_note(bad, fault->code, at, name, fault->reason, e);
	return rc ? rc : td_bad_check(bad, e);
}

int td_bad_check(const struct td_bad *bad, struct tundish_error *e)
{
	if (bad->count <= bad->limit)
		return 0;
	return td_err(e, TUNDISH_E_BAD, "%" PRIu64 " bad items, more than the %" PRIu64
	    " that were allowed", bad->count, bad->limit);
}

void td_bad_free(struct td_bad *bad)
{
	for (size_t i = 0; i < bad->n_notes; i++) {
		free(bad->notes[i].name);
		free(bad->notes[i].reason);
	}
	free(bad->notes);
	bad->notes = NULL;
	bad->n_notes = bad->cap = 0;
}
