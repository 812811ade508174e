#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='records that are too large, newer, of another user, or lead elsewhere are refused and followed nowhere (P5)'

. "$(dirname "$0")/test-lib.sh"

test_expect_success 'setup' '
	test_repo p && mkdir outside && echo outside >outside/file && see_outside &&
	start_ws p x && echo edit >>"${ws:?}/src/main.c" && xs=$PWD/home/.superqode/working/p/sessions/x && test_path_is_dir "$xs"
'

test_expect_success 'P5: state that is too long, or nested too deeply, is refused, though it says nothing wrong' '
	cp "${xs:?}/state.json" keep && cp keep long && yes "" | head -c 2000000 >>long && sed "s/^{/{\"x\": $(printf "%40s" "" | tr " " "[")$(printf "%40s" "" | tr " " "]"),/" keep >nested &&
	cp long "${xs:?}/state.json" && denied "longer than" p diff x && cp nested "${xs:?}/state.json" && denied "deeper than" p diff x && cp keep "${xs:?}/state.json"
'

test_expect_success 'P5: a record that others could have written is refused, until its user trusts it' '
	repo=$PWD/home/.superqode/working/p && for part in "${xs:?}/state.json" "$xs" "${repo:?}/project.json" "$repo" "$PWD/home/.superqode/working"; do
		for mode in o+w g+w; do
			chmod $mode "$part" && denied "can be written by others" p diff x && test_grep "^hint: .*chmod go-w .$part" err && chmod go-w "$part" || return 1
		done
	done && git -C p ews diff x >out && test_grep "^+edit" out &&
	mkdir shared-home && echo theirs >shared-home/x && for mode in 777 1777 775; do
		chmod $mode shared-home && test_expect_code 128 git -C p ews --home "$PWD/shared-home" start no 2>err && test_grep "can be written by others" err &&
			{ git -C p ews --home "$PWD/shared-home" doctor --fix >out || :; } && find shared-home -perm $mode -prune >out && test_line_count = 1 out && test "$(ls -A shared-home)" = x || return 1
	done &&
	mkdir own-home && chmod 775 own-home && git -C p ews --home "$PWD/own-home" list && find own-home -perm 755 -prune >out && test_line_count = 1 out &&
	chmod 777 "${HOME:?}/.superqode" && git -C p ews diff x >out && find "${HOME:?}/.superqode" -prune -perm 755 >out && test_line_count = 1 out && chmod 700 "${HOME:?}/.superqode"
'

test_expect_success 'the command that trusts it holds where it is pasted, whatever home is called' '
	odd="$PWD/it'\''s; echo" && test_repo pasted && git -C pasted ews --home "$odd" start -q s && chmod o+w "${odd:?}/working/pasted/sessions/s/state.json" && test_must_fail git -C pasted ews --home "$odd" diff s 2>err && sed -n "s/^hint: .*: chmod/chmod/p" err >trusting && sh trusting && git -C pasted ews --home "$odd" diff s
'

test_expect_success USERS 'P5: a record of another user is refused, and left as it is' '
	repo=$PWD/home/.superqode/working/p && for part in "${xs:?}/state.json" "$xs" "${repo:?}/project.json" "$PWD/home/.superqode/working" "${HOME:?}/.superqode"; do
		chown 65534 "$part" && denied "belongs to another user" p diff x && denied "belongs to another user" p end x && chown 0 "$part" || return 1
	done && git -C p ews diff x >out && test_grep "^+edit" out
'

