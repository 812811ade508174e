#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='what must be durable is, in order, and taking back works on a full disk (P4)'

. "$(dirname "$0")/test-lib.sh"

if test_have_prereq VALGRIND; then
	skip_all='what is traced is the program, not valgrind'
	test_done
fi

cat >verbs.sh <<'EOF2'
# is_in_order: does the file system here keep the order of names by itself (XFS, ext4 with a journal)?
is_in_order() {
	case $(stat -f -c %T .) in
	xfs) ;;
	ext2/ext3)
		dev=$(stat -c %d .) &&
			dev=$(readlink "/sys/dev/block/$(((dev >> 8) & 0xfff)):$(((dev & 0xff) | ((dev >> 12) & 0xfff00)))") &&
			grep -q "^[0-9]" "/sys/fs/ext4/${dev##*/}/journal_task"
		;;
	*) false ;;
	esac
}

# ordered <verb and arguments>...: its syncs are in order. What it printed is in the file out.
ordered() {
	"$EWS_BUILD/t/killat" -y -t "trace.$1" 0 git -C p ews "$@" >out 2>err || {
		cat err >&2
		return 1
	}
	"$EWS_SRC/t/sync-order" $in_order "$PWD/p" "trace.$1" >order || {
		cat order >&2
		return 1
	}
}

# waits <trace>: how often the verb waited for the disk. Syncs that nothing stands between are side by side.
waits() {
	awk -F "\t" '$3 ~ /^f(data)?sync$/ { n += !in_row; in_row = 1; next } { in_row = 0 } END { print n + 0 }' "$1"
}

# waits_for <n> <m> <trace>: so often; m times where names keep their order.
waits_for() {
	if test "$in_order"; then echo "$2"; else echo "$1"; fi >want && waits "$3" >is && diff want is >&2
}

make_project() {
	git init -q p && (cd p && mkdir d && echo a >a && echo b >d/b && git add . && git commit -qm one && echo more >>a)
}

# try_verbs: all that change something, each in order.
try_verbs() {
	ordered start x && take_ws out && echo edit >>"${ws:?}/d/b" && mkdir "${ws:?}/n" && echo new >"${ws:?}/n/f" &&
		ordered snapshot create x && snap=$(cat out) && echo more >>"${ws:?}/d/b" && ordered snapshot restore "$snap" x && ordered revert x &&
		ordered undo x && ordered apply x && git -C p ews undo && git -C p checkout -q . && ordered apply --commit x && ordered end x && ordered undo x &&
		git -C p ews end x && ordered archive create && ordered archive remove "$(cat out)" && ordered undo && ordered clean --now
}

# count_waits: end has intent, its names, effects, and the names of what says so; snapshot create has objects, their names,
# that of the ref, that of the state.
count_waits() {
	git -C p ews start y && ordered end y && waits_for 4 2 trace.end && git -C p ews start z && ordered snapshot create z &&
		waits_for 4 1 trace.snapshot
}

# count_submodules: however many there are, their repositories are waited for together, some at a time.
count_submodules() {
	git init -q lib && echo l >lib/l && git -C lib add l && git -C lib commit -q -m lib && for i in $(seq 12); do cp -R lib "p/m$i" || return 1; done &&
		git -C p -c advice.addEmbeddedRepo=false add m* && git -C p commit -q -m modules && for method in worktree snapshot; do
			ordered start --method $method many-$method && ws=$(cat out) && git -C "${ws:?}/m12" rev-parse HEAD >out && git -C lib rev-parse HEAD | diff - out && waits trace.start >is && test "$(cat is)" -lt 24 || return 1
		done
}

in_order=
! is_in_order || in_order=--in-order
EOF2
. ./verbs.sh

test_expect_success 'setup: a project' '
	make_project
'

test_expect_success 'P4: objects before refs, journal and record before effects, names before what relies on them' '
	try_verbs
'

test_expect_success 'P4: the order is seen to be broken where it is' '
	sed "s/^\([0-9]*	[0-9]*\)	\(fsync\|sync_file_range\)	/\1	utimensat	/" trace.revert >bad && test_expect_code 1 "$EWS_SRC/t/sync-order" $in_order "$PWD/p" bad >order && test_grep journal order &&
	test_grep "before the ref" order && test_grep "at the end" order
'

test_expect_success 'end waits for the disk four times, and so does snapshot create; twice and once where names keep their order' '
	count_waits
'

test_expect_success 'P4: start makes the repositories of submodules durable, and does not wait for each' '
	count_submodules
'

