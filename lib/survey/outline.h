/* SPDX-License-Identifier: BSD-2-Clause
 * JSON as lines for people. */
#pragma once
#include <jansson.h>

#include "base/buf.h"

/* Appends "NAME: KIND" ("kind" of the object) and below it a line for each of the other
 * members, those of inner objects further in. Long lists are shortened to their ends. */
bool td_outline(struct td_buf *out, const char *name, const json_t *about) td_must_check;
