#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='epoch: a number that goes up when the project changes, and never down; what is stale is said (P8)'

. "$(dirname "$0")/test-lib.sh"

file=$HOME/.superqode/working/p/epoch

# went_up <n>: by so much since it was asked last.
went_up() {
	was=$now && now=$(ews epoch) && test "$now" -eq $((was + $1)) || {
		echo >&2 "from $was to $now, not by $1"
		return 1
	}
}

test_expect_success 'it goes up with files, HEAD and index, and with nothing else' '
	test_repo p && echo build/ >>p/.git/info/exclude && now=$(ews epoch) && test "$now" = 0 && went_up 0 && ews epoch --json >json && test_json json .epoch 0 &&
	echo more >>p/src/numbers && went_up 1 && went_up 0 && chmod +x p/src/numbers && went_up 1 && echo new >p/new && went_up 1 && rm p/link && went_up 1 && mkdir p/build && echo made >p/build/out && went_up 0 && touch p/src/main.c && git -C p status >out && went_up 0 &&
	cp -p p/new keep && mv keep p/new && went_up 0 && git -C p add new && went_up 1 && echo staged >>p/src/main.c && went_up 1 && git -C p add src/main.c && went_up 1 && git -C p commit -qm new && went_up 1 && git -C p checkout -q -b side && went_up 1 && git -C p branch other && git -C p gc -q && went_up 0 && git -C p stash -q && went_up 1 && git -C p/src ews epoch >out && echo $now | test_cmp - out && git -C p checkout -q main && went_up 1
'

test_expect_success 'P8: it goes up, and a twin has it, where a file took the place of what no twin can have' '
	perl -MSocket -e "socket S, PF_UNIX, SOCK_STREAM, 0 and bind S, sockaddr_un(q(p/taken)) or die" && sleep 0.03 && start_ws p before && now=$(ews epoch) && rm p/taken && echo precious >p/taken && went_up 1 && start_ws p after && test_cmp p/taken "${ws:?}/taken" && ews end before after && rm p/taken && went_up 1
'

test_expect_success 'bump: by one, whatever there is to see; 100 at once add 100' '
	ews epoch bump >out && echo $((now + 1)) | test_cmp - out && went_up 1 && for i in 0 1 2 3 4 5 6 7 8 9; do
		for k in 0 1 2 3 4 5 6 7 8 9; do
			git-ews -C p epoch bump >bump$i$k 2>&1 3>&- 4>&- 5>&- &
		done
	done && wait && went_up 100 && cat bump?? | sort -n | uniq >got && test_line_count = 100 got
'

test_expect_success 'P8: check, status, diff and apply say that a result is stale, and why' '
	start_ws p s && echo work >>"${ws:?}/src/main.c" && ews epoch check s >out && echo current | test_cmp - out && ews diff s >patch 2>err && test_must_be_empty err && ews status --json s >json && test_json json ".sessions[0].stale" false && test_json json ".sessions[0].epoch" $now && ews apply --check s >out 2>err && test_grep ! stale err &&
	echo nobodys >p/nobodys && test_expect_code 1 git -C p ews epoch check s >out && test_grep "^stale: the project changed: its epoch went from $now to $((now + 1))$" out && ews status >out && test_grep "^    stale: the project changed: its epoch" out && ews status --format "%(stale) %(epoch)" >out && echo "true $now" | test_cmp - out &&
	ews diff s >again 2>err && test_cmp patch again && test_grep "^note: stale: the project changed: its epoch" err && ews diff --json s >json && test_json json .stale true && ews diff -q s >again 2>err && test_must_be_empty err && ews apply --check s >out 2>err && test_grep "^note: stale: session .s.: the project changed" err && ews apply --check --json s >json && test_json json .stale true &&
	echo mine >>p/src/numbers && test_expect_code 1 git -C p ews epoch check s >out && test_grep "^stale: 1 file of the base changed in the project: src/numbers$" out && git -C p commit -qam mine && test_expect_code 1 git -C p ews epoch check --json s >json && test_json json .stale true && test_json json .session_epoch $now && test_json json .stale_files[0] src/numbers && ews diff s >again 2>err && test_grep "note: stale: HEAD moved" err &&
	start_ws p t && ews run t -- sh -c "git ews epoch && git ews epoch check && git ews lock status && ! git ews epoch bump && ! git ews lock release && ! git ews lock acquire --deep -- true" >out && test_grep "^current$" out && test_grep "session .t." out && ews epoch bump && test_expect_code 1 git -C p ews epoch check t && test_expect_code 129 git -C p ews epoch chek && test_expect_code 128 git -C p ews epoch check nobody && ews end s t
