/*
 * Findings: see finding.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/finding.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "store/home.h"
#include "work/artifact.h"
#include "work/artifact_place.h"
#include "work/session_lock.h"

#define FINDINGS_FILE "findings.json"
#define FINDINGS_VERSION 1
#define QUEUE_FILE ".ews-findings" /* out of the way of a command that sweeps its temporary files */
#define FILE_BYTES_MAX (16 * EWS_MIB)
#define COUNT_MAX 10000
/* Of all words together: however JSON spells them, the file can be read again. */
#define TEXT_BYTES_MAX (2 * EWS_MIB)
#define ID_PREFIX "finding-"
#define ID_DIGITS 8
#define LOCK_WAIT_MS 30000

static const char *const words[] = {
	[EWS_SEVERITY_CRITICAL] = "critical",
	[EWS_SEVERITY_WARNING] = "warning",
	[EWS_SEVERITY_INFO] = "info",
};

const char *ews_severity_word(enum ews_severity severity)
{
	return words[severity];
}

int ews_severity_read(enum ews_severity *out, const char *word)
{
	for (size_t i = EWS_SEVERITY_CRITICAL; i <= EWS_SEVERITY_INFO; i++) {
		if (strcmp(words[i], word) != 0)
			continue;
		*out = (enum ews_severity)i;
		return 0;
	}
	return ews_error(EWS_EUSAGE, "a severity is critical, warning or info, not '%.40s'", word);
}

static void release_one(struct ews_finding *finding)
{
	free(finding->id);
	free(finding->title);
	free(finding->description);
	free(finding->file);
	free(finding->fix);
	free(finding->fix_name);
	*finding = (struct ews_finding){ 0 };
}

EWS_CLEANUP_DEFINE(finding, struct ews_finding, release_one)

void ews_findings_release(struct ews_findings *findings)
{
	for (size_t i = 0; i < findings->n; i++)
		release_one(&findings->items[i]);
	free(findings->items);
	*findings = (struct ews_findings)EWS_FINDINGS_INIT;
}

static int check_text(const char *text, size_t max, const char *what)
{
	if (strlen(text) > max)
		return ews_error(EWS_EUSAGE, "the %s is longer than %zu bytes", what, max);
	return 0;
}

/* What git takes for a patch has a line that names a file in one of these ways. */
static bool is_patch(const char *text)
{
	return ews_str_begins(text, "diff --git ") || strstr(text, "\ndiff --git ") ||
	       ews_str_begins(text, "--- ") || strstr(text, "\n--- ");
}

static int check(const struct ews_finding *finding)
{
	int rc = 0;

	if (!finding->title[strspn(finding->title, " \t\r\n")])
		rc = ews_error(EWS_EUSAGE, "the title is empty");
	if (rc == 0)
		rc = check_text(finding->title, EWS_FINDING_TITLE_MAX, "title");
	if (rc == 0)
		rc = check_text(finding->description, EWS_FINDING_DESCRIPTION_MAX, "description");
	if (rc == 0)
		rc = check_text(finding->file, EWS_FINDING_FILE_MAX, "name of the file");
	if (rc == 0)
		rc = check_text(finding->fix, EWS_FINDING_FIX_MAX, "fix");
	if (rc == 0 && *finding->fix && !is_patch(finding->fix))
		rc = ews_error(EWS_EUSAGE, "the fix is not a patch");
	if (rc == 0 && finding->line > INT_MAX)
		rc = ews_error(EWS_EUSAGE, "there is no line %u", finding->line);
	return rc;
}

static bool is_id(const char *id)
{
	const char *digits = ews_str_after(id, ID_PREFIX);

	return digits && strlen(digits) == ID_DIGITS && strspn(digits, "0123456789abcdef") == ID_DIGITS;
}

static bool has_id(const struct ews_findings *findings, const char *id)
{
	for (size_t i = 0; i < findings->n; i++)
		if (!strcmp(findings->items[i].id, id))
			return true;
	return false;
}

static char *make_id(const struct ews_findings *taken)
{
	uint32_t random;
	char *id;

	for (;;) {
		ews_clock_random(&random, sizeof(random));
		id = ews_strfmt(ID_PREFIX "%08" PRIx32, random);
		if (!has_id(taken, id))
			return id;
		free(id);
	}
}

