#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='recover: an apply that is killed anywhere is finished or had not begun (P1, P4)'

. "$(dirname "$0")/test-lib.sh"

if test_have_prereq VALGRIND; then
	skip_all='a killed tracer is no test of the program'
	test_done
fi

# each point is a copy of all of it, and several runs
kill_points=6

state_of() {
	"$EWS_SRC/t/lister" -m -x .git -x .superqode p && git -C p rev-parse HEAD && sha256sum p/.git/index
}

sound() {
	no_litter && git -C p ews status --json --all >said && test_grep ! '"interrupted"' said &&
		git -C p fsck --strict --no-dangling >fsck.out 2>&1 && test_must_be_empty fsck.out
}

# All of it came, or nothing; when it came undo takes it back.
after_apply() {
	state_of >got || return 1
	if cmp -s got after.want; then
		git -C p ews undo >out 2>err && state_of >got || return 1
	fi
	test_cmp before.want got && git -C p ews apply x >out 2>err && state_of >got && test_cmp after.want got
}

test_expect_success 'setup: a session with work in it, and a project that moved on' '
	test_repo p && (cd p && seq 1 40 >lines && git add lines && git commit -qm lines) && start_ws p x && (
		cd "$ws" && sed -i "s/^5\$/five/" lines && echo edit >>src/main.c && rm docs/crlf.txt && mkdir -p new/dir && echo new >new/dir/file &&
			rm -r src/deep && echo file >src/deep && ln -s nowhere new/link && chmod 600 src/numbers && mkdir hollow
	) && echo more >>p/lines && state_of >before.want && git -C p ews apply x && state_of >after.want && git -C p ews undo && save work
'

test_expect_success 'P4: apply' '
	sweep work after_apply apply x
'

test_done
