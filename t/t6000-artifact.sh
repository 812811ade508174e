#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='artifacts: kept in the project and in the store, under safe names, brought back when they are gone (P4, P5)'

. "$(dirname "$0")/test-lib.sh"

qe=.superqode/qe-artifacts

# art <project> <argument>...: run it, show what it says when it fails
art() {
	ews_project=$1 && shift && git -C "$ews_project" ews artifact "$@" >out 2>err || {
		ews_code=$?
		cat err >&2
		return $ews_code
	}
}

# add <project> <argument>...: likewise, of what is read
add() {
	ews_add=$1 && shift && art "$ews_add" add "$@" -
}

# listed <project>: id and path of each, what is wrong with it, nothing of ages
listed() {
	art "$1" list && sed "s/^\([^ ]*\)  *[0-9]* [a-z]*  *[0-9.]* [A-Za-z]*  /\1 /" out
}

# manifest_is_true <project>: each file that it names has the digest that it names, and there are as many as refs
manifest_is_true() {
	sed -n "s/.*\"path\":	\"\(.*\)\",/\1/p" "${1:?}/${qe:?}/manifest.json" >paths &&
		sed -n "s/.*\"sha256\":	\"\(.*\)\",/\1/p" "${1:?}/${qe:?}/manifest.json" | paste -d " " - paths | sed "s/ /  /" >sums &&
		{ test ! -s sums || (cd "${1:?}/${qe:?}" && sha256sum -c --quiet) <sums; } && git -C "$1" for-each-ref refs/ews/artifacts >refs &&
		test "$(wc -l <refs)" = "$(wc -l <paths)"
}

test_expect_success 'setup' '
	test_repo p && printf "a line\n" >line && git -C p ews artifact list >out && test_must_be_empty out && test_path_is_missing p/.superqode
'

test_expect_success 'add keeps a file in the directory of its type and prints its id' '
	n=0 && for row in PATCH:patches suggested-fix:patches Test_Unit:generated-tests/unit test_integration:generated-tests/integration \
		test_e2e:generated-tests/e2e test_api:generated-tests/api test_contract:generated-tests/contract test_fuzz:generated-tests/fuzz \
		test_load:generated-tests/load test_regression:generated-tests/regression test_security:generated-tests/security QR:qr \
		coverage:coverage summary:. log:logs error:logs trace:evidence screenshot:evidence; do
		n=$((n + 1)) && art p add --type ${row%%:*} --name n$n.x "$PWD/line" && test_grep "^note: kept as " err &&
			test_grep -- "-0*$n\$" out && test_cmp line "p/${qe:?}/${row#*:}/n$n.x" || return 1
	done &&
	test_fingerprint p >fp && manifest_is_true p && test_json p/${qe:?}/manifest.json .schema ews.artifacts/1 &&
	test_json p/${qe:?}/manifest.json ".artifacts[2].type" test_unit && test_json p/${qe:?}/manifest.json ".artifacts[2].id" test-unit-003 &&
	git -C p status --porcelain >st && test_must_be_empty st &&
	test_expect_code 129 git -C p ews artifact add --type sonnet x 2>err && test_grep "suggested_fix" err &&
	test_expect_code 129 git -C p ews artifact add --type log 2>err && test_expect_code 129 git -C p ews artifact add --type log . 2>err
'

test_expect_success 'list and show, as text and as JSON; by type, by session, by a unique part of the name' '
	art p list && test_line_count = 18 out && art p list --type log && test_line_count = 1 out && test_grep "^log-015 .*7 bytes  logs/n15.x$" out &&
	art p list --session nobody && test_must_be_empty out && art p list --json --type qr && test_json out .schema ews.artifact_list/1 &&
	test_json out ".artifacts[0].file" present && test_json out ".artifacts[0].size_bytes" 7 && test_json_count out .artifacts 1 &&
	art p show n15 && test_grep "^SHA-256: *$(sha256sum <line | cut -d " " -f 1)$" out && art p show --json trace && test_json out .artifact.name n17.x &&
	test_json out .artifact.file_path "$PWD/p/${qe:?}/evidence/n17.x" && test_expect_code 129 git -C p ews artifact show test- 2>err && test_grep "^hint: .*test-unit-003, " err &&
	test_expect_code 128 git -C p ews artifact show nothing 2>err
