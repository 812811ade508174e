#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='watch: what happens in a directory is told, once, and leads to what is there (P1, P4, P8)'

. "$(dirname "$0")/test-lib.sh"

# watch <name> <argument>...: in the background, $pid; what it prints in <name>.out and <name>.err. It stands already.
watch() {
	name=$1
	shift
	: >"$name.out" && : >"$name.err" || return 1
	git-ews watch --debounce 0.1 "$@" >>"$name.out" 2>>"$name.err" 3>&- 4>&- 5>&- &
	pid=$!
	test_wait_for 20 grep -q "^note: watching" "$name.err"
}

# tells <name> <line>...: these are what it prints next, in whatever order: on a machine with much to do, what was done at
# once may settle in two parts. Then what was created may be modified still.
tells() {
	name=$1
	shift
	printf "%s\n" "$@" | sort >"$name.want" && test_wait_for 10 has_told "$name" || { diff >&2 "$name.want" "$name.got"; return 1; }
	cp "$name.out" "$name.seen"
}

has_told() {
	: >>"$1.seen" && tail -n +$(($(wc -l <"$1.seen") + 1)) "$1.out" >"$1.new" && once <"$1.new" >"$1.got" && cmp -s "$1.want" "$1.got"
}

# A line of each, and none that something was modified that was created.
once() {
	sort -u | awk "{ line = \$0; sub(/^MODIFIED /, \"CREATED \", line) } /^MODIFIED / && has[line] { next } { has[\$0] = 1; print }"
}

has_lines() {
	test "$(wc -l <"$1")" -ge "$2"
}

# ends <pid> <signal>: it ends by it, with 0
ends() {
	kill -s "$2" "$1" && wait "$1"
}

# Something of which all are told, until the one that says nothing at its start tells of it.
sees_probe() {
	echo 1 >>v/probe && sleep 0.2 && test -s json.out
}

test_expect_success 'setup' '
	test_repo p && (cd p && mkdir -p build lib/deep && printf "*.o\nbuild/\n" >.gitignore && echo 1 >tracked.o && echo 1 >lib/a.c && echo 1 >lib/b.c && echo 1 >x.o && git add . && git add -f tracked.o && git commit -qm more) &&
	test_fingerprint p >before && watch main p && main=$pid && test_fingerprint p >after && test_cmp before after
'

test_expect_success 'created, modified, moved and deleted, each once, quoted as git does' '
	echo 2 >>p/lib/a.c && tells main "MODIFIED lib/a.c" &&
	mkdir -p p/new/dir && echo 1 >p/new/dir/f && tells main "CREATED new" "CREATED new/dir" "CREATED new/dir/f" &&
	mv p/lib p/library && mv p/library/b.c p/new/dir && tells main "MOVED lib -> library" "MOVED library/b.c -> new/dir/b.c" &&
	tab=$(printf "a\tb") && echo 1 >"p/$tab" && ln -s x p/sym && tells main "CREATED \"a\\tb\"" "CREATED sym" &&
	rm -r p/new p/sym && tells main "DELETED new/dir/f" "DELETED new/dir/b.c" "DELETED new/dir" "DELETED new" "DELETED sym" &&
	echo 1 >p/temporary && mv p/temporary p/library/a.c && tells main "MODIFIED library/a.c" &&
	chmod +x p/library/a.c && tells main "MODIFIED library/a.c" && mv p/library out && tells main "DELETED library/deep" "DELETED library/a.c" "DELETED library" &&
	mv out p/lib && tells main "CREATED lib" "CREATED lib/a.c" "CREATED lib/deep"
'

test_expect_success 'P8: a directory that changes places with a file, and back: what it holds goes along' '
	mkdir -p x/a/sub x/o && echo 1 >x/a/f && echo 1 >x/a/sub/g && echo 2 >x/o/file && watch swap x && "$EWS_BUILD/t/attack" exchange x/a x/o/file &&
	tells swap "MOVED a/f -> o/file/f" "MOVED a/sub -> o/file/sub" "DELETED a" "DELETED o/file" "CREATED a" "CREATED o/file" && "$EWS_BUILD/t/attack" exchange x/a x/o/file &&
	tells swap "MOVED o/file/f -> a/f" "MOVED o/file/sub -> a/sub" "DELETED a" "DELETED o/file" "CREATED a" "CREATED o/file" && ends $pid TERM
