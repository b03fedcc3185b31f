/* SPDX-License-Identifier: BSD-2-Clause
 * Pictures and arrays out of records, each into a file of its own. */
#pragma once
#include "record/beside.h"
#include "tundish.h"

/* Makes the folder where it is not there. */
int td_extract_folder(const char *folder, struct tundish_error *e);
/* Writes each picture of an Example (any value of any feature) to
 * FOLDER/PREFIXRRRRRRRR[-K].jpg: R the record's number, K from 1 for further pictures; of
 * one that holds arrays (or the one that is `asked` for; NULL) their numbers, to .npy. `beside`
 * is the shape that the set gives it where the record does not; NULL. */
int td_extract(const char *folder, const char *prefix, const struct tundish_record *r, const char *asked,
    const struct td_beside *beside, struct tundish_error *e);
