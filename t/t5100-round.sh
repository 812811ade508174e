#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='round: turns of several agents, anonymous and kept (P1, P4, P8), and their scratch'

. "$(dirname "$0")/test-lib.sh"

# begin <agent> [<argument>...]: a round; its workspace in $ws, its name in $round
begin() {
	ews round start --agent "$@" >out 2>err && take_ws out && round=ews/$(basename "${ws:?}")
}

# holds <round> <directory>: what its ref has is what stands there
holds() {
	rm -rf held && mkdir held && git -C p -c tar.umask=022 archive "$1" | tar -x -C held && test_same_tree -x .git -x .ews_scratch held "$2"
}

archive_of() {
	echo "${HOME:?}/.superqode/working/p/rounds/${2:-default}/.scratch_archive/$1"
}

# sit <directory>: a process stands in it, $sitter
sit() {
	(cd "$1" && exec sleep 60) >/dev/null 2>&1 3>&- 4>&- 5>&- &
	sitter=$!
}
sits() { readlink "/proc/${sitter:?}/cwd" | grep -qF "$ws" && grep -qx sleep "/proc/${sitter:?}/comm"; }
sits_not() { ! sits 2>/dev/null; }

test_expect_success 'P1: each agent has a fresh worktree under a name that tells of nobody; neither git branch nor push --all sees it' '
	mkdir p && (cd p && git init -q -b trunk && mkdir src && seq 9 >src/a.txt && echo b >b && printf "x\r\n" >crlf && echo "*.o" >.gitignore && git add -A && git commit -qm one) && git init -q --bare sink && git -C p remote add sink "$PWD/sink" &&
	test_fingerprint p >before && begin alice && one=$round && w1=$ws && begin bob && two=$round && w2=$ws && test_fingerprint p >after && test_cmp before after && test "$one" != "$two" &&
	test_grep -x "ews/[0-9a-f]\{8\}" - <<-EOF && base=$(git -C p rev-parse HEAD) && test "$(git -C p rev-parse "$one")" = "$base" && test "$(git -C "${w1:?}" rev-parse HEAD)" = "$base" && ! git -C "${w1:?}" symbolic-ref -q HEAD &&
	$one
	EOF
	git -C p branch -a >out && test_line_count = 1 out && git -C p push -q --all sink && git -C sink for-each-ref >out && test_line_count = 1 out &&
	echo more >>"${w1:?}/src/a.txt" && rm "${w1:?}/b" && echo new >"${w1:?}/new" && test "$(ews round end --agent alice 2>err)" = "$one" && test_path_is_missing "${w1:?}" &&
	git -C p cat-file -p "$one" >commit && test "$(grep -c ^parent commit)" = 1 && test_grep "^parent $base$" commit && test_grep -x "\[ROUND\] Auto-commit" commit && git -C p diff --name-status "$base" "$one" >out && printf "D\tb\nA\tnew\nM\tsrc/a.txt\n" >want && test_cmp want out &&
	git -C p checkout -q -b try && git -C p merge -q --no-edit "$one" && test "$(cat p/new)" = new && git -C p checkout -q trunk && git -C p branch -qD try
'

test_expect_success 'P1: in a sparse checkout a round has all that is left out, and begins at the commit itself' '
	git clone -q p sparse && git -C sparse sparse-checkout set --no-cone "/*" "!/b" && git -C sparse ews round start --agent s >out 2>err && take_ws out && test_path_is_missing "${ws:?}/b" && left=ews/$(basename "$ws") && echo more >>"${ws:?}/src/a.txt" &&
	git -C sparse ews round end --agent s && test "$(git -C sparse rev-parse "$left^")" = "$(git -C sparse rev-parse HEAD)" && git -C sparse diff --name-status HEAD "$left" >got && echo "M	src/a.txt" | test_cmp - got
'

test_expect_success 'nothing is committed when nothing changed; an end that is asked for twice is a note' '
	test "$(ews round end --agent bob 2>err)" = "$two" && test "$(git -C p rev-parse "$two")" = "$base" && test "$(ews round end --agent bob 2>err)" = "$two" && test_grep "has ended before" err &&
	test_expect_code 128 git -C p ews round end --agent nobody 2>err && test_grep "^hint: .*round start --agent nobody" err && test_expect_code 129 git -C p ews round end 2>err && test_expect_code 129 git -C p ews round end --all --agent bob
'

test_expect_success 'the others by their labels, with a summary and a command that works; nothing of whose they are' '
	ews round peers --agent nobody --team other >out && test_must_be_empty out && begin bob && two=$round && ews round peers --agent bob >out && printf "%s\n" "agent1: $one  3 file(s) (+2/-1): b, new, src/a.txt" "    git diff $base $one" >want && test_cmp want out &&
	(cd "${ws:?}" && git ews round peers >here && test_cmp ../../../../../../want here && sed -n 2p here | sh >patch && test_grep "^+more" patch && git ews round prompt >prompt && test_grep ! "alice\|bob\|agent2" prompt && test_grep "$two" prompt && test_grep "agent1: $one" prompt && test_grep "\.ews_scratch/" prompt && rm here patch prompt) &&
	ews round peers --agent bob --json >json && test_json json .schema ews.round_peers/1 && test_json_count json .peers 1 && test_json json ".peers[0].label" agent1 && test_json json ".peers[0].round" "$one" && test_json json ".peers[0].changes.lines_added" 2 && test_json json ".peers[0].command" "git diff $base $one" && test_json_missing json ".peers[0].agent" &&
	ews round prompt --agent bob --json >json && test_json json .round "$two" && test_json json ".peers[0].round" "$one" && test_grep ! "bob\|alice" json && ews round prompt --agent bob >out && test "$(json json .text)" = "$(cat out)" &&
	ews round peers --agent alice >out && test_grep "^agent2: ews/[0-9a-f]*  0 file(s) (+0/-0)$" out && test_grep ! "$two" out && ews round prompt --agent nobody >out && sed -n 3p out >third && test_grep "^Others. work" third && begin agent7 --team seven && ews round peers --team seven --agent x >out && test_grep "^agent7: $round  0 file(s) (+0/-0)  (at work)$" out && ews round end --all --team seven >out
'

test_expect_success 'P6: neither path, ids nor variables tell who the agent is, and from inside one may look alone' '
	git -C p ews run "${two#ews/}" -- sh -c "env; pwd; git ews round peers; git ews round prompt; git ews round list; git ews round show $one; git ews status; cat .git; ! git ews round end --agent bob" >out 2>err && test_grep "^agent1: $one" out && test_grep "Your work is on" out && test_grep "^Commit: " out && test_grep ! "bob\|alice" out && test_grep "blocked: git ews round" err &&
	test "$(git -C p rev-parse "$two")" = "$base" && git -C p ews run "${two#ews/}" -- sh -c "cd \"\$EWS_PROJECT\" && git ews round list && git ews round show $one --json" >out 2>err && test_grep "^$one  ended" out && test_grep "^{.schema.:.ews.round/1" out && test_grep ! "bob\|alice" out &&
	begin tom && (cd "${ws:?}" && git ews round end --json) >json && test_json json ".rounds[0].round" "$round" && test_grep ! "agent.:\|tom" json
'

test_expect_success 'what was uncommitted is in the base, which rounds of one state share; --base takes exactly the tree of another round' '
	echo mine >>p/src/a.txt && echo untracked >p/u && begin carol && three=$round && test "$(cat "${ws:?}/u")" = untracked && begin dave && test "$(git -C p rev-parse "$three")" = "$(git -C p rev-parse "$round")" && git -C p log -1 --format=%s "$three" >out && test_grep "^\[BASELINE\]" out && test "$(git -C p rev-parse "$three^")" = "$base" &&
	echo d >"${ws:?}/d" && ews round end --agent dave >out && ews round peers --agent carol >out && test_grep "  1 file(s) (+1/-0): d$" out &&
	test_expect_code 1 git -C p ews round start --agent eve --base "$three" 2>err && test_grep "is not over" err && begin eve --base "$one" && test "$(git -C "${ws:?}" rev-parse HEAD)" = "$(git -C p rev-parse "$one")" && git -C "${ws:?}" status --porcelain >out && test_must_be_empty out && test_path_is_missing "${ws:?}/u" && holds "$one" "${ws:?}" &&
	test "$(git -C p rev-parse "$round")" = "$(git -C p rev-parse "$one")" && echo e >"${ws:?}/e" && ews round end --agent eve >out && test "$(git -C p rev-parse "$round^")" = "$(git -C p rev-parse "$one")" && ews round end --agent carol >out && git -C p checkout -q src && rm p/u
'

test_expect_success 'P7: what a filter stored stays as it is stored where the file is as git left it; what we can'"'"'t store so is named' '
	git init -q up && echo "*.up filter=mine" >up/.gitattributes && git -C up config filter.mine.clean "tr a-z A-Z" && for n in a b c; do echo $n >up/$n.up && touch -d "2020-01-01 00:00:00" up/$n.up || return 1; done && git -C up add . && git -C up commit -qm up && (ews() { git -C up ews "$@"; } && begin a && test "$(git -C up rev-parse "$round")" = "$(git -C up rev-parse HEAD)" && echo more >>"${ws:?}/b.up" && echo more >>"${ws:?}/c.up" && touch -d "2020-01-02 00:00:00" "${ws:?}/c.up" && git -C "${ws:?}" add c.up && ews round end --agent a >out 2>err &&
		git -C up diff --name-only HEAD "$round" >out && printf "%s\n" b.up c.up >want && test_cmp want out && git -C up show "$round:c.up" >out && printf "%s\n" C MORE >want && test_cmp want out && git -C up show "$round:b.up" >out && printf "%s\n" b more >want && test_cmp want out && test_grep "its filter is not run: b.up" err && test_grep ! "[ac]\.up" err)
'

test_expect_success 'P7: and so it stays where git wrote its index in the same second, as after a clone: nobody has changed it, or is said to have' '
	git init -q soon && echo "*.up filter=mine" >soon/.gitattributes && git -C soon config filter.mine.clean "tr a-z A-Z" && for n in a b; do echo $n >soon/$n.up && touch -d "2020-01-01 00:00:00.1" soon/$n.up || return 1; done && touch -d "2020-01-01 00:00:00.1" soon/.gitattributes && git -C soon add . && git -C soon commit -qm soon && touch -d "2020-01-01 00:00:00.5" soon/.git/index && (ews() { git -C soon ews "$@"; } && begin a && test "$(git -C soon rev-parse "$round")" = "$(git -C soon rev-parse HEAD)" && ews round end --agent a >out 2>err && test_must_be_empty err && test "$(git -C soon rev-parse "$round")" = "$(git -C soon rev-parse HEAD)") &&
	touch -d "2020-01-01 00:00:00.5" soon/.git/index && start_ws soon s && echo new >"${ws:?}/new" && git -C soon ews end --branch b s 2>err && test_grep ! "filter" err && git -C soon diff --name-only HEAD b >out && echo new >want && test_cmp want out
'

