#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='archives: what goes in comes back, nothing hostile comes out, none is there half (P1, P4, P5, P8)'

. "$(dirname "$0")/test-lib.sh"

# arch <argument>...: run it, in the directory $at, and show what it says when it fails
arch() {
	git-ews -C "${at:-.}" archive "$@" >out 2>err || {
		ews_code=$?
		cat err >&2
		return $ews_code
	}
}

# one <argument>...: likewise, and take the path that it prints; one_in <directory> <argument>...
one() {
	arch "$@" && one=$(cat out)
}

one_in() {
	at=$1 && shift && one "$@" && at=
}

# files: the paths of the archive $one, in a line
files() {
	arch show --files "$one" && sed "s/.* //" out | tr "\n" " " >got
}

# A traced program can't be looked at for leaks.
killat() {
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 "$EWS_BUILD/t/killat" "$@"
}

tarball() {
	"$EWS_BUILD/t/tarball" "$@"
}

# Has the file system files without a name?
case $(stat -f -c %T .) in ext2/ext3 | xfs | btrfs | tmpfs) test_set_prereq NAMELESS ;; esac

test_expect_success 'setup' '
	mkdir -p w/src/deep w/empty w/closed && printf "#!/bin/sh\n" >w/run.sh && chmod 755 w/run.sh && echo a >w/src/a.c && ln w/src/a.c w/hard && ln -s src w/dirlink && ln -s a.c w/src/link &&
	ln -s nowhere w/dangling && ln -s /etc/passwd w/absolute && printf "\000\001\377" >w/bin && : >w/nothing && printf "no end" >w/src/deep/x && echo odd >"w/$(printf "uml-\303\244")" &&
	echo odd >"w/$(printf "bad-\377")" && echo odd >"w/new
line" && echo odd >"w/ blank \"quote" && echo odd >w/-dash && mkfifo w/fifo && truncate -s 3M w/sparse && echo end >>w/sparse && truncate -s 1M w/hole && { echo a && head -c 20000 /dev/zero && echo b; } >w/zeros && chmod 4751 w/bin && chmod 700 w/closed && chmod 600 w/nothing &&
	touch -d "2001-02-03 04:05:06.123456789" w/src/a.c w/empty && touch -h -d "1970-01-02" w/dangling && touch -d "1960-01-01 00:00:00.25 UTC" w/run.sh && chmod 750 w && { ! test_have_prereq XATTR || { setfattr -n user.note -v "a=b" w/src/a.c && setfattr -n user.x=y -v 0x00ff0a w/empty; }; } &&
	"$EWS_SRC/t/lister" w >w.before
'

test_expect_success 'what goes in comes back: types, modes, links, hard links, holes, empty directories, names, attributes, times' '
	for how in gz:.tar.gz bz2:.tar.bz2 xz:.tar.xz zstd:.tar.zst none:.tar; do
		one create w --compress ${how%%:*} && test_must_be_empty err && case $one in "$HOME"/.superqode/archives/w-*/*.w${how#*:}) ;; *) false ;; esac &&
		echo "${one##*/}" | grep -E "^[0-9]{8}T[0-9]{6}\.[0-9a-f]{8}\.w\.tar" && rm -rf back && arch extract --to back "$one" && says "$PWD/back" out && test "$(stat -c %a back)" = 750 && test_same_tree -t -M . w back || return 1
	done &&
	test "$(stat -c %h back/hard)" = 2 && test "$(stat -c %i back/hard)" = "$(stat -c %i back/src/a.c)" && test "$(stat -c %b back/hole)" = 0 && test "$(stat -c %b back/zeros)" -lt 32 && test "$(du -k back/sparse | cut -f 1)" -lt 1024 && test "$(stat -c %a "${one%/*}" "$one" | tr "\n" " ")" = "700 600 "
'

test_expect_success 'another tar program reads it: what is said of it lies in members of its own, which come first' '
	tar tf "$one" >members 2>err && head -n 2 members >first && printf "%s\n" .ews-archive/record.json .ews-archive/manifest | test_cmp - first &&
	mkdir other && chmod 750 other && tar xpf "$one" -C other --exclude=.ews-archive 2>err && "$EWS_SRC/t/lister" -m other >other.list && "$EWS_SRC/t/lister" -m w >w.list && sed "s/ user\..*//" w.list >want && sed "s/ user\..*//" other.list >got && test_cmp want got
'

test_expect_success 'list has columns, however long the names' '
	mkdir s so-long-a-name && git-ews archive create s && git-ews archive create so-long-a-name && git-ews archive list --all >out && test_line_count -ge 2 out &&
	sed "s/^\([^ ]*  *\).*/\1/" out | awk "{ print length }" | sort -u >widths && test_line_count = 1 widths && rm -rf s so-long-a-name
'

test_expect_success 'list -z: the whole paths alone, as they are' '
	odd=$(printf "a\"b\nc") && mkdir "$odd" && arch create "$odd" && cp out want && arch list -z "$odd" && tr "\0" "\n" <out | test_cmp want - &&
	test_expect_code 129 git-ews archive list -z --md5 2>err && test_grep "without --md5" err && rm -r "$odd"
'

test_expect_success 'P1: the directory is as it was, and nothing lies in it' '
	"$EWS_SRC/t/lister" w >w.after && test_cmp w.before w.after
'

test_expect_success 'the checksum is that of the tree: the same whenever, wherever, in whatever order; not with another mode, name or byte' '
	cp -a w copy && find copy -exec touch -h {} + && one create copy --to here --compress none && arch list --json w && mv out list && test_json list ".archives[4].checksum" &&
	sum=$(json list ".archives[4].checksum") && test "$(grep -o "$sum" list | wc -l)" = 5 && arch show --json "$one" && test_json out .checksum "$sum" &&
	mkdir again && cp -a copy/src again && cp -a copy/. again && one create again --to here && arch show --json "$one" && test_json out .checksum "$sum" &&
	chmod 644 again/run.sh && one create again --to here && arch show --json "$one" && test_json out .checksum && test "$(json out .checksum)" != "$sum" && rm -r again/empty && chmod 755 again/run.sh && one create again --to here && arch show --json "$one" && test "$(json out .checksum)" != "$sum"
'

test_expect_success 'patterns are those of gitignore; ignore beats keep; what is left out is named with its reason' '
	mkdir -p py/src/__pycache__ py/venv/lib py/docs py/sub py/.superqode/z py/logs/keep && for f in src/a.py src/b.py src/__pycache__/a.pyc main.py README.md docs/x.md venv/lib/v.py x.pyc .DS_Store sub/s.py .superqode/y logs/1.log logs/keep/2.log src/data.txt; do
		echo $f >py/$f || return 1; done && git init -q py/sub2 && echo s >py/sub2/s.txt && mkdir py/sub/.ews-trash py/sub/.SUPERQODE && echo t >py/sub/.ews-trash/t && echo t >py/sub/.SUPERQODE/t && printf "gitdir: nowhere\n" >py/sub/.git &&
	one create py --to here && arch show --json "$one" && grep -o "\"matched_paths\":\[[^]]*\]" out >got && echo "\"matched_paths\":[\"README.md\",\"docs/x.md\",\"logs/1.log\",\"logs/keep/2.log\",\"main.py\",\"src/a.py\",\"src/b.py\",\"src/data.txt\",\"sub/s.py\",\"sub2/s.txt\"]" | test_cmp - got &&
	arch show --left-out "$one" && sort out >got && printf "%s\t%s\n" ignored .DS_Store ignored src/__pycache__ ignored venv ignored x.pyc own .superqode own sub/.SUPERQODE own sub/.ews-trash repository sub/.git repository sub2/.git | sort | test_cmp - got &&
	one create py --to here --keep "*.py" --keep "*.md" --ignore "docs/" && files && printf "README.md main.py src src/a.py src/b.py sub sub/s.py " | test_cmp - got && arch show --left-out "$one" && test_grep "^excluded	docs$" out && test_grep "^not-kept	src/data.txt$" out &&
	one create py --to here --keep "src/**/*.py" --keep "src/*.py" --keep logs/ --ignore "*.log" --ignore "!logs/keep/*.log" && files && printf "logs logs/keep logs/keep/2.log src src/a.py src/b.py " | test_cmp - got &&
	one create py --to here --no-ignore --ignore "*.md" && arch show --files "$one" && test_grep " venv/lib/v.py$" out && test_grep " .DS_Store$" out && test_grep ! "README" out && test_grep ! "\.git\|\.superqode" out
'

test_expect_success 'tracked files are not hidden by defaults, only by what is asked for; .git in no spelling; excluded stays out' '
	git init -q p && mkdir -p p/venv p/lib/sub p/.GIT && echo v >p/venv/v.py && echo c >p/c.pyc && printf "*.log\n" >p/.gitignore && echo l >p/t.log && echo x >p/lib/sub/x && git -C p add -f . ":!.GIT" && git -C p commit -qm one && echo h >p/.GIT/h && echo u >p/u.pyc && echo u >p/u.log && echo u >p/secret && printf "/x\n" >p/lib/.gitignore &&
	test_fingerprint p >fp && one_in p create && echo "$one" >one && case $one in "$HOME/.superqode/archives/p/"*) ;; *) false ;; esac && files && printf ".gitignore c.pyc lib lib/.gitignore lib/sub lib/sub/x secret t.log venv venv/v.py " | test_cmp - got &&
	arch show --left-out "$one" && printf "%s\t%s\n" repository .GIT ignored u.log ignored u.pyc | test_cmp - out && arch show --json "$one" && test_json out .base_commit "$(git -C p rev-parse HEAD)" && test_json out .path "$PWD/p" &&
	test_fingerprint p >fp.after && test_cmp fp fp.after && git -C p config ews.workspace.exclude secret && one create p --ignore t.log --ignore venv/ && arch show --files "$one" && test_grep ! "secret\|t.log\|venv" out && git -C p config --remove-section ews.workspace &&
	one create p/lib && files && printf ".gitignore sub sub/x " | test_cmp - got && mkdir p/lib/more && echo m >p/lib/more/m.log && echo m >p/lib/m.txt && one create p/lib --keep "/*.txt" --to here && arch show --files "$one" && sed "s/.* //" out | says m.txt - && rm -r p/lib/more p/lib/m.txt
