/* SPDX-License-Identifier: BSD-2-Clause
 * shard: from records to another set of shards. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/path.h"
#include "base/thread.h"
#include "carry.h"
#include "pack.h"
#include "prepare.h"
#include "record/frame.h"
#include "record/frames.h"
#include "record/reader.h"
#include "scan.h"
#include "tar.h"

/* Files that one thread keeps open: file f stands in slot f % n. */
struct hand {
	struct open_file {
		int64_t file; /* -1: none */
		int fd;
	} *slots;
	struct td_prep_desk desk;
	struct td_buf frame; /* of a record that becomes members of a tar */
};

struct shard {
	struct td_pack p;
	struct td_paths paths;
	struct td_scan scan;
	struct td_filter filter;
	struct td_prepare prepare;
	struct hand *hands;
	unsigned n_hands, n_slots;
};

void tundish_shard_options_init(struct tundish_pack_options *ret_options)
{
	tundish_convert_options_init(ret_options);
	ret_options->shuffle = 0;
	ret_options->input_compression = TUNDISH_AUTO;
	ret_options->crc = TUNDISH_CRC_FULL;
}

/* ---- fetching ---- */

static int file_of(const struct shard *s, struct hand *h, size_t file, struct tundish_error *e)
{
	if (s->scan.spooled[file])
		return s->scan.spool;
	struct open_file *slot = &h->slots[file % s->n_slots];
	if (slot->file == (int64_t)file)
		return slot->fd;
	if (slot->file >= 0)
		close(slot->fd);
	slot->file = -1;
	int fd = td_open_file(s->paths.paths[file], NULL, e);
	if (fd < 0)
		return fd;
	*slot = (struct open_file){ (int64_t)file, fd };
	return fd;
}

/* With checks switched off, frames whose checksums are wrong get right ones. */
static void mend_frame(uint8_t *frame, uint64_t bytes)
{
	uint64_t length = bytes - TD_FRAME_EXTRA;
	td_frame_header(frame, length);
	td_frame_footer(frame + TD_FRAME_HEADER + length, frame + TD_FRAME_HEADER, length);
}

/* The frame at the end of `frames`, `bytes` long, with its record's index as wished. */
static int renew_index(struct shard *s, struct hand *h, struct td_buf *frames, size_t bytes,
    struct tundish_error *e)
{
	struct td_bytes made;
	const uint8_t *record = frames->data + frames->len - bytes + TD_FRAME_HEADER;
	int rc = td_prepare_record(&s->prepare, &h->desk, record, bytes - TD_FRAME_EXTRA, &made, e);
	if (rc < 0 || made.data == record)
		return rc;
	frames->len -= bytes;
	if (!td_buf_reserve(frames, made.len + TD_FRAME_EXTRA))
		return td_err_memory(e);
	uint8_t *frame = frames->data + frames->len;
	memcpy(frame + TD_FRAME_HEADER, made.data, made.len);
	mend_frame(frame, made.len + TD_FRAME_EXTRA);
	frames->len += made.len + TD_FRAME_EXTRA;
	return 0;
}

static int make(void *ctx, uint32_t item, unsigned worker, struct td_buf *frames, struct tundish_error *e)
{
	struct shard *s = ctx;
	struct hand *h = &s->hands[worker];
	const struct td_scan_record *r = &s->scan.records[item];
	const char *reason = NULL;
	int fd = file_of(s, h, r->file, e);
	if (fd < 0)
		return fd;
	if (!td_buf_reserve(frames, r->bytes))
		return td_err_memory(e);
	uint8_t *frame = frames->data + frames->len;
	int64_t n = td_read_at(fd, frame, r->bytes, r->offset, e);
	if (n < 0)
		return (int)n;
	if ((uint64_t)n < r->bytes)
		return td_err(e, TUNDISH_E_TRUNCATED, "the file shrank while it was read");
	if (s->p.o->crc != TUNDISH_CRC_FULL)
		mend_frame(frame, r->bytes);
	else if (td_frame_verify(frame, r->bytes, TUNDISH_CRC_FULL, &reason) < 0)
		return td_err(e, TUNDISH_E_CORRUPT, "%s", reason);
	frames->len += r->bytes;
	return renew_index(s, h, frames, r->bytes, e);
}

/* The same as members of a tar, called by the record's number in the input. */
static int make_tar(void *ctx, uint32_t item, unsigned worker, struct td_buf *members, struct tundish_error *e)
{
	struct shard *s = ctx;
	struct td_buf *frame = &s->hands[worker].frame;
	frame->len = 0;
	int rc = make(ctx, item, worker, frame, e);
	return rc ? rc : td_tar_record(members, item, frame->data + TD_FRAME_HEADER, frame->len - TD_FRAME_EXTRA, e);
}

