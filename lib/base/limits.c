/* SPDX-License-Identifier: BSD-2-Clause
 * What this process may use: cores and memory, by affinity, cgroup and free memory. */
#include <ctype.h>
#include <stdbool.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "thread.h"

static unsigned affinity_cores(void)
{
	/* the kernel may know more CPUs than a cpu_set_t holds */
	for (int cpus = CPU_SETSIZE; cpus <= 1 << 20; cpus *= 4) {
		cpu_set_t *set = CPU_ALLOC((size_t)cpus);
		size_t bytes = CPU_ALLOC_SIZE((size_t)cpus);
		if (!set)
			return 1;
		int n = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
		CPU_FREE(set);
		if (n > 0)
			return (unsigned)n;
	}
	return 1;
}

/* Reads a small file; false when it is not there. */
static bool read_small(const char *path, char *text, size_t bytes)
{
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	size_t n = fread(text, 1, bytes - 1, f);
	text[n] = 0;
	fclose(f);
	return n > 0;
}

/* The folder of this process in a cgroup hierarchy: `controller` "" means v2. */
static bool cgroup_folder(const char *controller, char *folder, size_t bytes)
{
	char text[4096];
	if (!read_small("/proc/self/cgroup", text, sizeof text))
		return false;
	for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = 0;
		names++;
		if (*controller ? strstr(names, controller) == NULL : *names != 0)
			continue;
		snprintf(folder, bytes, "/sys/fs/cgroup/%s%s", controller, path);
		return true;
	}
	return false;
}

/* Calls `look` for the process's cgroup folder and each one above it. */
static double least_upwards(const char *controller, double (*look)(const char *folder))
{
	char folder[4352];
	double least = -1;
	if (!cgroup_folder(controller, folder, sizeof folder))
		return -1;
	while (strlen(folder) >= strlen("/sys/fs/cgroup")) {
		double v = look(folder);
		if (v >= 0 && (least < 0 || v < least))
			least = v;
		char *slash = strrchr(folder, '/');
		if (!slash || slash == folder)
			break;
		*slash = 0;
	}
	return least;
}

static bool read_in(const char *folder, const char *name, char *text, size_t bytes)
{
	char path[4608];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return read_small(path, text, bytes);
}

static double quota_v2(const char *folder)
{
	char text[128];
	double quota, period;
	if (!read_in(folder, "cpu.max", text, sizeof text) ||
	    sscanf(text, "%lf %lf", &quota, &period) != 2 || period <= 0)
		return -1;
	return quota / period;
}

static double quota_v1(const char *folder)
{
	char quota[64], period[64];
	if (!read_in(folder, "cpu.cfs_quota_us", quota, sizeof quota) ||
	    !read_in(folder, "cpu.cfs_period_us", period, sizeof period) || atof(quota) <= 0 ||
	    atof(period) <= 0)
		return -1;
	return atof(quota) / atof(period);
}

static double room(const char *folder, const char *limit_name, const char *used_name)
{
	char limit[64], used[64];
	if (!read_in(folder, limit_name, limit, sizeof limit) ||
	    !isdigit((unsigned char)limit[0]) || !read_in(folder, used_name, used, sizeof used))
		return -1;
	double left = atof(limit) - atof(used);
	return atof(limit) > 0x1p60 ? -1 : TD_MAX(left, 0.0);
}

static double room_v2(const char *folder)
{
	return room(folder, "memory.max", "memory.current");
}

static double room_v1(const char *folder)
{
	return room(folder, "memory.limit_in_bytes", "memory.usage_in_bytes");
}

unsigned td_usable_cores(void)
{
	unsigned cores = affinity_cores();
	double quota = least_upwards("", quota_v2);
	if (quota < 0)
		quota = least_upwards("cpu", quota_v1);
	if (quota > 0 && quota < cores) {
		unsigned whole = (unsigned)quota;
		cores = whole < quota ? whole + 1 : whole;
	}
	return TD_MAX(cores, 1u);
}

uint64_t td_memory(uint64_t asked)
{
	if (asked)
		return asked;
	double free_bytes = 0x1p30, left = least_upwards("", room_v2);
	char text[4096];
	const char *at = read_small("/proc/meminfo", text, sizeof text) ?
	    strstr(text, "MemAvailable:") : NULL;
	if (at)
		free_bytes = atof(at + strlen("MemAvailable:")) * 1024;
	if (left < 0)
		left = least_upwards("memory", room_v1);
	if (left >= 0 && left < free_bytes)
		free_bytes = left;
	return TD_MAX((uint64_t)(free_bytes / 4), (uint64_t)64 << 20);
}