'

test_expect_success 'P8: a directory that is ignored or excluded itself is packed when it is named; rules count for what is in it' '
	test_repo i && printf "build/\n*.tmp\n" >i/.gitignore && git -C i config ews.workspace.exclude vend/ && mkdir -p i/build/sub i/vend/deep i/.ews_scratch && echo 1 >i/build/o && echo 1 >i/build/sub/p && echo 1 >i/build/sub/q.tmp && printf "/r\n" >i/build/sub/.gitignore && echo 1 >i/build/sub/r && echo 1 >i/vend/v && echo 1 >i/vend/deep/w && echo 1 >i/.ews_scratch/s &&
	one create i/build && files && says "o sub sub/.gitignore sub/p " got && arch show --left-out "$one" && printf "%s\t%s\n" ignored sub/q.tmp ignored sub/r | test_cmp - out && echo 2 >i/build/o2 && test_expect_code 1 git-ews archive diff --exit-code "$one" i/build --name-only >out && says o2 out && cp -R i/build plain && echo 3 >plain/o && arch diff --shortstat i/build plain && says "+0 -0 ~1 files" out &&
	one create i/build/sub && files && says ".gitignore p " got && one create i/vend && files && says "deep deep/w v " got && one create i/vend/deep && files && says "w " got && one create i/.ews_scratch && files && says "s " got &&
	one create i && files && test_grep ! "build\|vend\|scratch" got && one_in i/build/sub create . && files && says ".gitignore p " got
'

test_expect_success USERS 'P8: a directory that can not be looked at is no empty one' '
	test_repo closed && mkdir -p closed/a/b && echo x >closed/a/b/x && test_give_user closed && chmod 711 closed/a && chown root closed/a && mkdir -p theirs2 && test_give_user theirs2 && test_expect_code 128 test_as_user env HOME="$PWD/theirs2" git-ews archive create "$PWD/closed/a/b" >out 2>err && test_grep "can.t be looked at: .a. is left out, it may not be read" err && test_must_be_empty out
'

test_expect_success 'nothing of the environment is in it but what is named' '
	SECRET=hidden WANTED="of note" && export SECRET WANTED && one create w --compress none --env WANTED --env GIVEN=that --env UNSET_ONE --env GIVEN=this && test_grep "UNSET_ONE. is not set" err && test_grep ! -a hidden "$one" &&
	arch show --json "$one" && test_json out .env.WANTED "of note" && test_json out .env.GIVEN this && test_json_count out .env 3 && one create w && arch show --json "$one" && test_json_count out .env 0 && unset SECRET WANTED &&
	test_expect_code 129 git-ews archive create w --env =x 2>err
'

