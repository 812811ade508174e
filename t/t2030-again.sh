#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='what was looked at before is looked at again, quickly, and nothing is missed (P3, P8)'

. "$(dirname "$0")/test-lib.sh"

# seen <session>: look until all that was found is known, so that the next look asks for stat data alone.
seen() {
	sleep 0.03 && git -C p ews snapshot create "$1" >/dev/null && git -C p ews diff "$1" >/dev/null && git -C p ews snapshot create "$1" >newest
}

# finds <session> <line>: the change that --name-status or the list of what is in no patch says.
finds() {
	git -C p ews diff --json "$1" >found && test_grep "$2" found
}

test_expect_success 'setup: a project and a workspace that was looked at' '
	test_repo p && (cd p && mkdir -p sub && echo one >sub/f && printf "*.o\n" >.gitignore && git add . && git commit -qm more) && start_ws p s && echo o >"${ws:?}/x.o" && seen s
'

test_expect_success 'P8: each change is found, also where size, or the time of file and directory, were put back' '
	cp -p "${ws:?}/sub/f" keep && printf "two\n" >"${ws:?}/sub/f" && touch -r keep "${ws:?}/sub/f" && finds s "sub/f" && cp -p keep "${ws:?}/sub/f" && seen s &&
	touch -r "${ws:?}/sub" time && echo n >"${ws:?}/sub/n" && touch -r time "${ws:?}/sub" && finds s "sub/n" && rm "${ws:?}/sub/n" && seen s &&
	chmod 600 "${ws:?}/sub/f" && finds s "sub/f" && chmod 644 "${ws:?}/sub/f" && seen s && chmod 700 "${ws:?}/sub" && finds s "sub" && chmod 755 "${ws:?}/sub" && seen s &&
	rm "${ws:?}/sub/f" && finds s "sub/f" && cp -p keep "${ws:?}/sub/f" && seen s && ln -sfn elsewhere "${ws:?}/link" && finds s "link" && git -C p ews revert s
'

test_expect_success 'P8: what is ignored is told anew where its rules, or what git tracks, changed' '
	echo o >"${ws:?}/x.o" && seen s && echo "!x.o" >>"${ws:?}/.gitignore" && finds s "x.o" && git -C "$ws" checkout -q .gitignore && seen s && git -C p ews diff --exit-code s >out && test_must_be_empty out &&
	git -C "$ws" add -f x.o && finds s "x.o" && git -C "$ws" rm -q --cached x.o && seen s && echo "sub/u" >>p/.git/info/exclude && echo u >"${ws:?}/sub/u" && git -C p ews diff --exit-code s &&
	: >p/.git/info/exclude && finds s "sub/u" && rm "${ws:?}/sub/u"
'

test_expect_success 'P8: what is left out is recorded as it is now, where it alone changed' '
	large() { git -C p show "refs/ews/snapshots/$1^2:manifest" | grep -a "^skip too-large .* big$"; } &&
	truncate -s 2G "${ws:?}/big" && sleep 0.03 && first=$(git -C p ews snapshot create --partial s) && first=$(git -C p ews snapshot create --partial s) && large "$first" >before &&
	truncate -s 3G "${ws:?}/big" && second=$(git -C p ews snapshot create --partial s) && large "$second" >after && test_grep 2147483648 before && test_grep 3221225472 after && rm "${ws:?}/big"
'

# become <name> <command>...: in the workspace it is seen as it is, and then something else.
become() {
	name=$1 && shift && seen kind && rm -r "${kind:?}/$name" && (cd "$kind" && "$@")
}

bind_socket() {
	perl -MSocket -e "socket S, PF_UNIX, SOCK_STREAM, 0 and bind S, sockaddr_un(shift) or die" "$1"
}

test_expect_success 'P3, P8: what was left out is so no more where something of another kind stands there, or nothing' '
	git -C p -c ews.workspace.exclude=ex/ ews start kind >out && take_ws out kind && printf "/*\n!/*/\n!.gitignore\n!sock\n!ex\n" >"${kind:?}/.gitignore" && : >"${kind:?}/out" &&
	become out mkdir out && seen kind && echo precious >"${kind:?}/out/result" && finds kind "out/result" && become out touch out && git -C p ews diff kind >found && test_grep ! "out/" found && become out mkdir out && finds kind "\"out\"" &&
	(cd "${kind:?}" && bind_socket sock) && finds kind "\"sock\"" && become sock touch sock && git -C p ews diff --name-status kind >found 2>err && test_grep "^A	sock$" found && test_grep ! socket err &&
	rm "${kind:?}/sock" && (cd "${kind:?}" && bind_socket sock) && become sock true && git -C p ews diff kind >found 2>err && test_grep ! sock err &&
	mkdir "${kind:?}/ex" && become ex touch ex && git -C p ews revert --verify=full kind >out && test_grep "Status: Verified" out && test_path_is_missing "${kind:?}/ex" && git -C p ews end kind