static int place(void *ctx, uint32_t item, struct td_place *ret, const char **ret_name, struct tundish_error *e)
{
	(void)e;
	const struct shard *s = ctx;
	const struct td_scan_record *r = &s->scan.records[item];
	*ret = TD_PLACE(s->paths.paths[r->file]);
	ret->record = r->number;
	if (!s->scan.spooled[r->file])
		ret->offset = (int64_t)r->offset;
	*ret_name = td_path_base(s->paths.paths[r->file]);
	return 0;
}

/* As many files at once as the process may have, shared among the threads. */
static int make_hands(struct shard *s, struct tundish_error *e)
{
	struct rlimit limit = { .rlim_cur = 256 };
	getrlimit(RLIMIT_NOFILE, &limit);
	uint64_t room = limit.rlim_cur > 40 ? TD_MIN((uint64_t)limit.rlim_cur - 32, (uint64_t)4096) : 8;
	s->n_hands = s->p.threads;
	s->n_slots = (unsigned)TD_MAX(TD_MIN(room / s->n_hands, (uint64_t)s->paths.n), (uint64_t)1);
	s->hands = calloc(s->n_hands, sizeof *s->hands);
	for (unsigned i = 0; s->hands && i < s->n_hands; i++) {
		s->hands[i].slots = calloc(s->n_slots, sizeof *s->hands[i].slots);
		if (!s->hands[i].slots)
			return td_err_memory(e);
		for (unsigned k = 0; k < s->n_slots; k++)
			s->hands[i].slots[k].file = -1;
	}
	return s->hands ? 0 : td_err_memory(e);
}

/* ---- scanning and planning ---- */

/* Where there will be room: the output's folder, or the nearest above that is there. */
static char *spool_folder(const struct shard *s)
{
	const char *tmp = getenv("TMPDIR");
	char *folder = strdup(!s->p.out.stream ? s->p.out.folder : tmp && *tmp ? tmp : "/tmp");
	struct stat st;
	while (folder && stat(folder, &st) != 0 && strcmp(folder, "/") != 0 && strcmp(folder, ".") != 0) {
		char *up = td_path_folder(folder);
		free(folder);
		folder = up;
	}
	return folder;
}

static bool is_stratify_feature(const struct tundish_pack_options *o)
{
	return o->stratify && strcmp(o->stratify, "label") != 0 && strcmp(o->stratify, "none") != 0;
}

static int find_files(struct shard *s, struct tundish_error *e)
{
	const struct tundish_pack_options *o = s->p.o;
	int rc = td_paths_find(&s->paths, o->sources, o->n_sources, &o->listener, e);
	if (rc == 0 && s->paths.faults && o->on_error == TUNDISH_FAIL)
		rc = td_err(e, TUNDISH_E_CORRUPT, "shards of the input are missing");
	return rc;
}

static int scan_files(struct shard *s, struct tundish_error *e)
{
	struct td_classes names = { 0 };
	char *folder = spool_folder(s);
	int rc = folder ? td_carry_names(&names, &s->paths, &s->p.o->listener, e) : td_err_memory(e);
	if (rc == 0)
		rc = td_filter_parse(&s->filter, s->p.o->filter, &names, e);
	const struct td_scan_options options = {
		.paths = &s->paths,
		.class_key = is_stratify_feature(s->p.o) ? s->p.o->stratify : NULL,
		.group_key = s->p.o->group_by,
		.filter = &s->filter,
		.spool_folder = folder,
		.pack = s->p.o,
	};
	if (rc == 0)
		rc = td_scan(&s->scan, &options, &s->p.bad, e);
	if (rc == 0)
		rc = td_carry_classes(&s->p, &s->scan, &names, is_stratify_feature(s->p.o), e);
	if (rc == 0)
		rc = td_carry_features(&s->p, &s->scan, &s->paths, e);
	td_classes_free(&names);
	free(folder);
	return rc;
}

static int cut_records(struct shard *s, struct tundish_error *e)
{
	struct td_scan *scan = &s->scan;
	const struct tundish_pack_options *o = s->p.o;
	size_t skip = (size_t)TD_MIN(o->skip, (uint64_t)scan->n);
	size_t n = o->limit ? (size_t)TD_MIN(o->limit, (uint64_t)(scan->n - skip)) : scan->n - skip;
	if (n == 0)
		return td_err(e, TUNDISH_E_EMPTY, "no records: %zu good ones, %" PRIu64 " left out, %" PRIu64 " bad",
		    scan->n, scan->left_out, s->p.bad.count);
	memmove(scan->records, scan->records + skip, n * sizeof *scan->records);
	scan->n = n;
	s->p.left_out = scan->left_out;
	s->p.left_out_what = scan->left_out == 1 ? "record" : "records";
	s->p.found = n + s->p.left_out + s->p.bad.count;
	return 0;
}

