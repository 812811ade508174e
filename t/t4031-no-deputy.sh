#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='no deputy: whatever a repository names, no verb of ours runs it (P9)

Programs that say that they ran are planted wherever git takes a program from: config, hooks, attributes, nested
repositories, submodules, remotes, .git files. First git itself trips over each, so that each is a real one; then all
verbs of git ews -h pass by them, in projects and in workspaces. A verb without a row here fails the test.'

. "$(dirname "$0")/test-lib.sh"

. "$EWS_SRC/t/lib-trips.sh"

# What makes git run them, in "plain"; what becomes of each command is of no matter.
stumble() (
	cd plain || exit
	git status
	git log -1 pgp
	git log -1 x509
	git log -1 ssh
	terminal "git log -1; git branch; git status; git diff; git config --list; git ews list"
	git add a.proc
	# git can't go on without its answers
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=filter.proc.process GIT_CONFIG_VALUE_0=
	export GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0
	git diff
	git diff --no-ext-diff
	git add a.txt a.info a.ext
	rm -f a.file a.txt
	git checkout a.file a.txt
	echo "url=https://localhost/" | git credential fill
	git fetch ssh://localhost/x
	git fetch git://localhost/x
	git fetch up
	git push up HEAD:refs/heads/x
	git fetch vcs
	git fetch ext
	terminal "echo q | git add -p src/main.c"
	git trip
	echo | git interpret-trailers --trailer a=1 --trailer b=1
	git archive --format=trip HEAD
	git help -m log
	git web--browse --browser=trip http://localhost/
	git difftool -t trip HEAD~2 HEAD~1
	git commit
	git -c gpg.format=ssh commit -S -m ssh
	git submodule update --force sub
	for inner in nested sub; do
		git -C $inner fetch ssh://localhost/x
		echo more >>${inner:?}/f
		echo more >>${inner:?}/run.sh
		git -C $inner diff
		git -C $inner add .
		rm -f ${inner:?}/f ${inner:?}/run.sh
		git -C $inner checkout .
	done
	git config commit.gpgSign false
	git commit -qam all
	git -c core.editor=true commit -q --amend
	git rebase -i HEAD~1
	git format-patch -1 --stdout clean >../mail
	git checkout -qf more
	git am ../mail
	git reset -q --hard HEAD~1
	git merge --no-edit clean
	git merge other
	git mergetool
	git merge --abort
	git -c gc.auto=10000 -c gc.autoPackLimit=1 gc --auto
	git push ../sink HEAD:refs/heads/y
	git -C ../lib.p push ../plain HEAD:refs/heads/y HEAD:refs/for/z
	git -C ../lib.p push -f ../plain HEAD:refs/heads/more
)

# Every verb that -h names, and where it has verbs of its own, these.
list_verbs() {
	verbs_of | while read -r verb; do
		verbs_of "$verb" | sed "s/^/$verb /" >subs || return 1
		test -s subs || echo "$verb" >subs
		cat subs
	done
}

verbs_of() {
	test_expect_code 129 git ews "$@" -h >usage && sed -n "s/^    \([a-z][a-z]*\) .*/\1/p" usage
}

# passed <statuses> <status> <what was run>: it ended with one of these, and none of the programs ran.
passed() {
	accepted=$1 got=$2
	shift 2
	if test -s ran; then
		echo >&2 "$p, $what: $* ran:" && sort -u ran >&2
		return 1
	fi
	case " $accepted " in
	*" $got "*) ;;
	*)
		echo >&2 "$p, $what: $*: status $got" && cat out err >&2
		return 1
		;;
	esac
}

# try <verb> [<argument>...]: with the project $p; it must do its work (0, or 1: no). Nothing where there is no such verb.
# try_in: from inside the workspace. try_tty <command line>: on a terminal, from the project. $what is for the message.
try() { try_with "0 1" "$@"; }
try_in() { try_in_with "0 1" "$@"; }
try_tty() { try_tty_with "0 1" "$@"; }

# These may fail, as long as they say so.
try_any() { try_with "0 1 128" "$@"; }
try_in_any() { try_in_with "0 1 128" "$@"; }

