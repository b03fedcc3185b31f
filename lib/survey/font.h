/* SPDX-License-Identifier: BSD-2-Clause
 * A small bitmap font: ASCII, drawn for this program. */
#pragma once

#define TD_FONT_WIDTH 5
#define TD_FONT_HEIGHT 9 /* the last two rows lie below the base line */
#define TD_FONT_STEP 6	 /* from character to character */

/* Row `row` of a character, WIDTH characters: '#' is ink. What is not printable ASCII is a box. */
const char *td_font_row(unsigned code, unsigned row);
