#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='settings: superqode.yaml, git config, the command line (P1, P2, P8, P9)

Which value holds and where it comes from, what is unknown or wrong, what a repository may not say by
itself, and the paths that settings exclude.'

. "$(dirname "$0")/test-lib.sh"

# holds <key> <value> <origin>: this value, from a place that ends so
holds() {
	(cd project && git ews config get --show-origin "$1") >got 2>err || return 1
	test "$(cut -f 2 got)" = "$2" || { cat got && return 1; }
	case $(cut -f 1 got) in *"$3") ;; *) cat got && return 1 ;; esac
}

# line <pattern> <file>: the number of the first line that has it
line() {
	grep -n "$1" "$2" | head -n 1 | cut -d : -f 1
}

test_expect_success 'setup' '
	test_repo project
'

test_expect_success 'all settings are listed, with or without the word list' '
	git -C project ews config >out 2>err && test_must_be_empty err && test_grep -x qe.workspace.method=auto out &&
	test_grep -x "ews.trashExpire=7 days" out && test_grep -x "ews.home=~/.superqode" out &&
	git -C project ews config list >list && test_cmp out list &&
	git -C project ews config --show-origin >out && test_grep "^default	qe.git_guard.block_push=true$" out &&
	git -C project ews config list --json >out 2>err && test_must_be_empty err && test_json out .schema ews.config/1 &&
	test_json out ".settings[0].key" qe.workspace.method && test_json out ".settings[0].origin[0].source" default &&
	test_json_count out .warnings 0
'

test_expect_success 'the command line is over git config, and that over superqode.yaml' '
	yaml "# ours" "qe:" "  workspace:" "    method: worktree" &&
	holds qe.workspace.method worktree /project/superqode.yaml:4 &&
	git config --global ews.workspace.method overlay &&
	holds ews.workspace.method overlay "/home/.gitconfig:$(line method home/.gitconfig)" &&
	git -C project config ews.workspace.method snapshot &&
	holds qe.workspace.method snapshot "/project/.git/config:$(line method project/.git/config)" &&
	git -C project -c ews.workspace.method=auto ews config get --show-origin qe.workspace.method >got &&
	printf "command line\tauto\n" >want && test_cmp want got &&
	git -C project config --remove-section ews.workspace && git config --global --remove-section ews.workspace
'

test_expect_success 'inside a workspace it is the project that is read' '
	yaml "qe: {workspace: {cleanup_on_failure: yes}}" && start_ws -n ws project cfg &&
	echo "nonsense: [" >"${ws:?}/superqode.yaml" &&
	(cd "${ws:?}" && git ews config get --show-origin qe.workspace.cleanup_on_failure) >out 2>err &&
	test_must_be_empty err && test_grep "/project/superqode.yaml:1	yes$" out &&
	git -C project ews end cfg
'

test_expect_success 'a worktree that has a config of its own is asked for it, and no other is' '
	test_repo own && git -C own worktree add -q ../own-w && git -C own config extensions.worktreeConfig true && git -C own-w config --worktree ews.workspace.method snapshot &&
	git -C own-w ews config get qe.workspace.method >got && echo snapshot >want && test_cmp want got && git -C own ews config get qe.workspace.method >got && ! cmp -s want got &&
	git -C own config --unset extensions.worktreeConfig && git -C own-w ews config get qe.workspace.method >got && ! cmp -s want got
'

test_expect_success 'start takes the method that is set, and what an option says instead' '
	yaml "qe: {workspace: {method: snapshot}}" && git -C project ews start --json one >out && test_json out .method snapshot &&
	git -C project ews start --json --worktree two >out && test_json out .method git_worktree &&
	git -C project ews end one two
'

test_expect_success 'values are typed in JSON, each with its file and line' '
	yaml "qe:" "  workspace:" "    exclude:" "      - \"*.log\"" "      - /vendor/" &&
	git -C project -c ews.trashExpire=2.weeks -c ews.trashMax=3k ews config --json >out &&
	test_json_count out .settings 24 && test_json out ".settings[17].value" 3072 &&
	git -C project ews config get --json qe.workspace.exclude >out && test_json out .schema ews.setting/1 &&
	test_json out ".value[1]" /vendor/ && test_json out ".origin[1].line" 5 && test_json_count out .default 0 &&
	git -C project -c ews.trashExpire=2.weeks ews config get --json ews.trashExpire >out &&
	test_json out .value 1209600000 && test_json out ".origin[0].source" "command line" &&
	git -C project -c ews.trashExpire=never ews config get --json ews.trashexpire >out && test_json out .value null &&
	git -C project -c ews.trashMax=3k ews config get --json ews.trashMax >out && test_json out .value 3072 &&
	git -C project -c ews.autoClean=off ews config get --json ews.autoClean >out && test_json out .value false