test_expect_success 'a spec says keep, ignore, compress, location and static assets; options are stronger; what is wrong is named by its line' '
	mkdir spec && printf "%s\n" "keep: [src/, \"*.md\", main.py]" "ignore:" "  - \"*.pyc\"" "compress: none" "location: ./snapshots" "static_assets:" "  data: src/data.txt" "env: [SPECIAL]" "colour: blue" >spec/spec.yaml && SPECIAL=1 && export SPECIAL &&
	one create py --spec spec/spec.yaml && unset SPECIAL && test_grep "^warning: spec/spec.yaml:9: colour: " err && case $one in "$PWD/spec/snapshots/"*.py.tar) ;; *) false ;; esac && files && printf "README.md docs docs/x.md main.py src src/a.py src/b.py " | test_cmp - got &&
	arch show --json "$one" && test_json out .env.SPECIAL 1 && test_json out ".static_assets[0]" src/data.txt && arch show --left-out "$one" && test_grep "^excluded	src/data.txt$" out &&
	one create py --spec spec/spec.yaml --compress gz --keep "*.md" --to here && case $one in "$PWD/here/"*.tar.gz) ;; *) false ;; esac && arch show --files "$one" && test_grep ! "\.py" out &&
	printf "%s\n" "static_assets: [\"a*\", a..b, \"q[1]\"]" >spec/odd.yaml && mkdir odd && for f in a1 "a*" a..b "q[1]" q1; do echo x >"odd/$f" || return 1; done && one create odd --spec spec/odd.yaml --to here && files && says "a1 q1 " got && { sleep 0.2 && echo "keep: [q1]"; } | git-ews archive create odd --to here --spec /dev/stdin >out 2>err && one=$(cat out) && files && says "q1 " got &&
	for bad in "compress: lzma" "location: []" "location: $PWD/outside" "location: ../outside" "keep: {a: b}" "static_assets: [../x]" "static_assets: [/x]" "static_assets: [a/../x]" "static_assets: [\"a\\nb\"]" "env: [\"=x\"]" "env: [\"\"]" "default_ignores: perhaps" "keep: [a" "compress: gz
compress: *x"; do printf "%s\n" "# a comment" "$bad" >spec/bad.yaml && test_expect_code 128 git-ews archive create py --spec spec/bad.yaml 2>err && test_path_is_missing outside && test_grep "^error: spec/bad.yaml:[23]: " err && test_grep "^hint: .*ews archive --help" err || return 1; done &&
	test_expect_code 128 git-ews archive create py --spec spec/none.yaml 2>err && test_expect_code 129 git-ews archive create py --compress lzma 2>err && test_grep "gz, bz2, xz, zstd or none" err
'

test_expect_success 'update rolls on with what was said before, and names the previous; if-changed makes none for the same tree' '
	one create py --to roll --keep "*.py" --compress zstd --env HOME && was=$one && arch create --update "$was" --json && test_json out .previous "$was" && test_json out .is_new true && test_json out .previous_checksum "$(json out .checksum)" && two=$(json out .archive) && test "$two" != "$was" && case $two in "$PWD/roll/"*.tar.zst) ;; *) false ;; esac &&
	test_json out ".keep[0]" "*.py" && test_json out .env.HOME "$HOME" && test_path_is_file "$was" && for n in 1 2 3 4 5 6 7 8 9 10; do one create --update "$two" --if-changed && test "$one" = "$two" || return 1; done && ls roll >files && test_line_count = 2 files && test_grep "nothing has changed" err && test_grep "^note: the environment.s .HOME. is recorded, as before" err &&
	echo more >>py/main.py && one create py --to roll --keep "*.py" --if-changed && test "$one" != "$two" && one create --update "$two" --if-changed && test "$one" != "$two" && git-ews archive verify roll/* >out && test_line_count = 4 out
'

test_expect_success 'P5: an archive from elsewhere does not choose what is packed beside it' '
	mkdir -p private elsewhere && echo secret >private/key && one create private --to "$PWD/elsewhere" && (cd elsewhere && says_no git-ews archive create --update "./$(basename "$one")" && test_grep "says to be of .*/private" err) &&
	ls elsewhere/*.gz >files && test_line_count = 1 files && (cd elsewhere && git-ews archive create --update "./$(basename "$one")" ../private) && git-ews archive create --update "$one" && ls elsewhere/*.gz >files && test_line_count = 3 files
'

test_expect_success 'archives in the directory itself are not packed; a place that is a file is an error; nothing else is written' '
	one create . --to here && files && test_grep ! "home/\.superqode\|\.gitconfig.*archives" got && mkdir -p nested/state && echo x >nested/x && SUPERQODE_HOME=$PWD/nested/state && export SUPERQODE_HOME && one create nested && one create nested && unset SUPERQODE_HOME && files && says "x " got && cp -a py self && for n in 1 2 3; do one create self --to self || return 1; done && arch show --files "$one" && test_grep ! "self\.tar" out && arch show --left-out "$one" && grep -c "^own.*self.tar.gz$" out | says 2 - && echo x >file && test_expect_code 128 git-ews archive create self --to file 2>err && test_path_is_file file && test_expect_code 128 git-ews archive create nowhere 2>err && test_expect_code 129 git-ews archive create file 2>err && test_expect_code 129 git-ews archive create d1 --to "" 2>err &&
	echo half >self/.tmp-archive-0123456789abcdef && one create self --to self && arch show --left-out "$one" && test_grep "^own	.tmp-archive-" out && for never in p/.git p/.git/hooks "$HOME/.superqode"; do test_expect_code 129 git-ews archive create "$never" 2>err && test_grep "in no archive" err || return 1; done
'

test_expect_success 'nor when their place is named through a link' '
	mkdir through && echo 1 >through/f && ln -s "$PWD" ring && one create through --to ring/through/out && one create through --to ring/through/out && files && says "f out " got && arch show --left-out "$one" && test_line_count = 1 out
'

test_expect_success 'an archive of a directory whose name has to be cut is listed and found' '
	name=$(printf "%099d.c" 0) && mkdir "$name" && one create "$name" && arch list "$name" && test_grep "^${one##*/} " out && digits=${one##*/} && digits=${digits#*.} && arch show "${digits%%.*}" && two=$one && one create "$name" --if-changed && test "$one" = "$two"
'

test_expect_success 'a directory that becomes a project keeps its archives; a project is found by its directory' '
	mkdir -p grows/sub && echo x >grows/x && one_in grows create && first=$one && one_in grows/sub create && (cd grows && git ews start s -q >../out && git ews archive list >../out) && test_line_count = 1 out && test_grep "^${first##*/} " out && one_in grows create --if-changed && test "$one" = "$first" && git init -q grows && (cd grows && git ews archive list >../out) && test_line_count = 1 out && echo y >grows/y && one_in grows create --if-changed && test "$one" != "$first" &&
	for dir in grows "$PWD/grows"; do arch list "$dir" && sed "s/ .*//" out >got && printf "%s\n" "${first##*/}" "${one##*/}" | test_cmp - got || return 1; done && (cd grows && git ews archive list . >../out) && test_line_count = 2 out && arch list grows/sub && test_line_count = 3 out && git -C grows ews archive show "${first##*/}" >out && git -C grows ews archive prune --keep 1 >out 2>err && says "$first" out && git -C grows ews undo >out && test_path_is_file "$first"
'

