#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='hard links, access lists and owners come back (P2), proven (P3), and lead nowhere else (P5)'

. "$(dirname "$0")/test-lib.sh"

# same <a> <b>...: all are one file; apart <a> <b>...: none is one with the first
same() {
	for ews_name in "$@"; do
		test "$1" -ef "$ews_name" || return 1
	done
}
apart() {
	ews_first=$1
	shift
	for ews_name in "$@"; do
		test ! "$ews_first" -ef "$ews_name" || return 1
	done
}

# What is one file in the directory <dir>: a line for each file that has several names.
names_of() {
	find "$1" -name .git -prune -o -type f -links +1 -printf '%i %P\n' | sort |
		awk '{ i = $1; sub(/^[0-9]* /, ""); n[i] = n[i] " " $0 } END { for (i in n) print n[i] }' | sort
}

# as_before <dir> <name>: content, times and names are those of <name>.want and <name>.names
as_before() {
	"$EWS_SRC/t/lister" -x .git -x .superqode "$1" | sed -E 's/	(d [0-7]+) [0-9.]+ /	\1 - /' >"$2.got" &&
		test_cmp "$2.want" "$2.got" && names_of "$1" >"$2.got" && test_cmp "$2.names" "$2.got"
}
remember() {
	"$EWS_SRC/t/lister" -x .git -x .superqode "$1" | sed -E 's/	(d [0-7]+) [0-9.]+ /	\1 - /' >"$2.want" && names_of "$1" >"$2.names"
}

# reverts <session> [<option>...]: it succeeds, and says that it is proven
reverts() {
	ews_id=$1
	shift
	git -C "${project:-p}" ews revert "$@" "$ews_id" >out 2>err && test_grep "^  Status: Verified\$" out
}

# Part some, join others, write through one name, and change what all share.
mangle() (
	cd "$1" && rm b && echo shared >b && ln -f x y && ln x stray && echo through >deep/c && chmod 600 deep/c &&
		mv w/2 w/moved && echo other >w/2 && ln w/moved w/third && rm gone && ln t1 t0 && touch -d "2001-02-03 04:05:06.7" t1
)

test_expect_success 'setup: names of one file, among files of their own' '
	test_repo p && (
		cd p && mkdir deep w && echo shared >a && ln a b && ln a deep/c && echo alike >x && echo alike >y &&
		echo two >w/1 && ln w/1 w/2 && ln w/1 "w/odd
name" && echo t >t1 && ln t1 t2 && echo gone >gone && git add a b x y && touch -d "2002-03-04 05:06:07.8" a t1 && touch -r x y
	) && names_of p >names && test_line_count = 4 names
'

for method in worktree snapshot in-place; do
	test_expect_success "P2: $method: files are parted and joined as they were, by revert, undo and redo" '
		start_ws -n ws p --method '$method' one && remember "$ws" base && test_cmp names base.names && mangle "$ws" && remember "$ws" mangled &&
		test_must_fail test_cmp base.names mangled.names && reverts one && as_before "$ws" base && apart "${ws:?}/x" "${ws:?}/y" &&
		git -C p ews undo one && as_before "$ws" mangled && git -C p ews undo --redo one && as_before "$ws" base &&
		snap=$(git -C p ews snapshot create one) && mangle "$ws" && git -C p ews snapshot restore --force $snap one >out && as_before "$ws" base &&
		mangle "$ws" && reverts one --verify=full && as_before "$ws" base && reverts one && test_grep "restored: 0" out &&
		mangle "$ws" && remember "$ws" mangled && git -C p ews end one && git -C p ews undo one && { test '$method' = in-place || as_before "$ws" mangled; } && git -C p ews end one &&
		names_of p >got && test_cmp names got
	'
done

test_expect_success 'P2: what is right stays the file that it is; the others join it' '
	start_ws p stay && inode=$(stat -c %i "${ws:?}/deep/c") && rm "${ws:?}/a" && cp -p "${ws:?}/b" "${ws:?}/a" && reverts stay && test_grep "restored: 1" out &&
	test "$(stat -c %i "${ws:?}/deep/c")" = $inode && same "${ws:?}/a" "${ws:?}/b" "${ws:?}/deep/c" && git -C p ews end stay
