#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='trust status: what a workspace can reach, and what keeps it from more (P6, P9)

Programs are planted wherever git takes one from: each must be named, and none may run. Secrets are planted: each is named, and none is shown.'

. "$(dirname "$0")/test-lib.sh"

. "$EWS_SRC/t/lib-trips.sh"

# trust <argument>...: in the project p, with its lines in "out"
trust() {
	git-ews -C p trust status "$@" >out 2>err </dev/null
}

# has <file> <key> <text>: the array of strings has it
has() {
	n=0
	while value=$(json "$1" "$2[$n]" 2>/dev/null); do
		test "$value" != "$3" || return 0
		n=$((n + 1))
	done
	echo >&2 "$3 is not in $2" && cat "$1" >&2 && return 1
}

# in_json <key> <text>: an object in "out" says so
in_json() {
	test_grep -F "\"$1\":\"$2\"" out
}

test_expect_success 'without a session it is one that would be started now' '
	test_repo p && trust && test_grep "^Session   a new one, worktree" out && test_grep "^Secrets   none" out && test_grep "^Exposes   $PWD/p/.git$" out && test_grep "^Network   open; .*--no-network" out &&
	trust --json && test_json out .schema ews.trust_status/1 && test_json out .session_id null && test_json out .method git_worktree && test_json out ".exposes[0]" "$PWD/p/.git" && test_path_is_missing "$HOME/.superqode"
'

test_expect_success 'P6: a worktree exposes the git directory, a copy nothing, the project itself its own' '
	start_ws -n one p one && start_ws -n copy p copy --method snapshot && start_ws -n whole p whole --method snapshot --copy-objects && mkdir d && echo 1 >d/f && (cd d && git ews start plain) >path &&
	trust --json one && test_json out .session_id one && test_json_count out .exposes 1 && test_json out ".exposes[0]" "$PWD/p/.git" && test_json_count out .borrows 0 && test_json out .path "${one:?}" && test_json out .guard.level auto && test_json out .guard.policy read-only && test_json out .guard.offline false &&
	trust --json copy && test_json out .method snapshot && test_json_count out .exposes 0 && test_json out ".borrows[0]" "$PWD/p/.git/objects" && trust --json whole && test_json_count out .exposes 0 && test_json_count out .borrows 0 &&
	git -C d ews trust status --json >out && test_json out .session_id plain && test_json_count out .exposes 0 && test_json_count out .borrows 0 &&
	(cd "${copy:?}" && git ews trust status) >out && test_grep "^Session   copy, snapshot" out && test_expect_code 128 git -C p ews trust status nosuch 2>err && test_grep "nosuch" err
'

test_expect_success LANDLOCK 'P6: what the kernel enforces, where may be written, and what stays open' '
	trust --json one && test_json out .guard.enforced true && test_json out .guard.why null && test_json out ".writable[0]" "${one:?}" && test_json_count out .writable 2 && has out .devices /dev/null && for text in "modes, owners, times and attributes of outside files" "unix sockets that have a path" "reading whatever its user may read"; do
		has out .open "$text" || return 1
	done && tmp=$(json out ".writable[1]") && git -C p ews run -q one -- sh -c "echo \$TMPDIR" >out && echo "$tmp" >want && test_cmp want out && trust one && test_grep "^Guard     auto, read-only, enforced by the kernel$" out &&
	git -C p -c ews.guard.level=advise ews trust status one >out && test_grep "^Guard     advise, read-only, advisory: the level .advise. asks the kernel for nothing" out && test_grep "^Writable  /$" out && test_grep "^Open      writing whatever" out
'

test_expect_success 'P6: a kernel that can not is not said to' '
	"$EWS_BUILD/t/no-landlock" ENOSYS -- git -C p ews trust status --json one >out && test_json out .guard.enforced false && test_json out .guard.why "this kernel has no Landlock" && test_json out ".writable[0]" / &&
	test_repo in && git -C in ews start -q --method in-place here && git -C in ews trust status --json >out && test_json out .method in_place && test_json out .guard.enforced false && test_json out ".exposes[0]" "$PWD/in/.git"