test_expect_success 'list, show, cat, verify; by name, digits and beginning; MD5 where asked; JSON without loss' '
	one create w && name=${one##*/} && hex=${name#*.} && hex=${hex%%.*} && arch show "$hex" && test_grep "^archive $name$" out && test_grep "^Checksum: sha256:" out && test_grep ! MD5 out && arch show --md5 "${name%.w.tar.gz}" && test_grep "^MD5: *$(md5sum <"$one" | cut -d " " -f 1)$" out && arch verify --md5 "$name" && test_grep "$(md5sum <"$one" | cut -d " " -f 1)" out &&
	arch list w && test_grep "^$name .* files*  sha256:" out && arch list --md5 w && test_grep "^$name .*  $(md5sum <"$one" | cut -d " " -f 1)$" out && test_expect_code 129 git-ews archive list w/run.sh 2>err && test_expect_code 128 git-ews archive verify "$one" nosuch >out 2>err && test_must_be_empty out && arch list --all && test_line_count -ge 8 out && test_expect_code 129 git-ews archive show 20 2>err && test_grep "^hint: .*\.tar" err && test_expect_code 128 git-ews archive show nosuch 2>err &&
	git-ews archive cat "$one:bin" "$name:hard" "$hex:src/link" >got && { cat w/bin w/hard && printf a.c; } | test_cmp - got && git-ews archive cat "$(cat one):.gitignore" >got && test_cmp p/.gitignore got &&
	test_expect_code 1 git-ews archive cat "$one:nothing" "$one:nosuch" "$one:../x" "$one:hard" "$one:empty" "nosuch:x" >got 2>err && test_cmp w/hard got && test_line_count = 4 err && test_expect_code 1 git-ews archive cat nocolon 2>err && test_line_count = 1 err &&
	arch cat --json "$one:bin" "$one:hard" && test_json out ".members[1].content" a && test_json out ".members[1].size_bytes" 2 && test_json out ".members[0].content_bytes" AAH/ && arch show --json "$one" && test_json out .schema ews.archive/1 && test_json out ".matched_paths_bytes[3]" YmFkLf8= && arch show -z --files "$one" && tr "\0" "\n" <out | test_grep "$(printf "bad-\377")" - && arch verify --json "$one" && test_json out ".archives[0].is_intact" true
'

# flip <file> <text> <other of that length>: the first of the one becomes the other
flip() {
	offset=$(grep -abo -m 1 "$2" "$1" | head -n 1 | cut -d : -f 1) && printf "%s" "$3" >piece && dd if=piece of="$1" bs=1 seek="$offset" conv=notrunc 2>dd.err
}

test_expect_success 'what is damaged is named: status 1, and nothing of it is written' '
	mkdir d && echo first-content >d/a && echo other-content >d/b && one create d --compress none && cp "$one" broken.tar && flip broken.tar first-content wrong-content && test_expect_code 1 git-ews archive verify broken.tar "$one" >out && test_grep "^✗ broken.tar$" out && test_grep "^  a: differs$" out && test_grep ! "  b:" out && test_grep "^✓ ${one##*/}" out &&
	test_expect_code 1 git-ews archive extract --to broken broken.tar 2>err && test_grep "nothing was written" err && test_path_is_missing broken && test_expect_code 1 git-ews archive cat broken.tar:a 2>err && test_grep "not what its record says" err && test_expect_code 1 git-ews archive verify --json broken.tar >out && test_json out ".archives[0].flaws[0].path" a &&
	one create d && head -c $(($(stat -c %s "$one") - 30)) "$one" >short.tar.gz && test_expect_code 1 git-ews archive verify short.tar.gz >out && test_expect_code 1 git-ews archive extract --to broken short.tar.gz 2>err && test_path_is_missing broken && echo nonsense >no.tar && test_expect_code 1 git-ews archive show no.tar 2>err && cp no.tar "${one%/*}/20200101T000000.00000000.d.tar" && arch list d && test_grep "^20200101T000000.00000000.d.tar .*no tar archive" out && rm "${one%/*}/20200101T000000.00000000.d.tar"
'

test_expect_success 'P8: so is what gzip says of it itself: its sum and its length; several members, and what follows them, are fine' '
	one create w --compress none && gzip -c "$one" >whole.tar.gz && arch verify whole.tar.gz && size=$(stat -c %s whole.tar.gz) && for back in 8 5 4 1; do
		cp whole.tar.gz sum.tar.gz && { printf "\125\252" | dd of=sum.tar.gz bs=1 seek=$((size - back)) count=1 conv=notrunc 2>dd && ! cmp -s whole.tar.gz sum.tar.gz || printf "\252" | dd of=sum.tar.gz bs=1 seek=$((size - back)) conv=notrunc 2>dd; } && test_expect_code 1 git-ews archive verify sum.tar.gz >out && test_grep "sum.tar.gz.*what gzip packed is damaged" out && test_expect_code 1 git-ews archive extract --to sum sum.tar.gz 2>err && test_path_is_missing sum || return 1
	done && { head -c 5000 "$one" | gzip && tail -c +5001 "$one" | gzip && printf "\0\0\0"; } >members.tar.gz && arch verify members.tar.gz && tar czf theirs.tar.gz w 2>err && arch verify theirs.tar.gz
'

test_expect_success STRACE 'P8: what could not be read for that is not said to be fine' '
	for file in whole.tar.gz members.tar.gz; do
		for n in 1 2 3; do
			test_expect_code 128 test_strace log -P "${PWD:?}/$file" -e trace=pread64 -e inject=pread64:error=EIO:when=$n git-ews archive verify "${PWD:?}/$file" >out 2>err &&
				test_grep INJECTED log && test_grep "$file.: cannot read it: Input/output error" err && test_must_be_empty out || return 1
		done
	done
'

test_expect_success 'P5: hostile members are refused before anything is written' '
	mkdir target outside && refused() { want=$1 && shift && tarball evil.tar f ok ok "$@" && test_must_fail git-ews archive extract --force --to target evil.tar 2>err && test_grep "$want" err && ls -A target outside >ls && printf "outside:\n\ntarget:\n" | test_cmp - ls; } &&
	for row in "outside:f:../escaped" "outside:f:/tmp/ews-escaped" "outside:f:a/../../b" "outside:d:.." "outside:h:x:../ok" "git directory:f:.git/hooks/post-checkout" "git directory:f:sub/.GIT/config" "git directory:l:.git:outside" "git directory:f:GIT~1/config" "git directory:f:.git /x" "git directory:f:.g$(printf "\342\200\214")it/x" "git directory:f:a/.git::\$INDEX/x" \
		"of ours:f:.superqode/x" "of ours:f:.ews-archive/other" "of ours:f:a/.SuperQode/x" "of ours:f:a/.ews-trash/x" "too long:f:a/$(printf "%0256d" 0)" "device:c:dev" "not in it:h:x:nowhere" "twice:f:ok" "twice:f:./ok"; do
		why=${row%%:*} && row=${row#*:} && type=${row%%:*} && row=${row#*:} && case $type in h | l) name=${row%%:*} text=${row#*:} ;; *) name=$row text=x ;; esac && refused "$why" $type "$name" "$text" || { echo >&2 "$why: $type $name" && return 1; }
	done &&
	test_must_fail git-ews archive extract --to target/new evil.tar 2>err && test_path_is_missing target/new && refused "beyond a link" l out "$PWD/outside" f out/x x && refused "beyond a link" f out/x x l out ../outside && refused "beneath a file" f ok/x x && refused "directory" d dd x h y dd && refused "more than 21474836480 bytes" z bomb 21474836481 && tarball evil.tar z b1 600000 z b2 600000 && test_must_fail git -c ews.maxTotal=1m ews archive extract --to target/new evil.tar 2>err && test_grep "more than 1048576 bytes" err &&
	test_must_fail git -c ews.maxTotal=10 ews archive extract --to target/new "$(cat one)" 2>err && test_grep "ews.maxTotal" err && test_path_is_missing target/new && test_path_is_missing /tmp/ews-escaped
'

test_expect_success 'P5: paths without end, and directories without number that nobody wrote, are refused' '
	long=$(printf "a/%.0s" $(seq 40000)) && refused "a path of 80001 bytes" f "${long}x" x && set -- && for n in 1 2 3 4 5 6 7 8 9; do set -- "$@" f "${n:?}/$(printf "a/%.0s" $(seq 20000))x" x || return 1; done && ({ test "$EWS_SANITIZE$EWS_VALGRIND" || ulimit -v 3000000; } && refused "more names than any tree needs" "$@")
'

test_expect_success 'what others made is extracted as well: directories unsaid, "./" before names, names in any order, a FIFO' '
	tarball foreign.tar d ./ x f ./z/y/x 1 f ./b 2 h ./a b l ./l b p ./p x h z/q z/y/x && rm -rf target && arch extract --to target foreign.tar && (cd target && find . | sort | tr "\n" " ") | says ". ./a ./b ./l ./p ./z ./z/q ./z/y ./z/y/x " - && test "$(cat target/a target/z/q)" = 21 && test target/a -ef target/b && test target/z/q -ef target/z/y/x &&
	arch show --json foreign.tar && test_json out .path null && test_json_count out .matched_paths 6 && arch verify foreign.tar && git-ews archive cat foreign.tar:a >got && says 2 got
'

test_expect_success 'P4: extract makes a directory exactly that; what was there is kept aside, what the archive left out stays' '
	mkdir -p x/sub/in x/venv && echo 1 >x/f && echo 2 >x/sub/in/g && echo 3 >x/mode && { ! test_have_prereq XATTR || setfattr -n "user.a b%" -v 1 x/mode; } && ln -s f x/l && echo v >x/venv/v && one create x --ignore "/local" && rm -rf y && arch extract --to y "$one" && git init -q y && echo mine >y/local && echo build >y/junk && mkdir y/venv && echo own >y/venv/own && rm -r y/f y/sub y/l && mkdir y/f && echo deep >y/f/deep && echo file >y/sub && mkdir y/l && chmod 600 y/mode &&
	test_expect_code 128 git-ews archive extract --to y "$one" 2>err && test_grep "^error: .*not empty" err && test_grep "^hint: --force" err && "$EWS_SRC/t/lister" y >before && arch extract --force --dry-run --to y "$one" && "$EWS_SRC/t/lister" y >after && test_cmp before after &&
	ino=$(stat -c %i y/mode) && arch extract --force --to y "$one" && test_grep "^note: f.*kept in .ews-trash/extract-.*, under its own path" err && test_same_tree -t -M . -x venv -x local -x .ews-trash x y && test "$(stat -c %i y/mode)" = "$ino" && says own y/venv/own && test_path_is_missing y/local && cat y/.ews-trash/*/*/deep >got && says deep got && grep -rqx build y/.ews-trash && git -C y rev-parse --git-dir >got &&
	arch extract --force --to y "$one" --json && test_json out .changes 0 && test_json_count out .kept 0 && arch diff --shortstat "$one" y && says "+0 -0 ~0 files" out && chmod 755 y && test_expect_code 129 git-ews archive extract "$one" 2>err
'

test_expect_success USERS 'without --owner nobody is asked for rights to give files away; P8: what may not be read is named' '
	mkdir theirs && chmod 777 theirs && cp "$one" given.tar.gz && chmod 644 given.tar.gz && test_as_user env HOME="$PWD/theirs" git-ews archive extract --to "$PWD/theirs/y" "$PWD/given.tar.gz" >out 2>err && test_must_be_empty err && test "$(stat -c %u theirs/y/f)" = 65534 && one create w --to theirs && chmod 644 "$one" && rm -rf back && arch extract --to back "$one" && test "$(stat -c %a back/bin)" = 4751 && test_as_user env HOME="$PWD/theirs" git-ews archive extract --to "$PWD/theirs/w" "$one" >out 2>err && test_grep "bin (set-user-ID" err && test "$(stat -c %a theirs/w/bin)" = 751 && test_as_user env HOME="$PWD/theirs" git-ews archive extract --owner --to "$PWD/theirs/w2" "$one" >out 2>err && test_grep "bin (set-user-ID" err && test_grep "run.sh (owner)" err &&
	mkdir shut && echo x >shut/f && echo y >shut/g && chmod 000 shut/f && test_give_user shut && test_as_user env HOME="$PWD/theirs" git-ews archive create "$PWD/shut" --to "$PWD/theirs" >out 2>err && test_grep "f.*read" err && one=$(cat out) && arch show --left-out "$one" && says "unreadable	f" out && files && says "g " got && chmod 644 shut/f
'

test_expect_success 'P4: remove and prune go through trash, and undo brings back; twice is no error; outside of a project it is asked for' '
	for n in 1 2 3; do one_in p create --ignore "$n" && echo "$one" || return 1; done >made && a=$(sed -n 1p made) && b=$(sed -n 2p made) && c=$(sed -n 3p made) && sha256sum "$a" "$b" "$c" >sums && git -C p ews archive remove "$a" >out 2>err && says "$a" out && test_path_is_missing "$a" && git -C p ews archive remove "$a" >out 2>err && test_grep "not there any more" err && test_must_be_empty out &&
	git -C p ews undo >out && test_path_is_file "$a" && git -C p ews undo --redo >out && test_path_is_missing "$a" && git -C p ews undo >out && git -C p ews archive prune --keep 1 --dry-run >dry && test_path_is_file "$b" && git -C p ews archive prune --keep 1 >out 2>err && test_cmp dry out && test_path_is_missing "$b" && test_path_is_file "$c" && test_grep "$b" out && git -C p ews undo >out && sha256sum -c --quiet sums &&
	git -C p ews archive prune --keep 0 --older-than 1d >out && test_must_be_empty out && test_expect_code 129 git -C p ews archive prune 2>err && cp "$a" here/named.tar.gz && git -C p ews archive remove ../here/named.tar.gz >out 2>err && test_path_is_missing here/named.tar.gz && git -C p ews undo >out && cmp "$a" here/named.tar.gz &&
	one create d && test_expect_code 128 git-ews archive remove "$one" 2>err && test_grep "^hint: --force" err && test_path_is_file "$one" && arch remove --force "$one" && test_path_is_missing "$one" && test_expect_code 128 git-ews archive remove nosuch 2>err && echo mine >mine.tar && test_expect_code 129 git-ews archive remove --force mine.tar 2>err && test_path_is_file mine.tar && sum=$(md5sum <"$a" | cut -d " " -f 1) && git -C p ews archive remove --dry-run --md5 "$a" >out && says "$sum  $a" out && git -C p ews archive remove --dry-run --md5 --json "$a" >out && test_json out ".removed_md5[0]" "$sum" &&
	git -C p ews archive remove "$a" >out 2>err && git -C p ews clean --now >out 2>err && test_expect_code 128 git -C p ews undo 2>err
'

test_expect_success 'a session: its workspace, base and rules; archives and undo know nothing of workspaces that are gone' '
	start_ws p s && echo work >>"${ws:?}/lib/sub/x" && echo n >"${ws:?}/n.txt" && git -C p ews archive create s --json >out && test_json out .session_id s && test_json out .path "$ws" && test_json out .snapshot_id && test_json out .base_commit "$(git -C p rev-parse HEAD)" && sarch=$(json out .archive) && case $sarch in "$HOME/.superqode/archives/p/"*.s.tar.gz) ;; *) false ;; esac && test_grep "\"n.txt\"" out && test_grep ! "\"\.git\"" out &&
	one_in "${ws:?}/lib" create && git -C p ews archive diff "$sarch" "$one" --shortstat >out && says "+0 -0 ~0 files" out && git -C p ews end s >out 2>err && test_expect_code 128 git -C p ews archive create --update "$sarch" 2>err
