/*
 * Findings: what is added is read again, and what a command leaves in their place is counted and believed in nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/finding.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "fixture.h"
#include "store/home.h"

static struct ews_repo *repo;
static struct ews_session session;
static int queue; /* where a command's temporary files are */

static void set_up(void)
{
	EWS_CLEANUP(free) char *tmp = NULL;
	EWS_CLEANUP(fd) int home_fd = -1;

	fixture_begin();
	repo = fixture_make_small_project("p");
	session = (struct ews_session)EWS_SESSION_INIT;
	session.repo = repo;
	session.state.id = ews_strdup("s");
	session.fd = ews_repo_subdir(repo, "sessions/s");
	session.dir = ews_path_join(repo->dir, "sessions/s");
	cr_assert_geq(session.fd, 0);
	tmp = ews_home_tmp(repo->dir, "s");
	home_fd = ews_dir_open(repo->home);
	cr_assert_eq(ews_dir_make(home_fd, tmp, 0700), 0);
	queue = ews_dir_open_beneath(home_fd, tmp);
	cr_assert_geq(queue, 0);
	session.lock.fd = open("/dev/null", O_RDONLY); /* stands for the lock that the caller holds */
}

static void tear_down(void)
{
	close(session.lock.fd);
	session.lock.fd = -1;
	close(queue);
	ews_session_release(&session);
	ews_repo_free(repo);
	fixture_end();
}

TestSuite(finding, .init = set_up, .fini = tear_down);

static struct ews_findings collect(void)
{
	struct ews_findings found = EWS_FINDINGS_INIT;

	cr_assert_eq(ews_findings_collect(&session), 0, "%s", ews_error_message());
	cr_assert_eq(ews_findings_read(&found, &session), 0, "%s", ews_error_message());
	return found;
}

static void enqueue(const char *text)
{
	cr_assert_eq(ews_file_replace(queue, ".ews-findings", text, strlen(text), 0600), 0);
}

#define LINE(id, severity, title, more)                                       \
	"{\"id\":\"" id "\",\"severity\":\"" severity "\",\"title\":\"" title \
	"\",\"description\":\"\",\"file\":\"\",\"fix\":\"\",\"line\":0,\"created\":1" more "}\n"

Test(finding, what_waits_is_taken_over_once)
{
	EWS_CLEANUP(findings) struct ews_findings found = EWS_FINDINGS_INIT;
	EWS_CLEANUP(findings) struct ews_findings again = EWS_FINDINGS_INIT;
	struct stat st;

	enqueue(LINE("finding-00000001", "critical", "a", "") LINE("finding-00000002", "info", "b", ""));
	found = collect();
	cr_assert_eq(found.n, 2);
	cr_assert_eq(found.unreadable, 0);
	cr_assert_str_eq(found.items[0].title, "a");
	cr_assert_eq(fstatat(queue, ".ews-findings", &st, 0), -1, "what was taken over still waits");
	/* An id that is taken changes nothing. */
	enqueue(LINE("finding-00000001", "info", "harmless", ""));
	again = collect();
	cr_assert_eq(again.n, 2);
	cr_assert_eq(again.items[0].severity, EWS_SEVERITY_CRITICAL);
	cr_assert_str_eq(again.items[0].title, "a");
}

Test(finding, what_is_none_is_counted)
{
	static const char *const bad[] = {
		"junk\n",
		"{}\n",
		"{\"id\":1}\n",
		LINE("finding-0000000g", "info", "a", ""),
		LINE("../../x", "info", "a", ""),
		LINE("finding-00000001", "fatal", "a", ""),
		LINE("finding-00000001", "info", "", ""),
		LINE("finding-00000001", "info", " \\n", ""),
		LINE("finding-00000001", "info", "a", ",\"line\":1"),
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		EWS_CLEANUP(findings) struct ews_findings found = EWS_FINDINGS_INIT;

		enqueue(bad[i]);
		found = collect();
		cr_assert_eq(found.n, 0, "%s", bad[i]);
		cr_assert_eq(found.unreadable, i + 1, "%s: %zu", bad[i], found.unreadable);
	}
}

