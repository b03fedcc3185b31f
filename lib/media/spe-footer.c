/* SPDX-License-Identifier: BSD-2-Clause
 * The XML footer of SPE 3 files, read with expat. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <expat.h>

#include "base/err.h"
#include "base/number.h"
#include "spe.h"

#define FOOTER_MOST (64u << 20)
#define PIECE_BYTES 65536
#define REGIONS_MOST 1024
#define FIELDS_MOST 256
#define DEPTH_MOST 256

struct reader {
	XML_Parser parser;
	struct td_spe_footer *f;
	struct td_buf path; /* "/SpeFormat/DataFormat/DataBlock" */
	struct td_buf text; /* of the element, where it is wanted */
	bool keep_text;
	unsigned depth;
	uint64_t meta_block;
	int code;
	const char *why;
};

static void stop(struct reader *r, int code, const char *why)
{
	if (r->code == 0) {
		r->code = code;
		r->why = why;
	}
	XML_StopParser(r->parser, XML_FALSE);
}

static const char *local(const char *name)
{
	const char *colon = strrchr(name, ':');
	return colon ? colon + 1 : name;
}

static const char *attribute(const char **attributes, const char *name)
{
	for (; attributes[0]; attributes += 2)
		if (strcmp(local(attributes[0]), name) == 0)
			return attributes[1];
	return NULL;
}

/* A whole number, 0 when it is not there. */
static uint64_t count_of(struct reader *r, const char **attributes, const char *name)
{
	const char *s = attribute(attributes, name);
	uint64_t v = 0;
	if (s && !td_parse_u64(&v, s, strlen(s)))
		stop(r, TUNDISH_E_CORRUPT, "a number of the XML footer is none");
	return v;
}

static void copy(char *to, size_t room, const char *from)
{
	size_t len = from ? strlen(from) : 0;
	if (len < room)
		memcpy(to, from ? from : "", len + 1);
}

static struct td_spe_block block_of(struct reader *r, const char **attributes)
{
	struct td_spe_block b = { 0 };
	b.count = count_of(r, attributes, "count");
	b.width = count_of(r, attributes, "width");
	b.height = count_of(r, attributes, "height");
	b.size = count_of(r, attributes, "size");
	b.stride = count_of(r, attributes, "stride");
	const char *s = attribute(attributes, "calibrations");
	while (s && *s && b.n_ids < TD_COUNT(b.ids)) {
		size_t n = strcspn(s, ", ");
		if (td_parse_u64(&b.ids[b.n_ids], s, n))
			b.n_ids++;
		s += n;
		s += strspn(s, ", ");
	}
	return b;
}

static void on_frame(struct reader *r, const char **attributes)
{
	const char *format = attribute(attributes, "pixelFormat");
	if (r->f->frame.stride) {
		stop(r, TUNDISH_E_UNSUPPORTED, "more than one block of frames");
		return;
	}
	r->f->frame = block_of(r, attributes);
	r->f->meta_format = count_of(r, attributes, "metaFormat");
	copy(r->f->pixel_format, sizeof r->f->pixel_format, format);
}

static void on_region(struct reader *r, const char **attributes)
{
	struct td_spe_footer *f = r->f;
	struct td_spe_block b = block_of(r, attributes);
	uint64_t count = b.count ? b.count : 1;
	if (count > REGIONS_MOST - f->n_regions) {
		stop(r, TUNDISH_E_LIMIT, "more than 1024 regions");
		return;
	}
	/* a region counted n times stands n times in each frame */
	for (uint64_t i = 0; i < count; i++) {
		if (!td_grow(&f->regions, &f->regions_cap, f->n_regions, sizeof *f->regions)) {
			stop(r, TUNDISH_E_MEMORY, "out of memory");
			return;
		}
		f->regions[f->n_regions++] = b;
	}
}