'

test_expect_success 'P8: that a directory has left its place is told before what came into the next one there' '
	mkdir -p y/d y/x && echo 1 >y/d/old && echo 2 >y/x/f && watch order y && (cd y && mv d e && mkdir d && mv x/f d/f) && tells order "MOVED d -> e" "MOVED x/f -> d/f" "CREATED d" &&
	grep "^MOVED" order.out >moves && printf "MOVED %s\n" "d -> e" "x/f -> d/f" >want && test_cmp want moves && ends $pid TERM
'

test_expect_success 'what is ignored, .git, .superqode and home are passed by; what git tracks is not' '
	echo 2 >>p/x.o && echo 1 >p/build/y && (cd p && git add -A && git commit -qm all) && mkdir p/.superqode && echo 1 >p/.superqode/z && mkdir p/lib/.git && echo 1 >p/lib/.git/HEAD &&
	echo 2 >>p/tracked.o && tells main "MODIFIED tracked.o" && rm -r p/lib/.git
'

test_expect_success 'other rules hold once .gitignore says so, and are no change of what they speak of' '
	echo "build/" >p/.gitignore && tells main "MODIFIED .gitignore" && echo 3 >>p/x.o && tells main "MODIFIED x.o" &&
	echo "*.tmp" >p/lib/.gitignore && tells main "CREATED lib/.gitignore" && echo 1 >p/lib/a.tmp && echo 1 >p/lib/a.txt && tells main "CREATED lib/a.txt" &&
	mkdir p/own && echo "*.log" >p/own/.gitignore && echo 1 >p/own/a.log && echo 1 >p/own/a.txt && tells main "CREATED own" "CREATED own/.gitignore" "CREATED own/a.txt"
'

test_expect_success 'a directory that changes for ever reports all the same' '
	{ while test ! -e stop; do echo 1 >>p/lib/a.c && sleep 0.02; done & } 3>&- 4>&- 5>&- && writer=$! && test_when_finished "touch stop" &&
	test_wait_for 10 has_lines main.out $(($(wc -l <main.seen) + 2)) && touch stop && wait $writer && : >p/last && test_wait_for 10 grep -q "^CREATED last" main.out && cp main.out main.seen
'

test_expect_success 'INT and TERM end it with 0, and nothing was written into the project' '
	ends $main INT && git -C p status --porcelain >status.txt && test_path_is_missing "$HOME/.superqode" && watch term p && ends $pid TERM
'