'

test_expect_success 'what changes while it is packed is read again, or left out by name; what vanishes is no failure' '
	mkdir busy && for n in 1 2 3 4 5 6 7 8 9; do seq 2000 >busy/$n || return 1; done && { while test ! -e busy.stop; do echo more >>busy/growing && rm -f busy/5 && echo x >busy/5; done >busy.log 2>&1 3>&- 4>&- 5>&- & } && for n in 1 2; do one create busy --to here && arch verify "$one" && arch show --files "$one" && test_grep " 9$" out || { : >busy.stop && return 1; }; done && : >busy.stop && wait
'

test_expect_success 'however many files change all the time: they are left out, and the rest is packed' '
	mkdir logs && head -c 3000000 /dev/urandom >logs/aa && echo still >logs/zz && { while test ! -e logs.stop; do for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo more >>logs/log$n; done; done >logs.log 2>&1 3>&- 4>&- 5>&- & } && test_when_finished ": >logs.stop; wait" && test_wait_for 20 test -e logs/log12 && : >out && tries=0 &&
	until test_grep "^changing	log" out; do
		tries=$((tries + 1)) && test "$tries" -le 20 && one create logs --to here && arch verify "$one" && files && test_grep "^aa .*zz $" got && arch show --left-out "$one" || return 1
	done