static uint32_t checksum_inputs(const struct shard *s)
{
	uint32_t crc = 0;
	struct stat st;
	for (size_t i = 0; i < s->paths.n; i++) {
		const char *name = td_path_base(s->paths.paths[i]);
		crc = td_crc32c(crc, name, strlen(name) + 1);
		if (stat(s->paths.paths[i], &st) == 0) {
			crc = td_crc32c(crc, &st.st_size, sizeof st.st_size);
			crc = td_crc32c(crc, &st.st_mtim, sizeof st.st_mtim);
		}
	}
	for (size_t i = 0; i < s->scan.n; i++)
		crc = td_crc32c(crc, &s->scan.records[i].bytes, sizeof s->scan.records[i].bytes);
	return crc;
}

static int fill_items(struct shard *s, struct tundish_error *e)
{
	struct td_pack *p = &s->p;
	p->inputs = checksum_inputs(s);
	p->item_bytes = malloc((s->scan.n + 1) * sizeof *p->item_bytes);
	p->item_class = p->classes.n ? malloc((s->scan.n + 1) * sizeof *p->item_class) : NULL;
	if (!p->item_bytes || (p->classes.n && !p->item_class))
		return td_err_memory(e);
	for (size_t i = 0; i < s->scan.n; i++) {
		p->item_bytes[i] = s->scan.records[i].bytes;
		if (p->item_class)
			p->item_class[i] = s->scan.records[i].class;
	}
	return 0;
}

/* Records without the feature stand alone. */
static int fill_groups(struct shard *s, struct tundish_error *e)
{
	struct td_pack *p = &s->p;
	if (!p->o->group_by)
		return 0;
	if (s->scan.groups.n == 0)
		return td_err(e, TUNDISH_E_USAGE, "group-by: no record has a feature %s", TD_ESC(p->o->group_by));
	p->item_group = malloc((s->scan.n + 1) * sizeof *p->item_group);
	if (!p->item_group)
		return td_err_memory(e);
	p->n_groups = s->scan.groups.n;
	for (size_t i = 0; i < s->scan.n; i++)
		p->item_group[i] = s->scan.records[i].group < 0 ? (uint32_t)p->n_groups++ :
								   (uint32_t)s->scan.records[i].group;
	return 0;
}

/* ---- all together ---- */

static void free_shard(struct shard *s)
{
	for (unsigned i = 0; s->hands && i < s->n_hands; i++) {
		for (unsigned k = 0; s->hands[i].slots && k < s->n_slots; k++)
			if (s->hands[i].slots[k].file >= 0)
				close(s->hands[i].slots[k].fd);
		free(s->hands[i].slots);
		td_prep_desk_free(&s->hands[i].desk);
		td_buf_free(&s->hands[i].frame);
	}
	free(s->hands);
	td_scan_free(&s->scan);
	td_filter_free(&s->filter);
	td_prepare_fini(&s->prepare);
	td_paths_free(&s->paths);
	td_pack_free(&s->p);
}

static void use_tar(struct shard *s, struct tundish_pack_options *o)
{
	s->p.tar = true;
	s->p.make = make_tar;
	if (!o->name_template)
		o->name_template = o->count_in_name ? "{name}-{split}-{shard}_{count}.tar" : "{name}-{split}-{shard}.tar";
}

int tundish_shard(const struct tundish_pack_options *options, struct tundish_pack_result **ret_result,
    struct tundish_error *ret_error)
{
	struct tundish_pack_options o;
	tundish_shard_options_init(&o);
	memcpy(&o, options, TD_MIN(options->size, sizeof o));
	struct shard s = { .scan.spool = -1, .p = { .o = &o, .command = "shard", .make = make, .place = place,
		.set.journal = -1 } };
	s.p.ctx = &s;
	if (o.to == TUNDISH_TO_TAR)
		use_tar(&s, &o);
	int rc = td_pack_check(&s.p, ret_error);
	if (rc == 0)
		rc = td_prepare_init(&s.prepare, &o, ret_error);
	if (rc == 0)
		rc = find_files(&s, ret_error);
	if (rc == 0)
		rc = scan_files(&s, ret_error);
	if (rc == 0)
		rc = cut_records(&s, ret_error);
	if (rc == 0)
		rc = fill_items(&s, ret_error);
	if (rc == 0)
		rc = fill_groups(&s, ret_error);
	if (rc == 0)
		rc = td_pack_plan(&s.p, s.scan.n, ret_error);
	if (rc == 0)
		rc = make_hands(&s, ret_error);
	if (rc == 0)
		rc = td_pack_run(&s.p, ret_error);
	if (rc == 0)
		rc = td_pack_result(ret_result, &s.p, ret_error);
	free_shard(&s);
	return rc;
}