'

test_expect_success 'secrets are named, and never shown' '
	mkdir -p "$HOME/.ssh" "$HOME/.config/gh" && echo s3cret >"$HOME/.ssh/id_rsa" && echo s3cret >"$HOME/.netrc" && git -C p config remote.web.url https://ada:s3cret@example.org/x && git -C p config url.https://s3cret@example.org/.insteadOf web: &&
	git -C p config imap.pass s3cret && git -C p config imap.there.pass s3cret && git -C p config http.https://example.org/.extraHeader "Authorization: s3cret" && git -C p config credential.https://ada:s3cret@example.org.helper "!echo s3cret" && git -C p config remote.ssh.url ssh://git@example.org/x &&
	HUB_TOKEN=s3cret db_password=s3cret EMPTY_KEY= MONKEYS=s3cret SSH_AUTH_SOCK=/nowhere git -C p ews trust status one >out && cp out text && HUB_TOKEN=s3cret db_password=s3cret EMPTY_KEY= MONKEYS=s3cret git -C p ews trust status --json one >out &&
	test_grep ! s3cret text && test_grep ! s3cret out && in_json path "$HOME/.ssh" && in_json path "$HOME/.netrc" && in_json path "$HOME/.config/gh" && in_json name HUB_TOKEN && in_json name db_password &&
	in_json name imap.pass && in_json name imap.there.pass && in_json name remote.web.url && in_json name "url.https://***@example.org/.insteadof" && in_json name "http.https://example.org/.extraheader" && test_grep ! "EMPTY_KEY\|MONKEYS\|remote.ssh" out && test_grep "^ *variable HUB_TOKEN$" text && test_grep "/.ssh$" text
'

test_expect_success 'P9: programs behind rarer settings are named as well' '
	git init -q rare && git -C rare config imap.tunnel "ssh x imapd" && git -C rare config instaweb.httpd "lighttpd -f" && git -C rare config gc.recentObjectsHook hook && git -C rare config hook.linter.command lint && git -C rare config "url.ext::sh -c x.insteadOf" https://x &&
	git -C rare ews trust status >out && for key in imap.tunnel instaweb.httpd gc.recentobjectshook hook.linter.command "url.ext::sh -c x.insteadof"; do
		test_grep -i "setting $key  " out || return 1
	done
'

test_expect_success 'P9: every program that git takes from a repository is named, and none is run' '
	mkdir trips && make_config && : >ran && plant p/.git && PATH=$trips:$PATH trust --json one && test_must_be_empty ran && PATH=$trips:$PATH trust one && test_must_be_empty ran &&
	for hook in $hooks; do
		test $hook = fsmonitor-watchman || test_grep "hook $hook  \"\?$PWD/p/.git/hooks/$hook" out || return 1
	done && { echo "$keys" | sed "s/^. //"; printf "%s\n" remote.ext.url remote.vcs.vcs init.templateDir; } | sed "s/[^.]*\$/\L&/" >want && while read -r key; do
		test_grep -i "setting $key  " out || return 1
	done <want && test_grep "include include.path  \"\?$PWD/p/.git/config\"\?:[0-9]" out && test_grep "setting filter.trip.clean  .*plants.[01]\"\?:[0-9]" out && trust --json copy && test_grep ! "filter.trip" out
'

test_expect_success STRACE 'P8: where hooks can not be looked at just now nobody is told that there are none' '
	git init -q unseen && printf "#!/bin/sh\n" >unseen/.git/hooks/pre-commit && chmod +x unseen/.git/hooks/pre-commit && for call in openat faccessat,faccessat2; do
		test_expect_code 128 test_strace trace -P "$PWD/unseen/.git/hooks" -P pre-commit -e trace=$call -e inject=$call:error=EIO git-ews -C unseen trust status >out 2>err && test_grep INJECTED trace && test_grep "cannot .*hooks.*: Input/output error" err || return 1
	done && git -C unseen ews trust status >out && test_grep "hook pre-commit" out
'

test_done