'

test_expect_success 'P4: a summary takes no name that others need for their directory' '
	test_repo fresh && for name in patches generated-tests coverage; do
		add fresh --type summary --name $name <line && test_cmp line "fresh/${qe:?}/$name-2" || return 1
	done && add fresh --type patch <line && add fresh --type test_unit <line && add fresh --type coverage <line && rm -rf fresh
'

test_expect_success 'P5: names are made safe; P4: nothing is overwritten' '
	add p --type log --name "../../../../evil" <line && test_path_is_file "p/${qe:?}/logs/evil" && add p --type log --name /etc/passwd <line &&
	test_path_is_file p/${qe:?}/logs/etc_passwd && add p --type log --name "-rf .. \"x\" é.log" <line && test_path_is_file p/${qe:?}/logs/rf_._x_.log &&
	add p --type log --name "..." <line && test_path_is_file p/${qe:?}/logs/artifact && add p --type summary --name manifest.json <line &&
	test_cmp line p/${qe:?}/manifest-2.json && add p --type log --name "$(printf "%0300d" 7).log" <line && add p --type log <line &&
	test_path_is_file "p/${qe:?}/logs/$(sed "s/\$/.log/" out)" && find p/$qe -type f >files && sed "s,.*/,," files >names && test_grep ! "[^A-Za-z0-9._-]" names &&
	add p --type log --name twice.tar.gz <line && echo mine >p/${qe:?}/logs/twice.tar-2.gz && add p --type log --name twice.tar.gz <line && test_grep "/twice.tar-3.gz\$" err &&
	test "$(cat p/${qe:?}/logs/twice.tar-2.gz)" = mine && ln -s "$PWD/nowhere" p/${qe:?}/logs/link && add p --type log --name link <line &&
	test_path_is_missing nowhere && test_path_is_file p/${qe:?}/logs/link-2 && rm p/${qe:?}/logs/link && manifest_is_true p
'

# stats <project>: each file but the manifest, with its mode, size and time
stats() {
	(cd "${1:?}/${qe:?}" && find . -type f ! -name "manifest*" -exec stat -c "%n %a %s %Y" {} + | sort)
}

test_expect_success 'P4: git clean and git gc cost nothing: list brings back what is missing, and says so' '
	chmod +x line && art p add --type test_unit --name exe "$PWD/line" && rm p/${qe:?}/logs/twice.tar-2.gz && stats p >before && git -C p clean -fdxq && test_path_is_missing p/$qe &&
	git -C p gc -q --prune=now && art p list && test_grep "^note: brought back: logs/evil$" err && test_grep "^warning: .manifest.json. was missing" err && stats p >after && test_cmp before after &&
	test -x p/${qe:?}/generated-tests/unit/exe && manifest_is_true p && rm p/${qe:?}/qr/n12.x && art p list --json && test_json out ".brought_back[0]" qr/n12.x && test_must_be_empty err && art p list && test_must_be_empty err
'

test_expect_success STRACE 'P8: what can not be read just now is not said to have changed, and what was removed goes once it can' '
	test_repo blind && echo kept | add blind --type log --name a.log && echo kept | add blind --type log --name b.log && touch -d "1 hour ago" blind/${qe:?}/logs/a.log && for error in EIO EMFILE; do
		look=0 && while test_more_looks; do test_look $error "[^n]	.*logs/a.log|fstat	.*a.log" -C blind artifact list >out 2>err && test_grep ! changed out && { test $code != 0 || test_grep "logs/a.log$\|logs/a.log  (unknown)" out; } || return 1; done && test $look -gt 1 || return 1
	done && art blind list && test_grep ! "(" out &&
	test_strace trace -P logs/a.log -e trace=openat,openat2 -e inject=openat,openat2:error=EIO "$EWS_BIN/git-ews" -C blind artifact remove log-001 >out 2>err && test_grep "^warning: .logs/a.log. can.t be read, and stays" err && test_grep kept blind/${qe:?}/logs/a.log &&
	art blind list && test_grep ! a.log out && test_path_is_missing blind/${qe:?}/logs/a.log && manifest_is_true blind
