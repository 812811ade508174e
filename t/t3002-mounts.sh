#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='what somebody mounts in a workspace is not of it (P1, P5): nothing is looked at, changed or removed in it, and it is named (P8)'

. "$(dirname "$0")/test-lib.sh"

if ! test_have_prereq TMPFS; then
	skip_all='nothing can be mounted here'
	test_done
fi

list() {
	"$EWS_SRC/t/lister" "$@"
}

# All of the workspace but what is mounted in it.
files_but_mounts() {
	list -m -x .git -x .superqode -x new/bound -x new/tmpfs "$1"
}

# in_mounts: run the script on stdin, with -e, where ws is the workspace, and what it mounts goes when it ends.
in_mounts() {
	{ echo 'set -e' && cat; } >script && ws=$ws test_in_namespace sh -x ./script
}

start() {
	git -C p ews start "$@" >path 2>err && take_ws path
}

# is_untouched: does what is bound into workspaces look as it did?
is_untouched() {
	list outside >outside.now && test_cmp outside.want outside.now
}

test_expect_success 'setup: a project, and somebody'\''s directory beside it' '
	test_repo p && (cd p && echo rule.o >>.gitignore && git add -A && git commit -q -m rules) &&
	mkdir -p outside/sub && echo precious >outside/keep && echo deep >outside/sub/deep && echo numbers >outside/numbers && chmod 700 outside && chmod 444 outside/keep &&
	touch -d 2001-02-03 outside/keep outside/sub outside && list outside >outside.want
'

for method in worktree snapshot; do
	test_expect_success "$method: what is mounted in new directories is named by each verb, and stays as it is" '
		start --method='$method' new-'$method' && files_but_mounts "$ws" >want && in_mounts <<-\EOF && is_untouched
			mkdir -p "${ws:?}"/new/bound "${ws:?}"/new/tmpfs
			mount --bind outside "${ws:?}"/new/bound
			mount -t tmpfs tmpfs "${ws:?}"/new/tmpfs
			echo t >"${ws:?}"/new/tmpfs/t
			echo edit >>"${ws:?}"/src/main.c
			echo mine >"${ws:?}"/new/mine
			git -C p ews status --json >status.json
			git -C p ews diff new-'$method' --name-only >out 2>err
			printf "%s\n" new/mine src/main.c | cmp - out
			grep "new/bound (mounted)" err
			grep "new/tmpfs (mounted)" err
			git -C p ews snapshot create new-'$method' 2>err
			grep "new/bound (mounted)" err
			for turn in 1 2; do
				git -C p ews revert new-'$method' >out 2>err
				grep "Status: Verified" out
				grep "new/bound (mounted)" err
				grep "new/tmpfs (mounted)" err
				test t = "$(cat "${ws:?}"/new/tmpfs/t)"
				test -f "${ws:?}"/new/bound/keep
				test ! -e "${ws:?}"/new/mine
			done
			git -C p ews undo new-'$method'
			test mine = "$(cat "${ws:?}"/new/mine)"
			git -C p ews revert --verify=full new-'$method' --json >json 2>err
			grep -F "{\"path\":\"new/bound\",\"reason\":\"mounted\"}" json
		EOF
	'

	test_expect_success "$method: once nothing is mounted there, the directories go" '
		git -C p ews revert new-'$method' >out && test_grep "Status: Verified" out && files_but_mounts "$ws" >got && test_cmp want got
	'

	test_expect_success "$method: what is mounted over a part of the base hides that: it is said, and nothing goes through" '
		start --method='$method' over-'$method' && files_but_mounts "$ws" >want && in_mounts <<-\EOF && is_untouched && git -C p ews revert over-'$method' >out && test_grep "Status: Verified" out && files_but_mounts "$ws" >got && test_cmp want got
			mount --bind outside "${ws:?}"/src
			echo edit >>"${ws:?}"/docs/crlf.txt
			code=0
			git -C p ews revert over-'$method' >out 2>err || code=$?
			test $code = 1
			grep "src (something is mounted over it)" out
			grep "Status: Not verified" out
			code=0
			git -C p ews revert --verify=full over-'$method' >out 2>err || code=$?
			test $code = 1
			git -C p status --porcelain >before
			git -C p ews apply over-'$method' 2>err
			grep "src (mounted)" err
			git -C p status --porcelain | cmp before -
			git -C p ews snapshot create over-'$method' >snap 2>err
			git -C p ews snapshot show --coverage "$(cat snap)" >cover
			grep "mounted	src" cover
		EOF
	'
