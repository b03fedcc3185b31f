/* SPDX-License-Identifier: BSD-2-Clause
 * What shard takes over from the set that it reads: class names, and how TFDS sees it. */
#pragma once
#include "pack.h"
#include "scan.h"

/* Class names of LABEL.labels.txt beside the first file; none is fine. */
int td_carry_names(struct td_classes *ret, const struct td_paths *paths, const struct tundish_listener *l,
    struct tundish_error *e);
/* Settles the classes of the scan and moves them to p; named where each label has a name
 * in `names`, which may be taken. `other`: they are of a feature that is no label. */
int td_carry_classes(struct td_pack *p, struct td_scan *scan, struct td_classes *names, bool other,
    struct tundish_error *e);
/* Features that every record has, from features.json beside the first file, else by what
 * the records hold. */
int td_carry_features(struct td_pack *p, const struct td_scan *scan, const struct td_paths *paths,
    struct tundish_error *e);