test_expect_success '-z, --ext, --ignore, --no-recursive, --polling, --json: each has its own view of the same' '
	mkdir v && (cd v && git init -q && mkdir a && echo 1 >a/x.c && echo 1 >a/y.h && echo 1 >top) && pids= && for view in "nul -z" "ext --ext .c --ext=h" "ignore --ignore=a/ --ignore=*.h" "top --no-recursive" "polled --polling"; do
		watch $view v && pids="$pids $pid" || return 1
	done && : >json.out && { git-ews watch --debounce 0.1 --json v >>json.out 3>&- 4>&- 5>&- & } && pids="$pids $!" && test_wait_for 20 sees_probe && cp json.out json.seen &&
	bad=$(printf "bad\377") && echo 2 >>v/a/x.c && mv v/a/y.h v/a/z.h && mv v/top "v/$bad" && echo 1 >v/a/n &&
	test_wait_for 10 grep -q "a/n" nul.out && test_wait_for 10 grep -q "CREATED a/n" polled.out && test_wait_for 10 grep -q "a/n" json.out && test_wait_for 10 grep -q MOVED ignore.out && test_wait_for 10 grep -q MOVED top.out && test_wait_for 10 grep -q MODIFIED ext.out &&
	for pid in $pids; do ends $pid TERM || return 1; done &&
	printf "MOVED a/y.h\0a/z.h\0MOVED top\0$bad\0CREATED a/n\0MODIFIED a/x.c\0" >want && tr "\0" "\n" <want | sort >want.sorted && tr "\0" "\n" <nul.out | grep -v probe | sort -u >got && test_cmp want.sorted got &&
	printf "%s\n" "MOVED a/y.h -> a/z.h" "MODIFIED a/x.c" >want && sort <want >want.sorted && sort ext.out >got && test_cmp want.sorted got && grep -v probe ignore.out >got && printf "%s\n" "MOVED top -> \"bad\\377\"" >want && test_cmp want got && grep -v probe top.out >got && test_cmp want got &&
	printf "%s\n" "MOVED a/y.h -> a/z.h" "MOVED top -> \"bad\\377\"" "CREATED a/n" "MODIFIED a/x.c" | sort >want && grep -v probe polled.out | once >got && test_cmp want got &&
	grep -v probe json.out >new && grep "\"$(printf "bad\357\277\275")\"" new >line && test_json line .schema ews.watch/1 && test_json line .change_type moved && test_json line .path_bytes "$(printf "$bad" | base64)" && test_json line .old_path top && test_json line .is_directory false &&
	test_grep "^{\"schema\":\"ews.watch/1\",\"change_type\":\"created\",\"path\":\"a/n\",\"old_path\":null,\"is_directory\":false,\"timestamp\":\"20..-..-..T..:..:..Z\"}$" new
'

test_expect_success '--exec runs a command for each settled batch, never two at once, with the lines on its stdin' '
	mkdir e && watch exec e --exec "mkdir ../busy || echo twice >>../twice; cat >>../told; while test ! -e ../go; do sleep 0.02; done; rmdir ../busy; echo run >>../runs; echo out" &&
	echo 1 >e/one && test_wait_for 10 has_lines told 1 && echo 1 >e/two && test_wait_for 10 has_lines exec.out 2 && echo 1 >e/three && test_wait_for 10 has_lines exec.out 3 && test_line_count = 1 told && : >go &&
	test_wait_for 10 has_lines runs 2 && test_path_is_missing twice && test_cmp exec.out told && printf "CREATED %s\n" one three two >want && once <told >got && test_cmp want got && test_wait_for 10 grep -qx out exec.err &&
	rm go && echo 1 >e/four && test_wait_for 10 grep -q four told && ends $pid TERM
'

test_expect_success 'HUP ends it, and the command of --exec; but where that is ignored' '
	watch hung e --exec "echo \$\$ >../hung.pid; exec sleep 60" && echo 1 >e/five && test_wait_for 10 test -s hung.pid && kill -s HUP $pid && test_expect_code 129 wait $pid && ! kill -s 0 "$(cat hung.pid)" 2>/dev/null &&
	: >nohup.err && : >nohup.out && { (trap "" HUP && exec git-ews watch --debounce 0.1 e >>nohup.out 2>>nohup.err) 3>&- 4>&- 5>&- & } && pid=$! && test_wait_for 20 grep -q "^note: watching" nohup.err &&
	kill -s HUP $pid && echo 1 >e/six && test_wait_for 10 grep -q six nohup.out && ends $pid TERM
'

test_expect_success '--once ends after the first batch, with 1 when the command failed' '
	watch once e --once --exec "exit 3" && echo 2 >e/one && test_expect_code 1 wait $pid && test_grep "status 3" once.err && echo "MODIFIED one" >want && test_cmp want once.out
'

test_expect_success 'P8: what a snapshot left out is named in JSON, too' '
	test_repo out-of && perl -MIO::Socket::UNIX -e "chdir q(out-of); IO::Socket::UNIX->new(Local => q(sock), Listen => 1) or die" && test -S out-of/sock && { git-ews watch --debounce 0.1 --snapshot --json out-of >outside.out 2>outside.err 3>&- 4>&- 5>&- & } && pids="$pids $!" && made() { echo 5 >>out-of/src/log && sleep 0.2 && grep -q "ews.snapshot/1" outside.out; } && test_wait_for 20 made && ends $! INT &&
	grep -m 1 "ews.snapshot/1" outside.out >one && test_json one ".skipped[0].path" sock && test_json one ".skipped[0].reason" socket && git -C out-of ews snapshot create --json >whole && test_json whole ".skipped[0].path" sock