'

test_expect_success 'P2: of some paths: they join what is right, and are parted from what is not asked for' '
	start_ws p some && remember "$ws" base && rm "${ws:?}/b" && echo shared >"${ws:?}/b" && ln "${ws:?}/x" "${ws:?}/new" && echo in >"${ws:?}/w/1" &&
	git -C p ews revert some -- b x >out && test_grep Verified out && same "${ws:?}/a" "${ws:?}/b" "${ws:?}/deep/c" && apart "${ws:?}/x" "${ws:?}/new" &&
	echo in >want && test_cmp want "${ws:?}/w/2" && git -C p ews revert some -- w/2 >out && test_grep Verified out && apart "${ws:?}/w/1" "${ws:?}/w/2" && test_cmp want "${ws:?}/w/1" &&
	reverts some && as_before "$ws" base && git -C p ews end some
'

test_expect_success 'P5: a file that came to be one with the project'"'"'s, or with another outside, is parted from it, though it is equal' '
	start_ws p out && remember "$ws" base && for f in src/main.c x; do ln -f "p/$f" "${ws:?}/$f" || return 1; done && ln "${ws:?}/src/numbers" away &&
	echo ignored >>"${ws:?}/new.o" && ln "${ws:?}/run.sh" "${ws:?}/run.o" && reverts out && as_before "$ws" base && apart p/src/main.c "${ws:?}/src/main.c" &&
	apart p/x "${ws:?}/x" && apart away "${ws:?}/src/numbers" && test "$(stat -c %h "${ws:?}/src/main.c" "${ws:?}/run.sh" "${ws:?}/src/numbers" | sort -u)" = 1 && git -C p ews end out
'

test_expect_success 'P2: undo makes one again what was one with an ignored file that revert moved away unread' '
	test_repo shares && echo "*.o" >shares/.gitignore && start_ws shares shares && (
		cd "${ws:?}" && echo new >fresh && ln fresh fresh.o && ln fresh "sp ace" && echo changed >file && mkdir dir.o && ln file dir.o/file && ln .gitignore dir.o/rules
	) && remember "${ws:?}" shares && ls "$ws" >list && project=shares reverts shares && names_of "$ws" >none && test_must_be_empty none && test_path_is_missing "${ws:?}/fresh.o" &&
	test_grep "^note: 2 paths moved to trash whole" err && git -C shares ews undo shares >out && as_before "${ws:?}" shares &&
	git -C shares ews undo --redo shares >out && names_of "$ws" >none && test_must_be_empty none && git -C shares ews undo shares >out && as_before "${ws:?}" shares
'

test_expect_success 'P1: in place: a name elsewhere that was there stays, and so does what is one with it' '
	test_repo place && echo stored >store && ln store place/stored && ln store place/src/again && git -C place ews start --method in-place i && remember place base &&
	echo new >place/new && rm place/src/again && echo stored >place/src/again && project=place reverts i && as_before place base && same store place/stored place/src/again &&
	echo through >place/stored && project=place reverts i && as_before place base && apart store place/stored && same place/stored place/src/again && echo through >want && test_cmp want store &&
	git -C place ews end i
'

test_expect_success 'P3: in the project: a name that was ignored, and stays, keeps nothing from being verified' '
	test_repo ign && id=$(git -C ign ews snapshot create) && ln ign/run.sh ign/same && echo same >>ign/.gitignore && echo x >ign/x &&
	git -C ign ews snapshot restore --force "$id" >out 2>err && test_grep "Status: Verified" out && test_grep "same (was ignored, stays)" err && test ign/same -ef ign/run.sh && test_path_is_missing ign/x
'

test_expect_success 'P2: restore --to makes them anew, one with nothing of the session; --force keeps what it parts' '
	start_ws p to && remember "$ws" base && snap=$(git -C p ews snapshot create to) && git -C p ews snapshot restore $snap --to "$PWD/copy" >out && test_grep Verified out &&
	as_before copy base && apart "${ws:?}/a" copy/a && ln -f copy/x copy/y && rm copy/b && cp -p copy/a copy/b && git -C p ews snapshot restore --force $snap --to "$PWD/copy" >out && test_grep Verified out &&
	names_of copy | grep -v .ews-trash >got && test_cmp base.names got && git -C p ews end to