try_with() {
	statuses=$1 code=0
	shift
	grep -qx -e "$1" -e "$1 $2" verbs || return 0
	printf "%s\n%s\n" "$1" "$1 $2" >>tried
	timeout 60 git-ews -C "$p" "$@" >out 2>err </dev/null || code=$?
	passed "$statuses" "$code" "$@"
}

try_in_with() {
	statuses=$1 code=0
	shift
	(cd "$ws" && timeout 60 git ews "$@") >out 2>err </dev/null || code=$?
	passed "$statuses" "$code" "in the workspace: $*"
}

# git itself would page "git ews" as pager.ews says, before git-ews starts.
try_tty_with() {
	statuses=$1 code=0
	shift
	terminal "cd \"$p\" && $*" || code=$?
	: >out && mv terminal.out err && passed "$statuses" "$code" "on a terminal: $*"
}

# cut_off <n> <verb and arguments>...: it is killed before its n-th change of a file, when it makes so many.
cut_off() {
	at=$1
	shift
	"$EWS_BUILD/t/killat" -o log "$at" git-ews -C "$p" "$@" >out 2>err || :
}

# Edits for each of them in the workspace, attributes, and a nested repository that its index knows; all in its git directory, too, where that is its own.
plant_ws() {
	for f in a.ext a.proc a.info a.txt src/main.c; do echo more >>"${ws:?}/$f" || return 1; done &&
		rm -f "${ws:?}/a.file" && echo "*.[a-m]* filter=proc diff=trip" >>"${ws:?}/.gitattributes" && echo "*" >"${ws:?}/src/.gitignore" &&
		rm -rf "${ws:?}/late" && mkdir "${ws:?}/late" && cp -a "${p:?}/nested/.git" "${ws:?}/late/.git" && echo dirty >"${ws:?}/late/f" && head=$(git -C "${ws:?}/late" rev-parse HEAD) &&
		git -c core.hooksPath=/dev/null -c core.fsmonitor=false -C "$ws" update-index --add --cacheinfo "160000,$head,late" && {
		test ! -d "${ws:?}/.git" || test "$p" = in || { plant "${ws:?}/.git" && git config -f "${ws:?}/.git/config" core.hooksPath "${here:?}/hookspath"; }
	} && : >ran
}

# tour <method>: the verbs about states, in the project $p and a workspace. Ends with a session s.
tour() {
	what=$1
	try start s --method "$1" && take_ws out && plant_ws &&
		try status && try status --all --json && try list && try path s && try recover --view s &&
		try diff s && try diff s --json && try diff HEAD~1 HEAD && try diff s --name-status -C -- src a.txt && try diff s --word-diff --color=always &&
		try snapshot create s -m "one" && one=$(cat out) && try snapshot create s --ignored && try snapshot create -m "of the project" && whole=$(cat out) &&
		try snapshot list --all --json && try snapshot show "$one" --files --hashes && try snapshot show "$one" --coverage && try snapshot diff "$one" && try snapshot verify --all &&
		try_in status && try_in diff && try_in diff -R && try_in snapshot create &&
		try revert s --dry-run && try revert s --verify=full && try undo && try undo --redo s && try undo s && try snapshot restore "$one" s && plant_ws &&
		cut_off 9 revert s && try recover s --view && try status && try recover --all --resume && plant_ws &&
		rm -rf to && try snapshot restore "$one" --to "${here:?}/to" && try snapshot drop "$one" && try snapshot prune --keep 0 && try snapshot verify --all --trash &&
		try end s --dry-run && try end s && try undo && try end s --force && try start t --method "$1" --keep-ignored=yes --nested=record --run-filters && try clean --force t && try clean --auto &&
		try_any start u --base HEAD~1 && try_any end u --force && try snapshot restore --force "$whole" && try clean --now --all && try start s --method "$1" && take_ws out && plant_ws
}

# Something happens in the project until something else ends that.
stir() {
	rm -f stirred && { while test ! -e stirred; do echo >>"${p:?}/stir" && sleep 0.05; done >/dev/null 2>&1 3>&- 4>&- 5>&- & }
}