'

test_expect_success 'P8: a session that is the first to see a change is of after it, however it begins' '
	for how in "" "--base HEAD" "--method snapshot"; do
		now=$(ews epoch) && echo more >>p/unseen && git -C p ews start $how u && ews epoch check u >out && echo current | test_cmp - out && went_up 1 && went_up 0 && ews end u || return 1
	done && rm p/unseen && went_up 1
'

test_expect_success !VALGRIND 'P4: a kill anywhere, a full disk: the number is the old one or the next' '
	now=$(ews epoch) && for at in 1 2 3 4 5 6 7 8 9 10 11 12; do
		test_expect_code 137 killat -o log $at git-ews -C p epoch bump >out 2>&1 || break
		got=$(ews epoch) && { test "$got" = $now || test "$got" = $((now + 1)); } && now=$got || return 1
	done && test $at -gt 3 && went_up 1 && cp "${file:?}" before && { (ulimit -f 0 && trap "" XFSZ && exec git-ews -C p epoch bump) >out 2>err || test $? = 128; } && test_cmp before "${file:?}" && ews epoch bump && went_up 1 && ews recover --all && ls -A "$HOME/.superqode/working/p" >out && test_grep ! "^\.tmp" out
'

test_expect_success 'a file that is cut, empty, gone or garbage makes it no lower than a session knows it' '
	now=$(ews epoch) && start_ws p c && for how in "head -c 20 before" "head -c 3 before" "sed s/^[0-9]*/1/ before" ":" "head -c 99 /dev/urandom"; do
		cp "${file:?}" before && $how >"${file:?}" && got=$(ews epoch) && test "$got" -gt "$now" && test_expect_code 1 git -C p ews epoch check c || return 1
	done && rm "${file:?}" && got=$(ews epoch) && test "$got" -gt "$now" && ews end c
'

test_expect_success 'each work tree of a repository has its own, so has a plain directory; a bare one goes by its HEAD' '
	now=$(ews epoch) && git -C p worktree add -q ../tree && other=$(git -C tree ews epoch) && echo x >tree/x && went_up 0 && test "$(git -C tree ews epoch)" = $((other + 1)) && went_up 0 &&
	mkdir plain && echo 1 >plain/f && (cd plain && git ews start d >../path && git ews epoch check d && echo 2 >f && test_expect_code 1 git ews epoch check d && git ews end d) &&
	git clone -q --bare p bare.git && was=$(git -C bare.git ews epoch) && test "$(git -C bare.git ews epoch)" = "$was" && git -C bare.git update-ref HEAD HEAD~1 && test "$(git -C bare.git ews epoch)" = $((was + 1))
'

test_expect_success 'P8: a work tree that git moves, once and again, is the same project: what began in it is not stale for that' '
	test_repo roam && git -C roam worktree add -q -b w ../roam-w && start_ws roam-w s && now=$(git -C roam-w ews epoch) && was=roam-w && for to in roam-m roam-n; do
		git -C roam worktree move ../$was ../$to && git -C roam ews epoch check s >out && echo current | test_cmp - out && git -C $to ews epoch >out && echo $now | test_cmp - out && git -C roam worktree add -q -b new-$to ../$was && echo draft >"${was:?}/draft" && git -C $was ews epoch && git -C roam ews epoch check s >out && echo current | test_cmp - out && was=$to || return 1
	done && echo draft >roam-n/draft && test_expect_code 1 git -C roam ews epoch check s >out && test_grep "its epoch went from $now to $((now + 1))$" out && git -C roam ews end s
'