'

test_expect_success 'an unknown key is a warning with file and line' '
	yaml "qe:" "  workspace:" "    metod: snapshot" "team:" "  lead: x" &&
	git -C project config ews.maxFiles 3 && n=$(line maxFiles project/.git/config) &&
	for verb in "config" "status" "start -q w1" "snapshot create"; do
		git -C project ews $verb >out 2>err &&
		test_grep "^warning: .*/project/superqode.yaml:3: qe.workspace.metod: " err &&
		test_grep "^warning: .*/project/superqode.yaml:4: team: " err && test_grep ! team.lead err &&
		test_grep "^warning: .*/project/.git/config:$n: ews.maxfiles: " err || return 1
	done &&
	git -C project ews config --json >out 2>err && test_must_be_empty err && test_json_count out .warnings 3 &&
	git -C project config --unset ews.maxFiles && git -C project ews end w1
'

test_expect_success 'a wrong value is an error with file and line, and nothing was begun' '
	yaml "qe:" "  git_guard:" "    enabled: perhaps" && test_fingerprint project >before &&
	for verb in "config" "config get qe.git_guard.enabled" "start bad"; do
		test_expect_code 128 git -C project ews $verb >out 2>err && test_must_be_empty out &&
		test_line_count = 2 err && test_grep "^error: .*/project/superqode.yaml:3: qe.git_guard.enabled: .perhaps." err &&
		test_expect_code 128 git -C project ews $verb --json >out 2>err && test_must_be_empty err &&
		test_json out .error.code config || return 1
	done &&
	test_fingerprint project >after && test_cmp before after && rm project/superqode.yaml &&
	test_expect_code 128 git -C project -c ews.maxFile=lots ews start bad 2>err &&
	test_grep "^error: command line: ews.maxFile: .lots. is not a size" err &&
	git -C project config ews.trashExpire soon && test_expect_code 128 git -C project ews config 2>err &&
	test_grep "^error: .*/project/.git/config:[0-9]*: ews.trashExpire: .soon. is no age" err &&
	git -C project config --unset ews.trashExpire
'

test_expect_success 'P2: a wrong setting keeps nobody from going back' '
	start_ws -n ws project slip && yaml "qe: [" "  x" && echo x >"${ws:?}/new" &&
	test_expect_code 128 git -C project ews start other 2>err && test_grep "^error: .*/superqode.yaml:3: " err &&
	git -C project ews diff slip >out && test_grep "+x" out &&
	git -C project ews revert slip >out 2>err && test_grep Verified out && test_grep "^warning: .*superqode.yaml:3: " err &&
	test_expect_code 128 git -C project ews end slip 2>err && test_grep "^hint: .*end --no-artifacts" err && git -C project ews path slip && git -C project ews end --no-artifacts slip
'

test_expect_success 'P9: what loosens, or names a place outside, does not count from a repository' '
	yaml "qe:" "  workspace:" "    method: in-place" "    location: ../outside" "  git_guard:" "    enabled: false" \
		"    block_commit: false" "    allow_diff: false" "  artifacts:" "    location: .superqode/mine" &&
	git -C project config ews.gitGuard.blockPush off && git -C project config ews.home "$PWD/planted" &&
	git -C project ews config >out 2>err && test_grep -x qe.workspace.method=auto out &&
	test_grep -x qe.workspace.location=home out && test_grep -x qe.git_guard.enabled=true out &&
	test_grep -x qe.git_guard.block_commit=true out && test_grep -x qe.git_guard.block_push=true out &&
	test_grep -x qe.git_guard.allow_diff=false out && test_grep -x qe.artifacts.location=.superqode/mine out &&
	test_grep -x "ews.home=~/.superqode" out && test_line_count = 6 err &&
	for n in 3 4 6 7; do test_grep "^warning: .*/superqode.yaml:$n: .* doesn.t count" err || return 1; done &&
	test_grep "^warning: .*/.git/config:[0-9]*: ews.gitGuard.blockPush: doesn.t count" err &&
	test_grep "^warning: .*/.git/config:[0-9]*: ews.home: counts in the user" err &&
	start_ws -n ws project tight && test_path_is_missing planted && git -C project ews end tight &&
	git config --global ews.gitGuard.blockCommit false &&
	holds qe.git_guard.block_commit false "/home/.gitconfig:$(line blockCommit home/.gitconfig)" &&
	git -C project -c ews.gitGuard.enabled=0 ews config get qe.git_guard.enabled >out 2>err && echo 0 >want &&
	test_cmp want out &&
	git config --global --remove-section ews.gitGuard && git -C project config --remove-section ews.gitGuard &&
	git -C project config --unset ews.home