/* The words of a finding, in the file and in the queue alike. */
#define STRINGS(X)                    \
	X("title", title)             \
	X("description", description) \
	X("file", file)               \
	X("fix", fix)                 \
	X("fix_name", fix_name)

static int parse_one(struct ews_finding *out, const cJSON *json)
{
	const char *id, *severity;
	int64_t line;
	int rc = ews_json_get_string(&id, json, "id");

	if (rc == 0)
		rc = ews_json_get_string(&severity, json, "severity");
	if (rc == 0)
		rc = ews_severity_read(&out->severity, severity);
	if (rc == 0)
		rc = ews_json_get_int(&line, json, "line");
	if (rc == 0)
		rc = ews_json_get_int(&out->created_s, json, "created");
	if (rc < 0)
		return rc;
	if (!is_id(id) || line < 0 || line > INT_MAX)
		return ews_error(EWS_EDAMAGED, "not a finding");
	out->id = ews_strdup(id);
	out->line = (unsigned)line;
#define GET(key, member)                                  \
	rc = ews_json_get_bytes(&out->member, json, key); \
	if (rc < 0)                                       \
		return rc;
	STRINGS(GET)
#undef GET
	return check(out);
}

static cJSON *print_one(const struct ews_finding *finding)
{
	cJSON *json = cJSON_CreateObject();

	cJSON_AddStringToObject(json, "id", finding->id);
	cJSON_AddStringToObject(json, "severity", words[finding->severity]);
#define PUT(key, member) ews_json_add_bytes(json, key, finding->member ? finding->member : "");
	STRINGS(PUT)
#undef PUT
	ews_json_add_int(json, "line", finding->line);
	ews_json_add_int(json, "created", finding->created_s);
	return json;
}

static size_t measure(const struct ews_findings *findings)
{
	size_t bytes = 0;

	for (size_t i = 0; i < findings->n; i++)
		bytes += strlen(findings->items[i].title) + strlen(findings->items[i].description) +
			 strlen(findings->items[i].file);
	return bytes;
}

static bool has_room(const struct ews_findings *findings)
{
	return findings->n < COUNT_MAX &&
	       measure(findings) + EWS_FINDING_TITLE_MAX + EWS_FINDING_DESCRIPTION_MAX + EWS_FINDING_FILE_MAX <=
		       TEXT_BYTES_MAX;
}

/* Put what `json` says at the end of the list; count it when it says nothing. */
static void take_one(struct ews_findings *out, const cJSON *json)
{
	EWS_CLEANUP(finding) struct ews_finding finding = { 0 };

	if (parse_one(&finding, json) < 0 || !has_room(out)) {
		ews_error_clear();
		out->unreadable++;
		return;
	}
	if (has_id(out, finding.id))
		return;
	EWS_GROW(out->items, out->n, out->cap);
	out->items[out->n++] = finding;
	finding = (struct ews_finding){ 0 };
}

static int parse_file(struct ews_findings *out, const cJSON *json)
{
	const cJSON *array, *item;
	int64_t unreadable;
	int rc = ews_json_check_version(json, FINDINGS_VERSION);

	if (rc == 0)
		rc = ews_json_get_int(&unreadable, json, "unreadable");
	if (rc == 0)
		rc = ews_json_get_array(&array, json, "findings");
	if (rc < 0)
		return rc;
	out->unreadable = unreadable > 0 ? (size_t)unreadable : 0;
	cJSON_ArrayForEach(item, array) {
		take_one(out, item);
	}
	return 0;
}

static int read_file(struct ews_findings *out, const struct ews_session *session)
{
	EWS_CLEANUP(json) cJSON *json = NULL;
	int rc = ews_json_read(&json, session->fd, FINDINGS_FILE, FILE_BYTES_MAX);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	if (rc == 0)
		rc = parse_file(out, json);
	if (rc < 0) {
		ews_error_wrap("session '%s': " FINDINGS_FILE, session->state.id);
		ews_error_hint("it lies in '%s'; without it the session has no findings", session->dir);
	}
	return rc;
}

/* Where the command's temporary files are, and so the queue. Returns a descriptor; below zero when there is no such place. */
static int open_queue_dir(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *rel = ews_home_tmp(session->repo->dir, session->state.id);
	EWS_CLEANUP(fd) int home = ews_dir_open(session->repo->home);

	return home < 0 ? home : ews_dir_open_beneath(home, rel);
}