test_expect_success 'P4: what changed in the tick of the clock in which git looked at it, long before it wrote its index, is what it is by now, in each snapshot, round and workspace' '
	git init -q tick && echo "*.gen filter=was" >tick/.git/info/attributes && git -C tick config filter.was.clean "echo original" && echo generate >tick/a.gen && echo b >tick/b && touch -d "2020-01-01 00:00:00.1" tick/a.gen tick/b && git -C tick add . && git -C tick commit -qm tick && git -C tick config --unset filter.was.clean && rm tick/.git/info/attributes && touch -d "2020-01-01 00:00:00.5" tick/.git/index &&
	(ews() { git -C tick ews "$@"; } && snap=$(ews snapshot create) && test "$(git -C tick show "refs/ews/snapshots/$snap:a.gen")" = generate && begin a && test "$(git -C tick show "$round:a.gen")" = generate && test "$(git -C tick show HEAD:a.gen)" = original && git -C "${ws:?}" status --porcelain >out && echo " M a.gen" | test_cmp - out)
'

test_expect_success 'P1: --label makes a branch, beside one that is there already, and moves no branch that others have or stand on' '
	git -C p branch presenter HEAD && ews start looker >out && begin fay --label presenter --base "$one" && test "$(git -C p rev-parse presenter)" = "$base" && branch=presenter-${round#ews/} && test "$(git -C p rev-parse "$branch")" = "$(git -C p rev-parse "$one")" &&
	echo final >"${ws:?}/final" && ews round end --agent fay >out 2>err && test_grep ! drift err && test "$(git -C p rev-parse "$branch")" = "$(git -C p rev-parse "$round")" && test "$(git -C p show "$branch:final")" = final && test "$(git -C p rev-parse presenter)" = "$base" && ews status looker --json >json && test_json_count json ".sessions[0].drift" 0 && git -C p branch -f "$branch" "$base" && ews end looker >out 2>err && test_grep "^drift: ref refs/heads/$branch is new" err && git -C p branch -qD presenter "$branch" &&
	begin fay --label presenter && echo 1 >"${ws:?}/1" && ews round list --json >json && test_grep "\"branch\":\"presenter\"" json && git -C p checkout -q presenter && ews round end --agent fay >out 2>err && test_grep "stands on it" err && test "$(git -C p rev-parse presenter)" = "$base" && git -C p checkout -q trunk && git -C p branch -qD presenter &&
	git -C p branch dir/b && begin fay --label dir && git -C p rev-parse -q --verify "dir-${round#ews/}" && ews round end --agent fay >out && test_expect_code 128 git -C p ews round start --agent fay --label trunk/x 2>err && test_grep "beside the branch .trunk. there can.t be one called .trunk/x." err && test_grep "^hint: " err && git -C p branch -qD dir/b "dir-${round#ews/}" &&
	begin fay --label trunk && test "$(git -C p rev-parse trunk)" = "$base" && git -C p branch -f "trunk-${round#ews/}" HEAD && ews round end --agent fay >out 2>err && test_expect_code 129 git -C p ews round start --agent fay --label "a..b" && git -C p branch -qD "trunk-${round#ews/}"
'

test_expect_success 'P8: a branch that stayed for somebody stood on it is still where we put it: it follows once nobody does; one that somebody moves stays' '
	begin ivo --label stood && record=${HOME:?}/.superqode/working/p/rounds/default/${round#ews/}.json && echo 1 >"${ws:?}/1" && ews round end --agent ivo >out && at=$(git -C p rev-parse stood) && test_grep "\"branch_at\":.*$at" "$record" && ews undo && git -C p checkout -q stood && echo 2 >"${ws:?}/2" &&
	ews round end --agent ivo >out 2>err && test_grep "the branch .stood. stays where it is, for somebody stands on it" err && ews undo && git -C p checkout -q trunk && echo 3 >"${ws:?}/3" && test "$(git -C p rev-parse stood)" = "$at" && test_grep "$at" "$record" &&
	ews round end --agent ivo >out 2>err && test_grep ! stood err && test "$(git -C p show stood:3)" = 3 && test "$(git -C p rev-parse stood)" = "$(git -C p rev-parse "$round")" && ews undo && git -C p branch -f stood "$at" && echo 4 >"${ws:?}/4" &&
	ews round end --agent ivo >out 2>err && test_grep "for somebody has moved it" err && test "$(git -C p rev-parse stood)" = "$at" && ews undo && git -C p branch -f stood "$round" && sed -i "/branch_at/d" "$record" && echo 5 >"${ws:?}/5" &&
	ews round end --agent ivo >out 2>err && test_grep ! stood err && test "$(git -C p show stood:5)" = 5 && test_grep "$(git -C p rev-parse stood)" "$record" && git -C p branch -qD stood
'

test_expect_success 'P4: --previous takes the former round away in the same step, and no one else'"'"'s' '
	test_expect_code 128 git -C p ews round start --agent bob 2>err && test_grep "at work on the round .$two" err && test_grep "^hint: .*--previous $two" err && test_expect_code 129 git -C p ews round start --agent alice --previous "$two" && test_expect_code 128 git -C p ews round start --agent bob --previous ews/00000000 &&
	w2=$(ews path "${two#ews/}") && echo late >"${w2:?}/late" && begin bob --previous "$two" && test_expect_code 1 git -C p show-ref -q --verify "refs/$two" && ews undo && test "$(git -C p show "$two:late")" = late && ews undo --redo && test_expect_code 1 git -C p show-ref -q --verify "refs/$two" && three=$round && test_expect_code 128 git -C p ews round start --agent bob --previous "$two" &&
	ews round list >want && test_expect_code 1 git -C p ews round start --agent bob --previous "$three" --mode legacy 2>err && ews round list >out && test_cmp want out && test_path_is_dir "${ws:?}" && git -C p for-each-ref refs/ews --format="%(refname)" >out && test_grep ! "refs/ews/trash/rounds/${three#ews/}" out
'

test_expect_success 'two agents, two rounds, a presentation on the work of the one that won, and all of it away' '
	git init -q m && echo 1 >m/f && git -C m add f && git -C m commit -qm 1 && x= y= && (ews() { git -C m ews "$@"; } && for n in 1 2; do
			begin x ${x:+--previous "$x"} && x=$round wx=$ws && begin y ${y:+--previous "$y"} && y=$round wy=$ws && echo "x$n" >>"${wx:?}/f" && echo "y$n" >"${wy:?}/new" && echo "notes $n" >"${wx:?}/.ews_scratch/notes.md" && ews round end --agent x >out && ews round end --agent y >out || exit 1
		done && git -C m for-each-ref "refs/ews/????????" >out && test_line_count = 2 out && ews round prompt --agent x >out && test_grep "^- agent2: $y  1 file(s) (+1/-0): new$" out && test_grep "\.scratch_archive/${x#ews/}$" out &&
		begin z --base "$y" --label presenter && test "$(cat "${ws:?}/new")" = y2 && echo final >>"${ws:?}/new" && ews round end --agent z >out && test "$(git -C m show presenter:new)" = "$(printf "y2\nfinal")" && ews round end --all >out && git -C m for-each-ref "refs/ews/????????" >out && test_must_be_empty out && git -C m merge -q --no-edit presenter && test "$(sed -n 2p m/new)" = final && git -C m reset -q --hard HEAD~2 && git -C m branch -qD presenter)
'

test_expect_success 'scratch: in no status, diff, commit, snapshot or apply, and info/exclude stays as it is; kept when the round is over, twice as well' '
	test_path_is_dir "${ws:?}/.ews_scratch/verification" && git -C "${ws:?}" status --porcelain --untracked-files=all >out && test_must_be_empty out && test_fingerprint p >before && echo note >"${ws:?}/.ews_scratch/notes" && ln -s ../x "${ws:?}/.ews_scratch/link" && echo 1 >"${ws:?}/.ews_scratch/verification/run.sh" && chmod 755 "${ws:?}/.ews_scratch/verification/run.sh" && git init -q "${ws:?}/.ews_scratch/nested" && rm "${ws:?}/.ews_scratch/.gitignore" && echo "!*" >"${ws:?}/.ews_scratch/.gitignore" &&
	ews diff --exit-code "${three#ews/}" >out && ews status --json >json && test_grep ! scratch json && ews snapshot create "${three#ews/}" --ignored >id && ews snapshot show "$(cat id)" --files >out && test_grep ! scratch out && ews apply "${three#ews/}" >out 2>err && test_path_is_missing p/.ews_scratch && ews revert "${three#ews/}" >out && test_path_is_file "${ws:?}/.ews_scratch/notes" &&
	cp -a "${ws:?}/.ews_scratch" scratch && chmod 700 scratch && test "$(ews round scratch --agent bob)" = "${ws:?}/.ews_scratch" && ews round end --agent bob >out && test "$(git -C p rev-parse "$three")" = "$base" && test_same_tree scratch "$(archive_of "${three#ews/}")" && test_fingerprint p >after && test_cmp before after &&
	for label in sketch sketch dir/odd; do begin bob --label "$label" && echo "$round" >"${ws:?}/.ews_scratch/notes" && ews round end --agent bob >out || return 1; done && test_path_is_file "$(archive_of sketch/notes)" && test_path_is_file "$(archive_of sketch-2/notes)" && test "$(cat "$(archive_of dir-odd/notes)")" = "$round" && test_path_is_missing "$(archive_of sketch/sketch)" &&
	begin bob && ews round scratch --agent bob >out && sed -n 1p out >first && echo "${ws:?}/.ews_scratch" >want && test_cmp want first && test_line_count = 5 out && sed -n 2p out >newest && archive_of dir-odd >want && test_cmp want newest && ews round prompt --agent bob >prompt && test_grep "$(archive_of sketch-2)$" prompt && ews round scratch --agent bob --json >json && test_json_count json .archives 4 &&
	ews round end --agent bob >out && test_path_is_missing "$(archive_of "${round#ews/}")" && ! ls -A "$(dirname "$(archive_of x)")" | grep new-
'

test_expect_success STRACE 'P8: archived scratch that can not be looked at just now is not said to be none' '
	ews round scratch --agent bob >want && test_line_count = 4 want && for verb in scratch prompt; do
		ews round $verb --agent bob >want && look=0 && while test_more_looks; do test_look EIO "scratch_archive" -C p round $verb --agent bob >out 2>err && if test $code = 0 || test $code = 199; then test_cmp want out; else test_must_be_empty out && test_grep "^error: .*scratch" err; fi || return 1; done && test $look -gt 4 || return 1
	done
'

test_expect_success 'a committed .ews_scratch is left out, named by nobody as changed, and stays in the commit' '
	git clone -q p tracked && mkdir tracked/.ews_scratch && echo t >tracked/.ews_scratch/t && git -C tracked add -A && git -C tracked commit -qm t && for how in "" "--base HEAD"; do
		(ews() { git -C tracked ews "$@"; } && begin a $how && git -C "${ws:?}" status --porcelain >out && test_must_be_empty out && echo x >"${ws:?}/x" && ews round end --agent a >out && git -C tracked diff --name-only HEAD "$round") >names && test "$(cat names)" = x || return 1
	done
'

test_expect_success 'P4: a held index.lock, a hook that fails, signing and a closed file don'"'"'t keep the work from its ref' '
	begin gus && mkdir -p p/.git/hooks && printf "#!/bin/sh\necho ran >>%s/ran\nexit 1\n" "$PWD" >p/.git/hooks/pre-commit && cp p/.git/hooks/pre-commit p/.git/hooks/commit-msg && chmod +x p/.git/hooks/* && git -C p config commit.gpgSign true && git -C p config gpg.program false &&
	admin=$(git -C "${ws:?}" rev-parse --git-dir) && : >"${admin:?}/index.lock" && echo kept >"${ws:?}/kept" && echo closed >"${ws:?}/closed" && chmod 000 "${ws:?}/closed" && echo o >"${ws:?}/x.o" && mkdir "${ws:?}/inner" && git init -q "${ws:?}/inner" && echo i >"${ws:?}/inner/i" && printf "caf\351\n" >"${ws:?}/$(printf "odd\n\351")" && ln -s nowhere "${ws:?}/dangling" && printf "y\r\n" >>"${ws:?}/crlf" && ln -s "${PWD:?}/p" "${ws:?}/away" &&
	ews round end --agent gus >out 2>err && test_path_is_missing ran && test_grep "1 ignored path is not in the commit, but in trash" err && test_grep "inner" err && test "$(git -C p show "$round:kept")" = kept && test "$(git -C p show "$round:closed")" = closed && test "$(git -C p show "$round:dangling")" = nowhere && printf "x\r\ny\r\n" >want && git -C p show "$round:crlf" >got && test_cmp want got && git -C p ls-tree -z --name-only "$round" >got && printf "odd\n\351\0" | grep -qzaFf - got &&
	git -C p config --unset commit.gpgSign && rm p/.git/hooks/pre-commit p/.git/hooks/commit-msg && ews undo "${round#ews/}" && test "$(cat "${ws:?}/inner/i")" = i && test "$(cat "${ws:?}/x.o")" = o && chmod 644 "${ws:?}/closed" && ews round list >out && test_grep "$round  open " out &&
	chmod 755 "${ws:?}/kept" && ews round end --agent gus >out && git -C p ls-tree "$round" kept >out && test_grep "^100755" out
'

test_expect_success 'P8: round end names what its commit cannot hold, each once, and not_in_patch has it' '
	work_in() { (cd "${1:?}" && mkdir -p hollow .GIT && echo h >.GIT/h && mkfifo pipe && chmod 600 src/numbers && git init -q late); } && names() { sed -n "s/^warning: $1: \([^ ]*\) (.*/\1/p" err >got && printf "%s\n" .GIT .GIT/h hollow pipe src/numbers late | sort >want && sort got | test_cmp want -; } &&
	test_repo odd && (ews() { git -C odd ews "$@"; } && for mode in worktree isolated legacy; do
		begin o --mode $mode && work_in "$ws" && case $mode in legacy) said="not in the commit" ;; *) said="not in the commit, but in trash" ;; esac && ews round end --agent o >out 2>err && names "$said" && test_grep "$said: pipe (fifo)" err && test_grep "$said: src/numbers (mode 0644 to 0600)" err &&
		ews undo && ews undo --redo 2>err && names "$said" && ews undo && ews undo --redo --json >json && test_json json .ended.committed false && test_json_count json .ended.left_out 6 &&
		ews undo && ews round end --agent o --json >json && test_json json ".rounds[0].committed" false && test_json_count json ".rounds[0].changes.not_in_patch" 6 && test_json json ".rounds[0].changes.not_in_patch[1].path" .GIT/h && test_grep "a path that git can.t hold" json &&
		ews round end --agent o --json >json && test_json json ".rounds[0].had_ended" true && test_json json ".rounds[0].changes.total_changes" 0 && test_json_missing json ".rounds[0].changes.not_in_patch" && ews round list --json >json && test_json json ".rounds[0].changes.total_changes" 0 && test_json_missing json ".rounds[0].changes.not_in_patch" && ews round show "$(cat out)" --json >json && test_json json ".changes.total_changes" 0 && test_json_missing json ".changes.not_in_patch" || return 1
	done) && test_repo former && (ews() { git -C former ews "$@"; } && begin o && work_in "$ws" && old=$round && begin o --previous "$old" && names "not in the commit, but in trash" && test_grep "^note: round .$old.:$" err && test_grep "^note: $old went to trash" err &&
		work_in "$ws" && ews round start --agent o --previous "$round" --json >json && test_json json .removed "$round" && test_json json .ended.round "$round" && test_json_count json .ended.left_out 6 && test_json_count json .ended.changes.not_in_patch 6 && old=$(json json .round) && ews round end --agent o && ews round start --agent o --previous "$old" --json >json && test_json json .removed "$old" && test_json json .ended null) && test_repo large && (ews() { git -C large -c ews.maxFile=1000 ews "$@"; } && for agent in x y; do begin $agent && head -c 3000 /dev/zero >"${ws:?}/big" && echo "$round" >>open || return 1; done && ews round end --all 2>err) && grep "big\|ews/.*:" err >got &&
	while read -r round; do printf "%s\n" "note: round '"'"'$round'"'"':" "warning: not in the commit, but in trash: big (too-large)" || return 1; done <open >want && test_cmp want got
'

test_expect_success 'P4: while anything can'"'"'t be kept, workspace and ref both stay' '
	begin hal && echo hal >"${ws:?}/hal" && was=$(git -C p rev-parse "$round") && : >"p/.git/refs/$round.lock" && test_must_fail git -C p ews round end --agent hal 2>err && test_path_is_file "${ws:?}/hal" && test "$(git -C p rev-parse "$round")" = "$was" && rm "p/.git/refs/$round.lock" &&
	test_expect_code 125 git -C p ews run --end "${round#ews/}" -- touch ran 2>err && test_grep "^hint: .*ews round end" err && test_path_is_missing "${ws:?}/ran" && test_path_is_file "${ws:?}/hal" &&
	sit "${ws:?}" && test_when_finished "kill $sitter 2>/dev/null || :" && test_wait_for 10 sits && ews undo --list >want && test_expect_code 1 git -C p ews round start --agent hal --previous "$round" 2>err && test_grep "^hint: .*git ews round end --agent hal --force" err && ews undo --list >got && test_cmp want got && test_path_is_file "${ws:?}/hal" && test_expect_code 1 git -C p ews round end --agent hal 2>err && test_grep "sleep" err && test_path_is_file "${ws:?}/hal" && test "$(git -C p show "$round:hal")" = hal && kill $sitter && test_wait_for 10 sits_not &&
	echo later >"${ws:?}/later" && ews round end --agent hal >out && test "$(git -C p show "$round:later")" = later && test "$(git -C p rev-parse "$round^")" = "$base" &&
	begin hal && rm -rf "${ws:?}" && test_expect_code 1 git -C p ews round end --agent hal 2>err && ews round list >out && test_grep "$round  open" out && ews round end --agent hal --force >out && test "$(git -C p rev-parse "$round")" = "$base"
'

test_expect_success 'P4: end --all ends what goes on and moves the team'"'"'s refs to trash, no one else'"'"'s; clean touches no round, doctor names a stray ref' '
	EWS_TEAM=red && export EWS_TEAM && begin ida && echo red >"${ws:?}/red" && red=$round && w1=$ws && begin ida2 && ews round end --agent ida2 >out && unset EWS_TEAM && ews round list >out && test_grep ! "$red" out && test_expect_code 1 git -C p ews clean --force "${red#ews/}" 2>err && test_expect_code 129 git -C p ews end "${red#ews/}" 2>err && test_grep "^hint: .*ews round end" err && test_path_is_file "${w1:?}/red" && ews clean --auto >out 2>&1 && test_path_is_dir "${w1:?}" &&
	git -C p update-ref refs/ews/0badcafe HEAD && { ews doctor >out 2>&1 || :; } && test_grep "refs/ews/0badcafe.*no record" out && test_grep ! "refs/ews/${red#ews/}" out && git -C p update-ref refs/heads/ews/foo HEAD &&
	ews round end --all --team red --dry-run >out && test_line_count = 2 out && test_path_is_dir "${w1:?}" && ews round end --all --team red >out && test_line_count = 2 out && test_grep "^$red$" out && test_path_is_missing "${w1:?}" && test_expect_code 1 git -C p show-ref -q --verify "refs/$red" && git -C p show-ref -q --verify "refs/$one" && git -C p show-ref -q --verify refs/ews/0badcafe && git -C p show-ref -q --verify refs/heads/ews/foo &&
	ews undo && test "$(git -C p show "$red:red")" = red && ews undo --redo && git -C p gc -q --prune=now && ews undo && test "$(git -C p show "$red:red")" = red && git -C p update-ref -d refs/ews/0badcafe && git -C p branch -qD ews/foo && ews round end --all --team red >out && ews clean --now >out && git -C p for-each-ref refs/ews/trash/rounds >out && test_must_be_empty out && begin ida --team red && ls "$HOME/.superqode/working/p/rounds/red" >out && test_grep ! "^${red#ews/}" out && ews round end --all --team red >out && ews snapshot verify --all --trash >out
'

test_expect_success 'P4: a record of a round that can not be read makes no mere session of any round, nor a stray ref' '
	begin kim --team one && kim=$round && k=$ws && echo kim >"${k:?}/kim" && begin lea --team two && lea=$round && l=$ws && record=$HOME/.superqode/working/p/rounds/one/${kim#ews/}.json && cp "$record" keep && echo garbage >"$record" && find "$HOME/.superqode/working/p/sessions/${kim#ews/}" "$HOME/.superqode/working/p/sessions/${lea#ews/}" -exec touch -d "3 days ago" {} + &&
	ews clean --force >out 2>err && test_path_is_file "${k:?}/kim" && test_path_is_dir "${l:?}" && for id in "${kim#ews/}" "${lea#ews/}"; do test_expect_code 129 git -C p ews end "$id" 2>err && test_expect_code 1 git -C p ews clean --force "$id" 2>err && test_grep "a round that goes on" err || return 1; done && { ews doctor >out 2>&1 || :; } && test_grep ! "refs/$kim.*no record" out && test_grep ! "refs/$lea.*no record" out &&
	start_ws p stuck && state=$HOME/.superqode/working/p/sessions/stuck/state.json && sed -i "s/\"active\"/\"starting\"/" "$state" && test_expect_code 1 git -C p ews recover --all >out 2>err && test_grep "^warning: the record of round .$kim.: not JSON; .git ews doctor. says" err && test_grep "session .stuck.: its start was taken back" out &&
	test_expect_code 1 git -C p ews recover --all --json >json && test_json json ".not_recovered[0].session_id" "" && { ews doctor --json >json || :; } && test_grep "the record of round .$kim.: not JSON" json && test_grep "move it away, and the round is none" json &&
	cp keep "$record" && ews recover --all >out && ews round end --agent kim --team one >out && ews round end --agent lea --team two >out
'

test_expect_success 'P4: many at once: each has a round, a label and its work, and what all take away goes once' '
	ids=$(seq 6) && for n in $ids; do ews round start --team many --agent "x$n" >"ws$n" 2>/dev/null & done && wait && for n in $ids; do read -r ws <"ws$n" && echo "$n" >"${ws:?}/n$n" || return 1; done && for n in $ids; do ews round end --team many --agent "x$n" >"end$n" 2>"err$n" & done && wait &&
	for n in $ids; do read -r round <"end$n" && test "$(git -C p show "$round:n$n")" = "$n" || return 1; done && ews round list --team many >out && test_line_count = 6 out && sed "s/.*ended  \(agent[0-9]*\) .*/\1/" out | sort -u >labels && test_line_count = 6 labels &&
	for n in 1 2 3; do { ews round end --all --team many >"all$n" 2>"err$n" || echo failed >>"all$n"; } & done && wait && cat all1 all2 all3 >out && test_line_count = 6 out && test_grep ! failed out && ews round list --team many >out && test_must_be_empty out
'

test_expect_success 'P4: a round that undo brings back beside a newer one is ended as any other, and nothing is begun beside it' '
	begin pat --team back && older=$round w1=$ws && echo x >"${w1:?}/x" && ews round end --agent pat --team back >out && begin pat --team back && newer=$round w2=$ws && ews undo "${older#ews/}" && ews round end --agent pat --team back >out && test "$(cat out)" = "$newer" &&
	test_expect_code 128 git -C p ews round start --agent pat --team back 2>err && test_grep "at work on the round .$older" err && test_expect_code 128 git -C p ews round start --agent pat --team back --previous "$newer" 2>err && ews round end --agent pat --team back >out && test "$(cat out)" = "$older" &&
	ews undo "${older#ews/}" && ews undo "${newer#ews/}" && (cd "${w1:?}" && git ews round prompt >"$OLDPWD/prompt" && git ews round end --dry-run >"$OLDPWD/dry" && git ews round end >"$OLDPWD/out") && test "$(cat out dry)" = "$older$LF$older" && test_grep "$older" prompt && test_path_is_dir "${w2:?}" && test_path_is_missing "${w1:?}" &&
	ews undo "${older#ews/}" && ews round end --all --team back >out && test_line_count = 2 out && ews round list --team back >out && test_must_be_empty out && test_path_is_missing "${w1:?}" && test_path_is_missing "${w2:?}"
'

test_expect_success 'P1: many labels at once: no round calls the branch of another one drift' '
	ids=$(seq 6) && for n in $ids; do ews round start --team many --agent "x$n" --label "many$n" >"ws$n" 2>/dev/null & done && wait && for n in $ids; do ews round end --team many --agent "x$n" >out 2>err && test_grep ! drift err || return 1; done &&
	git -C p for-each-ref --format="%(refname:short)" "refs/heads/many*" >out && test_line_count = 6 out && git -C p branch -qD $(cat out) && ews round end --all --team many >out
'

# looks_while <when> <n> <look> <command>...: git ews, and right before its n-th call that <when> matches somebody does <look>
looks_while() {
	printf "%s\n" "#!/bin/sh" "cd \"$PWD\" && $3" >looks && chmod +x looks && look_when=$1 look_n=$2 && shift 3 &&
		"$EWS_BUILD/t/killat" ${look_how:+"$look_how"} -c "$look_when" -x "$PWD/looks" "$look_n" "$EWS_BIN/git-ews" "$@"
}

test_expect_success 'P1, P6: while a round moves its branch that is no drift, as whoever looks finds it; to move it back is' '
	ews start seer && begin una --label una && first=$(git -C p rev-parse una) && echo 1 >"${ws:?}/1" &&
	look_how= && looks_while "refs/heads/una" 1 "git -C p ews status --json seer >json" -C p round end --agent una >out && test_json_count json ".sessions[0].drift" 0 && test "$(git -C p rev-parse una)" != "$first" &&
	look_how=-r && for n in 1 2; do
		begin vic$n --label vic$n && echo 1 >"${ws:?}/1" && looks_while "openat.*told-refs" $n "git -C p ews round end --agent vic$n >looked" -C p status --json seer >json && test_json_count json ".sessions[0].drift" 0 && test "$(git -C p rev-parse vic$n)" != "$first" || return 1
	done && git -C p branch -f una "$first" && ews end seer 2>err && test_grep "^drift: ref refs/heads/una is new" err && test_grep ! "refs/heads/vic" err && git -C p branch -D una vic1 vic2
'

test_expect_success 'P1, P4: a start that fails leaves no branch; an end of all that fails says what is over' '
	begin quin --team busy && first=$round && begin pat --team busy && one=$round && sit "${ws:?}" && test_when_finished "kill $sitter 2>/dev/null || :" && test_wait_for 20 sits && git -C p for-each-ref >want && test_expect_code 1 git -C p ews round start --agent pat --team busy --previous "$one" --label left 2>err && test_grep "in use by" err && git -C p for-each-ref >out && test_cmp want out &&
	test_expect_code 1 git -C p ews round end --all --team busy 2>err && test_grep "^error: the others go on, but .$first. ended: .* in use by" err && ews undo "${first#ews/}" && test_expect_code 1 git -C p ews round end --all --team busy --json >json && test_grep "but .$first. ended" json &&
	kill $sitter && test_wait_for 20 sits_not && ews round end --all --team busy >out && test_line_count = 2 out
'

test_expect_success 'P8: an agent whose name is a label is called by it, and nobody else is, though another one was before' '
	begin ann --team mix && one=$round && begin ben --team mix && two=$round && begin agent1 --team mix && three=$round && ews round list --team mix >out && test_grep "^$one .* agent3 (ann)" out && test_grep "^$two .* agent2 (ben)" out && test_grep "^$three .* agent1 (agent1)" out &&
	ews round peers --team mix --agent ben >out && test_grep "^agent3: $one" out && test_grep "^agent1: $three" out && ews round prompt --team mix --agent agent1 >out && test_grep "agent3: $one" out && test_grep ! "agent1" out && begin cid --team mix && ews round list --team mix >out && test_grep "^$round .* agent4 (cid)" out && test_grep "^$one .* agent3 (ann)" out &&
	begin ann --team mix --previous "$one" && ews round list --team mix >out && test_grep "^$round .* agent3 (ann)" out && begin agent3 --team mix && ews round peers --team mix --agent x >out && cut -d: -f1 out | grep ^agent >got && seq 5 | sed "s/^/agent/" | test_cmp - got && test_grep "^agent3: $round" out && ews round end --all --team mix >out 2>err
'

test_expect_success 'P8: a label that an agent may get again is given to nobody else meanwhile' '
	begin ann --team turn && ews round end --agent ann --team turn && begin agent1 --team turn && mine=$round && begin ann --team turn && ews round list --team turn >out && test_grep "^$round .* agent2 (ann)" out && ews round end --agent agent1 --team turn &&
	rm "${HOME:?}/.superqode/working/p/rounds/turn/${mine#ews/}.json" && git -C p update-ref -d "refs/$mine" && begin cid --team turn && begin agent1 --team turn && ews round peers --team turn --agent x >out && sed -n "s/^\(agent[0-9]*\): .*/\1/p" out >got && seq 3 | sed "s/^/agent/" | test_cmp - got && ews round end --all --team turn >out 2>err
'

test_expect_success 'a round is called by any beginning of its digits that no other has; for --base what git takes for a commit is that' '
	begin tom --team short --label named && one=$round && short=$(echo "${one#ews/}" | cut -c 1-7) && echo tom >"${ws:?}/tom" && ews round show --team short "$short" >out && test_grep "^Round: $one$" out && ews round diff --team short "ews/$short" >out && test_grep "^+tom" out && test_expect_code 128 git -C p ews round show --team short "" && test_expect_code 128 git -C p ews round show --team short ews/ &&
	test_expect_code 1 git -C p ews round start --agent uma --team short --base "$short" 2>err && test_grep "the round .$one. is not over" err && ews round end --agent tom --team short && begin uma --team short --base "ews/$short" && test "$(cat "${ws:?}/tom")" = tom && begin uma --team short --previous "$(echo "$round" | cut -c 1-11)" --base "$short" && test "$(git -C p for-each-ref "refs/ews/$short*" | wc -l)" = 1 && test "$(cat "${ws:?}/tom")" = tom &&
	git -C p branch "$short" "$one^" && begin vic --team short --base "$short" && test_path_is_missing "${ws:?}/tom" && git -C p branch -qD "$short" named && git -C p branch "ews/$short" HEAD && begin wim --team short --base "ews/$short" && test_path_is_missing "${ws:?}/tom" && begin xav --team short --base "$one" && test "$(cat "${ws:?}/tom")" = tom && git -C p branch -qD "ews/$short" && ews round end --all --team short >out 2>err
'

test_expect_success 'P8: where a branch can not be read just now no round is the base that is called by the beginning of its digits' '
	begin tom --team unread && one=$round && short=$(echo "${one#ews/}" | cut -c 1-7) && echo tom >"${ws:?}/tom" && ews round end --agent tom --team unread && git -C p branch "$short" HEAD && test_when_finished "git -C p branch -qD $short && ews round end --all --team unread >out 2>err" &&
	look=0 && while test_more_looks; do
		test_look EIO "/refs/heads/$short$" -C p round start --agent "vic$look" --team unread --base "$short" --json >json 2>err
		case $code in 0 | 199) test_json json .base "$(git -C p rev-parse HEAD)" || return 1 ;; esac
	done && test $look -gt 1
'

test_expect_success 'P4: of a round whose workspace was deleted what the agent had committed is the work, and it is said where the rest is' '
	mkdir late && (cd late && git init -q -b trunk && seq 9 >f && echo a >a && git add . && git commit -qm zero && echo b >b && git add . && git commit -qm one) &&
	commit_and_vanish() { git -C late ews round start --agent "$@" >out 2>err && take_ws out && round=ews/$(basename "${ws:?}") && echo work >"${ws:?}/w" && git -C "$ws" add w && git -C "$ws" commit -qm mine && work=$(git -C "$ws" rev-parse HEAD) && echo not >"${ws:?}/not" && rm -rf "${ws:?}"; } &&
	commit_and_vanish one --label mine && test_expect_code 1 git -C late ews round end --agent one 2>err && test_grep "^hint: .*with no more of its work than git still has" err && git -C late ews round end --agent one --force >out 2>err && echo "$round" | test_cmp - out &&
	test_grep "^note: the workspace of round .$round. was gone: what was committed there is its work; its HEAD, index and commits are in trash, as snap-" err && snap=$(sed -n "s/.*, as \(snap-.*\)/\1/p" err) && git -C late ews snapshot list --trash >list && test_grep "$snap" list &&
	git -C late diff --name-status HEAD "$round" >got && echo "A	w" | test_cmp - got && test "$(git -C late rev-parse "$round^")" = "$(git -C late rev-parse HEAD)" && test "$(git -C late rev-parse mine)" = "$(git -C late rev-parse "$round")" && git -C late ews round list >list && test_grep "$round  ended .*  1 file(s) (+1/-0)" list &&
	commit_and_vanish back && git -C late ews round start --agent look >out 2>err && take_ws out && look=ews/$(basename "${ws:?}") && git -C "${ws:?}" checkout -q HEAD~ && rm -rf "${ws:?}" && git -C late ews round end --agent look --force >out 2>err && test "$(git -C late rev-parse "$look")" = "$(git -C late rev-parse HEAD)" &&
	echo ten >>late/f && echo own >late/own && rm late/a && commit_and_vanish dirty && git -C late ews round end --agent dirty --force 2>err >out && git -C late diff --name-status HEAD "$round" >got && printf "D\ta\nM\tf\nA\town\nA\tw\n" | test_cmp - got && git -C late diff --name-status "$round^" "$round" >got && echo "A	w" | test_cmp - got &&
	commit_and_vanish last && git -C late ews round end --all --force >out 2>err && test "$(grep -c "^note: the workspace of round .ews/.* was gone: what was committed there" err)" = 2 && git -C late ews undo && test "$(git -C late show "$round:w")" = work &&
	commit_and_vanish json && git -C late ews round end --agent json --force --json >json && test_json json ".rounds[0].committed" true && test_grep "in trash, as snap-" json
'

test_expect_success 'P4: what was committed in a deleted workspace is the work, or the round goes on, where git or a file can not be had just now' '
	team=cut && commit_and_vanish cut --team $team && test_must_fail env PATH=/nowhere "$EWS_BIN/git-ews" -C late round end --agent cut --team $team --force 2>err && test_grep "cannot run .git." err && look=0 && while test_more_looks; do
		test_look EIO "/\.git(/(HEAD|objects|refs))?/?$" -C late round end --agent cut --team $team --force >out 2>err
		test $code = 199 || git -C late ews recover --all || return 1
		test $code != 0 || { test "$(git -C late show "$round:w")" = work && team=cut$look && commit_and_vanish cut --team $team; } || return 1
	done && test $look -gt 9 && test "$(git -C late show "$round:w")" = work
'

test_expect_success 'P4: undo of such an end brings back what was committed, beside what was uncommitted in the project, and the next end keeps it' '
	commit_and_vanish again && git -C late ews round end --agent again --force && work=$(git -C late rev-parse "$round^{tree}") && git -C late ews undo && git -C late status --short >want && git -C "${ws:?}" status --short >got && test_cmp want got && test "$(cat "${ws:?}/w")" = work &&
	git -C late ews round end --agent again && test "$(git -C late rev-parse "$round^{tree}")" = "$work" && git -C late ews undo && echo new >"${ws:?}/new" && git -C late ews round end --agent again && git -C late diff --name-status "$round^" "$round" >got && printf "A\tnew\nA\tw\n" | test_cmp - got
'

test_expect_success 'P8: of what was committed in a deleted workspace that is named which undo brings back as git stores it, as its filter is not run' '
	test_repo smudged && git -C smudged config filter.up.clean cat && echo "*.up filter=up" >smudged/.gitattributes && echo one >smudged/one.up && cp smudged/one.up smudged/same.up && git -C smudged add . && git -C smudged commit -qm up && named() { sed -n "s/^warning: kept as git stores it, its filter is not run: //p" err | sort >got && printf "%s (up)\\n" new.up one.up | test_cmp - got; } && leave() {
		ws=$(cat out) && (cd "${ws:?}" && echo new >new.up && echo two >>one.up && echo x >plain && git add . && git commit -qm mine) && rm -rf "${ws:?}"
	} && git -C smudged ews start s >out && leave && git -C smudged ews end --force s 2>err && named && git -C smudged ews undo s && test_grep two "${ws:?}/one.up" && git -C smudged ews end --json s >json && test_json_count json ".sessions[0].kept_unfiltered" 0 &&
	git -C smudged ews round start --agent a >out && leave && git -C smudged ews round end --force --agent a 2>err && named && git -C smudged ews start t >out && leave && git -C smudged ews end --force --json t >json && test_json_count json ".sessions[0].kept_unfiltered" 2
'

test_expect_success 'P4: so it does where git converts line ends, and the project had changed what was committed: whichever line ends that had' '
	mkdir eol && (cd eol && git init -q && git config core.autocrlf true && git config core.safecrlf false && seq 20 >f && seq 20 >lf && echo o >other && git add . && git commit -qm one && rm f && git checkout -q . && sed -i "s/^2\r$/two\r/" f) &&
	git -C eol ews round start --agent eol >out 2>err && take_ws out && round=ews/$(basename "${ws:?}") && printf "x\r\n" >>"${ws:?}/f" && printf "x\n" >>"${ws:?}/lf" && printf "o\r\n" >>"${ws:?}/other" && git -C "$ws" commit -qam work && cp "${ws:?}/f" "${ws:?}/lf" . && rm -rf "${ws:?}" && git -C eol ews round end --agent eol --force && work=$(git -C eol rev-parse "$round^{tree}") && test "$work" != "$(git -C eol rev-parse "$round^^{tree}")" &&
	git -C eol ews undo && test_cmp f "${ws:?}/f" && test_cmp lf "${ws:?}/lf" && git -C "$ws" diff --name-only >got && test_must_be_empty got && git -C eol ews round end --agent eol && test "$(git -C eol rev-parse "$round^{tree}")" = "$work"
'

test_expect_success 'P4: what nothing can be merged with is as it was committed, and all else beside it: a directory where the project has a link' '
	mkdir way && (cd way && git init -q && seq 5 >t && git add . && git commit -qm one && ln -s t l && echo file >d && mkdir -p e/e && echo e >e/e/e) && git -C way ews round start --agent way >out 2>err && take_ws out && round=ews/$(basename "${ws:?}") &&
	(cd "${ws:?}" && echo work >>t && rm -r l d e && mkdir l d && echo q >l/q && echo q >d/q && echo e >e && git add -A && git commit -qm work) && work=$(git -C "$ws" rev-parse "HEAD^{tree}") && rm -rf "${ws:?}" && git -C way ews round end --agent way --force && test "$(git -C way rev-parse "$round^{tree}")" = "$work" &&
	git -C way ews undo && git -C "$ws" status --short >got && test_must_be_empty got && git -C way ews round end --agent way && test "$(git -C way rev-parse "$round^{tree}")" = "$work"
'

test_expect_success 'P1: what the agent of a deleted workspace had committed of its scratch is in no round' '
	git -C late ews round start --agent own >out 2>err && take_ws out && round=ews/$(basename "${ws:?}") && (cd "${ws:?}" && mkdir -p .ews_scratch .superqode && echo n >.ews_scratch/n && echo x >.superqode/x && echo w >w && git add -f .ews_scratch/n .superqode/x w && git commit -qm work) && rm -rf "${ws:?}" &&
	git -C late ews round end --agent own --force && git -C late diff --name-only "$round^" "$round" >got && echo w | test_cmp - got && git -C late ews undo && test_path_is_missing "${ws:?}/.superqode/x" && test "$(cat "${ws:?}/w")" = w && git -C late ews round end --agent own && git -C late diff --name-only "$round^" "$round" >got && echo w | test_cmp - got
'

test_expect_success STRACE 'P4: the end of a round that was killed comes to its own end first: another would leave it unfinished for good, and undo with it' '
	for how in "--mode worktree" "--mode isolated"; do
		begin_late() { late=$(git -C late ews round start --agent goes_on $how) && echo w >"${late:?}/w" && test_expect_code 137 killat -c "$1" 1 git-ews -C late round end --agent goes_on && echo late >"${late:?}/late" && git -C late ews recover --all >out && test_grep "its end was finished$" out && test "$(git -C late show "ews/${late##*/}:w" "ews/${late##*/}:late" | tr "\n" " ")" = "w late " && git -C late ews undo && test_path_is_file "${late:?}/late" && git -C late ews round end --agent goes_on; } &&
		begin_late "sessions/.*/state.json" && begin_late "trash/op-.*/workspace" || return 1
	done && commit_and_vanish half && test_expect_code 137 test_strace log -qq -P "$PWD/late/.git/worktrees" -e trace=renameat2 -e inject=renameat2:signal=KILL git-ews -C late round end --agent half --force && test_must_fail git -C late ews round end --agent half --force 2>err && test_grep "is interrupted" err && test_grep "^hint: git ews recover" err &&
	git -C late ews recover --all && test "$(git -C late show "$round:w")" = work && git -C late ews undo && test_grep work "${ws:?}/w" && git -C late ews round end --agent half
'

test_expect_success 'P8: where what was committed in a deleted workspace is lost the round ends, and it is said' '
	commit_and_vanish lost && object=$(git -C late rev-parse "$work^{tree}" | sed "s,..,&/,") && test_when_finished "mv late/kept late/.git/objects/${object:?}" && mv "late/.git/objects/$object" late/kept && git -C late ews round end --agent lost --force >out 2>err && echo "$round" | test_cmp - out && test_grep "^note: .* was gone: what was committed there can.t be read" err
'

test_expect_success 'P8: so it is where they went with the workspace' '
	commit_and_vanish apart --mode isolated && git -C late ews round end --agent apart --force >out 2>err && test_grep "^note: the workspace of round .$round. was gone: git has nothing more of it$" err &&
	test_expect_code 1 git -C late ews undo "${round#ews/}" 2>err && test_grep "trash holds it no longer: \.git (branches, reflogs and commits of its own, which were gone before the end)" err && test_grep ! "commits are kept" err && git -C late ews undo --redo "${round#ews/}"
'

test_expect_success 'P4: what an end that came no further has kept of a workspace stays the work when that is deleted' '
	begin ula --team kept && git -C "${ws:?}" commit -q --allow-empty -m nothing && echo ula >"${ws:?}/ula" && sit "$ws" && test_when_finished "kill $sitter 2>/dev/null || :" && test_wait_for 20 sits && test_expect_code 1 git -C p ews round end --agent ula --team kept 2>err && kill $sitter && test_wait_for 20 sits_not && rm -rf "${ws:?}" &&
	git -C p ews round end --agent ula --team kept --force >out 2>err && test "$(git -C p show "$round:ula")" = ula && test_grep "^note: the workspace of round .$round. was gone: its HEAD" err
'

test_expect_success 'what the messages say is so: a workspace that is gone, a name that is none' '
	begin rob --team gone && rm -rf "${ws:?}" && test_expect_code 1 git -C p ews round end --agent rob --team gone 2>err && test_grep "^hint: .*git ews round end --force --agent <agent>. ends it, with no more of its work than git still has" err && ews round end --agent rob --team gone --force >out && test "$(cat out)" = "$round" &&
	for name in a/b "" ../x "$(printf "%300s" "" | tr " " b)"; do for verb in "end --dry-run" end peers prompt scratch; do test_expect_code 129 git -C p ews round $verb --agent "$name" 2>err && test_grep "is no name for an agent$" err || return 1; done; done
'

test_expect_success 'P4: a start that can not look a name up says so and ends; the team can go on' '
	begin zoe --team shut && ews round end --agent zoe --team shut >out && mkdir -p p/.git/refs/ews/trash/rounds && drop= && if test_have_prereq ROOT; then drop="setpriv --bounding-set=-dac_override,-dac_read_search"; fi &&
	for closed in p/.git/refs/ews/trash/rounds "$HOME/.superqode/working/p/sessions"; do
		mode=$(stat -c %a "$closed") && chmod 0 "$closed" && { $drop timeout 20 git-ews -C p round start --agent yan --team shut >out 2>err; code=$?; chmod "$mode" "$closed"; } && test $code = 128 && test_grep "^error: .*ermission denied" err && test_must_be_empty out || return 1
	done && begin yan --team shut && ews round end --agent yan --team shut >out
'

test_expect_success 'modes: isolated has a repository of its own, legacy is the project, and any other word is an error' '
	test_expect_code 129 git -C p ews round start --agent x --mode worktre && test_expect_code 129 git -C p ews round start --agent x --mode snapshot && test_expect_code 129 git -C p ews round start && test_expect_code 129 git -C p ews round start --agent ../x && test_expect_code 129 git -C p ews round start --agent x --team a/b &&
	begin kim --mode isolated && test_path_is_dir "${ws:?}/.git" && git -C "${ws:?}" status --porcelain >out && test_must_be_empty out && (cd "${ws:?}" && echo k >k && git add k && git -c commit.gpgSign=false commit -qm own && git ews round peers >out && sed -n 2p out >command && rm out && grep "git ews round diff $(basename "$(dirname "$one")")/" command && sh command >patch && test_grep ^diff patch && rm command patch) && ews round end --agent kim >out && test "$(git -C p show "$round:k")" = k && git -C p rev-list --count "$base..$round" >out && test "$(cat out)" = 1 &&
	begin lou --mode worktree && ews round end --agent lou >out && test_fingerprint p >before && begin lou --mode legacy && test "${ws:?}" = "$PWD/p"
'

test_expect_success 'P4: legacy works in the project and is kept all the same; what was made there for scratch goes again' '
	GIT_OPTIONAL_LOCKS=0 git -C p status --porcelain >out && test_must_be_empty out && ews round list >out && round=$(sed -n "s/^\(ews[^ ]*\)  open .*(lou).*/\1/p" out) && echo s >p/.ews_scratch/s && echo l >p/l && test_expect_code 1 git -C p ews round start --agent mia 2>err && ews round end --agent lou >out && test "$(cat out)" = "$round" && test "$(git -C p show "$round:l")" = l && test "$(cat p/l)" = l && test_path_is_missing p/.ews_scratch && test_path_is_file "$(archive_of "${round#ews/}/s")" && rm p/l && test_fingerprint p >after && test_cmp before after &&
	mkdir p/.ews_scratch && echo own >p/.ews_scratch/own && test_fingerprint p >before && begin lou --mode legacy && test_fingerprint p >after && test_cmp before after && ews round end --agent lou >out && test_fingerprint p >after && test_cmp before after && rm -r p/.ews_scratch &&
	begin lou --mode legacy && rm -r p/.ews_scratch && echo file >p/.ews_scratch && ews round end --agent lou >out 2>err && test_grep "not in the scratch archive: \.ews_scratch (no directory)" err && test_grep "stays in the project" err && test "$(cat p/.ews_scratch)" = file && rm p/.ews_scratch
'

test_expect_success 'scratch is there again, and hidden, when undo takes the end back in the project itself, and goes when that is done again' '
	begin lou --mode legacy && ews round list >list && id=$(sed -n "s:^ews/\([^ ]*\)  open .*(lou).*:\1:p" list) && echo s >p/.ews_scratch/s && ews round end --agent lou >out && test_path_is_missing p/.ews_scratch && ews undo "$id" && test_path_is_dir p/.ews_scratch/verification && echo more >p/.ews_scratch/more && GIT_OPTIONAL_LOCKS=0 git -C p status --porcelain --untracked-files=all >out && test_must_be_empty out &&
	ews undo --redo "$id" && test_path_is_missing p/.ews_scratch && test_path_is_file "$(archive_of "$id-2/more")" && ews undo "$id" && ews round end --agent lou >out && test_path_is_missing p/.ews_scratch &&
	mkdir p/.ews_scratch && begin lou --mode legacy && ews round list >list && id=$(sed -n "s:^ews/\([^ ]*\)  open .*(lou).*:\1:p" list) && ews round end --agent lou >out && rmdir p/.ews_scratch && ews undo "$id" && test_path_is_dir p/.ews_scratch/verification && ews round end --agent lou >out && test_path_is_missing p/.ews_scratch
'

test_expect_success 'P4: an end that is done again keeps what was done since under the name of the round, in each mode' '
	test_repo again && for mode in worktree isolated legacy; do
		ws=$(git -C again ews round start --agent $mode --mode $mode 2>err) && echo one >"${ws:?}/$mode" && round=$(git -C again ews round end --agent $mode) && git -C again ews undo "${round#ews/}" && echo two >>"${ws:?}/$mode" && echo note >"${ws:?}/.ews_scratch/note" && git -C again ews undo --redo "${round#ews/}" &&
		test "$(git -C again show "$round:$mode")" = "$(printf "one\ntwo")" && test "$(git -C again rev-parse "$round^")" = "$(git -C again rev-parse HEAD)" && test_path_is_file "$HOME/.superqode/working/again/rounds/default/.scratch_archive/${round#ews/}/note" || return 1
	done && git -C again ews undo "${round#ews/}" && rm again/legacy && git -C again ews undo --redo "${round#ews/}" && test "$(git -C again rev-parse "$round")" = "$(git -C again rev-parse HEAD)" &&
	git -C again ews round start --agent legacy --previous "$round" --mode worktree >out && git -C again ews round end --agent legacy && git -C again ews undo "${round#ews/}" && git -C again ews undo --redo "${round#ews/}" && git -C again for-each-ref >refs && test_grep "refs/ews/trash/rounds/${round#ews/}$" refs && test_grep ! "refs/$round$" refs
'

test_expect_success 'P2: scratch that a person made once that of a round was taken out of the project is his, though undo brings the round back' '
	test_repo own && git -C own ews round start --agent a --mode legacy && git -C own ews round end --agent a && test_path_is_missing own/.ews_scratch && mkdir own/.ews_scratch && echo mine >own/.ews_scratch/mine && git -C own ews undo && git -C own ews round end --agent a && test "$(cat own/.ews_scratch/mine)" = mine &&
	git -C own ews undo && git -C own ews undo --redo && test "$(cat own/.ews_scratch/mine)" = mine
'

test_expect_success 'round scratch makes it anew where it was cleaned away, in any round that goes on' '
	for mode in worktree isolated legacy; do
		begin lou --mode $mode && git -C "${ws:?}" clean -qfdx && test_path_is_missing "${ws:?}/.ews_scratch" && ews round scratch --agent lou >out && sed -n 1p out >first && echo "${ws:?}/.ews_scratch" >want && test_cmp want first && test_path_is_dir "${ws:?}/.ews_scratch/verification" && git -C "$ws" status --porcelain --untracked-files=all >out && test_must_be_empty out &&
		rm -r "${ws:?}/.ews_scratch" && echo file >"${ws:?}/.ews_scratch" && test_expect_code 1 git -C p ews round scratch --agent lou 2>err && test_grep "something else stands there" err && rm "${ws:?}/.ews_scratch" && git -C p ews round scratch --agent lou --json >out && test_json out .path "${ws:?}/.ews_scratch" && ews round end --agent lou >out && test_path_is_missing "${ws:?}/.ews_scratch" || return 1
	done && ews round scratch --agent lou >out && test_grep ! "/\.ews_scratch$" out
'

test_expect_success 'P8: where the agent has no scratch that is said, and the archives of earlier rounds are shown all the same' '
	begin ned --team less && echo n >"${ws:?}/.ews_scratch/note" && ews round end --agent ned --team less && ews round scratch --agent ned --team less >want && test_line_count = 1 want && begin ned --team less && rm -rf "${ws:?}/.ews_scratch" && echo mine >"${ws:?}/.ews_scratch" &&
	test_expect_code 1 git -C p ews round scratch --agent ned --team less >out 2>err && test_cmp want out && test_grep "^warning: cannot make .*/.ews_scratch" err && test_grep "^hint: something else stands there" err && test_expect_code 1 git -C p ews round scratch --agent ned --team less --json >json 2>err && test_must_be_empty err && test_json json .path null && test_json json ".archives[0]" "$(cat want)" && test_json json ".damaged[0].path" "$round" &&
	rm -rf "${ws:?}" && test_expect_code 1 git -C p ews round scratch --agent ned --team less >out 2>err && test_cmp want out && test_grep "^warning: the workspace of .* is gone" err && git -C p ews round end --agent ned --team less --force 2>err && git -C p ews round scratch --agent ned --team less --json >json && test_json_missing json ".damaged[0]"
'

test_expect_success !ROOT 'P4, P8: what in scratch may not be read is named, and keeps no round from its end' '
	begin ned && echo r >"${ws:?}/.ews_scratch/r" && echo s >"${ws:?}/.ews_scratch/secret" && chmod 000 "${ws:?}/.ews_scratch/secret" && mkdir "${ws:?}/.ews_scratch/closed" && echo c >"${ws:?}/.ews_scratch/closed/c" && chmod 000 "${ws:?}/.ews_scratch/closed" && ews round end --agent ned --json >json && test_json_count json ".rounds[0].not_archived" 1 && test_json json ".rounds[0].not_archived[0].path" secret && test "$(cat "$(archive_of "${round#ews/}/r")")" = r && ews undo "${round#ews/}" && chmod 600 "${ws:?}/.ews_scratch/secret" && test "$(cat "${ws:?}/.ews_scratch/secret")" = s && chmod 700 "${ws:?}/.ews_scratch/closed" "$(archive_of "${round#ews/}/closed")" && ews round end --agent ned >out
'

test_expect_success 'without commits, detached, in a linked worktree, bare, in the middle of a merge or a rebase, with SHA-256' '
	git init -q -b odd/branch new && echo f >new/f && GIT_DEFAULT_HASH=sha256 git init -q sha && git -C sha commit -q --allow-empty -m 1 && git clone -q p det && git -C det checkout -q --detach && git -C det worktree add -q ../linked && git clone -q --bare p bare && git clone -q p mid && git -C mid checkout -q -b side HEAD && echo s >mid/b && git -C mid commit -qam s && git -C mid checkout -q trunk && echo t >mid/b && git -C mid commit -qam t && git clone -q mid reb && git -C reb branch -q side origin/side && test_must_fail git -C mid merge -q side >out 2>&1 && test_must_fail git -C reb rebase -q side >out 2>&1 && for dir in new sha det linked bare mid reb; do
		test_fingerprint $dir >before && (ews() { git -C $dir ews "$@"; } && begin a && echo x >"${ws:?}/x" && ews round end --agent a >out 2>err && test "$(git -C $dir show "$round:x")" = x && test "$(git -C $dir log -1 --format=%s "$round")" = "[ROUND] Auto-commit" && begin b --base "$round" && test "$(cat "${ws:?}/x")" = x && ews round end --all >out) && test_fingerprint $dir >after && test_cmp before after || return 1
	done
'

test_expect_success 'apply takes the name of a round, one that goes on as well, into uncommitted work, and undo takes it back' '
	mkdir uncommitted && (cd uncommitted && git init -q -b trunk && seq 9 >f && git add f && git commit -qm one && echo mine >>f && echo u >u) && git -C uncommitted ews round start --agent a >out && take_ws out && round=ews/$(basename "${ws:?}") && sed "s/^3$/three/" uncommitted/f >"${ws:?}/f" && echo work >"${ws:?}/w" && echo far >>uncommitted/u && (cd uncommitted && cat f u) >before &&
	for when in open ended; do
		git -C uncommitted ews apply --check "$round" >out && test_grep "2 files changed" out && test_path_is_missing uncommitted/w && git -C uncommitted ews apply "$round" && test "$(cat uncommitted/w)" = work && test "$(sed -n "3p;10p" uncommitted/f)" = "$(printf "three\nmine")" && test "$(cat uncommitted/u)" = "$(printf "u\nfar")" &&
		git -C uncommitted ews undo && test_path_is_missing uncommitted/w && (cd uncommitted && cat f u) >after && test_cmp before after && { test $when = ended || git -C uncommitted ews round end --agent a; } || return 1
	done && test_must_fail git -C uncommitted merge "$round" && sed -i "s/^3$/drei/" uncommitted/f && test_expect_code 1 git -C uncommitted ews apply "$round" && test_path_is_missing uncommitted/w && test_expect_code 1 git -C uncommitted ews apply --3way "$round" && test_grep "^>>>>>>> $round$" uncommitted/f && git -C uncommitted ews undo && git -C uncommitted ews apply --json --force "$round" -- w >json && test_json_count json .touched 1 && test "$(sed -n 3p uncommitted/f)" = drei &&
	git -C uncommitted ews round end --all >out && test_expect_code 128 git -C uncommitted ews apply "$round" 2>err && test_grep "has gone" err && test_expect_code 128 git -C uncommitted ews apply ews/0badcafe 2>err && test_grep "no round" err
'

test_expect_success 'P8: diff of a round that has ended is what was done in it, whatever was done in the project since; apply and diff take the beginning of its name' '
	test_repo later && ws=$(git -C later ews round start --agent a) && round=ews/${ws##*/} && echo work >"${ws:?}/work" && git -C later ews diff --name-status "$round" >out && printf "A\twork\n" | test_cmp - out && git -C later ews round end --agent a && echo since >>later/src/numbers && git -C later ews round diff "$round" >want && test_grep "^+work" want && for name in "$round" "${round%???}" "--from base $round"; do
		git -C later ews diff $name >out && test_cmp want out || return 1
	done && git -C later ews snapshot diff "$round" >out && test_cmp want out && git -C later ews diff --json "${round%??}" >json && test_json json .total_changes 1 && test_json json .to "$(git -C later rev-parse "$round")" && git -C later ews diff --name-status "${round%??}" now >out && printf "M\tsrc/numbers\nD\twork\n" >want && sort -k2 out | test_cmp want - &&
	git -C later ews apply --check "${round%???}" && git -C later ews apply "${round%???}" && test "$(cat later/work)" = work && git -C later ews undo && n=0 && while test $n -lt 17; do git -C later ews round start --agent "b$n" >path && git -C later ews round end --agent "b$n" >out && n=$((n + 1)) || return 1; done &&
	git -C later for-each-ref --format="%(refname:lstrip=2)" "refs/ews/????????" | cut -c1 | sort | uniq -d >twice && twice=$(sed -n 1p twice) && for verb in diff apply; do test_expect_code 129 git -C later ews $verb "ews/$twice" 2>err && test_grep "may mean several rounds" err || return 1; done &&
	git -C later branch "ews/$twice" && git -C later ews diff --name-status "ews/$twice" >out && printf "M\tsrc/numbers\n" | test_cmp - out && git -C later ews round end --all >out && test_expect_code 128 git -C later ews diff "$round" 2>err && test_grep "^error: the round .$round. has gone" err
'

test_expect_success 'P8: what is over a limit keeps the project from no round: --partial leaves it out, and names it' '
	test_repo overlarge && git -C overlarge config ews.maxFile 1000000 && head -c 1000001 /dev/zero >overlarge/big && test_expect_code 1 git -C overlarge ews round start --agent a 2>err && test_grep "^hint: --partial leaves it out" err && test_expect_code 129 git -C overlarge ews round start -h >usage && test_grep "\[--partial\]" usage &&
	for mode in worktree isolated legacy; do
		git -C overlarge ews round start --agent a --mode $mode --partial --json >json && test_json json ".skipped[0].path" big && test_json json ".skipped[0].reason" too-large && round=$(json json .round) && ws=$(json json .path) && echo $mode >"${ws:?}/work" && git -C overlarge ews round end --agent a >out && test "$(git -C overlarge show "$round:work")" = $mode && test_must_fail git -C overlarge cat-file -e "$round:big" &&
		git -C overlarge ews round start --agent a --mode $mode --partial >out 2>err && test_grep "left out: big (too-large)" err && git -C overlarge ews round end --agent a >out || return 1
	done && test_path_is_file overlarge/big
'

test_expect_success 'P8: what was staged of a file that is left out is no work of the round: it is in its base' '
	test_repo staged && git -C staged config ews.maxFile 1000000 && head -c 1000001 /dev/zero >staged/big && for how in new changed; do
		git -C staged add big && for mode in worktree isolated; do
			git -C staged ews round start --agent a --mode $mode --partial --json >json && round=$(json json .round) && ws=$(json json .path) && echo w >"${ws:?}/w" && git -C staged ews round end --agent a --json >json && test_json json ".rounds[0].changes.total_changes" 1 && test "$(git -C staged rev-parse "$round:big")" = "$(git -C staged rev-parse :big)" && git -C staged diff --name-only "$round^" "$round" >got && echo w >want && test_cmp want got || return 1
		done && git -C staged commit -qm big && head -c 1000002 /dev/zero >staged/big || return 1
	done
'

test_expect_success 'P4: a tracked file that is left out is in the round as it was, whatever git does in the workspace' '
	test_repo outsize && mkdir outsize/d && head -c 1000001 /dev/zero | tee outsize/big >outsize/d/big && git -C outsize add . && git -C outsize commit -qm big && git -C outsize config ews.maxFile 1000000 &&
	for mode in worktree isolated; do
		for how in nothing add read-tree new dir; do
			(ews() { git -C outsize ews "$@"; } && begin a --mode $mode --partial && test_path_is_missing "${ws:?}/big" && git -C "$ws" status --porcelain >st && test_must_be_empty st && echo w >"${ws:?}/w" && case $how in
			add) git -C "$ws" add -A && git -C "$ws" commit -qm w ;;
			read-tree) git -C "$ws" read-tree HEAD && git -C "$ws" add -A && git -C "$ws" commit -qm w ;;
			new) echo small >"${ws:?}/big" ;;
			dir) mkdir "${ws:?}/big" && echo in >"${ws:?}/big/in" ;;
			esac && ews round end --agent a >out && git -C outsize diff --name-status --no-renames HEAD "$round" >got && case $how in new) printf "M\tbig\n" ;; dir) printf "D\tbig\nA\tbig/in\n" ;; esac >want && printf "A\tw\n" >>want && test_cmp want got) || return 1
		done
	done && git -C outsize checkout -q -b try && begin_in() { git -C outsize ews round start --agent m --partial >out && take_ws out && round=ews/$(basename "${ws:?}"); } && begin_in && echo w >"${ws:?}/w" && git -C outsize ews round end --agent m --json >json && test_json_count json ".rounds[0].changes.files_deleted" 0 && git -C outsize merge -q "$round" && test_path_is_file outsize/big
'

test_expect_success 'P8: where git in the workspace has it no more it is named that this is not in the round' '
	test_repo shed && mkdir shed/d && head -c 1000001 /dev/zero | tee shed/big >shed/d/big && git -C shed add . && git -C shed commit -qm big && git -C shed config ews.maxFile 1000000 &&
	for how in rm mv checkout none; do
		(ews() { git -C shed ews "$@"; } && ews round start --agent a --partial >out && take_ws out && round=ews/$(basename "$ws") && case $how in
		rm) git -C "$ws" rm -q --sparse big && git -C "$ws" commit -qm rm ;;
		mv) git -C "$ws" mv --sparse big moved && git -C "$ws" commit -qm mv ;;
		checkout) git -C "$ws" checkout -q HEAD~1 ;;
		esac && ews round end --agent a >out 2>err && case $how in mv) printf "A\tmoved\n" ;; esac >want && git -C shed diff --name-status --no-renames HEAD "$round" >got && test_cmp want got && if test $how = none; then test_must_be_empty err; else test_grep "big (its removal: it was left out at the start)" err; fi) || return 1
	done && start_ws shed s --partial && git -C "${ws:?}" rm -q --sparse big && git -C shed ews end --branch r s 2>err && test_grep "not on the branch: big (its removal: it was left out at the start)" err