# Of an agent whose workspace names programs.
rounds() {
	keep=$ws && try round start --agent a --label made && take_ws out && plant_ws && try round diff "${ws##*/}" && try round peers --agent b && try round prompt --agent b --json && try_in round peers && try_in round prompt && try_in round scratch && try round scratch --agent a &&
		try round end --agent a && try round show "${ws##*/}" && try round list && try start c --from s && try_any end c --force && try round end --all && ws=$keep
}

# What is left: with a terminal, and verbs that have less to do with states.
tour_on() {
	try_tty "git-ews diff s" && try_tty "git-ews status" && try_tty "git-ews snapshot list" && try_tty "git-ews undo --list" && try_tty "git-ews config list" && try_tty "git-ews recover" &&
		try_in config list && try_in path && try status s --log && try diff s --exit-code && try snapshot create s --if-changed && try snapshot list --trash && try undo --list && try clean --dry-run --all --force &&
		cut_off 30 revert s && try recover --all --revert && try_any undo && plant_ws &&
		try config list --show-origin && try config get qe.workspace.method && stir && try watch --once --snapshot --debounce 0.01 && : >stirred && wait && rm -f "${p:?}/stir" && try config init && try config accept --dry-run && rm -f "${p:?}/superqode.yaml" && try version &&
		try run s -- true && try run --end -- sh -c "echo x >>a.txt; git status; git log -1; git diff" && SHELL=/bin/true && export SHELL && try shell s &&
		try report finding add --severity info --title t && try report finding list && try report s --output - && try report s && try artifact collect s &&
		try artifact add --type trace --session s --from-workspace a.txt && made=$(cat out) && try artifact list --json && try artifact show "$made" && try artifact export "$made" --to "${here:?}/exported" &&
		try suggestions list --json && try_any suggestions show s && try_any suggestions apply --check s && try_any run --new=v --keep -- sh -c "echo v >v.txt" && try_any end --pending v &&
		try pending list && try_any pending show v && try_any pending apply --check v && try_any pending apply v && try_any undo && try_any pending drop v && try artifact remove "$made" && try_any undo && try artifact prune --keep 0 && try_any apply s --check && try_any apply s && try_any apply s --3way -- a.txt && try_any apply s --force && try_any undo &&
		try lock acquire --session s && try lock acquire --deep --wait 1 -- git-ews lock status && try lock status && try lock release s && try epoch && try epoch bump && try epoch check s && try_in epoch check &&
		if test "$p$what" = pworktree; then rounds; fi && try doctor && try doctor --fix --json && try_in doctor && try trust status && try_in trust status --json &&
		rm -rf arch && try archive create --to "${here:?}/arch" && one=$(cat out) && try archive create s --keep "*" && two=$(cat out) && try archive create --update "$two" --no-ignore && try archive list --all && try archive show --files "$one" && try_any archive cat "$one:a.txt" && try archive verify "$one" "$two" &&
		try archive diff "$one" "$two" && try archive diff --json --changes diff "$two" "$one" && try_in archive diff "$one" . && try archive diff --stat "$two" "${here:?}/$p" && try archive extract --to "${here:?}/arch/x" "$one" && try archive extract --force --to "${here:?}/arch/x" "$two" && try archive remove "$two" && try_any undo && try archive prune --keep 0 &&
		try guard check -- git status && try guard check --shell "git log -1; git commit" && try guard list && try guard status && try guard install && try guard hook pre-commit && try_in guard hook reference-transaction && try guard uninstall
}

test_expect_success 'setup' '
	mkdir trips && make_config && world p && (GIT_DEFAULT_HASH=sha256 && export GIT_DEFAULT_HASH && world q) &&
	for copy in plain evil in partial sink; do cp -a p $copy || return 1; done && make_hooks hookspath &&
	list_verbs >verbs && test_grep -x start verbs && test_grep -x "snapshot create" verbs && : >tried && : >ran
'

test_expect_success 'git itself trips over each of them' '
	{ PATH=$trips:$PATH stumble </dev/null >plain.out 2>&1 || :; } && sort -u ran >tripped &&
	{ for name in $hooks; do echo hooks/$name; done; ls trips | sed "s|^|trips/|"; } | sort >planted && comm -23 planted tripped >left &&
	# git looks for git-ews before it looks for an alias, and takes the last one from no repository
	printf "%s\n" hooks/fsmonitor-watchman hooks/p4-changelist hooks/p4-post-changelist hooks/p4-pre-submit hooks/p4-prepare-changelist hooks/sendemail-validate \
		trips/alias.ews trips/uploadpack.packObjectsHook >want && { test_cmp want left || { cat plain.out >&2; false; }; } &&
	: >ran && git -C plain config core.hooksPath "${here:?}/hookspath" && git -c filter.proc.process= -C plain update-index --refresh >out && test_grep hookspath/post-index-change ran && : >ran