test_expect_success 'P5: the epoch and locks: what others could have written is refused, a newer version too; what is too long says nothing' '
	repo=$PWD/home/.superqode/working/p && before=$(git -C p ews epoch) && cp "${repo:?}/epoch" keep && for mode in o+w g+w; do
		chmod $mode "${repo:?}/epoch" && denied "epoch. can be written by others" p epoch && denied "can be written by others" p epoch bump && git -C p ews diff x >out 2>err && test_grep "can.t be told: .*can be written by others" err && chmod go-w "${repo:?}/epoch" && cmp keep "${repo:?}/epoch" || return 1
	done && sed "s/^version 1$/version 2/" keep >newer && ! cmp -s keep newer && cp newer "${repo:?}/epoch" && denied "newer version" p epoch bump && cmp newer "${repo:?}/epoch" && cp keep "${repo:?}/epoch" &&
	{ cat keep && yes "" | head -c 2000000; } >"${repo:?}/epoch" && after=$(git -C p ews epoch) && test "$after" -ge "$before" && test "$(stat -c %s "${repo:?}/epoch")" -lt 10000 &&
	: >"${repo:?}/locks/gate:epoch" && for mode in o+w g+w; do
		chmod $mode "${repo:?}/locks/gate:epoch" && denied "gate:epoch. can be written by others" p epoch bump && chmod go-w "${repo:?}/locks/gate:epoch" || return 1
	done && yes "pid 1" | head -c 2000000 >"${repo:?}/locks/gate:epoch" && test "$(git -C p ews epoch bump)" = $((after + 1)) && test_path_is_missing "${repo:?}/locks/gate:epoch" &&
	{ printf "{\"x\":" && yes "[" | head -c 100000; } >"${repo:?}/locks/deep:command:gone" && git -C p ews lock status && echo "{\"version\": 2, \"pid\": 1}" >"${repo:?}/locks/deep:command:gone" && git -C p ews lock acquire -- true
'