'

test_expect_success USERS 'P4: and so is one that may not be read, and what lies in a directory that may not be entered' '
	test_repo shut && chmod 000 shut/run.sh shut/src && test_give_user shut && test_as_user git -C shut ews round start --agent a >out 2>err && test_grep "left out: run.sh (unreadable)" err && take_ws out && echo w >"${ws:?}/w" && round=$(test_as_user git -C shut ews round end --agent a) && chmod 755 shut/run.sh shut/src && test_as_user git -C shut diff --name-status HEAD "$round" >got && printf "A\tw\n" | test_cmp - got
'

test_expect_success 'plain directories have rounds through their store' '
	mkdir -p plain/sub/hollow && echo 1 >plain/f && (ews() { git -C plain ews "$@"; } && store=$(echo "$HOME"/.superqode/store/plain-*.git) && test_expect_code 129 git -C plain ews round start --agent a --label b &&
	begin a && store=$(echo "$HOME"/.superqode/store/plain-*.git) && echo 2 >>"${ws:?}/f" && echo s >"${ws:?}/.ews_scratch/s" && one=$round && ews round end --agent a >out && git -C "$store" show "$one:f" >got && printf "1\n2\n" >want && test_cmp want got && test "$(git -C "$store" rev-list --count "$one")" = 2 &&
	begin b && ews round peers --agent b >out && test_grep "^agent1: $one  1 file(s) (+1/-0): f$" out && (cd "${ws:?}" && sed -n 2p "$OLDPWD/out" | sh) >patch && test_grep "^+2" patch && ews round end --agent b >out && begin c --base "$one" && test_cmp want "${ws:?}/f" && echo 3 >"${ws:?}/g" && ews round end --agent c >out && test "$(git -C "$store" diff --name-only "$one" "$round")" = g && test "$(cat plain/f)" = 1 && test_path_is_missing plain/.ews_scratch && ews apply "$one" && test_cmp want plain/f) &&
	mkdir hollow && (ews() { git -C hollow ews "$@"; } && begin a && echo x >"${ws:?}/x" && (cd "${ws:?}" && test_expect_code 129 git ews round peers --team other && git ews round peers --team default) && ews round end --agent a >out && ews round diff "$round" --name-only >out && echo x >want && test_cmp want out && ews apply "$round" && test_cmp want hollow/x)
