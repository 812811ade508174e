/*
 * Ports: see port.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/home.h"

#define PORTS_BYTES_MAX EWS_MIB
#define WAIT_MS 10000
/* Below those that the kernel gives to clients. */
#define FIRST 20000
#define LAST 32600
#define EACH 100
#define N_RANGES ((LAST - FIRST) / EACH + 1)

/* Is the session in the directory `dir` alive, and does it say that the ports from `base` on are its? What can't be read may be so. */
static bool holds(const char *dir, unsigned base)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(dir);
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	int rc = fd < 0 ? fd : ews_state_read(&state, fd);

	ews_error_clear();
	return rc == 0 ? state.state != EWS_STATE_ENDED && state.port_base == base : rc != EWS_ENOTFOUND;
}

/* What is given away: lines that still hold, and the numbers alone. */
struct given {
	struct ews_buf lines;
	bool is_taken[N_RANGES];
};

static void release_given(struct given *given)
{
	ews_buf_release(&given->lines);
}

EWS_CLEANUP_DEFINE(given, struct given, release_given)

static void add_line(struct ews_buf *out, unsigned base, const char *dir)
{
	ews_buf_addf(out, "%u ", base);
	ews_path_escape(out, dir, strlen(dir));
	ews_buf_addc(out, '\n');
}

static void read_lines(struct given *out, char *text)
{
	char *rest, *line;

	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		EWS_CLEANUP(buf) struct ews_buf dir = EWS_BUF_INIT;
		unsigned base;
		int at = 0;

		if (sscanf(line, "%u %n", &base, &at) != 1 || !at || base < FIRST || base > LAST || base % EACH)
			continue;
		if (ews_path_unescape(&dir, line + at, strlen(line + at)) < 0 || !holds(dir.ptr, base)) {
			ews_error_clear();
			continue;
		}
		out->is_taken[(base - FIRST) / EACH] = true;
		add_line(&out->lines, base, dir.ptr);
	}
}

static bool has_its_own(const struct ews_session *session, const struct given *given)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	add_line(&line, session->state.port_base, session->dir);
	return session->state.port_base && strstr(given->lines.ptr, line.ptr);
}

static int choose(struct ews_session *session, int home_fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(given) struct given given = { .lines = EWS_BUF_INIT };
	size_t i = 0;
	int rc = ews_file_read_own(&text, home_fd, EWS_HOME_PORTS, PORTS_BYTES_MAX);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		rc = 0;
	}
	if (rc < 0)
		return rc;
	read_lines(&given, text.ptr);
	if (has_its_own(session, &given))
		return 0;
	while (i < N_RANGES && given.is_taken[i])
		i++;
	session->state.port_base = i < N_RANGES ? (unsigned)(FIRST + i * EACH) : 0;
	if (!session->state.port_base)
		return 0;
	add_line(&given.lines, session->state.port_base, session->dir);
	return ews_file_replace(home_fd, EWS_HOME_PORTS, given.lines.ptr, given.lines.len, 0600);
}

int ews_port_give(struct ews_session *session)
{
	EWS_CLEANUP(fd) int home = ews_home_open(session->repo->home);
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = home < 0 ? home : ews_lock_take(&lock, home, EWS_HOME_PORTS_LOCK, "run", WAIT_MS);

	if (rc == 0)
		rc = choose(session, home);
	/* Before anybody else looks: a line that the session does not agree with is void. */
	if (rc == 0)
		rc = ews_session_save(session);
	return rc < 0 ? ews_error_wrap("cannot choose ports") : 0;
}