done

test_expect_success 'a file that is mounted over a file: its owner'\''s keeps bytes, mode and time' '
	start file && echo numbers >"${ws:?}/one" && chmod 600 outside/numbers && list outside >outside.want && in_mounts <<-\EOF && is_untouched
		cp outside/numbers "${ws:?}"/one
		chmod 644 "${ws:?}"/one
		touch -d 2002-02-02 "${ws:?}"/one
		snap=$(git -C p ews snapshot create file)
		mount --bind outside/numbers "${ws:?}"/one
		code=0
		git -C p ews revert --to "$snap" file >out 2>err || code=$?
		test $code = 1
		grep "Status: Not verified" out
		code=0
		git -C p ews revert file >out 2>err || code=$?
		test $code = 1
		test -f "${ws:?}"/one
	EOF
'

test_expect_success 'mounted once all was looked at: what put writes and removes does not go through' '
	start late && echo new >"${ws:?}/src/new" && git -C p ews snapshot create late && in_mounts <<-\EOF && is_untouched
		mount --bind "${ws:?}"/src "${ws:?}"/src
		echo edit >>"${ws:?}"/src/main.c
		code=0
		git -C p ews revert late >out 2>err || code=$?
		test $code = 1
		grep "Status: Not verified" out
		umount "${ws:?}"/src
		grep edit "${ws:?}"/src/main.c
	EOF
'

test_expect_success 'undo, where something came to be mounted since' '
	start since && echo new >"${ws:?}/src/new" && mkdir "${ws:?}/more" && echo x >"${ws:?}/more/keep" && git -C p ews revert since && in_mounts <<-\EOF && is_untouched
		mkdir "${ws:?}"/more
		mount --bind outside "${ws:?}"/more
		mount --bind outside "${ws:?}"/src
		code=0
		git -C p ews undo since >out 2>err || code=$?
		test $code = 1
		grep "not as it was: src (something is mounted over it)" err
		grep "not as it was: more (something is mounted over it)" err
		if grep "changed since" err; then exit 1; fi
	EOF
'

test_expect_success 'end waits until nothing is mounted any more; forced it does no harm, nor does clean, which names what stays' '
	start over && in_mounts <<-\EOF && is_untouched && git -C p ews clean --now >out 2>err && test_grep ! mounted err && test_path_is_missing "$ws"
		mkdir "${ws:?}"/bound
		mount --bind outside "${ws:?}"/bound
		code=0
		git -C p ews end over >out 2>err || code=$?
		test $code = 1
		grep "in use by what is mounted at .*/bound" err
		test -f "${ws:?}"/bound/keep
		git -C p ews end --force over 2>err
		git -C p ews clean --now >out 2>err
		grep "something is mounted there" err
		git -C p ews clean --now >out 2>err
		grep "something is mounted there" err
	EOF
'

test_expect_success 'what is mounted in an ignored directory goes to trash with that and comes back, and no further' '
	start ignored && in_mounts <<-\EOF && is_untouched
		mkdir "${ws:?}"/rule.o
		mkdir "${ws:?}"/rule.o/bound
		mount --bind outside "${ws:?}"/rule.o/bound
		git -C p ews diff --exit-code ignored >out 2>err
		git -C p ews revert ignored >out 2>err
		grep "moved to trash whole: 3 files" err
		git -C p ews undo ignored 2>err
		test -f "${ws:?}"/rule.o/bound/keep
		code=0
		git -C p ews end ignored >out 2>err || code=$?
		test $code = 1
		git -C p ews end --force ignored >out 2>err
		git -C p ews clean --now >out 2>err
		grep "something is mounted there" err
	EOF
'

test_expect_success 'in place: what is mounted in the project is left alone' '
	git clone -q p place && in_mounts <<-\EOF && is_untouched
		mkdir place/bound
		mount --bind outside place/bound
		git -C place ews start --method=in-place inside >out 2>err
		grep "bound (mounted)" err
		mkdir place/later
		mount --bind outside place/later
		mount --bind outside place/src
		echo edit >>place/docs/crlf.txt
		code=0
		git -C place ews revert inside >out 2>err || code=$?
		test $code = 1
		grep "src (something is mounted over it)" out
		grep "later (mounted)" err
		umount place/src
		git -C place ews end inside >out 2>err
		git -C place diff --exit-code
		test -f place/later/keep
	EOF
