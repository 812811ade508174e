#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='end: report, patch, tests and log are stored before anything goes (P4, P7)'

. "$(dirname "$0")/test-lib.sh"

qe=p/.superqode/qe-artifacts

# work <session>: start it and change something there, with a test
work() {
	start_ws p "$1" && echo more >>"${ws:?}/src/main.c" && mkdir -p "${ws:?}/tests" && echo "of $1" >"${ws:?}/tests/test_$1.py"
}

# artifacts_of <session>: path of each
artifacts_of() {
	ews artifact list --session "$1" --json >list.json &&
		grep -o "\"path\":\"[^\"]*\"" list.json | sed "s/.*:\"//; s/\"//" | sort
}

test_expect_success 'P7: end stores the patch, the new tests, the log and the report, and names them' '
	test_repo p && day=$(date -u +%Y-%m-%d) && work a && ews end --dry-run a >out && test_path_is_missing p/.superqode && cp -a "$ws" kept && ews end a >out 2>err &&
	for line in "Report: $PWD/${qe:?}/qr/qr-$day-a.md" "Patch: $PWD/${qe:?}/patches/a.patch" "Test: $PWD/${qe:?}/generated-tests/unit/test_a.py" "Log: $PWD/${qe:?}/logs/a-events.log"; do
		test_grep "^  $line\$" out && test_path_is_file "${line#*: }" || return 1
	done &&
	test_path_is_file ${qe:?}/qr/qr-$day-a.json && test_json ${qe:?}/qr/qr-$day-a.json .state ended && test_json ${qe:?}/qr/qr-$day-a.json .revert.command "git ews undo a" &&
	test_json_count ${qe:?}/qr/qr-$day-a.json .artifacts 3 && artifacts_of a >list && test_line_count = 5 list &&
	git clone -q p copy && git -C copy apply --index "../${qe:?}/patches/a.patch" && test_same_tree -x .git kept copy &&
	echo "of a" >want && test_cmp want ${qe:?}/generated-tests/unit/test_a.py && git -C p status --porcelain >st && test_must_be_empty st
'

test_expect_success 'P4: ended again after an undo, its artifacts are brought up to date, and none comes twice' '
	ews artifact list --json >before && cp list list.before && ews undo && echo yet >>"${ws:?}/tests/test_a.py" && ews end --json a >json && artifacts_of a >list && test_cmp list.before list &&
	test_json_count json ".sessions[0].artifacts" 5 && test_json json ".sessions[0].artifacts[0].id" patch-001 && test_json json ".sessions[0].artifacts[0].path" "$PWD/${qe:?}/patches/a.patch" &&
	test_grep "^+yet\$" ${qe:?}/patches/a.patch && ews undo && echo last >>"${ws:?}/tests/test_a.py" && ews undo --redo && artifacts_of a >list && test_cmp list.before list && test_grep "^+last\$" ${qe:?}/patches/a.patch
'

test_expect_success 'P4: what a session left stays when another one takes its id' '
	test_repo again && for word in first second; do
		start_ws again twice && echo $word >>"${ws:?}/src/main.c" && mkdir -p "${ws:?}/tests" && echo $word >"${ws:?}/tests/test_x.py" && git -C again ews end twice >$word.out 2>err || return 1
	done &&
	kept=again/.superqode/qe-artifacts && test_grep "^+first\$" ${kept:?}/patches/twice.patch && test_grep "^+second\$" ${kept:?}/patches/twice-2.patch && test_grep "Patch: .*/twice-2.patch$" second.out &&
	echo first >want && test_cmp want ${kept:?}/generated-tests/unit/test_x.py && echo second >want && test_cmp want ${kept:?}/generated-tests/unit/test_x-2.py &&
	test_json_count ${kept:?}/qr/qr-$day-twice-2.json .artifacts 3 &&
	git -C again ews artifact list >list && test_line_count = 10 list && git -C again ews undo && echo third >>"${ws:?}/src/main.c" && git -C again ews end twice >out &&
	git -C again ews artifact list >list && test_line_count = 10 list && test_grep "^+third\$" ${kept:?}/patches/twice-2.patch && test_grep ! third ${kept:?}/patches/twice.patch
'

