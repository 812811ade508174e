#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='snapshot verify --all: one byte that is another one, anywhere, is found and named with the path it holds (P4)'

. "$(dirname "$0")/test-lib.sh"

# flip <file> <offset>: that byte becomes its complement
flip() {
	byte=$(dd if="$1" bs=1 skip="$2" count=1 2>/dev/null | od -An -tu1 | tr -d ' ') && chmod u+w "$1" &&
		printf %b "\\0$(printf %o $((255 - byte)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# names <oid>: where the object is, a line each; what is no file or directory is a commit
names() {
	sed -n "s/^$1 //p" map
}

# add_names <label> <tree-ish>
add_names() {
	git -C r ls-tree -r -t --format="%(objectname) $1%(path)" "$2" >>map && echo "$(git -C r rev-parse "$2^{tree}") tree" >>map
}

# found <what>: verify --all says no, and each line of `want` that is there is said in one of its own
found() {
	test_expect_code 1 git -C r ews snapshot verify --all --trash >out 2>err || {
		echo >&2 "$1: not found" && cat out err >&2
		return 1
	}
	grep -q -F -f want out || {
		echo >&2 "$1: no name of these is in what was said" && cat want out err >&2
		return 1
	}
}

test_expect_success 'setup: a small repository, a session with staged, committed and odd things, one in trash' '
	mkdir r && git -C r init -q && mkdir -p r/src/deep && echo one >r/src/deep/a && echo two >"r/b c" && ln -s b r/link && git -C r add -A && git -C r commit -q -m one &&
	echo later >r/src/later && git -C r add -A && git -C r commit -q -m two && echo uncommitted >r/src/un && start_ws r s && echo mine >"${ws:?}/mine" && git -C "$ws" add mine && echo more >>"${ws:?}/mine" &&
	echo third >"${ws:?}/third" && git -C "$ws" add third && git -C "$ws" commit -q -m three third && snap=$(git -C r ews snapshot create s) && echo gone >"${ws:?}/gone" && dropped=$(git -C r ews snapshot create s) &&
	git -C r ews snapshot drop "$dropped" && git -C r ews snapshot verify --all --trash >out && test_grep ! ":.*:" out && test_line_count = 3 out
'

test_expect_success 'setup: what each object is called' '
	: >map && for ref in refs/ews/sessions/s "refs/ews/snapshots/$snap" "refs/ews/trash/$dropped"; do
		commit=$(git -C r rev-parse "$ref") && manifest=$(git -C r rev-list --parents -n 1 "$commit" | sed "s/.* //") && head=$(git -C r rev-parse "$commit^1") &&
		add_names "" "$commit" && add_names "manifest:" "$manifest" && add_names "HEAD:" "$head" || return 1
		echo "$commit commit" >>map && echo "$manifest manifest" >>map && echo "$head HEAD" >>map
	done && for old in $(git -C r rev-list --all --exclude="refs/ews/*" HEAD "refs/ews/snapshots/$snap^1"); do
		short=$(echo "$old" | cut -c 1-12) && add_names "$short:" "$old" && echo "$old $short" >>map || return 1
	done && git -C r rev-list --objects --all | cut -c 1-40 | sort -u | sed "s#^..#r/.git/objects/&/#" >files && test_line_count -ge 25 files
'

test_expect_success 'P4: a byte in each loose object in turn' '
	while read -r file; do
		oid=$(echo "$file" | sed "s/.*objects.//; s/\///") && names "$oid" >want && test -s want || { echo >&2 "$file belongs to nothing" && return 1; }
		size=$(stat -c %s "$file") && cp -pf "$file" saved && for at in 0 $((size / 2)) $((size - 1)); do
			flip "$file" $at && found "$oid ($(head -n 1 want)) at $at" && rm -f "$file" && cp -pf saved "$file" || return 1
		done
	done <files && git -C r ews snapshot verify --all --trash
'

test_expect_success 'P4: an object that is gone, or that has something behind its end' '
	oid=$(git -C r rev-parse "refs/ews/snapshots/$snap:mine") && file=r/.git/objects/$(echo "$oid" | sed "s/../&\//") && names "$oid" >want && cp -pf "$file" saved && chmod u+w "$file" &&
	echo x >>"$file" && found longer && rm "$file" && found gone && cp -pf saved "$file" && git -C r ews snapshot verify --all
'

test_expect_success 'P4: a loose object that a pack has as well, from where git would read it' '
	git -C r repack -a -q && flip "$file" 9 && found "beside a pack" && rm -f "$file" && cp -pf saved "$file" && git -C r ews snapshot verify --all
'

test_expect_success 'P4: bytes all over a pack and its index' '
	git -C r gc -q --prune=now && pack=$(ls r/.git/objects/pack/*.pack) && idx=${pack%.pack}.idx && for file in "$pack" "$idx"; do
		size=$(stat -c %s "$file") && cp -pf "$file" saved && basename "$file" >want && at=0 && while test $at -lt "$size"; do
			flip "$file" $at && found "$file at $at" && rm -f "$file" && cp -pf saved "$file" || return 1
			at=$((at + size / 12 + 1))
		done && flip "$file" $((size - 1)) && found "the end of $file" && rm -f "$file" && cp -pf saved "$file" || return 1
	done && git -C r ews snapshot verify --all
'

test_expect_success STRACE 'what the disk does not give of a pack is not called damaged' '
	for call in read pread64; do
		test_expect_code 1 test_strace trace -P "${PWD:?}/$idx" -e trace=$call -e inject=$call:error=EIO git -C r ews snapshot verify --all >out &&
			test_grep INJECTED trace && test_grep "${idx##*/}: cannot read it: Input/output error" out || return 1
	done && : >said && look=0 && while test_more_looks; do
		test_look EMFILE "open.*/objects/pack$" -C r snapshot verify --all >out 2>err && cat err >>said || return 1
	done && test_grep "^error: cannot look for packs" said
'

# loose <repository> <object>: the file that it has to itself.
loose() {
	echo "${1:?}/.git/objects/$(echo "${2:?}" | sed 's/../&\//')"
}

test_expect_success STRACE 'P3: from where on the disk gives no commit any more its history is not called whole' '
	test_repo deep && git -C deep rm -qrf . && git -C deep commit -qm bare && git -C deep commit -q --allow-empty -m top && git -C deep ews snapshot create >out && rm "$(loose deep "$(git -C deep rev-parse HEAD~2:run.sh)")" && for name in $(git -C deep rev-parse HEAD HEAD~1); do
		for n in 1 2 3 4 5 6; do
			test_expect_code 1 test_strace trace -P "$(loose "${PWD:?}/deep" $name)" -e trace=openat -e inject=openat:error=EIO:when=$n+ git -C deep ews snapshot verify --all >out && test_grep "^store: .*is missing$\|: Input/output error$" out || { echo >&2 "$name, $n"; return 1; }
		done || return 1
	done
'

test_expect_success 'P4: in a pack the paths are named as well, and --json has all of it' '
	oid=$(git -C r rev-parse "refs/ews/snapshots/$snap:src/un") && offset=$(git -C r show-index <"$idx" | sed -n "s/^\([0-9]*\) $oid.*/\1/p") && cp -pf "$pack" saved && flip "$pack" $((offset + 6)) &&
	echo "src/un" >want && found "src/un" && test_expect_code 1 git -C r ews snapshot verify --all --json >out && test_json out ".snapshots[0].verified" false && test_json out ".problems[0]" &&
	test_expect_code 1 git -C r ews snapshot verify "$snap" >out && test_grep "^$snap: src/un: " out && rm -f "$pack" && cp -pf saved "$pack" && git -C r ews snapshot verify
'

test_expect_success 'what is in trash is looked at when that is asked for; where history ends, or is promised, nothing is missing' '
	oid=$(git -C r rev-parse "refs/ews/trash/$dropped:gone") && git -C r unpack-objects -q <"$pack" && rm -f "$pack" "$idx" && git -C r unpack-objects -q <saved && rm -f "r/.git/objects/$(echo "$oid" | sed "s/../&\//")" &&
	git -C r ews snapshot verify --all && test_expect_code 1 git -C r ews snapshot verify --all --trash >out && test_grep "gone: " out && test_expect_code 129 git -C r ews snapshot verify --trash &&
	git clone -q --depth 1 "file://$PWD/r" shallow && git -C shallow ews snapshot create >out && git -C shallow ews snapshot verify --all
'

# lost <bytes> <name> <path>: with a byte of that object flipped, which nothing else holds, verify --all names it so, $trash as well
lost() {
	# shellcheck disable=SC2086 # none, or one
	file=$(loose kept "$(printf "%s\n" "$1" | git -C kept hash-object --stdin)") && cp -pf "$file" saved && flip "$file" 9 && test_expect_code 1 git -C kept ews snapshot verify --all $trash >out &&
		test_grep "^$2: $3: object .* is damaged" out && test_grep ! -v -e "^$2: " -e "^store: " -e ": ok$" out && test_expect_code 1 git -C kept ews snapshot verify --all $trash --json >json &&
		test "$(grep -o "[^{]*\"verified\":false" json)" = "\"kind\":\"${2%% *}\",\"name\":\"${2#* }\",\"verified\":false" && rm -f "${file:?}" && cp -pf saved "$file"
}

test_expect_success 'P4: what a pending result, a round or an artifact alone holds is read, and named as that' '
	test_repo kept && echo wip >kept/un && ws=$(git -C kept ews round start --agent a 2>err) && echo theirs >"${ws:?}/rw" && round=$(git -C kept ews round end --agent a) && rm kept/un && start_ws kept s && echo left >"${ws:?}/pw" &&
	git -C kept ews end --pending s && echo proof | git -C kept ews artifact add --type LOG --name x --json - >json && log=$(json json .artifact.id) && git -C kept ews clean --now && git -C kept for-each-ref refs/ews/trash/ >out && test_must_be_empty out && trash= &&
	git -C kept ews snapshot verify --all >out && test_grep "^round $round: ok" out && test_grep "^pending s: ok" out && test_grep "^pending s/base: ok" out && test_grep "^artifact $log: ok" out && test_grep ! -v ": ok$" out &&
	lost theirs "round $round" rw && lost wip "round $round" "$(git -C kept rev-parse "$round^" | cut -c 1-12):un" && lost left "pending s" pw && lost proof "artifact $log" x &&
	file=$(loose kept "$(git -C kept rev-parse refs/ews/pending/s/result)") && mv "${file:?}" saved && test_expect_code 1 git -C kept ews snapshot verify --all >out && test_grep "^pending s: the snapshot.s commit: object .* is missing" out && mv saved "$file"
'

test_expect_success 'P4: the same of what is in trash, when that is asked for; a ref that is none of these is read as well' '
	git -C kept ews artifact remove "$log" && git -C kept ews round end --all && git -C kept ews snapshot verify --all >out && test_grep ! -e "^round" -e "$log" out && trash=--trash && lost theirs "round $round" rw && lost proof "artifact $log" x &&
	echo else >kept/else && git -C kept update-ref refs/ews/else "$(git -C kept add else && git -C kept commit-tree -m else "$(git -C kept write-tree)")" && git -C kept rm -q -f --cached else && trash= && lost else "ref refs/ews/else" else
'

test_expect_success 'where a remote promised what a round holds of the project nothing is missing' '
	git -C kept config uploadpack.allowFilter true && git clone -q --no-checkout --filter=blob:none "file://$PWD/kept" promised && git -C promised sparse-checkout set src && git -C promised checkout -q && ws=$(git -C promised ews round start --agent a 2>err) && echo more >>"${ws:?}/src/main.c" &&
	round=$(git -C promised ews round end --agent a) && git -C promised rev-list --objects --missing=print "refs/$round" >out && test_grep "^?" out && git -C promised ews snapshot verify --all >out && test_grep "^round $round: ok" out
'

test_expect_success 'P4: a snapshot whose commit is gone is named, and keeps no verb from the others' '
	test_repo lacks && start_ws lacks l && one=$(git -C lacks ews snapshot create l) && echo more >>"${ws:?}/run.sh" && two=$(git -C lacks ews snapshot create l) && of=$(git -C lacks ews snapshot create) && gone=refs/ews/snapshots/$two &&
	file=lacks/.git/objects/$(git -C lacks rev-parse "$gone" | sed "s#^..#&/#") && mv "${file:?}" saved && git -C lacks ews snapshot list l >out 2>err && test_grep "$one" out && test_grep ! "$two" out && test_grep "^warning: damaged: $gone (object .* is missing)" err && test_grep "ews doctor" err &&
	git -C lacks ews snapshot list --all >out 2>err && test_grep "$of" out && test_grep "^warning: damaged: $gone " err && git -C lacks ews snapshot list --json l >json && test_json_count json .snapshots 2 && test_json json ".damaged[0].path" "$gone" &&
	test_expect_code 1 git -C "$ws" ews snapshot verify >out 2>err && test_grep "^$one: ok" out && test_grep "^$gone: the snapshot.s commit: object .* is missing" out && git -C lacks ews snapshot create >id 2>err && test_grep "^snap-" id &&
	git -C lacks ews snapshot create l >id && git -C lacks ews snapshot prune --keep 1 l >out 2>err && test_grep "$one" out && test_grep ! "$two" out && test_grep "^warning: damaged: $gone " err && git -C lacks ews report l >out && test_grep "$gone" "$(cat out)" &&
	mv saved "$file" && git -C lacks ews snapshot list l >out 2>err && test_grep "$two" out && test_must_be_empty err
'

test_expect_success 'packs that the disk does not name are not missing: that is said, and doctor advises to delete nothing' '
	test_repo unlisted && start_ws unlisted u && echo more >>"${ws:?}/run.sh" && git -C unlisted ews snapshot create u >id && git -C unlisted gc -q && for verb in "diff u" "snapshot create u" "revert u" "end u"; do
		test_expect_code 128 test_strace trace -P "$PWD/unlisted/.git/objects/pack" -e trace=getdents64 -e inject=getdents64:error=EIO git -C unlisted ews $verb 2>err && test_grep INJECTED trace && test_grep "cannot read object .*/objects/pack.: cannot read directory: Input/output error" err || return 1
	done && test_expect_code 1 test_strace trace -P "$PWD/unlisted/.git/objects/pack" -e trace=getdents64 -e inject=getdents64:error=EIO git -C unlisted ews doctor >out && test_grep "problem *refs .*Input/output error" out && test_grep "problem *sessions .*Input/output error" out && test_grep ! -e "is missing" -e update-ref out &&
	git -C unlisted ews doctor && git -C unlisted ews end u
'

test_done