'

test_expect_success 'P4: an undone end whose directory has gone from trash has them, too' '
	start_ws p expired && mangle "$ws" && remember "$ws" mangled && git -C p ews end expired && find "${HOME:?}/.superqode" -path "*/trash/*" -name workspace -exec rm -rf {} + &&
	git -C p ews undo expired && as_before "$ws" mangled && git -C p ews end expired
'

test_expect_success 'P4: that names alone changed is a difference: it is kept by end, and --if-changed takes a snapshot' '
	start_ws p only && first=$(git -C p ews snapshot create only) && git -C p ews snapshot create --if-changed only >out && test_must_be_empty out && rm "${ws:?}/b" && cp -p "${ws:?}/a" "${ws:?}/b" &&
	git -C p ews snapshot create --if-changed only >out && test_line_count = 1 out && test_grep ! "$first" out && git -C p ews end only >out && test_grep "Kept: snap-" out
'

test_expect_success 'P2: a snapshot of some paths has the names of what is one with the rest' '
	start_ws p part && remember "$ws" base && echo new >"${ws:?}/new" && rm "${ws:?}/w/2" && cp -p "${ws:?}/w/1" "${ws:?}/w/2" && ln -f "${ws:?}/x" "${ws:?}/y" && names_of "$ws" >names.now &&
	snap=$(cd "${ws:?}" && git ews snapshot create -- new a w/2 x y) && git -C p ews revert part >out && as_before "$ws" base && git -C p ews revert --to $snap part >out && test_grep Verified out &&
	test_path_is_file "${ws:?}/new" && names_of "$ws" >got && test_cmp names.now got && git -C p ews snapshot verify $snap && git -C p ews end part
'

test_expect_success STRACE 'P3, P8: names that could not be joined are no Verified; where that is not permitted they are named' '
	start_ws p proof && (cd "${ws:?}" && rm b && cp -p a b) && git -C p ews revert --dry-run proof >out && test_grep "^restore b\$" out &&
	test_expect_code 1 test_strace log -e trace=linkat -e inject=linkat:error=ENOENT git -C p ews revert proof >out 2>err && test_grep "Differs: b (should be one file with its other names)" out && test_grep "Not verified" out && apart "${ws:?}/a" "${ws:?}/b" &&
	test_strace log -e trace=linkat -e inject=linkat:error=EPERM git -C p ews revert proof >out 2>err && test_grep "attribute not set: b (hard link)" err && test_grep "Status: Verified" out && apart "${ws:?}/a" "${ws:?}/b" &&
	reverts proof && same "${ws:?}/a" "${ws:?}/b" && git -C p ews end proof
'

test_expect_success 'manifests of the first version are read, and say nothing of names and owners' '
	start_ws p old && remember "$ws" base && snap=$(git -C p ews snapshot create old) && (
		cd p && commit=$(git rev-parse "refs/ews/snapshots/$snap") && manifest=$(git rev-parse "$commit^2") &&
			git cat-file blob "$manifest:manifest" | sed -E "1s/2/1/; /^owner /d; /^skip/!s/^(([^ ]+ ){6})[^ ]+ [^ ]+ /\1/" >../old-manifest &&
			blob=$(git hash-object -w ../old-manifest) && mode=$(echo 0755 | git hash-object -w --stdin) &&
			tree=$(git ls-tree "$manifest" | sed -E "s/ [0-9a-f]+	manifest\$/ $blob	manifest/; s/ [0-9a-f]+	root-mode\$/ $mode	root-mode/" | git mktree) &&
			old=$(git cat-file commit "$manifest" | sed "s,^tree .*,tree $tree," | git hash-object -t commit -w --stdin) &&
			new=$(git cat-file commit "$commit" | sed "/^Ews-Tree: /d; /^Ews-Manifest: /d; s,^parent $manifest\$,parent $old," | git hash-object -t commit -w --stdin) && git update-ref "refs/ews/snapshots/$snap" "$new"
	) && test_grep "^ews-manifest 1" old-manifest && test_grep ! "^owner" old-manifest &&
	rm "${ws:?}/b" && cp -p "${ws:?}/a" "${ws:?}/b" && ln -f "${ws:?}/x" "${ws:?}/y" && echo edit >>"${ws:?}/src/main.c" && names_of "$ws" >names.now &&
	{ ! test_have_prereq XATTR || setfattr -n user.top -v now "${ws:?}"; } && reverts old --to $snap && { ! test_have_prereq XATTR || getfattr -n user.top "${ws:?}"; } && cmp p/src/main.c "${ws:?}/src/main.c" && names_of "$ws" >got && test_cmp names.now got && git -C p ews snapshot verify $snap &&
	git -C p ews diff $snap now >out 2>err && test_grep ! "hard link" err && test_expect_code 128 git -C p ews revert --owner --to $snap old 2>err && test_grep "records no owners" err &&
	reverts old && as_before "$ws" base && git -C p ews end old