'

test_expect_success 'home: no relative one, which each directory would have for itself' '
	SUPERQODE_HOME=rel test_expect_code 128 git -C project ews start 2>err && test_grep "^error: SUPERQODE_HOME is not an absolute path: .rel." err && test_grep "^hint: " err &&
	test_expect_code 128 git -C project -c ews.home=rel/h ews status 2>err && test_grep "^error: ews.home is not an absolute path" err && test_path_is_missing project/rel && git -C project ews --home rel status &&
	git config --global ews.home rel && test_expect_code 128 git -C project ews status 2>err && test_grep "^error: $HOME/.gitconfig:[1-9][0-9]*: ews.home: is not an absolute path: .rel.$" err && git config --global --unset ews.home &&
	SUPERQODE_HOME=/tmp//x/../y git -C project ews config get ews.home >out && echo /tmp/y >want && test_cmp want out
'

test_expect_success 'home: the option, the environment, the command line, the user' '
	git -C project ews --home "$PWD/h1" config get --show-origin ews.home >out 2>err &&
	printf "command line\t%s\n" "$PWD/h1" >want && test_cmp want out &&
	SUPERQODE_HOME=$PWD/h2 git -C project ews config get --show-origin ews.home >out 2>err &&
	printf "environment\t%s\n" "$PWD/h2" >want && test_cmp want out &&
	rm -f project/superqode.yaml && git -C project -c ews.home="$PWD/h3" ews start h3 >path && take_ws path ws3 &&
	case $ws3 in "$PWD/h3/"*) ;; *) false ;; esac && git -C project -c ews.home="$PWD/h3" ews end h3
'

test_expect_success STRACE 'P8: where the user'"'"'s config cannot be read just now no other home is taken for his: nothing seems gone, and nothing begins elsewhere' '
	git config --global ews.home "$PWD/h4" && git -C project ews start h4 >path && for verb in list "start h5"; do
		test_expect_code 128 test_strace log -P "$HOME/.gitconfig" -e trace=openat -e inject=openat:error=EIO:when=1+ git-ews -C project $verb >out 2>err && test_must_be_empty out && test_grep "^error: cannot tell where workspaces are: " err || return 1
	done && git -C project ews list >out && test_grep "^h4 " out && test_line_count = 1 out && git -C project ews end h4 && git config --global --unset ews.home
'

test_expect_success USERS 'P8: a config of the user that he may not read, so that git passes it over, is named where it may say that home is elsewhere' '
	mkdir shut && git init -q shut/p && test_give_user shut && test_as_user git -C shut/p ews list >out 2>err && test_grep ! "may not be read" err && his=$PWD/home-65534/.gitconfig && chown 0 "${his:?}" && chmod 600 "${his:?}" &&
	test_as_user git -C shut/p ews list >out 2>err && test_grep "^warning: .$his. may not be read: if it has ews.home" err && test_as_user env SUPERQODE_HOME="$PWD/home-65534/other" git -C shut/p ews list >out 2>err && test_grep ! "may not be read" err &&
	test_as_user git -C shut/p ews --home "$PWD/home-65534/other" list >out 2>err && test_grep ! "may not be read" err && test_give_user "$his" && test_as_user git -C shut/p ews list >out 2>err && test_grep ! "may not be read" err
'

test_expect_success 'config init writes a file with everything in it and nothing said' '
	git -C project ews config >want && git -C project ews config init >out && echo "$PWD/project/superqode.yaml" >path &&
	test_cmp path out && git -C project ews config >got 2>err && test_must_be_empty err && test_cmp want got &&
	sed "s/^\( *\)#\([a-z_]*:\)/\1\2/; s/^\( *\)#\( *-\)/\1\2/" project/superqode.yaml >all &&
	cp all project/superqode.yaml && git -C project ews config list --show-origin >got 2>err && test_must_be_empty err &&
	test "$(grep -c "superqode.yaml:[0-9]*	qe\." got)" = 13 && test_grep ! "^default	qe" got &&
	test_grep "	qe.workspace.exclude=\*.log" got
