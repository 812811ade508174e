/*
 * What the kernel says of a directory, and where it can say nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/notify.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "fixture.h"

TestSuite(notify, .init = fixture_begin, .fini = fixture_end);

/* All that was heard: "<what> <name>;" each. */
struct heard {
	struct ews_buf text;
	unsigned cookies[2];
	int watch;
};

static void hear(void *payload, const struct ews_notify_event *event)
{
	struct heard *heard = payload;

	ews_buf_addf(&heard->text, "%u%s %s;", event->what, event->is_dir ? "/" : "",
		     event->name ? event->name : "-");
	heard->watch = event->watch;
	if (event->what & (EWS_NOTIFY_LEFT | EWS_NOTIFY_ARRIVED))
		heard->cookies[event->what == EWS_NOTIFY_ARRIVED] = event->cookie;
}

Test(notify, what_happens_to_a_name_is_told)
{
	struct heard heard = { .text = EWS_BUF_INIT };
	EWS_CLEANUP(fd) int fd = ews_notify_open();
	EWS_CLEANUP(fd) int dir = fixture_open_dir(fixture_top());
	char want[256];
	int watch;

	cr_assert_geq(fd, 0);
	watch = ews_notify_add(fd, dir);
	cr_assert_geq(watch, 0);
	cr_assert_eq(ews_notify_read(fd, hear, &heard), 0, "nothing has happened");
	fixture_shell("mkdir d && : >f && mv f g && rm g && rmdir d");
	cr_assert_gt(ews_notify_read(fd, hear, &heard), 0);
	(void)snprintf(want, sizeof(want), "%u/ d;%u f;%u f;%u f;%u g;%u g;%u/ d;", EWS_NOTIFY_APPEARED,
		       EWS_NOTIFY_APPEARED, EWS_NOTIFY_TOUCHED, EWS_NOTIFY_LEFT, EWS_NOTIFY_ARRIVED,
		       EWS_NOTIFY_WENT, EWS_NOTIFY_WENT);
	cr_assert_str_eq(heard.text.ptr, want);
	cr_assert_eq(heard.cookies[0], heard.cookies[1]);
	cr_assert_neq(heard.cookies[0], 0);
	cr_assert_eq(heard.watch, watch);
	ews_buf_release(&heard.text);
}

Test(notify, a_directory_has_one_watch_and_goes_with_it)
{
	struct heard heard = { .text = EWS_BUF_INIT };
	EWS_CLEANUP(fd) int fd = ews_notify_open();
	EWS_CLEANUP(fd) int dir = -1, again = -1;
	char want[32];
	int watch;

	fixture_shell("mkdir d");
	dir = fixture_open_dir("d");
	again = fixture_open_dir("d");
	watch = ews_notify_add(fd, dir);
	cr_assert_eq(ews_notify_add(fd, again), watch);
	ews_notify_remove(fd, watch);
	ews_notify_remove(fd, watch); /* gone already */
	cr_assert_eq(ews_notify_read(fd, hear, &heard), 1);
	(void)snprintf(want, sizeof(want), "%u -;", EWS_NOTIFY_ENDED);
	cr_assert_str_eq(heard.text.ptr, want);
	fixture_shell(": >d/f");
	cr_assert_eq(ews_notify_read(fd, hear, &heard), 0);
	ews_buf_release(&heard.text);
}

Test(notify, a_file_is_no_directory_to_watch)
{
	EWS_CLEANUP(fd) int fd = ews_notify_open();
	EWS_CLEANUP(fd) int file = -1;

	fixture_shell(": >f");
	file = open("f", O_RDONLY | O_CLOEXEC);
	cr_assert_lt(ews_notify_add(fd, file), 0);
}

Test(notify, when_there_is_no_more_to_be_had_a_hint_says_what_gives_more)
{
	struct rlimit none;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &none), 0);
	none.rlim_cur = 0;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	cr_assert_eq(ews_notify_open(), EWS_EUNSUPPORTED);
	cr_assert(strstr(ews_error_hint_text(), "fs.inotify.max_user_instances"));
	none.rlim_cur = none.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
}

Test(notify, of_what_others_do_on_a_network_the_kernel_is_not_told)
{
	static const struct {
		unsigned magic;
		bool is_told;
	} cases[] = {
		{ EXT4_SUPER_MAGIC, true },  { TMPFS_MAGIC, true },           { BTRFS_SUPER_MAGIC, true },
		{ XFS_SUPER_MAGIC, true },   { OVERLAYFS_SUPER_MAGIC, true }, { NFS_SUPER_MAGIC, false },
		{ CIFS_SUPER_MAGIC, false }, { SMB2_SUPER_MAGIC, false },     { FUSE_SUPER_MAGIC, false },
		{ V9FS_MAGIC, false },       { CEPH_SUPER_MAGIC, false },     { AFS_SUPER_MAGIC, false },
	};
	EWS_CLEANUP(fd) int dir = fixture_open_dir(fixture_top());

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fixture_file_system = cases[i].magic;
		cr_assert_eq(ews_notify_is_told(dir), cases[i].is_told, "%x", cases[i].magic);
	}
}
