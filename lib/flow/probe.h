/* SPDX-License-Identifier: BSD-2-Clause
 * A look at a few records before the start: under which names, and how large. */
#pragma once
#include "engine.h"

/* Fills f->recipe's keys (allocated) and size, and f->has_images. `asked` holds the names
 * that the user gave. Errors: USAGE, SCHEMA, IO, MEMORY. */
int td_probe(struct tundish_flow *f, const struct td_keys *asked, struct tundish_error *e);