'

test_expect_success 'P4: what a person changed stays, is shown, and what was kept is exported' '
	echo more >>p/${qe:?}/logs/n15.x && art p list --type log && test_grep "logs/n15.x  (changed)" out && test_must_be_empty err && art p show log-015 && test_grep changed out &&
	art p export log-015 qr-012 --to new/dir && test_cmp line p/new/dir/n15.x && test_cmp line p/new/dir/n12.x && test_grep "^note: .logs/n15.x. was changed" err &&
	art p export --json log-015 --to new/dir && test_json out ".exported[0]" "$PWD/p/new/dir/n15-2.x" &&
	art p remove log-015 n12 && test_grep "logs/n15.x. was changed" err && test_path_is_missing p/${qe:?}/qr/n12.x && test_grep more p/${qe:?}/logs/n15.x && rm -r p/new p/${qe:?}/logs/n15.x
'

test_expect_success STRACE 'P4: an export whose file is not written to its end is none' '
	test_repo late && echo line | add late --type log --name late.log && test_expect_code 128 test_strace trace -P "$PWD/late/to/late.log" -e trace=close -e inject=close:error=EIO git-ews -C late artifact export late.log --to "$PWD/late/to" >out 2>err && test_must_be_empty out && test_grep "cannot write .late.log.: Input/output error" err && test_path_is_missing late/to/late.log
'

test_expect_success 'remove and prune move to trash; undo and redo turn that, files and all' '
	art p list && ! grep "^qr-012\|^log-015" out && git -C p ews undo >out && test_cmp line p/${qe:?}/qr/n12.x && test_cmp line p/${qe:?}/logs/n15.x && manifest_is_true p &&
	git -C p ews undo --redo && test_path_is_missing p/${qe:?}/qr/n12.x && test_path_is_missing p/${qe:?}/logs/n15.x && manifest_is_true p && git -C p ews snapshot list --trash >out && test_must_be_empty out &&
	git -C p ews snapshot verify --all --trash && test_expect_code 129 git -C p ews artifact prune && listed p >before && art p prune --keep 1 --dry-run && cp out would && listed p >got &&
	test_cmp before got && art p prune --older-than 1h && test_must_be_empty out && art p prune --keep 1 && test_cmp would out && art p list && ! grep -F -f would out && manifest_is_true p &&
	git -C p ews undo && listed p >got && test_cmp before got && art p prune --json --keep 0 && test_json_count out .removed "$(wc -l <before)" && git -C p ews clean --now && git -C p for-each-ref refs/ews >refs &&
	test_must_be_empty refs && find p/$qe -type f >files && echo p/${qe:?}/manifest.json >want && test_cmp want files
'

test_expect_success 'P4: what undo brings back has its file for itself' '
	test_repo own && echo one >one && echo two >two && art own add --type log --name l.log "$PWD/one" && one=$(cat out) && art own remove "$one" && art own add --type log --name l.log "$PWD/two" && two=$(cat out) && git -C own ews undo >out &&
	test_cmp one own/${qe:?}/logs/l.log && test_cmp two own/${qe:?}/logs/l-2.log && manifest_is_true own && art own remove "$two" && test_cmp one own/${qe:?}/logs/l.log && test_path_is_missing own/${qe:?}/logs/l-2.log &&
	git -C own ews clean --now && art own add --type log --name l.log "$PWD/two" && test_cmp two own/${qe:?}/logs/l-2.log
'

test_expect_success '--from-workspace keeps a file of the session; P5: no link leads out' '
	start_ws p s && mkdir "${ws:?}/sub" && cp line "${ws:?}/sub/f.log" && ln -s /etc/passwd "${ws:?}/sub/out" && ln -s /etc "${ws:?}/etc" && ln -s f.log "${ws:?}/sub/in" && mkfifo "${ws:?}/sub/fifo" &&
	art p add --type log --from-workspace sub/f.log && art p show --json f.log && test_json out .artifact.session_id s && test_json out .artifact.original_file sub/f.log &&
	(cd "${ws:?}/sub" && git ews artifact add --type log --from-workspace f.log) >out &&
	for bad in sub/out etc/passwd sub/in ../../../../../../../../etc/passwd /etc/passwd sub/fifo sub .; do
		test_must_fail git -C p ews artifact add --type log --from-workspace "$bad" >out 2>err && test_must_be_empty out || return 1
	done && git -C p for-each-ref refs/ews/artifacts >refs && test_line_count = 2 refs && art p list --session s && test_line_count = 2 out