'

if test_have_prereq VALGRIND; then
	test_done # a killed tracer is no test of the program
fi
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
export ASAN_OPTIONS
kill_points=3

sound() {
	no_litter && git -C p fsck --strict --no-dangling >fsck.out 2>&1 && test_must_be_empty fsck.out && test_fingerprint p >fp && test_cmp fp.want fp
}

# No round at all, or a whole one; the same command works now, or what it made does.
after_start() {
	ews round list >listed && if test -s listed; then test "$(wc -l <listed)" -eq 1; else begin z; fi && ews round list >listed && round=$(sed "s/ .*//" listed) && ws=$(ews path "${round#ews/}") && test_path_is_dir "${ws:?}/.ews_scratch" && echo y >"${ws:?}/y" && ews round end --agent z >out && test "$(git -C p show "$round:y")" = y
}

after_end() {
	{ test ! -e "${ws:?}" || test "$(cat "${ws:?}/z")" = z; } && ews round end --agent z >out 2>err && test "$(cat out)" = "$round" && test "$(git -C p show "$round:z")" = z && test_path_is_missing "${ws:?}" && test "$(cat "$(archive_of "${round#ews/}/s")")" = s
}

test_expect_success 'P4: a round start or end that is killed anywhere is whole or not there' '
	rm -rf p "$HOME/.superqode" && git init -q p && echo 1 >p/f && git -C p add f && git -C p commit -qm 1 && echo 2 >>p/f && ews status >out 2>err && test_fingerprint p >fp.want && mkdir "$HOME/.superqode" && save fresh && sweep fresh after_start round start --agent z &&
	restore fresh && begin z && echo z >"${ws:?}/z" && echo s >"${ws:?}/.ews_scratch/s" && save work && sweep work after_end round end --agent z