'

PATH=$trips:$PATH

test_expect_success 'P9: a worktree of a project that names programs' '
	p=p && tour worktree && tour_on && try end s
'

test_expect_success 'P9: a copy in which programs are named' '
	p=p && tour snapshot && try end s
'

test_expect_success 'P9: a project that is its own workspace, with its hooks elsewhere' '
	git -C in config core.hooksPath "${here:?}/hookspath" && p=in && tour in-place && try end s
'

test_expect_success 'P9: a worktree of a SHA-256 repository' '
	p=q && tour worktree
'

test_expect_success 'P9: a workspace whose .git leads into another repository, or is one' '
	p=p && "$EWS_SRC/t/lister" evil >evil.before && for method in worktree snapshot; do
		for how in "echo \"gitdir: ${here:?}/evil/.git\" >\"\${ws:?}/.git\"" "cp -a evil/.git \"\${ws:?}/.git\""; do
			what="$method, $how" && try start m --method $method && take_ws out && plant_ws && rm -rf "${ws:?}/.git" && eval "$how" &&
				try_any status --json m && try_any diff m && try_any snapshot create m && try_any recover --view m && try_any end m --dry-run &&
				for verb in status diff "snapshot create"; do
					try_in_any $verb || return 1
				done && try_any revert m && try_any end m --force && { test ! -e "$ws" || { rm -rf "${ws:?}/.git" && try_any revert m && try end m --force; }; } &&
				"$EWS_SRC/t/lister" evil >evil.after && test_cmp evil.before evil.after || return 1
		done
	done
'

test_expect_success 'P9: a partial clone whose remote is a program' '
	p=partial && tree=$(printf "100644 blob %s\tgone\n" $(echo gone | git hash-object --stdin) | git -C $p mktree --missing) && gone=$(git -C $p commit-tree $tree -m gone </dev/null) &&
	for key in "core.repositoryFormatVersion 1" "extensions.partialClone ext" "remote.ext.promisor true" "remote.vcs.promisor true"; do git -C $p config $key || return 1; done &&
	rm -f ran && test_must_fail git -C $p cat-file -p $gone:gone 2>err && test_grep trips/remote.ext ran && test_grep trips/git-remote-trip ran && : >ran &&
	for remote in ext vcs; do
		what="promised by $remote" && git -C $p config extensions.partialClone $remote && try start g && take_ws out && plant_ws && try diff g && try_any diff HEAD $gone && try_any diff $gone HEAD --stat &&
			try_any start h --base $gone && try_any start h --base $gone --method snapshot && try_any snapshot verify --all && try snapshot create g && try revert g &&
			git -c core.hooksPath=/dev/null -C $p update-ref --no-deref refs/tags/gone $gone && try_any snapshot verify --all && try_any start i --method snapshot && try_any start j --method snapshot --copy-objects &&
			try_any end --force g h i j && try end g --force && try_any clean --now --all && git -c core.hooksPath=/dev/null -C $p update-ref -d refs/tags/gone || return 1
	done
'

test_expect_success 'P9: a plain directory that gets a repository' '
	mkdir d && echo 1 >d/f && p=d && what=plain && try start s && take_ws out && cp -a evil/.git "${ws:?}/.git" && cp -a evil/nested "${ws:?}/nested" && echo "* filter=trip diff=trip" >"${ws:?}/.gitattributes" && echo 2 >"${ws:?}/f" &&
	try_any status && try_any diff s && try_any snapshot create s && try_in_any diff && try_in_any status && try_any revert s && try_any end s --force && cp -a evil/.git d/.git && try_any status && try_any clean --now
'

test_expect_success 'every verb was tried' '
	sort -u tried >have && sort verbs >want && comm -13 have want >left && test_must_be_empty left
'

test_done