'

# The attributes of the directory <dir> itself.
attrs_of() {
	getfattr -d -m - --absolute-names "$1" | sed 1d
}
has_attrs() {
	attrs_of "$1" >got && test_cmp "$2" got
}

for method in worktree snapshot in-place; do
	test_expect_success XATTR "P2: $method: attributes of the directory itself come back by revert, undo and redo, from a snapshot, and in place by end" '
		top=top-'$method' && test_repo $top && setfattr -n user.top -v one $top && start_ws -n ws $top --method '$method' top && attrs_of "$ws" >base &&
		setfattr -n user.top -v two "${ws:?}" && setfattr -n user.new -v n "${ws:?}" && attrs_of "$ws" >mangled && project=$top reverts top && has_attrs "$ws" base &&
		git -C $top ews undo top && has_attrs "$ws" mangled && git -C $top ews undo --redo top && has_attrs "$ws" base && git -C $top ews undo top && snap=$(git -C $top ews snapshot create top) &&
		project=$top reverts top --verify=full && has_attrs "$ws" base && project=$top reverts top --to $snap && has_attrs "$ws" mangled && project=$top reverts top && project=$top reverts top &&
		setfattr -n user.top -v three "${ws:?}" && git -C $top ews end top && { test '$method' != in-place || has_attrs "$ws" base; }
	'
done

test_expect_success XATTR 'P4: an undone end whose directory has gone from trash has those, too' '
	start_ws p expires && setfattr -n user.top -v two "${ws:?}" && echo edit >"${ws:?}/file" && attrs_of "$ws" >mangled && git -C p ews end expires && find "${HOME:?}/.superqode" -path "*/trash/*" -name workspace -exec rm -rf {} + &&
	git -C p ews undo expires && has_attrs "$ws" mangled && git -C p ews end expires
'

test_expect_success XATTR,STRACE 'P3, P8: those that could not be set are named; those that are not back are no Verified' '
	start_ws p named && setfattr -n user.top -v two "${ws:?}" && test_strace log -e trace=fremovexattr -e inject=fremovexattr:error=EPERM git -C p ews revert named >out 2>err &&
	test_grep "attribute not set: . (user.top)" err && test_grep "Status: Verified" out && test_expect_code 1 test_strace log -e trace=fremovexattr -e inject=fremovexattr:retval=0 git -C p ews revert named >out 2>err &&
	test_grep "Differs: . (mode, owner or attributes differ)" out && test_grep "Not verified" out && reverts named && attrs_of "$ws" >got && test_must_be_empty got && git -C p ews end named
'

test_expect_success XATTR,STRACE 'P8: one that is more than the file system holds of a file is named, and hinders nothing' '
	test_repo much && setfattr -n user.much -v value much/run.sh && test_strace log -e trace=fsetxattr,setxattr -e inject=fsetxattr,setxattr:error=ENOSPC git -C much ews start much >path 2>err && take_ws path && test_grep INJECTED log && test_grep "an attribute could not be set: run.sh.*user.much" err &&
	cmp much/run.sh "${ws:?}/run.sh" && git -C much ews end much
'

test_expect_success 'P8: snapshot show --coverage and --files tell of names and owners' '
	start_ws p tell && snap=$(git -C p ews snapshot create tell) && git -C p ews snapshot show $snap --coverage >out 2>err && test_grep "held: that 5 of them are other names of a file" err &&
	test_grep "held: owners and groups" err && git -C p ews snapshot show $snap --coverage --json >out && test_json out .held.hard_links 5 && test_json out .held.with_owner &&
	git -C p ews snapshot show $snap --files --json >out && grep -q "\"hard_link_to\": *\"a\"" out && grep -q "\"uid\"" out && git -C p ews end tell