'

test_expect_success 'config init that is killed, or fails, at its writing leaves none' '
	test_repo cut && for at in 1 2 3; do
		test_expect_code 137 "$EWS_BUILD/t/killat" $at "$EWS_BIN/git-ews" -C cut config init && test_path_is_missing cut/superqode.yaml || return 1
	done && test_expect_code 128 sh -c "ulimit -f 0 && exec git-ews -C cut config init" >out && test_path_is_missing cut/superqode.yaml &&
	(umask 027 && git -C cut ews config init) && test -s cut/superqode.yaml && test "$(stat -c %a cut/superqode.yaml)" = 640
'

test_expect_success 'P1: it overwrites nothing, and is the only verb that makes it' '
	cp project/superqode.yaml before && test_expect_code 128 git -C project ews config init >out 2>err &&
	test_must_be_empty out && test_grep "is there already" err && test_cmp before project/superqode.yaml &&
	rm project/superqode.yaml && ln -s nowhere project/superqode.yaml &&
	test_expect_code 128 git -C project ews config init && test_path_is_link project/superqode.yaml nowhere &&
	test_path_is_missing project/nowhere && rm project/superqode.yaml &&
	git clone -q --bare project bare.git && test_expect_code 129 git -C bare.git ews config init &&
	git -C bare.git ews config >out && test_fingerprint project >before && git -C project ews config --json >out &&
	test_fingerprint project >after && test_cmp before after && test_path_is_missing project/superqode.yaml
'

test_expect_success 'a key that is none, and words too many' '
	test_expect_code 128 git -C project ews config get qe.nosuch 2>err && test_grep "qe.nosuch" err &&
	for line in "config set" "config get" "config get a b" "config list x" "config init x"; do
		test_expect_code 129 git -C project ews $line 2>err && test_line_count = 2 err || return 1
	done
'

# within <command>...: a second of work and 50 MB of memory must do
within() {
	# shellcheck disable=SC3045 # dash has both
	(ulimit -t 1 && ulimit -d 51200 && "$@")
}

test "$EWS_SANITIZE$EWS_VALGRIND" || test_set_prereq LIMITS

test_expect_success LIMITS 'a bomb ends at once, in little memory, with file and line' '
	(
		echo "a: &a [lol,lol,lol,lol,lol,lol,lol,lol,lol]" && for n in b c d e f g h i; do
			echo "$n: &$n [*${p-a},*${p-a},*${p-a},*${p-a},*${p-a},*${p-a},*${p-a},*${p-a},*${p-a}]" && p=$n
		done
	) >project/superqode.yaml && test_expect_code 128 within git -C project ews config 2>err &&
	test_grep "^error: .*/project/superqode.yaml:2: .*alias" err &&
	for text in "[" "{a: " "- " "? " "x," "[[]," "a: b
" "%TAG !a! b
"; do
		{ printf "a:\nb: [" && yes "$text" | head -c 1000000 | tr -d "\n"; } >project/superqode.yaml &&
		test_expect_code 128 within git -C project ews config 2>err &&
		test_grep "^error: .*/project/superqode.yaml:[0-9]*: " err || return 1
	done &&
	yes "a: b" | head -c 1000000 >project/superqode.yaml && test_expect_code 128 within git -C project ews config 2>err &&
	test_grep "^error: .*/project/superqode.yaml:10001: " err &&
	truncate -s 1G project/superqode.yaml && test_expect_code 128 within git -C project ews config 2>err &&
	test_grep "^error: .*/project/superqode.yaml:1: " err && rm project/superqode.yaml &&
	mkfifo project/superqode.yaml && test_expect_code 128 within git -C project ews config 2>err &&
	test_grep "^error: .*/project/superqode.yaml:1: " err && rm project/superqode.yaml
'

