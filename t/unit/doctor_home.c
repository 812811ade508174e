/*
 * What the doctor says of where home lies.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/doctor_home.h"

#include <criterion/criterion.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "fixture.h"

TestSuite(doctor_home, .init = fixture_begin, .fini = fixture_end);

static const struct ews_check *find_check(const struct ews_checkup *checkup, const char *name)
{
	for (size_t i = 0; i < checkup->n; i++)
		if (!strcmp(checkup->items[i].name, name))
			return &checkup->items[i];
	return NULL;
}

Test(doctor_home, a_home_on_a_network_is_as_good_as_its_server)
{
	EWS_CLEANUP(free) char *home = ews_path_join(fixture_top(), "home");
	const struct ews_patient patient = { .home = home };
	static const struct {
		unsigned magic;
		const char *text;
	} cases[] = { { NFS_SUPER_MAGIC, "network (nfs)" },
		      { CIFS_SUPER_MAGIC, "network (cifs)" },
		      { AFS_SUPER_MAGIC, "network (unknown)" },
		      { 0, NULL } };

	fixture_shell("mkdir -m 700 home home/working");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		EWS_CLEANUP(checkup) struct ews_checkup checkup = EWS_CHECKUP_INIT;
		const struct ews_check *check;

		fixture_file_system = cases[i].magic;
		ews_doctor_home(&checkup, &patient);
		check = find_check(&checkup, "file system");
		cr_assert(check);
		if (!cases[i].text) {
			cr_assert_eq(check->status, EWS_CHECK_OK);
			continue;
		}
		cr_assert_eq(check->status, EWS_CHECK_WARNING);
		cr_assert(strstr(check->message, cases[i].text), "%s", check->message);
		cr_assert(strstr(check->fix, "ews.home"));
		cr_assert_null(check->mend);
	}
}