'

# Access lists by their raw values: a user more, and the mask, which is then the group bits of the mode.
access=0x0200000001000600ffffffff02000600feff000004000400ffffffff10000600ffffffff20000400ffffffff
default=0x0200000001000700ffffffff02000700feff000004000500ffffffff10000700ffffffff20000500ffffffff
: >acl && setfattr -n system.posix_acl_access -v $access acl 2>/dev/null && test_set_prereq ACL

test_expect_success ACL 'setup: access lists' '
	test_repo acl-p && (
		cd acl-p && mkdir shared && echo 1 >shared/old && setfattr -n system.posix_acl_access -v $access src/main.c && echo list >listed && setfattr -n system.posix_acl_access -v $access listed &&
			setfattr -n system.posix_acl_default -v $default shared && echo 2 >shared/inherited && git add . && git commit -qm lists
	) && test "$(stat -c %a acl-p/src/main.c)" = 664 && getfattr -n system.posix_acl_access acl-p/shared/inherited
'

for method in worktree in-place; do
	test_expect_success ACL "P2: $method: access and default lists come back, and with them the mode that they are part of" '
		start_ws -n ws acl-p --method '$method' acl && remember "$ws" base && test_same_tree acl-p "$ws" && (
			cd "${ws:?}" && setfattr -x system.posix_acl_access src/main.c && chmod 600 listed && setfattr -n system.posix_acl_access -v $access run.sh && rm shared/old && echo 1 >shared/old &&
				setfattr -x system.posix_acl_default shared && setfattr -n system.posix_acl_default -v $default docs && echo new >docs/new && rm shared/inherited && mkdir shared/inherited && chmod 770 src
		) && remember "$ws" mangled && project=acl-p reverts acl && as_before "$ws" base && git -C acl-p ews undo acl && as_before "$ws" mangled && project=acl-p reverts acl --verify=full &&
		as_before "$ws" base && test "$(stat -c %a "${ws:?}/listed" "${ws:?}/src/main.c" | sort -u)" = 664 && git -C acl-p ews end acl
	'
done

test_expect_success ACL 'P2: access lists of the directory itself, and its mode with them; one that it inherited is of the base' '
	test_repo heir && start_ws -n ws heir first && git -C heir ews end first && setfattr -n system.posix_acl_default -v $default "$(dirname "$ws")" && test_when_finished "setfattr -x system.posix_acl_default \"$(dirname "$ws")\"" && start_ws -n ws heir heir &&
	attrs_of "$ws" >base && test_grep posix_acl_default base && stat -c %a "$ws" >base.mode && git -C heir ews diff --exit-code heir && project=heir reverts heir && test_grep "restored: 0" out && has_attrs "$ws" base &&
	setfattr -n system.posix_acl_access -v $access "${ws:?}" && setfattr -x system.posix_acl_default "${ws:?}" && attrs_of "$ws" >mangled && stat -c %a "$ws" >mangled.mode && project=heir reverts heir && has_attrs "$ws" base && stat -c %a "$ws" | test_cmp base.mode - &&
	git -C heir ews undo heir && has_attrs "$ws" mangled && stat -c %a "$ws" | test_cmp mangled.mode - && git -C heir ews end heir
'

test_expect_success ACL 'P7, P8: a patch has no access lists: they are named' '
	start_ws acl-p say && setfattr -n system.posix_acl_access -v $default "${ws:?}/run.sh" && git -C acl-p ews diff say >out 2>err && test_must_be_empty out && test_grep "run.sh (mode 0755 to 0775, extended attributes)" err && git -C acl-p ews end say
'

owners_of() (
	cd "$1" && find . \( -name .git -o -name .superqode \) -prune -o -printf '%P %U:%G %m\n' | sort
)