test_expect_success 'P8: what is excluded is in no twin, and named' '
	mkdir -p project/vendor/deep project/sub && echo big >project/vendor/deep/big && echo log >project/sub/a.log &&
	echo keep >project/sub/keep.log && git -C project add -f vendor sub && git -C project commit -qm vendor &&
	echo more >project/vendor/untracked && git -C project status --short >dirt &&
	yaml "qe:" "  workspace:" "    exclude:" "      - /vendor/" "      - \"*.log\"" "      - \"!keep.log\"" &&
	git -C project ews start --json ex >out && json out .path >path && take_ws path &&
	test_path_is_missing "${ws:?}/vendor" && test_path_is_missing "${ws:?}/sub/a.log" && test_path_is_file "${ws:?}/sub/keep.log" &&
	json out ".skipped" >skipped && test_grep "\"path\":\"vendor\",\"reason\":\"excluded\"" skipped &&
	test_grep "\"path\":\"sub/a.log\",\"reason\":\"excluded\"" skipped &&
	git -C project ews snapshot show --coverage ex >out && test_grep "^excluded	vendor$" out &&
	test_grep "^excluded	sub/a.log$" out && test_grep ! keep out &&
	git -C "${ws:?}" status --short >out && echo "?? superqode.yaml" >>dirt && sort dirt >want &&
	sort out >got && { grep -v "vendor" want >want2 || :; } && test_cmp want2 got &&
	test_same_tree -x vendor -x sub/a.log -x .superqode project "${ws:?}"
'

test_expect_success 'P2: what is excluded is never removed by revert, nor by what the project says later' '
	mkdir -p "${ws:?}/vendor/mine" && echo m >"${ws:?}/vendor/mine/m" && echo l >"${ws:?}/new.log" &&
	echo n >"${ws:?}/new" && rm "${ws:?}/sub/keep.log" && rm project/superqode.yaml &&
	git -C project ews revert ex >out && test_grep Verified out && test_path_is_file "${ws:?}/vendor/mine/m" &&
	test_path_is_file "${ws:?}/new.log" && test_path_is_missing "${ws:?}/new" && test_path_is_file "${ws:?}/sub/keep.log" &&
	git -C project ews diff ex >out && test_must_be_empty out &&
	id=$(git -C project ews snapshot create ex 2>err) && test_grep "2 excluded paths left out" err &&
	git -C project ews snapshot show --coverage "$id" >out && test_grep "^excluded	vendor$" out &&
	test_grep "^excluded	new.log$" out && git -C project ews snapshot show --files "$id" >out && test_grep ! new.log out
'

test_expect_success 'P2: in the project itself a rule that is written meanwhile hides nothing from revert' '
	test_repo place && (cd place && git ews start --method in-place here) >out && echo "$PWD/place" >want && test_cmp want out &&
	printf "qe: {workspace: {exclude: [evil]}}\n" >place/superqode.yaml && echo x >place/evil &&
	git -C place ews revert here >out && test_grep Verified out && test_path_is_missing place/evil &&
	test_path_is_missing place/superqode.yaml && git -C place ews end here
'

test_expect_success 'P4: an excluded thing in the place of a file of the base gives way, into trash' '
	rm -r "${ws:?}/sub" && echo was >"${ws:?}/sub" && git -C project ews end ex &&
	yaml "qe: {workspace: {exclude: [\"build/\"]}}" && echo plain >project/build && start_ws -n ws project way &&
	rm "${ws:?}/build" && mkdir "${ws:?}/build" && echo o >"${ws:?}/build/o" &&
	git -C project ews revert way >out && test_grep Verified out && echo plain >want && test_cmp want "${ws:?}/build" &&
	git -C project ews undo way && test_path_is_file "${ws:?}/build/o" &&
	git -C project ews undo --redo way && test_cmp want "${ws:?}/build" && git -C project ews end way &&
	rm project/build
'

test_expect_success 'from a commit the same is left out' '
	yaml "qe: {workspace: {exclude: vendor}}" && git -C project ews start --base HEAD --json old >out &&
	json out .path >path && take_ws path && test_path_is_missing "${ws:?}/vendor" && test_path_is_file "${ws:?}/sub/a.log" &&
	json out .skipped >skipped && test_grep "\"path\":\"vendor\",\"reason\":\"excluded\"" skipped &&
	git -C "${ws:?}" status --short >out && test_must_be_empty out &&
	git -C "${ws:?}" ls-files vendor >out && test_grep vendor/deep/big out && git -C project ews end old
'