static void take_line(struct ews_findings *out, const char *line, size_t len)
{
	EWS_CLEANUP(json) cJSON *json = NULL;

	if (ews_json_parse(&json, line, len) < 0) {
		ews_error_clear();
		out->unreadable++;
		return;
	}
	/* Under which name a patch is stored is ours to say. */
	cJSON_DeleteItemFromObjectCaseSensitive(json, "fix_name");
	cJSON_DeleteItemFromObjectCaseSensitive(json, "fix_name_escaped");
	cJSON_AddStringToObject(json, "fix_name", "");
	take_one(out, json);
}

/* By their length: what stands behind a NUL is not hidden by it. */
static void take_lines(struct ews_findings *out, const struct ews_buf *text)
{
	const char *at = text->ptr, *line;
	size_t len;

	while ((line = ews_str_next_line(&at, &len, text->ptr + text->len)))
		if (len)
			take_line(out, line, len);
}

/* The command has written it, or whatever else it likes. Fails where it can't be read just now. */
static int read_queue(struct ews_findings *out, int dir_fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read(&text, dir_fd, QUEUE_FILE, FILE_BYTES_MAX);

	if (rc == 0)
		take_lines(out, &text);
	else if (ews_error_if_passing(rc) < 0)
		return rc;
	else if (rc != EWS_ENOTFOUND)
		out->unreadable++;
	return 0;
}

int ews_findings_read(struct ews_findings *out, const struct ews_session *session)
{
	EWS_CLEANUP(findings) struct ews_findings findings = EWS_FINDINGS_INIT;
	EWS_CLEANUP(fd) int queue = -1;
	int rc = read_file(&findings, session);

	if (rc < 0)
		return rc;
	queue = open_queue_dir(session);
	rc = queue < 0 ? ews_error_if_passing(queue) : read_queue(&findings, queue);
	if (rc < 0)
		return rc;
	*out = findings;
	findings = (struct ews_findings)EWS_FINDINGS_INIT;
	return 0;
}

void ews_findings_fixes(struct ews_strv *out, struct ews_strv *problems, const struct ews_findings *findings,
			struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(fd) int fd = -1;

	for (size_t i = 0; i < findings->n; i++) {
		const struct ews_finding *finding = &findings->items[i];
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
		int rc = 0;

		if (*finding->fix_name && fd < 0)
			rc = fd = ews_artifact_open_dir(&dir, repo, "patches");
		if (rc >= 0 && *finding->fix_name)
			rc = ews_file_read(&text, fd, ews_path_base(finding->fix_name), EWS_FINDING_FIX_MAX);
		if (rc < 0 && problems)
			ews_strv_addf(problems, "a suggested fix can't be read: %s", ews_error_message());
		ews_error_clear();
		ews_strv_add(out, *finding->fix ? finding->fix : text.ptr);
	}
}

/* Put a fix that waits among the artifacts. */
static int store_fix(struct ews_finding *finding, const struct ews_session *session)
{
	EWS_CLEANUP(free) char *name = ews_strfmt("%s-%s.patch", session->state.id, finding->id);
	EWS_CLEANUP(artifact) struct ews_artifact artifact = EWS_ARTIFACT_INIT;
	const struct ews_artifact_new what = { .type = EWS_ARTIFACT_SUGGESTED_FIX,
					       .name = name,
					       .session = session->state.id,
					       .base = session->state.base_snapshot,
					       .description = finding->title,
					       .data = finding->fix,
					       .len = strlen(finding->fix),
					       .update = true };
	int rc;

	if (!*finding->fix)
		return 0;
	rc = ews_artifact_add(&artifact, NULL, NULL, session->repo, &what);
	if (rc < 0)
		return rc;
	free(finding->fix_name);
	finding->fix_name = ews_strdup(ews_artifact_name(&artifact));
	*finding->fix = '\0';
	return 0;
}

static int write_file(struct ews_findings *findings, const struct ews_session *session)
{
	EWS_CLEANUP(json) cJSON *json = cJSON_CreateObject();
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	cJSON *array;

	ews_json_add_int(json, "version", FINDINGS_VERSION);
	ews_json_add_int(json, "unreadable", (int64_t)findings->unreadable);
	array = cJSON_AddArrayToObject(json, "findings");
	for (size_t i = 0; i < findings->n; i++) {
		int rc = store_fix(&findings->items[i], session);

		if (rc < 0)
			return rc;
		cJSON_AddItemToArray(array, print_one(&findings->items[i]));
	}
	ews_json_print(&text, json, true);
	return ews_file_replace(session->fd, FINDINGS_FILE, text.ptr, text.len, 0600);
}