test_expect_success 'nothing to tell, nothing stored; a finding is something, and no patch' '
	start_ws p same && ews end --json same >json && test_json_count json ".sessions[0].artifacts" 0 && artifacts_of same >list && test_must_be_empty list &&
	start_ws p said && ews report finding add --severity warning --title slow >out && ews end --json said >json && artifacts_of said >list && test_line_count = 3 list && test_grep ! patch list &&
	test_json ${qe:?}/qr/qr-$day-said.json .verdict "CONDITIONAL PASS"
'

test_expect_success '--no-artifacts, and the setting, leave all of it out; --split stores a patch a file' '
	work b && ews end --no-artifacts b >out && test_grep ! "Report:" out && artifacts_of b >list && test_must_be_empty list &&
	work c && printf "qe:\n  workspace:\n    preserve_artifacts: false\n" >p/superqode.yaml && ews end --json c >json && test_json_count json ".sessions[0].artifacts" 0 && rm p/superqode.yaml &&
	ews undo && ews end --split c >out && test_grep "Patches: .* and 1 more$" out && ls ${qe:?}/patches >names && printf "%s\n" a.patch c-src_main.c.patch c-tests_test_c.py.patch >want && test_cmp want names &&
	git -C copy reset -q --hard && git -C copy apply "../${qe:?}/patches/c-src_main.c.patch" "../${qe:?}/patches/c-tests_test_c.py.patch" && git -C copy diff --exit-code --stat HEAD -- docs >out &&
	test_expect_code 129 git -C p ews end --split --no-artifacts c
'

