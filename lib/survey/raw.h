/* SPDX-License-Identifier: BSD-2-Clause
 * Files of raw data, pictures and others: what their headers say. */
#pragma once
#include "survey.h"

/* Takes the files of known formats out of paths[0 .. *n-1] and describes them, in that
 * order, in s->text, s->pictures and s->sources. Record files stay, and what is no
 * readable file: others will tell why. */
int td_raw_files(struct tundish_survey *s, const char **paths, size_t *n, struct tundish_error *e);