'

test_expect_success 'P4: killed at any point, create leaves a whole archive or none, and nothing else' '
	rm -rf "${HOME:?}/.superqode/archives" && killat -o log 0 git-ews archive create d >out && points=$(cut -f 1 log) && test "$points" -ge 6 && rm -rf "${HOME:?}/.superqode/archives" && n=1 && while test "$n" -le "$points"; do
		code=0 && { killat -o log "$n" git-ews archive create d >out 2>err || code=$?; } && test "$code" = 137 -o "$code" = 199 || return 1
		n=$((n + 1))
	done && whole=0 && for f in "$HOME"/.superqode/archives/*/*; do test ! -e "$f" || { arch verify "$f" && whole=$((whole + 1)) || return 1; }; done && test "$whole" -ge 1 && test "$whole" -lt "$points" && git -C p ews recover --all >out 2>err && find "$HOME/.superqode/archives" -name ".tmp*" >left && test_must_be_empty left
'

test_expect_success NAMELESS 'P4: interrupted or killed at any point, create leaves nothing else in a directory of the user, either' '
	mkdir beside && killat -o log 0 git-ews archive create --to beside d >out && points=$(cut -f 1 log) && test "$points" -ge 5 && n=1 && while test "$n" -le "$points"; do
		code=0 && { killat -s TERM "$n" git-ews archive create --to beside d >out 2>err || code=$?; } && test "$code" = 143 && find beside -name ".*" >left && test_must_be_empty left &&
		code=0 && { killat "$n" git-ews archive create --to beside d >out 2>err || code=$?; } && test "$code" = 137 && find beside -name ".*" >left && test_must_be_empty left || return 1
		n=$((n + 1))
	done && arch verify beside/*
'

test_expect_success 'P4: nor where the file system has no files without a name; what was killed there goes with the next one' '
	mkdir named && killat -e EOPNOTSUPP -c "openat.*named/[.]$|rename" -t trace 1 git-ews archive create --to named d >out && grep "rename.*named/.tmp-archive-" trace && arch verify named/* && test "$(ls -A named)" = "$(ls named)" && : >named/.tmp-archive-0123 && one create --to named d && test_path_is_missing named/.tmp-archive-0123
'

test_expect_success 'P4: killed at any point, remove has moved the archive or not, and recover finishes it' '
	one_in p create && echo "$one" >made && sum=$(sha256sum <"$(cat made)") && killat -o log 0 git -C p ews archive remove "$(cat made)" >out 2>err && points=$(cut -f 1 log) && git -C p ews undo >out && n=1 && while test "$n" -le "$points"; do
		{ killat -o log "$n" git -C p ews archive remove "$(cat made)" >out 2>err || :; } &&
		git -C p ews recover --all >out 2>err && { test -e "$(cat made)" || git -C p ews undo >out 2>err; } && test "$(sha256sum <"$(cat made)")" = "$sum" || return 1
		n=$((n + points / 5 + 1))
	done
'

test_expect_success !SANITIZE,!VALGRIND 'a large file goes through in constant memory, and its holes take no room' '
	mkdir big && how=none && size=250M && { test -z "$TEST_LONG" || size=2G; } && truncate -s $size big/z && (ulimit -v 200000 && git-ews archive create big --compress $how) >out && one=$(cat out) && test "$(stat -c %s "$one")" -lt 100000 &&
	(ulimit -v 200000 && git-ews archive extract --to big2 "$one") >out && { test -z "$TEST_LONG" || { echo 1 >>big/z && (ulimit -v 200000 && git-ews archive diff --shortstat "$one" big && git-ews archive diff "$one" big 2>err) >out && says "+0 -0 ~1 files" out && test_grep "z (too large for a patch)" err && (ulimit -v 200000 && git-ews archive verify "$one" && test "$(git-ews archive cat "$one:z" | wc -c)" = 2147483648) >out; }; } && test "$(stat -c "%b" big2/z)" = 0 && test "$(stat -c %s big2/z)" -gt 250000000
'

test_expect_success 'P4: what is kept aside has its own path there, whether extract fails or is killed' '
	mkdir -p cut/d && head -c 400000 /dev/zero >cut/z && echo 1 >cut/a && echo 1 >cut/d/s && one create cut && for end in fails killed; do
		rm -rf into && mkdir -p into/d && for f in a b d/s z; do echo "my $f" >into/$f || return 1; done &&
		set -- git-ews archive extract --force --to into "$one" && case $end in
		fails) test_expect_code 128 sh -c "ulimit -f 100 && exec \"\$@\"" x "$@" >out 2>err && test_grep "^hint: what stood in the way is in .*/into/.ews-trash/extract-" err ;;
		killed) test_expect_code 137 "$EWS_BUILD/t/killat" -c "(write|ftruncate).*/into/z$" 1 "$@" >out 2>err ;;
		esac && for f in a b d/s z; do says "my $f" into/.ews-trash/extract-*/$f || return 1; done || return 1
	done
