/* SPDX-License-Identifier: BSD-2-Clause
 * Videos and sound as far as it goes without libav: kinds by first bytes, options. */
#include "av.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/number.h"
#include "base/path.h"
#include "format.h"

/* ---- kinds ---- */

static const struct mark {
	size_t at, len;
	const char *bytes;
	int score;
} marks[] = {
	{ 4, 4, "ftyp", 70 },		     /* MP4, MOV */
	{ 4, 4, "moov", 60 },
	{ 4, 4, "mdat", 60 },
	{ 4, 4, "wide", 50 },
	{ 0, 4, "\x1a\x45\xdf\xa3", 70 },    /* Matroska, WebM */
	{ 8, 4, "AVI ", 70 },
	{ 8, 4, "WAVE", 70 },
	{ 0, 4, "OggS", 70 },
	{ 0, 4, "fLaC", 70 },
	{ 0, 3, "ID3", 60 },
	{ 0, 4, "FLV\1", 70 },
	{ 0, 8, "\x30\x26\xb2\x75\x8e\x66\xcf\x11", 70 }, /* ASF: WMV, WMA */
	{ 8, 3, "AIF", 60 },
	{ 0, 4, ".snd", 60 },
	{ 0, 4, "caff", 60 },
	{ 0, 4, "wvpk", 60 },
	{ 0, 5, "#!AMR", 60 },
	{ 0, 4, "DKIF", 60 },		     /* IVF */
	{ 0, 10, "YUV4MPEG2 ", 70 },
	{ 0, 4, "\0\0\1\xba", 60 },	     /* MPEG program stream */
	{ 0, 4, "\0\0\1\xb3", 60 },	     /* MPEG video */
	{ 0, 14, "\x06\x0e\x2b\x34\x02\x05\x01\x01\x0d\x01\x02\x01\x01\x02", 70 }, /* MXF */
};

/* Packets of 188 bytes, or of 192 with a time before each; four in a row are no chance. */
static bool is_transport_stream(const uint8_t *head, size_t len)
{
	static const struct { size_t at, step; } kinds[] = { { 0, 188 }, { 4, 192 } };
	for (unsigned i = 0; i < TD_COUNT(kinds); i++) {
		unsigned n = 0;
		while (n < 4 && kinds[i].at + n * kinds[i].step < len && head[kinds[i].at + n * kinds[i].step] == 'G')
			n++;
		if (n == 4)
			return true;
	}
	return false;
}

/* Streams without a container begin with a mark that is too short to believe alone. */
static bool is_bare_stream(const char *path, const uint8_t *head, size_t len)
{
	static const char *const sound[] = { ".mp3", ".mp2", ".aac" };
	static const char *const video[] = { ".h264", ".264", ".h265", ".265", ".hevc" };
	if (len >= 4 && head[0] == 0xff && (head[1] & 0xe0) == 0xe0)
		return td_path_has_suffix(path, sound, TD_COUNT(sound));
	return len >= 5 && memcmp(head, "\0\0", 2) == 0 && td_path_has_suffix(path, video, TD_COUNT(video));
}

/* Still pictures in the same container as MP4. */
static bool is_still(const uint8_t *head, size_t len)
{
	static const char brands[][5] = { "heic", "heix", "mif1", "msf1", "avif" };
	for (unsigned i = 0; len >= 12 && i < TD_COUNT(brands); i++)
		if (memcmp(head + 8, brands[i], 4) == 0)
			return memcmp(head + 4, "ftyp", 4) == 0;
	return false;
}

int td_av_probe(const char *path, const uint8_t *head, size_t len)
{
	if (is_still(head, len))
		return 0;
	for (unsigned i = 0; i < TD_COUNT(marks); i++) {
		const struct mark *m = &marks[i];
		if (len >= m->at + m->len && memcmp(head + m->at, m->bytes, m->len) == 0)
			return m->score;
	}
	return is_transport_stream(head, len) ? 50 : is_bare_stream(path, head, len) ? 40 : 0;
}

/* ".ts" is that of many a program text, too. */
static bool named(const char *path)
{
	static const char *const suffixes[] = { ".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg",
		".mpeg", ".wmv", ".flv", ".m2ts", ".mts", ".3gp", ".ogv", ".m4a", ".wav", ".mp3",
		".flac", ".ogg", ".opus", ".aac", ".aiff" };
	return td_path_has_suffix(path, suffixes, TD_COUNT(suffixes));
}

const struct td_format td_format_video = {
	.name = "video",
	.module = "video",
	.package = "tundish-video",
	.probe = td_av_probe,
	.named = named,
};

/* ---- options ---- */

/* "25", "2.5", "30000/1001"; both below 2^31, so that products fit. */
static bool parse_rate(int64_t *ret_num, int64_t *ret_den, const char *s)
{
	const char *slash = strchr(s, '/'), *point = strchr(s, '.');
	size_t len = slash ? (size_t)(slash - s) : point ? (size_t)(point - s) : strlen(s);
	uint64_t num, den = 1, rest;
	if (!td_parse_u64(&num, s, len) || num > INT32_MAX)
		return false;
	if (slash && (!td_parse_u64(&den, slash + 1, strlen(slash + 1)) || den > INT32_MAX))
		return false;
	if (!slash && point) {
		size_t digits = strlen(point + 1);
		if (digits > 6 || !td_parse_u64(&rest, point + 1, digits))
			return false;
		for (; digits; digits--)
			den *= 10;
		num = num * den + rest;
	}
	*ret_num = (int64_t)num;
	*ret_den = (int64_t)den;
	return num > 0 && den > 0 && num <= INT32_MAX;
}

