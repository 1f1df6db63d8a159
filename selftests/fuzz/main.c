// SPDX-License-Identifier: GPL-2.0
/*
 * A fuzzer without libFuzzer:
 *
 *	fuzz_NAME COUNT SEED [FILE...]		COUNT inputs, made by chance
 *	fuzz_NAME FILE				replay an input
 *	fuzz_NAME seeds DIR COUNT SEED [FILE...] write them into DIR instead
 *
 * The input number n depends on SEED + n alone, so that a failure names the
 * seed that gives it at once.
 */
#include <signal.h>

#include "../unit/chance.h"
#include "fuzz.h"

enum { INPUT_MAX = 1 << 14, FILE_MAX = 1 << 20 };

static const char *name;
static uint64_t seed, round_nr;
static char **files;

/* Whoever finds something ends with SIGABRT, so one place tells of it. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
	return "abort_on_error=1";
}

const char *__ubsan_default_options(void)
{
	return "abort_on_error=1:print_stacktrace=1";
}

static void on_abort(int signal)
{
	int i;

	(void)signal;

	fprintf(stderr, "# replay: %s 1 %llu", name,
		(unsigned long long)(seed + round_nr));
	for (i = 0; files[i]; i++)
		fprintf(stderr, " %s", files[i]);
	fputc('\n', stderr);
}

static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *bytes = malloc(FILE_MAX);

	if (!file || !bytes) {
		perror(path);
		exit(2);
	}
	*size = fread(bytes, 1, FILE_MAX, file);
	fclose(file);
	return bytes;
}

static void write_file(const char *dir, const uint8_t *bytes, size_t size)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/seed-%llu", dir,
		 (unsigned long long)(seed + round_nr));
	file = fopen(path, "wb");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) {
		perror(path);
		exit(2);
	}
}

static int usage(void)
{
	fprintf(stderr, "usage: %s COUNT SEED [FILE...]\n"
		"       %s seeds DIR COUNT SEED [FILE...]\n"
		"       %s FILE\n", name, name, name);
	return 2;
}

static int replay(const char *path)
{
	size_t size;
	char *bytes = read_file(path, &size);
	/* As libFuzzer has it: no byte of it is behind its end. */
	uint8_t *input = exact_copy(bytes, size);

	LLVMFuzzerTestOneInput(input, size);
	free(input);
	free(bytes);
	return 0;
}

int main(int argc, char **argv)
{
	static uint8_t input[INPUT_MAX];
	const char *dir = NULL;
	uint64_t count;
	size_t size;
	char *bytes;
	int i;

	name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	if (argc == 2)
		return replay(argv[1]);
	if (argc >= 5 && !strcmp(argv[1], "seeds")) {
		dir = argv[2];
		argv += 2;
		argc -= 2;
	}
	if (argc < 3)
		return usage();
	count = strtoull(argv[1], NULL, 0);
	seed = strtoull(argv[2], NULL, 0);
	if (!count || (argc > 3 && !fuzz_file))
		return usage();
	files = argv + 3;
	for (i = 0; files[i]; i++) {
		bytes = read_file(files[i], &size);
		fuzz_file(bytes, size);
		free(bytes);
	}

	if (!dir) {
		printf("KTAP version 1\n1..1\n# %llu inputs, seed %llu\n",
		       (unsigned long long)count, (unsigned long long)seed);
		fflush(stdout);
		signal(SIGABRT, on_abort);
	}
	for (round_nr = 0; round_nr < count; round_nr++) {
		rng = seed + round_nr;
		size = fuzz_make(input, sizeof(input));
		if (dir)
			write_file(dir, input, size);
		else
			LLVMFuzzerTestOneInput(input, size);
	}
	if (!dir)
		printf("ok 1 %s\n", name);
	return 0;
}