Test(finding, what_is_no_file_is_counted_and_goes)
{
	EWS_CLEANUP(findings) struct ews_findings found = EWS_FINDINGS_INIT;
	struct stat st;

	cr_assert_eq(symlinkat("/etc/passwd", queue, ".ews-findings"), 0);
	found = collect();
	cr_assert_eq(found.n, 0);
	cr_assert_eq(found.unreadable, 1);
	cr_assert_eq(fstatat(queue, ".ews-findings", &st, AT_SYMLINK_NOFOLLOW), -1);
	cr_assert_eq(stat("/etc/passwd", &st), 0);
}

Test(finding, under_which_name_a_fix_lies_is_not_believed)
{
	EWS_CLEANUP(findings) struct ews_findings found = EWS_FINDINGS_INIT;

	enqueue(LINE("finding-00000001", "info", "a", ",\"fix_name\":\"../../../etc/passwd\""));
	found = collect();
	cr_assert_eq(found.n, 1);
	cr_assert_str_eq(found.items[0].fix_name, "");
}

Test(finding, so_many_and_no_more)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(findings) struct ews_findings found = EWS_FINDINGS_INIT;
	EWS_CLEANUP(free) char *id = NULL;
	char empty[] = "", title[] = "one more";
	const struct ews_finding more = {
		.severity = EWS_SEVERITY_INFO, .title = title, .description = empty, .file = empty, .fix = empty
	};

	for (unsigned i = 0; i < 200; i++) {
		ews_buf_addf(&text,
			     "{\"id\":\"finding-%08x\",\"severity\":\"info\",\"title\":\"a\",\"file\":\"\",\"fix\":\"\","
			     "\"line\":0,\"created\":1,\"description\":\"",
			     i);
		for (unsigned k = 0; k < 60000; k++)
			ews_buf_addc(&text, 'x');
		ews_buf_adds(&text, "\"}\n");
	}
	enqueue(text.ptr);
	found = collect();
	cr_assert_gt(found.n, 20);
	cr_assert_eq(found.n + found.unreadable, 200);
	cr_assert_eq(ews_finding_add(&id, &session, &more), EWS_ENOSPACE);
}

Test(finding, a_record_that_is_none_is_an_error)
{
	static const char *const bad[] = { "junk", "{\"version\":2,\"unreadable\":0,\"findings\":[]}",
					   "{\"version\":1,\"unreadable\":0}" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		EWS_CLEANUP(findings) struct ews_findings found = EWS_FINDINGS_INIT;

		cr_assert_eq(ews_file_replace(session.fd, "findings.json", bad[i], strlen(bad[i]), 0600), 0);
		cr_assert_lt(ews_findings_read(&found, &session), 0, "%s", bad[i]);
		ews_error_clear();
	}
}

Test(finding, what_is_added_is_read_again)
{
	static const char *const texts[] = { "a", "new\nline", "q\"\\u0041", "\xff\x80\\", "\x01\x7f", "\xc3\xa9" };

	for (size_t round = 0; round < fixture_rounds(20); round++) {
		EWS_CLEANUP(findings) struct ews_findings found = EWS_FINDINGS_INIT;
		EWS_CLEANUP(free) char *id = NULL;
		char fix[] = "--- a/f\n+++ b/f\n";
		const struct ews_finding finding = { .severity = EWS_SEVERITY_CRITICAL + fixture_pick(3),
						     .title = (char *)FIXTURE_ONE_OF(texts),
						     .description = (char *)FIXTURE_ONE_OF(texts),
						     .file = (char *)FIXTURE_ONE_OF(texts),
						     .fix = fix,
						     .line = (unsigned)fixture_pick(100) };
		const struct ews_finding *last;

		cr_assert_eq(ews_finding_add(&id, &session, &finding), 0, "%s", ews_error_message());
		cr_assert_eq(ews_findings_read(&found, &session), 0);
		last = &found.items[found.n - 1];
		cr_assert_eq(found.n, round + 1);
		cr_assert_str_eq(last->id, id);
		cr_assert_eq(last->severity, finding.severity);
		cr_assert_str_eq(last->title, finding.title);
		cr_assert_str_eq(last->description, finding.description);
		cr_assert_str_eq(last->file, finding.file);
		cr_assert_eq(last->line, finding.line);
		cr_assert_str_eq(last->fix, "");
		cr_assert(strstr(last->fix_name, id));
	}
}