test_expect_success 'P8: a repository that was moved keeps the number of each of its work trees, be it known by a linked one' '
	for by in known-w known known.git; do
		test_repo known && { test $by != known.git || git -C known init -q --separate-git-dir "$PWD/known.git"; } && git -C known worktree add -q -b w ../known-w && by=${by%.git} && start_ws $by first && start_ws known-w w && git -C known ews epoch bump && git -C known ews epoch bump && start_ws known m && now=$(git -C known ews epoch) && linked=$(git -C known-w ews epoch) && test "$now" -gt "$linked" &&
		mv known known-m && { test ! -e known.git || { mv known.git known-m.git && echo "gitdir: $PWD/known-m.git" >known-m/.git; }; } && git -C known-m worktree repair ../known-w && git -C known-m ews epoch >out && echo "$now" | test_cmp - out && git -C known-w ews epoch >out && echo "$linked" | test_cmp - out &&
		git -C known-m ews epoch check m >out && echo current | test_cmp - out && git -C known-w ews epoch check w && echo draft >known-m/draft && git -C known-m ews epoch >out && echo $((now + 1)) | test_cmp - out && test_expect_code 1 git -C known-m ews epoch check m && git -C known-w ews epoch check w || return 1
		git -C known-m ews end first m w && rm -rf known-m known-m.git known-w "$HOME/.superqode/working/known" || return 1
	done
'

test_expect_success 'P8: a session is held against the work tree that it was started in, wherever that is asked' '
	test_repo trees && git -C trees worktree add -q -b w ../trees-w && start_ws -n mw trees m && start_ws -n ww trees-w w && echo work >>"${ww:?}/run.sh" && for at in trees trees-w; do
		for id in m w; do
			git -C $at ews epoch check $id >out && echo current | test_cmp - out && git -C $at ews status --json $id >json && test_json json ".sessions[0].stale" false && test_json json ".sessions[0].project_changed" false || { echo >&2 "$id in $at"; return 1; }
		done && git -C $at ews status >out && test_grep ! "stale:\|project:\|problem:" out || return 1
	done && echo mine >>trees/run.sh && for at in trees trees-w; do
		git -C $at ews epoch check w >out && echo current | test_cmp - out && git -C $at ews diff w >out 2>err && test_must_be_empty err && git -C $at ews apply --check --force w >out 2>err && test_grep ! stale err &&
		test_expect_code 1 git -C $at ews epoch check m >out && test_grep "^stale: 1 file of the base changed in the project: run.sh$" out && git -C $at ews diff m 2>err && test_grep "^note: stale: 1 file" err && git -C $at ews status --format "%(session_id) %(stale)" >out && sort out >got && printf "%s\n" "m true" "w false" | test_cmp - got || { echo >&2 "in $at"; return 1; }
	done && git -C trees-w checkout -q --detach && for at in trees trees-w; do
		git -C $at ews status --json m >json && test_json json ".sessions[0].project_changed" false && git -C $at ews status --json w >json && test_json json ".sessions[0].drift[0]" "HEAD changed" && git -C $at ews report --json m >json && test_json json ".scope.project_changed" false && git -C $at ews report --json w >json && test_json json ".scope.project_changed" true || { echo >&2 "in $at"; return 1; }
	done && git -C trees ews end w 2>err && test_grep "^drift: HEAD changed" err && git -C trees-w ews end m 2>err && test_grep ! drift err
'

test_expect_success 'P8: of a session whose work tree is gone nothing is said that nobody knows' '
	start_ws trees-w w && git -C trees worktree remove --force ../trees-w && test_expect_code 128 git -C trees ews epoch check w >out 2>err && test_must_be_empty out && test_grep "session .w.: its work tree is gone: .$PWD/trees-w" err && git -C trees ews status --json w >json && test_grep ! "stale\|project_changed\|drift" json && git -C trees ews status >out && test_grep "its work tree is gone" out &&
	git -C trees ews diff w 2>err && test_grep "can.t be told: session .w.: its work tree is gone" err && git -C trees ews end w 2>err && test_grep ! drift err
'

test_expect_success 'P8: a HEAD that cannot be read just now is no other one: nothing is stale, and the epoch stays' '
	test_repo unread && start_ws unread s && git -C unread ews epoch >before && look=0 && while test_more_looks; do
		test_look EMFILE "/unread/[.]git(/(HEAD|refs/heads/[^/]*))?$" -C unread status s >out 2>err && test_grep ! "^ *Stale" out || return 1
	done && test $look -gt 4 && git -C unread ews epoch >after && test_cmp before after
'

test_expect_success 'P8: nor is a file changed that cannot be looked at just now' '
	git -C unread ews epoch bump && touch -d "+1 hour" unread/* && look=0 && while test_more_looks; do
		test_look EMFILE "/unread(/[^.][^/]*)?$" -C unread status s >out 2>err && test_grep ! "of the base changed" out || return 1
	done && test $look -gt 4
'

test_done
