/* SPDX-License-Identifier: BSD-2-Clause
 * What a file is that is no TFRecord file, told by its first bytes. */
#pragma once
#include "base/attr.h"

/* "JPEG image", "git-lfs pointer: the data was never downloaded", ... or NULL when
 * the bytes are nothing plain. Static strings. */
const char *td_foreign(const uint8_t *data, size_t bytes);