static int parse_frames(struct td_av_cut *cut, const char *spec, struct tundish_error *e)
{
	uint64_t n;
	if (!spec || strcmp(spec, "all") == 0) {
		cut->frames = TD_FRAMES_ALL;
	} else if (strcmp(spec, "keys") == 0) {
		cut->frames = TD_FRAMES_KEYS;
	} else if (strncmp(spec, "every:", 6) == 0 && td_parse_u64(&n, spec + 6, strlen(spec + 6)) && n > 0 &&
	    n <= INT32_MAX) {
		cut->frames = TD_FRAMES_EVERY;
		cut->every = (uint32_t)n;
	} else if (strncmp(spec, "fps:", 4) == 0 && parse_rate(&cut->fps_num, &cut->fps_den, spec + 4)) {
		cut->frames = TD_FRAMES_FPS;
	} else {
		return td_err(e, TUNDISH_E_USAGE, "frames: \"%s\" is none of all, every:K, fps:F, keys", TD_ESC(spec));
	}
	return 0;
}

/* "16", "16:8", "16:8:4" */
static int parse_clip(struct td_av_cut *cut, const char *spec, struct tundish_error *e)
{
	uint32_t *parts[] = { &cut->clip, &cut->clip_step, &cut->clip_most };
	const char *s = spec;
	bool ok = true;
	for (unsigned i = 0; s && ok; i++) {
		size_t len = strcspn(s, ":");
		uint64_t n;
		ok = i < TD_COUNT(parts) && td_parse_u64(&n, s, len) && n > 0 && n <= INT32_MAX;
		if (ok)
			*parts[i] = (uint32_t)n;
		s = s[len] ? s + len + 1 : NULL;
	}
	if (!ok)
		return td_err(e, TUNDISH_E_USAGE, "clip: \"%s\" is not FRAMES[:STRIDE[:CLIPS]], each from 1",
		    TD_ESC(spec));
	if (!cut->clip_step)
		cut->clip_step = cut->clip;
	return 0;
}

/* "mono", "all", either with ":float32" or ":int16" */
static int parse_sound(struct td_av_cut *cut, const char *spec, struct tundish_error *e)
{
	size_t len = strcspn(spec, ":");
	const char *type = spec[len] ? spec + len + 1 : "float32";
	cut->sound = true;
	cut->mono = len == 4 && strncmp(spec, "mono", 4) == 0;
	cut->int16 = strcmp(type, "int16") == 0;
	bool ok = (cut->mono || (len == 3 && strncmp(spec, "all", 3) == 0)) &&
	    (cut->int16 || strcmp(type, "float32") == 0);
	return ok ? 0 : td_err(e, TUNDISH_E_USAGE, "sound: \"%s\" is neither mono nor all, with or without "
	    ":float32 or :int16", TD_ESC(spec));
}

static bool take_seconds(double *ret, const char *s, size_t len)
{
	return td_parse_double(ret, s, len) && *ret > 0 && *ret <= 1e6;
}

/* "0.5", "0.5:0.25" */
static int parse_window(struct td_av_cut *cut, const char *spec, struct tundish_error *e)
{
	size_t len = strcspn(spec, ":");
	if (!take_seconds(&cut->window, spec, len) ||
	    (spec[len] && !take_seconds(&cut->hop, spec + len + 1, strlen(spec + len + 1))))
		return td_err(e, TUNDISH_E_USAGE, "window: \"%s\" is not SECONDS[:HOP]", TD_ESC(spec));
	return 0;
}

/* A rate and a window are of sound; then all channels stay. */
static int parse_sounds(struct td_av_cut *cut, const struct tundish_pack_options *o, struct tundish_error *e)
{
	int rc = 0;
	if (o->sound || o->rate || o->window)
		rc = parse_sound(cut, o->sound ? o->sound : "all", e);
	if (rc == 0 && o->rate > 10000000)
		rc = td_err(e, TUNDISH_E_USAGE, "rate: more than 10000000");
	cut->rate = o->rate;
	if (rc == 0 && o->window)
		rc = parse_window(cut, o->window, e);
	if (rc == 0 && cut->sound && (o->frames || o->clip))
		rc = td_err(e, TUNDISH_E_USAGE, "sound: frames and clips are of pictures, convert either");
	return rc;
}

int td_av_parse(struct td_av_cut *ret, const struct tundish_pack_options *o, struct tundish_error *e)
{
	struct td_av_cut cut = { 0 };
	int rc = parse_frames(&cut, o->frames, e);
	if (rc == 0)
		rc = parse_clip(&cut, o->clip, e);
	if (rc == 0)
		rc = parse_sounds(&cut, o, e);
	cut.sequence = o->sequence;
	if (rc == 0 && cut.sequence && !cut.clip)
		rc = td_err(e, TUNDISH_E_USAGE, "sequence: only clips are SequenceExamples: --clip is missing");
	if (rc == 0)
		*ret = cut;
	return rc;
}
