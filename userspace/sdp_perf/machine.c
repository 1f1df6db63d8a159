// SPDX-License-Identifier: GPL-2.0
/*
 * What a host says of itself: what it is, so that a figure is never without it, and how
 * much of its processors was used.
 */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "perf.h"

/* The first line of a file of the kernel's; false if there is none. */
static bool read_line(const char *path, char *to, size_t room)
{
	FILE *f = fopen(path, "re");
	bool is = f && fgets(to, room, f);

	if (f)
		fclose(f);
	if (is)
		to[strcspn(to, "\n")] = '\0';
	return is;
}

static void add_text(struct json_object *to, const char *key, const char *text)
{
	json_object_object_add(to, key, text ? json_object_new_string(text) : NULL);
}

static void add_line(struct json_object *to, const char *key, const char *path)
{
	char line[256];

	add_text(to, key, read_line(path, line, sizeof(line)) ? line : NULL);
}

/* As /proc/cpuinfo calls it, which not every architecture does. */
static void add_model(struct json_object *to)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512], *colon;

	while (f && fgets(line, sizeof(line), f)) {
		colon = strchr(line, ':');
		if (!colon || strncmp(line, "model name", 10))
			continue;
		colon[strcspn(colon, "\n")] = '\0';
		add_text(to, "processor", colon + 1 + strspn(colon + 1, " "));
		break;
	}
	if (f)
		fclose(f);
}

/* The module: its version and what its source was; or that there is none. */
static void add_module(struct json_object *to)
{
	char version[64] = "?", source[64] = "?", text[160];
	bool has_version = read_line("/sys/module/af_sdp/version", version, sizeof(version));
	bool has_source = read_line("/sys/module/af_sdp/srcversion", source, sizeof(source));

	if (has_version || has_source)
		snprintf(text, sizeof(text), "%s srcversion %s", version, source);
	else
		snprintf(text, sizeof(text), "not loaded");
	add_text(to, "af_sdp", text);
}

static void add_port(struct json_object *to, const char *port)
{
	/* /sys/class/infiniband/DEVICE/ports/PORT */
	const char *device = port + strlen("/sys/class/infiniband/");
	int len = strcspn(device, "/");
	struct json_object *one = json_object_new_object();
	static const char *const files[] = { "link_layer", "rate", "state" };
	static const char *const keys[] = { "link_layer", "speed", "state" };
	char name[512];
	size_t i;

	snprintf(name, sizeof(name), "%.*s/%s", len, device, strrchr(port, '/') + 1);
	add_text(one, "port", name);
	for (i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s/%s", port, files[i]);
		add_line(one, keys[i], name);
	}
	json_object_array_add(to, one);
}

static void add_devices(struct json_object *to)
{
	struct json_object *ports = json_object_new_array();
	glob_t found;
	size_t i;

	if (!glob("/sys/class/infiniband/*/ports/*", 0, NULL, &found)) {
		for (i = 0; i < found.gl_pathc; i++)
			add_port(ports, found.gl_pathv[i]);
		globfree(&found);
	}
	json_object_object_add(to, "rdma", ports);
}

/* The tunables of the namespace in one word: "enable=1 local=0". */
static void add_tunables(struct json_object *to)
{
	char *text = NULL, value[64];
	size_t size, i;
	glob_t found;
	FILE *words;

	if (glob("/proc/sys/net/sdp/*", 0, NULL, &found)) {
		add_text(to, "net.sdp", NULL);
		return;
	}
	words = need(open_memstream(&text, &size));
	for (i = 0; i < found.gl_pathc; i++)
		if (read_line(found.gl_pathv[i], value, sizeof(value)))
			fprintf(words, "%s%s=%s", i ? " " : "",
				strrchr(found.gl_pathv[i], '/') + 1, value);
	fclose(words);
	add_text(to, "net.sdp", text);
	free(text);
	globfree(&found);
}

/**
 * machine_about() - what this host is
 *
 * Context: Any thread.
 * Return: an object of words and an array, for report.c.
 */
struct json_object *machine_about(void)
{
	struct json_object *about = json_object_new_object();
	struct utsname name;
	char text[256];

	uname(&name);
	add_text(about, "host", name.nodename);
	snprintf(text, sizeof(text), "%s %s", name.sysname, name.release);
	add_text(about, "kernel", text);
	add_text(about, "build", name.version);
	add_text(about, "architecture", name.machine);
	json_object_object_add(about, "processors", json_object_new_int(machine_processors()));
	add_model(about);
	add_module(about);
	add_devices(about);
	add_tunables(about);
	return about;
}

/**
 * machine_place() - which host and which network namespace this is
 *
 * Two processes with the same can reach each other by AF_UNIX, and by memory.
 *
 * Context: Any thread.
 * Return: a word.
 */
struct json_object *machine_place(void)
{
	char boot[64] = "?", text[128];
	struct stat ns = {};

	read_line("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	if (stat("/proc/self/ns/net", &ns))
		ns.st_ino = 0;
	snprintf(text, sizeof(text), "%s %llu", boot, (unsigned long long)ns.st_ino);
	return json_object_new_string(text);
}

/**
 * machine_processors() - those that work now
 *
 * Context: Any.
 * Return: 1 or more.
 */
int machine_processors(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? n : 1;
}

/**
 * machine_busy() - how long processors worked, for whomever
 *
 * What is idle the kernel knows by the clock, but tells in hundredths of a second.
 *
 * Context: Any.
 * Return: ns of all processors together since some moment; 0 if it is not told.
 */
int64_t machine_busy(void)
{
	double user, nice, system, idle, iowait;
	FILE *f = fopen("/proc/stat", "re");
	int n;

	if (!f)
		return 0;
	n = fscanf(f, "cpu %lf %lf %lf %lf %lf", &user, &nice, &system, &idle, &iowait);
	fclose(f);
	if (n != 5)
		return 0;
	return now() * machine_processors() -
		(int64_t)((idle + iowait) / sysconf(_SC_CLK_TCK) * 1e9);
}

/**
 * process_time() - how long processors worked for this process, all its threads
 *
 * Context: Any.
 * Return: ns.
 */
int64_t process_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/**
 * sdp_tunable() - a tunable of net.sdp, in this network namespace
 * @name: its name
 *
 * Context: Any.
 * Return: its value; -1 if it is not there.
 */
int sdp_tunable(const char *name)
{
	char path[128], value[32];

	snprintf(path, sizeof(path), "/proc/sys/net/sdp/%s", name);
	return read_line(path, value, sizeof(value)) ? atoi(value) : -1;
}
