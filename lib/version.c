/* SPDX-License-Identifier: BSD-2-Clause
 * Versions, code texts, and what this machine allows. */
#include <isa-l.h>
#include <jansson.h>
#include <jpeglib.h>
#ifdef TD_HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif
#include <png.h>
#include <protobuf-c/protobuf-c.h>
#include <pthread.h>
#include <stdio.h>
#include <utf8proc.h>
#include <zlib.h>

#include "base/ring.h"
#include "base/thread.h"
#include "media/jpeg.h"
#include "tundish.h"

#define STRING_(x) #x
#define STRING(x) STRING_(x)

const char *tundish_version(void)
{
	return STRING(TUNDISH_VERSION_MAJOR) "." STRING(TUNDISH_VERSION_MINOR) "." STRING(
	    TUNDISH_VERSION_PATCH);
}

#define LIBRARIES                                                                                  \
	"libjpeg-turbo/" STRING(LIBJPEG_TURBO_VERSION) " libpng/" PNG_LIBPNG_VER_STRING            \
	" zlib/" ZLIB_VERSION " isa-l/" STRING(ISAL_MAJOR_VERSION) "." STRING(ISAL_MINOR_VERSION)  \
	"." STRING(ISAL_PATCH_VERSION) " protobuf-c/" PROTOBUF_C_VERSION                           \
	" jansson/" JANSSON_VERSION " utf8proc/" STRING(UTF8PROC_VERSION_MAJOR)                    \
	"." STRING(UTF8PROC_VERSION_MINOR) "." STRING(UTF8PROC_VERSION_PATCH)

static char features[512];

static void list_features(void)
{
	snprintf(features, sizeof features, LIBRARIES "%s jpeg-entropy/%s io_uring/%s",
#ifdef TD_HAVE_LIBDEFLATE
	    " libdeflate/" LIBDEFLATE_VERSION_STRING,
#else
	    "",
#endif
	    td_jpeg_own_works() ? "own" : "libjpeg", td_ring_state());
}

const char *tundish_features(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, list_features);
	return features;
}

static const char *const texts[] = {
	[-TUNDISH_OK] = "fine",
	[-TUNDISH_E_INVALID] = "invalid argument",
	[-TUNDISH_E_USAGE] = "wrong options",
	[-TUNDISH_E_EXISTS] = "a finished set is there already",
	[-TUNDISH_E_NOT_FOUND] = "not found",
	[-TUNDISH_E_EMPTY] = "nothing usable in the input",
	[-TUNDISH_E_IO] = "input/output error",
	[-TUNDISH_E_SPACE] = "no space left",
	[-TUNDISH_E_MEMORY] = "out of memory",
	[-TUNDISH_E_MODULE] = "a module is missing",
	[-TUNDISH_E_CLOSED] = "the consumer went away",
	[-TUNDISH_E_STOPPED] = "stopped",
	[-TUNDISH_E_CORRUPT] = "corrupt data",
	[-TUNDISH_E_TRUNCATED] = "truncated data",
	[-TUNDISH_E_UNSUPPORTED] = "not supported",
	[-TUNDISH_E_LIMIT] = "over a limit",
	[-TUNDISH_E_SCHEMA] = "a feature is missing or of another type",
	[-TUNDISH_E_BAD] = "too many bad items",
};

const char *tundish_strerror(int code)
{
	return code > 0 || code <= -(int)TD_COUNT(texts) ? "unknown code" : texts[-code];
}

unsigned tundish_usable_cores(void)
{
	return td_usable_cores();
}

uint64_t tundish_default_memory(void)
{
	return td_memory(0);
}