'

test_expect_success STRACE 'an extract that fails leaves an empty directory empty, and a missing one missing' '
	mkdir -p half/d half/e/f && echo 1 >half/a && echo 2 >half/d/b && echo 3 >half/e/f/c && one create half && for when in 2 3; do
		rm -rf into && ! test_strace calls -e trace=mkdirat -e inject=mkdirat:error=ENOSPC:when=$when "$EWS_BIN/git-ews" archive extract --to into "$one" 2>err && test_grep "^error: .*No space" err && test_grep "^hint: free some space, and try again" err && test_path_is_missing into || return 1
		mkdir -p has/theirs && for to in far/off/into has/far/into; do
			! test_strace calls -e trace=mkdirat -e inject=mkdirat:error=ENOSPC:when=$when "$EWS_BIN/git-ews" archive extract --to $to "$one" 2>err && test_grep "^error: .*No space" err && test_path_is_missing far && test_path_is_missing has/far && test_path_is_dir has/theirs || return 1
		done
	done && long=$(printf "%0300d" 0) && test_must_fail git-ews archive extract --to "far/off/$long" "$one" 2>err && test_path_is_missing far && rmdir has/theirs has && mkdir into && ! test_strace calls -e trace=mkdirat -e inject=mkdirat:error=ENOSPC:when=2 "$EWS_BIN/git-ews" archive extract --to into "$one" 2>err && ls -A into >out && test_must_be_empty out && git-ews archive extract --to into "$one" >out && diff -r half into
'

test_expect_success STRACE 'P4: what somebody puts into the directory while it is filled stays, and is named; what came goes again, and nothing else' '
	mkdir -p between/d && for f in 0 a b d/c; do echo "the $f" >between/$f || return 1; done && ln between/a between/a2 && ln -s a between/l && one create between && rm -rf into && mkdir into && test_expect_code 128 test_stopped_at openat a "echo mine >into/b && echo mine >into/d/x" archive extract --to into "$one" &&
	test_grep "not written: b .*meanwhile" err && test_grep "^hint: try again" err && says mine into/b && says mine into/d/x && (cd into && find . | sort | tr "\n" " ") >got && says ". ./b ./d ./d/x " got &&
	rm -rf into && mkdir into && test_expect_code 128 test_stopped_at openat b "echo mine >mine && mv mine into/a && echo mine >into/l" archive extract --to into "$one" && says mine into/a && says mine into/l && test "$(ls -A into | tr "\n" " ")" = "a l "
'

test_expect_success STRACE 'P4: so does what somebody writes where only modes and names are other than in the archive, whatever its size and time' '
	rm -rf into && cp -a between into && chmod 600 into/a into/d/c && rm into/0 && test_expect_code 128 test_stopped_at openat 0 "printf \"our a\n\" >into/a && touch -r between/a into/a" archive extract --force --to into "$one" && test_grep "a.*meanwhile" err && says "our a" into/a && says "the d/c" into/d/c && test "$(stat -c %a into/d/c)" = 644 &&
	rm -rf into && cp -a between into && chmod 600 into/a && arch extract --force --to into "$one" && test_same_tree -M . between into && test into/a -ef into/a2 && test_path_is_missing into/.ews-trash
'

test_expect_success 'P4: a repository stays in its place, also one whose .git is a file, and where the archive has a file' '
	mkdir -p leaf/d nests && echo f >leaf/n && echo x >leaf/d/x && one create leaf && git init -q nests/n && echo mine >nests/n/m && "$EWS_SRC/t/lister" nests >before && test_expect_code 128 git-ews archive extract --force --to nests "$one" >out 2>err && test_grep "^error: .n. is a file in the archive" err && test_grep "^hint: nothing was written" err && "$EWS_SRC/t/lister" nests >after && test_cmp before after &&
	test_repo linked && git -C linked worktree add -q --detach "$PWD/has/n" && git -C linked worktree add -q --detach "$PWD/has/bare" && git -C has/bare rm -qrf . && git -C linked worktree add -q --detach "$PWD/has/other/o" && mkdir has/junk && echo 1 >has/junk/j && mkdir top && cp -R has/n top/n && rm top/n/.git && one create top && inode=$(stat -c %i has/n) && echo changed >has/n/run.sh && arch extract --force --to has "$one" && test "$(stat -c %i has/n)" = "$inode" && test_path_is_missing has/junk && test -d has/bare -a -d has/other/o &&
	for tree in n bare other/o; do test "$(git -C has/$tree rev-parse --show-toplevel)" = "$PWD/has/$tree" || return 1; done && git -C has/n diff --exit-code && says changed has/.ews-trash/*/n/run.sh && arch extract --force --to has "$one" --json && test_json out .changes 0
'

test_expect_success 'extract that was killed and is done again leaves the directory with its mode' '
	mkdir -p modes/sub && chmod 755 modes && echo a >modes/a && echo b >modes/sub/b && one create modes && killat -o log 0 git-ews archive extract --to modes0 "$one" >out && points=$(cut -f 1 log) && test "$points" -ge 6 && n=1 && while test "$n" -le "$points"; do
		rm -rf modes0 && code=0 && { killat "$n" git-ews archive extract --to modes0 "$one" >out 2>err || code=$?; } && test "$code" = 137 && arch extract --force --to modes0 "$one" && test "$(stat -c %a modes0)" = 755 && test_same_tree -M . -x .ews-trash modes modes0 || return 1
		n=$((n + 1))
	done
'

test_expect_success 'P4: where .ews-trash is no directory nothing is taken for kept: extract writes nothing' '
	mkdir -p new/d tfile/d && echo new >new/f && echo new >new/d/f && one create new && echo mine >tfile/f && echo mine >tfile/d/f && echo x >tfile/.ews-trash && "$EWS_SRC/t/lister" tfile >before && test_expect_code 128 git-ews archive extract --force --to tfile "$one" >out 2>err && test_must_be_empty out &&
	test_grep "^error: .d/f. has to be kept aside" err && test_grep "^hint: .*.ews-trash. must be a directory" err && "$EWS_SRC/t/lister" tfile >after && test_cmp before after && rm tfile/.ews-trash && arch extract --force --to tfile "$one" && says new tfile/f && says mine tfile/.ews-trash/*/f && says mine tfile/.ews-trash/*/d/f
'

test_expect_success 'P4: a file that stands where a removed archive was does not give way to undo, nor to recover' '
	one_in p create && cp "$one" here/back.tar.gz && git -C p ews archive remove ../here/back.tar.gz >out 2>err && echo mine >here/back.tar.gz && test_expect_code 128 git -C p ews undo 2>err && test_grep "another file stands where the archive was: .*/here/back.tar.gz" err && test_grep "^hint: move it away" err && says mine here/back.tar.gz &&
	test_expect_code 128 git -C p ews undo -n 2>err && git -C p ews recover --all >out 2>err && test_grep "nothing is interrupted" err && record=$(grep -l back.tar.gz "$HOME"/.superqode/working/p/undo/op-*.json | tail -n 1) && sed -i "s/\"state\":	\"done\"/\"state\":	\"undoing\"/" "$record" && git -C p ews recover --all >out && test_grep "of a drop: another file" out && says mine here/back.tar.gz && git -C p ews undo --list >out && test_grep " undone " out &&
	trash=$HOME/.superqode/working/p/trash/$(basename "$record" .json) && cmp "$one" "${trash:?}/0"