test_expect_success ROOT 'P2: owners come back when asked, with the mode bits that a new owner takes away' '
	git config --global --add safe.directory "*" && test_repo own && (cd own && chown 1:2 run.sh src && chown -h 3:4 link && chown 5:6 docs/crlf.txt && chmod 4755 run.sh) && owners_of own >base &&
	git -C own ews start --method in-place o && (cd own && chown 0:0 run.sh src && chown -h 0:0 link && rm docs/crlf.txt && echo agent >docs/crlf.txt && chown 7:8 src/main.c . && mkdir new && chown 9 new) && owners_of own >agents &&
	git -C own ews revert --dry-run --owner o >out && test_grep "^restore run.sh\$" out && test_grep "^restore src\$" out && project=own reverts o --owner && owners_of own >got && test_cmp base got &&
	git -C own ews undo o && owners_of own >got && test_cmp agents got && git -C own ews undo --redo o && owners_of own >got && test_cmp base got &&
	chown 7:8 own/src/main.c && project=own reverts o && test "$(stat -c %u own/src/main.c)" = 7 && snap=$(git -C own ews snapshot create o) &&
	git -C own ews snapshot restore $snap --to "$PWD/owned" --owner >out && test_grep Verified out && owners_of owned >got && owners_of own >want && sed "1d" got >got.1 && sed "1d" want >want.1 && test_cmp want.1 got.1 &&
	git -C own ews end o
'

# A file whose bits run it in its owner's name must not become root's because root has written it.
test_expect_success ROOT 'P2: a file that is replaced in the project stays whose it is, asked or not: by apply, its undo, and in place; and elsewhere' '
	test_repo whose && (cd whose && chown 1:2 run.sh && chmod 4755 run.sh && chown 0:6 docs/crlf.txt && chown -h 3:4 link) && owners_of whose >base && start_ws whose w && echo more | tee -a "${ws:?}/run.sh" "${ws:?}/docs/crlf.txt" && ln -sfn elsewhere "${ws:?}/link" &&
	git -C whose ews apply w && cmp "${ws:?}/run.sh" whose/run.sh && owners_of whose >got && test_cmp base got && git -C whose ews undo && owners_of whose >got && test_cmp base got && git -C whose ews end w &&
	git -C whose ews start --method in-place here && echo more >>whose/docs/crlf.txt && rm whose/run.sh && git -C whose ews revert here && owners_of whose >got && test_cmp base got && git -C whose ews end here &&
	snap=$(git -C whose ews snapshot create) && git -C whose ews snapshot restore $snap --to "$PWD/elsewhere" >out && test_grep Verified out && test "$(stat -c "%u:%g %a" elsewhere/run.sh)" = "1:2 4755" && test "$(stat -c %u:%g elsewhere/docs/crlf.txt)" = 0:0
'

test_expect_success USERS 'P8: owners that may not be set are named, and that is no Verified' '
	mkdir theirs && test_repo theirs/p && test_give_user theirs && test_as_user git -C theirs/p ews start --method in-place u && chown 0:0 theirs/p/run.sh && chown 65534:0 theirs/p/src/main.c &&
	snap=$(test_as_user git -C theirs/p ews snapshot create u) && test_as_user git -C theirs/p ews revert --owner --to $snap u >out && test_grep Verified out &&
	test_as_user rm theirs/p/run.sh && test_expect_code 1 test_as_user git -C theirs/p ews revert --owner --to $snap u >out 2>err && test_grep "Differs: run.sh (belongs to 65534:65534, not to 0:0)" out && test_grep "Not verified" out &&
	test_as_user git -C theirs/p ews revert u >out && test_grep Verified out && test_as_user git -C theirs/p ews end u
'