'

test_expect_success 'P2: a snapshot of what did not change is whole; one of other times or another HEAD is another' '
	manifest() { git -C p rev-parse "refs/ews/snapshots/$1^2^{tree}"; } &&
	seen s && a=$(cat newest) && b=$(git -C p ews snapshot create s) && test "$(git -C p rev-parse "refs/ews/snapshots/$a^2")" = "$(git -C p rev-parse "refs/ews/snapshots/$b^2")" &&
	touch -d "2001-02-03 04:05:06" "${ws:?}/sub/f" && c=$(git -C p ews snapshot create s) && test "$(manifest "$c")" != "$(manifest "$b")" && touch "${ws:?}/sub/f" && git -C p ews snapshot restore "$c" s &&
	test "$(stat -c %y "${ws:?}/sub/f" | cut -c 1-19)" = "2001-02-03 04:05:06" && seen s && d=$(cat newest) && on=$(git -C "$ws" commit-tree -p HEAD -m on "HEAD^{tree}") && git -C "$ws" update-ref --no-deref HEAD "$on" && e=$(git -C p ews snapshot create s) &&
	test "$(manifest "$d")" != "$(manifest "$e")" && seen s && (cd "$ws" && echo words >"$(git rev-parse --git-path MERGE_MSG)") && f=$(git -C p ews snapshot create s) &&
	git -C p ls-tree -r "$(manifest "$f")" >tree && test_grep state/MERGE_MSG tree && git -C p ews snapshot drop "$a" "$b" && git -C p ews clean --now --force && git -C p gc -q --prune=now && git -C p ews snapshot verify --all >out && test_grep "$e: ok" out
'

test_expect_success 'P4: a branch that moved below the same index leaves trees to that index alone: these are kept then' '
	git -C "${ws:?}" checkout -q -b moved && git -C "$ws" commit -q --allow-empty -m same && echo two >"${ws:?}/sub/f" && git -C "$ws" commit -q -a -m two && echo three >"${ws:?}/sub/f" && git -C "$ws" status >out && tree=$(git -C "$ws" rev-parse "HEAD^{tree}") && seen s &&
	git -C p ls-tree "refs/ews/snapshots/$(cat newest)^2" trees >out && test_must_be_empty out && git -C p update-ref refs/heads/moved "$(git -C p rev-parse moved^)" && snap=$(git -C p ews snapshot create s) &&
	git -C p ls-tree --name-only "refs/ews/snapshots/$snap^2" trees/ >out && echo "trees/$tree" | test_cmp - out
'

# staged_in <snapshot>: what its manifest commit keeps for the index alone
staged_in() {
	git -C back ls-tree -r "refs/ews/snapshots/$1^2" staged >out
}

test_expect_success 'P4: what git has staged, and the state that a revert left had or had not, is kept with what comes after' '
	git init -q back && (cd back && echo one >f && echo other >g && git add . && git commit -qm one) && start_ws back b && sleep 0.03 && git -C back ews diff b && echo once >"${ws:?}/f" && git -C "$ws" add f && blob=$(git -C "$ws" rev-parse :f) && sleep 0.03 && had=$(git -C back ews snapshot create b) && staged_in $had && test_must_be_empty out && echo twice >"${ws:?}/f" && sleep 0.03 &&
	git -C back ews revert --to $had b && test "$(cat "${ws:?}/f")" = once && sleep 0.03 && echo thrice >"${ws:?}/f" && sleep 0.03 && lacked=$(git -C back ews snapshot create b) && staged_in $lacked && test_grep "$blob.staged/0/f" out &&
	echo once >"${ws:?}/f" && sleep 0.03 && git -C back ews revert --to $lacked b && sleep 0.03 && echo more >>"${ws:?}/g" && sleep 0.03 && snap=$(git -C back ews snapshot create b) && staged_in $snap && test_grep "$blob.staged/0/f" out &&
	blob=$(echo late | git hash-object --stdin) && git -C "$ws" update-index --cacheinfo "100644,$blob,f" && sleep 0.03 && lacked=$(git -C back ews snapshot create b) && staged_in $lacked && test_grep ! "$blob" out && echo late >"${ws:?}/f" && sleep 0.03 &&
	git -C back ews revert --to $lacked b && sleep 0.03 && echo more >>"${ws:?}/g" && sleep 0.03 && snap=$(git -C back ews snapshot create b) && staged_in $snap && test_grep "$blob.staged/0/f" out && git -C back ews end --force b
'