test_expect_success 'a revert of nothing does not wait; its proof may be lost, and then there is none' '
	ordered snapshot create z && : >trace.revert && killat -y -t trace.revert 0 git -C p ews revert z >out && test_grep "Status: Verified" out && test_grep write trace.revert && echo 0 >want && waits trace.revert >is && test_cmp want is &&
	proof=home/.superqode/working/p/sessions/z/proof.json && git -C p ews report --output - z >md && test_grep ! "there was none" md &&
	for lost in "" "\\0\\0"; do printf "$lost" >"$proof" && git -C p ews report --output - z >md && test_grep "Last revert: there was none" md && test_grep ! "revert found is not known" md || return 1; done &&
	echo { >"$proof" && git -C p ews report --output - z >md && test_grep "revert found is not known" md
'

cat >ext4.sh <<'EOF2'
set -e
mount -o loop image ext4
mkdir ext4/home
cp home/.gitconfig ext4/home/
cp verbs.sh ext4/
cd ext4
SHARNESS_TRASH_DIRECTORY=$PWD
HOME=$PWD/home
. "$EWS_SRC/t/sharness.d/session.sh"
. ./verbs.sh
test "$in_order" = "$1"
make_project
try_verbs
count_waits
count_submodules
# What has not been written out, or synced, gets no name.
call=fsync
test -z "$in_order" || call=sync_file_range
sed "/	$call	/d" trace.start >bad
! "$EWS_SRC/t/sync-order" $in_order "$PWD/p" bad >order
grep -q "before it was synced" order
EOF2

# in_ext4 <flag> <feature>: the same on such a file system, where the order of names is kept if there is a flag.
in_ext4() {
	truncate -s 64M image && mkfs.ext4 -q -F -O "$2" image && mkdir -p ext4 && test_in_namespace sh ext4.sh "$1" >out 2>err || {
		cat out err >&2
		return 1
	}
}

PATH=$PATH:/usr/sbin:/sbin
truncate -s 8M probe && mkfs.ext4 -q -F probe 2>/dev/null && mkdir -p probed && test_in_namespace mount -o loop probe probed 2>/dev/null && test_set_prereq LOOP

test_expect_success LOOP 'P4: the same on ext4 with a journal, which keeps the order of names by itself' '
	in_ext4 --in-order has_journal
'

test_expect_success LOOP 'P4: the same on ext4 without one' '
	in_ext4 "" ^has_journal
'

cat >full.sh <<'EOF2'
set -e
mkdir -p disk
mount -t tmpfs -o size=32m tmpfs disk
cp -a p home disk/
rm -rf disk/home/.superqode
cd disk
HOME=$PWD/home
ws=$(git -C p ews start x)
test -s "$HOME/.superqode/reserve"
seq 2000 >>"${ws:?}/d/b"
mkdir "${ws:?}/m"
echo new >"${ws:?}/m/f"
cp -a "${ws:?}/d/b" b.want
! cat /dev/zero >filling 2>/dev/null
! echo no >no 2>/dev/null || ! head -c 8192 /dev/zero >>no 2>/dev/null
EOF2

# in_full <script>: what full.sh does, then the script, on that disk.
in_full() {
	test_in_namespace sh "$1" >out 2>err || {
		cat out err >&2
		return 1
	}
}

test_expect_success TMPFS 'P4: revert and its undo on a full disk: the reserve is there for that' '
	cat full.sh - >revert.sh <<-\EOF &&
	git -C p ews revert x
	test ! -e "$HOME/.superqode/reserve"
	git -C p ews diff --exit-code x
	git -C p ews undo x
	cmp b.want "${ws:?}/d/b"
	EOF
	in_full revert.sh
'

test_expect_success TMPFS 'P4: nor does the first end on a full disk lack anything, and its undo' '
	cat full.sh - >end.sh <<-\EOF &&
	git -C p ews end --dry-run x
	test -s "$HOME/.superqode/reserve"
	git -C p ews end x
	test ! -e "$HOME/.superqode/reserve"
	test ! -e "$ws"
	git -C p ews undo x
	cmp b.want "${ws:?}/d/b"
	EOF
	in_full end.sh
'

test_expect_success TMPFS 'an end that has no space to begin leaves nothing to recover, and does not say so' '
	sed "/^seq/,/^cp/d" full.sh - >none.sh <<-\EOF &&
	rm "$HOME/.superqode/reserve"
	! cat /dev/zero >>no 2>/dev/null
	! git -C p ews end x 2>../said
	grep "cannot end session.*No space left" ../said
	test "$(grep -c "ews recover" ../said)" = 0
	rm filling
	git -C p ews end x
	test ! -e "$ws"
	EOF
	in_full none.sh
'

test_expect_success TMPFS 'P4: recover on a full disk finishes what was begun, and puts a reserve aside when it can' '
	cat full.sh - >recover.sh <<-\EOF &&
	rm -f filling no
	"$EWS_BUILD/t/killat" -t ../trace 0 git -C p ews revert x
	n=$(grep -n "unlink.*/m/f" ../trace | cut -d : -f 1)
	git -C p ews undo x
	! "$EWS_BUILD/t/killat" "$n" git -C p ews revert x
	! cat /dev/zero >filling 2>/dev/null
	git -C p ews recover --all
	git -C p ews diff --exit-code x
	rm filling
	git -C p ews recover --all
	test -s "$HOME/.superqode/reserve"
	git -C p ews undo x
	cmp b.want "${ws:?}/d/b"
	EOF
	in_full recover.sh
'

test_done