'

test_expect_success 'P2, P4: in place, where .superqode is a volume, what is moved whole goes beside it, killed anywhere, and comes back' '
	test_repo vol-place && mkdir "a volume" vol-place/.superqode && in_mounts <<-\EOF
		mount --bind "a volume" vol-place/.superqode
		git -C vol-place ews start --method=in-place whole
		mkdir vol-place/nest
		git init -q vol-place/nest
		echo precious >vol-place/nest/f
		"$EWS_SRC/t/lister" vol-place/nest >want.nest
		at=1
		code=137
		while test $code = 137; do
			code=0
			"$EWS_BUILD/t/killat" -c "nest|ews-trash|rename|mkdir" $at git-ews -C vol-place revert whole >out 2>err || code=$?
			git -C vol-place ews recover --all
			git -C vol-place ews revert whole >out
			grep "Status: Verified" out
			test ! -e vol-place/nest
			test -z "$(git -C vol-place status --porcelain --untracked-files=all)"
			git -C vol-place ews undo whole
			test -e vol-place/nest || git -C vol-place ews undo whole
			"$EWS_SRC/t/lister" vol-place/nest | cmp want.nest -
			at=$((at + 3))
		done
		test $code = 199
		test $at -gt 5
		git -C vol-place ews revert whole
		ls -d vol-place/.ews-trash/op-*
		umount vol-place/.superqode
		git -C vol-place ews undo whole
		test precious = "$(cat vol-place/nest/f)"
		git -C vol-place ews revert whole
		git -C vol-place ews end whole
		git -C vol-place ews clean --now
		test .gitignore = "$(ls -A vol-place/.ews-trash)"
	EOF
'

test_expect_success 'a project that has something mounted: it is content of the twin, as git has it' '
	git clone -q p carrier && mkdir carrier/data && in_mounts <<-\EOF && is_untouched
		mount --bind outside carrier/data
		ws=$(git -C carrier ews start twin)
		cmp outside/keep "${ws:?}"/data/keep
		echo theirs >"${ws:?}"/data/new
		rm "${ws:?}"/data/sub/deep
		git -C carrier ews revert twin >out
		grep "Status: Verified" out
		cmp outside/sub/deep "${ws:?}"/data/sub/deep
	EOF
'

test_expect_success 'apply writes where the project has it, mounted or not' '
	in_mounts <<-\EOF
		mkdir -p carried/data
		mount --bind carried/data carrier/data
		echo one >carrier/data/file
		ws=$(git -C carrier ews start to-apply)
		echo two >"${ws:?}"/data/file
		git -C carrier ews apply to-apply
		test two = "$(cat carried/data/file)"
	EOF
'

test_expect_success 'P8: of a directory that something is mounted at, and that a session removed, apply takes what is in it, and leaves it, by name' '
	test_repo volume && mkdir -p volume/in/vol vol && echo s >volume/in/vol/s && git -C volume add . && git -C volume commit -qm vol && in_mounts <<-\EOF
		mv volume/in/vol/s vol
		mount --bind vol volume/in/vol
		ws=$(git -C volume ews start goes)
		rm -r "${ws:?}"/in && echo edit >>"${ws:?}"/run.sh
		git -C volume ews apply --check goes 2>err
		grep "left out: in/vol (mounted)" err
		git -C volume ews apply goes 2>err
		grep "left out: in/vol (mounted)" err
		test -z "$(ls -A vol)" && grep edit volume/run.sh
		git -C volume ews undo
		grep s vol/s && ! grep edit volume/run.sh
		echo file >"${ws:?}"/in
		! git -C volume ews apply goes && grep s vol/s
	EOF
'

test_expect_success 'what can not be written since it is mounted read-only is said to be so' '
	test_repo closed && in_mounts <<-\EOF
		mount --bind closed closed && mount -o remount,bind,ro closed
		for method in worktree snapshot in-place; do
			! git -C closed ews start --method $method it 2>err
			grep "^error: .*Read-only" err && grep "^hint: .*mounted read-only" err
		done
		git -C closed ews list
	EOF
'

test_done