'

test_expect_success 'P8: why a snapshot could not be taken is said, as text and as JSON, and with --once at the end' '
	test_repo full && git -C full config ews.maxFile 1000 && head -c 3000 /dev/zero >full/big && watch over full --snapshot && echo 1 >>full/run.sh && test_wait_for 10 grep -q "^warning: no snapshot" over.err && ends $pid INT && test_grep "^warning: no snapshot: .big. has 3000 bytes, more than ews.maxFile" over.err &&
	{ git-ews watch --debounce 0.1 --snapshot --json full >full.out 2>full.err 3>&- 4>&- 5>&- & } && pids="$pids $!" && refused() { echo 2 >>full/run.sh && sleep 0.2 && grep "ews.error/1" full.out >one; } && test_wait_for 20 refused && ends $! INT && head -n 1 one >first && json first .error.message >message && test_grep "^.big. has 3000 bytes" message && json first .error.hint >hint && test_grep "partial" hint &&
	watch once full --once --snapshot && echo 3 >>full/run.sh && test_expect_code 1 wait $pid && test_grep "^error: .big. has 3000 bytes" once.err && test_grep "^hint: .*partial" once.err
'

test_expect_success 'P4: --snapshot keeps a state each time things settle, of the session or of the project' '
	start_ws v s && watch snap "${ws:?}/a" --snapshot && echo 3 >>"${ws:?}/a/x.c" && test_wait_for 10 grep -q SNAPSHOT snap.out && echo 4 >>"${ws:?}/a/x.c" && test_wait_for 10 has_lines snap.out 4 && ends $pid INT &&
	sed -n "s/^SNAPSHOT //p" snap.out >ids && test_line_count = 2 ids && git -C v ews snapshot list s --json >list && test_json_count list .snapshots 3 &&
	git -C v ews diff "$(sed -n 1p ids)" "$(sed -n 2p ids)" >patch && test_grep "^+4" patch &&
	watch own v --snapshot && echo 5 >>v/a/x.c && test_wait_for 10 grep -q SNAPSHOT own.out && ends $pid INT && git -C v ews snapshot show "$(sed -n "s/^SNAPSHOT //p" own.out)" >shown
'

test "$(cat /proc/sys/fs/inotify/max_queued_events)" -gt 16384 || test_set_prereq SHORT_QUEUE

test_expect_success SHORT_QUEUE 'P8: what happened while events were lost is found, and that they were is said' '
	mkdir -p o/d && echo 1 >o/gone && echo 1 >o/moved && echo 1 >o/d/changed && watch lost o && kill -s STOP $pid && n=0 && cd o &&
	while test $n -lt 9000; do : >x$n && n=$((n + 1)) || return 1; done && find . -name "x*" -delete && rm gone && mv moved d/new && echo 2 >>d/changed && mkdir -p deep/er && echo 1 >deep/er/f && cd .. && kill -s CONT $pid &&
	tells lost "OVERFLOW ." "MOVED moved -> d/new" "DELETED gone" "MODIFIED d/changed" "CREATED deep" "CREATED deep/er" "CREATED deep/er/f" && echo 2 >>o/deep/er/f && tells lost "MODIFIED deep/er/f" && ends $pid TERM
'

test_expect_success USERNS 'P8: directories over the limit of watches are polled, and the sysctl that raises it is named' '
	mkdir -p l/a l/b l/c/d l/e && : >limit.out && { unshare -Ur sh -c "echo 3 >/proc/sys/user/max_inotify_watches && exec git-ews watch --debounce 0.1 l" >>limit.out 2>limit.err 3>&- 4>&- 5>&- & } && pid=$! && test_wait_for 20 grep -q "^note: watching" limit.err &&
	test_grep "^warning: 3 of 6 directories .*no more directories can be watched" limit.err && test_grep "^hint: sysctl fs.inotify.max_user_watches" limit.err &&
	for dir in l l/a l/b l/c l/c/d l/e; do echo 1 >${dir:?}/f || return 1; done && test_wait_for 10 has_lines limit.out 6 && printf "CREATED %s\n" a/f b/f c/d/f c/f e/f f >want && sort limit.out >got && test_cmp want got && ends $pid TERM
