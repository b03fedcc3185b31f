/* SPDX-License-Identifier: BSD-2-Clause
 * Index side-cars written anew for files that are there. */
#pragma once
#include "survey.h"

/* Writes index/NAME.idx beside each uncompressed file without damage in its frames; a
 * notice tells which have none. */
int td_reindex(const struct tundish_survey *s, struct tundish_error *e);
