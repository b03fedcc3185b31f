/* SPDX-License-Identifier: BSD-2-Clause
 * What the module that reads archives does; it is the only one that knows libarchive. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "tundish.h"

enum td_archive_kind {
	TD_ARCHIVE_NONE,
	TD_ARCHIVE_TAR, /* plain: its members lie in the file as they are */
	TD_ARCHIVE_ZIP,
	TD_ARCHIVE_STREAM, /* one that is packed as a whole: read from its start only */
};

enum td_entry_what {
	TD_ENTRY_FILE,
	TD_ENTRY_HARD, /* another name of the member `target` */
	TD_ENTRY_LINK,
	TD_ENTRY_OTHER, /* folders, devices */
};

/* A member, the strings good until the next one is asked for. */
struct td_entry {
	const char *name; /* UTF-8 where it can be told, as it stands in the archive */
	const char *target;
	enum td_entry_what what;
	uint64_t bytes;
	uint64_t at;   /* where its own header begins */
	uint64_t data; /* where its bytes begin, as they are or packed */
	bool plain;    /* they lie there as they are */
	const char *locked; /* why it cannot be read; NULL: it can */
};

/* How an archive is read. */
enum td_archive_how {
	TD_ARCHIVE_LIST,   /* all members by their headers: small reads, seeks */
	TD_ARCHIVE_MEMBER, /* one, from where its header begins */
	TD_ARCHIVE_PIPE,   /* from its start to its end, never seeking */
};

/* Where the bytes of a pipe come from: up to `bytes` more, 0 at the end, or an error. */
struct td_archive_feed {
	ssize_t (*read)(void *ctx, void *out, size_t bytes, struct tundish_error *e);
	void *ctx;
};

struct td_archiver {
	/* TAR, ZIP or NONE, by the file's content. Errors are none. */
	enum td_archive_kind (*kind)(int fd);
	/* Reads the file from `at` on, or the feed from its start; both stay the caller's. */
	int (*open)(void **ret, int fd, uint64_t at, enum td_archive_how how, const struct td_archive_feed *feed,
	    struct tundish_error *e);
	/* The next member: 1, or 0 at the end. Errors, as all here, are reasons without the
	 * path: CORRUPT, TRUNCATED, IO, UNSUPPORTED, MEMORY; nothing follows them. */
	int (*next)(void *archive, struct td_entry *ret, struct tundish_error *e);
	/* Appends up to max_bytes of the member's bytes, all that follow or LIMIT when it is
	 * not `part`. Another error than MEMORY and IO is the member's own. */
	int (*read)(void *archive, struct td_buf *out, uint64_t max_bytes, bool part, struct tundish_error *e);
	/* Whether a tar had its end mark; else it may have been cut between two members. */
	bool (*ended)(const void *archive);
	void (*close)(void *archive);
};