'

test_expect_success 'collect keeps new tests by their kind, once; its rules are a setting' '
	(cd "${ws:?}" && mkdir -p tests/api tests/data pkg t web/e2e a && echo 1 >tests/api/test_users.py && echo 2 >pkg/x_test.go && echo 3 >t/t1.sh && chmod +x t/t1.sh && echo 4 >web/e2e/LoginFlow.spec.ts &&
		echo 5 >pkg/UserFuzzTest.java && echo 6 >pkg/code.go && echo 7 >tests/data/x.json && echo 8 >a/x_test.go && ln -s x tests/link && echo 9 >tests/test_loading.py && git mv src/numbers tests/numbers) &&
	art p collect --dry-run s && test_line_count = 8 out && art p collect s && cp out first && test_path_is_file p/${qe:?}/generated-tests/api/test_users.py &&
	for f in unit/x_test.go unit/x_test-2.go e2e/LoginFlow.spec.ts fuzz/UserFuzzTest.java unit/x.json unit/t1.sh unit/test_loading.py; do test_path_is_file p/${qe:?}/generated-tests/$f || return 1; done &&
	test -x p/${qe:?}/generated-tests/unit/t1.sh && art p collect s && test_cmp first out && echo new >>"${ws:?}/t/t1.sh" && art p collect s && test_cmp first out && test_grep new p/${qe:?}/generated-tests/unit/t1.sh &&
	test "$(git -C p log --oneline refs/ews/artifacts/$(sed -n "s/ *t.t1.sh//p" first) | wc -l)" = 2 && manifest_is_true p &&
	git -C p -c ews.artifacts.tests="*.go -> load" -c ews.artifacts.tests="!a/" ews artifact collect s --json >out && test_json_count out .tests 2 && test_json out ".tests[0].type" test_load &&
	test_json out ".tests[1].original_file" pkg/x_test.go && test_expect_code 128 git -C p -c ews.artifacts.tests="*.go -> odd" ews artifact collect s 2>err && test_grep "odd" err
'

test_expect_success 'the patch of run is an artifact, and a newer one takes its place' '
	git -C p ews run s -- sh -c "echo 1 >one" && git -C p ews run s -- sh -c "echo 2 >two" && art p list --type patch --json && test_json_count out .artifacts 1 && test_json out ".artifacts[0].session_id" s &&
	git -C p ews diff s >diff && test_cmp diff p/${qe:?}/patches/s.patch && echo mine >>p/${qe:?}/patches/s.patch && git -C p ews run s -- sh -c "echo 3 >three" && git -C p ews diff s >diff &&
	test_cmp diff p/${qe:?}/patches/s-2.patch && test_grep mine p/${qe:?}/patches/s.patch && git -C p ews run s -- git ews artifact list >inside 2>err && test_grep "^patch-.*patches/s.patch  (changed)" inside &&
	git -C p ews end s && art p list --session s && test_grep patches/s.patch out && rm p/${qe:?}/patches/s.patch && art p list
'

# hostile <text of manifest.json>: the artifacts are what they were
hostile() {
	cat >"p/${qe:?}/manifest.json" && art p list --json && listed p >got && test_cmp known got && manifest_is_true p && test_path_is_missing outside.log && test_cmp line victim.log
}