'

test_expect_success TMPFS 'P4: archives that can not be moved to trash, or back, stay where they are, all of them, and keep nobody from the rest' '
	cat >moves.sh <<-\EOF &&
	mkdir fixed loose && mount -t tmpfs -o size=1m none fixed && cp "$one" fixed/a.tar.gz && cp "$one" loose/b.tar.gz && mount -o remount,bind,ro fixed || exit 1
	git -C p ews archive remove ../loose/b.tar.gz ../fixed/a.tar.gz 2>err && exit 1
	grep Read-only err && test -f loose/b.tar.gz && test -f fixed/a.tar.gz && git -C p ews recover --all 2>err && grep "nothing is interrupted" err || exit 1
	mount -o remount,bind,rw fixed && git -C p ews archive remove ../loose/b.tar.gz ../fixed/a.tar.gz && test ! -e loose/b.tar.gz && test ! -e fixed/a.tar.gz && mount -o remount,bind,ro fixed || exit 1
	git -C p ews undo 2>err && exit 1
	grep Read-only err && test ! -e loose/b.tar.gz && git -C p ews recover --all 2>err && grep "nothing is interrupted" err || exit 1
	mount -o remount,bind,rw fixed && git -C p ews undo && cmp "$one" loose/b.tar.gz && cmp "$one" fixed/a.tar.gz
	EOF
	one_in p create && one=$one test_in_namespace sh moves.sh
'

test_expect_success 'what stands in an archive or of its environment is said as UTF-8, and what can not be read is said once for each member' '
	one create d --env "$(printf "bad-\377=1")" --env "$(printf "bad-\376=2")" --env A=1 --env a=2 && arch show --json "$one" && iconv -f UTF-8 -t UTF-16 out >/dev/null && test_json out ".env.A" 1 && test_json out ".env.a" 2 && one create d --compress none && head -c 2000 "$one" >cut.tar && test_expect_code 1 git-ews archive cat cut.tar:a cut.tar:b 2>err && test_line_count = 2 err && test_grep ! "is not in" err
'

test_expect_success 'P4: prune leaves what it can not read, and does not count it' '
	mkdir unread && git -C unread init -q && echo 1 >unread/a && for n in 1 2 3; do one_in unread create --ignore "$n" && echo "$one" || return 1; done >made && a=$(sed -n 1p made) && c=$(sed -n 3p made) && head -c 40 "$a" >piece && cat piece >"$a" && head -c 40 "$c" >piece && cat piece >"$c" && git -C unread ews archive prune --keep 1 >out 2>err && test_must_be_empty out && test_grep "^warning: it stays, .*${a##*/}" err && git -C unread ews archive prune --keep 0 >out 2>err && sed -n 2p made | test_cmp - out && test_path_is_file "$a" && test_path_is_file "$c"
'

test_expect_success USERS 'a directory of archives that may not be read is none without archives: no verb answers from it' '
	mkdir kept && echo a >kept/a && test_give_user kept && test_as_user git-ews archive create "$PWD/kept" >out && one=$(cat out) && test_as_user chmod 0 "${one%/*}" &&
	for verb in "list kept" "list --all" "show ${one##*/}" "create kept --if-changed"; do test_expect_code 128 test_as_user git-ews archive $verb >out 2>err && test_grep "cannot open directory .*/archives/kept-.*: Permission denied" err && test_must_be_empty out || return 1; done &&
	(cd kept && test_expect_code 128 test_as_user git-ews archive prune --keep 1 --force 2>../err) && test_grep "Permission denied" err && test_as_user chmod 700 "${one%/*}" && test_as_user git-ews archive list --all >out && test_line_count = 1 out
'

test_expect_success 'P8: HEAD that can not be read just now is not left out of what an archive says of itself' '
	test_repo head && look=0 && while test_more_looks; do
		test_look EIO "/head/[.]git/(HEAD|refs/heads/.*|packed-refs)$" archive create --json head >out 2>err && if test $code = 0; then test_json out .base_commit "$(git -C head rev-parse HEAD)"; fi || return 1
	done && test $look -gt 2
'

test_expect_success 'P8: a session that can not be looked for just now is not taken for a directory' '
	test_repo unsought && start_ws unsought sess && mkdir unsought/se && echo dir >unsought/se/only && look=0 && while test_more_looks; do
		test_look EIO "/sessions(/sess)?$" -C unsought archive create --json se >json 2>err && if test $code = 0; then test_json json .path "$ws"; fi || return 1
	done && test $look -gt 4
'

test_expect_success 'P8: what is tracked but ignored is not left out of an archive since the index can not be read just now' '
	test_repo forced && start_ws forced s && echo "*.ign" >"${ws:?}/.gitignore" && echo f >"${ws:?}/forced.ign" && git -C "$ws" add -f forced.ign && look=0 && while test_more_looks; do
		test_look EIO "/worktrees(/s(/index)?)?$" -C forced archive create --json s >json 2>err && if test $code = 0; then tar tf "$(json json .archive)" >out 2>err && test_grep forced.ign out; fi || return 1
	done && test $look -gt 2
'

test_done