# seen_anew: what a snapshot of session b has that trusts what was found is what one has that looks anew.
seen_anew() {
	sleep 0.03 && with=$(git -C back ews snapshot create b) && find "${HOME:?}/.superqode/working/back/sessions/b" -name "cache*" -type f -exec rm {} + && without=$(git -C back ews snapshot create b) &&
	git -C back ls-tree -r "refs/ews/snapshots/$with^2" >got && git -C back ls-tree -r "refs/ews/snapshots/$without^2" >want && test_cmp want got
}

test_expect_success 'P2: of times, owners and hard links that a revert left as they were nothing is taken for the state that it went back to' '
	(cd back && for d in $(seq 30); do mkdir d$d && for f in $(seq 60); do echo "$d $f" >"d${d:?}/f$f"; done; done && ln g h && git add . && git commit -qm many) && start_ws back b && sleep 0.03 && git -C back ews diff b &&
	for d in $(seq 30); do echo x >>"${ws:?}/d${d:?}/f1" && : >"${ws:?}/d${d:?}/new" && rm "${ws:?}/d${d:?}/new" || return 1; done && sleep 0.03 && git -C back ews revert b && seen_anew &&
	touch -d "2001-02-03 04:05:06" "${ws:?}/d1/f2" && echo n >"${ws:?}/new" && sleep 0.03 && git -C back ews revert b -- new && seen_anew &&
	cp -p "${ws:?}/h" apart && rm "${ws:?}/h" && cp -p apart "${ws:?}/h" && echo n >"${ws:?}/new" && sleep 0.03 && git -C back ews revert b -- new && seen_anew && echo more >>"${ws:?}/f" && git -C back ews revert --to "$with" b && test "$(stat -c %h "${ws:?}/g")" = 1 &&
	git -C back ews end --force b
'

test_expect_success 'P3: what is kept of the base is a cache: gone, cut or of another base, it is read from the store' '
	dir=${HOME:?}/.superqode/working/p/sessions/s && seen s && git -C p ews diff s >want && rm "${dir:?}/base" && git -C p ews diff s >got && test_cmp want got && test_path_is_file "${dir:?}/base" &&
	cp "${dir:?}/base" keep && head -c 5000 keep >"${dir:?}/base" && git -C p ews diff s >got && test_cmp want got && echo other >>p/sub/f && start_ws p other && echo more >>"${ws:?}/sub/f" && git -C p ews diff other >want.other &&
	cp -p "${dir:?}/base" "${dir:?}/../other/base" && git -C p ews diff other >got && test_cmp want.other got && cp -p keep "${dir:?}/../other/base" && git -C p ews revert other && test_cmp p/sub/f "${ws:?}/sub/f" && git -C p ews end --force s other
'

# told_whole: what a snapshot has that trusts the stat cache of session m is what one has that knows nothing; the cache stays as it was.
told_whole() {
	cp -p "${dir:?}/cache" kept && with=$(git -C p ews snapshot create m) && rm "${dir:?}/cache" && without=$(git -C p ews snapshot create m) && cp -p kept "${dir:?}/cache" &&
	git -C p ls-tree -r "refs/ews/snapshots/$with" >got && git -C p ls-tree -r "refs/ews/snapshots/$without" >want && test_cmp want got
}

test_expect_success 'P3: of many files what few changed since is kept beside the cache: cut, late or of another cache, it is nothing' '
	mkdir p/many && for i in $(seq 200); do echo "$i" >"p/many/$i" || return 1; done && start_ws p m && dir=${HOME:?}/.superqode/working/p/sessions/m && seen m && rm -f "${dir:?}/cache" "${dir:?}/cache.since" && seen m && cp -p "${dir:?}/cache" first &&
	echo 2 >>"${ws:?}/many/1" && sleep 0.03 && git -C p ews snapshot create m >out && test_cmp first "${dir:?}/cache" && test_path_is_file "${dir:?}/cache.since" && cp -p "${dir:?}/cache.since" early &&
	echo 2 >>"${ws:?}/many/2" && sleep 0.03 && git -C p ews snapshot create m >out && cp -p "${dir:?}/cache.since" late && test_must_fail cmp -s early late && told_whole &&
	for since in early late; do
		cp -p first "${dir:?}/cache" && cp -p "$since" "${dir:?}/cache.since" && echo "$since" >>"${ws:?}/many/3" && told_whole && cp -p first "${dir:?}/cache" && head -c 500 "$since" >"${dir:?}/cache.since" && told_whole || return 1
	done && rm -f "${dir:?}/cache" "${dir:?}/cache.since" && mv "${ws:?}/many/60" "${ws:?}/many/61" && seen m && test_must_fail cmp -s first "${dir:?}/cache" && cp -p late "${dir:?}/cache.since" && echo 3 >>"${ws:?}/many/4" && told_whole &&
	for i in $(seq 59); do echo more >>"${ws:?}/many/$i" || return 1; done && sleep 0.03 && git -C p ews snapshot create m >out && test_path_is_missing "${dir:?}/cache.since" && told_whole && git -C p ews end --force m && rm -r p/many
