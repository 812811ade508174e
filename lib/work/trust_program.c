/*
 * Trust, of programs: see trust_program.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/trust_program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/str.h"
#include "store/gitconfig_files.h"
#include "store/setting.h"
#include "work/hooks.h"
#include "work/trust_secret.h"

/* git writes section and last part of a key in lower case. */
#define PATTERN                                                                                                     \
	"^(core\\.(fsmonitor|sshcommand|gitproxy|editor|pager|askpass|alternaterefscommand|hookspath)|"             \
	"sequence\\.editor|pager\\..+|diff\\.external|diff\\..+\\.(command|textconv)|"                              \
	"filter\\..+\\.(clean|smudge|process)|merge\\..+\\.driver|(merge|diff)tool\\..+\\.(cmd|path)|"              \
	"guitool\\..+\\.cmd|alias\\..+|credential\\.(.+\\.)?helper|gpg\\.program|"                                  \
	"gpg\\..+\\.(program|defaultkeycommand)|include\\.path|includeif\\..+\\.path|"                              \
	"remote\\..+\\.(uploadpack|receivepack|vcs|url|pushurl)|uploadpack\\.packobjectshook|"                      \
	"trailer\\..+\\.(command|cmd)|interactive\\.difffilter|tar\\..+\\.command|(man|browser)\\..+\\.(cmd|path)|" \
	"submodule\\..+\\.update|sendemail\\.(.+\\.)?(smtpserver|sendmailcmd|tocmd|cccmd|headercmd)|imap\\.tunnel|" \
	"gc\\.recentobjectshook|instaweb\\.httpd|hook\\..+\\.command|url\\.ext::.+\\.(pushinsteadof|insteadof)|"    \
	"init\\.templatedir)$"

static bool is_truth(const char *text)
{
	bool truth;
	bool is = ews_setting_read_bool(&truth, text) == 0;

	ews_error_clear();
	return is;
}

/* Is a program named there? Of some keys only some values do. */
static bool names_program(const char *key, const char *value)
{
	const char *last = strrchr(key, '.') + 1;

	if (ews_str_begins(key, "alias.") || (ews_str_begins(key, "submodule.") && !strcmp(last, "update")))
		return *value == '!';
	if (!strcmp(key, "core.fsmonitor") || ews_str_begins(key, "pager."))
		return *value && !is_truth(value);
	if (ews_str_begins(key, "remote.") && (!strcmp(last, "url") || !strcmp(last, "pushurl")))
		return ews_str_begins(value, "ext::");
	if (!strcmp(last, "smtpserver"))
		return *value == '/';
	return *value && strcmp(key, "core.hookspath");
}

static struct ews_trust_program *add(struct ews_trust_programs *out, enum ews_trust_program_kind kind, char *name)
{
	EWS_GROW(out->items, out->n, out->cap);
	out->items[out->n] = (struct ews_trust_program){ .kind = kind, .name = name };
	return &out->items[out->n++];
}

static void add_setting(struct ews_trust_programs *out, const struct ews_gitconfig *values, size_t at)
{
	const struct ews_gitconfig_value *value = &values->items[at];
	struct ews_trust_program *program;

	if (!names_program(value->key, value->text))
		return;
	program = add(out, ews_str_begins(value->key, "include") ? EWS_TRUST_INCLUDE : EWS_TRUST_SETTING,
		      ews_trust_mask_key(value->key));
	program->scope = value->scope;
	program->path = value->file ? ews_strdup(value->file) : NULL;
	program->line = ews_gitconfig_line(values, at);
}

/* Where git looks for hooks. The caller frees it. */
static char *find_hooks(const struct ews_gitconfig *values, const char *common_dir, const char *top)
{
	const char *said = NULL;
	EWS_CLEANUP(free) char *full = NULL;

	for (size_t i = 0; i < values->n; i++)
		if (!strcmp(values->items[i].key, "core.hookspath"))
			said = values->items[i].text;
	if (!said)
		return ews_path_join(common_dir, "hooks");
	full = ews_gitconfig_expand(said);
	return ews_path_absolute(top, full ? full : said);
}

/* What may not be seen git doesn't run; what can't be looked at just now it may. */
static int add_hooks(struct ews_trust_programs *out, const char *dir)
{
	EWS_CLEANUP(fd) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? ews_error_os("cannot open '%s'", dir) : ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++) {
		if (!ews_hooks_is_name(names.items[i].name))
			continue;
		if (faccessat(fd, names.items[i].name, X_OK, 0) == 0)
			add(out, EWS_TRUST_HOOK, ews_strdup(names.items[i].name))->path =
				ews_path_join(dir, names.items[i].name);
		else if (ews_errno_is_passing(errno))
			return ews_error_os("cannot look at '%s/%s'", dir, names.items[i].name);
	}
	return n < 0 ? ews_error_if_passing((int)n) : 0;
}

int ews_trust_programs_look(struct ews_trust_programs *out, const char *git_dir, const char *common_dir,
			    const char *top)
{
	EWS_CLEANUP(gitconfig) struct ews_gitconfig values = EWS_GITCONFIG_INIT;
	EWS_CLEANUP(free) char *hooks = NULL;
	int rc = ews_gitconfig_find(&values, git_dir, PATTERN);

	if (rc < 0)
		return rc;
	hooks = find_hooks(&values, common_dir, top);
	rc = add_hooks(out, hooks);
	for (size_t i = 0; i < values.n && rc == 0; i++)
		add_setting(out, &values, i);
	return rc;
}

void ews_trust_programs_release(struct ews_trust_programs *programs)
{
	for (size_t i = 0; i < programs->n; i++) {
		free(programs->items[i].name);
		free(programs->items[i].path);
	}
	free(programs->items);
	*programs = (struct ews_trust_programs)EWS_TRUST_PROGRAMS_INIT;
}