test_expect_success 'P5: whatever a manifest says, nothing outside is written, read or removed' '
	cp line victim.log && listed p >known && sum=$(sha256sum <line | cut -d " " -f 1) &&
	entry() { printf "{\"id\":\"%s\",\"type\":\"log\",\"path\":\"%s\",\"created_at\":\"2026-01-01T00:00:00Z\",\"sha256\":\"$sum\",\"size_bytes\":7}" "$1" "$2"; } &&
	echo garbage | hostile && test_grep . known && : | hostile && printf "{\"schema\":\"ews.artifacts/1\",\"artifacts\":[3,null,{}]}" | hostile && test_grep ! outside err &&
	{ printf "{\"schema\":\"ews.artifacts/1\",\"artifacts\":[" && entry log-900 "../../../victim.log" && printf , && entry log-901 "$PWD/victim.log" && printf , && entry log-902 "logs/../../../../victim.log" && printf , &&
		entry ../../heads/x logs/ok.log && printf , && entry log-903 "logs/gone.log" && printf "]}"; } | hostile &&
	{ head -c 100000 /dev/zero | tr "\0" "["; } | hostile && { printf "{\"schema\":\"ews.artifacts/1\",\"artifacts\":["; head -c 20000000 /dev/zero | tr "\0" " "; printf "]}"; } | hostile &&
	rm p/${qe:?}/manifest.json && ln -s "$PWD/victim.log" p/${qe:?}/manifest.json && listed p >got && test_cmp known got && test_cmp line victim.log && rm p/${qe:?}/manifest.json &&
	printf "{\"schema\":\"ews.artifacts/9\",\"artifacts\":[]}" >p/${qe:?}/manifest.json && cp p/${qe:?}/manifest.json newer && test_expect_code 128 git -C p ews artifact list 2>err && test_grep "newer version" err &&
	test_must_fail git -C p ews artifact add --type log line 2>err && test_cmp newer p/${qe:?}/manifest.json && rm p/${qe:?}/manifest.json && listed p >got && test_cmp known got
'

test_expect_success 'P4: a damaged manifest is written anew, with the files that no ref knows; a lost ref comes back from the file' '
	mkdir -p p/${qe:?}/qr && echo report >p/${qe:?}/qr/qr-x.md && echo junk >p/${qe:?}/manifest.json && art p list && test_grep "damaged" err && test_grep "^note: taken in: qr/qr-x.md$" err && test_grep "qr/qr-x.md$" out &&
	listed p >known && ref=refs/ews/artifacts/$(sed -n "s/ .*qr-x.md//p" known) && git -C p update-ref -d $ref && listed p >got && test_grep "taken in: qr/qr-x.md" err && test_cmp known got &&
	id=$(git -C p rev-parse $ref:qr-x.md) && chmod -R u+w p/.git/objects && rm -f p/.git/objects/$(echo $id | sed "s,^..,&/,") && rm p/${qe:?}/qr/qr-x.md && art p list && test_grep "^warning: cannot bring back .qr/qr-x.md." err &&
	test_grep "qr-x.md  (missing)" out && art p remove qr-x.md && manifest_is_true p
'

test_expect_success STRACE 'P4: an artifact, or a manifest, that can not be read just now is not taken for a damaged one; nor does another file take the place of a damaged one' '
	test_repo unread && echo precious | add unread --type log --name art.log && ref=refs/ews/artifacts/log-001 && was=$(git -C unread rev-parse $ref) && echo changed >unread/${qe:?}/logs/art.log && cp unread/${qe:?}/manifest.json known.json &&
	for path in "$PWD/unread/.git/objects/$(echo $was | sed "s,^..,&/,")" "$PWD/unread/${qe:?}/manifest.json"; do
		for error in EMFILE EIO; do
			test_expect_code 128 test_strace trace -P "$path" -e trace=openat,openat2,read -e inject=openat,openat2,read:error=$error "$EWS_BIN/git-ews" -C unread artifact add --type log "$PWD/line" 2>err && test_grep INJECTED trace && test_grep "^error: " err && test "$(git -C unread rev-parse $ref)" = $was && test_cmp known.json unread/${qe:?}/manifest.json || { echo >&2 "$path: $error"; return 1; }
		done || return 1
	done && art unread list && test_grep "art.log  (changed)" out && object=unread/.git/objects/$(echo $was | sed "s,^..,&/,") && mv $object away &&
	for n in 1 2; do art unread list && test_grep "^warning: log-001 is damaged, and .logs/art.log. is not what it was" err && test "$(cat unread/.git/refs/ews/artifacts/log-001)" = $was || return 1; done &&
	echo changed! >unread/${qe:?}/logs/art.log && test_expect_code 0 test_unread EIO 1 "art.log$" -C unread artifact list 2>err && test_grep "^warning: log-001 is damaged, and .logs/art.log. can.t be read just now" err && test "$(cat unread/.git/refs/ews/artifacts/log-001)" = $was &&
	mv away $object && art unread list && test_grep "art.log  (changed)" out && echo precious >want && git -C unread cat-file blob $ref:art.log | test_cmp want -