'

test_expect_success 'a dry run of end --all has in JSON the rounds that would end; what a round holds of the deep lock its end lets go of' '
	test_repo barred && start=$(git -C barred ews round start --agent x) && test_expect_code 1 git -C barred ews start --deep z 2>err && test_grep "^hint: .git -C .*ews path ${start##*/}.* ews round end. or .git ews lock release ${start##*/}. lets go of it" err && git -C barred ews round start --agent over >out && git -C barred ews round end --agent over >out && git -C barred ews round end --all --dry-run --json >out && test_json_count out .rounds 1 && test_json out ".rounds[0].agent" x && test_json out ".rounds[0].state" open && test_json_count out .dropped 2 &&
	test_path_is_dir "$start" && git -C barred ews round end --agent x >out && git -C barred ews start --deep z && test_expect_code 1 git -C barred ews start --deep y 2>err && test_grep "^hint: .git ews end z. or" err && git -C barred ews end z && git -C barred ews round end --all
'

test_expect_success 'P8: a round whose session cannot be looked at just now has not ended' '
	begin ursula && echo w >"${ws:?}/w" && for error in EIO EMFILE; do
		test_expect_code 128 test_unread $error 1 "openat.*/sessions/${round#ews/}/state.json$" -C p round end --agent ursula >out 2>err && test_must_be_empty out && test_grep "^error: the session of round .$round." err || return 1
	done && ews round end --agent ursula >out && git -C p cat-file -e "$round:w"
