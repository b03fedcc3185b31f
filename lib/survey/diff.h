/* SPDX-License-Identifier: BSD-2-Clause
 * Two sets compared record by record, however they are cut into shards. */
#pragma once
#include "survey.h"

/* Compares the set in s->paths with that in options.diff, into text and json. Records
 * that only one of them has count as faults. */
int td_survey_diff(struct tundish_survey *s, struct tundish_error *e);
