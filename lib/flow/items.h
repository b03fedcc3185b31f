/* SPDX-License-Identifier: BSD-2-Clause
 * Raw data read in place: each item as the record that convert would write of it. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "tundish.h"

/*
 * What a flow is to read may be what tundish convert takes, as long as it can be listed:
 * pictures in class folders or a table, archives, arrays cut into tiles, frames. An item is
 * made into an Example when it is its turn: `image` for an encoded picture; `image/value`,
 * `image/shape` and `dtype` for numbers; `label` and `text` of its class, `filename`, and
 * its other features. From there on nothing knows where it came from.
 */
struct td_items;
struct td_items_desk; /* what a thread reads with */

/* Whether the user says how raw data is to be read, so that there must be some. */
bool td_items_said(const struct tundish_flow_options *o);
/* Whether the paths are such data by their first bytes; folders are not looked into. USAGE
 * where some are and others are not. */
int td_items_wanted(bool *ret, const struct tundish_flow_options *o, struct tundish_error *e);
/* Lists them; bad items are told to the listener and counted. Errors: those of td_list(). */
int td_items_open(struct td_items **ret, const struct tundish_flow_options *o, uint64_t *ret_bad,
    struct tundish_error *e);
size_t td_items_n(const struct td_items *items);
/* What reading item i takes in memory, about. */
uint64_t td_items_bytes(const struct td_items *items, size_t i);
/* Whether item i was cut out of the same file as the one before it. */
bool td_items_same_file(const struct td_items *items, size_t i);
/* Whether it belongs to the same group as the one before it, and whether any does to one. */
bool td_items_same_group(const struct td_items *items, size_t i);
bool td_items_grouped(const struct td_items *items);
/* The file of item i, with a NUL. False without memory. */
bool td_items_path(const struct td_items *items, size_t i, struct td_buf *out) td_must_check;
/* False where items have no labels. */
bool td_items_label(const struct td_items *items, size_t i, int64_t *ret_label);
/* A label that stands for different classes in two sets: their names; or false. */
bool td_items_differ(const struct td_items *a, const struct td_items *b, int64_t *ret_label,
    const char **ret_a, const char **ret_b);
/* What tells this set from another, and one state of it from another. */
void td_items_key(const struct td_items *items, const struct tundish_flow_options *o,
    struct td_sha256 *name, struct td_sha256 *content);
void td_items_close(struct td_items *items);

/* NULL without memory. */
struct td_items_desk *td_items_desk_new(void);
/* Appends the record of item i. Errors are the item's own, a reason without the path, but
 * MEMORY. */
int td_items_read(const struct td_items *items, struct td_items_desk *desk, size_t i, struct td_buf *out,
    struct tundish_error *e);
void td_items_desk_free(struct td_items_desk *desk);
