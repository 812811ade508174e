/*
 * Without libFuzzer: give a target the inputs that are kept, and some that are made of them.
 *
 *     replay-<target> [--rounds <n>] <directory of inputs>...
 *
 * What is made is the same each time. The target runs in a child; an input that kills it is left in a file
 * of the present directory, which is named.
 *
 * SPDX-License-Identifier: MIT
 */
#include "target.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define INPUT_MAX ((size_t)1 << 20)
#define SEEDS_MAX 1000
#define STEPS_MAX 4

struct input {
	size_t len;
	uint8_t bytes[INPUT_MAX];
};

struct seed {
	char *name;
	uint8_t *bytes;
	size_t len;
};

static struct seed seeds[SEEDS_MAX];
static size_t seeds_n;
static struct input *current; /* shared with the child: what it is at when it dies */
static uint64_t state = 0x9e3779b97f4a7c15;

static size_t pick(size_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? (size_t)(state % n) : 0;
}

static void read_seed(const char *dir, const char *name)
{
	struct seed *seed = &seeds[seeds_n];
	struct stat st;
	int fd;

	must(asprintf(&seed->name, "%s/%s", dir, name) > 0, "out of memory");
	fd = open(seed->name, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && !fstat(fd, &st), "cannot open '%s'", seed->name);
	if (!S_ISREG(st.st_mode)) {
		free(seed->name);
		close(fd);
		return;
	}
	must(seeds_n < SEEDS_MAX && (size_t)st.st_size <= INPUT_MAX, "'%s' is too much", seed->name);
	seed->len = (size_t)st.st_size;
	seed->bytes = malloc(seed->len + 1);
	must(seed->bytes && read(fd, seed->bytes, seed->len) == st.st_size, "cannot read '%s'", seed->name);
	close(fd);
	seeds_n++;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void read_seeds(const char *dir)
{
	struct dirent **names;
	int n = scandir(dir, &names, is_visible, alphasort);

	must(n >= 0, "cannot read '%s'", dir);
	for (int i = 0; i < n; i++) {
		read_seed(dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

static void try(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len); /* of its very size, so that a sanitizer sees a step beyond */

	must(copy || !len, "out of memory");
	current->len = len;
	if (len) {
		memcpy(current->bytes, bytes, len);
		memcpy(copy, bytes, len);
	}
	(void)LLVMFuzzerTestOneInput(copy, len);
	free(copy);
}

/* Take `cut` bytes out at `at`, and put others there. */
static void exchange(struct input *input, size_t at, size_t cut, const uint8_t *bytes, size_t len)
{
	if (input->len - cut + len > INPUT_MAX)
		return;
	memmove(input->bytes + at + len, input->bytes + at + cut, input->len - at - cut);
	if (len)
		memcpy(input->bytes + at, bytes, len);
	input->len += len - cut;
}

static void change(struct input *input)
{
	static const char *const words[] = { "\"",    "\\",   "\n",      " ",    "/",
					     "..",    "{",    "}",       "[",    "]",
					     ":",     ",",    "0",       "-1",   "9999999999999999999",
					     "1e999", "null", "\\u0000", "\xff", "\t",
					     "/etc",  "$(",   "`",       "<<",   "'",
					     ";",     "&",    "|",       "git",  "true" };
	const char *word = words[pick(sizeof(words) / sizeof(*words))];
	const struct seed *other = &seeds[pick(seeds_n)];
	size_t at = pick(input->len + 1), cut = pick(input->len - at + 1), from = pick(other->len);

	switch (pick(6)) {
	case 0:
		if (at < input->len)
			input->bytes[at] ^= (uint8_t)(1 << pick(8));
		break;
	case 1:
		exchange(input, at, 0, (const uint8_t *)word, strlen(word));
		break;
	case 2:
		exchange(input, at, cut < 8 ? cut : 8, (const uint8_t *)word, strlen(word));
		break;
	case 3:
		exchange(input, at, cut, NULL, 0);
		break;
	case 4:
		exchange(input, at, cut, other->bytes + from, pick(other->len - from + 1));
		break;
	default:
		input->len = at;
	}
}

static void run(size_t rounds)
{
	static struct input input;

	for (size_t i = 0; i < seeds_n; i++)
		try(seeds[i].bytes, seeds[i].len);
	for (size_t i = 0; i < rounds; i++) {
		const struct seed *seed = &seeds[i % seeds_n];

		input.len = seed->len;
		memcpy(input.bytes, seed->bytes, seed->len);
		for (size_t steps = 1 + pick(STEPS_MAX); steps; steps--)
			change(&input);
		try(input.bytes, input.len);
	}
}

static int keep(const char *program)
{
	const char *slash = strrchr(program, '/');
	char *name;
	int fd;

	must(asprintf(&name, "crash-%s", slash ? slash + 1 : program) > 0, "out of memory");
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, current->bytes, current->len) != (ssize_t)current->len)
		perror(name);
	else
		fprintf(stderr, "%s: failed; the input is in '%s'\n", program, name);
	return 1;
}

int main(int argc, char **argv)
{
	size_t rounds = 0;
	int status, i = 1;
	pid_t child;

	if (argc > 2 && !strcmp(argv[1], "--rounds")) {
		rounds = strtoul(argv[2], NULL, 10);
		i = 3;
	}
	for (; i < argc; i++)
		read_seeds(argv[i]);
	must(seeds_n, "usage: %s [--rounds <n>] <directory of inputs>...", argv[0]);
	current = mmap(NULL, sizeof(*current), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(current != MAP_FAILED, "out of memory");
	child = fork();
	must(child >= 0, "cannot fork");
	if (!child) {
		run(rounds);
		exit(0);
	}
	must(waitpid(child, &status, 0) == child, "cannot wait");
	if (status)
		return keep(argv[0]);
	printf("%zu inputs, %zu made of them\n", seeds_n, rounds);
	return 0;
}