'

test_expect_success 'P4: of many that are added at once none is lost' '
	art p list && before=$(wc -l <out) && for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		{ echo $i | git -C p ews artifact add -q --type log --name same.log - >id.$i 2>err.$i 3>&- 4>&- & } || return 1
	done && wait && cat id.* | sort -u >ids && test_line_count = 16 ids && art p list && test_line_count = $((before + 16)) out && manifest_is_true p && cat p/${qe:?}/logs/same*.log | sort -n >got && test_seq 1 16 >want && test_cmp want got
'

test_expect_success 'P4: what took the place of an artifact since stays when its removal is done again, and keeps nobody from the rest' '
	test_repo since && start_ws since m && git -C since ews run m -- sh -c "echo 1 >n" >out 2>err && art since list --type patch --json && id=$(json out ".artifacts[0].id") && art since remove "$id" && git -C since ews undo >out && git -C since ews run m -- sh -c "echo 2 >>n" >out 2>err &&
	git -C since rev-parse "refs/ews/artifacts/$id" >want && test_expect_code 1 git -C since ews undo --redo 2>err && test_grep "refs/ews/artifacts/$id. has moved since" err && git -C since rev-parse "refs/ews/artifacts/$id" >got && test_cmp want got && git -C since ews recover --all >out 2>err && test_grep "nothing is interrupted" err && git -C since ews apply --check m >out &&
	record=$(find "$HOME/.superqode/working/since/undo" -name "op-*.json" -exec grep -l "$id" {} +) && sed -i "s/\"state\":	\"undone\"/\"state\":	\"redoing\"/" "$record" && git -C since ews recover --all >out && test_grep "of a drop: .*moved" out && git -C since rev-parse "refs/ews/artifacts/$id" >got && test_cmp want got && git -C since ews apply --check m >out
'

test_expect_success 'P5: a manifest that uses up the numbers of ids keeps nobody from adding artifacts' '
	test_repo last && mkdir -p last/${qe:?}/qr && cp line last/${qe:?}/qr/x.md && sum=$(sha256sum <line | cut -d " " -f 1) && printf "{\"schema\":\"ews.artifacts/1\",\"artifacts\":[{\"id\":\"qr-999999999\",\"type\":\"qr\",\"path\":\"qr/x.md\",\"created_at\":\"2026-01-01T00:00:00Z\",\"sha256\":\"$sum\",\"size_bytes\":7}]}" >last/${qe:?}/manifest.json &&
	for n in 1 2 3; do echo $n | add last --type log && cat out >>last.ids || return 1; done && printf "log-00%d\n" 1 2 3 >want && test_cmp want last.ids && art last list && test_line_count = 4 out && manifest_is_true last && art last remove log-002 && echo 4 | add last --type log && echo log-004 >want && test_cmp want out
'

test_expect_success 'P4: prune takes the oldest, also where one took the place of another since' '
	test_repo age && start_ws age a1 && git -C age ews run a1 -- sh -c "echo 1 >one" >out 2>err && start_ws age a2 && git -C age ews run a2 -- sh -c "echo 2 >two" >out 2>err && sleep 1.1 && git -C age ews run a1 -- sh -c "echo 3 >>one" >out 2>err && art age prune --keep 1 --dry-run && echo patch-002 >want && grep "^patch" out | test_cmp want -
'