'

# in_layers <command>...: run it in p, in an overlay of file systems that is gone afterwards. Files that are written to are copied there, with one name each.
in_layers() {
	mkdir -p layers && test_in_namespace sh -c 'mount -t tmpfs tmpfs layers && cd layers && mkdir -p low/p up work all && cp -a ../linked/. low/p && mount -t overlay -o lowerdir=low,upperdir=up,workdir=work overlay all && cd all/p && "$@"' - "$@"
}

mkdir linked && in_layers true 2>/dev/null && test_set_prereq OVERLAY

test_expect_success OVERLAY 'P2: where one name of a file parts with the others, which stand as they stood, all are recorded as they are' '
	test_repo linked && mkdir linked/d && for i in $(seq 3000); do echo "$i" >"linked/d/$i" || return 1; done && echo x >linked/a && ln linked/a linked/z && cat >part.sh <<-\EOF &&
	set -e
	sleep 0.03; git ews snapshot create; git ews snapshot create; echo more >>a; sleep 0.03
	snap=$(git ews snapshot create)
	git ews snapshot verify "$snap"
	test -z "$(git ews snapshot create --if-changed)"
	EOF
	in_layers sh "$PWD/part.sh" >out && test_grep ": ok" out
'

test_expect_success 'P3: so it is of what was seen of the project, whose changes are told all the same' '
	mkdir p/many && for i in $(seq 120); do echo "$i" >"p/many/$i" || return 1; done && git -C p add many && git -C p commit -qm many && start_ws p m && git -C p ews status m >out && test_grep ! stale out &&
	rm -f "${HOME:?}/.superqode/working/p"/seen-* && echo more >>p/many/6 && sleep 0.03 && git -C p ews status --json m >out && test_grep many/6 out && seen=$(find "${HOME:?}/.superqode/working/p" -maxdepth 1 -name "seen-*" ! -name "*.since") && cp -p "$seen" first &&
	echo more >>p/many/7 && sleep 0.03 && git -C p ews status --json m >out && test_grep many/7 out && test_cmp first "$seen" && test_path_is_file "$seen.since" &&
	echo more >>p/many/8 && git -C p ews status --json m >with && test_grep many/7 with && test_grep many/8 with && rm "$seen" "$seen.since" && git -C p ews status --json m >without && grep -o "many/[0-9]*" with >got && grep -o "many/[0-9]*" without >want && test_cmp want got &&
	git -C p ews end --force m && git -C p reset -q --hard HEAD~1
'

# first <text>: the number of the first of the calls that has the text.
first() {
	grep -n -F -m 1 -e "$1" calls | cut -d : -f 1
}

test_expect_success STRACE 'P4: who changes a workspace, or keeps it, looks at its files once he has its lock, and not before' '
	start_ws p m && sleep 0.03 && git -C p ews diff m >out && for verb in revert "snapshot create"; do
		(cd p && test_strace ../calls -y -e trace=newfstatat,fcntl -e inject=fcntl:delay_enter=30000 "$EWS_BIN/git-ews" $verb m) >out && grep -q F_OFD_SETLK calls && grep -q -F "<${ws:?}/src>, \"numbers\"" calls || return 1
		test "$(first F_OFD_SETLK)" -lt "$(first "<${ws:?}/src>, \"numbers\"")" || return 1
	done && git -C p ews end --force m
'

test_expect_success STRACE 'P4, P8: rules that change while a verb is at work are seen, at once or by the next' '
	test_grep -x "[*].o" p/.gitignore && start_ws p m && mkdir "${ws:?}/d" && echo o >"${ws:?}/d/x.o" && sleep 0.03 && git -C p ews snapshot create m >out && git -C p ews snapshot create m >out &&
	base=$(git -C p rev-parse refs/ews/sessions/m) && object=$PWD/p/.git/objects/$(echo "$base" | sed "s,^..,&/,") && test_path_is_file "$object" && touch "${ws:?}/.gitignore" && {
		(cd p && test_strace ../calls -P "$object" -e trace=openat -e inject=openat:delay_enter=1500000 "$EWS_BIN/git-ews" snapshot create m) >out 2>err &
		pid=$! && test_wait_for 30 test -s "${HOME:?}/.superqode/working/p/locks/m" && sleep 0.4 && printf "*.p\n" >"${ws:?}/.gitignore" && wait $pid
	} && sleep 0.03 && git -C p ews diff --name-only m >out && test_grep -x d/x.o out && git -C p ews snapshot create m >id && git -C p ls-tree -r --name-only "refs/ews/snapshots/$(cat id)" >out && test_grep -x d/x.o out && git -C p ews end --force m
'

test_done
