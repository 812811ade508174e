/*
 * Measure: see measure.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "measure.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORDS_MAX 64

extern char **environ;

static FILE *log_file;

void log_open(const char *path)
{
	log_file = fopen(path, "we");
	if (!log_file) {
		perror(path);
		exit(128);
	}
	setvbuf(log_file, NULL, _IOLBF, 0);
}

void log_line(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vfprintf(log_file, fmt, args);
	(void)fputc('\n', log_file);
	va_end(args);
}

/* Split a command at its blanks. Gives false when a shell has to read it. */
static bool split(char **words, char *command)
{
	size_t n = 0;

	if (strpbrk(command, "|&;<>()$`\\\"'*?[#~={\n"))
		return false;
	for (char *word = strtok(command, " "); word && n + 1 < WORDS_MAX; word = strtok(NULL, " "))
		words[n++] = word;
	words[n] = NULL;
	return n > 0;
}

/* Replace "$NAME" by its value, so that no shell has to do it. The caller frees the result. */
static char *expand(const char *text)
{
	char *out = NULL;
	size_t len;
	FILE *to = open_memstream(&out, &len);

	while (*text) {
		char name[32] = "";
		size_t n = strspn(text + (*text == '$'), "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");

		if (*text != '$' || !n || n >= sizeof(name)) {
			(void)fputc(*text++, to);
			continue;
		}
		memcpy(name, text + 1, n);
		(void)fputs(getenv(name) ? getenv(name) : "", to);
		text += 1 + n;
	}
	(void)fclose(to);
	return out;
}

static pid_t start(char *const *argv, int out_fd)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int rc;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fileno(log_file), STDERR_FILENO);
	rc = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (rc) {
		(void)fprintf(stderr, "cannot start %s: %s\n", argv[0], strerror(rc));
		exit(128);
	}
	return pid;
}

static int status_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static double ms_since(const struct timespec *from)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - from->tv_sec) * 1e3 + (double)(now.tv_nsec - from->tv_nsec) / 1e6;
}

int run_script(const char *text)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-euc" }, strdup(text), NULL };
	struct timespec from;
	int status;

	log_line("$ %s", text);
	(void)clock_gettime(CLOCK_MONOTONIC, &from);
	(void)waitpid(start(argv, fileno(log_file)), &status, 0);
	free(argv[2]);
	log_line("status %d after %.0f ms", status_of(status), ms_since(&from));
	return status_of(status);
}

char *ask_script(const char *text)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-euc" }, strdup(text), NULL };
	char *line = NULL;
	size_t cap = 0;
	int ends[2], status;
	FILE *from;
	pid_t pid;

	log_line("$ %s", text);
	if (pipe2(ends, O_CLOEXEC) < 0 || !(from = fdopen(ends[0], "r"))) {
		perror("pipe");
		exit(128);
	}
	pid = start(argv, ends[1]);
	(void)close(ends[1]);
	if (getline(&line, &cap, from) < 0) {
		free(line);
		line = strdup("");
	}
	(void)fclose(from);
	(void)waitpid(pid, &status, 0);
	free(argv[2]);
	line[strcspn(line, "\n")] = '\0';
	if (status_of(status)) {
		(void)fprintf(stderr, "this failed: %s\n", text);
		exit(128);
	}
	return line;
}

int measure(struct cost *cost, const char *command)
{
	int out_fd = open(getenv("OUT"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char *text = expand(command), *words[WORDS_MAX],
	     *shell[] = { (char[]){ "sh" }, (char[]){ "-euc" }, NULL, NULL };
	char *copy = strdup(text);
	bool is_simple = split(words, copy);
	struct timespec from;
	struct rusage usage;
	double ms;
	int status;
	pid_t pid;

	shell[2] = text;
	(void)clock_gettime(CLOCK_MONOTONIC, &from);
	pid = start(is_simple ? words : shell, out_fd);
	(void)wait4(pid, &status, 0, &usage);
	ms = ms_since(&from);
	if (cost->n < SAMPLES_MAX)
		cost->ms[cost->n++] = ms;
	if (usage.ru_maxrss > cost->peak_kib)
		cost->peak_kib = usage.ru_maxrss;
	log_line("%% %s: %.2f ms, %ld KiB, status %d", text, ms, usage.ru_maxrss, status_of(status));
	(void)close(out_fd);
	free(copy);
	free(text);
	return status_of(status);
}

int count_calls(struct cost *cost, const char *command)
{
	char *text = expand(command), *copy = strdup(text), *words[WORDS_MAX], *count;
	int rc = run_script("command -v strace");

	if (rc == 0) {
		(void)setenv("COMMAND", text, 1);
		rc = run_script(split(words, copy) ? "strace -f -c -o \"$X/calls\" -- $COMMAND"
						   : "strace -f -c -o \"$X/calls\" -- sh -euc \"$COMMAND\"");
		count = ask_script("awk '$NF == \"total\" { print $4 }' \"$X/calls\"");
		cost->calls = strtol(count, NULL, 10);
		free(count);
	}
	free(copy);
	free(text);
	return rc;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double cost_min(const struct cost *cost)
{
	double min = cost->n ? cost->ms[0] : 0;

	for (size_t i = 1; i < cost->n; i++)
		min = cost->ms[i] < min ? cost->ms[i] : min;
	return min;
}

double cost_median(const struct cost *cost)
{
	double sorted[SAMPLES_MAX];

	memcpy(sorted, cost->ms, cost->n * sizeof(*sorted));
	qsort(sorted, cost->n, sizeof(*sorted), compare);
	if (!cost->n)
		return 0;
	return cost->n % 2 ? sorted[cost->n / 2] : (sorted[cost->n / 2 - 1] + sorted[cost->n / 2]) / 2;
}