# visit <project> <id> [<command that runs another as somebody>]: sessions of all kinds, with all that makes directories in a project.
visit() {
	ews_project=$1 ews_id=$2 ews_as=$3
	echo more >line && $ews_as git -C "$ews_project" ews start "$ews_id" >path && take_ws path && $ews_as tee -a "${ws:?}/run.sh" <line >out &&
		$ews_as git -C "$ws" status --short >out && test_grep run.sh out && $ews_as git -C "$ews_project" ews run "$ews_id" -- true && $ews_as git -C "$ews_project" ews snapshot create "$ews_id" >out || return 1
	for ews_verb in revert undo end undo end; do
		$ews_as git -C "$ews_project" ews "$ews_verb" "$ews_id" >out || return 1
	done
	$ews_as git -C "$ews_project" ews start --method in-place "$ews_id" >out && $ews_as tee -a "${ews_project:?}/run.sh" <line >out && $ews_as git init -q "${ews_project:?}/nested" || return 1
	for ews_verb in revert undo end undo revert end; do
		$ews_as git -C "$ews_project" ews "$ews_verb" "$ews_id" >out || return 1
	done
	$ews_as git -C "$ews_project" ews start --method snapshot "$ews_id" >path && take_ws path && $ews_as git -C "$ws" commit -q --allow-empty -m more && $ews_as git -C "$ews_project" ews end "$ews_id" >out &&
		$ews_as git -C "$ews_project" ews snapshot create >out && $ews_as git -C "$ews_project" ews clean >out && $ews_as git -C "$ews_project" ews doctor >out && git -C "$ews_project" status --short >out && test_must_be_empty out
}

# The directories in the project that are root's, but for root's worktree entry on its way out, and what root has thrown away there.
roots_in() {
	find "${1:?}/.git" "${1:?}/.superqode" \( -path "*/.git/ews/*" -o -path "*/trash/*/*" \) -prune -o -type d -user 0 -print
}

test_expect_success USERS 'P4: root works in the project of a user, who goes on there, and so does root: what is made there is the user'\''s' '
	mkdir served && test_repo served/p && test_give_user served && git config --global --add safe.directory "*" && visit served/p r && roots_in served/p >out && test_must_be_empty out &&
	visit served/p u test_as_user && visit served/p r
'

test_expect_success USERS 'P4: the same where root has packed all that git has, and what is left is ours' '
	mkdir packed && test_repo packed/p && test_give_user packed && visit packed/p r && git -C packed/p gc -q && visit packed/p u test_as_user
'

# git trusts root with what is root'\''s: all of a workspace, and its entry.
test_expect_success USERS 'root'\''s git works in root'\''s workspace of a project of a user that alone is safe.directory' '
	mkdir narrow && test_repo narrow/p && test_give_user narrow && cp "$HOME/.gitconfig" config && git config --file config --unset-all safe.directory && git config --file config safe.directory "$PWD/narrow/p" && (
		GIT_CONFIG_GLOBAL=$PWD/config && export GIT_CONFIG_GLOBAL && start_ws narrow/p r && git -C "$ws" status --short && git -C narrow/p ews end r
	)
'

# Beside a workspace of root'\''s there is nothing of the user'\''s to be kept, and nothing that he may put there comes into it.
test_expect_success USERS 'P5: root'\''s trash beside a workspace elsewhere stays root'\''s, and is not the user'\''s to lay out' '
	mkdir theirs/in && test_give_user theirs/in && start_ws theirs/p w --in "$PWD/theirs/in" && git init -q "${ws:?}/nested" && git -C theirs/p ews revert w && test "$(stat -c %u theirs/in/.ews-trash)" = 0 &&
	mv theirs/in/.ews-trash theirs/in/before && test_as_user mkdir -m 700 theirs/in/.ews-trash && git init -q "${ws:?}/nested" && test_must_fail git -C theirs/p ews revert w 2>err && test_grep "belongs to another user" err && test_path_is_dir "${ws:?}/nested" &&
	rmdir theirs/in/.ews-trash && mv theirs/in/before theirs/in/.ews-trash && git -C theirs/p ews recover w --revert && test_path_is_missing "${ws:?}/nested" && git -C theirs/p ews end w
'

command -v bash >/dev/null && test_set_prereq BASH

test_expect_success BASH 'a command that is shown works as it is shown, whatever the path that it names' '
	for name in plain "two words" "it'\''s" "$(printf "line\nend")" "$(printf "tab\there\\\\003")" "$(printf "raw\377\303")" "umläut"; do
		test_repo "$name" && ws=$(git -C "$name" ews start shown) && (cd "${ws:?}" && git ews end shown) >out 2>err && sed -n "s/^note: this directory is in trash now: //p" err >command && test_line_count = 1 command &&
			(bash -c ". ./command && printf %s \"\$PWD\"") >got && (cd "$name" && printf %s "$PWD") >want && test_cmp want got || return 1
	done
'

test_done
