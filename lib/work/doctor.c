/*
 * Doctor: see doctor.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/doctor.h"

#include <stdlib.h>

#include "base/error.h"
#include "work/doctor_home.h"
#include "work/doctor_hooks.h"
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

void ews_doctor_look(struct ews_checkup *out, struct ews_repo *repo, const char *home)
{
	EWS_CLEANUP(free) char *hidden = NULL;
	struct ews_patient patient = admit(&hidden, repo, home);

	name_project(out, &patient);
	if (repo && ews_repo_need_dir(repo, false) < 0)
		ews_error_clear(); /* it has no sessions */
	ews_doctor_system(out, &patient);
	ews_doctor_home(out, &patient);
	if (!repo)
		return;
	ews_doctor_repo(out, &patient);
	ews_doctor_hooks(out, &patient);
	ews_doctor_registrations(out, &patient);
	ews_doctor_refs(out, &patient);
	ews_doctor_sessions(out, &patient);
	ews_doctor_steps(out, &patient);
}

void ews_doctor_mend(struct ews_checkup *checkup, struct ews_repo *repo, const char *home, ews_doctor_say_fn say,
		     void *payload)
{
	EWS_CLEANUP(free) char *hidden = NULL;
	struct ews_patient patient = admit(&hidden, repo, home);
	size_t n = checkup->n;

	for (size_t i = 0; i < n; i++) {
		const char *name = checkup->items[i].name;

		if (!checkup->items[i].mend)
			continue;
		say(payload, &checkup->items[i]);
		checkup->items[i].is_fixed = checkup->items[i].mend(&patient, checkup->items[i].mend_arg) == 0;
		if (!checkup->items[i].is_fixed)
			(void)ews_checkup_error(checkup, name);
		ews_error_clear();
	}
}

bool ews_doctor_is_content(const struct ews_checkup *checkup)
{
	for (size_t i = 0; i < checkup->n; i++)
		if (checkup->items[i].status != EWS_CHECK_OK && !checkup->items[i].is_fixed)
			return false;
	return true;
}
