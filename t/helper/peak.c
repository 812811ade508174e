/*
 * peak: run a command and write down how much memory it took at most, or the largest of its children did, in KiB.
 *
 *     peak <file> <command> [<argument>...]
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage usage;
	FILE *out;
	int status;
	pid_t pid;

	if (argc < 3) {
		(void)fprintf(stderr, "usage: peak <file> <command> [<argument>...]\n");
		return 129;
	}
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0) {
		perror("peak");
		return 128;
	}
	out = fopen(argv[1], "w");
	if (!out || fprintf(out, "%ld\n", usage.ru_maxrss) < 0 || fclose(out)) {
		perror(argv[1]);
		return 128;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
