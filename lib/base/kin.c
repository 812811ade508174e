/*
 * Kin: see kin.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/kin.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"

#define TEXT_BYTES_MAX (4 * EWS_KIB)
#define LOOK_MS 10

/* What is needed of /proc/<pid>/stat. */
struct stat_line {
	char state;
	pid_t parent;
	unsigned long long start_time;
};

/* Its second field is a name in parentheses that may hold anything; the others stand behind it. */
static bool read_stat(struct stat_line *out, pid_t pid)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *at;
	char name[64];
	int parent;

	(void)snprintf(name, sizeof(name), "/proc/%ld/stat", (long)pid);
	if (ews_file_read(&text, AT_FDCWD, name, TEXT_BYTES_MAX) < 0)
		ews_error_clear();
	at = strrchr(text.ptr, ')');
	if (!at || sscanf(at + 1, " %c %d", &out->state, &parent) != 2)
		return false;
	out->parent = parent;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	out->start_time = at ? strtoull(at, NULL, 10) : 0;
	return true;
}

void ews_kin_self(struct ews_kin *out)
{
	EWS_CLEANUP(buf) struct ews_buf boot = EWS_BUF_INIT;
	struct stat_line line = { 0 };

	*out = (struct ews_kin){ .pid = getpid() };
	if (read_stat(&line, out->pid))
		out->start_time = line.start_time;
	if (ews_file_read(&boot, AT_FDCWD, "/proc/sys/kernel/random/boot_id", TEXT_BYTES_MAX) < 0)
		ews_error_clear();
	ews_buf_rtrim(&boot);
	(void)snprintf(out->boot_id, sizeof(out->boot_id), "%s", boot.ptr);
}

bool ews_kin_is_same(const struct ews_kin *a, const struct ews_kin *b)
{
	return a->pid == b->pid && a->start_time == b->start_time && !strcmp(a->boot_id, b->boot_id);
}

bool ews_kin_is_self(const struct ews_kin *kin)
{
	struct ews_kin self;

	ews_kin_self(&self);
	return ews_kin_is_same(kin, &self);
}

pid_t ews_kin_parent(pid_t pid)
{
	struct stat_line line;

	return read_stat(&line, pid) ? line.parent : 0;
}

void ews_kin_name(struct ews_buf *out, pid_t pid)
{
	EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%ld/comm", (long)pid);
	if (ews_file_read(&name, AT_FDCWD, path, TEXT_BYTES_MAX) < 0)
		ews_error_clear();
	ews_buf_rtrim(&name);
	ews_buf_addf(out, "%s (%ld)", name.len ? name.ptr : "a process", (long)pid);
}

static bool has(const struct ews_kin_list *list, pid_t pid)
{
	for (size_t i = 0; list && i < list->n; i++)
		if (list->items[i] == pid)
			return true;
	return false;
}

static void add(struct ews_kin_list *list, pid_t pid)
{
	EWS_GROW(list->items, list->n, list->cap);
	list->items[list->n++] = pid;
}

static void list_all(struct ews_kin_list *out)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (!*end && pid > 0)
			add(out, (pid_t)pid);
	}
	if (proc)
		closedir(proc);
}

void ews_kin_descendants(struct ews_kin_list *out, const struct ews_kin_list *before)
{
	EWS_CLEANUP(kin_list) struct ews_kin_list all = EWS_KIN_LIST_INIT;
	EWS_CLEANUP(free) struct stat_line *lines = NULL;
	bool has_grown = true;

	list_all(&all);
	lines = ews_calloc(all.n + 1, sizeof(*lines));
	for (size_t i = 0; i < all.n; i++)
		if (!read_stat(&lines[i], all.items[i]) || lines[i].state == 'Z' || lines[i].state == 'X')
			lines[i].parent = 0;
	/* A child may have the lower number, so look until nobody is added. */
	while (has_grown) {
		has_grown = false;
		for (size_t i = 0; i < all.n; i++) {
			pid_t parent = lines[i].parent;

			if (!parent || has(out, all.items[i]) || has(before, all.items[i]) ||
			    (parent != getpid() && !has(out, parent)))
				continue;
			add(out, all.items[i]);
			has_grown = true;
		}
	}
}

void ews_kin_children(struct ews_kin_list *out)
{
	EWS_CLEANUP(kin_list) struct ews_kin_list all = EWS_KIN_LIST_INIT;
	siginfo_t info;

	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		return; /* ECHILD: there are none */
	ews_kin_descendants(&all, NULL);
	for (size_t i = 0; i < all.n; i++)
		if (ews_kin_parent(all.items[i]) == getpid())
			add(out, all.items[i]);
}

char *ews_kin_list_print(const struct ews_kin_list *list)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (size_t i = 0; i < list->n; i++)
		ews_buf_addf(&text, "%s%ld", i ? "," : "", (long)list->items[i]);
	return ews_buf_steal(&text);
}

void ews_kin_list_read(struct ews_kin_list *out, const char *text)
{
	char *end;

	for (long pid = strtol(text, &end, 10); pid > 0; pid = *end == ',' ? strtol(end + 1, &end, 10) : 0)
		add(out, (pid_t)pid);
}

void ews_kin_end(const struct ews_kin_list *before, unsigned grace_ms)
{
	EWS_CLEANUP(kin_list) struct ews_kin_list told = EWS_KIN_LIST_INIT;
	uint64_t start_ms = ews_clock_monotonic_ms(), now_ms = start_ms;

	/* Twice the time at most: nobody forks faster than he is killed for so long. */
	for (; now_ms < start_ms + 2 * (uint64_t)grace_ms; now_ms = ews_clock_monotonic_ms()) {
		EWS_CLEANUP(kin_list) struct ews_kin_list list = EWS_KIN_LIST_INIT;
		bool is_late = now_ms >= start_ms + grace_ms;

		ews_kin_descendants(&list, before);
		if (!list.n)
			return;
		for (size_t i = 0; i < list.n; i++) {
			if (!is_late && has(&told, list.items[i]))
				continue;
			(void)kill(list.items[i], is_late ? SIGKILL : SIGTERM);
			(void)kill(list.items[i], SIGCONT);
			add(&told, list.items[i]);
		}
		ews_clock_sleep_ms(LOOK_MS);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

void ews_kin_list_release(struct ews_kin_list *list)
{
	free(list->items);
	*list = (struct ews_kin_list)EWS_KIN_LIST_INIT;
}