/* "ExposureStarted" becomes "exposure_started". */
static void snake(char *to, size_t room, const char *first, const char *second)
{
	size_t n = 0;
	const char *const parts[] = { first, second ? second : "" };
	for (int i = 0; i < 2; i++)
		for (const char *s = parts[i]; *s && n + 2 < room; s++) {
			bool upper = *s >= 'A' && *s <= 'Z';
			bool plain = upper || (*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9');
			if (n && (upper || !plain) && to[n - 1] != '_')
				to[n++] = '_';
			if (plain)
				to[n++] = upper ? (char)(*s - 'A' + 'a') : *s;
		}
	to[n] = '\0';
}

static void on_field(struct reader *r, const char *name, const char **attributes)
{
	struct td_spe_footer *f = r->f;
	if (f->n_fields == FIELDS_MOST ||
	    !td_grow(&f->fields, &f->fields_cap, f->n_fields, sizeof *f->fields)) {
		stop(r, TUNDISH_E_LIMIT, "more than 256 values for each frame");
		return;
	}
	struct td_spe_field *g = &f->fields[f->n_fields];
	*g = (struct td_spe_field){ .block = r->meta_block };
	const char *event = attribute(attributes, "event"), *type = attribute(attributes, "type");
	uint64_t bits = count_of(r, attributes, "bitDepth");
	if (strcmp(name, "TimeStamp") == 0) {
		snake(g->field.name, sizeof g->field.name, event ? event : name, NULL);
		g->field.resolution = count_of(r, attributes, "resolution");
		if (!f->absolute_time[0])
			copy(f->absolute_time, sizeof f->absolute_time,
			    attribute(attributes, "absoluteTime"));
	} else {
		/* GateTracking with component "Delay" is known as gate_delay */
		const char *component = attribute(attributes, "component");
		bool gate = component && strcmp(name, "GateTracking") == 0;
		snake(g->field.name, sizeof g->field.name, gate ? "Gate" : name, component);
	}
	if (bits == 0 || bits % 8 || bits > 64) {
		stop(r, TUNDISH_E_UNSUPPORTED, "a value of each frame has an odd number of bits");
		return;
	}
	g->bytes = (unsigned)(bits / 8);
	g->field.real = type && strcmp(type, "Double") == 0;
	g->known = type && bits == 64 && (g->field.real || strcmp(type, "Int64") == 0);
	f->n_fields++;
}

static void on_mapping(struct reader *r, const char **attributes)
{
	struct td_spe_footer *f = r->f;
	if (!td_grow(&f->mappings, &f->mappings_cap, f->n_mappings, sizeof *f->mappings)) {
		stop(r, TUNDISH_E_MEMORY, "out of memory");
		return;
	}
	struct td_spe_mapping *m = &f->mappings[f->n_mappings++];
	const char *laser = attribute(attributes, "laserLine");
	*m = (struct td_spe_mapping){ .id = count_of(r, attributes, "id"), .first = f->n_wavelengths };
	if (laser && !td_parse_double(&m->laser, laser, strlen(laser)))
		m->laser = 0;
}

static void on_sensor(struct reader *r, const char **attributes)
{
	struct td_spe_footer *f = r->f;
	if (!td_grow(&f->sensors, &f->sensors_cap, f->n_sensors, sizeof *f->sensors)) {
		stop(r, TUNDISH_E_MEMORY, "out of memory");
		return;
	}
	f->sensors[f->n_sensors++] = (struct td_spe_sensor){
		.id = count_of(r, attributes, "id"),
		.x = count_of(r, attributes, "x"),
		.y = count_of(r, attributes, "y"),
		.width = count_of(r, attributes, "width"),
		.height = count_of(r, attributes, "height"),
		.x_binning = count_of(r, attributes, "xBinning"),
		.y_binning = count_of(r, attributes, "yBinning"),
	};
}

#define CALIBRATIONS "/SpeFormat/Calibrations"
#define META "/SpeFormat/MetaFormat/MetaBlock"
#define EXPOSURE "/ShutterTiming/ExposureTime"

/* Only what stands right below the root counts: histories repeat much of it. */
static void on_path(struct reader *r, const char *path, const char *name, const char **attributes)
{
	const char *type = attribute(attributes, "type");
	if (strcmp(path, "/SpeFormat/DataFormat/DataBlock") == 0) {
		if (type && strcmp(type, "Frame") == 0)
			on_frame(r, attributes);
	} else if (strcmp(path, "/SpeFormat/DataFormat/DataBlock/DataBlock") == 0) {
		if (type && strcmp(type, "Region") == 0)
			on_region(r, attributes);
	} else if (strcmp(path, META) == 0) {
		r->meta_block = count_of(r, attributes, "id");
	} else if (strncmp(path, META "/", sizeof META) == 0 && !strchr(path + sizeof META, '/')) {
		on_field(r, name, attributes);
	} else if (strcmp(path, CALIBRATIONS "/WavelengthMapping") == 0) {
		on_mapping(r, attributes);
	} else if (strcmp(path, CALIBRATIONS "/SensorMapping") == 0) {
		on_sensor(r, attributes);
	} else if (strcmp(path, "/SpeFormat/GeneralInformation/FileInformation") == 0) {
		copy(r->f->created, sizeof r->f->created, attribute(attributes, "created"));
		copy(r->f->creator, sizeof r->f->creator, attribute(attributes, "creator"));
	}
}

static bool is_wanted(const struct reader *r, const char *path, size_t len)
{
	static const char wavelength[] = CALIBRATIONS "/WavelengthMapping/Wavelength";
	if (strncmp(path, wavelength, sizeof wavelength - 1) == 0)
		return true;
	return r->f->exposure_ms == 0 && len > sizeof EXPOSURE - 1 &&
	    strcmp(path + len - (sizeof EXPOSURE - 1), EXPOSURE) == 0;
}

static void on_start(void *data, const char *name, const char **attributes)
{
	struct reader *r = data;
	name = local(name);
	if (++r->depth > DEPTH_MOST) {
		stop(r, TUNDISH_E_CORRUPT, "the XML footer is nested too deep");
		return;
	}
	if (!td_buf_printf(&r->path, "/%s", name)) {
		stop(r, TUNDISH_E_MEMORY, "out of memory");
		return;
	}
	const char *path = (const char *)r->path.data;
	r->text.len = 0;
	r->keep_text = is_wanted(r, path, r->path.len);
	on_path(r, path, name, attributes);
}

static void on_text(void *data, const char *s, int len)
{
	struct reader *r = data;
	if (r->keep_text && !td_buf_add(&r->text, s, (size_t)len))
		stop(r, TUNDISH_E_MEMORY, "out of memory");
}

/* Numbers between commas and blanks; of pairs the first ones. */
static void take_wavelengths(struct reader *r, bool pairs)
{
	struct td_spe_footer *f = r->f;
	const char *s = (const char *)r->text.data;
	size_t at = 0, count = 0;
	if (!f->n_mappings || f->mappings[f->n_mappings - 1].n)
		return;
	while (at < r->text.len) {
		size_t n = 0;
		while (at + n < r->text.len && !strchr(", \t\r\n", s[at + n]))
			n++;
		double v = 0;
		if (n && !td_parse_double(&v, s + at, n)) {
			stop(r, TUNDISH_E_CORRUPT, "a wavelength of the XML footer is no number");
			return;
		}
		if (n && (count++ % 2 == 0 || !pairs)) {
			if (!td_grow(&f->wavelengths, &f->wavelengths_cap, f->n_wavelengths,
				sizeof *f->wavelengths)) {
				stop(r, TUNDISH_E_MEMORY, "out of memory");
				return;
			}
			f->wavelengths[f->n_wavelengths++] = v;
		}
		at += n + 1;
	}
	f->mappings[f->n_mappings - 1].n = f->n_wavelengths - f->mappings[f->n_mappings - 1].first;
}

static void on_end(void *data, const char *name)
{
	struct reader *r = data;
	name = local(name);
	if (r->code)
		return; /* stopped: expat may yet close the element that was opened */
	if (r->keep_text && strcmp(name, "ExposureTime") == 0) {
		double v;
		if (td_parse_double(&v, (const char *)r->text.data, r->text.len))
			r->f->exposure_ms = v;
	} else if (r->keep_text) {
		take_wavelengths(r, strcmp(name, "WavelengthError") == 0);
	}
	r->keep_text = false;
	r->depth--;
	r->path.len -= strlen(name) + 1;
	r->path.data[r->path.len] = '\0';
}

static void on_entity(void *data, const char *name, int is_parameter, const char *value, int len,
    const char *base, const char *system_id, const char *public_id, const char *notation)
{
	(void)name, (void)is_parameter, (void)value, (void)len;
	(void)base, (void)system_id, (void)public_id, (void)notation;
	stop(data, TUNDISH_E_CORRUPT, "the XML footer declares entities");
}

static int parse(struct reader *r, const struct td_bytes *file, uint64_t offset,
    struct tundish_error *e)
{
	uint64_t end = file->size;
	do {
		void *piece = XML_GetBuffer(r->parser, PIECE_BYTES);
		if (!piece)
			return td_err_memory(e);
		size_t n = (size_t)TD_MIN(end - offset, (uint64_t)PIECE_BYTES);
		int rc = td_bytes_read(file, piece, n, offset, e);
		if (rc < 0)
			return rc;
		offset += n;
		if (XML_ParseBuffer(r->parser, (int)n, offset == end) == XML_STATUS_ERROR) {
			if (r->code)
				return td_err(e, r->code, "SPE: %s", r->why);
			return td_err(e, TUNDISH_E_CORRUPT, "SPE: XML footer, line %lu: %s",
			    (unsigned long)XML_GetCurrentLineNumber(r->parser),
			    XML_ErrorString(XML_GetErrorCode(r->parser)));
		}
	} while (offset < end);
	if (!r->f->n_regions || !r->f->frame.stride)
		return td_err(e, TUNDISH_E_CORRUPT, "SPE: XML footer without frames and regions");
	return 0;
}

int td_spe_footer_read(struct td_spe_footer *ret, const struct td_bytes *file, uint64_t offset,
    struct tundish_error *e)
{
	struct td_spe_footer f = { 0 };
	struct reader r = { .f = &f, .parser = XML_ParserCreate(NULL) };
	int rc = 0;
	if (!r.parser)
		return td_err_memory(e);
	if (file->size - offset > FOOTER_MOST)
		rc = td_err(e, TUNDISH_E_LIMIT, "SPE: XML footer of %" PRIu64 " bytes",
		    file->size - offset);
	XML_SetUserData(r.parser, &r);
	XML_SetElementHandler(r.parser, on_start, on_end);
	XML_SetCharacterDataHandler(r.parser, on_text);
	XML_SetEntityDeclHandler(r.parser, on_entity);
	if (rc == 0)
		rc = parse(&r, file, offset, e);
	XML_ParserFree(r.parser);
	td_buf_free(&r.path);
	td_buf_free(&r.text);
	if (rc < 0)
		td_spe_footer_free(&f);
	else
		*ret = f;
	return rc;
}

void td_spe_footer_free(struct td_spe_footer *f)
{
	free(f->regions);
	free(f->fields);
	free(f->mappings);
	free(f->sensors);
	free(f->wavelengths);
	*f = (struct td_spe_footer){ 0 };
}
