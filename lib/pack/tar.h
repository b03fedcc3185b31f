/* SPDX-License-Identifier: BSD-2-Clause
 * Records as members of a tar, as WebDataset reads them. */
#pragma once
#include "base/buf.h"
#include "tundish.h"

/*
 * An Example becomes KEY.jpg or KEY.png with its picture, KEY.cls with its label, and
 * KEY.json with all other features: one value as it is, several as a list, none left out.
 * A value that is no text is a member KEY.NAME.bin, or KEY.NAME where the name is a picture's;
 * a slash in it is written %2F. Members have no owner and the time 0, so the same records
 * give the same bytes.
 */

/* Appends the members of a record. SCHEMA and UNSUPPORTED for what has no form there. */
int td_tar_record(struct td_buf *out, uint64_t key, const void *example, size_t bytes, struct tundish_error *e);

/* What stands at the end of a tar. */
#define TD_TAR_END 1024