'

# Kills round starts of the agent kay until one has its ref, and nothing else that says so: ref, record. The last point is in at.
killed_start() {
	while test "$at" -lt 40; do
		test_strace trace -e trace=rename,renameat,renameat2,linkat -e inject=rename,renameat,renameat2,linkat:signal=KILL:when="$at" git-ews -C half round start --agent kay >out 2>&1
		ref=$(git -C half for-each-ref --format="%(refname)" "refs/ews/????????")
		record=$(find "$HOME/.superqode/working" -name "${ref#refs/ews/}.json")
		test -z "$ref" || return 0
		git -C half ews recover >out 2>&1
		at=$((at + 1))
	done
	return 1
}

test_expect_success STRACE 'P4: the record of a round whose ref can not be read just now does not go before the ref' '
	test_repo half && git -C half ews status >out 2>err && at=8 && for n in 1 2 3 4; do
		killed_start && test_path_is_file "$record" || return 1
		test_strace trace -P "$ref" -e trace=openat -e inject=openat:error=EMFILE:when=$n git-ews -C half recover >out 2>&1
		! git -C half rev-parse -q --verify "$ref" >out || test_path_is_file "$record" || return 1
		git -C half ews recover && test_must_fail git -C half rev-parse -q --verify "$ref" && test_path_is_missing "$record" || return 1
	done