test_expect_success 'plain directories, bare and SHA-256 repositories' '
	mkdir plain && add plain --type qr --name r.md <line && test_cmp line plain/${qe:?}/qr/r.md && rm -r plain/.superqode && art plain list && test_cmp line plain/${qe:?}/qr/r.md &&
	git init -q --bare bare.git && add bare.git --type qr --name r.md <line && art bare.git show --json r.md && file=$(json out .artifact.file_path) && test_cmp line "$file" && test "$(stat -c %a "$file" "${file%/*}" "${file%/qr*}/manifest.json" | tr "\n" " ")" = "600 700 600 " &&
	case $file in "$HOME"/.superqode/*) ;; *) false ;; esac && ls bare.git >list && test_grep ! superqode list &&
	git init -q --object-format=sha256 s2 && add s2 --type qr --name r.md <line && rm -r s2/.superqode && art s2 list && test_cmp line s2/${qe:?}/qr/r.md
'

test_expect_success 'a path that is the answer is printed as it is, and with -z a NUL ends it' '
	test_repo "say \"so\"" && (cd say* && git ews start one >../at && add . --type log --name one.log <../line &&
	for line in "start two" "path one" "report --output r one" "round start --agent ann" "round scratch --agent ann" "archive create" "artifact export --to e one.log" "guard install" "config init"; do
		git ews $line -z >out 2>err && tr "\0" "\n" <out >got && test_line_count = 1 got && test_grep "^/" got && test -e "$(cat got)" || return 1
	done &&
	for line in "path one" "report --output r one" "round scratch --agent ann" "archive create" "artifact export --to e one.log"; do
		test -e "$(git ews $line 2>err)" || return 1
	done)
'

test_expect_success 'beside path_bytes stand the bytes of path, also where the name of the project is not UTF-8' '
	odd=$(printf "caf\351") && test_repo "$odd" && add "$odd" --type log --name plain.log <line && (cd "$odd" && git ews artifact list --json) >json && test_json_missing json ".artifacts[0].path_bytes" && json json ".artifacts[0].file_path_bytes" | base64 -d >got && printf %s "$PWD/${odd:?}/${qe:?}/logs/plain.log" | cmp - got
'

# After a kill: an artifact that is whole, or none; a manifest that is true; and the next one fits in.
after_add() {
	art p list && add p --type log --name next.log <line && art p list && manifest_is_true p && find p/$qe -name ".tmp-*" >litter && test_must_be_empty litter &&
		test_grep logs/old.log out && { test_grep ! logs/new.log out || test_cmp line p/${qe:?}/logs/new.log; }
}
after_remove() {
	art p list && manifest_is_true p && { test_grep logs/old.log out || { test_path_is_missing p/${qe:?}/logs/old.log && git -C p ews undo && test_cmp line p/${qe:?}/logs/old.log; }; }
}
sound() {
	git -C p fsck --strict --no-dangling >fsck.out 2>&1
}

test_expect_success !VALGRIND 'P4: add and remove that are killed leave what is whole' '
	rm -rf p "$HOME/.superqode" fresh && test_repo p && add p --type log --name old.log <line && mkdir fresh && cp -a p fresh/p && cp -a "$HOME/.superqode" fresh/home && cp line new.log &&
	kill_points=3 && sweep fresh after_add artifact add --type log "$PWD/new.log" && sweep fresh after_remove artifact remove old.log
'

test_expect_success 'P4: a name that a file at the top shares with one in a directory means neither; id and path do' '
	test_repo same && top=$(git -C same ews artifact add --type summary --name it.txt - <line) && deep=$(git -C same ews artifact add --type log --name it.txt - <line) &&
	for line in "show it.txt" "remove it.txt" "export --to e it.txt"; do test_expect_code 129 git -C same ews artifact $line 2>err && test_grep "^hint: it fits $top, $deep" err || return 1; done &&
	git -C same ews artifact show "$top" >out && test_grep "/it.txt" out && git -C same ews artifact remove logs/it.txt && git -C same ews artifact show it.txt >out && test_grep "^artifact $top" out
'

test_expect_success 'list -z: the paths alone, as they are' '
	test_repo nul && for f in a b; do echo l >"nul/$f" && git -C nul ews artifact add --type log $f || return 1; done && git -C nul ews artifact list -z >out && tr "\0" "@" <out >got && printf "logs/a@logs/b@" >want && test_cmp want got && git -C nul ews suggestions list -z >out && test_must_be_empty out
'

test_done
