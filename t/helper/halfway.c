/*
 * halfway: run a command while a file is half overwritten, as a look sees it that comes while one long write(2) is under way.
 *
 *     halfway <file> <command> [<argument>...]
 *
 * The times are those at which it begins; the rest comes without a sign, through a map of pages that are written to already.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE_BYTES 4096
#define OLDER_THAN_A_TICK_US 100000

static int fail(const char *what)
{
	perror(what);
	return 128;
}

static int run(char **argv)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(fail(argv[0]));
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return fail("halfway");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	volatile char *bytes;
	size_t half;
	struct stat st;
	int fd, status;

	if (argc < 3) {
		(void)fprintf(stderr, "usage: halfway <file> <command> [<argument>...]\n");
		return 129;
	}
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(argv[1]);
	half = (size_t)st.st_size / 2;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return fail("halfway");
	memset((char *)bytes, 'n', half);
	for (size_t at = half; at < (size_t)st.st_size; at += PAGE_BYTES)
		bytes[at] = bytes[at];
	if (pwrite(fd, "n", 1, 0) != 1)
		return fail(argv[1]);
	(void)usleep(OLDER_THAN_A_TICK_US);
	status = run(argv + 2);
	memset((char *)bytes + half, 'n', (size_t)st.st_size - half);
	return status;
}
