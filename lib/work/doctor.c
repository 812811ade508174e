/*
 * Doctor: see doctor.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/doctor.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/config.h"
#include "store/setting.h"
#include "work/doctor_home.h"
#include "work/doctor_hooks.h"
#include "work/doctor_owner.h"
#include "work/doctor_record.h"
#include "work/doctor_registration.h"
#include "work/doctor_repo.h"
#include "work/doctor_system.h"

/* A repository that says to be bare and is not has a work tree all the same. The caller frees `*hidden`. */
static struct ews_patient admit(char **hidden, struct ews_repo *repo, const char *home)
{
	struct ews_patient patient = { .home = home, .repo = repo };

	if (repo && repo->is_bare)
		patient.top = *hidden = ews_doctor_hidden_top(repo);
	else if (repo)
		patient.top = repo->project;
	return patient;
}

/* Where there is none, the error says why. */
static void name_project(struct ews_checkup *out, const struct ews_patient *patient)
{
	if (patient->repo)
		ews_checkup_ok(out, "project", "'%s'%s", patient->top ? patient->top : patient->repo->project,
			       patient->repo->is_plain ? ", a plain directory" : "");
	else if (ews_error_code() == EWS_ENOTFOUND)
		ews_checkup_ok(out, "project", "%s", ews_error_message());
	else
		(void)ews_checkup_error(out, "project");
	ews_error_clear();
}

/* What has a wrong value. Of what does not count each verb warns, and is none the worse for it. */
static void look_at_settings(struct ews_checkup *out, struct ews_repo *repo)
{
	const struct ews_config *config = ews_repo_config(repo);

	for (size_t i = 0; i < ews_settings_n; i++)
		if (ews_config_check_one(config, &ews_settings[i]) < 0)
			(void)ews_checkup_error(out, "settings");
	if (!ews_checkup_has(out, "settings"))
		ews_checkup_ok(out, "settings", "what is set makes sense");
}

void ews_doctor_look(struct ews_checkup *out, struct ews_repo *repo, const char *home)
{
	EWS_CLEANUP(free) char *hidden = NULL;
	struct ews_patient patient = admit(&hidden, repo, home);

	name_project(out, &patient);
	if (repo && ews_repo_need_dir(repo) < 0 && ews_error_code() != EWS_ENOTFOUND)
		(void)ews_checkup_error(out, "sessions");
	ews_error_clear(); /* it has no sessions */
	ews_doctor_system(out, &patient);
	ews_doctor_home(out, &patient);
	if (!repo)
		return;
	look_at_settings(out, repo);
	ews_doctor_repo(out, &patient);
	ews_doctor_hooks(out, &patient);
	ews_doctor_owners(out, &patient);
	ews_doctor_registrations(out, &patient);
	ews_doctor_refs(out, &patient);
	ews_doctor_sessions(out, &patient);
	ews_doctor_steps(out, &patient);
}

static bool says(const struct ews_checkup *checkup, const struct ews_check *check)
{
	for (size_t i = 0; i < checkup->n; i++)
		if (!strcmp(checkup->items[i].name, check->name) && !strcmp(checkup->items[i].message, check->message))
			return true;
	return false;
}

/* Does `after` say the same, or of the same thing what `before` did not: the same in other words, as of space that changes? */
static bool is_still_there(const struct ews_checkup *after, const struct ews_checkup *before,
			   const struct ews_check *check)
{
	for (size_t i = 0; i < after->n; i++) {
		const struct ews_check *found = &after->items[i];

		if (found->status != EWS_CHECK_OK && !strcmp(found->name, check->name) &&
		    (!strcmp(found->message, check->message) || !says(before, found)))
			return true;
	}
	return false;
}

/* One damage may have been found twice, and what nobody could mend came of what was mended. */
static void look_again(struct ews_checkup *checkup, struct ews_repo *repo, const char *home, size_t n)
{
	EWS_CLEANUP(checkup) struct ews_checkup after = EWS_CHECKUP_INIT;

	ews_error_clear();
	ews_doctor_look(&after, repo, home);
	for (size_t i = 0; i < n; i++) {
		struct ews_check *check = &checkup->items[i];

		if (check->status != EWS_CHECK_OK && !check->mend && !is_still_there(&after, checkup, check))
			check->is_fixed = true;
	}
}

void ews_doctor_mend(struct ews_checkup *checkup, struct ews_repo *repo, const char *home, ews_doctor_say_fn say,
		     void *payload)
{
	EWS_CLEANUP(free) char *hidden = NULL;
	struct ews_patient patient = admit(&hidden, repo, home);
	size_t n = checkup->n;
	bool is_mended = false;

	for (size_t i = 0; i < n; i++) {
		const char *name = checkup->items[i].name;

		if (!checkup->items[i].mend)
			continue;
		say(payload, &checkup->items[i]);
		checkup->items[i].is_fixed = checkup->items[i].mend(&patient, checkup->items[i].mend_arg) == 0;
		is_mended = is_mended || checkup->items[i].is_fixed;
		if (!checkup->items[i].is_fixed)
			(void)ews_checkup_error(checkup, name);
		ews_error_clear();
	}
	if (repo && is_mended)
		look_again(checkup, repo, home, n);
}

bool ews_doctor_is_content(const struct ews_checkup *checkup)
{
	for (size_t i = 0; i < checkup->n; i++)
		if (checkup->items[i].status != EWS_CHECK_OK && !checkup->items[i].is_fixed)
			return false;
	return true;
}