# How many depends on the file system: one that keeps order (base/fs) needs some dozens in all, another some of each file.
test_expect_success 'many are stored together: each whole, by one record, whatever their names become, with few waits for the disk' '
	test_repo many && many=$PWD/many/.superqode/qe-artifacts && start_ws many s && mkdir "${ws:?}/a" && for i in $(seq 80); do echo "$i" >"${ws:?}/n$i" || exit 1; done && echo 1 >"${ws:?}/a/x" && echo 2 >"${ws:?}/a_x" &&
	for name in n1 n2; do mkdir "${ws:?}/test_${name:?}" && echo "of $name" >"${ws:?}/test_${name:?}/test_it.py" || exit 1; done && cp -a "${ws:?}" kept-many &&
	test_strace trace -e trace=fsync,fdatasync,syncfs "$EWS_BIN/git-ews" -C many end --split --json s >json && test "$(grep -c "sync(" trace)" -lt 350 &&
	test_json_count json ".sessions[0].artifacts" 89 && ls "${many:?}/patches" >names && test_line_count = 84 names && grep a_x names >alike && printf "%s\n" s-a_x-2.patch s-a_x.patch >want && test_cmp want alike &&
	git clone -q many copy-many && for patch in "${many:?}"/patches/*; do git -C copy-many apply "$patch" || return 1; done && test_same_tree -x .git kept-many copy-many &&
	sort "${many:?}"/generated-tests/unit/* >tests && printf "of %s\n" n1 n2 >want && test_cmp want tests && git -C many ews artifact list --json >list.json && test_json_count list.json .artifacts 89 && test_grep ! "\"file\":\"\(changed\|missing\)" list.json &&
	git -C many for-each-ref --format="%(refname) %(parent)" refs/ews/artifacts >parents && test_line_count = 89 parents && test_grep ! " [0-9a-f]" parents &&
	git -C many ews undo && git -C many ews end --split s >out && git -C many ews artifact list --json >list.json && test_json_count list.json .artifacts 89 &&
	test_strace trace -e trace=fsync,fdatasync,syncfs "$EWS_BIN/git-ews" -C many artifact prune --keep 0 >out && test "$(grep -c "sync(" trace)" -lt 170 && ls "${many:?}/patches" >names && test_must_be_empty names && git -C many ews undo && git -C many ews artifact list --json >list.json && test_json_count list.json .artifacts 89 && test_grep ! "\"file\":\"\(changed\|missing\)" list.json
'

# reads <n> <verb>...: one that was stored before is read so often
reads() {
	reads=$1 && shift && test_strace trace -e trace=openat "$EWS_BIN/git-ews" -C many "$@" >out && test_grep openat trace && test "$(grep -c "\"refs/ews/artifacts/patch-007\"" trace)" = "$reads"
}

test_expect_success 'what was stored before is read once, however much is stored; a snapshot reads none of it' '
	start_ws many once && echo once >"${ws:?}/test_once.py" && reads 0 snapshot create once && reads 1 report once && reads 1 end once && test_grep "Report:" out && test_grep "Test:" out && reads 1 artifact list
'

test_expect_success 'P4: one whose name is taken in that moment gets the next, and the others theirs' '
	start_ws many taken && for i in 1 2 3; do echo "taken t$i" >"${ws:?}/t$i" || exit 1; done && test_strace trace -P "${many:?}/patches" -e trace=renameat2 -e inject=renameat2:error=EEXIST:when=2 "$EWS_BIN/git-ews" -C many end --split taken >out 2>err && test_grep INJECTED trace &&
	test_path_is_missing "${many:?}/patches/taken-t2.patch" && for name in t1 t2-2 t3; do test_grep "^+taken ${name%-2}\$" "${many:?}/patches/taken-$name.patch" || return 1; done && git -C many ews artifact list --session taken --json >list.json && test_json_count list.json .artifacts 6 && test_grep ! "\"file\":\"\(changed\|missing\)" list.json
'

test_expect_success 'P4: what git prunes before its ref stands is no artifact: the end says so, leaves no broken ref, and works once more' '
	test_repo pruned && start_ws pruned s && echo more >>"${ws:?}/src/main.c" && printf "%s\n" "#!/bin/sh" "git -C \"$PWD/pruned\" prune --expire=now" >prunes && chmod +x prunes &&
	for at in 1 2; do
		test_expect_code 1 "$EWS_BUILD/t/killat" -c "^rename.*refs/ews/artifacts/" -x "$PWD/prunes" $at "$EWS_BIN/git-ews" -C pruned end s >out 2>err && test_must_be_empty out && test_grep "^error: session .s. goes on: .*went before it was kept" err &&
			git -C pruned fsck --connectivity-only && git -C pruned for-each-ref && git -C pruned gc -q && test_path_is_dir "${ws:?}" || return 1
	done &&
	git -C pruned ews end s >out && test_grep "Patch:" out && git -C pruned gc -q --prune=now && git -C pruned ews artifact list --json >list.json && test_json_count list.json .artifacts 4 && test_grep ! "\"file\":\"\(changed\|missing\)" list.json &&
	place=pruned/.superqode/qe-artifacts && echo lone >${place:?}/logs/lone.log && rm ${place:?}/manifest.json && "$EWS_BUILD/t/killat" -c "^rename.*refs/ews/artifacts/" -x "$PWD/prunes" 1 "$EWS_BIN/git-ews" -C pruned artifact list >out 2>err && test_grep ! lone out && test_grep "cannot keep .logs/lone.log.: .*went before it was kept" err &&
	git -C pruned for-each-ref && rm ${place:?}/manifest.json && git -C pruned ews artifact list >out && test_grep lone out
'

# in_the_way <directory of artifacts>: nothing can be stored there
in_the_way() {
	mv "${qe:?}/$1" away && : >"${qe:?}/$1" && test_expect_code 128 git -C p ews end d >out 2>err && test_must_be_empty out && test_grep "^error: session .d. goes on: cannot store the $2" err &&
		test_grep "^hint: .*--no-artifacts" err && ews path d >out && test_path_is_file "${ws:?}/tests/test_d.py" && ews status --json d >json && test_json json ".sessions[0].state" active &&
		rm "${qe:?}/$1" && mv away "${qe:?}/$1"
}

test_expect_success 'P4: while one of them can not be stored the session stays' '
	work d && in_the_way patches patch && in_the_way generated-tests tests && in_the_way logs log && in_the_way qr report && ews end d >out && artifacts_of d >list && test_line_count = 5 list
'

test_expect_success 'run ends likewise: each thing once, what the command printed as well' '
	ews run --new=e --log --end --json -- sh -c "echo hi; echo of e >test_e.py; git push; :" >json 2>err && artifacts_of e >list && printf "%s\n" generated-tests/unit/test_e.py logs/e-events.log logs/e.log patches/e.patch qr/qr-$day-e.json qr/qr-$day-e.md >want &&
	test_cmp want list && test_json json .ended true && test_json_count json .artifacts 5 && ews artifact list --type log --session e >out && test_grep "logs/e.log  what a command printed$" out && test_grep "git push" ${qe:?}/qr/qr-$day-e.md &&
	test_json ${qe:?}/qr/qr-$day-e.json ".blocked[0].command" "git push"
'

test_expect_success 'in place, and of a plain directory' '
	start_ws p --method in-place f && echo here >p/new && ews end --json f >json && test_path_is_missing p/new && test_json json ".sessions[0].revert.verified" true && artifacts_of f >list && test_line_count = 4 list && test_grep "^+here\$" ${qe:?}/patches/f.patch &&
	mkdir plain && echo 1 >plain/file && start_ws plain g && echo 2 >"${ws:?}/file" && git -C plain ews end g >out && test_grep "^+2\$" plain/.superqode/qe-artifacts/patches/g.patch && test_path_is_file plain/.superqode/qe-artifacts/qr/qr-$day-g.md
'

if test_have_prereq VALGRIND; then
	test_done # a killed tracer is no test of the program
fi
kill_points=4

# The session is whole, or all of its artifacts are; to end it once more makes none twice.
after_end() {
	if ews path h >where 2>err; then
		where=$(cat where) && test_path_is_file "${where:?}/tests/test_h.py" && ews end --split h >out 2>err || return 1
	fi
	artifacts_of h >list && test_cmp want list && test_grep "^+of h\$" ${qe:?}/patches/h-tests_test_h.py.patch
}

test_expect_success 'P4: killed anywhere, an end leaves the session whole or the artifacts' '
	rm -rf p && test_repo p && work h && save work && ews end --split h >out && artifacts_of h >want && test_line_count = 6 want && sweep work after_end end --split h
'

# cut <regexp> [<option of killat>...]: the end of session h, with a branch, is cut short there
cut() {
	restore work && at=$1 && shift && killat -c "$at" "$@" 1 git-ews -C p end --branch res h >cut.out 2>cut.err
}

test_expect_success 'P3: what an end left that was killed before it began is named once by recover, as text and as JSON, and is what it should be after the next' '
	test_expect_code 137 cut "sessions/h/journal" && ews path h >out && git -C p show-ref -q --verify refs/heads/res && ews status >out && test_grep "left: by an end that did not come about; git ews recover names it" out && ews status -v >out && test_grep "Left: *an end that did not come about" out && ews status --json >json && test_json json ".sessions[0].left_by_end" true && test_json json ".sessions[0].state" active &&
	ews recover --all >out && test_line_count = 2 out && test_grep "^session .h.: an end that did not come about left artifacts: .*patches/h.patch.*git ews artifact list --session h. shows them$" out && test_grep "^session .h.: an end that did not come about left the branch .res.; .*git branch -D res. deletes it$" out &&
	ews recover --all >out 2>err && test_grep "nothing is interrupted" err && ews status --json >json && test_grep ! left_by_end json && ews end --branch res h >out && test_path_is_missing "$HOME/.superqode/working/p/sessions/h/leaving" && ews undo h >out && ews recover --all >out 2>err && test_grep "nothing is interrupted" err && test_must_be_empty out &&
	test_expect_code 137 cut "sessions/h/journal" && ews recover --all --json >json && test_json_count json ".recovered[0].done" 2 && test_json json ".recovered[0].session_id" null && test_json_count json .not_recovered 0 &&
	test_expect_code 137 cut "sessions/h/journal" && git -C p branch -f res HEAD && git -C p commit -q --allow-empty -m mine && git -C p branch -f res HEAD && ews recover h --json >json && test_json json ".recovered[0].session_id" h && test_json_count json ".recovered[0].done" 1 && git -C p show-ref -q --verify refs/heads/res
'

test_expect_success 'P3: so it is by one that a signal ends, and of one that had stored nothing there is nothing to name' '
	test_expect_code 143 cut "sessions/h/journal" -s TERM && test_grep "^note: session .h.: an end that did not come about left artifacts: .*patches/h.patch.*; session .h.: .* left the branch .res." cut.err && ews recover --all >out 2>err && test_grep "nothing is interrupted" err && ews path h >out &&
	test_expect_code 143 cut "refs/heads/res" -s TERM && test_grep "left artifacts" cut.err && test_grep ! "branch" cut.err && git -C p branch res && echo yet >>"${ws:?}/run.sh" &&
	test_expect_code 128 git -C p ews end --branch res h && ews status --json >json && test_json json ".sessions[0].left_by_end" true && ews recover --all >out && test_line_count = 1 out && test_grep "left artifacts" out &&
	test_expect_code 128 git -C p ews end --no-artifacts --branch res h && ews status --json >json && test_grep ! left_by_end json &&
	test_expect_code 137 cut "sessions/h/leaving" && ews recover --all >out 2>err && test_grep "nothing is interrupted" err && ews end h >out
'

test_done