/* What waits is in the list; once that is written nothing waits any more. */
static int write_all(struct ews_findings *findings, const struct ews_session *session)
{
	EWS_CLEANUP(fd) int queue = -1;
	int rc = write_file(findings, session);

	if (rc < 0)
		return rc;
	queue = open_queue_dir(session);
	ews_error_clear();
	return queue < 0 ? 0 : ews_file_remove_tree(queue, QUEUE_FILE);
}

int ews_findings_collect(struct ews_session *session)
{
	EWS_CLEANUP(findings) struct ews_findings findings = EWS_FINDINGS_INIT;
	EWS_CLEANUP(fd) int queue = open_queue_dir(session);
	struct stat st;
	int rc;

	if (queue < 0)
		return ews_error_if_passing(queue);
	if (fstatat(queue, QUEUE_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_error_if_passing(ews_error_os("cannot look at '%s'", QUEUE_FILE));
	rc = ews_findings_read(&findings, session);
	return rc < 0 ? rc : write_all(&findings, session);
}

/* A copy, with an id and a time. */
static void make_new(struct ews_finding *out, const struct ews_finding *from, const struct ews_findings *taken)
{
	*out = (struct ews_finding){ .id = make_id(taken),
				     .severity = from->severity,
				     .title = ews_strdup(from->title),
				     .description = ews_strdup(from->description),
				     .file = ews_strdup(from->file),
				     .line = from->line,
				     .fix = ews_strdup(from->fix),
				     .fix_name = ews_strdup(""),
				     .created_s = ews_clock_now() };
}

/* With the lock: into the record itself. */
static int record(char **id, struct ews_session *session, const struct ews_finding *finding)
{
	EWS_CLEANUP(findings) struct ews_findings findings = EWS_FINDINGS_INIT;
	int rc = ews_findings_read(&findings, session);

	if (rc < 0)
		return rc;
	if (!has_room(&findings))
		return ews_error(EWS_ENOSPACE, "session '%s' has no room for more findings", session->state.id);
	EWS_GROW(findings.items, findings.n, findings.cap);
	make_new(&findings.items[findings.n], finding, &findings);
	findings.n++;
	rc = write_all(&findings, session);
	if (rc == 0)
		*id = ews_strdup(findings.items[findings.n - 1].id);
	return rc;
}

static int enqueue(char **id, const struct ews_session *session, const struct ews_finding *finding)
{
	EWS_CLEANUP(findings) struct ews_findings findings = EWS_FINDINGS_INIT;
	EWS_CLEANUP(finding) struct ews_finding made = { 0 };
	EWS_CLEANUP(json) cJSON *json = NULL;
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int queue = open_queue_dir(session);
	struct stat st = { 0 };
	int rc = queue < 0 ? queue : ews_findings_read(&findings, session);

	if (rc < 0)
		return rc;
	make_new(&made, finding, &findings);
	json = print_one(&made);
	ews_json_print(&line, json, false);
	(void)fstatat(queue, QUEUE_FILE, &st, AT_SYMLINK_NOFOLLOW); /* it need not be there yet */
	if (!has_room(&findings) || (uint64_t)st.st_size + line.len > FILE_BYTES_MAX)
		return ews_error(EWS_ENOSPACE, "session '%s' has no room for more findings", session->state.id);
	rc = ews_file_append(queue, QUEUE_FILE, line.ptr, 0600);
	if (rc == 0)
		*id = ews_steal(&made.id);
	return rc;
}

int ews_finding_add(char **id, struct ews_session *session, const struct ews_finding *finding)
{
	int rc = check(finding);

	if (rc < 0)
		return rc;
	rc = ews_session_lock_within(session, "report", LOCK_WAIT_MS);
	if (rc == 0)
		return record(id, session, finding);
	if (rc != EWS_EIO)
		return rc;
	/* The kernel keeps us from writing there, or all are kept from it. */
	rc = enqueue(id, session, finding);
	if (rc < 0) {
		ews_error_wrap("the records of session '%s' can't be written from here", session->state.id);
		ews_error_hint("add it from outside of the command that runs in the session");
	}
	return rc;
}