'

test_expect_success USERNS 'P8: with --json what is polled is an object of its own, with the reason' '
	: >note.out && { unshare -Ur sh -c "echo 3 >/proc/sys/user/max_inotify_watches && exec git-ews watch --debounce 0.1 --json l" >>note.out 2>note.err 3>&- 4>&- 5>&- & } && pid=$! && test_wait_for 20 has_lines note.out 1 && ends $pid TERM &&
	test_json note.out .schema ews.watch/1 && test_json note.out .change_type polling && test_json note.out .directories 6 && test_json note.out .polled_directories 3 && test_json_count note.out .polled 3 && test_json note.out ".polled[2]" >last && test_grep "no more directories can be watched" note.out && test_grep "max_user_watches" note.out &&
	: >all.out && { git-ews watch --debounce 0.1 --json --polling --no-recursive l >>all.out 2>all.err 3>&- 4>&- 5>&- & } && pid=$! && test_wait_for 20 has_lines all.out 1 && ends $pid TERM && test_json all.out ".polled[0]" . && test_json all.out .reason --polling && test_json all.out .hint null
'

test_expect_success 'a directory that goes away is an error, after its files; one without a project can be watched; wrong words are refused' '
	mkdir -p g/sub && echo 1 >g/sub/f && watch gone g && rm -r g && test_expect_code 128 wait $pid && printf "%s\n" "DELETED sub/f" "DELETED sub" >want && test_cmp want gone.out && test_grep "^error: the watched directory is gone" gone.err &&
	test_expect_code 129 git ews watch --debounce x e 2>err && test_grep "no time to wait" err && test_expect_code 128 git ews watch missing 2>err && test_expect_code 129 git ews watch e o 2>err && test_expect_code 128 git ews watch e/one 2>err
'

# What the lines of <file> lead to from nothing, of files alone: a path a line, sorted.
replay() {
	awk "{ kind = \$1; sub(/^[A-Z]* /, \"\") }
		kind == \"CREATED\" || kind == \"MODIFIED\" { has[\$0] = 1 }
		kind == \"DELETED\" { delete has[\$0] }
		kind == \"MOVED\" { split(\$0, side, \" -> \"); for (path in has) if (path == side[1] || index(path, side[1] \"/\") == 1) { moved[side[2] substr(path, length(side[1]) + 1)] = 1; delete has[path] }
			for (path in moved) { has[path] = 1; delete moved[path] } }
		END { for (path in has) print path }" "$1" | sort
}

# storm <dir> <n>: changes of all kinds, in many directories that come and go
storm() (
	i=0 && cd "$1" && while test $i -lt "$2"; do
		d=d$((i / 50 % 7))/e$((i / 10 % 3)) && { test -d $d || mkdir -p "${d:?}"; } && : >${d:?}/f$i && echo $i >>${d:?}/f$((i - 3 > 0 ? i - 3 : i)) && i=$((i + 4)) &&
			case $i in
			*00) rm -r d$((i / 100 % 7)) 2>/dev/null || : ;;
			*40) mv d$((i / 40 % 7)) m$i 2>/dev/null || : ;;
			*8) rm ${d:?}/f$((i - 4)) ;;
			*6) mv ${d:?}/f$((i - 4)) ${d:?}/g$i ;;
			esac || exit 1
	done
)

if test_have_prereq EXPENSIVE; then changes=100000; else changes=2000; fi

test_expect_success "after a storm of $changes changes all final states are told" '
	mkdir s && watch storm s && storm s $changes && : >s/last && test_wait_for 120 grep -q "^CREATED last" storm.out && ends $pid TERM &&
	replay storm.out >got && (cd s && find . ! -name . | sed "s|^\./||" | sort) >want && test_cmp want got && test_line_count -gt 100 want
'

test_done