test_expect_success 'P2: a snapshot of the project leaves it out, and restore leaves it there' '
	id=$(git -C project ews snapshot create 2>err) && git -C project ews snapshot show --coverage "$id" >out &&
	test_grep "^excluded	vendor$" out && echo changed >project/vendor/untracked && echo x >project/sub/keep.log &&
	git -C project ews snapshot restore --force "$id" && echo keep >want && test_cmp want project/sub/keep.log &&
	echo changed >want && test_cmp want project/vendor/untracked
'

test_expect_success 'truths of git are read in all its spellings' '
	yaml "qe: {workspace: {exclude: VENDOR}}" && git -C project config core.ignoreCase yes &&
	start_ws -n ws project fold && test_path_is_missing "${ws:?}/vendor" && git -C project ews end fold &&
	git -C project config core.ignoreCase 0 && start_ws -n ws project exact && test_path_is_file "${ws:?}/vendor/untracked" &&
	git -C project ews end exact && git -C project config --unset core.ignoreCase
'

test_expect_success 'a user who has no directory gets none' '
	(unset SUPERQODE_HOME && HOME=$PWD/nobody && export HOME && git -C project ews status >out 2>err && test_expect_code 128 git -C project ews start 2>err) &&
	test_grep "^error: .*HOME is .*/nobody., which is not there" err && test_grep "^hint: make that directory" err && test_path_is_missing nobody &&
	(unset SUPERQODE_HOME && HOME=$PWD/nobody && export HOME && SUPERQODE_HOME=$PWD/nobodys git -C project ews start n >out) && test_path_is_missing nobody && SUPERQODE_HOME=$PWD/nobodys git -C project ews end n
'

test_expect_success 'a home that can not be made is said to be that, not one without sessions' '
	for home in /proc/none /dev/null/none; do test_expect_code 128 env SUPERQODE_HOME=$home git -C project ews start n 2>err && test_grep "cannot start .n.: cannot .* .$home" err && test_grep ! "no sessions" err || return 1; done
'

test_expect_success 'a rule for tests that has no kind that there is, or no pattern, is an error of start and config, wherever in the list it stands; a list in a list as well' '
	wrong() { yaml "$2" && for verb in config "config get qe.${3%%:*}" "start odd"; do test_expect_code 128 git -C project ews $verb 2>err && test_grep "^error: .*superqode.yaml:$1: qe.$3" err || return 1; done; } &&
	wrong 1 "qe: {artifacts: {tests: [\"** -> foo\", \"a -> unit\"]}}" "artifacts.tests: .foo. is none of unit, integration, e2e, api, contract, fuzz, load, regression, security" && wrong 1 "qe: {artifacts: {tests: [a, \"! -> unit\"]}}" "artifacts.tests: .! -> unit. has no pattern" &&
	wrong 1 "qe: {workspace: {exclude: [VENDOR, [c]]}}" "workspace.exclude: has a list in it" && test_grep ! "second time" err && wrong 1 "qe: {workspace: {exclude: [[c]]}}" "workspace.exclude: has a list in it" && test_expect_code 128 git -C project -c ews.artifacts.tests="x -> Unit" ews start odd 2>err && test_grep "command line: ews.artifacts.tests: .Unit. is none of" err &&
	yaml "qe: {artifacts: {tests: [\"** -> foo\"]}}" && git -C project -c ews.artifacts.tests="a -> e2e" ews config get qe.artifacts.tests >out && test_grep "^a -> e2e" out && yaml "qe: {artifacts: {tests: [\"checks/**->integration\", \"*.t  ->  load\", \"!b\"]}}" && start_ws -n ws project even && mkdir "${ws:?}/checks" && echo 1 >"${ws:?}/checks/a" && echo 1 >"${ws:?}/x.t" && git -C project ews artifact collect even --json >out && test_json out ".tests[0].type" test_integration && test_json out ".tests[1].type" test_load && git -C project ews end even && rm project/superqode.yaml
'

test_expect_success 'the name of a file that settings come from is quoted where a terminal would not show it as it is' '
	odd=$(printf "x\ny\033[31mz") && test_repo "$odd" && git -C "$odd" config ews.maxFile 5M &&
	git -C "$odd" ews config get --show-origin ews.maxFile >out && test_line_count = 1 out && test_grep "^\".*x.ny.033.31mz/.git/config\":[0-9]*	5M$" out &&
	git -C "$odd" ews config get -z --show-origin ews.maxFile >out && tr "\0" "\n" <out >lines && test_line_count = 2 lines
'

test_done
