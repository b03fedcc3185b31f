/* SPDX-License-Identifier: BSD-2-Clause
 * Pictures in files of their own: what their headers say. */
#pragma once
#include "survey.h"

/* Takes the picture files out of paths[0 .. *n-1] and describes them, in that order, in
 * s->text and s->pictures. What is no readable file stays: others will tell why. */
int td_raw_pictures(struct tundish_survey *s, const char **paths, size_t *n, struct tundish_error *e);
