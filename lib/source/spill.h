/* SPDX-License-Identifier: BSD-2-Clause
 * Members of archives as files without a name, for formats that open a file. */
#pragma once
#include <stdatomic.h>

#include "base/buf.h"
#include "tundish.h"

struct td_file;

/* Shared by all items of a member; gone with the last who drops it. */
struct td_spilled {
	_Atomic unsigned users;
	int fd, data_fd; /* data_fd: an ENVI header's numbers; -1: none */
	char path[32], data_path[32];
	struct td_buf index; /* of td_parts, where a stream's items are loaded */
};
/* An empty file, to be filled through fd. */
int td_spilled_new(struct td_spilled **ret, struct tundish_error *e);
/* The same for the numbers. */
int td_spilled_add_data(struct td_spilled *s, struct tundish_error *e);
/* Appends to one of its files: fd or data_fd. */
int td_spilled_put(int fd, const void *data, size_t bytes, struct tundish_error *e);
struct td_spilled *td_spilled_share(struct td_spilled *s);
void td_spilled_drop(struct td_spilled *s);
/* It takes the place of the path, which is what messages then say. */
void td_spilled_file(struct td_file *file, const struct td_spilled *s);