test_expect_success 'P5: each other record that others could have written: refused, named, or not believed' '
	repo=$PWD/home/.superqode/working/p && start_ws -n rw p r && echo edit >>"${rw:?}/src/main.c" && git -C p ews revert r >out && git -C p ews report finding add --session r --severity info --title planted && git -C p ews run r --keep -- true >out && rs=${repo:?}/sessions/r && step=$(ls "${repo:?}"/undo/*.json) && test_path_is_file "$step" &&
	while read -r file words verb; do
		case $file in undo) file=$step ;; ports) file=${HOME:?}/.superqode/ports ;; *) file=${rs:?}/$file ;; esac && test_path_is_file "$file" && cp "$file" keep && chmod o+w "$file" && { git -C p ews $verb >out 2>err </dev/null || :; } && cat out err >both && chmod o-w "$file" &&
		case $words in nothing) test_grep ! -e planted -e Verified both ;; interrupted) test_grep -i interrupted both ;; *) test_grep "can be written by others" both ;; esac && cmp keep "$file" || { echo >&2 "$file: $verb" && return 1; }
	done <<-\END &&
		undo refused undo r
		undo refused recover --all
		journal interrupted revert r
		journal refused recover r --resume
		findings.json refused report finding list r
		proof.json nothing status r
		tripwire refused status r
		ports refused run r --keep -- true
	END
	git -C p ews recover --all && git -C p ews report finding list r >out && test_grep planted out && git -C p ews end r
'

test_expect_success USERS 'P5: an epoch and a lock of another user are refused' '
	repo=$PWD/home/.superqode/working/p && chown 65534 "${repo:?}/epoch" && denied "belongs to another user" p epoch bump && chown 0 "${repo:?}/epoch" && : >"${repo:?}/locks/gate:epoch" && chown 65534 "${repo:?}/locks/gate:epoch" &&
	denied "belongs to another user" p epoch bump && rm "${repo:?}/locks/gate:epoch" && git -C p ews epoch bump
'

test_expect_success 'P5: from within a workspace, a record that names another project leads to no session of that one' '
	test_repo q && git -C q ews start x >q.path && cp "${xs:?}/state.json" keep &&
	sed "s|\"$PWD/p\(/.git\)\{0,1\}\"|\"$PWD/q\\1\"|" keep >"${xs:?}/state.json" && ! cmp -s keep "${xs:?}/state.json" &&
	for verb in end "end x" revert diff status; do
		(cd "$ws" && test_expect_code 1 git-ews $verb) >out 2>err || { echo >&2 "$verb"; cp keep "${xs:?}/state.json"; return 1; }
	done && cp keep "${xs:?}/state.json" && test_path_is_dir "$(cat q.path)" && (cd "$ws" && git-ews diff) >out && test_grep "^+edit" out && git -C q ews end x
'

test_expect_success 'records of a newer version are refused, and left as they are' '
	repo=$PWD/home/.superqode/working/p && sed "s/\"version\"[[:space:]]*:[[:space:]]*1/\"version\":2/" "${repo:?}/project.json" >newer && cp "${repo:?}/project.json" keep && cp newer "${repo:?}/project.json" &&
	denied "newer version" p diff x && cmp newer "${repo:?}/project.json" && cp keep "${repo:?}/project.json" &&
	git -C p ews diff x >out
'

test_expect_success 'P1: a project.json that is torn, empty or missing costs no session: its sessions say whose they are' '
	test_repo torn && git -C torn worktree add -q --detach ../linked && start_ws -n first torn first && start_ws -n second linked second && echo work >>"${first:?}/src/main.c" && repo=$PWD/home/.superqode/working/torn && cp "${repo:?}/project.json" keep &&
	for how in ": >" "head -c 40 keep >" "echo [] >" "rm"; do
		eval "$how \"\${repo:?}/project.json\"" && git -C torn ews list >out && test_grep "^first *active" out && test_grep "^second *active" out && test_cmp keep "${repo:?}/project.json" || { echo >&2 "$how" && return 1; }
	done && git -C torn ews start third >out && git -C torn ews doctor >out && test_grep "ok *sessions *3," out && ls "${repo:?}/.." | grep torn >out && test_line_count = 1 out && (cd "$first" && git ews diff) >out && test_grep "^+work" out &&
	: >"${repo:?}/project.json" && mv "${repo:?}/sessions/first" away && mv "${repo:?}/sessions/third" away3 && git -C torn ews list >out && test_grep "^second" out && mv away "${repo:?}/sessions/first" && mv away3 "${repo:?}/sessions/third" && git -C torn ews end first
'

test_expect_success 'P1: what a project.json says that the disk does not give may be ours: nothing is said, or made, without it' '
	git init -q moved && echo a >moved/a && start_ws moved m && mv moved now && git -C now ews list >out && test_grep "^m *active" out && repo=$PWD/home/.superqode/working/moved && ls "${repo:?}/.." >before &&
	for verb in "list" "status --json" "start n"; do
		test_expect_code 128 test_strace trace -P "${repo:?}/project.json" -e trace=read -e inject=read:error=EIO git -C now ews $verb >err 2>&1 && test_grep "INJECTED" trace && test_grep "project.json. in .moved.*Input/output error" err || return 1
	done && ls "${repo:?}/.." | test_cmp before - && test_expect_code 1 test_strace trace -P "${repo:?}/project.json" -e trace=read -e inject=read:error=EIO git -C now ews doctor >out && test_grep "problem *sessions *.*Input/output error" out && test_grep "problem *home *.*/moved. does not say" out && test_grep ! "update-ref -d" out &&
	git -C now ews diff m && git -C now ews doctor && chmod o+w "${repo:?}/project.json" && test_expect_code 128 git -C now ews start n 2>err && test_grep "can be written by others" err && chmod o-w "${repo:?}/project.json" && git -C now ews end m
'

test_expect_success 'P4: doctor names a directory of nobody, and advises to delete no ref whose record may be there' '
	test_repo lost && start_ws lost l && repo=$PWD/home/.superqode/working/lost && cp "${repo:?}/project.json" keep && cp "${repo:?}/sessions/l/state.json" state && : >"${repo:?}/project.json" && : >"${repo:?}/sessions/l/state.json" &&
	test_expect_code 1 git -C lost ews doctor >out && test_grep "problem *home *.*/working/lost. does not say which project it is of" out && test_grep "refs/ews/sessions/l.: there is no record" out && test_grep "do: mend what .home. says first" out && test_grep ! "update-ref -d" out &&
	cp state "${repo:?}/sessions/l/state.json" && git -C lost ews status && git -C lost ews doctor && git -C lost ews end l
'

test_expect_success 'P5: steps that name places elsewhere; trash beside a workspace that is a link' '
	test_repo v && start_ws v w && echo edit >>"${ws:?}/src/main.c" && git -C v ews revert w >out && step=$(find "${HOME:?}/.superqode/working/v/undo" -name "*.json") && cp "$step" keep &&
	for moved in "../../../outside/file\\t1" "src\\t.." "src\\t../../../p" "/etc\\t1" "..\\t." "a"; do
		MOVED=$moved perl -pe "s{\"moved\":\s*\[\]}{\"moved\": [\"\$ENV{MOVED}\"]}" keep >"$step" && ! cmp -s keep "$step" && ends git -C v ews undo w && outside_is_whole && test_path_is_dir "$ws" || return 1
		cp keep "$step"
	done && mkdir shared && ln -s ../outside shared/.ews-trash && git -C v ews start --in "$PWD/shared" e >out && echo new >shared/e/new &&
	git -C v ews revert e >out && says_no git -C v ews end e && test_grep "symbolic link" err && outside_is_whole && rm shared/.ews-trash && mkdir shared/.ews-trash && echo theirs >shared/.ews-trash/x && chmod 777 shared/.ews-trash &&
	says_no git -C v ews recover e --resume && test_path_is_dir shared/e && rm -r shared/.ews-trash && git -C v ews recover e --resume >out && test_path_is_missing shared/e && outside_is_whole
'

test_expect_success 'P5: the same under a umask that takes rights from its user' '
	test_repo masked && SUPERQODE_HOME=$PWD/home777 && export SUPERQODE_HOME && (umask 777 && exec git-ews -C masked start one) >masked.path && test_same_tree masked "$(cat masked.path)" &&
	(umask 777 && exec git-ews -C masked end one) && find "$SUPERQODE_HOME" \( -path "*/qe/*" -o -path "*/trash/*" \) -prune -o -type d ! -perm 700 -print -o -type f ! -perm 600 ! -perm 400 -print >open &&
	test_must_be_empty open && unset SUPERQODE_HOME
'

# What a terminal obeys: ESC, a control of C1, a mark that turns the direction of writing.
moves_no_cursor() {
	"$@" >moves.out 2>&1 </dev/null
	! LC_ALL=C grep -aq "$(printf "\033\\|\302\233\\|\342\200\256")" moves.out || { echo "moved by: $*" && cat -v moves.out && return 1; }
}

test_expect_success 'what others wrote sends a terminal nothing that it obeys' '
	evil=$(printf "a\033[31mb\302\233c\342\200\256d") && EVIL=$evil && export EVIL && test_repo words && cd words && start_ws . s --intent "$evil" --label "$evil" && echo x >"${ws:?}/x" &&
	for type in log patch; do git ews artifact add --type $type --description "$evil" --session s src/main.c >id || return 1; done &&
	git ews report finding add --severity info --title "$evil" --session s >/dev/null && git branch "$(printf "b\342\200\256d")" && echo more >>src/main.c &&
	commit=$(printf "%s\n\nEws-Snapshot: %s\nEws-Session: %s\nEws-Method: %s\nEws-Parent: %s\n" subject "$evil" "$evil" "$evil" "$evil" | git commit-tree "HEAD^{tree}") &&
	odd=$(printf "s\342\200\256d") && for ref in snapshots/"${odd:?}" pending/"${odd:?}"/base pending/"${odd:?}"/result; do
		git update-ref "refs/ews/$ref" "$commit" || return 1
	done && printf "qe:\n  workspace:\n    exclude: [\"\\\\e[31m\", \"\\\\u202e\"]\n" >superqode.yaml &&
	archive=$(git ews archive create --env EVIL --to "$PWD/.." src) && cp "$archive" "../$evil.tar.gz" &&
	moves_no_cursor git ews status && moves_no_cursor git ews status s && moves_no_cursor git ews status -v && moves_no_cursor git ews status --log &&
	moves_no_cursor git ews epoch check s && moves_no_cursor git ews artifact list && moves_no_cursor git ews artifact show "$(cat id)" && moves_no_cursor git ews suggestions list &&
	moves_no_cursor git ews report finding list s && moves_no_cursor git ews report --output - s && moves_no_cursor git ews snapshot list --all &&
	moves_no_cursor git ews snapshot show "$commit" && moves_no_cursor git ews snapshot verify --all && moves_no_cursor git ews pending list && moves_no_cursor git ews doctor &&
	moves_no_cursor git ews guard check -- git "$evil" && moves_no_cursor git ews guard check --shell "$evil" && moves_no_cursor git ews config list &&
	for verb in show verify "diff --no-deletions --expect=A.x"; do moves_no_cursor git ews archive $verb "../$evil.tar.gz" src || return 1; done &&
	for file in "$archive" "../$evil.tar.gz"; do moves_no_cursor git ews archive show "$file" && moves_no_cursor git ews archive verify "$file" || return 1; done &&
	git ews archive show "$archive" >out && test_grep "^Env: .*a.033.31mb.302.233c.342.200.256d" out
'

test_done