'

test_expect_success 'P8: who stands in a round that can not be looked for just now is told nothing of another team' '
	test_repo red && git -C red ews round start --team red --agent x >path 2>err && take_ws path && git -C red ews round start --agent y && for verb in list prompt scratch; do
		git -C "$ws" ews round $verb >want && look=0 && while test_more_looks; do
			test_look EIO "/(rounds|sessions)(/.*)?$" -C "$ws" round $verb >out 2>err && { test $code != 0 || test_grep "can.t be read just now: .*Input/output error" out err || test_cmp want out; } || return 1
		done && test $look -gt 4 || return 1
	done
'

# loses <repository> <object>: it is not there for a while; regains puts it back
loses() {
	gone=${1:?}/.git/objects/$(echo "${2:?}" | sed 's/../&\//') && mv "${gone:?}" away
}
regains() {
	mv away "${gone:?}"
}

test_expect_success 'P8: a round that lost something is said to be damaged, and keeps nobody from the work of the others' '
	test_repo worn && for agent in ann ben cid; do
		ws=$(git -C worn ews round start --agent $agent 2>err) && echo "of $agent" >"${ws:?}/new" && { test $agent = cid || round=$(git -C worn ews round end --agent $agent); } && eval "$agent=ews/${ws##*/}" || return 1
	done && loses worn "$(git -C worn rev-parse "$ann:new")" && git -C worn ews round list >out 2>err && test_line_count = 3 out && test_grep "^$ann  ended  agent1 (ann)  damaged: .*unable to read" out && test_grep "^$ben .*  1 file(s) (+1/-0): new$" out && test_grep "^$cid  open " out &&
	test_grep "^warning: damaged: $ann (.*unable to read" err && test_line_count = 1 err && git -C worn ews round list --json >json 2>err && test_json_count json .rounds 3 && test_json json ".rounds[0].round" "$ann" && test_json json ".rounds[0].changes" null && test_json json ".rounds[1].changes.total_changes" 1 &&
	test_json_count json .damaged 1 && test_json json ".damaged[0].path" "$ann" && json json ".damaged[0].message" >out && test_grep "unable to read" out &&
	for verb in peers prompt; do
		git -C "$ws" ews round $verb >out 2>err && test_grep "agent1: $ann  damaged: .*unable to read" out && test_grep "agent2: $ben  1 file(s)" out && test_grep "^warning: damaged: $ann " err &&
			git -C "$ws" ews round $verb --json >json 2>err && test_json_count json .peers 2 && test_json json ".peers[0].changes" null && test_json json ".peers[1].changes.total_changes" 1 && test_json_count json .damaged 1 && test_json json ".damaged[0].path" "$ann" || return 1
	done && test_expect_code 128 git -C worn ews round show "$ann" && git -C worn ews round show "$ben" && regains && git -C worn ews round list --json >json 2>err && test_must_be_empty err && test_json_count json .damaged 0
