/* SPDX-License-Identifier: BSD-2-Clause
 * The contact sheet: pictures of a set on one page, with their classes and names. */
#pragma once
#include "picks.h"
#include "survey.h"

#define TD_SHEET_NO_LABEL "\xff" /* the class of records without one: no text of a value */
#define TD_SHEET_MOST 1000	 /* pictures */

/* Draws the picks to options.sheet. Classes of the picks are texts of td_by. Errors:
 * EMPTY when there is nothing to draw, those of reading and writing. */
int td_sheet_draw(const struct tundish_survey *s, const struct td_class_table *classes,
    const struct td_picks *picks, struct tundish_error *e);
