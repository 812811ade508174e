/*
 * Session state: what is written is read again, and what nobody of us wrote is refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/state.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "fixture.h"

TestSuite(state, .init = fixture_begin, .fini = fixture_end);

static const size_t strings[] = { offsetof(struct ews_state, id),
				  offsetof(struct ews_state, method),
				  offsetof(struct ews_state, project),
				  offsetof(struct ews_state, git_dir),
				  offsetof(struct ews_state, workspace),
				  offsetof(struct ews_state, base_snapshot),
				  offsetof(struct ews_state, base_commit),
				  offsetof(struct ews_state, branch),
				  offsetof(struct ews_state, intent),
				  offsetof(struct ews_state, label),
				  offsetof(struct ews_state, last_snapshot),
				  offsetof(struct ews_state, worktree_mark),
				  offsetof(struct ews_state, guard_level),
				  offsetof(struct ews_state, guard_policy) };

static char **string_at(struct ews_state *state, size_t i)
{
	return (char **)((char *)state + strings[i]);
}

static void make_random(struct ews_state *out)
{
	static const char *const texts[] = { "",           "/a b/c",   "new\nline", "q\"\\u0041",
					     "\xff\x80\\", "\x01\x7f", "\xc3\xa9" };

	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
		*string_at(out, i) = ews_strdup(FIXTURE_ONE_OF(texts));
	out->state = EWS_STATE_STARTING + fixture_pick(4);
	out->keeps_nested = fixture_pick(2);
	out->created_s = (int64_t)fixture_pick(2) * 4000000000;
	out->ended_s = (int64_t)fixture_pick(2) * 4000000001;
	out->guard_enforced = fixture_pick(2);
	out->guard_offline = fixture_pick(2);
	out->project_changed = fixture_pick(2);
	out->port_base = (unsigned)fixture_pick(65536);
	if (fixture_pick(2))
		ews_kin_self(&out->owner);
}

Test(state, what_is_written_is_read_again)
{
	for (size_t round = 0; round < fixture_rounds(60); round++) {
		EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
		EWS_CLEANUP(state) struct ews_state back = EWS_STATE_INIT;

		make_random(&state);
		cr_assert_eq(ews_state_write(AT_FDCWD, &state), 0, "%s", ews_error_message());
		cr_assert_eq(ews_state_read(&back, AT_FDCWD), 0, "%s", ews_error_message());
		for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
			cr_assert_str_eq(*string_at(&back, i), *string_at(&state, i));
		cr_assert_eq(back.state, state.state);
		cr_assert_eq(back.keeps_nested, state.keeps_nested);
		cr_assert_eq(back.created_s, state.created_s);
		cr_assert_eq(back.ended_s, state.ended_s);
		cr_assert_eq(back.guard_enforced, state.guard_enforced);
		cr_assert_eq(back.guard_offline, state.guard_offline);
		cr_assert_eq(back.project_changed, state.project_changed);
		cr_assert_eq(back.port_base, state.port_base);
		cr_assert_eq(back.owner.pid, state.owner.pid);
		cr_assert_eq(back.owner.start_time, state.owner.start_time);
		cr_assert_str_eq(back.owner.boot_id, state.owner.boot_id);
	}
}

/* What reading says of the file after `script` had its way with it. */
static int read_after(const char *script)
{
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	EWS_CLEANUP(state) struct ews_state back = EWS_STATE_INIT;
	int rc;

	make_random(&state);
	cr_assert_eq(ews_state_write(AT_FDCWD, &state), 0);
	fixture_shell("%s", script);
	rc = ews_state_read(&back, AT_FDCWD);
	cr_assert(rc == 0 || !back.id);
	return rc;
}

Test(state, garbage_is_damage_and_a_newer_version_is_refused)
{
	cr_assert_eq(read_after("rm state.json"), EWS_ENOTFOUND);
	cr_assert_eq(read_after(": >state.json"), EWS_EDAMAGED);
	cr_assert_eq(read_after("echo '[]' >state.json"), EWS_EDAMAGED);
	cr_assert_eq(read_after("head -c 4000 /dev/urandom >state.json"), EWS_EDAMAGED);
	cr_assert_eq(read_after("head -c 2000000 /dev/zero >>state.json"), EWS_EDAMAGED);
	cr_assert_eq(read_after("yes '' | head -c 2000000 >>state.json"), EWS_EDAMAGED);
	cr_assert_eq(read_after("sed -i '/\"version\"/d' state.json"), EWS_EDAMAGED);
	cr_assert_eq(read_after("sed -i '/\"version\"/s/1/-1/' state.json"), EWS_EDAMAGED);
	cr_assert_eq(read_after("sed -i '/\"state\"/s/:.*\"/: \"asleep\"/' state.json"), EWS_EDAMAGED);
	cr_assert_eq(read_after("sed -i '/\"created\"/s/[0-9][0-9]*/\"x\"/' state.json"), EWS_EDAMAGED);
	cr_assert_eq(read_after("sed -i '/\"keeps_nested\"/s/:.*/: 1/' state.json"), EWS_EDAMAGED);
	cr_assert_eq(read_after("sed -i '/\"version\"/s/1/2/' state.json"), EWS_EUNSUPPORTED);
	cr_assert_lt(read_after("mv state.json s && ln -s s state.json"), 0);
	cr_assert_lt(read_after("rm state.json && mkfifo state.json"), 0);
	cr_assert_eq(read_after("chmod 620 state.json"), EWS_EDENIED);
	cr_assert_eq(read_after("chmod 602 state.json"), EWS_EDENIED);
	cr_assert_eq(read_after("chmod 644 state.json"), 0);
}

Test(state, a_cut_or_flipped_file_hurts_nobody)
{
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	make_random(&state);
	cr_assert_eq(ews_state_write(AT_FDCWD, &state), 0);
	cr_assert_eq(ews_file_read(&text, AT_FDCWD, "state.json", EWS_MIB), 0);
	for (size_t i = 0; i + 2 < text.len; i++) {
		EWS_CLEANUP(state) struct ews_state back = EWS_STATE_INIT;
		char was = text.ptr[i];

		fixture_write(AT_FDCWD, "state.json", text.ptr, i);
		cr_assert_eq(ews_state_read(&back, AT_FDCWD), EWS_EDAMAGED, "cut at %zu", i);
		text.ptr[i] = (char)fixture_pick(256);
		fixture_write(AT_FDCWD, "state.json", text.ptr, text.len);
		(void)ews_state_read(&back, AT_FDCWD); /* any answer will do; the sanitizer listens */
		text.ptr[i] = was;
	}
}