'

test_expect_success 'P8: of a round that can not be read just now nobody is told that it is damaged' '
	for verb in list "peers --agent eve"; do
		>all && look=0 && while test_more_looks; do
			test_look EIO "/\.git/(objects/[0-9a-f]{2}/.*|packed-refs)$" -C worn round $verb >out 2>err && test_grep ! damaged out err && cat out err >>all || return 1
		done && test_grep "$ben  .*can.t be read just now: .*Input/output error" all && test_grep "^warning: not shown: $ben (can.t be read just now: " all || return 1
	done
'

test_expect_success 'P8: of a round that ended it is said, with --json as well, though what it changed is lost' '
	echo wip >worn/wip && ws=$(git -C worn ews round start --agent dan 2>err) && echo more >>"${ws:?}/wip" && dan=ews/${ws##*/} && loses worn "$(git -C worn rev-parse "$dan:wip")" && git -C worn ews round end --all --json --dry-run >json 2>err && test_json_count json .rounds 2 &&
	git -C worn ews round end --agent dan --json >json 2>err && test_json json ".rounds[0].round" "$dan" && test_json json ".rounds[0].committed" true && test_json json ".rounds[0].changes" null && test_json json ".damaged[0].path" "$dan" && test "$(git -C worn show "$dan:wip")" = "wip
more" && regains
'

test_expect_success 'P8: a round whose record can not be read is named, and keeps nobody from the rounds of the others' '
	test_repo blank && for agent in ann ben; do git -C blank ews round start --agent $agent >path 2>err && take_ws path && echo $agent >"${ws:?}/new" && round=$(git -C blank ews round end --agent $agent) && eval "$agent=$round" || return 1; done &&
	record=$HOME/.superqode/working/blank/rounds/default/${ann#ews/}.json && cp "$record" keep && echo garbage >"$record" && git -C blank ews round list >out 2>err && test_line_count = 2 out && test_grep "^$ben  ended .* 1 file(s) (+1/-0): new$" out && test_grep "^$ann  damaged: the record of round .$ann.: not JSON$" out && test_grep "^warning: damaged: $ann (.*: not JSON)$" err && test_line_count = 1 err &&
	git -C blank ews round list --json >json 2>err && test_must_be_empty err && test_json_count json .rounds 1 && test_json json ".rounds[0].round" "$ben" && test_json_count json .damaged 1 && test_json json ".damaged[0].path" "$ann" && for verb in peers prompt scratch; do
		git -C blank ews round $verb --agent cid >out 2>err && { test $verb = scratch || test_grep "agent2: $ben  1 file(s)" out; } && test_grep "^warning: damaged: $ann " err && git -C blank ews round $verb --agent cid --json >json && test_json json ".damaged[0].path" "$ann" || return 1
	done && git -C blank ews round show "$ben" && git -C blank ews round diff "$ben" >out && test_grep "^+ben" out && for verb in show diff; do test_expect_code 1 git -C blank ews round $verb "$ann" 2>err && test_grep "^error: the record of round .$ann." err && test_grep "^hint: .*move it away" err || return 1; done &&
	cp keep "$record" && for error in EIO EMFILE; do
		test_unread $error 1 "openat.*/${ann#ews/}.json$" -C blank round list >out 2>err && test_grep "^$ben .* 1 file(s)" out && test_grep "^$ann  can.t be read just now: " out && test_grep "^warning: not shown: $ann (can.t be read just now: " err && test_expect_code 128 test_unread $error 1 "openat.*/${ann#ews/}.json$" -C blank round show "$ann" 2>err && test_grep "^error: the record of round .$ann." err || return 1
	done
'

test_done
